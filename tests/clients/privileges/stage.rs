//! Two servers with the same rows: one that is asked directly, one behind a proxy, on which a part of each value lies
//! in slots.

use std::time::{Duration, Instant};

use countersink::driver::{Driver, Packet};
use countersink::wire::response::{PacketKind, PrepareOk, ResponseKind};
use countersink::wire::{command, reply};
use countersink_sandbox::{Address, Flavour};

use crate::support::client::{connect, create_schema, number, run, run_all};
use crate::support::proxy::Proxy;
use crate::support::twin::{Twin, twin};

/// How long a change past the proxy may take to be noticed.
const PATIENCE: Duration = Duration::from_secs(20);

const CREATE: &str = "CREATE TABLE posts (
  id INT NOT NULL PRIMARY KEY,
  title VARCHAR(40) NOT NULL DEFAULT '',
  views INT NOT NULL DEFAULT 0,
  likes INT NOT NULL DEFAULT 0,
  KEY title (title)
) DEFAULT CHARSET = utf8mb4;
CREATE TABLE notes (id INT NOT NULL PRIMARY KEY);";

const ROWS: &str = "DELETE FROM posts;
INSERT INTO posts VALUES (1, 'first', 100, 10), (2, 'second', 200, 20), (3, 'third', 300, 30);";

/// The same values, a part of them in slots.
const INTO_SLOTS: &str = "DELETE FROM posts_slots;
UPDATE posts SET views = views - 7, likes = likes - 2 WHERE id < 3;
INSERT INTO posts_slots (id, slot, views, likes) VALUES (1, 0, 7, 2), (2, 0, 5, 0), (2, 1, 2, 2);";

/// Both sides of a comparison.
pub struct Stage {
    pub schema: &'static str,
    pub proxy: Proxy,
    twin: &'static Twin,
    /// The owners of both servers: directly, and past the proxy.
    plain: Driver,
    behind: Driver,
    /// The owner, through the proxy.
    through: Driver,
}

/// One account's sessions: direct, and through the proxy.
pub struct Pair {
    direct: Driver,
    proxied: Driver,
}

/// What a server answers, packet by packet; or how the conversation ended.
type Answer = Result<Vec<(PacketKind, Vec<u8>)>, String>;

/// What came of a statement.
pub struct Outcome {
    /// The server refused it on the plain side.
    pub refused: bool,
    /// What differs.
    pub difference: Option<String>,
    /// On the proxied side it was refused for want of a right, and has done nothing.
    pub lacks_right: bool,
}

impl Stage {
    pub async fn new(flavour: Flavour, schema: &'static str) -> Self {
        let twin = twin(flavour);
        assert_ne!(twin.plain, twin.proxied, "two servers are compared");
        let plain = create_schema(&twin.plain, schema, CREATE).await;
        let behind = create_schema(&twin.proxied, schema, CREATE).await;
        let rules = format!(
            "counters:\n  - {{table: {schema}.posts, columns: [views, likes], rollup: 10s}}\n"
        );
        let proxy = Proxy::start(&twin.proxied, &rules);
        let through = connect(&proxy.address, Some(schema)).await;
        let mut stage = Self {
            schema,
            proxy,
            twin,
            plain,
            behind,
            through,
        };
        stage.fill().await;
        stage
    }

    /// Has both sides hold the first rows again.
    pub async fn fill(&mut self) {
        run_all(&mut self.plain, &format!("BEGIN; {ROWS} COMMIT")).await;
        let script = format!("BEGIN; {ROWS} {INTO_SLOTS} COMMIT");
        run_all(&mut self.behind, &script).await;
    }

    /// `~` stands for the schema, `@app` for the account and `@role` for a role of it.
    fn expand(&self, script: &str) -> String {
        let Self { schema, .. } = self;
        script
            .replace('~', schema)
            .replace("@app", &format!("app_{schema}"))
            .replace("@role", &format!("role_{schema}"))
    }

    /// Makes the account and its role anew, with no other right than to make the schema its current one.
    pub async fn make_account(&mut self) {
        self.remove_account().await;
        self.past("CREATE USER @app; CREATE ROLE @role; GRANT SELECT ON ~.notes TO @app")
            .await;
    }

    pub async fn remove_account(&mut self) {
        self.past("DROP USER IF EXISTS @app; DROP ROLE IF EXISTS @role")
            .await;
    }

    /// The owner of both servers runs a script directly on each, past the proxy.
    pub async fn past(&mut self, script: &str) {
        if script.is_empty() {
            return;
        }
        let script = self.expand(script);
        run_all(&mut self.plain, &script).await;
        run_all(&mut self.behind, &script).await;
    }

    /// The same, on the one side through the proxy.
    pub async fn through(&mut self, script: &str) {
        let script = self.expand(script);
        run_all(&mut self.plain, &script).await;
        run_all(&mut self.through, &script).await;
    }

    /// On the server behind the proxy alone.
    pub async fn behind(&mut self, script: &str) {
        if script.is_empty() {
            return;
        }
        let script = self.expand(script);
        run_all(&mut self.behind, &script).await;
    }

    /// A login of the account on both sides.
    pub async fn login(&mut self) -> Pair {
        let user = self.expand("@app");
        Pair {
            direct: log_in(&self.twin.plain, &user, self.schema).await,
            proxied: log_in(&self.proxy.address, &user, self.schema).await,
        }
    }

    /// Runs a text on both sides, on the one side behind the proxy again and again, until what it does is the same.
    pub async fn run_until_same(&mut self, pair: &mut Pair, text: &str) {
        let deadline = Instant::now() + PATIENCE;
        let direct = answer(&mut pair.direct, text, false).await;
        loop {
            let proxied = answer(&mut pair.proxied, text, false).await;
            if direct == proxied {
                break;
            }
            let (direct, proxied) = (shown(&direct), shown(&proxied));
            assert!(
                Instant::now() < deadline,
                "{text}\n    direct  {direct}\n    proxied {proxied}"
            );
        }
        self.fill().await;
    }

    /// Two sessions behind the proxy run a text at the same time, so that their increments may be written together: how
    /// often each has run it, and how often it was refused to the second.
    pub async fn race(
        &mut self,
        first: &mut Pair,
        second: &mut Pair,
        text: &str,
    ) -> (usize, usize) {
        const TIMES: usize = 300;
        let refusals = async |pair: &mut Pair| {
            let mut refused = 0;
            for _ in 0..TIMES {
                let answer = answer(&mut pair.proxied, text, false).await;
                refused += usize::from(is_refused_for_right(&answer));
            }
            refused
        };
        let (of_first, of_second) = tokio::join!(refusals(first), refusals(second));
        assert_eq!(of_first, 0, "the first may");
        (TIMES, of_second)
    }

    /// Runs texts on both sides, each behind the other, and compares answers and rows.
    pub async fn run(&mut self, pair: &mut Pair, texts: &[&str], binary: bool) -> Outcome {
        let mut difference = None;
        let mut refused = false;
        let mut lacks_right = false;
        for text in texts {
            let text = &self.expand(text);
            let direct = answer(&mut pair.direct, text, binary).await;
            let proxied = answer(&mut pair.proxied, text, binary).await;
            refused |= is_refused(&direct);
            lacks_right |= is_refused_for_right(&proxied);
            if direct != proxied {
                let (direct, proxied) = (shown(&direct), shown(&proxied));
                let told = format!("{text}\n    direct  {direct}\n    proxied {proxied}");
                difference.get_or_insert(told);
            }
        }
        let (direct, proxied, differ) = self.rows().await;
        if differ {
            let told = format!("rows\n    direct  {direct}\n    proxied {proxied}");
            difference = Some(match difference {
                Some(first) => format!("{first}\n    {told}"),
                None => format!("{}: {told}", texts.join("; ")),
            });
        }
        if direct != FIRST_ROWS || differ {
            self.fill().await;
        }
        Outcome {
            refused,
            difference,
            lacks_right: lacks_right && proxied == FIRST_ROWS,
        }
    }

    /// What slots hold of the views.
    pub async fn in_slots(&mut self) -> i64 {
        number(&mut self.behind, "SELECT SUM(views) FROM posts_slots").await
    }

    /// Runs texts behind the proxy alone.
    pub async fn increment_behind(&mut self, pair: &mut Pair, texts: &[&str]) {
        for text in texts {
            run(&mut pair.proxied, text).await;
        }
    }

    /// What both sides hold, and whether that differs.
    async fn rows(&mut self) -> (String, String, bool) {
        const QUERY: &str = "SELECT id, title, views, likes FROM posts ORDER BY id";
        let direct = values(&mut self.plain, QUERY).await;
        let proxied = values(&mut self.through, QUERY).await;
        let differ = direct != proxied;
        (direct, proxied, differ)
    }
}

/// The rows of [`ROWS`], as they are shown.
const FIRST_ROWS: &str = "1 first 100 10 | 2 second 200 20 | 3 third 300 30";

async fn values(driver: &mut Driver, query: &str) -> String {
    let rows = crate::support::client::rows(driver, query).await;
    let rows: Vec<_> = rows.iter().map(|row| row.join(" ")).collect();
    rows.join(" | ")
}

async fn log_in(to: &Address, user: &str, schema: &str) -> Driver {
    let account = Address {
        user: user.to_owned(),
        password: String::new(),
        ..to.clone()
    };
    connect(&account, Some(schema)).await
}

async fn answer(driver: &mut Driver, text: &str, binary: bool) -> Answer {
    let mut packets = Vec::new();
    let told = match binary {
        true => prepare_and_execute(driver, text, &mut packets).await,
        false => {
            let payload = driver.query_payload(text);
            exchange(driver, &payload, ResponseKind::Results, &mut packets).await
        }
    };
    told.map_err(|error| error.to_string())?;
    Ok(packets.into_iter().map(seen).collect())
}

async fn exchange(
    driver: &mut Driver,
    payload: &[u8],
    response_kind: ResponseKind,
    packets: &mut Vec<Packet>,
) -> Result<(), countersink::driver::Error> {
    driver.send(payload).await?;
    packets.extend(driver.packets(response_kind).await?);
    Ok(())
}

async fn prepare_and_execute(
    driver: &mut Driver,
    text: &str,
    packets: &mut Vec<Packet>,
) -> Result<(), countersink::driver::Error> {
    let payload = [&[command::STMT_PREPARE], text.as_bytes()].concat();
    exchange(driver, &payload, ResponseKind::Prepared, packets).await?;
    let Ok(prepared) = PrepareOk::decode(&packets[0].payload) else {
        return Ok(()); // refused
    };
    // Statement ids are the server's own.
    packets.remove(0);
    let id = prepared.statement_id.to_le_bytes();
    const NO_CURSOR_ONCE: [u8; 5] = [0, 1, 0, 0, 0];
    let execute = [&[command::STMT_EXECUTE][..], &id, &NO_CURSOR_ONCE].concat();
    exchange(driver, &execute, ResponseKind::Results, packets).await?;
    driver
        .send(&[&[command::STMT_CLOSE][..], &id].concat())
        .await
}

/// Whether a right is lacking, to a table or a column.
fn is_refused_for_right(answer: &Answer) -> bool {
    let packets = answer.iter().flatten();
    let mut errors = packets.filter(|(packet_kind, _)| *packet_kind == PacketKind::Err);
    errors.any(|(_, payload)| {
        let code = reply::Err::decode(payload).map_or(0, |err| err.code);
        matches!(code, 1142 | 1143)
    })
}

fn is_refused(answer: &Answer) -> bool {
    let Ok(packets) = answer else {
        return true;
    };
    packets
        .iter()
        .any(|(packet_kind, _)| *packet_kind == PacketKind::Err)
}

/// What an account may see of a packet. How columns are defined, and whether an index was of use, the transparency
/// tests compare.
fn seen(packet: Packet) -> (PacketKind, Vec<u8>) {
    let payload = match packet.packet_kind {
        PacketKind::Column | PacketKind::RowsEnd => Vec::new(),
        _ => packet.payload,
    };
    (packet.packet_kind, payload)
}

fn shown(answer: &Answer) -> String {
    let packets = match answer {
        Ok(packets) => packets,
        Err(error) => return error.clone(),
    };
    let shown = packets
        .iter()
        .map(|(packet_kind, payload)| format!("{packet_kind:?} {}", payload.escape_ascii()));
    shown.collect::<Vec<_>>().join(" / ")
}
