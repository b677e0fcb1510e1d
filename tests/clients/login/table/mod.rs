//! The table of logins: accounts of every kind, refused in every way, by clients with TLS and without. They log in or
//! change users, directly and through proxies that reach the server plain, over TLS and over its unix socket. Each is
//! told what it is told directly, code and text, or something else that is written down with its reason.
//!
//! `cargo test --test clients login::table -- --nocapture` prints it. It is in docs/logins.md.

mod case;
mod difference;
mod mariadb;
mod mysql;
mod page;
mod place;
mod played;
mod speaker;

use std::collections::BTreeMap;

use countersink_sandbox::Flavour;
use tokio_rustls::TlsConnector;

use case::{Case, Column};
use difference::Difference;
use page::Table;
use place::Place;
use speaker::{Outcome, Speaker, Who};

#[test]
fn mysqls_accounts_are_told_through_the_proxy_what_they_are_told_directly() {
    hold("MySQL", Place::of(Flavour::MySql), mysql::CASES);
}

#[test]
fn mariadbs_accounts_are_told_through_the_proxy_what_they_are_told_directly() {
    hold("MariaDB", Place::of(Flavour::MariaDb), mariadb::CASES);
}

#[test]
fn accounts_of_pam_and_of_several_factors_are_told_through_the_proxy_what_they_are_told_directly() {
    hold("A server that is played", Place::played(), played::CASES);
}

/// Compares what is told with what is told directly, and the table of it with the page's part of this name.
fn hold(part: &str, place: Place, cases: &'static [Case]) {
    let place: &'static Place = Box::leak(Box::new(place));
    let mut run = Run::new(place);
    place.runtime.block_on(async {
        for case in cases {
            run.case(case).await;
        }
    });
    let text = page::text(&run.tables, &run.differences);
    super::say(&format!("{part}\n\n{text}"));
    assert!(
        run.found.is_empty(),
        "{} findings:\n{}",
        run.found.len(),
        run.found.join("\n")
    );
    // The page is about the servers that are fetched unless another release is asked for.
    match std::env::var_os("COUNTERSINK_MARIADB_SUITE") {
        None => page::hold(part, &text),
        Some(_) => super::say("docs/logins.md is about other servers, and is not compared"),
    }
}

/// How a session becomes an account's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Door {
    Login,
    ChangeUser,
}

impl Door {
    const BOTH: [Self; 2] = [Self::Login, Self::ChangeUser];
}

/// The logins of one family.
struct Run {
    place: &'static Place,
    /// One for each door.
    tables: [Table; 2],
    /// Those that there are, by their letters.
    differences: BTreeMap<char, &'static Difference>,
    found: Vec<String>,
}

impl Run {
    fn new(place: &'static Place) -> Self {
        let table = |title| Table::new(title, &place.columns);
        Self {
            place,
            tables: [table("At login"), table("By COM_CHANGE_USER")],
            differences: BTreeMap::new(),
            found: Vec::new(),
        }
    }

    async fn case(&mut self, case: &'static Case) {
        self.place.administer(case.before).await;
        let held = self.prior(case).await;
        for (door, table) in Door::BOTH.into_iter().zip(0..) {
            if case.login_only && door == Door::ChangeUser {
                continue;
            }
            let directly = [false, true].map(|tls| (self.place.server, tls));
            let proxies = self.place.columns.iter();
            let proxies = proxies.map(|(column, port)| (*port, column.tls));
            let ways = directly.into_iter().chain(proxies);
            let mut told = outcomes(self.place, case, door, ways.collect()).await;
            let proxied = told.split_off(directly.len());
            let codes: Vec<_> = told.iter().map(Outcome::code).collect();
            if codes != case.direct {
                let what = format!("directly: {codes:?} instead of {:?}: {told:?}", case.direct);
                self.report(case, door, &what);
            }
            let mut cells = Vec::new();
            for ((column, _), proxied) in self.place.columns.iter().zip(&proxied) {
                let direct = &told[usize::from(column.tls)];
                cells.push(self.cell(case, door, *column, direct, proxied));
            }
            self.tables[table].row(case.name, &codes, cells);
        }
        drop(held);
        self.place.administer(case.after).await;
    }

    /// A direct login before the others, kept if it is to be. One from the proxy's host is made as well: what the
    /// server has in its cache must not depend on which of the others comes first.
    async fn prior(&self, case: &Case) -> Option<Speaker> {
        let who = Who {
            passwords: match case.prior? {
                case::PASSWORD => &[case::PASSWORD],
                case::SECOND => &[case::SECOND],
                other => unreachable!("no account has {other}"),
            },
            says: None,
            ..case.who
        };
        let tls = self.place.tls(case.certified);
        let who = self.place.who(&who);
        if case.holds {
            let session = Speaker::log_in(self.place.server, Some(tls), &who).await;
            return session.ok();
        }
        for from in [who.from, 1] {
            let who = Who { from, ..who };
            if let Ok(session) = Speaker::log_in(self.place.server, Some(tls), &who).await {
                session.asked(&who).await;
            }
        }
        if case.fails {
            let who = case.wrong().who;
            Speaker::log_in(self.place.server, Some(tls), &who)
                .await
                .err();
        }
        None
    }

    /// What the table says of a column.
    fn cell(
        &mut self,
        case: &Case,
        door: Door,
        column: Column,
        direct: &Outcome,
        proxied: &Outcome,
    ) -> char {
        let Some(difference) = case.difference(column) else {
            if proxied == direct {
                return '=';
            }
            let what = format!("{column:?}\n  direct  {direct:?}\n  proxied {proxied:?}");
            self.report(case, door, &what);
            return '!';
        };
        if proxied == direct || !difference.is(proxied) {
            let what = format!(
                "{column:?}: not {}\n  direct  {direct:?}\n  proxied {proxied:?}",
                difference.letter
            );
            self.report(case, door, &what);
            return '!';
        }
        self.differences.insert(difference.letter, difference);
        difference.letter
    }

    fn report(&mut self, case: &Case, door: Door, what: &str) {
        self.found.push(format!("{}, {door:?}, {what}", case.name));
    }
}

/// What clients are told that go these ways. They go at the same time, for servers take their time to refuse, unless
/// something is to be done before each.
async fn outcomes(
    place: &'static Place,
    case: &'static Case,
    door: Door,
    ways: Vec<(u16, bool)>,
) -> Vec<Outcome> {
    let mut logins = Vec::new();
    for (port, tls) in ways {
        place.administer(case.each).await;
        let mut login = tokio::spawn(outcome(place, case, door, port, tls));
        if !case.each.is_empty() {
            let told = login.await.expect("it ends");
            login = tokio::spawn(std::future::ready(told));
        }
        logins.push(login);
    }
    let mut outcomes = Vec::new();
    for login in logins {
        outcomes.push(login.await.expect("it ends").comparable());
    }
    outcomes
}

async fn outcome(place: &Place, case: &Case, door: Door, port: u16, tls: bool) -> Outcome {
    let tls = tls.then(|| place.tls(case.certified));
    let who = place.who(&case.who);
    match door {
        Door::Login => match Speaker::log_in(port, tls, &who).await {
            Ok(session) => session.asked(&who).await,
            Err(outcome) => outcome,
        },
        Door::ChangeUser => changed(port, tls, &who).await,
    }
}

async fn changed(port: u16, tls: Option<&TlsConnector>, who: &Who) -> Outcome {
    let first = Who {
        from: who.from,
        handles_expired: who.handles_expired,
        ..place::FIRST
    };
    match Speaker::log_in(port, tls, &first).await {
        Ok(session) => session.change_user(who).await,
        Err(outcome) => Outcome::Unable(format!("the first login: {outcome:?}")),
    }
}
