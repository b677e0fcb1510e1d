//! A small catalog for tests: a blog in schema `shop`.

use std::sync::Arc;

use crate::catalog::{Bounds, Catalog, Changers, Column, Counter, Domain, HotTable};
use crate::sql::plan::{Fold, FoldTable, Plan, Scope, SessionVariables};
use crate::sql::template::{Piece, Template};

fn column(name: &str, definition: &str) -> Column {
    Column {
        name: name.to_owned(),
        definition: definition.to_owned(),
        invisible: false,
        nullable: true,
        on_update_now: false,
        auto_increment: false,
    }
}

fn bounds(base: &str, slot: &str) -> Option<Bounds> {
    Some(Bounds {
        base_low: format!("-{base}"),
        base_high: base.to_owned(),
        slot: slot.to_owned(),
    })
}

/// posts(id, author_id, title, views INT, likes BIGINT UNSIGNED, score DECIMAL(10,2)).
pub(crate) fn posts() -> Arc<HotTable> {
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
        touches: Vec::new(),
        unique_keys: Some(Vec::new()),
        changed_by: Changers::default(),
        cascades: Vec::new(),
        has_triggers: false,
        counters: vec![
            Counter {
                column: 3,
                domain: Domain::Integer {
                    bytes: 4,
                    unsigned: false,
                },
                bounds: bounds("1000000000", "4194303"),
            },
            Counter {
                column: 4,
                domain: Domain::Integer {
                    bytes: 8,
                    unsigned: true,
                },
                bounds: bounds("4000000000000000000", "9007199254740991"),
            },
            Counter {
                column: 5,
                domain: Domain::Decimal {
                    precision: 10,
                    scale: 2,
                    unsigned: false,
                },
                bounds: bounds("50000000", "97656"),
            },
        ],
        slots: 32,
        rollup: std::time::Duration::from_secs(1),
        may_rest: false,
        is_gated: false,
        adopted: None,
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
        touches: Vec::new(),
        unique_keys: Some(Vec::new()),
        changed_by: Changers::default(),
        cascades: Vec::new(),
        has_triggers: false,
        counters: vec![Counter {
            column: 2,
            domain: Domain::Integer {
                bytes: 8,
                unsigned: false,
            },
            bounds: bounds("4000000000000000000", "9007199254740991"),
        }],
        slots: 32,
        rollup: std::time::Duration::from_secs(1),
        may_rest: false,
        is_gated: false,
        adopted: None,
    })
}

/// shop.tallies (id INT PRIMARY KEY, n INT), a table without slots.
pub(super) fn tallies() -> Arc<HotTable> {
    let posts = HotTable::clone(&posts());
    Arc::new(HotTable {
        name: "tallies".to_owned(),
        slot_name: "tallies_slots".to_owned(),
        slots: 0,
        rollup: std::time::Duration::from_secs(1),
        may_rest: false,
        is_gated: false,
        adopted: None,
        ..posts
    })
}

/// shop.drawn (number INT, note TEXT), a table without a primary key.
pub(super) fn drawn() -> Arc<HotTable> {
    Arc::new(HotTable {
        name: "drawn".to_owned(),
        slot_name: "drawn_slots".to_owned(),
        columns: vec![column("number", "int"), column("note", "text")],
        primary_key: Vec::new(),
        counters: vec![Counter {
            column: 0,
            ..posts().counters[0].clone()
        }],
        ..HotTable::clone(&tallies())
    })
}

pub(super) fn catalog() -> Catalog {
    Catalog {
        tables: vec![posts(), hits()],
        without_slots: vec![tallies(), drawn()],
        observed: Vec::new(),
        lower_case_table_names: 0,
        mariadb: false,
        has_snapshot_isolation: false,
        prepares_writes: true,
    }
}

/// A template with its holes shown: `<slot>`, `<?1>`, `<folded 0>`.
pub(super) fn show_template(template: &Template) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Text(text) => String::from_utf8_lossy(text).into_owned(),
        Piece::Slot => "<slot>".to_owned(),
        Piece::Parameter(position) => format!("<?{position}>"),
        Piece::Delta { own, .. } => show_template(own),
        Piece::Operand(position) => format!("(<?{position}>)"),
        Piece::Folded(table) => format!("<folded {table}>"),
        Piece::Keys => "<keys>".to_owned(),
        Piece::OpenSlots(slots) => {
            format!("<open slots {} by {}>", slots.table, slots.key.join(", "))
        }
    };
    template.pieces.iter().map(piece).collect()
}

fn show_fold(fold: &Fold) -> String {
    let table = |fold: &FoldTable| match &fold.scope {
        Scope::Table => fold.table.name.clone(),
        Scope::Keys(predicate) => format!("{} where {}", fold.table.name, show_template(predicate)),
        Scope::Rows(rows) => {
            let predicate = show_template(&rows.predicate);
            format!("{} of base where {predicate}", fold.table.name)
        }
    };
    let tables: Vec<String> = fold.folds.iter().map(table).collect();
    format!("fold {:?}: {}", fold.reason, tables.join("; "))
}

fn names(tables: &[Arc<HotTable>]) -> String {
    let names: Vec<&str> = tables.iter().map(|table| table.name.as_str()).collect();
    names.join(", ")
}

/// A plan as text, one line for each part.
pub(super) fn show(plan: &Plan) -> String {
    match plan {
        Plan::Forward(reason) => format!("forward {reason:?}"),
        Plan::Write(write) => {
            let fold = Fold::new(vec![write.rows.clone()], write.reason);
            let shown = show_fold(&fold).replacen("fold", "write", 1);
            format!("{shown}, reported by {:?}", write.change_report)
        }
        Plan::Observe(plan) => format!("observe {}", plan.reason()),
        Plan::Increment(increment) => {
            let mut lines = Vec::new();
            lines.extend(
                increment
                    .update
                    .as_ref()
                    .map(|update| format!("update: {}", show_template(update))),
            );
            lines.push(format!("upsert: {}", show_template(&increment.upsert)));
            for delta in &increment.parameter_deltas {
                lines.push(format!(
                    "delta: <?{}> to column {}, negated {}",
                    delta.parameter, delta.column, delta.negated
                ));
            }
            let text_keys: Vec<u16> = increment
                .key_parameters
                .iter()
                .filter(|key| key.integers.is_none())
                .map(|key| key.parameter)
                .collect();
            if !text_keys.is_empty() {
                lines.push(format!("text keys: {text_keys:?}"));
            }
            if increment.one_key_only {
                lines.push("one key only".to_owned());
            }
            lines.push(show_fold(&increment.exact));
            lines.join("\n")
        }
        Plan::Combine(increment) => {
            let update = increment.update.as_ref().map(show_template);
            format!("combine: {}", update.unwrap_or_default())
        }
        Plan::Batch(row) => {
            let (key, text) = (show_template(&row.key), show_template(&row.text));
            format!("batch {key}: {text}")
        }
        Plan::Read(read) => {
            let locks = read
                .locks
                .iter()
                .map(|lock| format!("\nlock: {}", show_template(lock)));
            let first = read.folded_first.as_ref().map(|fold| {
                let fold = Fold::new(vec![fold.clone()], read.reason);
                format!("\nfirst: {}", show_fold(&fold))
            });
            format!(
                "read {:?} ({}): {}{}{}",
                read.reason,
                names(&read.tables),
                show_template(&read.text),
                locks.collect::<String>(),
                first.unwrap_or_default()
            )
        }
        Plan::Fold(fold) => show_fold(fold),
        Plan::Ddl(ddl) => format!(
            "ddl {}{}",
            names(&ddl.tables),
            match ddl.withdraws_slots {
                true => ", without slots",
                false => "",
            }
        ),
        Plan::Shadow(tables) => format!("shadow {}", names(tables)),
        Plan::Prepare(tables) => format!("prepare {}", names(tables)),
        Plan::LockTables(lock) => {
            let text = String::from_utf8_lossy(&lock.text);
            let flush = lock.flush.as_ref().map(|flush| {
                let flush = String::from_utf8_lossy(flush);
                format!("{flush}; ")
            });
            format!(
                "lock tables {}, write {}: {}{text}",
                names(&lock.tables),
                names(&lock.written),
                flush.unwrap_or_default()
            )
        }
    }
}

/// The plan of a text in a session that uses schema `shop`.
pub(crate) fn plan_of(text: &str) -> Plan {
    let variables = SessionVariables {
        schema: Some("shop".to_owned()),
        ..SessionVariables::default()
    };
    crate::sql::plan(text.as_bytes(), &variables, &catalog())
}

/// The same, shown.
pub(super) fn planned(text: &str) -> String {
    show(&plan_of(text))
}

/// A plan's text with each sum cut down to `[base]`, or `[base, lock clause]`.
pub(super) fn briefly_planned(text: &str) -> String {
    let full = planned(text);
    let mut brief = String::new();
    let mut rest = full.as_str();
    while let Some((before, from)) = rest.split_once("CAST(")
        && let Some((base, sum)) = from.split_once(" + COALESCE((SELECT COALESCE(SUM(")
    {
        let (_, behind) = sum
            .split_once("<folded ")
            .expect("a sum has a hole for folded keys");
        let (_, behind) = behind.split_once('>').expect("the hole is closed");
        let (lock, behind) = behind.split_once("), CAST(EXP(").expect("it may fail");
        let (_, behind) = behind
            .split_once(" AS SIGNED)) AS ")
            .expect("the sum is cast");
        let end = match behind.starts_with("DECIMAL") {
            true => behind.find("))").map(|at| at + 2),
            false => behind.find(')').map(|at| at + 1),
        };
        let comma = if lock.is_empty() { "" } else { "," };
        brief += &format!("{before}[{base}{comma}{lock}]");
        rest = &behind[end.expect("the cast is closed")..];
    }
    brief + rest
}
