//! Lock waits by MariaDB's information_schema (manual: "Information Schema INNODB_TRX Table"), and what runs by either
//! server's list of processes.

use mysql_async::Conn;

use super::waiters::Waiter;
use crate::advise::evidence::Row;
use crate::catalog::Problem;
use crate::catalog::read::rows;
use crate::config::TableName;

const WAITERS: &str = "SELECT l.lock_table, l.lock_index, l.lock_data, p.DB, t.trx_query \
     FROM information_schema.INNODB_TRX AS t \
     LEFT JOIN information_schema.INNODB_LOCKS AS l ON l.lock_id = t.trx_requested_lock_id \
     LEFT JOIN information_schema.PROCESSLIST AS p ON p.ID = t.trx_mysql_thread_id \
     WHERE t.trx_state = 'LOCK WAIT' LIMIT 2000";

const RUNNING: &str = "SELECT DB, INFO FROM information_schema.PROCESSLIST \
     WHERE COMMAND IN ('Query', 'Execute') AND INFO IS NOT NULL AND ID <> CONNECTION_ID() LIMIT 2000";

type Columns = (
    Option<String>,
    Option<String>,
    Option<Vec<u8>>,
    Option<String>,
    Option<Vec<u8>>,
);

/// The clients that wait now.
pub(super) async fn waiters(conn: &mut Conn) -> Result<Vec<Waiter>, Problem> {
    let map = mysql_async::from_row_opt::<Columns>;
    let found = rows(conn, "who waits for row locks", WAITERS, (), map).await?;
    Ok(found.into_iter().map(waiter).collect())
}

/// The statements that run now, each with its schema.
pub(super) async fn running(conn: &mut Conn) -> Result<Vec<(Option<String>, String)>, Problem> {
    let map = mysql_async::from_row_opt::<(Option<String>, Vec<u8>)>;
    let found = rows(conn, "what runs", RUNNING, (), map).await?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ok(found
        .into_iter()
        .map(|(schema, info)| (schema, text(info)))
        .collect())
}

fn waiter(row: Columns) -> Waiter {
    let (table, index, data, schema, statement) = row;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let record = index.zip(data).map(|(index, data)| Row::Record {
        index,
        data: text(data),
    });
    Waiter {
        schema,
        statement: statement.map(text),
        table: table.as_deref().and_then(table_name),
        row: record,
        in_transaction: None,
    }
}

/// `` `shop`.`posts` ``, and whatever follows it.
pub(super) fn table_name(text: &str) -> Option<TableName> {
    let (schema, rest) = quoted(text)?;
    let (name, _) = quoted(rest.strip_prefix('.')?)?;
    Some(TableName { schema, name })
}

/// A name in backticks, and what follows.
fn quoted(text: &str) -> Option<(String, &str)> {
    let inner = text.strip_prefix('`')?;
    let mut name = String::new();
    let mut letters = inner.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        if letter != '`' {
            name.push(letter);
        } else if letters.next_if(|(_, next)| *next == '`').is_some() {
            name.push('`');
        } else {
            return Some((name, &inner[at + 1..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_innodb_quotes_them() {
        let named = |text: &str| table_name(text).map(|table| (table.schema, table.name));
        let pair = |schema: &str, name: &str| Some((schema.to_owned(), name.to_owned()));
        assert_eq!(named("`shop`.`posts`"), pair("shop", "posts"));
        assert_eq!(
            named("`shop`.`posts` /* Partition `p0` */"),
            pair("shop", "posts")
        );
        assert_eq!(named("`a``b`.`c.d` trx id 5"), pair("a`b", "c.d"));
        for text in [
            "",
            "shop.posts",
            "`shop",
            "`shop`",
            "`shop`.`posts",
            "`\u{e9}",
        ] {
            assert_eq!(named(text), None, "{text}");
        }
    }
}
