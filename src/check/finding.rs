//! Findings, and the report of all of them.

use super::code::{Code, Severity};
use crate::config::TableName;

/// Something that an operator should know or do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What it is about.
    pub code: Code,
    /// The hot table of the rule that it is about, as rules.yaml spells it; none when it is about the server.
    pub table: Option<String>,
    /// What is so, and why it matters: a sentence.
    pub reason: String,
    /// What to do, in words; empty when there is nothing, or when the statements say it all.
    pub advice: String,
    /// Statements that do it, each with its semicolon.
    pub statements: Vec<String>,
}

impl Finding {
    pub(super) fn new(code: Code, table: Option<&TableName>, reason: impl Into<String>) -> Self {
        Self {
            code,
            table: table.map(TableName::to_string),
            reason: reason.into(),
            advice: String::new(),
            statements: Vec::new(),
        }
    }

    /// Of an error's text, which ends with the remedy: `reason; remedy`.
    pub(super) fn parted(code: Code, table: Option<&TableName>, text: &str) -> Self {
        let parts = text.split_once("; ").or_else(|| text.split_once(". ")); // a hint ends the sentence
        let (reason, advice) = parts.unwrap_or((text, ""));
        Self::new(code, table, reason).advice(advice)
    }

    pub(super) fn advice(mut self, advice: impl Into<String>) -> Self {
        self.advice = advice.into();
        self
    }

    pub(super) fn statements(mut self, statements: impl IntoIterator<Item = String>) -> Self {
        let ended = |statement: String| match statement.ends_with(';') {
            true => statement,
            false => statement + ";",
        };
        self.statements.extend(statements.into_iter().map(ended));
        self
    }

    /// The advice without the statement that it ends with.
    pub(super) fn instead_of_advice(mut self, statement: String) -> Self {
        if let Some((words, _)) = self.advice.rsplit_once(": ") {
            self.advice.truncate(words.len());
        }
        self.statements([statement])
    }

    /// How bad it is.
    pub fn severity(&self) -> Severity {
        self.code.severity()
    }
}

/// Everything that was found.
#[derive(Clone, Debug)]
pub struct Report {
    /// `MySQL` or `MariaDB`.
    pub server: &'static str,
    /// Its version.
    pub version: String,
    /// How many rules there are.
    pub rules: usize,
    /// About the server first, then by rule in the order of the file, the worst of each first.
    pub findings: Vec<Finding>,
}

impl Report {
    /// How many findings of this severity there are.
    pub fn count(&self, severity: Severity) -> usize {
        let same = |finding: &&Finding| finding.severity() == severity;
        self.findings.iter().filter(same).count()
    }

    /// The worst severity that there is.
    pub fn worst(&self) -> Option<Severity> {
        self.findings.iter().map(Finding::severity).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_parted_into_reason_and_advice() {
        let parted = |text| {
            let finding = Finding::parted(Code::Engine, None, text);
            (finding.reason, finding.advice)
        };
        let pair = |reason: &str, advice: &str| (reason.to_owned(), advice.to_owned());
        assert_eq!(
            parted("it is so; do this; or that"),
            pair("it is so", "do this; or that")
        );
        assert_eq!(
            parted("it is not. If so, do"),
            pair("it is not", "If so, do")
        );
        assert_eq!(parted("it is so"), pair("it is so", ""));
    }

    #[test]
    fn a_statement_takes_the_place_of_the_one_in_the_advice() {
        let finding = Finding::parted(Code::Engine, None, "it is so; convert it: ALTER TABLE a.b")
            .instead_of_advice("ALTER TABLE `a`.`b`".to_owned());
        assert_eq!(finding.advice, "convert it");
        assert_eq!(finding.statements, ["ALTER TABLE `a`.`b`;"]);
    }
}
