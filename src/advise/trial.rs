//! A rule for each hot table, tried without being switched on: can the table be hot, and what would be done with the
//! statements that were seen?

mod keyless;
mod predicted_plans;
mod present;
mod report_text;

use std::collections::HashMap;
use std::time::Duration;

use mysql_async::Conn;

use super::by_table::{self, NAMED, Spot};
use super::estimate::{self, Worth};
use super::evidence::{Evidence, Row, Source};
use crate::catalog::{self, Catalog, read};
use crate::check::{self, Finding};
use crate::config::{Config, Mode, Rest, Rule, TableName};
use crate::counter::provision;
use crate::sql::Sets;

use present::{is_of, leave_out, names_all, united};
use report_text::{
    against, is_worth_telling, no_counter, not_slotted, ruled, slots, unmended, why_not,
};

pub use predicted_plans::PredictedPlan;

/// A rule is advised from this many clients on that wait in increments, on average: half of one client's time.
const ADVISED: f64 = 0.5;

/// A rule that cannot gain this many times the increments is not advised.
const LEAST_GAIN: f64 = 1.5;

/// Where more than this share of the increments would take the row's own lock, a rule is not advised.
const MOSTLY: f64 = 0.5;

/// Statements that were seen running this often are reported.
const GLIMPSES: u64 = 20;

/// Reads of a counter that are this many times as frequent as increments are better left alone.
const MANY_READS: f64 = 20.0;

/// The verdict on a table for whose rows clients wait.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The clients that wait.
    pub spot: Spot,
    /// Whether a rule is advised.
    pub verdict: Verdict,
    /// What would be done with the statements on the table, those for which most clients wait first.
    pub fates: Vec<PredictedPlan>,
    /// How often the table's counters are read for each increment; none where it was not seen.
    pub reads: Option<f64>,
    /// Increments per second; none where it was not seen.
    pub increments: Option<f64>,
    /// The share of the increments in transactions that also read the counter, or write the row in another way; as far
    /// as that was seen.
    pub mixed: f64,
    /// What speaks against it, or is to be known: sentences.
    pub against: Vec<String>,
    /// What `countersink check` finds of such a rule.
    pub findings: Vec<Finding>,
    /// The names of the primary key's columns; empty where they are not known.
    pub primary_key: Vec<String>,
    /// All columns' names, in order.
    pub columns: Vec<String>,
}

/// Whether a rule is advised.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// This one.
    Advised(Advice, Worth),
    /// There is a rule already, which names all of these columns; a sentence says why clients still wait.
    Ruled(String),
    /// None, for this reason: a sentence.
    PassedOver(String),
}

/// A rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// The hot table, as the server spells it.
    pub table: TableName,
    /// Its counters.
    pub columns: Vec<String>,
    /// The columns for the time of the last change that increments set as well.
    pub touch: Vec<String>,
    /// The cap of slots; 0 where increments are combined alone.
    pub slots: u16,
    /// The rule that the table has, which is to be changed to this one: a table has one rule.
    pub replaces: Option<Replaced>,
}

/// A rule that the rules file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replaced {
    /// Its line in the file, from 1.
    pub line: u64,
    /// Its mode is off, and has to be another.
    pub is_off: bool,
}

/// Tries a rule for each table for whose rows clients wait, the one with the most first. The second value is how many
/// wait for rows of unknown tables. `base` is the rules file: its settings and its rules.
///
/// # Errors
///
/// A query that failed; that a table cannot be hot is no error.
pub async fn advise(
    conn: &mut Conn,
    evidence: &Evidence,
    base: &Config,
) -> Result<(Vec<Candidate>, f64), check::Error> {
    let server = read::server(conn).await.map_err(check::Error::Query)?;
    let schemas = schemas(conn, &by_table::without_schema(evidence)).await?;
    let (spots, lost) = by_table::spots(evidence, &schemas);
    let mut candidates = Vec::new();
    for spot in spots {
        let TableName { schema, name } = &spot.table;
        let facts = read::table(conn, &server, schema, name).await;
        let facts = facts.map_err(check::Error::Query)?;
        let is_ours = facts
            .as_ref()
            .is_some_and(|facts| provision::is_slot_table(&facts.comment));
        if !is_ours {
            let trial = Trial {
                evidence,
                base,
                schemas: &schemas,
                facts,
            };
            candidates.push(trial.of(conn, spot).await?);
        }
    }
    // Those that can be helped first, each in the order of the time that is lost.
    candidates.sort_by_key(|candidate| !matches!(candidate.verdict, Verdict::Advised(..)));
    Ok((candidates, lost))
}

/// The schema of each of these tables, where one schema alone has a table of that name.
async fn schemas(
    conn: &mut Conn,
    names: &[String],
) -> Result<HashMap<String, String>, check::Error> {
    const QUERY: &str = "SELECT TABLE_SCHEMA FROM information_schema.TABLES WHERE TABLE_NAME = ? \
         AND TABLE_SCHEMA NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema')";
    let mut schemas = HashMap::new();
    for name in names {
        let tuple = mysql_async::from_row_opt::<String>;
        let found = read::rows(conn, "the schemas", QUERY, (name,), tuple).await;
        let mut found = found.map_err(check::Error::Query)?;
        if let (Some(schema), true) = (found.pop(), found.is_empty()) {
            schemas.insert(name.clone(), schema);
        }
    }
    Ok(schemas)
}

/// What all candidates are judged by, and what the server says of one's table.
struct Trial<'a> {
    evidence: &'a Evidence,
    base: &'a Config,
    schemas: &'a HashMap<String, String>,
    /// None when the account can see no such table.
    facts: Option<read::Facts>,
}

impl Trial<'_> {
    async fn of(&self, conn: &mut Conn, spot: Spot) -> Result<Candidate, check::Error> {
        let mut candidate = Candidate {
            verdict: Verdict::PassedOver(String::new()),
            fates: Vec::new(),
            reads: None,
            increments: None,
            mixed: 0.0,
            against: Vec::new(),
            findings: Vec::new(),
            primary_key: Vec::new(),
            columns: Vec::new(),
            spot,
        };
        if let Some(facts) = &self.facts {
            let key = facts.primary_key().filter_map(|part| part.column.clone());
            candidate.primary_key = key.collect();
            candidate.columns = facts
                .columns
                .iter()
                .map(|column| column.name.clone())
                .collect();
        }
        let columns = candidate.spot.columns(Sets::Sum);
        if columns.is_empty() {
            candidate.verdict = Verdict::PassedOver(no_counter(&candidate.spot));
            return Ok(candidate);
        }
        let present = self.present(&candidate.spot.table);
        let source = self.evidence.source;
        let named = |rule: &&Rule| rule.mode != Mode::Off && names_all(rule, &columns);
        let mut is_ruled = present.is_some_and(|rule| named(&rule));
        let acting = present.filter(|rule| rule.acts() && source == Source::Proxy);
        if let Some(rule) = acting.filter(|_| !is_ruled) {
            leave_out(&mut candidate.spot, rule);
            is_ruled = candidate.spot.waiting < ADVISED;
        }
        if let Some(rule) = present.filter(|_| is_ruled) {
            candidate.verdict = Verdict::Ruled(ruled(rule.mode, source));
            return Ok(candidate);
        }
        let touch = self.touches(&candidate.spot);
        let rule = match self.rule(&candidate.spot, columns, touch) {
            Ok(rule) => present.map_or(rule.clone(), |present| united(present, rule)),
            Err(why) => {
                candidate.verdict = Verdict::PassedOver(why);
                return Ok(candidate);
            }
        };
        self.try_out(conn, &mut candidate, rule).await?;
        Ok(candidate)
    }

    /// Looks at the table as `serve` and `check` would with this rule, and plans the statements that were seen.
    async fn try_out(
        &self,
        conn: &mut Conn,
        candidate: &mut Candidate,
        mut rule: Rule,
    ) -> Result<(), check::Error> {
        if self.is_keyless() {
            if let Some(why) = keyless::why_not(conn, candidate).await {
                candidate.verdict = Verdict::PassedOver(why);
                return Ok(());
            }
            rule.slots = 0;
        }
        let config = self.with(&rule);
        let examination = catalog::examine(conn, &config).await?;
        candidate.findings = check::check(conn, &config).await?.findings;
        let table = examination
            .tables
            .first()
            .and_then(|table| table.table.clone());
        let (Some(table), None) = (table, &examination.problem) else {
            let why = examination.tables.first().and_then(why_not);
            let why = why.or_else(|| examination.problem.as_ref().map(ToString::to_string));
            candidate.verdict = Verdict::PassedOver(why.unwrap_or_default());
            return Ok(());
        };
        rule.table = TableName {
            schema: table.schema.clone(),
            name: table.name.clone(),
        };
        let all = examination.catalog;
        candidate.fates = predicted_plans::of(
            self.evidence,
            &candidate.spot,
            &rule.table,
            &all,
            self.schemas,
        );
        let mixed = predicted_plans::mixed(self.evidence, &rule.table, &all, self.schemas);
        candidate.mixed = mixed * candidate.spot.in_transaction.unwrap_or(1.0);
        candidate.findings.retain(is_worth_telling);
        self.decide(candidate, &rule, &all);
        Ok(())
    }

    /// Whether the table has no primary key, as far as it can be seen.
    fn is_keyless(&self) -> bool {
        let facts = self.facts.as_ref();
        facts.is_some_and(|facts| facts.primary_key().next().is_none())
    }

    fn decide(&self, candidate: &mut Candidate, rule: &Rule, catalog: &Catalog) {
        let fates = &candidate.fates;
        let times = |of: fn(&PredictedPlan) -> bool| {
            fates
                .iter()
                .filter(|fate| of(fate))
                .map(|fate| fate.times)
                .sum::<u64>()
        };
        let (increments, reads) = (times(PredictedPlan::gains), times(PredictedPlan::reads));
        let seconds = self
            .evidence
            .window
            .max(Duration::from_millis(1))
            .as_secs_f64();
        // Statements that are seen running now and then say little.
        let is_known = self.evidence.are_executions || increments.min(reads) >= GLIMPSES;
        if increments > 0 && is_known {
            candidate.reads = Some(reads as f64 / increments as f64);
            let rate = increments as f64 / seconds;
            candidate.increments = self.evidence.are_executions.then_some(rate);
        }
        let gaining: f64 = fates
            .iter()
            .filter(|fate| fate.gains())
            .map(|fate| fate.waiting)
            .sum();
        let worth = worth(&candidate.spot, gaining);
        let gaining_in_slots = gaining * (1.0 - candidate.mixed);
        candidate.verdict = if gaining < NAMED.max(candidate.spot.waiting / 10.0) {
            Verdict::PassedOver(not_slotted(fates))
        } else if candidate.mixed > MOSTLY || (gaining_in_slots < ADVISED && gaining >= ADVISED) {
            Verdict::PassedOver(format!(
                "{:.0} % of its increments stand in transactions that read the counter behind it, or write the row once more: those \
                 take the row's own lock as they do now; read it before the transaction, or behind it",
                100.0 * candidate.mixed
            ))
        } else if gaining < ADVISED || worth.gain.high < LEAST_GAIN {
            Verdict::PassedOver(format!(
                "few wait for it: {gaining:.1} clients on average, which would gain {:.1} to {:.1} times the increments; look \
                 again when there is more load",
                worth.gain.low, worth.gain.high
            ))
        } else {
            match unmended(&candidate.findings) {
                Some(why) => Verdict::PassedOver(why),
                None => Verdict::Advised(self.advised(candidate, rule), worth),
            }
        };
        candidate.against = against(candidate, self.evidence.are_executions.then_some(seconds));
        if rule.slots == 0 && candidate.spot.in_transaction.is_none() {
            candidate.against.push(keyless::UNSEEN.to_owned());
        }
        debug_assert!(catalog.tables.len() <= 1, "one rule is tried at a time");
    }

    fn advised(&self, candidate: &Candidate, rule: &Rule) -> Advice {
        let present = self.present(&rule.table);
        let fewest = present.map_or(0, |present| present.slots);
        Advice {
            table: rule.table.clone(),
            columns: rule.columns.clone(),
            touch: rule.touch.clone(),
            slots: match rule.slots {
                0 => 0,
                _ => slots(candidate).max(fewest),
            },
            replaces: present.map(|present| Replaced {
                line: present.line,
                is_off: present.mode == Mode::Off,
            }),
        }
    }

    /// The rule that the table has in the rules file, whatever its mode.
    fn present(&self, table: &TableName) -> Option<&Rule> {
        let mut rules = self.base.rules.iter();
        rules.find(|rule| is_of(rule, table))
    }

    /// The columns for times that the increments which wait set.
    fn touches(&self, spot: &Spot) -> Vec<String> {
        let columns = self.facts.iter().flat_map(|facts| &facts.columns);
        let times = columns.filter(|column| {
            matches!(column.data_type.as_str(), "datetime" | "timestamp")
                && !column.extra.contains("on update")
        });
        let mut set = spot.columns(Sets::Present);
        set.extend(spot.columns(Sets::Constant));
        let is_set = |name: &str| set.iter().any(|other| other.eq_ignore_ascii_case(name));
        let names = times.map(|column| column.name.clone());
        names.filter(|name| is_set(name)).collect()
    }

    fn rule(&self, spot: &Spot, columns: Vec<String>, touch: Vec<String>) -> Result<Rule, String> {
        let spelled = |name: &String| {
            let columns = self.facts.iter().flat_map(|facts| &facts.columns);
            let mut names = columns.map(|column| &column.name);
            let known = names.find(|known| known.to_lowercase() == name.to_lowercase());
            known.unwrap_or(name).clone()
        };
        let slot_table = self.base.slot_table.of(&spot.table);
        Ok(Rule {
            index: 0,
            line: 0,
            slot_table: slot_table.map_err(|problem| problem.to_string())?,
            table: spot.table.clone(),
            columns: columns.iter().map(spelled).collect(),
            touch,
            slots: 64,
            mode: Mode::Enforce,
            rollup: Duration::from_secs(1),
            rest: Rest::default(),
            adopts: None,
        })
    }

    /// The rules file with this rule alone.
    fn with(&self, rule: &Rule) -> Config {
        Config {
            rules: vec![rule.clone()],
            ..self.base.clone()
        }
    }
}

/// The gain of a rule when this many clients wait in increments.
fn worth(spot: &Spot, gaining: f64) -> Worth {
    let first = spot.rows.first().filter(|(row, _)| *row != Row::All);
    let at_one_row = first.map_or(0.0, |(_, waiting)| *waiting);
    match at_one_row < gaining / 2.0 {
        true => estimate::gain_of_many_rows(spot.clients()),
        false => estimate::gain(spot.clients()),
    }
}
