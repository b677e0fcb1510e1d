//! How often statements run, by performance_schema (manual: "Statement Summary Tables").

use std::collections::HashMap;

use mysql_async::Conn;

use crate::advise::evidence::Statement;
use crate::catalog::Problem;
use crate::catalog::read::rows;

const BEFORE: &str = "SELECT SCHEMA_NAME, DIGEST, COUNT_STAR \
     FROM performance_schema.events_statements_summary_by_digest";

/// The row without a digest is that of all statements for which there was no row left. Of those alone that have run
/// since, by the server's own clock.
const AFTER: &str = "SELECT SCHEMA_NAME, DIGEST, DIGEST_TEXT, COUNT_STAR \
     FROM performance_schema.events_statements_summary_by_digest \
     WHERE LAST_SEEN >= ? ORDER BY COUNT_STAR DESC LIMIT 10000";

type Name = (Option<String>, Option<String>);

/// Schema, digest, its text, and how often it has run.
type Counted = (Option<String>, Option<String>, Option<String>, u64);

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
                    "how often statements run: {}; GRANT SELECT ON performance_schema.* TO {account};",
                    why.message
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
        let map = mysql_async::from_row_opt::<Counted>;
        let found = rows(conn, "how often statements run", AFTER, (&self.since,), map).await?;
        Ok(self.counted(found, unseen))
    }

    fn counted(self, found: Vec<Counted>, unseen: &mut Vec<String>) -> Vec<Statement> {
        let mut statements = Vec::new();
        let (mut cut, mut lumped) = (0, 0);
        for (schema, digest, text, count) in found {
            let text = text.unwrap_or_default();
            let is_lumped = digest.is_none();
            // A summary that was emptied meanwhile counts from nothing.
            let before = self.before.get(&(schema.clone(), digest)).copied();
            let times = match before {
                Some(before) if before <= count => count - before,
                _ => count,
            };
            // What is longer than max_digest_length ends so.
            let is_cut = text.ends_with("...") && !text.ends_with("(...)");
            match (is_lumped, is_cut) {
                (true, _) => lumped += times,
                (false, true) => cut += times,
                (false, false) => statements.push(Statement {
                    schema,
                    text,
                    times,
                }),
            }
        }
        if lumped > 0 {
            unseen.push(format!(
                "{lumped} executions of statements for which performance_schema had no room; raise \
                 performance_schema_digests_size, or TRUNCATE performance_schema.events_statements_summary_by_digest"
            ));
        }
        if cut > 0 {
            unseen.push(format!(
                "{cut} executions of statements whose digests are cut off; raise max_digest_length and \
                 performance_schema_max_digest_length"
            ));
        }
        statements.retain(|statement| statement.times > 0);
        statements
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_digest_of_its_own_is_said_not_to_be_seen() {
        let digests = Digests {
            since: String::new(),
            before: HashMap::from([((None, None), 40), ((None, Some("a".to_owned())), 1)]),
        };
        let row = |digest: Option<&str>, text: Option<&str>, count| {
            (
                None,
                digest.map(str::to_owned),
                text.map(str::to_owned),
                count,
            )
        };
        let found = vec![
            row(None, None, 100),
            row(Some("a"), Some("UPDATE t SET a = (...)"), 8),
            row(Some("b"), Some("UPDATE t SET b = ..."), 5),
        ];
        let mut unseen = Vec::new();
        let statements = digests.counted(found, &mut unseen);
        assert_eq!(statements.len(), 1);
        assert_eq!(statements[0].times, 7);
        let says = |part: &str| unseen.iter().any(|unseen| unseen.contains(part));
        assert!(says("60 executions") && says("performance_schema_digests_size"));
        assert!(says("5 executions of statements whose digests are cut off"));
    }
}
