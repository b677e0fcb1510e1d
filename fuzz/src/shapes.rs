//! Any bytes as a statement whose plan is shared with statements that differ in their literals: with the literals in
//! its holes, the plan of the shape must send what the plan of the text sends.

use std::mem::discriminant;
use std::sync::LazyLock;

use crate::catalog::Catalog;
use crate::fixture;
use crate::input::{Input, session_variables};
use crate::sql::plan::{FoldTable, Plan, Scope};
use crate::sql::prepare;
use crate::sql::template::{Filling, Template};
use crate::sql::{self, Lexer, Literal, Shape, TokenKind};

static CATALOGS: LazyLock<[Catalog; 2]> =
    LazyLock::new(|| [false, true].map(|mariadb| fixture::catalog(mariadb, false)));

/// An input: `int<1>` session variables, `int<1>` which server, the statement.
///
/// # Panics
///
/// If the shape is not the text without its literals, or if its plan sends something else than the plan of the text.
pub fn check(data: &[u8]) {
    let mut input = Input(data);
    let variables = session_variables(input.byte());
    let catalog = &CATALOGS[usize::from(input.byte() & 1)];
    let text = input.0;
    let mut shape = Shape::default();
    if !shape.lift(text, &variables) {
        return;
    }
    assert_eq!(put_back(&shape, text), text, "the literals put back");
    let shared = sql::plan(shape.text(), &variables, catalog);
    if !shape.fits(&shared, text) {
        return;
    }
    let literals = shape.literals().iter();
    let literals: Vec<Vec<u8>> = literals.map(|literal| literal.of(text).to_vec()).collect();
    let own = sql::plan(text, &variables, catalog);
    let shown = || {
        format!(
            "{}\nits own: {}\nshared: {}",
            String::from_utf8_lossy(text),
            fixture::show(&own),
            fixture::show(&shared)
        )
    };
    assert_eq!(
        (discriminant(&own), own.reason()),
        (discriminant(&shared), shared.reason()),
        "{}",
        shown()
    );
    let fill = |sent: Vec<u8>| prepare::filled(&sent, &literals, &variables);
    // A read keeps its placeholders, and the session fills them in. The other texts have holes.
    let filled: Vec<_> = match &shared {
        Plan::Read(_) => sent(&shared, &literals).into_iter().map(fill).collect(),
        _ => sent(&shared, &literals),
    };
    let expected = sent(&own, &[]);
    // A space may have been put between a literal and what follows it.
    let tokens = |sent: &[Vec<u8>]| -> Vec<String> {
        let tokens = sent.iter().flat_map(|text| {
            let tokens = Lexer::new(text, &variables).filter(|it| it.kind != TokenKind::Space);
            tokens.map(|token| String::from_utf8_lossy(token.of(text)).into_owned())
        });
        tokens.collect()
    };
    assert_eq!(tokens(&filled), tokens(&expected), "{}", shown());
}

/// The text that the shape was lifted from, made of the shape and its literals.
fn put_back(shape: &Shape, text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut at = 0;
    let mut cut = 0;
    for literal in shape.literals() {
        let Literal { place, .. } = literal;
        let hole = place.start - cut;
        assert_eq!(shape.text()[hole], b'?', "a hole for each literal");
        out.extend_from_slice(&shape.text()[at..hole]);
        out.extend_from_slice(literal.of(text));
        at = hole + 1;
        cut += place.len() - 1;
    }
    out.extend_from_slice(&shape.text()[at..]);
    out
}

/// The texts of a plan, with these parameters.
fn sent(plan: &Plan, parameters: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let render = |template: &Template| {
        let mut out = Vec::new();
        let filling = Filling {
            parameters,
            keys: b"1",
            ..Filling::default()
        };
        template.render(&filling, &mut out);
        out
    };
    let scope = |fold: &FoldTable| match &fold.scope {
        Scope::Keys(predicate) => render(predicate),
        Scope::Rows(rows) => render(&rows.predicate),
        Scope::Table => Vec::new(),
    };
    match plan {
        Plan::Increment(increment) | Plan::Combine(increment) => {
            let mut texts: Vec<_> = increment.update.iter().map(render).collect();
            texts.push(render(&increment.upsert));
            texts.extend(increment.exact.folds.iter().map(scope));
            texts
        }
        Plan::Read(read) => {
            let mut texts = vec![render(&read.text)];
            texts.extend(read.locks.iter().map(render));
            texts.extend(read.folded_first.iter().map(scope));
            texts
        }
        Plan::Write(write) => vec![scope(&write.rows)],
        Plan::Batch(row) => vec![render(&row.key), render(&row.text)],
        Plan::Observe(plan) => sent(plan, parameters),
        _ => Vec::new(),
    }
}
