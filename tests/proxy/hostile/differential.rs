//! Sessions that are in order, played to a server and, through a proxy, to its twin: what both are told is the same,
//! and so is what they leave.

use std::time::Duration;

use countersink::driver::Driver;
use countersink::wire::capability;
use countersink_sandbox::{Address, Flavour};

use super::compare::{difference, is_known_limit};
use super::draw::{self, Manner};
use super::play::{Answer, play};
use super::stage::{USER, counters, fill, make_schema, schema_name, wait_until_gone};
use super::step::{Session, Step};
use crate::support::client::{connect, rows};
use crate::support::proxy::Proxy;
use crate::support::thorough::say;
use crate::support::twin::twin;

/// How long an answer is waited for. Where the server itself says nothing, that is what the proxy must do too.
const PATIENCE: Duration = Duration::from_secs(2);

/// The most sessions that are shown.
const MOST_SHOWN: usize = 4;

/// Both sides.
struct Sides {
    plain: Address,
    proxied: Address,
    /// The server behind the proxy.
    behind: Address,
    /// With the account of the owner, to put the rows back and to look at them.
    keepers: [Driver; 2],
    _proxy: Proxy,
}

pub(super) async fn prove(flavour: Flavour, seed: u64, sessions: u64) {
    let mut sides = Sides::new(flavour).await;
    prove_found(flavour, &mut sides).await;
    let mut found = Vec::new();
    let mut unsteady = 0;
    let mut steps = 0;
    for seed in (0..sessions).map(|number| seed.wrapping_add(number)) {
        let session = kept(draw::session(seed, flavour, Manner::Orderly));
        steps += session.steps.len();
        if sides.differs(&session).await.is_none() {
            continue;
        }
        // What happens only now and then cannot be shortened.
        let Some(first) = sides.differs(&session).await else {
            unsteady += 1;
            continue;
        };
        let (shortest, steps, difference) = sides.shorten(session, first).await;
        let steps: Vec<_> = steps.iter().map(usize::to_string).collect();
        found.push(format!(
            "COUNTERSINK_SEED={seed} COUNTERSINK_SESSIONS=1 COUNTERSINK_KEEP={}\n{shortest}{difference}\n",
            steps.join(",")
        ));
        if found.len() == MOST_SHOWN {
            break;
        }
    }
    say(&format!(
        "{flavour}: {sessions} sessions of {steps} steps compared, {unsteady} differed once and not again"
    ));
    assert!(
        found.is_empty(),
        "sessions are answered in another way than by the server:\n\n{}",
        found.join("\n")
    );
}

/// Sessions that were answered in another way once.
async fn prove_found(flavour: Flavour, sides: &mut Sides) {
    const UPDATE: &[u8] = b"\x03UPDATE posts SET views = views + 1 WHERE id = 1";
    const READ: &[u8] = b"\x03SELECT views FROM posts WHERE id = 1";
    let query = |payload: &[u8]| Step::new("query", payload.to_vec());
    let out_of_order = |payload: &[u8]| Step {
        sequence_id: 7,
        ..query(payload)
    };
    let found = [
        // A hot statement out of order was done, and the connection went on.
        vec![out_of_order(UPDATE), query(READ)],
        vec![out_of_order(READ), query(READ)],
        vec![out_of_order(b"\x16SELECT 1"), query(READ)],
        vec![out_of_order(b"\x11hostile\0\0cs_hostile\0"), query(READ)],
        vec![out_of_order(b"\x01")],
        // MySQL's answer to it was taken for that to what the proxy had asked.
        vec![query(b"\x18\x01"), query(UPDATE), query(UPDATE)],
        vec![query(b"\x19\x01\0\0"), query(UPDATE), query(UPDATE)],
        vec![
            query(b"\x12\x04\0\0\0\0\0\x09\0\0\0b"),
            query(READ),
            query(UPDATE),
        ],
    ];
    for steps in found {
        let mut session = draw::session(0, flavour, Manner::Orderly);
        session.login.capabilities = Driver::CAPABILITIES | capability::CONNECT_WITH_DB;
        session.login.has_schema = true;
        session.steps = steps;
        if let Some(difference) = sides.differs(&session).await {
            panic!("{session}{difference}");
        }
    }
}

/// The session, or the steps of it that `COUNTERSINK_KEEP` names.
fn kept(mut session: Session) -> Session {
    if let Ok(text) = std::env::var("COUNTERSINK_KEEP") {
        let numbers: Vec<usize> = text
            .split(',')
            .filter_map(|number| number.trim().parse().ok())
            .collect();
        let mut number = 0..;
        session.steps.retain(|_| {
            number
                .next()
                .is_some_and(|number| numbers.contains(&number))
        });
    }
    session
}

impl Sides {
    async fn new(flavour: Flavour) -> Self {
        let twin = twin(flavour);
        assert_ne!(
            twin.plain, twin.proxied,
            "one server is not compared with itself"
        );
        make_schema(&twin.plain).await;
        make_schema(&twin.proxied).await;
        let proxy = Proxy::start(&twin.proxied, &counters());
        let schema = Some(schema_name());
        let keepers = [
            connect(&twin.plain, schema).await,
            connect(&proxy.address, schema).await,
        ];
        let account = |address: &Address| Address {
            user: USER.to_owned(),
            password: String::new(),
            ..address.clone()
        };
        Self {
            plain: account(&twin.plain),
            proxied: account(&proxy.address),
            behind: twin.proxied.clone(),
            keepers,
            _proxy: proxy,
        }
    }

    /// Plays a session on both sides; what differs first.
    async fn differs(&mut self, session: &Session) -> Option<String> {
        for keeper in &mut self.keepers {
            fill(keeper).await;
        }
        let (mut direct, _) = play(&self.plain, session, PATIENCE).await;
        let (mut proxied, _) = play(&self.proxied, session, PATIENCE).await;
        // Behind the last answer, it is chance whether a write to a connection that is being closed still succeeds.
        for answers in [&mut direct.answers, &mut proxied.answers] {
            let is_said = |answer: &Answer| !answer.packets.is_empty();
            answers.truncate(answers.iter().rposition(is_said).map_or(0, |last| last + 1));
        }
        let owners = Address {
            port: self.plain.port,
            host: self.plain.host.clone(),
            ..self.behind.clone()
        };
        wait_until_gone(&owners, &[USER]).await;
        wait_until_gone(&self.behind, &[USER]).await;
        if direct.login != proxied.login {
            return Some(format!(
                "login: {:?} directly, {:?} through the proxy",
                direct.login, proxied.login
            ));
        }
        let answers = direct.answers.iter().zip(&proxied.answers);
        for (step, (direct, proxied)) in session.steps.iter().zip(answers) {
            if is_known_limit(direct, proxied) {
                return None;
            }
            if let Some(difference) = difference(step, direct, proxied) {
                return Some(difference);
            }
        }
        let went = [direct.answers.len(), proxied.answers.len()];
        if went[0] != went[1] {
            return Some(format!("steps taken: {went:?}"));
        }
        self.tables_differ().await
    }

    async fn tables_differ(&mut self) -> Option<String> {
        const READS: [&str; 3] = [
            "SELECT * FROM posts WHERE id < 100 ORDER BY id",
            "SELECT * FROM daily ORDER BY day, id",
            "SELECT * FROM notes ORDER BY id",
        ];
        let [plain, proxied] = &mut self.keepers;
        for read in READS {
            let theirs = rows(plain, read).await;
            let ours = rows(proxied, read).await;
            if theirs != ours {
                return Some(format!("{read}\n  direct  {theirs:?}\n  proxied {ours:?}"));
            }
        }
        None
    }

    /// The session without the steps that it differs without, which steps those are that are left, and how it differs.
    async fn shorten(&mut self, session: Session, first: String) -> (Session, Vec<usize>, String) {
        let mut numbers: Vec<_> = (0..session.steps.len()).collect();
        let (mut shortest, mut found) = (session, first);
        let mut at = numbers.len();
        while at > 0 {
            at -= 1;
            let mut shorter = shortest.clone();
            shorter.steps.remove(at);
            if let Some(difference) = self.differs(&shorter).await {
                (shortest, found) = (shorter, difference);
                numbers.remove(at);
            }
        }
        (shortest, numbers, found)
    }
}
