//! From what is written to what is meant.

mod admin;
mod adopted;
mod connections;
mod memory;
mod rules;
mod settings;
mod tls;

use std::fmt;
use std::path::PathBuf;

use zeroize::Zeroize;

use super::environment::{Environment, substitute};
use super::error::{Error, Place, Problem};
use super::raw::Scalar;

pub(super) use admin::passwords;
pub(super) use settings::config;

/// A scalar: what it means, and how the file writes it.
///
/// Errors show the written form: a value from the environment may be a password in the wrong place.
#[derive(Clone, Debug)]
pub(in crate::config) struct Text {
    pub(in crate::config) value: String,
    written: String,
}

/// It may be a password.
impl Drop for Text {
    fn drop(&mut self) {
        self.value.zeroize();
        self.written.zeroize();
    }
}

impl Text {
    pub(in crate::config) fn plain(text: &str) -> Self {
        Self {
            value: text.to_owned(),
            written: text.to_owned(),
        }
    }
}

impl fmt::Display for Text {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "`{}`", self.written)
    }
}

/// Gives each value its place, for errors.
struct Check<'a> {
    environment: Environment<'a>,
    /// Position, table and line of the rule that is being checked.
    rule: Option<(usize, String, u64)>,
}

impl Check<'_> {
    fn error(&self, field: &str, line: u64, problem: Problem) -> Error {
        Error {
            place: Box::new(Place {
                rule: self
                    .rule
                    .as_ref()
                    .map(|(index, table, _)| (*index, table.clone())),
                field: Some(field.to_owned()),
                line,
            }),
            problem,
        }
    }

    fn missing(&self, field: &str, remedy: &'static str) -> Error {
        let line = self.rule.as_ref().map_or(0, |(_, _, line)| *line);
        self.error(field, line, Problem::Missing { remedy })
    }

    /// One value: variables put in, then parsed.
    fn field<T>(
        &self,
        field: &str,
        scalar: Option<Scalar>,
        parse: impl FnOnce(&Text) -> Result<T, Problem>,
    ) -> Result<Option<T>, Error> {
        let Some(scalar) = scalar else {
            return Ok(None);
        };
        let line = scalar.referenced.line();
        substitute(&scalar.value, self.environment)
            .map(|value| Text {
                value,
                written: scalar.value,
            })
            .and_then(|text| parse(&text))
            .map(Some)
            .map_err(|problem| self.error(field, line, problem))
    }

    fn text(&self, field: &str, scalar: Option<Scalar>) -> Result<Option<String>, Error> {
        self.field(field, scalar, |text| Ok(text.value.clone()))
    }

    /// A list of texts.
    fn texts(&self, field: &str, list: Option<Vec<Scalar>>) -> Result<Option<Vec<String>>, Error> {
        let text = |scalar| self.text(field, Some(scalar)).transpose();
        list.map(|list| list.into_iter().filter_map(text).collect())
            .transpose()
    }

    fn path(&self, field: &str, scalar: Option<Scalar>) -> Result<Option<PathBuf>, Error> {
        self.field(field, scalar, |text| match text.value.is_empty() {
            true => Err(Problem::Empty {
                remedy: "name a PEM file",
            }),
            false => Ok(text.value.clone().into()),
        })
    }
}
