//! A table of slots that an application writes by hand.

use super::names::TableName;

/// `adopts` of a rule: slots that an application increments in statements of its own, which are rolled up into the
/// rule's counter.
///
/// The table has the columns of the pattern as it was published: `record_type`, `record_id`, `slot` and `count`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adopted {
    /// The table. Several rules may name it.
    pub table: TableName,
    /// Which of its rows belong to the hot table, by their `record_type`; `None`: all of them.
    pub record_type: Option<String>,
}

impl Adopted {
    /// Whether some row may belong to both. To most collations the letter case and spaces at the end are no difference.
    pub fn overlaps(&self, other: &Self) -> bool {
        let folded = |text: &str| text.trim_end().to_lowercase();
        let types = self
            .record_type
            .as_deref()
            .zip(other.record_type.as_deref());
        self.table == other.table
            && types.is_none_or(|(one, another)| folded(one) == folded(another))
    }
}
