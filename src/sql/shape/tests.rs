//! Shapes against examples, and against the plans of literal texts: with its holes filled, a shared plan is theirs.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::catalog::{Catalog, Column, HotTable};
use crate::sql::fixture::{hits, posts, show_template};
use crate::sql::plan::{Fold, FoldTable, Read, Rows, Scope, Write};
use crate::sql::prepare;
use crate::sql::template::{Piece, Template};

/// The blog, in which posts have the time of their last change.
fn catalog() -> Catalog {
    let mut posts = HotTable::clone(&posts());
    posts.touches.push(posts.columns.len());
    posts.columns.push(Column {
        name: "changed_at".to_owned(),
        definition: "datetime(3)".to_owned(),
        invisible: false,
        nullable: true,
        on_update_now: false,
        auto_increment: false,
    });
    Catalog {
        tables: vec![Arc::new(posts), hits()],
        without_slots: Vec::new(),
        observed: Vec::new(),
        lower_case_table_names: 0,
        mariadb: false,
        has_snapshot_isolation: false,
        prepares_writes: true,
    }
}

fn shop() -> SessionVariables {
    SessionVariables {
        schema: Some("shop".to_owned()),
        ..SessionVariables::default()
    }
}

/// The shape's text and, after it, the literals.
fn lifted(text: &str, variables: &SessionVariables) -> Option<(String, Vec<String>)> {
    let mut shape = Shape::default();
    let text = text.as_bytes();
    shape.lift(text, variables).then(|| {
        let literal = |literal: &Literal| String::from_utf8_lossy(literal.of(text)).into_owned();
        (
            String::from_utf8_lossy(shape.text()).into_owned(),
            shape.literals().iter().map(literal).collect(),
        )
    })
}

/// The text that has been lifted from, made of the shape and its literals.
fn put_back(shape: &Shape, text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut at = 0;
    for (literals_before, literal) in shape.literals().iter().enumerate() {
        let lengths = shape.literals()[..literals_before].iter();
        let cut: usize = lengths.map(|literal| literal.place.len() - 1).sum();
        let hole = literal.place.start - cut;
        assert_eq!(shape.text()[hole], b'?');
        out.extend_from_slice(&shape.text()[at..hole]);
        out.extend_from_slice(literal.of(text));
        at = hole + 1;
    }
    out.extend_from_slice(&shape.text()[at..]);
    out
}

/// The plan of a shape where it fits these literals, filled with them, and whether it fits.
fn shared(text: &[u8], variables: &SessionVariables) -> Option<Plan> {
    let mut shape = Shape::default();
    if !shape.lift(text, variables) {
        return None;
    }
    let literals = shape.literals().iter();
    let literals: Vec<Vec<u8>> = literals.map(|literal| literal.of(text).to_vec()).collect();
    let plan = crate::sql::plan(shape.text(), variables, &catalog());
    shape
        .fits(&plan, text)
        .then(|| filled(plan, &literals, variables))
}

fn filled(plan: Plan, literals: &[Vec<u8>], variables: &SessionVariables) -> Plan {
    let fill = |template: Template| fill(&template, literals);
    match plan {
        Plan::Increment(increment) => Plan::Increment(Arc::new(Increment {
            amounts: Vec::new(),
            update: increment.update.clone().map(fill),
            upsert: fill(increment.upsert.clone()),
            key_parameters: Vec::new(),
            compared_parameters: Vec::new(),
            parameter_deltas: Vec::new(),
            exact: fill_fold(increment.exact.clone(), literals),
            ..Increment::clone(&increment)
        })),
        Plan::Write(write) => Plan::Write(Box::new(Write {
            rows: fill_fold_table(write.rows, literals),
            key_parameters: Vec::new(),
            ..*write
        })),
        Plan::Read(read) => Plan::Read(Box::new(Read {
            text: Template::text(prepare::filled(
                show_template(&read.text).as_bytes(),
                literals,
                variables,
            )),
            locks: read.locks.into_iter().map(fill).collect(),
            folded_first: read
                .folded_first
                .map(|fold| fill_fold_table(fold, literals)),
            or_fold: read.or_fold.map(|fold| fill_fold(fold, literals)),
            ..*read
        })),
        other => other,
    }
}

/// The plan of a literal text in the form that [`filled`] has.
fn shown(plan: Plan) -> Plan {
    match plan {
        Plan::Increment(increment) => Plan::Increment(Arc::new(Increment {
            amounts: Vec::new(),
            ..Increment::clone(&increment)
        })),
        Plan::Read(read) => Plan::Read(Box::new(Read {
            text: Template::text(show_template(&read.text)),
            ..*read
        })),
        other => other,
    }
}

fn fill(template: &Template, literals: &[Vec<u8>]) -> Template {
    let mut out = Template::default();
    for piece in &template.pieces {
        match piece {
            Piece::Parameter(_) | Piece::Operand(_) => {
                let mut text = Vec::new();
                let filling = crate::sql::template::Filling {
                    parameters: literals,
                    ..Default::default()
                };
                let hole = Template {
                    pieces: vec![piece.clone()],
                };
                hole.render(&filling, &mut text);
                out.push_text(text);
            }
            Piece::Delta { position, own } => {
                out.push(Piece::Delta {
                    position: *position,
                    own: self::fill(own, literals),
                });
            }
            other => {
                out.push(other.clone());
            }
        }
    }
    out
}

fn fill_fold(fold: Fold, literals: &[Vec<u8>]) -> Fold {
    let folds = fold.folds.into_iter();
    Fold {
        folds: folds.map(|fold| fill_fold_table(fold, literals)).collect(),
        ..fold
    }
}

fn fill_fold_table(fold: FoldTable, literals: &[Vec<u8>]) -> FoldTable {
    let fill = |template: &Template| fill(template, literals);
    FoldTable {
        scope: match &fold.scope {
            Scope::Keys(predicate) => Scope::Keys(fill(predicate)),
            Scope::Rows(rows) => Scope::Rows(Rows {
                predicate: fill(&rows.predicate),
                reads: rows.reads.clone(),
                without_reads: rows.without_reads.as_ref().map(fill),
                key: rows.key.as_ref().map(fill),
            }),
            Scope::Table => Scope::Table,
        },
        ..fold
    }
}

#[test]
fn literals_are_lifted_where_a_parameter_could_stand() {
    let cases = [
        (
            "UPDATE posts SET views = views + 1 WHERE id = 42",
            "UPDATE posts SET views = views + ? WHERE id = ?",
            &["1", "42"][..],
        ),
        (
            "update posts set views=views-3,changed_at='2026-10-14 01:02:03' where id=42;",
            "update posts set views=views-?,changed_at=? where id=?;",
            &["3", "'2026-10-14 01:02:03'", "42"],
        ),
        (
            "UPDATE posts SET views = COALESCE(views, 0) + 1 /* 7 */ WHERE `id` = 5 LIMIT 1",
            "UPDATE posts SET views = COALESCE(views, 0) + ? /* 7 */ WHERE `id` = ? LIMIT 1",
            &["1", "5"],
        ),
        (
            "SELECT 1, views = 5 FROM posts p WHERE p.id IN (1, -2, 'a') AND x NOT IN(3) \
             AND title = 'it''s' ORDER BY views = 3 LIMIT 10",
            "SELECT 1, views = 5 FROM posts p WHERE p.id IN (?, ?, ?) AND x NOT IN(?) \
             AND title = 'it''s' ORDER BY views = 3 LIMIT 10",
            &["1", "-2", "'a'", "3"],
        ),
        (
            "SELECT views FROM posts WHERE id = -5 AND score = 1.50 AND (author_id = - 7 OR id = +8)",
            "SELECT views FROM posts WHERE id = ? AND score = ? AND (author_id = - 7 OR id = +8)",
            &["-5", "1.50"],
        ),
        (
            "SELECT t.`group`, t.where FROM t WHERE t.order = 1 AND t.limit = 2",
            "SELECT t.`group`, t.where FROM t WHERE t.order = ? AND t.limit = ?",
            &["1", "2"],
        ),
    ];
    for (text, expected, literals) in cases {
        let (shape, found) = lifted(text, &shop()).expect(text);
        assert_eq!(shape, expected);
        assert_eq!(found, literals, "{text}");
    }
}

#[test]
fn other_literals_stay() {
    let columns = [
        "1 = 1",
        "5 IN (1, 2)",
        "id >= 5",
        "id <=> 5",
        "id != 5",
        "id = 1e0",
        "id = .5",
        "id = 5.",
        "id = 0x1F",
        "id = x'1F'",
        "id = N'a'",
        "id = _utf8mb4'a'",
        "id = \"a\"",
        "id = 'a\\'b'",
        "id = 'a''b'",
        "id = 'a\"b'",
        "id = 'countersink_s'",
        "id = --5",
        "id + 1 > views",
        "id BETWEEN 1 AND 2",
        "title LIKE 'a'",
        "id IN ((1), (2))",
        "id = (5)",
        "id IN (1=1)",
        "id = DATE '2026-01-01'",
        "id = 'a",
        "id = 5*2",
    ];
    for condition in columns {
        let text = format!("SELECT views FROM posts WHERE {condition}");
        assert_eq!(lifted(&text, &shop()), None, "{text}");
    }
    for text in [
        "INSERT INTO posts (id) VALUES (1) ON DUPLICATE KEY UPDATE views = views + 1",
        "DELETE FROM posts WHERE id = 1",
        "(SELECT views FROM posts WHERE id = 1)",
        "WITH c AS (SELECT 1) SELECT views FROM posts WHERE id = 1",
        "SELECT views + 1 FROM posts GROUP BY id = 1 HAVING id = 1 LIMIT 1",
        "SELECT views FROM posts JOIN authors ON authors.id = 1",
        "SELECT a FROM posts WHERE id = 1 UNION SELECT 2",
        "SELECT views FROM posts WHERE id = 1 AND x IN (TABLE t)",
        "SELECT views FROM posts WHERE id = 1 AND x = ?",
        "SELECT views FROM posts WHERE id = 1 AND x = @a",
        "SELECT views FROM posts WHERE id = 1 AND x = @'a'",
        "SELECT /*+ NO_ICP(posts) */ views FROM posts WHERE id = 1",
        "SELECT views FROM posts WHERE id = 1 /*!50000 AND 2 */",
        "SELECT views FROM posts WHERE title = 'a' 'b'",
        "SELECT views FROM posts WHERE title = 'a' /* and */ 'b'",
        "SELECT views FROM posts WHERE id = 1; SELECT 2",
        "SELECT views FROM posts",
    ] {
        assert_eq!(lifted(text, &shop()), None, "{text}");
    }
    let gbk = SessionVariables {
        unsafe_character_set: true,
        ..shop()
    };
    let text = "SELECT views FROM posts WHERE id = 1";
    assert_eq!(lifted(text, &gbk), None);
    assert!(lifted(text, &shop()).is_some());
    let ansi = SessionVariables {
        ansi_quotes: true,
        ..shop()
    };
    let text = "SELECT views FROM posts WHERE \"id\" = 1";
    assert_eq!(lifted(text, &shop()), None);
    assert!(lifted(text, &ansi).is_some());
}

#[test]
fn bytes_that_are_no_utf8_stay_and_so_does_too_much() {
    let mut shape = Shape::default();
    assert!(!shape.lift(b"SELECT views FROM posts WHERE title = '\xE9'", &shop()));
    assert!(shape.lift(
        "SELECT views FROM posts WHERE title = 'é'".as_bytes(),
        &shop()
    ));
    let list = |count| {
        let text = format!(
            "SELECT views FROM posts WHERE id IN (1{})",
            ", 2".repeat(count)
        );
        lifted(&text, &shop())
    };
    assert!(list(255).is_some());
    assert_eq!(list(256), None);
    let comment = " ".repeat(16 * 1024);
    let text = format!("SELECT views FROM posts {comment} WHERE id = 1");
    assert_eq!(lifted(&text, &shop()), None);
}

#[test]
fn what_applications_send_shares_its_plan() {
    for text in [
        "UPDATE posts SET views = views + 1 WHERE id = 42",
        "UPDATE `posts` SET `views` = `views` + 1 WHERE `posts`.`id` = 42",
        "UPDATE posts SET views = views - 2, likes = COALESCE(likes, 0) + 1 WHERE id = 42 LIMIT 1",
        "UPDATE posts SET views = 1 + views, changed_at = '2026-10-14 01:02:03.004' WHERE id = 42",
        "UPDATE posts SET views = views + 1, changed_at = NOW() WHERE (posts.id = 42)",
        "UPDATE posts SET score = score + 2 WHERE id = 42",
        // What is not lifted is a part of the shape.
        "UPDATE posts SET score = score + 0.5 WHERE id = 42",
        "UPDATE posts SET views = views + '1' WHERE id = 42",
        "UPDATE posts SET views = views + 1 WHERE id = '42'",
        "UPDATE posts SET views = views + 1 WHERE id = '2147483647'",
        "UPDATE hits SET n = n + 1 WHERE tenant = 'a' AND slot = '/'",
        "UPDATE posts SET title = 'x', author_id = 3 WHERE id = 5",
        "SELECT views FROM posts WHERE id = 42",
        "SELECT p.*, a.name FROM posts p JOIN authors a ON a.id = p.author_id WHERE p.id IN (1, 2)",
        "SELECT title FROM posts WHERE id = 42 AND author_id = 3",
        "SELECT views FROM posts WHERE id = 42 FOR UPDATE",
        "SELECT id, SUM(views) FROM posts WHERE author_id = 3 GROUP BY id ORDER BY 2 DESC LIMIT 5",
    ] {
        let expected = shown(crate::sql::plan(text.as_bytes(), &shop(), &catalog()));
        assert_eq!(shared(text.as_bytes(), &shop()), Some(expected), "{text}");
    }
}

#[test]
fn a_literal_that_changes_the_plan_does_not_fit() {
    for text in [
        // Zero, no whole number, more than a slot may hold, less than nothing.
        "UPDATE posts SET views = views + 0 WHERE id = 42",
        "UPDATE posts SET views = 0.5 + views WHERE id = 42",
        "UPDATE posts SET views = views + 4194304 WHERE id = 42",
        "UPDATE posts SET views = views + 99999999999999999999 WHERE id = 42",
        "UPDATE posts SET views = -1 + views WHERE id = 42",
        "UPDATE posts SET views = '1' + views WHERE id = 42",
        "UPDATE posts SET likes = likes - 1 WHERE id = 42",
        // Another type than the key's.
        "UPDATE posts SET views = views + 1 WHERE id = '042'",
        "UPDATE posts SET views = views + 1 WHERE id = '42x'",
        "UPDATE posts SET views = views + 1 WHERE id = '2147483648'",
        "UPDATE posts SET views = views + 1 WHERE id = 42.0",
        "UPDATE posts SET views = views + 1 WHERE id = -42",
        "UPDATE hits SET n = n + 1 WHERE tenant = 'a' AND slot = 5",
        // No time.
        "UPDATE posts SET views = views + 1, changed_at = 20261014 WHERE id = 42",
        // Not one key.
        "UPDATE posts SET views = views + 1 WHERE id IN (1, 2)",
        "UPDATE posts SET views = views + 1 WHERE author_id = 3",
        // Folds.
        "UPDATE posts SET views = 5 WHERE id = 42",
        "UPDATE posts SET views = views + 1 WHERE id = 42 AND likes = 3",
        "SELECT views FROM posts NATURAL JOIN authors WHERE id = 42 FOR UPDATE",
        // The client's wish.
        "UPDATE posts SET views = views + 1 WHERE id = 42 -- countersink:off",
    ] {
        assert!(lifted(text, &shop()).is_some(), "{text}");
        assert_eq!(shared(text.as_bytes(), &shop()), None, "{text}");
    }
}

fn constant() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => (0_u32..200).prop_map(|number| number.to_string()),
        1 => Just("9007199254740992".to_owned()),
        1 => Just("007".to_owned()),
        1 => Just("-5".to_owned()),
        1 => Just("- 5".to_owned()),
        1 => Just("+5".to_owned()),
        1 => Just("1.50".to_owned()),
        1 => Just("1e0".to_owned()),
        1 => Just("0x1F".to_owned()),
        1 => Just("TRUE".to_owned()),
        1 => Just("NULL".to_owned()),
        4 => "'[a-z0-9/ .:-]{0,12}'",
        1 => Just("''".to_owned()),
        1 => Just("'it''s'".to_owned()),
        1 => Just("'a\\'b'".to_owned()),
        1 => Just("'a\"?'".to_owned()),
        1 => Just("\"x\"".to_owned()),
        1 => Just("N'x'".to_owned()),
        1 => Just("'a' 'b'".to_owned()),
        1 => Just("_utf8mb4'x'".to_owned()),
        1 => Just("'é' COLLATE utf8mb4_bin".to_owned()),
        1 => Just("(7)".to_owned()),
        1 => Just("5 + 1".to_owned()),
        1 => Just("2 * 3".to_owned()),
        1 => Just("@a".to_owned()),
        1 => Just("author_id".to_owned()),
        1 => Just("NOW()".to_owned()),
    ]
}

fn gap() -> impl Strategy<Value = &'static str> {
    prop_oneof![10 => Just(" "), 1 => Just("\n\t"), 1 => Just(" /* 5 ? 'x' */ "), 1 => Just(" -- 5\n")]
}

fn column() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just("id"),
        Just("id"),
        Just("id"),
        Just("`id`"),
        Just("posts.id"),
        Just("p.id"),
        Just("author_id"),
        Just("title"),
        Just("views"),
        Just("likes"),
        Just("tenant"),
        Just("slot"),
        Just("n"),
        Just("changed_at"),
        Just("shop.posts.id"),
        Just("\"id\""),
    ]
}

fn condition() -> impl Strategy<Value = String> {
    let operator = prop_oneof![8 => Just("="), 1 => Just(">="), 1 => Just("<>"), 1 => Just("<=>"), 1 => Just("LIKE")];
    prop_oneof![
        8 => (column(), gap(), operator, gap(), constant())
            .prop_map(|(column, a, operator, b, constant)| format!("{column}{a}{operator}{b}{constant}")),
        2 => (column(), constant()).prop_map(|(column, constant)| format!("{column}={constant}")),
        2 => (column(), prop::collection::vec(constant(), 1..4), any::<bool>()).prop_map(
            |(column, list, not)| format!("{column} {}IN ({})", if not { "NOT " } else { "" }, list.join(", "))
        ),
        1 => (constant(), column()).prop_map(|(constant, column)| format!("{constant} = {column}")),
        1 => (column(), constant(), constant())
            .prop_map(|(column, low, high)| format!("{column} BETWEEN {low} AND {high}")),
        1 => Just("1 = 1".to_owned()),
        1 => Just("TRUE = 1".to_owned()),
        1 => Just("EXISTS (SELECT 1 FROM hits WHERE n = 3)".to_owned()),
    ]
}

fn predicate() -> impl Strategy<Value = String> {
    let chain = prop::collection::vec(condition(), 1..4);
    let glue =
        prop_oneof![6 => Just(" AND "), 1 => Just(" OR "), 1 => Just(" XOR "), 1 => Just(" && ")];
    (chain, glue, any::<bool>()).prop_map(|(chain, glue, nested)| match nested {
        true => format!("({})", chain.join(glue)),
        false => chain.join(glue),
    })
}

/// What UPDATE has for a table, and its WHERE where it names one key.
fn where_clause() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => (0_u32..100).prop_map(|id| format!(" WHERE id = {id}")),
        1 => constant().prop_map(|id| format!(" WHERE id = {id}")),
        1 => (constant(), constant())
            .prop_map(|(tenant, slot)| format!(" WHERE tenant = {tenant} AND slot = {slot}")),
        3 => predicate().prop_map(|predicate| format!(" WHERE {predicate}")),
        1 => Just(String::new()),
    ]
}

fn assignment() -> impl Strategy<Value = String> {
    let counter =
        prop_oneof![3 => Just("views"), 1 => Just("likes"), 1 => Just("score"), 2 => Just("n")];
    let sign = prop_oneof![4 => Just("+"), 1 => Just("-"), 1 => Just("*")];
    prop_oneof![
        6 => (counter.clone(), gap(), sign, gap(), constant())
            .prop_map(|(counter, a, sign, b, delta)| format!("{counter} = {counter}{a}{sign}{b}{delta}")),
        1 => (counter.clone(), constant()).prop_map(|(counter, delta)| format!("{counter}={counter}+{delta}")),
        1 => (counter.clone(), constant())
            .prop_map(|(counter, delta)| format!("{counter} = {delta} + {counter}")),
        1 => (counter.clone(), constant())
            .prop_map(|(counter, delta)| format!("{counter} = IFNULL({counter}, 0) + {delta}")),
        1 => (counter, constant()).prop_map(|(counter, value)| format!("{counter} = {value}")),
        2 => constant().prop_map(|value| format!("changed_at = {value}")),
        1 => constant().prop_map(|value| format!("title = {value}")),
    ]
}

fn statement() -> impl Strategy<Value = String> {
    let table = prop_oneof![4 => Just("posts"), 1 => Just("posts AS p"), 2 => Just("hits"), 1 => Just("authors"), 1 => Just("posts p, hits")];
    let items = prop_oneof![
        Just("views"),
        Just("*"),
        Just("title"),
        Just("id, views + 1"),
        Just("COUNT(*), SUM(views)"),
        Just("DISTINCT views"),
        Just("n"),
        Just("p.views, 5 = views"),
    ];
    let tail = prop_oneof![
        8 => Just(""), 1 => Just(" LIMIT 1"), 1 => Just(" LIMIT 5, 1"), 1 => Just(" FOR UPDATE"), 1 => Just(";"),
        1 => Just(" LOCK IN SHARE MODE"), 1 => Just(" ORDER BY views = 1 DESC"), 1 => Just(" GROUP BY id"),
        1 => Just(" GROUP BY 1 HAVING views = 3"), 1 => Just("; SELECT 1"), 1 => Just(" -- countersink:off"),
    ];
    let update = (
        table.clone(),
        prop::collection::vec(assignment(), 1..3),
        where_clause(),
        tail.clone(),
    )
        .prop_map(|(table, sets, filter, tail)| {
            format!("UPDATE {table} SET {}{filter}{tail}", sets.join(", "))
        });
    let select = (items, table, where_clause(), tail).prop_map(|(items, table, filter, tail)| {
        format!("SELECT {items} FROM {table}{filter}{tail}")
    });
    prop_oneof![update, select]
}

fn any_facts() -> impl Strategy<Value = SessionVariables> {
    (any::<bool>(), any::<bool>(), any::<bool>()).prop_map(|(ansi, plain, safe)| SessionVariables {
        ansi_quotes: ansi,
        no_backslash_escapes: plain,
        safe_updates: safe,
        ..shop()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn literals_put_back_give_the_text(text in statement(), variables in any_facts()) {
        let mut shape = Shape::default();
        if shape.lift(text.as_bytes(), &variables) {
            prop_assert_eq!(put_back(&shape, text.as_bytes()), text.as_bytes());
            prop_assert_eq!(
                prepare::placeholders(shape.text(), &variables),
                Some(shape.literals().len())
            );
        }
    }

    #[test]
    fn any_bytes_are_put_back(tail in prop::collection::vec(any::<u8>(), 0..60), variables in any_facts()) {
        let text = [b"UPDATE posts SET views = ", &tail[..]].concat();
        let mut shape = Shape::default();
        if shape.lift(&text, &variables) {
            prop_assert_eq!(put_back(&shape, &text), text);
        }
    }

    #[test]
    fn a_shared_plan_filled_is_the_plan_of_the_text(text in statement(), variables in any_facts()) {
        if let Some(shared) = shared(text.as_bytes(), &variables) {
            let own = crate::sql::plan(text.as_bytes(), &variables, &catalog());
            prop_assert_eq!(shared, shown(own), "{}", text);
        }
    }
}
