//! The edits that turn references to counters into sums.

use std::sync::Arc;

use crate::catalog::letter_case::is_same;
use crate::catalog::{Domain, HotTable};
use crate::sql::context::read_alias;
use crate::sql::context::{Context, Edit, quoted, slots_path};
use crate::sql::interrupted::Around;
use crate::sql::read::block::{Block, Found, Grouping, ItemShape, Reference};
use crate::sql::read::clause::Clause;
use crate::sql::read::lock::{self, Locked};
use crate::sql::read::resolve::{Doubt, Names, Outputs};
use crate::sql::template::{Piece, Template};

/// The edits of a statement, in order.
#[derive(Debug)]
pub(super) struct Rewrite {
    pub(super) edits: Vec<Edit>,
    /// The tables whose counters are read.
    pub(super) tables: Vec<Arc<HotTable>>,
}

/// What to do with a reference to a counter.
enum Treatment {
    /// Its value in place of it.
    Sum,
    /// It means a column of the result, which is the sum already.
    Leave,
    /// Another spelling of that column of the result.
    Say(String),
}

/// What a rewrite is made with.
pub(super) struct Rewriter<'a> {
    pub(super) names: Names<'a>,
    references: &'a [Reference],
    outputs: Vec<Outputs>,
    pub(super) rewrite: Rewrite,
    /// Names given to slot tables so far.
    aliases: usize,
}

impl Rewrite {
    /// The edits for a surveyed query.
    pub(super) fn of(
        context: &Context<'_>,
        blocks: &[Block],
        references: &[Reference],
        locked: &[Locked],
    ) -> Result<Self, Doubt> {
        let mut rewriter = Rewriter::new(context, blocks, references);
        let names = rewriter.names;
        for reference in references {
            if let Some(found) = names.counter(reference)? {
                rewriter.reference(reference, found)?;
            }
        }
        for block in 0..blocks.len() {
            rewriter.wildcards(block)?;
        }
        rewriter.guard_locks(locked);
        let mut rewrite = rewriter.rewrite;
        rewrite
            .edits
            .sort_by_key(|edit| (edit.range.start, edit.range.end));
        Ok(rewrite)
    }
}

impl<'a> Rewriter<'a> {
    pub(super) fn new(
        context: &'a Context<'a>,
        blocks: &'a [Block],
        references: &'a [Reference],
    ) -> Self {
        let names = Names { context, blocks };
        let outputs = 0..blocks.len();
        Self {
            names,
            references,
            outputs: outputs
                .map(|block| names.outputs(block, references))
                .collect(),
            rewrite: Rewrite {
                edits: Vec::new(),
                tables: Vec::new(),
            },
            aliases: 0,
        }
    }

    fn reference(&mut self, reference: &Reference, found: Found) -> Result<(), Doubt> {
        if reference.is_opaque || self.is_zero_filled(found) {
            return Err(Doubt);
        }
        let text = match self.treatment(reference, found)? {
            Treatment::Leave => return Ok(()),
            Treatment::Say(text) => Template::text(text),
            Treatment::Sum => {
                let written = self.names.context.slice(reference.range.clone());
                self.sum(found, written)
            }
        };
        self.rewrite.edits.push(Edit {
            range: reference.range.clone(),
            text,
        });
        if reference.clause == Clause::Items {
            self.name_item(reference);
        }
        Ok(())
    }

    /// ZEROFILL shows in the text of a value, and no cast gives it back.
    pub(super) fn is_zero_filled(&self, found: Found) -> bool {
        let table = self.names.blocks[found.block].sources[found.source]
            .hot
            .as_ref();
        table.is_some_and(|table| {
            table.columns[found.column]
                .definition
                .to_lowercase()
                .contains("zerofill")
        })
    }

    fn treatment(&self, reference: &Reference, found: Found) -> Result<Treatment, Doubt> {
        let block = &self.names.blocks[found.block];
        let clause = match reference.block == found.block {
            true => reference.clause,
            // From an inner query: its place in the block that has the table decides.
            false => block.clauses.at(reference.range.start),
        };
        let is_own = reference.block == found.block;
        let in_aggregate = reference.in_aggregate && is_own;
        if reference.is_null_test && self.is_null_as_base(found, clause, is_own) {
            return Ok(Treatment::Leave);
        }
        match clause {
            Clause::From | Clause::Where => Ok(Treatment::Sum),
            Clause::Items | Clause::Window if in_aggregate || self.is_free(found) => {
                Ok(Treatment::Sum)
            }
            Clause::Items if is_own && self.is_grouped_item(reference, found) => Ok(Treatment::Sum),
            Clause::GroupBy if is_own => self.in_group_by(reference, found),
            Clause::Having if is_own => self.in_having(reference, found),
            Clause::OrderBy if is_own => self.in_order_by(reference, found),
            _ => Err(Doubt),
        }
    }

    /// Whether base alone shows that a counter is NULL: nothing is added to NULL. If the block groups by a sum, base is
    /// no longer available.
    fn is_null_as_base(&self, found: Found, clause: Clause, is_own: bool) -> bool {
        let source = &self.names.blocks[found.block].sources[found.source];
        let is_counter = |table: &Arc<HotTable>| !table.touches.contains(&found.column);
        let groups_by_sum = || {
            self.grouping_references(found.block)
                .filter(|grouping| !grouping.is_null_test)
                .any(|grouping| !matches!(self.names.counter(grouping), Ok(None)))
        };
        source.hot.as_ref().is_some_and(is_counter)
            && match clause {
                Clause::From | Clause::Where => true,
                Clause::Items | Clause::GroupBy => is_own && !groups_by_sum(),
                _ => false,
            }
    }

    /// Whether a counter has one value in each row of its block's result, as the server sees it: there is no
    /// GROUP BY, or it has the whole primary key and no counter.
    pub(super) fn is_free(&self, found: Found) -> bool {
        let block = &self.names.blocks[found.block];
        let grouped = self.grouped_columns(found.block);
        let Some(table) = &block.sources[found.source].hot else {
            return false;
        };
        let has_key = table
            .primary_key
            .iter()
            .all(|&column| grouped.contains(&Found { column, ..found }));
        match block.grouping {
            Grouping::None => true,
            Grouping::Plain => has_key && !self.groups_by_counter(found.block),
            Grouping::Rollup => false,
        }
    }

    /// The references that make up a block's GROUP BY.
    fn grouping_references(&self, block: usize) -> impl Iterator<Item = &Reference> {
        self.references.iter().filter(move |reference| {
            reference.block == block && reference.clause == Clause::GroupBy
        })
    }

    /// The hot tables' columns that a block groups by.
    fn grouped_columns(&self, block: usize) -> Vec<Found> {
        self.grouping_references(block)
            .filter(|reference| reference.is_whole_item)
            .filter_map(|reference| self.names.column(reference).ok().flatten())
            .collect()
    }

    /// Whether GROUP BY has a counter's name in it.
    fn groups_by_counter(&self, block: usize) -> bool {
        self.grouping_references(block)
            .any(|reference| !matches!(self.names.counter(reference), Ok(None)))
    }

    /// Whether a reference is in an item that the block groups by: by name, by position, or as a counter.
    fn is_grouped_item(&self, reference: &Reference, found: Found) -> bool {
        let block = &self.names.blocks[found.block];
        let Some(index) = block
            .items
            .iter()
            .position(|item| item.range.contains(&reference.range.start))
        else {
            return false;
        };
        let item = &block.items[index];
        let is_column = matches!(item.shape, ItemShape::Column { .. });
        let by_alias = item.alias.as_ref().is_some_and(|alias| {
            self.grouping_references(found.block).any(|grouping| {
                grouping.is_whole_item
                    && grouping.path.len() == 1
                    && is_same(&grouping.path[0], alias)
                    && self.names.column(grouping) == Ok(None)
            })
        });
        let has_wildcard = block.items.iter().any(|item| {
            matches!(
                item.shape,
                ItemShape::Wildcard | ItemShape::TableWildcard(_)
            )
        });
        let by_position = !has_wildcard && block.group_positions.contains(&(index + 1));
        let by_column = is_column && self.grouped_columns(found.block).contains(&found);
        block.grouping == Grouping::Plain && (by_alias || by_position || by_column)
    }

    /// GROUP BY a counter that is selected: by its position, as the names of columns go before those of items.
    fn in_group_by(&self, reference: &Reference, found: Found) -> Result<Treatment, Doubt> {
        let block = &self.names.blocks[found.block];
        if !reference.is_whole_item || block.grouping != Grouping::Plain {
            return Err(Doubt);
        }
        let outputs = &self.outputs[found.block];
        let has_wildcard = block.items.iter().any(|item| {
            matches!(
                item.shape,
                ItemShape::Wildcard | ItemShape::TableWildcard(_)
            )
        });
        let same_name = reference
            .path
            .last()
            .map(|name| outputs.named(name))
            .unwrap_or_default();
        if has_wildcard || same_name.iter().any(|output| output.counter != Some(found)) {
            return Err(Doubt);
        }
        let position = block.items.iter().position(|item| match &item.shape {
            ItemShape::Column { start, .. } => self.is_counter_at(*start, found),
            _ => false,
        });
        position
            .map(|position| Treatment::Say((position + 1).to_string()))
            .ok_or(Doubt)
    }

    fn is_counter_at(&self, start: usize, found: Found) -> bool {
        self.references
            .iter()
            .filter(|reference| reference.range.start == start)
            .any(|reference| self.names.counter(reference) == Ok(Some(found)))
    }

    /// HAVING means the columns of the result, and inside aggregates those of the tables.
    fn in_having(&self, reference: &Reference, found: Found) -> Result<Treatment, Doubt> {
        if reference.in_aggregate {
            return Ok(Treatment::Sum);
        }
        let outputs = &self.outputs[found.block];
        if self.groups_by_counter(found.block) || outputs.is_open {
            return Err(Doubt);
        }
        match reference.path.as_slice() {
            [name] if outputs.named(name).len() == 1 => Ok(Treatment::Leave),
            [_] => Err(Doubt),
            _ => outputs
                .name_of(found)
                .map(|name| Treatment::Say(quoted(name)))
                .ok_or(Doubt),
        }
    }

    /// ORDER BY means the columns of the result where an item is but a name, else those of the tables.
    fn in_order_by(&self, reference: &Reference, found: Found) -> Result<Treatment, Doubt> {
        let block = &self.names.blocks[found.block];
        let outputs = &self.outputs[found.block];
        let name = reference
            .path
            .last()
            .map(String::as_str)
            .unwrap_or_default();
        let same_name = outputs.named(name);
        let is_unqualified = reference.path.len() == 1;
        if reference.is_whole_item && !reference.in_aggregate {
            match is_unqualified {
                true if !same_name.is_empty() => return Ok(Treatment::Leave),
                true if outputs.is_open => return Err(Doubt),
                true => {}
                false => {
                    if let Some(name) = outputs.name_of(found) {
                        return Ok(Treatment::Say(quoted(name)));
                    }
                }
            }
        } else if is_unqualified && same_name.iter().any(|output| output.counter != Some(found)) {
            return Err(Doubt);
        }
        let may_sum = reference.in_aggregate || (!block.is_distinct && self.is_free(found));
        if may_sum {
            Ok(Treatment::Sum)
        } else {
            Err(Doubt)
        }
    }

    /// The value of a row whose base is written `base`: `CAST(c + SUM(..) AS ..)` for a counter, and
    /// `GREATEST(t, MAX(..))` for a touch column. See [`Around`].
    pub(super) fn sum(&mut self, found: Found, base: &[u8]) -> Template {
        let block = &self.names.blocks[found.block];
        let source = &block.sources[found.source];
        let Some(table) = &source.hot else {
            return Template::text(base);
        };
        let counter = table.counter(found.column);
        let column = &table.columns[found.column];
        let index = self.index_of(table);
        let slots = self.next_alias(table);
        let in_slots = format!("{slots}.{}", quoted(&column.name));
        let around = match counter {
            Some(_) => Around::counter(base, &in_slots),
            None => Around::touch(base, &in_slots, column.fraction()),
        };
        let lock = lock::clause_for(self.names.context, block, found.source);
        let mut text = Template::text(if counter.is_some() { "CAST(" } else { "" });
        text.push_text(around.head).push_text(format!(
            " FROM {} AS {slots}{} WHERE ",
            slots_path(table),
            // A scan of a small slot table would lock the slots of other keys as well.
            if lock.is_empty() {
                ""
            } else {
                " FORCE INDEX (PRIMARY)"
            }
        ));
        for (position, &key) in table.primary_key.iter().enumerate() {
            let key = quoted(&table.columns[key].name);
            text.push_text(if position == 0 { "" } else { " AND " });
            text.push_text(format!("{slots}.{key} = "))
                .push_text(&source.qualifier);
            text.push_text(format!(".{key}"));
        }
        text.push(Piece::Folded(index));
        text.push_text(lock).push_text(around.tail);
        if let Some(counter) = counter {
            text.push_text(format!(" AS {})", cast_type(counter.domain)));
        }
        text
    }

    /// A name for a slot table that the text does not have yet.
    pub(super) fn next_alias(&mut self, table: &Arc<HotTable>) -> String {
        let catalog = self.names.context.catalog;
        let alias = quoted(&read_alias(catalog, table, self.aliases));
        self.aliases += 1;
        alias
    }

    /// Position of a table in those of the plan.
    pub(super) fn index_of(&mut self, table: &Arc<HotTable>) -> usize {
        let tables = &mut self.rewrite.tables;
        tables
            .iter()
            .position(|known| Arc::ptr_eq(known, table))
            .unwrap_or_else(|| {
                tables.push(table.clone());
                tables.len() - 1
            })
    }
}

/// The type of a counter's values, as CAST knows it.
fn cast_type(domain: Domain) -> String {
    match domain {
        Domain::Integer {
            unsigned: false, ..
        } => "SIGNED".to_owned(),
        Domain::Integer { unsigned: true, .. } => "UNSIGNED".to_owned(),
        Domain::Decimal {
            precision, scale, ..
        } => format!("DECIMAL({precision},{scale})"),
    }
}
