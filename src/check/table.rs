//! Findings about a table that can be hot: what makes it slower, and what the proxy does not see.

use super::code::Code;
use super::evidence::{Extremes, Seen};
use super::finding::Finding;
use crate::catalog::check::{cascades, full_name, is_checked};
use crate::catalog::read::Facts;
use crate::catalog::{Counter, HotTable};
use crate::config::Rule;
use crate::counter::{KeyForm, quote};

pub(super) fn findings(rule: &Rule, table: &HotTable, facts: &Facts, seen: &Seen) -> Vec<Finding> {
    let about = About { rule, table, facts };
    let mut findings = about.cascading();
    findings.extend(about.key());
    findings.extend(about.touches());
    for counter in &table.counters {
        findings.extend(about.indexes(counter));
        findings.extend(about.unbounded(counter));
    }
    for (position, extremes) in &seen.extremes {
        findings.extend(about.headroom(*position, extremes));
    }
    if seen.partitioned {
        findings.push(about.partitioned());
    }
    findings
}

/// One table, seen three ways.
struct About<'a> {
    rule: &'a Rule,
    table: &'a HotTable,
    facts: &'a Facts,
}

impl About<'_> {
    fn finding(&self, code: Code, reason: impl Into<String>) -> Finding {
        Finding::new(code, Some(&self.rule.table), reason)
    }

    fn name(&self, position: usize) -> &str {
        &self.table.columns[position].name
    }

    fn alter(&self, change: &str) -> String {
        let table = quote::pair(&self.table.schema, &self.table.name);
        format!("ALTER TABLE {table} {change}")
    }

    fn cascading(&self) -> Vec<Finding> {
        let mut seen: Vec<&str> = Vec::new();
        let mut findings = Vec::new();
        for (key, warning) in cascades(self.facts) {
            if seen.contains(&key.name.as_str()) {
                continue; // It has several columns.
            }
            seen.push(&key.name);
            let drop = self.alter(&format!("DROP FOREIGN KEY {}", quote::name(&key.name)));
            let advice = "what comes through the proxy by itself is right; where triggers or routines delete rows of that \
                          table, declare the key without CASCADE, and let the application delete these rows too; this drops it";
            let finding = self.finding(Code::Cascade, warning).advice(advice);
            findings.push(finding.statements([drop]));
        }
        findings
    }

    fn key(&self) -> Option<Finding> {
        let column = &self.table.columns[KeyForm::unnamed(self.table)?];
        let reason = format!(
            "the key column `{}` is {}, of which no literal is surely the same in every session: slots are not rolled up \
             in the background, and statements that need them move those of all rows that they find",
            column.name,
            column.definition.to_uppercase()
        );
        let advice = "a key of integers, strings, DECIMALs, DATEs or DATETIMEs is better";
        Some(self.finding(Code::KeyNotNamed, reason).advice(advice))
    }

    fn touches(&self) -> impl Iterator<Item = Finding> {
        let named = |name: &str| {
            let mut touch = self.rule.touch.iter();
            touch.any(|touch| touch.to_lowercase() == name.to_lowercase())
        };
        let touches = self
            .table
            .touches
            .iter()
            .map(|&position| self.name(position));
        touches.filter(move |name| !named(name)).map(|name| {
            let reason = format!(
                "`{name}` has ON UPDATE CURRENT_TIMESTAMP: it rides along in the slots as a touch column"
            );
            self.finding(Code::TouchColumn, reason)
        })
    }

    fn indexes(&self, counter: &Counter) -> impl Iterator<Item = Finding> {
        let name = self.name(counter.column).to_owned();
        let on_counter = self.facts.indexes.iter().filter({
            let name = name.to_lowercase();
            move |part| {
                let column = part.column.as_ref();
                column.is_some_and(|column| column.to_lowercase() == name)
            }
        });
        on_counter.map(move |part| {
            let index = &part.index;
            let reason = format!(
                "the index `{index}` is on the counter `{name}`: every roll-up writes it, and it does not hold what is \
                 in slots, so reads by it add up all rows"
            );
            let drop = self.alter(&format!("DROP INDEX {}", quote::name(index)));
            self.finding(Code::CounterIndexed, reason)
                .advice("drop it, unless reads need it more than increments do")
                .statements([drop])
        })
    }

    /// A counter of which nothing may be slotted.
    fn unbounded(&self, counter: &Counter) -> Option<Finding> {
        if counter.bounds.is_some() {
            return None;
        }
        let name = self.name(counter.column);
        if is_checked(self.facts, name) {
            let reason = format!(
                "a CHECK of {} names `{name}`, so it is never slotted: MySQL has to see every value",
                full_name(self.facts)
            );
            let advice = "drop the CHECK, or take the column out of the rule";
            return Some(self.finding(Code::CounterChecked, reason).advice(advice));
        }
        let reason = format!(
            "`{name}` is {}, too narrow to be slotted: half of its range, shared by all slots, leaves nothing for one",
            self.table.columns[counter.column].definition.to_uppercase()
        );
        let advice = "make it INT or BIGINT, or a DECIMAL with more digits before the point";
        Some(self.finding(Code::CounterNarrow, reason).advice(advice))
    }

    fn headroom(&self, position: usize, extremes: &Extremes) -> Option<Finding> {
        let name = self.name(position);
        let kind = self.table.columns[position].definition.to_uppercase();
        match extremes {
            Extremes::Within => None,
            Extremes::Beyond(value) => {
                let reason = format!(
                    "`{name}` is {kind} and has a value of {value}, beyond half of its range: increments of such rows \
                     are no longer slotted"
                );
                let advice = "give the column a wider type";
                Some(self.finding(Code::Headroom, reason).advice(advice))
            }
            Extremes::TooMany(rows) => {
                let reason = format!(
                    "the values of `{name}` were not looked at: {} has about {rows} rows and no index on it",
                    full_name(self.facts)
                );
                let advice = "see by SELECT MAX on a replica whether they are within half of the type's range";
                Some(self.finding(Code::HeadroomUnseen, reason).advice(advice))
            }
        }
    }

    fn partitioned(&self) -> Finding {
        let reason = format!(
            "{} is partitioned, and its slot table is not: rows that go with a partition (DROP, TRUNCATE, EXCHANGE \
             PARTITION) leave their slots behind unless the statement passes the proxy",
            full_name(self.facts)
        );
        let advice = "maintain partitions through the proxy";
        self.finding(Code::Partitioned, reason).advice(advice)
    }
}
