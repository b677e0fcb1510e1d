//! Derived tables that hold the values, in place of hot tables: for queries whose names cannot be followed one by one.

use crate::sql::context::{Context, Edit, quoted};
use crate::sql::read::block::{Block, Found, Item, ItemShape, Reference};
use crate::sql::read::resolve::Doubt;
use crate::sql::read::rewrite::{Rewrite, Rewriter};
use crate::sql::template::Template;

impl Rewrite {
    /// The edits that put a derived table with the values in the place of each hot table: right for whatever the query
    /// does with the names, and slower, as servers materialise a derived table that has inner queries.
    pub(super) fn by_derived_tables(
        context: &Context<'_>,
        blocks: &[Block],
        references: &[Reference],
    ) -> Result<Self, Doubt> {
        // A derived table has no schema, and its columns no defaults.
        let has_schema = |item: &Item| matches!(&item.shape, ItemShape::TableWildcard(qualifier) if qualifier.len() > 1);
        let mut items = blocks.iter().flat_map(|block| &block.items);
        let mut all = references.iter();
        if items.any(has_schema) || all.any(|one| one.is_opaque || one.path.len() > 2) {
            return Err(Doubt);
        }
        let mut inner = blocks.to_vec();
        for source in inner.iter_mut().flat_map(|block| &mut block.sources) {
            source.qualifier = quoted(&source.exposed).into_bytes();
        }
        let mut rewriter = Rewriter::new(context, &inner, references);
        for (index, block) in blocks.iter().enumerate() {
            for (position, source) in block.sources.iter().enumerate() {
                let Some(table) = &source.hot else {
                    continue;
                };
                let (name, has_alias) = source.name.clone().ok_or(Doubt)?;
                let is_zero_filled = (0..table.columns.len())
                    .filter(|&column| table.is_hot(column))
                    .any(|column| {
                        rewriter.is_zero_filled(Found {
                            block: index,
                            source: position,
                            column,
                        })
                    });
                if is_zero_filled {
                    return Err(Doubt);
                }
                let alias = quoted(&source.exposed);
                let mut text = Template::text("(SELECT ");
                text.append(&rewriter.expansion(index, &[position])?)
                    .push_text(" FROM ")
                    .push_text(context.slice(name.clone()))
                    .push_text(format!(" AS {alias})"));
                if !has_alias {
                    text.push_text(format!(" AS {alias}"));
                }
                rewriter.rewrite.edits.push(Edit { range: name, text });
            }
        }
        let mut rewrite = rewriter.rewrite;
        rewrite.edits.sort_by_key(|edit| edit.range.start);
        Ok(rewrite)
    }
}
