//! A small catalog for tests: a blog in schema `shop`.

use std::sync::Arc;

use crate::catalog::{Bounds, Catalog, Column, Counter, Domain, HotTable};

fn column(name: &str, definition: &str) -> Column {
    Column {
        name: name.to_owned(),
        definition: definition.to_owned(),
        invisible: false,
        nullable: true,
        on_update_now: false,
    }
}

fn bounds(base: &str, slot: &str) -> Option<Bounds> {
    Some(Bounds { base_low: format!("-{base}"), base_high: base.to_owned(), slot: slot.to_owned() })
}

/// posts(id, author_id, title, views INT, likes BIGINT UNSIGNED, score DECIMAL(10,2)).
pub(super) fn posts() -> Arc<HotTable> {
    Arc::new(HotTable {
        schema: "shop".to_owned(),
        name: "posts".to_owned(),
        slot_schema: "shop".to_owned(),
        slot_name: "posts_slots".to_owned(),
        columns: vec![
            column("id", "int"),
            column("author_id", "int"),
            column("title", "varchar(100)"),
            column("views", "int"),
            column("likes", "bigint unsigned"),
            column("score", "decimal(10,2)"),
        ],
        primary_key: vec![0],
        other_unique_keys: false,
        counters: vec![
            Counter {
                column: 3,
                domain: Domain::Integer { bytes: 4, unsigned: false },
                bounds: bounds("1000000000", "4194303"),
            },
            Counter {
                column: 4,
                domain: Domain::Integer { bytes: 8, unsigned: true },
                bounds: bounds("4000000000000000000", "9007199254740991"),
            },
            Counter {
                column: 5,
                domain: Domain::Decimal { precision: 10, scale: 2, unsigned: false },
                bounds: bounds("50000000", "97656"),
            },
        ],
        slots: 32,
    })
}

/// hits(tenant, page, n): a key of two texts; the key column `slot` takes the slot column's name.
pub(super) fn hits() -> Arc<HotTable> {
    Arc::new(HotTable {
        schema: "shop".to_owned(),
        name: "hits".to_owned(),
        slot_schema: "shop".to_owned(),
        slot_name: "hits_slots".to_owned(),
        columns: vec![
            column("tenant", "varchar(20)"),
            column("slot", "varchar(200)"),
            column("n", "bigint"),
            column("note", "text"),
        ],
        primary_key: vec![0, 1],
        other_unique_keys: false,
        counters: vec![Counter {
            column: 2,
            domain: Domain::Integer { bytes: 8, unsigned: false },
            bounds: bounds("4000000000000000000", "9007199254740991"),
        }],
        slots: 32,
    })
}

pub(super) fn catalog() -> Catalog {
    Catalog { tables: vec![posts(), hits()], lower_case_table_names: 0, mariadb: false }
}
