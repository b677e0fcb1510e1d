//! How often statements run, by performance_schema (manual: "Statement Summary Tables").

use std::collections::HashMap;

use mysql_async::Conn;

use crate::advise::evidence::Statement;
use crate::catalog::Problem;
use crate::catalog::read::rows;

const BEFORE: &str = "SELECT SCHEMA_NAME, DIGEST, COUNT_STAR \
     FROM performance_schema.events_statements_summary_by_digest WHERE DIGEST IS NOT NULL";

/// Of those alone that have run since, by the server's own clock.
const AFTER: &str = "SELECT SCHEMA_NAME, DIGEST, DIGEST_TEXT, COUNT_STAR \
     FROM performance_schema.events_statements_summary_by_digest \
     WHERE LAST_SEEN >= ? AND DIGEST IS NOT NULL ORDER BY COUNT_STAR DESC LIMIT 10000";

type Name = (Option<String>, Option<String>);

/// How often each statement had run when the watch began.
pub(super) struct Digests {
    since: String,
    before: HashMap<Name, u64>,
}

impl Digests {
    /// None when the account may not see them, which is said.
    pub(super) async fn begin(
        conn: &mut Conn,
        unseen: &mut Vec<String>,
    ) -> Result<Option<Self>, Problem> {
        let map = mysql_async::from_row_opt::<(Option<String>, Option<String>, u64)>;
        let asked = rows(conn, "how often statements run", BEFORE, (), map).await;
        let before = match super::unless_denied(asked)? {
            Ok(before) => before,
            Err(why) => {
                let account = super::account(conn).await;
                unseen.push(format!(
                    "how often statements run: {why}; GRANT SELECT ON performance_schema.* TO {account};"
                ));
                return Ok(None);
            }
        };
        let map = mysql_async::from_row_opt::<String>;
        let now = "SELECT CAST(NOW(6) AS CHAR)";
        let mut now = rows(conn, "the time", now, (), map).await?;
        Ok(Some(Self {
            since: now.pop().unwrap_or_default(),
            before: before
                .into_iter()
                .map(|(schema, digest, count)| ((schema, digest), count))
                .collect(),
        }))
    }

    /// The statements that have run since, and how often.
    pub(super) async fn end(
        self,
        conn: &mut Conn,
        unseen: &mut Vec<String>,
    ) -> Result<Vec<Statement>, Problem> {
        let map =
            mysql_async::from_row_opt::<(Option<String>, Option<String>, Option<String>, u64)>;
        let found = rows(conn, "how often statements run", AFTER, (&self.since,), map).await?;
        let mut statements = Vec::new();
        let mut cut = 0;
        for (schema, digest, text, count) in found {
            let text = text.unwrap_or_default();
            // A summary that was emptied meanwhile counts from nothing.
            let before = self.before.get(&(schema.clone(), digest)).copied();
            let times = match before {
                Some(before) if before <= count => count - before,
                _ => count,
            };
            // What is longer than max_digest_length ends so.
            match text.ends_with("...") && !text.ends_with("(...)") {
                true => cut += times,
                false => statements.push(Statement {
                    schema,
                    text,
                    times,
                }),
            }
        }
        if cut > 0 {
            unseen.push(format!(
                "{cut} executions of statements whose digests are cut off; raise max_digest_length and \
                 performance_schema_max_digest_length"
            ));
        }
        statements.retain(|statement| statement.times > 0);
        Ok(statements)
    }
}
