//! Databases that speak MySQL's protocol and are not MySQL.

/// A database, by a word of its version or version comment.
struct Engine {
    mark: &'static str,
    name: &'static str,
    /// What it does otherwise, after its name.
    why: &'static str,
}

/// What holds where nothing more is known.
const UNPROVED: &str = "has another storage engine under MySQL's protocol; what is exact over InnoDB's locks was never proved there";

const ENGINES: [Engine; 9] = [
    Engine {
        mark: "tidb",
        name: "TiDB",
        why: "accepts SKIP LOCKED and locks nothing by it, so a roll-up and an increment could lose each other's values",
    },
    Engine {
        mark: "vitess",
        name: "Vitess",
        why: "plans statements itself and spreads a table over shards, so a row and its slots need not be on one server; let \
              the proxy stand before a shard's own MySQL",
    },
    unproved("oceanbase", "OceanBase"),
    unproved("singlestore", "SingleStore"),
    unproved("polardb-x", "PolarDB-X"),
    unproved("dolt", "Dolt"),
    unproved("starrocks", "StarRocks"),
    unproved("doris", "Doris"),
    unproved("clickhouse", "ClickHouse"),
];

const fn unproved(mark: &'static str, name: &'static str) -> Engine {
    Engine {
        mark,
        name,
        why: UNPROVED,
    }
}

/// The name of a database that is neither MySQL nor MariaDB, and why slots do not go with it.
pub(super) fn other(version: &str, comment: &str) -> Option<(&'static str, &'static str)> {
    let told = format!("{version} {comment}").to_lowercase();
    let mut engines = ENGINES.iter();
    let engine = engines.find(|engine| told.contains(engine.mark))?;
    Some((engine.name, engine.why))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_is_known_by_what_it_says_of_itself() {
        for (version, comment, name) in [
            (
                "8.0.11-TiDB-v8.5.1",
                "TiDB Server (Apache License 2.0) Community Edition, MySQL 8.0 compatible",
                Some("TiDB"),
            ),
            ("8.0.30-Vitess", "Version: 21.0.0", Some("Vitess")),
            (
                "5.7.25-OceanBase_CE-v4.2.1.0",
                "OceanBase_CE 4.2",
                Some("OceanBase"),
            ),
            (
                "5.7.32",
                "SingleStoreDB source distribution",
                Some("SingleStore"),
            ),
            ("8.0.33", "Dolt", Some("Dolt")),
            ("9.7.4-2", "MySQL Community Server - GPL", None),
            (
                "8.0.39-30.1",
                "Percona XtraDB Cluster (GPL), Release rel30",
                None,
            ),
            ("8.0.39", "Source distribution", None),
            ("10.11.18-MariaDB-0+deb12u1", "Debian 12", None),
        ] {
            let found = other(version, comment).map(|(name, _)| name);
            assert_eq!(found, name, "{version}");
        }
    }
}
