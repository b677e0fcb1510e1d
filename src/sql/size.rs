//! How much memory a plan takes, roughly and rather too much than too little: for a cache that is bounded in bytes.

use std::mem::size_of;

use crate::sql::Amount;
use crate::sql::plan::{
    ComparedParameter, Ddl, Fold, FoldTable, Increment, KeyParameter, LockTables, OneRow,
    ParameterDelta, Plan, Read, Rows, Scope, StoredParameter, Write,
};
use crate::sql::template::{Piece, Template};

/// What an allocation costs besides the bytes asked for: its header, rounding, growth.
const ALLOCATION: usize = 32;

impl Plan {
    /// Bytes on the heap and off it. Tables are the catalog's, not the plan's.
    pub fn size(&self) -> usize {
        size_of::<Self>() + ALLOCATION + self.inner()
    }

    fn inner(&self) -> usize {
        match self {
            Self::Forward(_) => 0,
            Self::Write(write) => size_of::<Write>() + of_fold_table(&write.rows),
            Self::Observe(plan) => plan.size(),
            Self::Increment(increment) | Self::Combine(increment) => of_increment(increment),
            Self::Batch(row) => of_one_row(row),
            Self::Read(read) => of_read(read),
            Self::Fold(fold) => of_fold(fold),
            Self::Ddl(ddl) => size_of::<Ddl>() + of_tables(ddl.tables.len()),
            Self::Shadow(tables) | Self::Prepare(tables) => of_tables(tables.len()),
            Self::LockTables(lock) => {
                let texts = lock.text.len() + lock.flush.as_ref().map_or(0, Vec::len);
                size_of::<LockTables>() + of_tables(lock.tables.len()) + texts
            }
        }
    }
}

fn of_increment(increment: &Increment) -> usize {
    size_of::<Increment>()
        + increment.update.as_ref().map_or(0, of_template)
        + of_template(&increment.upsert)
        + ALLOCATION
        + increment.parameter_deltas.len() * size_of::<ParameterDelta>()
        + (increment.key_parameters.len() + increment.counters.len()) * size_of::<usize>()
        + increment.compared_parameters.len() * size_of::<ComparedParameter>()
        + increment.amounts.len() * size_of::<Option<Amount>>()
        + increment.times.len()
        + of_fold(&increment.exact)
}

fn of_one_row(row: &OneRow) -> usize {
    size_of::<OneRow>()
        + ALLOCATION
        + of_template(&row.key)
        + of_template(&row.text)
        + row.key_parameters.len() * size_of::<KeyParameter>()
}

fn of_read(read: &Read) -> usize {
    size_of::<Read>()
        + of_tables(read.tables.len())
        + of_template(&read.text)
        + read.locks.iter().map(of_template).sum::<usize>()
        + read.folded_first.as_ref().map_or(0, of_fold_table)
        + read.or_fold.as_ref().map_or(0, of_fold)
}

fn of_fold(fold: &Fold) -> usize {
    let with_sums = fold.with_sums.as_ref();
    let with_sums = with_sums.map_or(0, |sums| of_template(&sums.text));
    let read = fold.in_snapshot.as_deref().map_or(0, of_read);
    let texts = with_sums + read + fold.confined.as_ref().map_or(0, of_template);
    size_of::<Fold>() + ALLOCATION + fold.folds.iter().map(of_fold_table).sum::<usize>() + texts
}

fn of_fold_table(fold: &FoldTable) -> usize {
    let scope = match &fold.scope {
        Scope::Keys(predicate) => of_template(predicate),
        Scope::Rows(Rows {
            predicate,
            reads,
            without_reads,
            key,
        }) => {
            let reads = reads.iter();
            let reads = reads.map(|path| size_of::<String>() + ALLOCATION + path.capacity());
            let others = [without_reads, key].into_iter().flatten();
            of_template(predicate) + reads.sum::<usize>() + others.map(of_template).sum::<usize>()
        }
        Scope::Table => 0,
    };
    size_of::<FoldTable>() + scope + fold.stored.len() * size_of::<StoredParameter>()
}

fn of_template(template: &Template) -> usize {
    let pieces = template.pieces.iter().map(|piece| match piece {
        Piece::Text(text) => size_of::<Piece>() + ALLOCATION + text.capacity(),
        Piece::Delta { own, .. } => size_of::<Piece>() + of_template(own),
        _ => size_of::<Piece>(),
    });
    ALLOCATION + pieces.sum::<usize>()
}

fn of_tables(count: usize) -> usize {
    ALLOCATION + count * size_of::<usize>()
}

#[cfg(test)]
mod tests {
    use crate::sql::fixture::{catalog, posts};
    use crate::sql::plan::{Plan, SessionVariables};

    fn size(text: &str) -> usize {
        let variables = SessionVariables {
            schema: Some("shop".to_owned()),
            ..SessionVariables::default()
        };
        crate::sql::plan(text.as_bytes(), &variables, &catalog()).size()
    }

    #[test]
    fn a_plan_is_larger_than_the_texts_in_it() {
        let title = "x".repeat(10_000);
        let texts = [
            format!("SELECT views FROM posts WHERE title = '{title}'"),
            format!("DELETE FROM posts WHERE title = '{title}'"),
            format!("UPDATE hits SET n = n + 1 WHERE tenant = '{title}' AND slot = ''"),
            format!("LOCK TABLES posts READ /* {title} */"),
        ];
        // As often as the plan contains it: an increment has it for slots, for base and for the fold.
        for (text, times) in texts.iter().zip([1, 1, 3, 1]) {
            let size = size(text);
            assert!(size > times * title.len(), "{size}: {text}");
            assert!(size < (times + 3) * title.len(), "{size}: {text}");
        }
    }

    #[test]
    fn a_plan_without_texts_is_small() {
        assert!(size("SELECT title FROM posts") < 256);
        assert!(Plan::Shadow(vec![posts(); 100]).size() > 800);
    }
}
