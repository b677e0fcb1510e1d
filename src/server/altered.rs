//! Notices tables that are altered past the proxy where no error reports it: an added column is missing from what `*`
//! stands for. It looks at the hot tables that were used since the last look, and now and then at one of the others.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::catalog::HotTable;
use crate::counter::control::Control;
use crate::counter::quote;
use crate::metrics::TableCounted;
use crate::session::{Hot, Shared};

/// How often it looks.
const LOOK: Duration = Duration::from_millis(500);

/// Once in this many looks a table that was not used is looked at as well.
const TURN: u32 = 20;

/// After this many looks that show the same columns, which are not those of the catalog, the tables are read again.
const LOOKS: u8 = 20;

/// What was seen of a table at the last look.
#[derive(Debug, Default)]
struct Seen {
    used: TableCounted,
    /// Its columns, if they were not those of the catalog.
    columns: Option<Vec<String>>,
    looks: u8,
}

impl Seen {
    /// Whether to read the tables again because of these columns: at once when they begin to differ from the catalog's,
    /// and now and then if reading has changed nothing, as for a table that no longer fits its rule.
    fn is_altered<'a>(
        &mut self,
        columns: Vec<String>,
        known: impl Iterator<Item = &'a String>,
    ) -> bool {
        if known.eq(&columns) {
            self.columns = None;
            return false;
        }
        self.looks = match self.columns.as_ref() == Some(&columns) {
            true => (self.looks + 1) % LOOKS,
            false => 0,
        };
        self.columns = Some(columns);
        self.looks == 0
    }
}

/// Never returns.
pub(super) async fn watch(shared: &Shared, control: &Control) {
    let mut seen: HashMap<(String, String), Seen> = HashMap::new();
    let (mut number, mut turn, mut uses) = (0_u32, 0_usize, 0);
    loop {
        tokio::time::sleep(LOOK).await;
        number = (number + 1) % TURN;
        // Allocates nothing if nothing was used.
        if std::mem::replace(&mut uses, count_uses(&shared.hot())) == uses && number != 0 {
            continue;
        }
        // Holding all of them would keep rules from moving on.
        let tables: Vec<_> = {
            let hot = shared.hot();
            let tables = hot.tables();
            tables
                .map(|(table, counts)| (Arc::clone(table), counts.counted()))
                .collect()
        };
        turn = (turn + usize::from(number == 0)) % tables.len().max(1);
        let mut is_altered = false;
        for (at, (table, used)) in tables.into_iter().enumerate() {
            let seen = seen
                .entry((table.schema.clone(), table.name.clone()))
                .or_default();
            let is_used = std::mem::replace(&mut seen.used, used) != used;
            if !is_used && (number != 0 || at != turn) {
                continue;
            }
            let known = table.columns.iter().map(|column| &column.name);
            if let Some(columns) = columns(control, &table).await {
                is_altered |= seen.is_altered(columns, known);
            }
        }
        if is_altered {
            shared.refresh().await;
        }
    }
}

/// How often hot tables were used.
fn count_uses(hot: &Hot) -> u64 {
    let uses = hot.tables().map(|(_, counts)| {
        let counted = counts.counted();
        counted.increments + counted.reads + counted.folds
    });
    uses.sum()
}

/// The names of a table's columns as they are now, none if the table is gone; `None` if the server does not say.
async fn columns(control: &Control, table: &HotTable) -> Option<Vec<String>> {
    let names = [&table.schema, &table.name];
    // What it means is up to sql_mode.
    if names.iter().any(|name| name.contains('\\')) {
        return None;
    }
    let [schema, name] = names.map(|name| quote::text(name));
    let question = format!(
        "SELECT column_name FROM information_schema.columns WHERE table_schema = {schema} AND table_name = {name} \
         ORDER BY ordinal_position"
    );
    let rows = control.ask_on_look(&question).await?;
    let names = rows.into_iter().map(|row| {
        let name = row.into_iter().next()??;
        String::from_utf8(name).ok()
    });
    names.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_told_when_it_comes_and_now_and_then_while_it_stays() {
        let names = |names: &[&str]| {
            names
                .iter()
                .map(|&name| name.to_owned())
                .collect::<Vec<_>>()
        };
        let known = names(&["id", "views"]);
        let mut seen = Seen::default();
        let mut look = |columns: &[&str]| seen.is_altered(names(columns), known.iter());
        assert!(!look(&["id", "views"]));
        assert!(look(&[]), "it is no more");
        assert!(look(&["id", "views", "extra"]));
        for _ in 1..LOOKS {
            assert!(!look(&["id", "views", "extra"]));
        }
        assert!(look(&["id", "views", "extra"]));
        assert!(!look(&["id", "views"]));
        assert!(look(&["id", "views", "extra"]), "again");
    }
}
