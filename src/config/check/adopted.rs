//! `adopts` and `record_type` of a rule.

use super::{Check, Text};
use crate::config::error::{Error, Problem};
use crate::config::raw::Scalar;
use crate::config::{Adopted, names};

impl Check<'_> {
    /// The table of hand-written slots, if the rule with these counters names one.
    pub(super) fn adopted(
        &self,
        (table, of_type): (Option<Scalar>, Option<Scalar>),
        columns: &[String],
    ) -> Result<Option<Adopted>, Error> {
        let line = |scalar: &Option<Scalar>| scalar.as_ref().map_or(0, |one| one.referenced.line());
        let (table_line, type_line) = (line(&table), line(&of_type));
        let table = self.field("adopts", table, names::table)?;
        let of_type = self.field("record_type", of_type, record_type)?;
        match (table, of_type) {
            (None, None) => Ok(None),
            (None, Some(_)) => {
                let remedy = "record_type says which slots are adopted, and adopts in which table they are; write both, or none";
                Err(self.error("record_type", type_line, Problem::Together(remedy)))
            }
            (Some(_), _) if columns.len() > 1 => {
                let remedy = "hand-written slots belong to one counter; let the rule that adopts them name that one alone";
                Err(self.error("adopts", table_line, Problem::Together(remedy)))
            }
            (Some(table), record_type) => Ok(Some(Adopted { table, record_type })),
        }
    }
}

/// A value of the column that says to which table a row belongs.
fn record_type(text: &Text) -> Result<String, Problem> {
    match text.value.is_empty() {
        true => Err(Problem::Empty {
            remedy: "write the record_type of this table's slots, or leave the key out where all slots are this table's",
        }),
        false => Ok(text.value.clone()),
    }
}
