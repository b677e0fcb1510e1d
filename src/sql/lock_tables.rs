//! LOCK TABLES: the slot tables are locked with their hot tables.

use std::ops::Range;
use std::sync::Arc;

use crate::catalog::{Catalog, HotTable};
use crate::sql::context::{READ_ALIASES, hot_by_words, mentioned, quoted, read_alias, slots_path};
use crate::sql::ddl::fold_tables;
use crate::sql::lexer::Lexer;
use crate::sql::plan::{LockTables, Plan, Reason, SessionVariables};
use crate::sql::words::{Name, Words};

/// A hot table in the list.
struct Locked {
    table: Arc<HotTable>,
    /// For WRITE, at least under one of its names.
    write: bool,
}

/// The plan of LOCK TABLES, and of FLUSH TABLES that locks.
///
/// While tables are locked each name in a statement must be locked, once for each use. What is added here is the slot
/// table by the names that reads give it; for WRITE the session adds those of its fold.
pub(super) fn plan(text: &[u8], variables: &SessionVariables, catalog: &Catalog) -> Plan {
    if let Some(flush) = Flush::of(text, variables) {
        return plan_flush(&flush, text, variables, catalog);
    }
    let Some(locked) = locked(text, variables, catalog) else {
        return fold_tables(mentioned(text, catalog), Reason::NotParsed);
    };
    if locked.is_empty() {
        return Plan::Forward(Reason::NotHot);
    }
    // What is added goes before a closing `;` or comment.
    let end = Lexer::new(text, variables)
        .filter(|token| token.is_significant() && text[token.start] != b';')
        .last()
        .map_or(text.len(), |token| token.end);
    let additions = locked.iter().map(|locked| additions(locked, catalog));
    let additions: String = additions.collect();
    let written = locked.iter().filter(|locked| locked.write);
    Plan::LockTables(Box::new(LockTables {
        flush: None,
        text: [&text[..end], additions.as_bytes(), &text[end..]].concat(),
        written: written.map(|locked| Arc::clone(&locked.table)).collect(),
        tables: locked.into_iter().map(|locked| locked.table).collect(),
    }))
}

/// FLUSH TABLES of named tables WITH READ LOCK or FOR EXPORT: it locks them as LOCK TABLES .. READ does.
struct Flush {
    names: Vec<Name>,
    /// Where each of them is.
    places: Vec<Range<usize>>,
    exports: bool,
}

impl Flush {
    /// `None`: it is another statement, or not understood.
    fn of(text: &[u8], variables: &SessionVariables) -> Option<Self> {
        let mut words = Words::new(text, variables);
        if !words.accept("FLUSH") {
            return None;
        }
        words.accept_any(&["NO_WRITE_TO_BINLOG", "LOCAL"]);
        if !words.accept_any(&["TABLES", "TABLE"]) || words.peek_word()? == "WITH" {
            return None;
        }
        let (mut names, mut places) = (Vec::new(), Vec::new());
        loop {
            let start = words.peek()?.start;
            names.push(words.name()?);
            let rest = words.peek()?.start;
            places.push(start..start + text[start..rest].trim_ascii_end().len());
            if !words.accept_mark(b',') {
                break;
            }
        }
        let exports = words.accept_all(&["FOR", "EXPORT"]);
        if !exports && !words.accept_all(&["WITH", "READ", "LOCK"]) {
            return None;
        }
        words.accept_mark(b';');
        words.peek().is_none().then_some(Self {
            names,
            places,
            exports,
        })
    }
}

/// Whether a statement is FLUSH TABLES that locks the tables which it names.
pub(super) fn flushes_and_locks(text: &[u8], variables: &SessionVariables) -> bool {
    Flush::of(text, variables).is_some()
}

/// No alias can be locked by FLUSH TABLES, as those of the slot tables must be. So the tables are flushed, then locked.
fn plan_flush(flush: &Flush, text: &[u8], variables: &SessionVariables, catalog: &Catalog) -> Plan {
    let mut tables: Vec<Arc<HotTable>> = Vec::new();
    for name in &flush.names {
        let hot = hot_by_words(catalog, variables, name).filter(|table| !tables.contains(table));
        tables.extend(hot.cloned());
    }
    if tables.is_empty() {
        return Plan::Forward(Reason::NotHot);
    }
    if flush.exports {
        // Files of the table are copied under it; its slots are in none of them.
        return Plan::LockTables(Box::new(LockTables {
            tables,
            flush: None,
            text: text.to_vec(),
            written: Vec::new(),
        }));
    }
    let names = || flush.places.iter().map(|place| &text[place.clone()]);
    let flushed = names().collect::<Vec<_>>().join(&b", "[..]);
    let locked = names().map(|name| [name, b" READ"].concat());
    let locked = locked.collect::<Vec<_>>().join(&b", "[..]);
    let additions = tables.iter().map(|table| {
        let locked = Locked {
            table: Arc::clone(table),
            write: false,
        };
        additions(&locked, catalog)
    });
    let additions: String = additions.collect();
    Plan::LockTables(Box::new(LockTables {
        tables,
        flush: Some([b"FLUSH NO_WRITE_TO_BINLOG TABLES ", &flushed[..]].concat()),
        text: [b"LOCK TABLES ", &locked[..], additions.as_bytes()].concat(),
        written: Vec::new(),
    }))
}

/// The hot tables of the list; `None` if it is not understood.
fn locked(text: &[u8], variables: &SessionVariables, catalog: &Catalog) -> Option<Vec<Locked>> {
    let mut words = Words::new(text, variables);
    if !words.accept("LOCK") || !words.accept_any(&["TABLES", "TABLE"]) {
        return None;
    }
    let mut locked: Vec<Locked> = Vec::new();
    loop {
        let name = words.name()?;
        skip_alias(&mut words)?;
        let write = accept_lock_type(&mut words)?;
        if let Some(table) = hot_by_words(catalog, variables, &name) {
            match locked
                .iter_mut()
                .find(|known| Arc::ptr_eq(&known.table, table))
            {
                Some(known) => known.write |= write,
                None => locked.push(Locked {
                    table: table.clone(),
                    write,
                }),
            }
        }
        if !words.accept_mark(b',') {
            words.accept_mark(b';');
            return words.peek().is_none().then_some(locked);
        }
    }
}

/// Goes past `[AS] alias`, if there is one; `None` if it is not understood.
fn skip_alias(words: &mut Words<'_>) -> Option<()> {
    const LOCK_TYPES: [&str; 4] = ["READ", "WRITE", "LOW_PRIORITY", "CONCURRENT"];
    let is_explicit = words.accept("AS");
    let is_lock_type = words
        .peek_word()
        .is_some_and(|word| LOCK_TYPES.contains(&word.as_str()));
    match is_lock_type && !is_explicit {
        true => Some(()),
        false => words.identifier().map(drop),
    }
}

/// The lock's type: whether it is for WRITE; `None` if it is not understood.
fn accept_lock_type(words: &mut Words<'_>) -> Option<bool> {
    if words.accept("READ") {
        words.accept("LOCAL");
        return Some(false);
    }
    words.accept_any(&["LOW_PRIORITY", "CONCURRENT"]);
    words.accept("WRITE").then_some(true)
}

fn additions(locked: &Locked, catalog: &Catalog) -> String {
    let lock = if locked.write { "WRITE" } else { "READ" };
    let slots = slots_path(&locked.table);
    let alias = |index| quoted(&read_alias(catalog, &locked.table, index));
    let aliases = (0..READ_ALIASES).map(alias);
    aliases
        .map(|alias| format!(", {slots} AS {alias} {lock}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::sql::fixture::planned;

    #[test]
    fn slot_tables_are_locked_by_all_names_that_we_use() {
        let plan = planned("LOCK TABLES posts AS p READ LOCAL, authors WRITE; -- done");
        assert!(plan.starts_with(
            "lock tables posts, write : LOCK TABLES posts AS p READ LOCAL, authors WRITE, \
             `shop`.`posts_slots` AS `countersink_s` READ, \
             `shop`.`posts_slots` AS `countersink_s2` READ, "
        ));
        assert!(plan.ends_with(" AS `countersink_s16` READ; -- done"));
        assert!(planned("LOCK TABLE posts WRITE").starts_with(
            "lock tables posts, write posts: LOCK TABLE posts WRITE, `shop`.`posts_slots` AS `countersink_s` WRITE, "
        ));
    }

    #[test]
    fn each_table_has_names_of_its_own() {
        let plan = planned("LOCK TABLES posts READ, hits WRITE");
        assert!(plan.starts_with("lock tables posts, hits, write hits: LOCK TABLES posts READ, "));
        assert!(plan.contains("`shop`.`posts_slots` AS `countersink_s16` READ, "));
        assert!(plan.contains(", `shop`.`hits_slots` AS `countersink_s17` WRITE, "));
    }

    #[test]
    fn what_is_flushed_and_locked_is_locked_with_its_slots() {
        let plan = planned("FLUSH LOCAL TABLES posts , `authors` WITH READ LOCK;");
        assert!(
            plan.starts_with(
                "lock tables posts, write : FLUSH NO_WRITE_TO_BINLOG TABLES posts, `authors`; \
                 LOCK TABLES posts READ, `authors` READ, `shop`.`posts_slots` AS `countersink_s` READ, "
            ),
            "{plan}"
        );
        assert_eq!(
            planned("FLUSH TABLES posts FOR EXPORT"),
            "lock tables posts, write : FLUSH TABLES posts FOR EXPORT"
        );
        for text in [
            "FLUSH TABLES",
            "FLUSH TABLES posts",
            "FLUSH TABLES WITH READ LOCK",
            "FLUSH TABLES posts WITH READ LOCK AND DISABLE CHECKPOINT",
        ] {
            assert_eq!(planned(text).split(' ').next(), Some("forward"), "{text}");
        }
    }

    #[test]
    fn other_lists_are_left_alone() {
        assert_eq!(
            planned("LOCK TABLES authors AS posts READ"),
            "forward NotHot"
        );
        assert_eq!(
            planned("LOCK TABLES posts WAIT 5 READ"),
            "fold NotParsed: posts"
        );
    }
}
