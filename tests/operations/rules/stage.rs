//! What the tests of rules have in common: a table, and what `provision` and `serve` say of it.

use std::path::Path;

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, OptsBuilder};

use crate::support::binary::Serving;
use crate::support::{Sandbox, countersink, servers};

pub(super) const POSTS: &str = "CREATE TABLE ~.posts (id BIGINT UNSIGNED PRIMARY KEY AUTO_INCREMENT, \
     title VARCHAR(40), views INT UNSIGNED NOT NULL DEFAULT 0, likes BIGINT DEFAULT 0, \
     updated_at TIMESTAMP NULL ON UPDATE CURRENT_TIMESTAMP)";

/// On each server, the rule for `posts` is refused with `expected`, when `tables` have been made.
pub(super) async fn refused(tables: &str, rule: &str, expected: &str) {
    for server in servers() {
        let sandbox = Sandbox::new(&server, tables).await;
        refused_in(&sandbox, rule, expected).await;
    }
}

/// By `provision` and by `serve`.
pub(super) async fn refused_in(sandbox: &Sandbox, rule: &str, expected: &str) {
    let rules = sandbox.rules(rule);
    let provision = refused_by_provision(sandbox, rule, expected);
    let (code, errors) = serve(sandbox, &rules).await;
    assert!(
        errors.contains(&provision),
        "expected {provision}\ngot {errors}"
    );
    assert_eq!(code, 2, "{errors}");
}

/// By `provision` alone: `serve` waits. Returns what is expected, in full.
pub(super) fn refused_by_provision(sandbox: &Sandbox, rule: &str, expected: &str) -> String {
    let rules = sandbox.rules(rule);
    let expected = format!(
        "countersink: {}: counters[0] ({}.posts): {}",
        rules.display(),
        sandbox.schema,
        expected.replace('~', &sandbox.schema)
    );
    let (code, output, errors) = countersink(&["provision"], &rules);
    assert!(
        errors.contains(&expected),
        "expected {expected}\ngot {errors}"
    );
    assert_eq!((code, &*output), (2, ""), "nothing is done: {errors}");
    expected
}

/// Serves, asks through the proxy and stops it; its exit code, and what it said.
pub(super) async fn serve(sandbox: &Sandbox, rules: &Path) -> (i32, String) {
    let ended = match Serving::start(rules) {
        Ok(serving) => {
            let posts = format!("SELECT COUNT(*) FROM {}.posts", sandbox.schema);
            let asked = through(sandbox, &serving).await.query_first(posts).await;
            assert_eq!(asked.expect("an answer through the proxy"), Some(0));
            serving.stop()
        }
        Err(refused) => refused,
    };
    (ended.code.expect("no signal"), ended.errors)
}

/// A client of the proxy.
pub(super) async fn through(sandbox: &Sandbox, serving: &Serving) -> Conn {
    let options = OptsBuilder::from_opts(sandbox.server.clone())
        .ip_or_hostname(serving.address.ip().to_string())
        .tcp_port(serving.address.port());
    Conn::new(options).await.expect("a login through the proxy")
}

/// Provisions and expects the report to say `expected` of the slot table.
pub(super) fn provisioned(sandbox: &Sandbox, rule: &str, expected: &str) {
    let (code, output, errors) = countersink(&["provision"], &sandbox.rules(rule));
    let expected = format!("{}.posts_slots: {expected}\n", sandbox.schema);
    assert_eq!((code, output.as_str()), (0, expected.as_str()), "{errors}");
}

pub(super) async fn slot_tables(sandbox: &Sandbox) -> Vec<String> {
    let query = "SELECT TABLE_NAME FROM information_schema.TABLES \
                 WHERE TABLE_SCHEMA = '~' AND TABLE_NAME LIKE '%slots'";
    sandbox.ask(query).await
}
