//! LOCK TABLES: the slot tables are locked with their hot tables.

use std::sync::Arc;

use crate::catalog::{Catalog, HotTable};
use crate::sql::context::{READ_ALIASES, hot_by_words, mentioned, quoted, read_alias, slots_path};
use crate::sql::ddl::fold_tables;
use crate::sql::lexer::Lexer;
use crate::sql::plan::{LockTables, Plan, Reason, SessionFacts};
use crate::sql::words::Words;

/// A hot table in the list.
struct Locked {
    table: Arc<HotTable>,
    /// For WRITE, at least under one of its names.
    write: bool,
}

/// The plan of LOCK TABLES.
///
/// While tables are locked each name in a statement must be locked, once for each use. What is added here is the slot
/// table by the names that reads give it; for WRITE the session adds those of its fold.
pub(super) fn plan(text: &[u8], facts: &SessionFacts, catalog: &Catalog) -> Plan {
    let Some(locked) = locked(text, facts, catalog) else {
        return fold_tables(mentioned(text, catalog), Reason::NotParsed);
    };
    if locked.is_empty() {
        return Plan::Forward(Reason::NotHot);
    }
    // What is added goes before a closing `;` or comment.
    let end = Lexer::new(text, facts)
        .filter(|token| token.is_significant() && text[token.start] != b';')
        .last()
        .map_or(text.len(), |token| token.end);
    let additions = locked.iter().map(|locked| additions(locked, catalog));
    let additions: String = additions.collect();
    let written = locked.iter().filter(|locked| locked.write);
    Plan::LockTables(Box::new(LockTables {
        text: [&text[..end], additions.as_bytes(), &text[end..]].concat(),
        written: written.map(|locked| Arc::clone(&locked.table)).collect(),
        tables: locked.into_iter().map(|locked| locked.table).collect(),
    }))
}

/// The hot tables of the list; `None` if it is not understood.
fn locked(text: &[u8], facts: &SessionFacts, catalog: &Catalog) -> Option<Vec<Locked>> {
    let mut words = Words::new(text, facts);
    if !words.accept("LOCK") || !words.accept_any(&["TABLES", "TABLE"]) {
        return None;
    }
    let mut locked: Vec<Locked> = Vec::new();
    loop {
        let name = words.name()?;
        skip_alias(&mut words)?;
        let write = accept_lock_type(&mut words)?;
        if let Some(table) = hot_by_words(catalog, facts, &name) {
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
