//! The words for InnoDB's locks: X exclusive, S shared.

use super::{base, slots};
use crate::catalog::HotTable;

/// A statement that passes as it came locks what it locks without us.
pub(super) const THE_STATEMENTS_OWN: &str = "what the statement locks by itself";

/// The same, after locks that the proxy takes.
pub(super) const THEN_THE_STATEMENTS_OWN: &str = "then what the statement locks by itself";

/// Reads from snapshots lock nothing.
pub(super) const NONE: &str = "none: a consistent read";

/// But for the strictest isolation level.
pub(super) const NONE_IN_TRANSACTION: &str =
    "none: a consistent read (under SERIALIZABLE: all that it reads, rows and slot rows, S)";

/// Until when locks are held.
pub(super) fn until(in_transaction: bool) -> String {
    match in_transaction {
        true => "held until the transaction ends".to_owned(),
        false => "held until the COMMIT".to_owned(),
    }
}

/// What a fold of these keys locks: base first, then slots. Measured on MySQL 9.7: no gaps between slot rows.
pub(super) fn of_fold(table: &HotTable, predicate: Option<&str>) -> [String; 2] {
    match predicate {
        Some(predicate) => [
            format!("{}: the rows WHERE {predicate}, X", base(table)),
            format!("{}: their open slot rows, X", slots(table)),
        ],
        None => [
            format!("{}: every row, X", base(table)),
            format!("{}: every open slot row, X", slots(table)),
        ],
    }
}
