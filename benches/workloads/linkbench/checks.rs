//! Whether the counts are the numbers of links.

use crate::workload::{Acknowledged, Check};

/// Links that can be seen, by node and type.
const VISIBLE: &str = "(SELECT id1, link_type AS t, COUNT(*) AS n FROM linktable WHERE visibility = 1 \
                       GROUP BY id1, link_type) AS l";

/// All that is checked.
pub fn of(acknowledged: &Acknowledged) -> Vec<Check> {
    let counts = format!(
        "SELECT COUNT(*) FROM counttable LEFT JOIN {VISIBLE} ON id1 = id AND t = link_type WHERE count <> COALESCE(n, 0)"
    );
    let missing = format!(
        "SELECT COUNT(*) FROM {VISIBLE} LEFT JOIN counttable ON id = id1 AND link_type = t WHERE id IS NULL"
    );
    vec![
        Check::none("each count is the number of its visible links", &counts),
        Check::none("there is a count where there are visible links", &missing),
        Check {
            what: "the sum of the counts is the number of visible links",
            query: "SELECT (SELECT SUM(count) FROM counttable) - (SELECT COUNT(*) FROM linktable WHERE visibility = 1)"
                .to_owned(),
            expected: 0,
        },
        Check {
            what: "the versions have followed all changes of counts that were acknowledged",
            query: "SELECT SUM(version) FROM counttable".to_owned(),
            expected: i64::try_from(acknowledged.counted).expect("a count"),
        },
    ]
}
