//! The text of slot tables, and what counts as another table.

use super::ddl;
use super::verify::{Difference, compare};
use crate::catalog::read::{ColumnFacts, Facts, IndexFacts};
use crate::catalog::{Bounds, Changers, Column, Counter, Domain, HotTable};

const BIGINT: Domain = Domain::Integer {
    bytes: 8,
    unsigned: false,
};
const MONEY: Domain = Domain::Decimal {
    precision: 10,
    scale: 2,
    unsigned: false,
};

fn column(name: &str, definition: &str) -> Column {
    Column {
        name: name.to_owned(),
        definition: definition.to_owned(),
        invisible: false,
        nullable: false,
        on_update_now: false,
        auto_increment: false,
    }
}

fn counter(column: usize, domain: Domain) -> Counter {
    Counter {
        column,
        domain,
        bounds: Bounds::of(domain),
    }
}

fn posts() -> HotTable {
    HotTable {
        schema: "shop".to_owned(),
        name: "o'posts".to_owned(),
        slot_schema: "shop".to_owned(),
        slot_name: "posts_slots".to_owned(),
        columns: vec![
            column("id", "bigint unsigned"),
            column("a`t", "timestamp(3)"),
            column("views", "bigint"),
            column("money", "decimal(10,2)"),
            column("tiny", "tinyint"),
        ],
        primary_key: vec![1, 0],
        counters: vec![
            counter(2, BIGINT),
            counter(3, MONEY),
            counter(
                4,
                Domain::Integer {
                    bytes: 1,
                    unsigned: false,
                },
            ),
        ],
        touches: Vec::new(),
        unique_keys: Some(Vec::new()),
        changed_by: Changers::default(),
        cascades: Vec::new(),
        has_triggers: false,
        slots: 64,
        rollup: std::time::Duration::from_secs(1),
        may_rest: false,
        is_gated: false,
        adopted: None,
    }
}

/// The slot table of [`posts`] as information_schema shows it, by MySQL or by MariaDB.
fn slots(mariadb: bool) -> Facts {
    let column = |name: &str, data_type: &str, column_type: &str| ColumnFacts {
        name: name.to_owned(),
        data_type: data_type.to_owned(),
        column_type: column_type.to_owned(),
        ..ColumnFacts::default()
    };
    let key = |column: &str| IndexFacts {
        index: "PRIMARY".to_owned(),
        unique: true,
        column: Some(column.to_owned()),
        ..IndexFacts::default()
    };
    let by = |mysql: &str, other: &str| if mariadb { other } else { mysql }.to_owned();
    Facts {
        columns: vec![
            column("a`t", "timestamp", "timestamp(3)"),
            column("id", "bigint", "bigint unsigned"),
            column(
                "slot",
                "smallint",
                &by("smallint unsigned", "smallint(5) unsigned"),
            ),
            column("open", "tinyint", &by("tinyint", "tinyint(4)")),
            column("views", "bigint", &by("bigint", "bigint(20)")),
            column("money", "decimal", "decimal(13,2)"),
            column("tiny", "bigint", &by("bigint", "bigint(20)")),
        ],
        indexes: vec![key("a`t"), key("id"), key("slot")],
        checks: vec![
            by(
                "(`views` between (-(9007199254740992) * `open`) and (9007199254740992 * `open`))",
                "`views` between -9007199254740992 * `open` and 9007199254740992 * `open`",
            ),
            by(
                "(`money` between (-(195312) * `open`) and (195312 * `open`))",
                "`money` between -195312 * `open` and 195312 * `open`",
            ),
        ],
        ..Facts::default()
    }
}

#[test]
fn the_statement_that_makes_a_slot_table() {
    assert_eq!(
        ddl::create(&posts()),
        "CREATE TABLE IF NOT EXISTS `shop`.`posts_slots` (\n  \
         `a``t` timestamp(3) NOT NULL DEFAULT '2000-01-01 00:00:00',\n  \
         `id` bigint unsigned NOT NULL,\n  \
         `slot` SMALLINT UNSIGNED NOT NULL,\n  \
         `open` TINYINT NOT NULL DEFAULT 1,\n  \
         `views` BIGINT NOT NULL DEFAULT 0,\n  \
         `money` DECIMAL(13,2) NOT NULL DEFAULT 0,\n  \
         `tiny` BIGINT NOT NULL DEFAULT 0,\n  \
         PRIMARY KEY (`a``t`, `id`, `slot`),\n  \
         CHECK (`views` BETWEEN -9007199254740992 * `open` AND 9007199254740992 * `open`),\n  \
         CHECK (`money` BETWEEN -195312 * `open` AND 195312 * `open`)\n\
         ) ENGINE = InnoDB ROW_FORMAT = DYNAMIC COMMENT = 'countersink slots of shop.o''posts'"
    );
}

#[test]
fn the_statement_that_adds_counters() {
    let table = posts();
    let lacking: Vec<_> = table.counters[1..].iter().collect();
    assert_eq!(
        ddl::add(&table, &lacking, &[]),
        "ALTER TABLE `shop`.`posts_slots` ADD COLUMN `money` DECIMAL(13,2) NOT NULL DEFAULT 0, \
         ADD COLUMN `tiny` BIGINT NOT NULL DEFAULT 0, ADD CHECK (`money` BETWEEN -195312 * `open` AND 195312 * `open`)"
    );
}

#[test]
fn a_table_with_a_slot_of_its_own_gets_another_slot_column() {
    for position in [1, 2] {
        let mut table = posts();
        table.columns[position].name = "Slot".to_owned();
        assert_eq!(table.slot_column(), "countersink_slot");
        assert!(ddl::create(&table).contains("`countersink_slot` SMALLINT"));
        table.columns[position].name = "OPEN".to_owned();
        assert_eq!(table.open_column(), "countersink_open");
    }
    let mut table = posts();
    table.columns.push(column("slot", "int"));
    assert_eq!(table.slot_column(), "slot", "neither key nor counter");
}

#[test]
fn wide_decimals_stay_decimals() {
    let kind = |precision, scale| {
        ddl::kind(Domain::Decimal {
            precision,
            scale,
            unsigned: true,
        })
    };
    assert_eq!(kind(10, 0), "DECIMAL(13,0)");
    assert_eq!(kind(64, 30), "DECIMAL(65,30)");
}

#[test]
fn both_servers_show_the_same_table() {
    for mariadb in [false, true] {
        let nothing = Difference::None { extra: Vec::new() };
        assert_eq!(compare(&posts(), &slots(mariadb)), nothing);
    }
}

#[test]
fn new_and_forgotten_counters_are_told() {
    let table = posts();
    let mut facts = slots(false);
    facts.columns.remove(5);
    facts.checks.remove(1);
    assert_eq!(
        compare(&table, &facts),
        Difference::Lacks {
            counters: vec![&table.counters[1]],
            touches: Vec::new(),
        }
    );
    let mut fewer = posts();
    fewer.counters.remove(1);
    let extra = vec!["money".to_owned()];
    assert_eq!(compare(&fewer, &slots(false)), Difference::None { extra });
}

#[test]
fn drift_names_what_is_there_and_what_should_be() {
    type Change = fn(&mut Facts);
    let cases: [(Change, [&str; 3]); 9] = [
        (
            |t| t.indexes.swap(0, 1),
            ["the primary key", "(id, a`t, slot)", "(a`t, id, slot)"],
        ),
        (
            |t| t.columns[1].column_type = "int".to_owned(),
            ["column `id`", "int", "bigint unsigned"],
        ),
        (
            |t| t.columns[2].column_type = "smallint".to_owned(),
            ["column `slot`", "smallint", "smallint unsigned"],
        ),
        (
            |t| {
                t.columns[3].data_type = "int".to_owned();
                t.columns[3].column_type = "int".to_owned();
            },
            ["column `open`", "int", "tinyint"],
        ),
        (
            |t| t.columns[4].column_type = "bigint unsigned".to_owned(),
            ["column `views`", "bigint unsigned", "bigint not null"],
        ),
        (
            |t| t.columns[4].nullable = true,
            ["column `views`", "bigint null", "bigint not null"],
        ),
        (
            |t| t.columns[5].column_type = "decimal(12,2)".to_owned(),
            ["column `money`", "decimal(12,2)", "decimal(13,2) not null"],
        ),
        (
            |t| t.checks[1] = "(`money` between -(9) and 9)".to_owned(),
            [
                "the CHECK of `money`",
                "(`views` between (-(9007199254740992) * `open`) and (9007199254740992 * `open`)), (`money` between -(9) and 9)",
                "`money` BETWEEN -195312 * `open` AND 195312 * `open`",
            ],
        ),
        (
            |t| t.checks.push("(`tiny` > 0)".to_owned()),
            ["a CHECK", "(`tiny` > 0)", "none"],
        ),
    ];
    for (change, [what, found, expected]) in cases {
        let mut facts = slots(false);
        change(&mut facts);
        let table = posts();
        let drift = Difference::Drift {
            what: what.to_owned(),
            found: found.to_owned(),
            expected: expected.to_owned(),
        };
        assert_eq!(compare(&table, &facts), drift);
    }
}
