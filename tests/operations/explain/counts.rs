//! Each statement gets one reason, and the one that its explanation names.

use countersink::driver::Driver;
use countersink_sandbox::Flavour;
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, OptsBuilder};

use crate::explain::session::{at, plan, world};
use crate::support::proxy::Proxy;

/// Statements so far, by the codes of their reasons; those that were explained left out.
fn counted(proxy: &Proxy) -> Vec<(&'static str, u64)> {
    let statements = proxy.shared.metrics.statements();
    let codes = statements
        .into_iter()
        .map(|(reason, count)| (reason.code(), count));
    codes.filter(|(code, _)| *code != "explained").collect()
}

/// Runs a statement, whatever it answers; the reasons that were counted for it.
async fn reasons(proxy: &Proxy, driver: &mut Driver, statement: &str) -> Vec<&'static str> {
    let before = counted(proxy);
    driver.query(statement).await.expect("an answer");
    let of = |code: &str| {
        before
            .iter()
            .find(|known| known.0 == code)
            .map_or(0, |known| known.1)
    };
    let new = counted(proxy).into_iter();
    new.flat_map(|(code, count)| {
        let times = usize::try_from(count - of(code)).expect("few statements");
        std::iter::repeat_n(code, times)
    })
    .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_statement_is_counted_as_it_is_explained() {
    for flavour in Flavour::ALL {
        let (sandbox, proxy) = world(flavour).await;
        let mut driver = at(&proxy.address, &sandbox).await;
        for statement in [
            "SELECT 1",
            "SELECT author_id FROM posts",
            "SELECT views FROM posts WHERE id = 42",
            "SELECT views FROM posts WHERE id = 42",
            "SELECT views FROM posts WHERE id = 42 FOR UPDATE",
            "UPDATE posts SET views = views + 1 WHERE id = 42",
            "UPDATE posts SET views = views + 1 WHERE id = 42",
            "UPDATE posts SET views = views + 1 WHERE id = 4200",
            "UPDATE posts SET views = views + 0 WHERE id = 42",
            "UPDATE posts SET views = views - 1.5 WHERE id = 42",
            "UPDATE posts SET views = 7 WHERE id = 42",
            "SELECT ROW_COUNT()",
            "UPDATE posts SET views = nothing WHERE id = 42",
            "SHOW WARNINGS",
            "SELECT nothing FROM posts",
            "SELECT views, nothing FROM posts",
            "INSERT INTO posts VALUES (5, 7, 0)",
            "INSERT INTO posts VALUES (5, 7, 0) ON DUPLICATE KEY UPDATE views = views + 1",
            "REPLACE INTO posts VALUES (5, 7, 0)",
            "DELETE FROM posts WHERE id = 5",
            "SET @v = (SELECT views FROM posts WHERE id = 42)",
            "SELECT views INTO @v FROM posts WHERE id = 42",
            "BEGIN",
            "UPDATE posts SET views = views + 1 WHERE id = 42",
            "UPDATE posts SET views = views + 1 WHERE id = 1",
            "SELECT views FROM posts",
            "SELECT views FROM posts",
            "UPDATE posts SET views = views + 1 WHERE id = 1",
            "COMMIT",
            "BEGIN",
            "UPDATE posts SET views = views + 1 WHERE id = 42",
            "ROLLBACK",
            "LOCK TABLES posts WRITE",
            "UPDATE posts SET views = views + 1 WHERE id = 42",
            "UNLOCK TABLES",
            "LOCK TABLES posts READ",
            "SELECT views FROM posts WHERE id = 42",
            "UPDATE posts SET views = views + 1 WHERE id = 42",
            "UNLOCK TABLES",
            "PREPARE s FROM 'SELECT views FROM posts'",
            "EXECUTE s",
            "DEALLOCATE PREPARE s",
            "CREATE TEMPORARY TABLE posts (id INT PRIMARY KEY, views INT)",
            "SELECT views FROM posts",
            "DROP TEMPORARY TABLE posts",
            "SHOW CREATE TABLE posts",
            "EXPLAIN SELECT views FROM posts",
            "ALTER TABLE posts ADD COLUMN title TEXT",
            "TRUNCATE posts",
            "nothing at all",
            "nothing at all of posts",
        ] {
            // Whether the proxy tells of the statement before, or the server can, differs between servers.
            if statement.contains("ROW_COUNT") || statement.contains("WARNINGS") {
                let counted = reasons(&proxy, &mut driver, statement).await;
                let told = ["forwarded:metadata", "forwarded:not-hot"];
                assert!(
                    matches!(counted[..], [code] if told.contains(&code)),
                    "{counted:?}"
                );
                continue;
            }
            let explained = plan(&mut driver, statement).await;
            let counted = reasons(&proxy, &mut driver, statement).await;
            assert_eq!(counted, [explained.as_str()], "{flavour}: {statement}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_execution_is_counted_once() {
    for flavour in Flavour::ALL {
        let (sandbox, proxy) = world(flavour).await;
        let options = OptsBuilder::from_opts(sandbox.server.clone())
            .ip_or_hostname(proxy.address.host.clone())
            .tcp_port(proxy.address.port)
            .db_name(Some(sandbox.schema.clone()));
        let mut conn = Conn::new(options).await.expect("a login");
        for (statement, parameters, expected) in [
            ("SELECT views FROM posts WHERE id = ?", vec![42], "summed"),
            (
                "UPDATE posts SET views = views + ? WHERE id = ?",
                vec![1, 42],
                "slotted",
            ),
            (
                "UPDATE posts SET views = views + ? WHERE id = ?",
                vec![0, 42],
                "forwarded:zero-delta",
            ),
            (
                "UPDATE posts SET views = ? WHERE id = ?",
                vec![1, 42],
                "folded:absolute-set",
            ),
            (
                "SELECT author_id FROM posts WHERE id = ?",
                vec![42],
                "forwarded:no-counter",
            ),
        ] {
            let prepared = conn.prep(statement).await.expect("a statement");
            let before = counted(&proxy);
            let done = conn.exec_drop(&prepared, parameters).await;
            done.unwrap_or_else(|error| panic!("{statement}: {error}"));
            let sum = |counts: &[(&str, u64)], code: Option<&str>| -> u64 {
                let chosen = counts
                    .iter()
                    .filter(|(known, _)| code.is_none_or(|code| code == *known));
                chosen.map(|(_, count)| count).sum()
            };
            let after = counted(&proxy);
            for code in [Some(expected), None] {
                assert_eq!(
                    sum(&after, code),
                    sum(&before, code) + 1,
                    "{statement} {code:?}"
                );
            }
        }
        conn.disconnect().await.expect("a goodbye");
    }
}
