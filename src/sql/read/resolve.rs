//! Which counter (or touch column, which is read alike) a name in a query means.

use crate::catalog::HotTable;
use crate::catalog::letter_case::is_same;
use crate::sql::context::Context;
use crate::sql::read::block::{Block, Found, Item, ItemShape, Place, Reference, Source};

/// A name or clause whose meaning is not certain here; the session folds instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Doubt;

/// Names within the blocks of a query.
#[derive(Clone, Copy, Debug)]
pub(super) struct Names<'a> {
    pub(super) context: &'a Context<'a>,
    pub(super) blocks: &'a [Block],
}

/// A column of a block's result.
#[derive(Clone, Debug)]
pub(super) struct Output {
    pub(super) name: String,
    pub(super) counter: Option<Found>,
}

/// The columns of a block's result, as far as they have names.
#[derive(Clone, Debug, Default)]
pub(super) struct Outputs {
    pub(super) columns: Vec<Output>,
    /// There is a `*` over a table whose columns are not known.
    pub(super) is_open: bool,
}

impl Outputs {
    /// Those called `name`.
    pub(super) fn named<'a>(&'a self, name: &str) -> Vec<&'a Output> {
        self.columns
            .iter()
            .filter(|output| is_same(&output.name, name))
            .collect()
    }

    /// The name of the one column that is this counter and that no other column is called by.
    pub(super) fn name_of(&self, counter: Found) -> Option<&str> {
        let output = self
            .columns
            .iter()
            .find(|output| output.counter == Some(counter))?;
        (!self.is_open && self.named(&output.name).len() == 1).then_some(&output.name)
    }
}

impl<'a> Names<'a> {
    /// The counter that a reference means, if it means one.
    pub(super) fn counter(&self, reference: &Reference) -> Result<Option<Found>, Doubt> {
        let found = self.column(reference)?;
        Ok(found.filter(|found| self.is_counter(*found)))
    }

    fn is_counter(&self, found: Found) -> bool {
        let source = &self.blocks[found.block].sources[found.source];
        hot(source).is_some_and(|table| table.is_hot(found.column))
    }

    /// The hot table's column that a reference means, if it means one; in doubt only where it may be a counter.
    pub(super) fn column(&self, reference: &Reference) -> Result<Option<Found>, Doubt> {
        let mut is_certain = true;
        let mut next = Some(reference.block);
        while let Some(index) = next {
            let block = &self.blocks[index];
            let found = self.in_block(block, &reference.path)?;
            match found {
                InBlock::Column { source, column } => {
                    let found = Found {
                        block: index,
                        source,
                        column,
                    };
                    return match (self.is_counter(found), is_certain) {
                        (true, false) => Err(Doubt),
                        (false, false) => Ok(None),
                        (_, true) => Ok(Some(found)),
                    };
                }
                InBlock::Cold => return Ok(None),
                InBlock::Perhaps => is_certain = false,
                InBlock::Absent => {}
            }
            next = self.outward(index, &mut is_certain);
        }
        Ok(None)
    }

    /// The next block whose tables are visible from block `index`.
    fn outward(&self, index: usize, is_certain: &mut bool) -> Option<usize> {
        let block = &self.blocks[index];
        match block.place {
            // A derived table does not see its neighbours, but what is around them.
            Place::Derived { lateral: false } => self.outward(block.parent?, is_certain),
            Place::Derived { lateral: true } => {
                *is_certain = false;
                block.parent
            }
            _ => block.parent,
        }
    }

    fn in_block(&self, block: &Block, path: &[String]) -> Result<InBlock, Doubt> {
        let Some((column, qualifier)) = path.split_last() else {
            return Ok(InBlock::Absent);
        };
        if !qualifier.is_empty() {
            return Ok(self.in_source(block, qualifier, column));
        }
        let candidates: Vec<(usize, usize)> = block
            .sources
            .iter()
            .enumerate()
            .filter_map(|(source, candidate)| Some((source, hot(candidate)?.column(column)?)))
            .collect();
        let is_counter = |&(source, column): &(usize, usize)| {
            hot(&block.sources[source]).is_some_and(|table| table.is_hot(column))
        };
        match candidates.as_slice() {
            [(source, column)] => Ok(InBlock::Column {
                source: *source,
                column: *column,
            }),
            [_, ..] if candidates.iter().any(is_counter) => Err(Doubt),
            [_, ..] => Ok(InBlock::Cold),
            [] if block.sources.iter().any(|source| source.hot.is_none()) => Ok(InBlock::Perhaps),
            [] => Ok(InBlock::Absent),
        }
    }

    fn in_source(&self, block: &Block, qualifier: &[String], column: &str) -> InBlock {
        let Some(source) = self.source(block, qualifier) else {
            return InBlock::Absent;
        };
        match hot(&block.sources[source]).and_then(|table| table.column(column)) {
            Some(column) => InBlock::Column { source, column },
            None => InBlock::Cold,
        }
    }

    /// The table in a block that `table` or `schema.table` names.
    pub(super) fn source(&self, block: &Block, qualifier: &[String]) -> Option<usize> {
        let same = |left: &str, right: &str| self.context.is_same_table_name(left, right);
        block.sources.iter().position(|source| match qualifier {
            [table] => same(&source.exposed, table),
            [schema, table] => {
                same(&source.exposed, table)
                    && source
                        .schema
                        .as_ref()
                        .is_some_and(|known| same(known, schema))
            }
            _ => false,
        })
    }

    /// The columns of a block's result.
    pub(super) fn outputs(&self, index: usize, references: &[Reference]) -> Outputs {
        let mut outputs = Outputs::default();
        let block = &self.blocks[index];
        for item in &block.items {
            match &item.shape {
                ItemShape::Wildcard => {
                    (0..block.sources.len())
                        .for_each(|source| self.expand(index, source, &mut outputs));
                }
                ItemShape::TableWildcard(qualifier) => match self.source(block, qualifier) {
                    Some(source) => self.expand(index, source, &mut outputs),
                    None => outputs.is_open = true,
                },
                ItemShape::Column { start, name } => outputs.columns.push(Output {
                    name: item.alias.clone().unwrap_or_else(|| name.clone()),
                    counter: self.counter_at(*start, references),
                }),
                ItemShape::Expression => outputs.columns.extend(alias_only(item)),
            }
        }
        outputs
    }

    fn counter_at(&self, start: usize, references: &[Reference]) -> Option<Found> {
        let reference = references
            .iter()
            .find(|reference| reference.range.start == start)?;
        self.counter(reference).ok().flatten()
    }

    fn expand(&self, block: usize, source: usize, outputs: &mut Outputs) {
        let Some(table) = hot(&self.blocks[block].sources[source]) else {
            outputs.is_open = true;
            return;
        };
        let visible = table
            .columns
            .iter()
            .enumerate()
            .filter(|(_, column)| !column.invisible);
        outputs
            .columns
            .extend(visible.map(|(column, definition)| Output {
                name: definition.name.clone(),
                counter: table.is_hot(column).then_some(Found {
                    block,
                    source,
                    column,
                }),
            }));
    }
}

/// What a block makes of a name.
enum InBlock {
    Column {
        source: usize,
        column: usize,
    },
    /// A table whose columns are not known has it.
    Cold,
    /// A table whose columns are not known may have it.
    Perhaps,
    Absent,
}

fn alias_only(item: &Item) -> Option<Output> {
    Some(Output {
        name: item.alias.clone()?,
        counter: None,
    })
}

fn hot(source: &Source) -> Option<&HotTable> {
    source.hot.as_deref()
}
