//! The types that MySQL takes a prepared statement's parameters for.

use crate::wire::column::{Column, field_type};
use crate::wire::execute::Value;

/// The types that MySQL takes the parameters of a statement for. It infers them from the text. When a number comes
/// where it expected text or a time, it infers them again, and then takes later values for numbers as well, whatever
/// they are. MariaDB goes by the value.
#[derive(Debug, Default)]
pub(crate) struct Typing {
    /// For each parameter, whether a number is not what MySQL expects.
    surprised_by_numbers: Vec<bool>,
    is_fixed: bool,
}

impl Typing {
    /// Starts from the definitions of this many parameters. Without definitions (`resultset_metadata = NONE`) only the
    /// server knows the types.
    pub(crate) fn new(parameters: u16, definitions: &[Vec<u8>], capabilities: u64) -> Self {
        let is_text = |definition: &Vec<u8>| {
            let definition = Column::decode(definition, capabilities);
            definition.is_ok_and(|column| {
                !matches!(
                    column.field_type,
                    field_type::NULL
                        | field_type::TINY
                        | field_type::SHORT
                        | field_type::INT24
                        | field_type::LONG
                        | field_type::LONGLONG
                        | field_type::YEAR
                        | field_type::FLOAT
                        | field_type::DOUBLE
                        | field_type::DECIMAL
                        | field_type::NEWDECIMAL
                )
            })
        };
        Self {
            surprised_by_numbers: definitions.iter().map(is_text).collect(),
            is_fixed: definitions.len() < usize::from(parameters),
        }
    }

    /// Takes in the values of an execution.
    pub(crate) fn see(&mut self, values: &[Value<'_>]) {
        let is_number = |value: &Value<'_>| {
            matches!(
                value,
                Value::Integer(_) | Value::Decimal(_) | Value::Double(_)
            )
        };
        let mut pairs = self.surprised_by_numbers.iter().zip(values);
        self.is_fixed |= pairs.any(|(surprised, value)| *surprised && is_number(value));
    }

    /// Whether the server no longer takes a value for what it is, so that only the server itself can compare it.
    pub(crate) fn is_fixed(&self) -> bool {
        self.is_fixed
    }
}
