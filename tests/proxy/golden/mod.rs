//! Golden cases: what EXPLAIN says of a statement, on both servers, offline and in a session of a running proxy.
//!
//! `tests/cases/*.yaml` holds statements by topic. Their tables are made on a real server, and its catalog is read and
//! written to a file as `countersink explain --save-catalog` does; the plan from that file must be the one in the case,
//! and so must the one that a session of a proxy in front of the server gives. COUNTERSINK_REGENERATE=1 writes the
//! plans into the files instead; read what has changed before it is committed.

mod case;
mod responses;

use std::fmt::Write;

use countersink::catalog::{self, Catalog, Snapshot};
use countersink::counter::control::Control;
use countersink::driver::{Driver, Reply};
use countersink::explain::{Line, Part, Situation, explain_plan, show};
use countersink::sql;
use countersink::sql::plan::SessionVariables;
use countersink_sandbox::{Address, Flavour};

use crate::support;
use crate::support::client::{connect, rows, run, run_all};
use crate::support::proxy::{Proxy, config_of, rules_head};
use crate::support::twin::single;
use case::{Case, File};

/// The schema of the cases.
const SCHEMA: &str = "shop";

macro_rules! topics {
    ($($topic:ident,)*) => {
        const TOPICS: &[&str] = &[$(stringify!($topic)),*];

        $(#[test]
        fn $topic() {
            support::block_on(test(stringify!($topic)));
        })*
    };
}

topics![
    section3,
    traps,
    increments,
    reads,
    writes,
    without_slots,
    schema,
    unsupported,
];

#[test]
fn every_file_of_cases_is_tested() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases");
    let files = std::fs::read_dir(folder).expect("the cases");
    let mut names: Vec<_> = files
        .map(|file| file.expect("a file").path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "yaml")
        })
        .map(|path| path.file_stem().expect("a name").display().to_string())
        // What libraries send has a test of its own: tests/orm.
        .filter(|name| name != "orm")
        .collect();
    names.sort();
    let mut topics = TOPICS.to_vec();
    topics.sort_unstable();
    assert_eq!(names, topics);
}

/// The plans of a topic's cases on both servers; compared, or written into the file.
async fn test(topic: &str) {
    let mut file = case::read(topic);
    let on_mysql = plans(topic, &file, Flavour::MySql).await;
    let on_mariadb = plans(topic, &file, Flavour::MariaDb).await;
    let regenerate = std::env::var_os("COUNTERSINK_REGENERATE").is_some();
    let mut report = String::new();
    for ((case, mysql), mariadb) in file.cases.iter_mut().zip(on_mysql).zip(on_mariadb) {
        let mariadb = (mariadb != mysql).then_some(mariadb).flatten();
        if !regenerate && (&mysql, &mariadb) != (&case.plan, &case.mariadb) {
            describe(&mut report, case, &mysql, &mariadb);
        }
        case.plan = mysql;
        case.mariadb = mariadb;
    }
    let text = case::written(&file);
    let path = case::path(topic);
    if regenerate {
        std::fs::write(&path, text).expect("cases can be written");
        return;
    }
    assert!(
        report.is_empty(),
        "{}: other plans than it says; COUNTERSINK_REGENERATE=1 writes them into it\n{report}",
        path.display()
    );
    let stands = std::fs::read_to_string(&path).expect("cases");
    assert_eq!(text, stands, "COUNTERSINK_REGENERATE=1 lays the file out");
}

/// The lines that are no longer there, and the new ones.
fn describe(report: &mut String, case: &Case, mysql: &Option<String>, mariadb: &Option<String>) {
    let statement = case.statement.as_deref().unwrap_or_default();
    writeln!(report, "\n== {}\n{statement}", case.comment).expect("a String takes all");
    for (server, expected, found) in [
        ("MySQL", &case.plan, mysql),
        ("MariaDB", &case.mariadb, mariadb),
    ] {
        let [expected, found] = [expected, found].map(|plan| plan.as_deref().unwrap_or_default());
        let gone = expected
            .lines()
            .filter(|line| !found.lines().any(|new| new == *line));
        let new = found
            .lines()
            .filter(|line| !expected.lines().any(|old| old == *line));
        for line in gone
            .map(|line| format!("- {line}"))
            .chain(new.map(|line| format!("+ {line}")))
        {
            writeln!(report, "{server} {line}").expect("a String takes all");
        }
    }
}

/// The plans of a file's cases on one server.
async fn plans(topic: &str, file: &File, flavour: Flavour) -> Vec<Option<String>> {
    let server = single(flavour);
    let world = World::new(topic, file, server).await;
    let mut plans = Vec::new();
    for case in &file.cases {
        if let (Some(code), Some(statement)) = (case.error, &case.statement) {
            world.fails(case, statement, code).await;
        }
        plans.push(match &case.statement {
            Some(statement) => Some(world.plan(case, statement).await),
            None => None,
        });
    }
    drop(world.proxy);
    let mut driver = connect(server, None).await;
    run(&mut driver, &format!("DROP DATABASE `{}`", world.schema)).await;
    plans
}

/// A file's tables on a server, with a proxy in front.
struct World {
    /// What `shop` is called there.
    schema: String,
    server: Address,
    /// The part of rules.yaml behind the server's address, for this schema.
    rules: String,
    proxy: Proxy,
    /// From a file, under the names of the cases.
    catalog: Catalog,
    /// What a session starts with.
    sql_mode: String,
}

impl World {
    async fn new(topic: &str, file: &File, server: &Address) -> Self {
        let schema = format!("golden_{topic}_{}", std::process::id());
        let mut driver = connect(server, None).await;
        run(
            &mut driver,
            &format!("CREATE DATABASE `{schema}` CHARACTER SET utf8mb4"),
        )
        .await;
        run(&mut driver, &format!("USE `{schema}`")).await;
        run_all(&mut driver, file.schema.trim_end().trim_end_matches(';')).await;
        let rules = renamed(&file.rules, SCHEMA, &schema);
        let proxy = Proxy::start(server, &rules);
        let snapshot = snapshot(&(rules_head(server) + &rules)).await;
        let yaml = snapshot.to_yaml().replace(&schema, SCHEMA);
        let snapshot = Snapshot::from_yaml(&yaml).expect("a catalog that we wrote");
        let catalog = catalog::offline(&snapshot, &config_of(&(rules_head(server) + &file.rules)));
        Self {
            schema,
            server: server.clone(),
            rules,
            proxy,
            catalog: catalog.expect("the same tables"),
            sql_mode: snapshot.sql_mode().to_owned(),
        }
    }

    /// What explains the case; the file and the proxy must agree, unless the session has a history.
    async fn plan(&self, case: &Case, statement: &str) -> String {
        let asked = self.asked(case, statement).await;
        if case.before.is_empty() {
            let variables = SessionVariables {
                schema: Some(SCHEMA.to_owned()),
                ..SessionVariables::default()
            }
            .with_sql_mode(&self.sql_mode);
            let plan = sql::plan(statement.as_bytes(), &variables, &self.catalog);
            let offline = explain_plan(&plan, &Situation::default()).to_string();
            assert_eq!(offline, asked, "offline, and asked: {statement}");
        }
        asked
    }

    /// What a session of the proxy says. Where it has a history, so has its proxy, which learns from sessions.
    async fn asked(&self, case: &Case, statement: &str) -> String {
        let fresh = match case.before.is_empty() {
            true => None,
            false => Some(Proxy::start(&self.server, &self.rules)),
        };
        let proxy = fresh.as_ref().unwrap_or(&self.proxy);
        let mut driver = connect(&proxy.address, Some(&self.schema)).await;
        for before in &case.before {
            run(&mut driver, &renamed(before, SCHEMA, &self.schema)).await;
        }
        let statement = renamed(statement, SCHEMA, &self.schema);
        let lines = explained(&mut driver, &statement).await;
        show(&lines).replace(&self.schema, SCHEMA)
    }
}

impl World {
    /// The statement fails through the proxy, and not at the server: else it is no limit any more.
    async fn fails(&self, case: &Case, statement: &str, code: u16) {
        let mut answers = Vec::new();
        for address in [&self.proxy.address, &self.server] {
            let mut driver = connect(address, Some(&self.schema)).await;
            for before in &case.before {
                run(&mut driver, &renamed(before, SCHEMA, &self.schema)).await;
            }
            let answer = driver
                .query(&renamed(statement, SCHEMA, &self.schema))
                .await;
            answers.push(match answer.expect("an answer") {
                Reply::Err(error) => error.code,
                _ => 0,
            });
        }
        assert_eq!(answers, [code, 0], "proxied and direct: {statement}");
    }
}

/// The proxy's answer to EXPLAIN FORMAT=COUNTERSINK.
async fn explained(driver: &mut Driver, statement: &str) -> Vec<Line> {
    let question = format!("EXPLAIN FORMAT=COUNTERSINK {statement}");
    let lines = rows(driver, &question).await.into_iter().map(|row| {
        let [part, when, text] = row.try_into().expect("three columns");
        Line {
            part: Part::of(&part).unwrap_or_else(|| panic!("part {part}")),
            when,
            text,
        }
    });
    lines.collect()
}

async fn snapshot(rules: &str) -> Snapshot {
    let config = config_of(rules);
    let control = Control::open(&config).await.expect("the control account");
    let mut conn = control.connect().await.expect("a connection");
    let (_, snapshot) = catalog::survey(&mut conn, &config).await.expect("tables");
    drop(conn);
    control.close().await;
    snapshot
}

/// A text in which a schema, wherever it is a word, has another name.
fn renamed(text: &str, from: &str, to: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(from) {
        let (before, behind) = (&rest[..at], &rest[at + from.len()..]);
        let is_word = !before.ends_with(is_part) && !behind.starts_with(is_part);
        out += before;
        out += if is_word { to } else { from };
        rest = behind;
    }
    out + rest
}
