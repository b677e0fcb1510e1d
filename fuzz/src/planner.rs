//! Any bytes as a statement on the tables of a blog: its plan, and the texts that are sent in its place.

use std::mem::discriminant;
use std::sync::LazyLock;

use sqlparser::dialect::MySqlDialect;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::Token;

use crate::catalog::Catalog;
use crate::fixture;
use crate::input::{Input, session_variables};
use crate::sql::plan::{Fold, Plan, Reason, Scope, SessionVariables};
use crate::sql::template::{Filling, Template};
use crate::sql::{self, Kind, Lexer, Prefilter, TokenKind};

/// What a plan is made with, one for each kind of server and of letter case.
static CATALOGS: LazyLock<[(Catalog, Prefilter); 4]> = LazyLock::new(|| {
    [(false, false), (true, false), (false, true), (true, true)].map(|(mariadb, lower_case)| {
        let catalog = fixture::catalog(mariadb, lower_case);
        let prefilter = Prefilter::new(&catalog);
        (catalog, prefilter)
    })
});

/// How deeply nested a text may be. The proxy's own limit is lower, and what it sends is nested more deeply than what
/// it has been sent.
const DEPTH: usize = 200;

/// An input: `int<1>` session variables, `int<1>` which catalog, the statement.
///
/// # Panics
///
/// If the plan is another one at a second time or behind a comment, if the first look at the text would have missed it,
/// or if an edited text is not the client's but for its edits.
pub fn check(data: &[u8]) {
    let mut input = Input(data);
    let variables = session_variables(input.byte());
    let (catalog, prefilter) = &CATALOGS[usize::from(input.byte()) % CATALOGS.len()];
    let text = input.0;
    let plan = sql::plan(text, &variables, catalog);
    assert_eq!(sql::plan(text, &variables, catalog), plan, "planned twice");
    let _ = fixture::show(&plan);
    first_look(text, &variables, prefilter, &plan);
    behind_a_comment(text, &variables, catalog, &plan);
    for (edited, what) in edited_texts(&plan) {
        let is_edited = Edited {
            text,
            variables: &variables,
            mariadb: catalog.mariadb,
        };
        is_edited.check(edited, what);
    }
    let decided = Fold::of_whole_tables(&plan, plan.reason());
    assert_eq!(decided.reason, plan.reason());
}

/// What names no hot table is forwarded without a plan, so its plan must not be of a table that it names.
fn first_look(text: &[u8], variables: &SessionVariables, prefilter: &Prefilter, plan: &Plan) {
    let kind = sql::statement_kind(text, variables);
    let may_hide_names = match kind {
        Kind::Prepare | Kind::Ddl | Kind::Execute | Kind::Deallocate => true,
        _ => sql::prepare::may_execute(text),
    };
    if may_hide_names || prefilter.may_concern(text) {
        return;
    }
    let is_harmless = match plan {
        Plan::Forward(_) => true,
        // A text that is not understood is searched for letters, which may be a part of a longer name.
        Plan::Fold(fold) => fold
            .folds
            .iter()
            .all(|fold| matches!(fold.scope, Scope::Table)),
        _ => false,
    };
    assert!(is_harmless, "the first look misses {}", fixture::show(plan));
}

fn behind_a_comment(text: &[u8], variables: &SessionVariables, catalog: &Catalog, plan: &Plan) {
    for before in [&b" \t\n"[..], b"/* a */ ", b"-- a\n"] {
        let commented = [before, text].concat();
        let other = sql::plan(&commented, variables, catalog);
        let kinds = (discriminant(&other), other.reason());
        // Some bytes more may be too many.
        let is_too_long = other.reason() == Reason::TooLong || plan.reason() == Reason::TooLong;
        assert!(
            is_too_long || kinds == (discriminant(plan), plan.reason()),
            "behind {:?}: {}\nwithout: {}",
            String::from_utf8_lossy(before),
            fixture::show(&other),
            fixture::show(plan)
        );
    }
}

/// The texts that are sent in the client's place, and made of its own.
fn edited_texts(plan: &Plan) -> Vec<(&Template, &'static str)> {
    match plan {
        Plan::Read(read) => {
            let mut texts = vec![(&read.text, "read")];
            texts.extend(read.or_fold.iter().flat_map(of_fold));
            texts
        }
        Plan::Fold(fold) => of_fold(fold),
        Plan::Increment(increment) => of_fold(&increment.exact),
        Plan::Observe(plan) => edited_texts(plan),
        _ => Vec::new(),
    }
}

fn of_fold(fold: &Fold) -> Vec<(&Template, &'static str)> {
    let mut texts = Vec::new();
    texts.extend(fold.confined.iter().map(|text| (text, "confined")));
    let with_sums = fold.with_sums.iter();
    texts.extend(with_sums.map(|with_sums| (&with_sums.text, "with sums")));
    let in_snapshot = fold.in_snapshot.iter();
    texts.extend(in_snapshot.map(|read| (&read.text, "in a snapshot")));
    texts
}

/// A statement whose text is edited.
struct Edited<'a> {
    text: &'a [u8],
    variables: &'a SessionVariables,
    mariadb: bool,
}

impl Edited<'_> {
    fn check(&self, edited: &Template, what: &str) {
        let rendered = rendered(edited);
        let original = sql::executed(self.text, self.variables, self.mariadb);
        let shown = || {
            let texts = [&*original, &rendered].map(|text| String::from_utf8_lossy(text));
            format!("{what}: {} for {}", texts[1], texts[0])
        };
        let others: Vec<_> = Lexer::new(&rendered, self.variables)
            .map(|token| token.of(&rendered))
            .collect();
        let lost = first_lost(&self.kept(&original), &others);
        assert_eq!(lost, None, "it is lost: {}", shown());
        let placeholders = |text: &[u8]| {
            let tokens = Lexer::new(text, self.variables);
            tokens
                .filter(|token| token.kind == TokenKind::Placeholder)
                .count()
        };
        assert_eq!(
            placeholders(&original),
            placeholders(&rendered),
            "as many parameters: {}",
            shown()
        );
        let is_plain = *self.variables == session_variables(0) && !self.names_a_clause(&original);
        if is_plain && parses(&original) {
            assert!(parses(&rendered), "it does not parse: {}", shown());
        }
    }

    /// Whether WHERE stands behind an operator. To sqlparser it is a column then; a server refuses the text.
    fn names_a_clause(&self, text: &[u8]) -> bool {
        let mut tokens = Lexer::new(text, self.variables).filter(|token| token.is_significant());
        let Some(mut last) = tokens.next() else {
            return false;
        };
        tokens.any(|token| {
            let before = std::mem::replace(&mut last, token);
            let is_operator = before.kind == TokenKind::Punctuation && before.of(text) != b")";
            is_operator && token.of(text).eq_ignore_ascii_case(b"WHERE")
        })
    }

    /// The tokens of a text that no edit may leave out. A column may be told by its place instead, a `*` becomes a list
    /// of columns with what qualifies it, and `TABLE t` a SELECT.
    fn kept<'t>(&self, text: &'t [u8]) -> Vec<&'t [u8]> {
        let tokens =
            Lexer::new(text, self.variables).filter(|token| token.kind != TokenKind::Space);
        let mut tokens: Vec<_> = tokens.collect();
        // Behind the end of a statement nothing of it can be lost.
        while tokens
            .pop_if(|last| last.kind == TokenKind::Comment || matches!(last.of(text), b";"))
            .is_some()
        {}
        let is_kept = |at: usize| {
            let token = tokens[at].of(text);
            let is_dot = |at: usize| tokens.get(at).is_some_and(|token| token.of(text) == b".");
            match tokens[at].kind {
                TokenKind::Word | TokenKind::Quoted => {
                    let is_table = token.eq_ignore_ascii_case(b"TABLE");
                    !is_dot(at + 1) && !is_column(token) && !is_table
                }
                TokenKind::Punctuation => !matches!(token, b"." | b"*"),
                _ => true,
            }
        };
        let kept = (0..tokens.len()).filter(|at| is_kept(*at));
        kept.map(|at| tokens[at].of(text)).collect()
    }
}

/// Whether this is the name of a counter, perhaps in quotes.
fn is_column(name: &[u8]) -> bool {
    let inner = match name {
        [b'`' | b'"', inner @ .., _] => inner,
        _ => name,
    };
    let mut counters = [&b"views"[..], b"likes", b"score", b"n"].into_iter();
    counters.any(|counter| counter.eq_ignore_ascii_case(inner))
}

/// The text with holes filled in a way that can be read.
fn rendered(template: &Template) -> Vec<u8> {
    let mut out = Vec::new();
    let filling = Filling {
        keys: b"1",
        ..Filling::default()
    };
    template.render(&filling, &mut out);
    out
}

/// The first of these that is not among the others, in order.
fn first_lost(some: &[&[u8]], others: &[&[u8]]) -> Option<String> {
    let mut others = others.iter();
    let lost = some
        .iter()
        .find(|token| !others.any(|other| other == *token));
    lost.map(|token| String::from_utf8_lossy(token).into_owned())
}

/// Whether sqlparser reads this as one statement, to its end and by itself: the proxy's dialect is not asked. It does
/// not know the older spelling of a lock that the proxy's sums have.
fn parses(text: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(text) else {
        return false;
    };
    let text = &text.replace("LOCK IN SHARE MODE", "FOR SHARE");
    let parser = Parser::new(&MySqlDialect {}).with_recursion_limit(DEPTH);
    let Ok(mut parser) = parser.try_with_sql(text) else {
        return false;
    };
    // A list of statements would end at the word END.
    parser.parse_statement().is_ok() && parser.peek_token().token == Token::EOF
}
