//! Tables without a primary key, which only a rule with `slots: 0` helps, while they have one row.

use mysql_async::Conn;
use mysql_async::prelude::Queryable;

use super::{Candidate, MOSTLY};
use crate::config::TableName;
use crate::counter::quote;

/// What is to be known where it was not seen how many increments stand in transactions.
pub(super) const UNSEEN: &str = "it has no primary key, so the rule has no slots: increments in transactions wait for each other as they do \
     now, and whether they stand in any was not seen";

/// Why no rule is advised for such a table.
pub(super) async fn why_not(conn: &mut Conn, candidate: &Candidate) -> Option<String> {
    const NO_KEY: &str = "it has no primary key, by which slots find their row";
    let TableName { schema, name } = &candidate.spot.table;
    let (schema, name) = (quote::name(schema), quote::name(name));
    let count = format!("SELECT COUNT(*) FROM (SELECT 1 FROM {schema}.{name} LIMIT 2) AS counted");
    match conn.query_first::<u64, _>(count).await {
        Ok(Some(1)) => {}
        Ok(_) => return Some(format!("{NO_KEY}, and more rows than one; add a key")),
        Err(_) => {
            return Some(format!(
                "{NO_KEY}; add one, or set slots: 0 if the table has one row only, which this account cannot see"
            ));
        }
    }
    let in_transaction = candidate.spot.in_transaction.unwrap_or(0.0);
    (in_transaction > MOSTLY).then(|| {
        format!(
            "{NO_KEY}, and {:.0} % of its increments stand in transactions, which without slots wait for each other as they do now; \
             add a key",
            100.0 * in_transaction
        )
    })
}
