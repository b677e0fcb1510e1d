//! The findings as JSON. docs/check.md describes the fields.

use serde::Serialize;

use crate::check::{Finding, Report, Severity};

#[derive(Serialize)]
struct Document<'a> {
    server: &'static str,
    version: &'a str,
    findings: Vec<FindingDocument<'a>>,
    summary: Summary,
}

#[derive(Serialize)]
struct FindingDocument<'a> {
    severity: &'static str,
    code: &'static str,
    table: Option<&'a str>,
    reason: &'a str,
    /// The advice and the statements in one text; null if there is nothing to do.
    remedy: Option<String>,
    statements: &'a [String],
}

#[derive(Serialize)]
struct Summary {
    rules: usize,
    errors: usize,
    warnings: usize,
    notices: usize,
}

/// The report as one JSON object.
pub(super) fn text(report: &Report) -> String {
    let document = Document {
        server: report.server,
        version: &report.version,
        findings: report.findings.iter().map(finding).collect(),
        summary: Summary {
            rules: report.rules,
            errors: report.count(Severity::Error),
            warnings: report.count(Severity::Warning),
            notices: report.count(Severity::Notice),
        },
    };
    serde_json::to_string_pretty(&document).expect("plain data can be written")
}

fn finding(finding: &Finding) -> FindingDocument<'_> {
    FindingDocument {
        severity: finding.severity().name(),
        code: finding.code.name(),
        table: finding.table.as_deref(),
        reason: &finding.reason,
        remedy: remedy(finding),
        statements: &finding.statements,
    }
}

fn remedy(finding: &Finding) -> Option<String> {
    let statements = finding.statements.join(" ");
    match (finding.advice.as_str(), statements.as_str()) {
        ("", "") => None,
        ("", statements) => Some(statements.to_owned()),
        (advice, "") => Some(advice.to_owned()),
        (advice, statements) => Some(format!("{advice}: {statements}")),
    }
}
