//! What `countersink check --json` says, and what is done about it.

use std::path::Path;

use countersink::check::Code;
use serde_json::Value;

use crate::support::{Sandbox, countersink};

/// What `check --json` says.
pub struct Found {
    /// The exit code.
    pub exit: i32,
    /// What it printed.
    pub document: Value,
}

impl Found {
    pub fn of(rules: &Path) -> Self {
        let (exit, output, errors) = countersink(&["check", "--json"], rules);
        let mut document: Value = serde_json::from_str(&output)
            .unwrap_or_else(|error| panic!("{error}: {output}{errors}"));
        // By the server's version alone, and not by what a test is about.
        let findings = document["findings"].as_array_mut().expect("a list");
        findings.retain(|finding| finding["code"] != Code::OwnCertificate.name());
        Self { exit, document }
    }

    pub fn findings(&self) -> &Vec<Value> {
        self.document["findings"].as_array().expect("a list")
    }

    pub fn codes(&self) -> Vec<&str> {
        let codes = self.findings().iter().map(|finding| &finding["code"]);
        codes.map(|code| code.as_str().expect("a text")).collect()
    }

    pub fn all(&self, code: Code) -> Vec<&Value> {
        let findings = self.findings().iter();
        findings
            .filter(|finding| finding["code"] == code.name())
            .collect()
    }

    pub fn has(&self, code: Code) -> bool {
        !self.all(code).is_empty()
    }

    /// The one finding of this code.
    pub fn one(&self, code: Code) -> &Value {
        match self.all(code)[..] {
            [finding] => finding,
            _ => panic!("not one {}: {:#}", code.name(), self.document),
        }
    }

    /// The statements of all findings of this code.
    pub fn statements(&self, code: Code) -> Vec<String> {
        let statements = self.all(code).into_iter().flat_map(|finding| {
            let statements = finding["statements"].as_array().expect("a list");
            statements
                .iter()
                .map(|text| text.as_str().expect("a text").to_owned())
        });
        statements.collect()
    }

    /// The exit code is the one of the worst severity.
    pub fn assert_exit(&self) {
        let has = |severity: &str| {
            let mut findings = self.findings().iter();
            findings.any(|finding| finding["severity"] == severity)
        };
        let expected = match (has("error"), has("warning")) {
            (true, _) => 2,
            (false, true) => 3,
            (false, false) => 0,
        };
        assert_eq!(self.exit, expected, "{:#}", self.document);
    }
}

/// The schema as it is, to see that nothing is changed.
pub async fn schema(sandbox: &Sandbox) -> Vec<String> {
    let query = "SELECT CONCAT_WS(' ', TABLE_NAME, ENGINE, CREATE_TIME) FROM information_schema.TABLES \
                 WHERE TABLE_SCHEMA = '~' ORDER BY TABLE_NAME";
    sandbox.ask(query).await
}

/// Runs the statements of a remedy.
pub async fn run_all(sandbox: &Sandbox, statements: &[String]) {
    for statement in statements {
        sandbox.run(statement.trim_end_matches(';')).await;
    }
}
