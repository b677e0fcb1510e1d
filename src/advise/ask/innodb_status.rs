//! Lock waits by SHOW ENGINE INNODB STATUS (manual: "InnoDB Standard Monitor and Lock Monitor Output"), for servers
//! whose performance_schema is off or closed.

use mysql_async::Conn;
use mysql_async::prelude::Queryable;

use super::innodb_tables::table_name;
use super::waiters::Waiter;
use crate::catalog::Problem;

/// The words before a lock that is waited for; sections on deadlocks use others.
const WAITS: &str = "------- TRX HAS BEEN WAITING ";

/// The clients that wait now.
pub(super) async fn waiters(conn: &mut Conn) -> Result<Vec<Waiter>, Problem> {
    let asked = conn.query_first("SHOW ENGINE INNODB STATUS").await;
    let row: Option<mysql_async::Row> = asked.map_err(|source| Problem::Query {
        what: "who waits for row locks",
        source,
    })?;
    // Type, name, status.
    let status: Option<Vec<u8>> = row.and_then(|row| row.get(2));
    let status = status.unwrap_or_default();
    Ok(read(&String::from_utf8_lossy(&status)))
}

/// The waiters of a report.
fn read(status: &str) -> Vec<Waiter> {
    let mut waiters = Vec::new();
    let mut statement: Option<Vec<&str>> = None;
    let mut lines = status.lines();
    while let Some(line) = lines.next() {
        if line.starts_with("---TRANSACTION ") {
            statement = None;
        } else if line.starts_with("MySQL thread id ") || line.starts_with("MariaDB thread id ") {
            statement = Some(Vec::new());
        } else if line.starts_with(WAITS) {
            let lock = lines.next().unwrap_or_default();
            let table = lock
                .split_once(" of table ")
                .and_then(|(_, rest)| table_name(rest));
            let text = statement.take().unwrap_or_default().join("\n");
            if lock.starts_with("RECORD LOCKS") {
                waiters.push(Waiter {
                    schema: table.as_ref().map(|table| table.schema.clone()),
                    statement: (!text.is_empty()).then_some(text),
                    table,
                    ..Waiter::default()
                });
            }
        } else if let Some(text) = &mut statement {
            text.push(line);
        }
    }
    waiters
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: &str = "
=====================================
LATEST DETECTED DEADLOCK
------------------------
*** (1) TRANSACTION:
TRANSACTION 5, ACTIVE 0 sec starting index read
MySQL thread id 9, OS thread handle 1, query id 2 localhost root updating
UPDATE old SET n = n + 1
*** (1) WAITING FOR THIS LOCK TO BE GRANTED:
RECORD LOCKS space id 2 page no 4 n bits 72 index PRIMARY of table `shop`.`old` trx id 5 lock_mode X waiting
------------
TRANSACTIONS
------------
---TRANSACTION 2087, ACTIVE 3 sec starting index read
mysql tables in use 1, locked 1
LOCK WAIT 2 lock struct(s), heap size 1128, 1 row lock(s)
MySQL thread id 12, OS thread handle 140, query id 123 localhost 127.0.0.1 root updating
UPDATE posts
SET views = views + 1 WHERE id = 42
------- TRX HAS BEEN WAITING 3 SEC FOR THIS LOCK TO BE GRANTED:
RECORD LOCKS space id 5 page no 4 n bits 72 index PRIMARY of table `shop`.`posts` trx id 2087 lock_mode X locks rec but not gap waiting
Record lock, heap no 2 PHYSICAL RECORD: n_fields 4; compact format; info bits 0
 0: len 4; hex 8000002a; asc    *;;

------------------
---TRANSACTION 2086, ACTIVE 3 sec
2 lock struct(s), heap size 1128, 1 row lock(s), undo log entries 1
MySQL thread id 11, OS thread handle 140, query id 122 localhost 127.0.0.1 root
";

    #[test]
    fn those_who_wait_are_found_with_their_statements() {
        let waiters = read(STATUS);
        let [waiter] = &waiters[..] else {
            panic!("{waiters:?}");
        };
        assert_eq!(
            waiter.statement.as_deref(),
            Some("UPDATE posts\nSET views = views + 1 WHERE id = 42")
        );
        let table = waiter.table.as_ref().map(ToString::to_string);
        assert_eq!(table.as_deref(), Some("shop.posts"));
    }

    #[test]
    fn a_report_that_ends_anywhere_is_read_as_far_as_it_goes() {
        for end in 0..STATUS.len() {
            assert!(read(&STATUS[..end]).len() <= 1);
        }
    }
}
