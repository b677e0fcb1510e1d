//! Foreign keys by which rows of a table are deleted, or get other primary keys, in statements that write another one.

use mysql_async::Conn;
use serde::{Deserialize, Serialize};

use super::error::Problem;
use super::letter_case::is_same;
use super::read::{Facts, ForeignKeyFacts, foreign_keys};

/// A table whose writes reach the primary keys of a hot table by ON DELETE CASCADE or ON UPDATE CASCADE.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cascade {
    /// Schema of the table that is written, as the server spells it.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// Its columns that are referred to.
    pub columns: Vec<String>,
    /// The hot table's own columns that refer to them, in the same order; empty if there are tables between the two.
    pub referring: Vec<String>,
    /// A DELETE of its rows deletes rows of the hot table.
    pub on_delete: bool,
    /// A change of these columns changes primary keys of the hot table.
    pub on_update: bool,
}

const CASCADE: &str = "CASCADE";

/// Those of a table, the nearest first, as far as the account may see tables above its parents.
pub(super) async fn of(conn: &mut Conn, facts: &Facts) -> Result<Vec<Cascade>, Problem> {
    /// Beyond this, the tables are no longer tracked.
    const MOST: usize = 256;
    let mut found = of_parents(facts);
    let mut at = 0;
    while let Some(below) = found.get(at).cloned() {
        at += 1;
        let is_own = below.schema == facts.schema && below.name == facts.name;
        if is_own || found.len() >= MOST {
            continue;
        }
        let keys = foreign_keys(conn, &below.schema, &below.name).await?;
        let above = by_key(&keys).map(|key| Cascade {
            on_delete: below.on_delete && key[0].delete_rule == CASCADE,
            on_update: below.on_update && key[0].update_rule == CASCADE,
            referring: Vec::new(),
            ..parent(key)
        });
        for new in above.collect::<Vec<_>>() {
            if (new.on_delete || new.on_update) && !found.contains(&new) {
                found.push(new);
            }
        }
    }
    Ok(found)
}

/// Those by the table's own foreign keys.
fn of_parents(facts: &Facts) -> Vec<Cascade> {
    let is_in_primary_key = |key: &ForeignKeyFacts| {
        let mut parts = facts.primary_key().filter_map(|part| part.column.as_ref());
        parts.any(|column| is_same(column, &key.column))
    };
    let cascades = by_key(&facts.foreign_keys).map(|key| Cascade {
        on_delete: key[0].delete_rule == CASCADE,
        on_update: key[0].update_rule == CASCADE && key.iter().any(is_in_primary_key),
        ..parent(key)
    });
    cascades
        .filter(|cascade| cascade.on_delete || cascade.on_update)
        .collect()
}

/// The columns of each foreign key.
fn by_key(keys: &[ForeignKeyFacts]) -> impl Iterator<Item = &[ForeignKeyFacts]> {
    keys.chunk_by(|one, next| one.name == next.name)
}

fn parent(key: &[ForeignKeyFacts]) -> Cascade {
    let (schema, name, _) = &key[0].referenced;
    Cascade {
        schema: schema.clone(),
        name: name.clone(),
        columns: key.iter().map(|part| part.referenced.2.clone()).collect(),
        referring: key.iter().map(|part| part.column.clone()).collect(),
        on_delete: false,
        on_update: false,
    }
}
