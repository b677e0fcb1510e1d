//! Tables that can and cannot be hot, from facts written by hand.

use super::*;
use crate::catalog::Domain;
use crate::catalog::read::{ForeignKeyFacts, IndexFacts};
use crate::config::Config;

fn rule(columns: &str) -> Rule {
    let text = format!(
        "upstream: db:1\ncounters:\n- {{table: shop.posts, columns: [{columns}], touch: [at]}}\n"
    );
    Config::from_str(&text, &|_| None).unwrap().rules.remove(0)
}

fn column(name: &str, data_type: &str, column_type: &str) -> ColumnFacts {
    ColumnFacts {
        name: name.to_owned(),
        data_type: data_type.to_owned(),
        column_type: column_type.to_owned(),
        ..ColumnFacts::default()
    }
}

fn index(name: &str, unique: bool, column: &str) -> IndexFacts {
    IndexFacts {
        index: name.to_owned(),
        unique,
        column: Some(column.to_owned()),
        ..IndexFacts::default()
    }
}

fn posts() -> Facts {
    let rating = ColumnFacts {
        precision: 10,
        scale: 2,
        ..column("rating", "decimal", "decimal(10,2)")
    };
    let slug = ColumnFacts {
        character_set: Some("utf8mb4".to_owned()),
        collation: Some("utf8mb4_bin".to_owned()),
        ..column("slug", "varchar", "varchar(40)")
    };
    let at = ColumnFacts {
        nullable: true,
        extra: "default_generated on update current_timestamp invisible".to_owned(),
        ..column("at", "timestamp", "timestamp")
    };
    Facts {
        schema: "shop".to_owned(),
        name: "posts".to_owned(),
        kind: "BASE TABLE".to_owned(),
        engine: "InnoDB".to_owned(),
        columns: vec![
            column("id", "bigint", "bigint unsigned"),
            slug,
            column("Views", "int", "int unsigned"),
            rating,
            at,
        ],
        indexes: vec![
            index("PRIMARY", true, "slug"),
            index("PRIMARY", true, "id"),
            index("by_views", false, "Views"),
        ],
        ..Facts::default()
    }
}

/// The error for `facts` with `columns` as counters.
fn refused(columns: &str, facts: &Facts) -> String {
    hot_table(&rule(columns), facts).unwrap_err().to_string()
}

#[test]
fn a_table_that_fits() {
    let table = hot_table(&rule("views, rating"), &posts()).unwrap();
    assert_eq!((&*table.schema, &*table.name), ("shop", "posts"));
    assert_eq!(
        (&*table.slot_schema, &*table.slot_name),
        ("shop", "posts_slots")
    );
    assert_eq!(table.primary_key, [1, 0], "in key order");
    assert_eq!(
        table.columns[1].definition,
        "varchar(40) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
    );
    assert_eq!(table.columns[2].name, "Views", "as the server spells it");
    assert!(
        table.columns[4].invisible && table.columns[4].on_update_now && table.columns[4].nullable
    );
    let [views, rating] = &table.counters[..] else {
        panic!("two counters");
    };
    assert_eq!(
        views.domain,
        Domain::Integer {
            bytes: 4,
            unsigned: true
        }
    );
    assert_eq!(views.bounds.as_ref().unwrap().slot, "8388608");
    assert_eq!(
        rating.domain,
        Domain::Decimal {
            precision: 10,
            scale: 2,
            unsigned: false
        }
    );
    assert_eq!(rating.column, 3);
}

#[test]
fn a_check_takes_the_bounds_of_its_counters() {
    let mut facts = posts();
    facts.checks = vec!["(`views` < 100)".to_owned()];
    let table = hot_table(&rule("views, rating"), &facts).unwrap();
    assert_eq!(table.counters[0].bounds, None);
    assert!(table.counters[1].bounds.is_some());
}

/// Django declares it of each PositiveIntegerField.
#[test]
fn a_check_that_the_type_implies_is_none() {
    let mut facts = posts();
    for (column_type, clause, is_checked) in [
        ("int unsigned", "(`views` >= 0)", false),
        ("int(10) unsigned", "`views` >= 0", false),
        ("int unsigned", "(`views` >= 1)", true),
        ("int unsigned", "(`views` >= 0) and (`views` < 10)", true),
        ("int", "(`views` >= 0)", true),
    ] {
        facts.columns[2].column_type = column_type.to_owned();
        facts.checks = vec![clause.to_owned()];
        let table = hot_table(&rule("views, rating"), &facts).unwrap();
        assert_eq!(
            table.counters[0].bounds.is_none(),
            is_checked,
            "{column_type}: {clause}"
        );
    }
}

#[test]
fn every_problem_of_a_table_can_be_had_and_the_first_is_what_serve_says() {
    let mut facts = posts();
    facts.engine = "MyISAM".to_owned();
    facts.update_triggers = vec!["one".to_owned(), "two".to_owned()];
    facts.indexes = vec![index("PRIMARY", true, "rating"), index("u", true, "slug")];
    let errors = examine(&rule("rating, slug, veiws"), &facts).unwrap_err();
    let fields: Vec<_> = errors
        .iter()
        .map(|error| error.place.field.as_deref().unwrap_or_default())
        .collect();
    let texts: Vec<_> = errors
        .iter()
        .map(|error| error.problem.to_string())
        .collect();
    for (at, (field, expected)) in [
        ("table", "is stored in MyISAM"),
        ("table", "the trigger `one`"),
        ("table", "the trigger `two`"),
        ("columns", "`rating` is part of the primary key"),
        ("columns", "`slug` is VARCHAR(40)"),
        ("columns", "`slug` is in the unique index `u`"),
        ("columns", "has no column `veiws`"),
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(fields[at], field, "{texts:#?}");
        assert!(texts[at].contains(expected), "{texts:#?}");
    }
    assert_eq!(texts.len(), 7, "{texts:#?}");
    assert!(refused("rating, slug, veiws", &facts).contains("is stored in MyISAM"));
}

#[test]
fn tables_that_cannot_be_hot() {
    type Change = fn(&mut Facts);
    let cases: [(Change, &str); 6] = [
        (
            |t| t.kind = "VIEW".to_owned(),
            "table: shop.posts is a view, and only a plain table can be hot; name the table behind it",
        ),
        (
            |t| t.kind = "SYSTEM VERSIONED".to_owned(),
            "table: shop.posts is a system-versioned table",
        ),
        (
            |t| t.engine = "MyISAM".to_owned(),
            "convert it: ALTER TABLE shop.posts ENGINE = InnoDB",
        ),
        (
            |t| t.indexes.clear(),
            "table: shop.posts has no primary key, by which slots find their row; add one",
        ),
        (
            |t| t.indexes[0].prefix = true,
            "holds only the beginning of `slug`; make it hold the whole column",
        ),
        (
            |t| t.update_triggers.push("audit".to_owned()),
            "the trigger `audit` runs at every UPDATE of shop.posts",
        ),
    ];
    for (change, expected) in cases {
        let mut facts = posts();
        change(&mut facts);
        let error = refused("views", &facts);
        assert!(error.contains(expected), "{error}");
        assert!(
            error.starts_with("counters[0] (shop.posts): table: "),
            "{error}"
        );
        assert!(error.ends_with(" (line 3)"), "{error}");
    }
}

#[test]
fn columns_that_cannot_count() {
    type Change = fn(&mut Facts);
    let cases: [(&str, Change, &str); 13] = [
        (
            "veiws",
            |_| {},
            "shop.posts has no column `veiws`; did you mean `Views`?",
        ),
        (
            "xyz",
            |_| {},
            "has no column `xyz`; it has id, slug, Views, rating, at",
        ),
        (
            "slug",
            |_| {},
            "`slug` is VARCHAR(40), which cannot be counted in",
        ),
        (
            "views",
            |t| t.columns[2] = column("Views", "bit", "bit(8)"),
            "`Views` is BIT(8), which cannot",
        ),
        (
            "views",
            |t| t.columns[2] = column("Views", "year", "year"),
            "`Views` is YEAR, which cannot",
        ),
        (
            "views",
            |t| t.columns[2] = column("Views", "double", "double"),
            "order in which they are rounded; make it DECIMAL or BIGINT",
        ),
        (
            "views",
            |t| t.columns[2].column_type = "int(5) unsigned zerofill".to_owned(),
            "make it INT(5) UNSIGNED (line 3)",
        ),
        (
            "views",
            |t| t.columns[2].expression = "(1)".to_owned(),
            "`Views` is a generated column",
        ),
        (
            "views",
            |t| t.columns[2].extra = "auto_increment".to_owned(),
            "`Views` is AUTO_INCREMENT",
        ),
        ("id", |_| {}, "`id` is part of the primary key"),
        (
            "views",
            |t| t.indexes[2].unique = true,
            "`Views` is in the unique index `by_views`",
        ),
        (
            "views",
            |t| t.columns[3].expression = "(`views` + 1)".to_owned(),
            "the generated column `rating` is computed from `Views`",
        ),
        (
            "views",
            |t| {
                t.indexes[2] = IndexFacts {
                    expression: "(`views` + 1)".to_owned(),
                    ..index("f", false, "")
                }
            },
            "the index `f` is computed from `Views`",
        ),
    ];
    for (columns, change, expected) in cases {
        let mut facts = posts();
        change(&mut facts);
        let error = refused(columns, &facts);
        assert!(error.contains(expected), "{error}");
        assert!(
            error.starts_with("counters[0] (shop.posts): columns: "),
            "{error}"
        );
    }
}

#[test]
fn a_counter_in_a_foreign_key_and_a_touch_column_that_is_not_there() {
    let mut facts = posts();
    facts.foreign_keys.push(ForeignKeyFacts {
        name: "fk".to_owned(),
        column: "views".to_owned(),
        ..ForeignKeyFacts::default()
    });
    assert!(refused("views", &facts).contains("`Views` is in the foreign key `fk`"));
    let mut facts = posts();
    facts.columns[4].name = "updated_at".to_owned();
    let error = refused("views", &facts);
    assert!(
        error.starts_with("counters[0] (shop.posts): touch: shop.posts has no column `at`"),
        "{error}"
    );
}

#[test]
fn only_cascades_that_reach_keys_are_worth_a_warning() {
    let with = |column: &str, update_rule: &str, delete_rule: &str| {
        let mut facts = posts();
        facts.foreign_keys.push(ForeignKeyFacts {
            name: "fk".to_owned(),
            column: column.to_owned(),
            update_rule: update_rule.to_owned(),
            delete_rule: delete_rule.to_owned(),
            ..ForeignKeyFacts::default()
        });
        cascades(&facts).next().is_some()
    };
    assert!(with("rating", "RESTRICT", "CASCADE"), "rows vanish");
    assert!(with("slug", "CASCADE", "RESTRICT"), "keys change");
    assert!(!with("rating", "CASCADE", "SET NULL"));
    assert!(!with("slug", "NO ACTION", "RESTRICT"));
}
