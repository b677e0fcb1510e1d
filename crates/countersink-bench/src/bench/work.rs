//! What the clients do to the rows.

use clap::ValueEnum;
use serde::Serialize;

/// A kind of write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Work {
    /// Add one to a counter.
    #[default]
    Increment,
    /// Take one of a stock that lasts, guarded by WHERE.
    Guarded,
    /// Try to take one of a stock that is sold out.
    Soldout,
    /// Subtract one from an UNSIGNED counter.
    Unsigned,
    /// Set a counter to a constant.
    Set,
    /// Add one by INSERT .. ON DUPLICATE KEY UPDATE.
    Upsert,
    /// Draw the next number of a sequence by LAST_INSERT_ID(n + 1).
    Sequence,
    /// Read whole rows by their keys.
    Reads,
    /// Increment the first row, and read others: nine of ten statements, or as many as --reads says.
    Mix,
}

/// What `stock` and `credit` begin with, and more than a run takes.
const STOCK: u32 = 1_000_000_000;

impl Work {
    /// Its name on the command line and in the reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Increment => "increment",
            Self::Guarded => "guarded",
            Self::Soldout => "soldout",
            Self::Unsigned => "unsigned",
            Self::Set => "set",
            Self::Upsert => "upsert",
            Self::Sequence => "sequence",
            Self::Reads => "reads",
            Self::Mix => "mix",
        }
    }

    /// Its statements, as a sentence begins with them.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Increment => "Increments",
            Self::Guarded => "Guarded decrements",
            Self::Soldout => "Guarded decrements of what is sold out,",
            Self::Unsigned => "Decrements of an UNSIGNED counter",
            Self::Set => "Absolute values",
            Self::Upsert => "Upserts",
            Self::Sequence => "Numbers drawn from a sequence",
            Self::Reads => "Reads of whole rows",
            Self::Mix => "Increments of the first row and reads of others",
        }
    }

    /// The columns of a table that is counted in, as CREATE TABLE has them.
    pub(super) fn columns() -> String {
        format!(
            "id BIGINT UNSIGNED NOT NULL PRIMARY KEY, title VARCHAR(200) NOT NULL DEFAULT '', \
             views BIGINT NOT NULL DEFAULT 0, stock INT NOT NULL DEFAULT {STOCK}, \
             credit INT UNSIGNED NOT NULL DEFAULT {STOCK}"
        )
    }

    /// The share of the reads in a mix.
    pub(super) const READS_OF_A_MIX: f64 = 0.9;

    /// The counters among them.
    pub(super) const COUNTERS: &str = "views, stock, credit";

    /// The statement, with `{key}` in the place of the key.
    pub(super) fn statement(self, table: &str) -> String {
        let set = match self {
            Self::Increment => "views = views + 1",
            Self::Reads => return format!("SELECT * FROM {table} WHERE id = {{key}}"),
            Self::Mix => return format!("UPDATE {table} SET views = views + 1 WHERE id = 1"),
            Self::Guarded | Self::Soldout => "stock = stock - 1",
            Self::Unsigned => "credit = credit - 1",
            Self::Set => "views = 5",
            Self::Sequence => "views = LAST_INSERT_ID(views + 1)",
            Self::Upsert => {
                return format!(
                    "INSERT INTO {table} (id, title, views, stock, credit) VALUES ({{key}}, '', 1, 0, 0) \
                     ON DUPLICATE KEY UPDATE views = views + 1"
                );
            }
        };
        let guard = match self {
            Self::Guarded => " AND stock >= 1".to_owned(),
            Self::Soldout => format!(" AND stock > {STOCK}"),
            _ => String::new(),
        };
        format!("UPDATE {table} SET {set} WHERE id = {{key}}{guard}")
    }

    /// How many statements a row has counted, as an expression. `None` where the statements leave no trace.
    pub(super) fn counted(self) -> Option<String> {
        match self {
            Self::Increment | Self::Upsert | Self::Sequence | Self::Mix => Some("views".to_owned()),
            Self::Guarded => Some(format!("{STOCK} - stock")),
            Self::Unsigned => Some(format!("{STOCK} - credit")),
            Self::Soldout | Self::Set | Self::Reads => None,
        }
    }

    /// The same of a slot row, which begins with nothing.
    pub(super) fn counted_in_slot(self) -> &'static str {
        match self {
            Self::Guarded => "-stock",
            Self::Unsigned => "-credit",
            _ => "views",
        }
    }
}
