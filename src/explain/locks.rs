//! The words for InnoDB's locks: X exclusive, S shared.

use super::{base, slots};
use crate::catalog::HotTable;

/// A statement that passes as it came locks what it locks without us.
pub(super) const THE_STATEMENTS_OWN: &str = "its own";

/// Reads from snapshots lock nothing.
pub(super) const NONE: &str = "none: a consistent read";

/// Until when locks are held.
pub(super) fn until(in_transaction: bool) -> String {
    match in_transaction {
        true => "all of them until the transaction ends".to_owned(),
        false => "all of them until the COMMIT".to_owned(),
    }
}

/// What a fold of these keys locks: base first, then slots.
pub(super) fn of_fold(table: &HotTable, predicate: Option<&str>) -> [String; 2] {
    let rows = match predicate {
        Some(predicate) => format!("the rows WHERE {predicate}"),
        None => "all rows, and so the whole table".to_owned(),
    };
    let slot_rows = match predicate {
        Some(_) => "their slot rows and the gaps between, X",
        None => "all slot rows, X",
    };
    [
        format!("{}: {rows}, X", base(table)),
        format!("{}: {slot_rows}", slots(table)),
    ]
}
