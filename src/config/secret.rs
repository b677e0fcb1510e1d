//! A password that does not print itself.

use std::fmt;

use zeroize::Zeroize;

/// A password; `Debug` shows only whether there is one, and it is overwritten when dropped.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Keeps `text`.
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// The password itself, for the one place that sends it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(if self.0.is_empty() { "\"\"" } else { "***" })
    }
}
