//! The tables and their initial rows.

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::graph::Graph;
use super::{data, now};
use crate::schemas::Bulk;
use crate::session::{Interrupted, Session};

/// Names and definitions.
pub const TABLES: &[(&str, &str)] = &[
    (
        "linktable",
        "id1 BIGINT UNSIGNED NOT NULL DEFAULT 0, id2 BIGINT UNSIGNED NOT NULL DEFAULT 0, \
         link_type BIGINT UNSIGNED NOT NULL DEFAULT 0, visibility TINYINT NOT NULL DEFAULT 0, \
         data VARCHAR(255) NOT NULL DEFAULT '', time BIGINT UNSIGNED NOT NULL DEFAULT 0, \
         version INT UNSIGNED NOT NULL DEFAULT 0, PRIMARY KEY (link_type, id1, id2), \
         KEY id1_type (id1, link_type, visibility, time, id2, version, data)",
    ),
    (
        "counttable",
        "id BIGINT UNSIGNED NOT NULL DEFAULT 0, link_type BIGINT UNSIGNED NOT NULL DEFAULT 0, \
         count INT UNSIGNED NOT NULL DEFAULT 0, time BIGINT UNSIGNED NOT NULL DEFAULT 0, \
         version BIGINT UNSIGNED NOT NULL DEFAULT 0, PRIMARY KEY (id, link_type)",
    ),
    (
        "nodetable",
        "id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, type INT UNSIGNED NOT NULL, \
         version BIGINT UNSIGNED NOT NULL, time INT UNSIGNED NOT NULL, data MEDIUMTEXT NOT NULL",
    ),
];

/// Fills all tables.
pub async fn load(graph: Graph, session: &mut Session) -> Result<(), Interrupted> {
    let mut random = SmallRng::seed_from_u64(0);
    let time = now();
    let mut nodes = Bulk::new("nodetable");
    let (mut links, mut counts) = (Bulk::new("linktable"), Bulk::new("counttable"));
    session.change("START TRANSACTION").await?;
    for id in 1..=graph.nodes {
        let length = random.random_range(64..=192);
        let text = data(length, &mut random);
        let values = format!("{id}, 2048, 1, {}, '{text}'", time / 1000);
        nodes.add(session, values).await?;
        for link_type in Graph::types() {
            let degree = Graph::degree(id, link_type);
            for to in id..id + degree {
                let text = data(8, &mut random);
                let values = format!("{id}, {to}, {link_type}, 1, '{text}', {time}, 0");
                links.add(session, values).await?;
            }
            if degree > 0 {
                let values = format!("{id}, {link_type}, {degree}, {time}, 0");
                counts.add(session, values).await?;
            }
        }
    }
    nodes.flush(session).await?;
    links.flush(session).await?;
    counts.flush(session).await?;
    session.change("COMMIT").await.map(drop)
}
