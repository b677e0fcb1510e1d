//! Items of a select list: the names that they keep, and the columns that `*` stands for.

use sqlparser::ast::{Expr, SelectItem, SetExpr, Statement};

use crate::sql::context::{Context, Edit, bare, quoted};
use crate::sql::plan::SessionVariables;
use crate::sql::read::block::{Block, Found, Item, ItemShape, JoinKind, Place, Reference};
use crate::sql::read::resolve::Doubt;
use crate::sql::read::rewrite::Rewriter;
use crate::sql::read::survey::is_aggregate;
use crate::sql::syntax;
use crate::sql::template::Template;

/// Longest name that the server takes for an alias.
const MAX_ALIAS: usize = 255;

/// Which items of a query's select list are aggregates; empty where there is `*` among them, or the text is not a plain
/// query.
pub fn aggregates(text: &[u8], variables: &SessionVariables) -> Vec<bool> {
    let Ok(syntax) = syntax::parse(text, variables) else {
        return Vec::new();
    };
    let Statement::Query(query) = &syntax.statement else {
        return Vec::new();
    };
    let SetExpr::Select(select) = &*query.body else {
        return Vec::new();
    };
    let items = select.projection.iter().map(|item| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
            Some(matches!(bare(expr), Expr::Function(function) if is_aggregate(function)))
        }
        _ => None,
    });
    items.collect::<Option<_>>().unwrap_or_default()
}

impl Rewriter<'_> {
    /// Gives an item of the select list the name that it would have without the edits, if a name matters.
    pub(super) fn name_item(&mut self, reference: &Reference) {
        let block = &self.names.blocks[reference.block];
        let Some(item) = block
            .items
            .iter()
            .find(|item| item.range.contains(&reference.range.start))
        else {
            return;
        };
        let Some(name) = name_to_keep(self.names.context, block, item) else {
            return;
        };
        let end = item.range.end..item.range.end;
        let is_named = self.rewrite.edits.iter().any(|edit| edit.range == end);
        if !is_named {
            self.rewrite
                .edits
                .push(Edit::new(end, format!(" AS {}", quoted(&name))));
        }
    }

    pub(super) fn wildcards(&mut self, index: usize) -> Result<(), Doubt> {
        let block = &self.names.blocks[index];
        let has_hot = block.sources.iter().any(|source| source.hot.is_some());
        if !has_hot {
            return Ok(());
        }
        if block.join == JoinKind::Natural {
            return Err(Doubt);
        }
        if block.place == Place::Exists {
            return Ok(());
        }
        for item in &block.items {
            let sources: Vec<usize> = match &item.shape {
                ItemShape::Wildcard if block.join != JoinKind::Plain => return Err(Doubt),
                ItemShape::Wildcard => (0..block.sources.len()).collect(),
                ItemShape::TableWildcard(qualifier) => match self.names.source(block, qualifier) {
                    Some(source) if block.sources[source].hot.is_some() => vec![source],
                    _ => continue,
                },
                _ => continue,
            };
            let is_free = |source: usize| {
                self.is_free(Found {
                    block: index,
                    source,
                    column: 0,
                })
            };
            if !sources
                .iter()
                .all(|&source| block.sources[source].hot.is_none() || is_free(source))
            {
                return Err(Doubt);
            }
            let text = self.expansion(index, &sources)?;
            self.rewrite.edits.push(Edit {
                range: item.range.clone(),
                text,
            });
        }
        Ok(())
    }

    /// The columns that `*` stands for.
    pub(super) fn expansion(&mut self, index: usize, sources: &[usize]) -> Result<Template, Doubt> {
        let mut text = Template::default();
        for &source in sources {
            let of = &self.names.blocks[index].sources[source];
            if of.qualifier.is_empty() {
                return Err(Doubt);
            }
            let Some(table) = &of.hot else {
                separate(&mut text).push_text(&of.qualifier).push_text(".*");
                continue;
            };
            for (column, definition) in table
                .columns
                .iter()
                .enumerate()
                .filter(|(_, column)| !column.invisible)
            {
                let name = quoted(&definition.name);
                let written = [&of.qualifier, b".".as_slice(), name.as_bytes()].concat();
                match table.is_hot(column) {
                    false => separate(&mut text).push_text(written),
                    true => {
                        let sum = self.sum(
                            Found {
                                block: index,
                                source,
                                column,
                            },
                            &written,
                        );
                        separate(&mut text)
                            .append(&sum)
                            .push_text(format!(" AS {name}"))
                    }
                };
            }
        }
        Ok(text)
    }
}

fn separate(text: &mut Template) -> &mut Template {
    let separator = if text.pieces.is_empty() { "" } else { ", " };
    text.push_text(separator)
}

/// The name of an item that has none but its own text or column.
fn name_to_keep(context: &Context<'_>, block: &Block, item: &Item) -> Option<String> {
    if item.alias.is_some() {
        return None;
    }
    match &item.shape {
        ItemShape::Column { name, .. } => Some(name.clone()),
        // Outermost names go to the client with the original's metadata; others may be referred to.
        ItemShape::Expression => {
            let is_named_by_text =
                block.is_arm || matches!(block.place, Place::Derived { .. } | Place::Cte);
            let text = String::from_utf8_lossy(context.slice(item.range.clone())).into_owned();
            (is_named_by_text && text.chars().count() <= MAX_ALIAS).then_some(text)
        }
        ItemShape::Wildcard | ItemShape::TableWildcard(_) => None,
    }
}
