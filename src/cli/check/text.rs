//! The findings as text: grouped by rule, the worst first, each with what to do.

use countersink_terminal::{Paint, wrapped};

use crate::check::{Finding, Report, Severity};

/// Maximum width of a line, in columns. Statements are not wrapped.
const WIDTH: usize = 100;

/// The indentation of a finding's text.
const INDENT: &str = "    ";

/// The report's lines.
pub(super) fn lines(report: &Report) -> Vec<String> {
    let mut lines = Vec::new();
    let mut group: Option<&Option<String>> = None;
    for finding in &report.findings {
        if group != Some(&finding.table) {
            if group.is_some() {
                lines.push(String::new());
            }
            lines.push(heading(report, finding));
            group = Some(&finding.table);
        }
        lines.extend(one(finding));
    }
    if group.is_some() {
        lines.push(String::new());
    }
    lines.push(summary(report));
    lines
}

fn heading(report: &Report, finding: &Finding) -> String {
    let about = match &finding.table {
        Some(table) => table.clone(),
        None => format!("the server ({})", server(report)),
    };
    Paint::Strong.on(&about)
}

fn one(finding: &Finding) -> Vec<String> {
    let severity = finding.severity();
    let paint = match severity {
        Severity::Error => Paint::Bad,
        Severity::Warning => Paint::Doubtful,
        Severity::Notice => Paint::Plain,
    };
    let mut lines = vec![format!(
        "  {}: {}",
        paint.on(severity.name()),
        finding.code.name()
    )];
    lines.extend(wrapped(INDENT, &finding.reason, WIDTH));
    if !finding.advice.is_empty() {
        let colon = if finding.statements.is_empty() {
            ""
        } else {
            ":"
        };
        lines.extend(wrapped(
            INDENT,
            &format!("-> {}{colon}", finding.advice),
            WIDTH,
        ));
    }
    let statements = finding.statements.iter().flat_map(|text| text.lines());
    lines.extend(statements.map(|line| format!("{INDENT}   {line}")));
    lines
}

fn summary(report: &Report) -> String {
    let rules = counted(report.rules, "rule");
    if report.findings.is_empty() {
        return format!("nothing was found: {rules} on {}", server(report));
    }
    let [errors, warnings, notices] = [Severity::Error, Severity::Warning, Severity::Notice]
        .map(|severity| counted(report.count(severity), severity.name()));
    format!(
        "{errors}, {warnings}, {notices}: {rules} on {}",
        server(report)
    )
}

fn counted(number: usize, name: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {name}{plural}")
}

fn server(report: &Report) -> String {
    format!("{} {}", report.server, report.version)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Code;

    fn report(findings: Vec<Finding>) -> Report {
        Report {
            server: "MySQL",
            version: "9.7.4".to_owned(),
            rules: 1,
            findings,
        }
    }

    fn finding(code: Code, table: Option<&str>) -> Finding {
        Finding {
            code,
            table: table.map(str::to_owned),
            reason: "so it is".to_owned(),
            advice: "do this".to_owned(),
            statements: vec!["A (\n  b\n);".to_owned()],
        }
    }

    fn plain(report: &Report) -> Vec<String> {
        let plain = |line: String| countersink_terminal::plain(&line);
        lines(report).into_iter().map(plain).collect()
    }

    #[test]
    fn findings_are_grouped_and_counted() {
        let server = Finding {
            statements: Vec::new(),
            ..finding(Code::Clock, None)
        };
        let report = report(vec![
            server,
            finding(Code::Engine, Some("a.b")),
            finding(Code::CounterIndexed, Some("a.b")),
        ]);
        let expected = "\
the server (MySQL 9.7.4)
  warning: clock
    so it is
    -> do this

a.b
  error: engine
    so it is
    -> do this:
       A (
         b
       );
  warning: counter-indexed
    so it is
    -> do this:
       A (
         b
       );

1 error, 2 warnings, 0 notices: 1 rule on MySQL 9.7.4";
        assert_eq!(plain(&report).join("\n"), expected);
    }

    #[test]
    fn nothing_is_said_in_one_line() {
        assert_eq!(
            plain(&report(Vec::new())),
            ["nothing was found: 1 rule on MySQL 9.7.4"]
        );
    }
}
