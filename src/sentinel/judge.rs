//! Whose a change is.

use std::collections::{HashMap, HashSet, VecDeque};
use std::time::{Duration, Instant};

use tokio::time::timeout;

use super::others::{self, Error, Others, Told};
use super::report::{Finding, Kind, Reports};
use super::transaction::Written;
use crate::counter::control::Control;
use crate::counter::node::Claims;
use crate::metrics::Metrics;

/// For how long a change waits for its judgement: until other proxies have said whose its thread is. And a session is
/// known only once its client is logged in, while the server may run statements of its own (`init_connect`) before.
const WAIT: Duration = Duration::from_secs(2);

/// How many changes may wait.
const MOST_WAITING: usize = 10_000;

/// The least time between two records in the log about one table.
const BETWEEN_RECORDS: Duration = Duration::from_secs(60);

/// Changes by threads that are not this proxy's, and what is made of them.
pub(super) struct Judge<'a> {
    control: &'a Control,
    claims: &'a Claims,
    others: &'a Others,
    reports: &'a Reports,
    metrics: &'a Metrics,
    waiting: VecDeque<(Instant, Written)>,
    /// By table: when the log last said something, and how many changes there were since.
    told: HashMap<(String, String), (Instant, u64)>,
    /// Why it could not be told whose a change was, the last time.
    complaint: Option<String>,
}

impl<'a> Judge<'a> {
    pub(super) fn new(
        (control, claims, others): (&'a Control, &'a Claims, &'a Others),
        (reports, metrics): (&'a Reports, &'a Metrics),
    ) -> Self {
        Self {
            control,
            claims,
            others,
            reports,
            metrics,
            waiting: VecDeque::new(),
            told: HashMap::new(),
            complaint: None,
        }
    }

    /// A transaction has ended that changed this.
    pub(super) fn take(&mut self, written: Vec<Written>) {
        for written in written {
            match written.thread {
                None => self.leave_undecided(
                    1,
                    "this server's binary log does not say which thread has changed a row (MariaDB before 11.5)",
                ),
                Some(thread) if self.control.threads().has(thread) => {}
                Some(_) if self.waiting.len() < MOST_WAITING => {
                    self.waiting.push_back((Instant::now() + WAIT, written));
                }
                Some(_) => self.leave_undecided(1, "there are too many changes to ask about"),
            }
        }
    }

    /// When the first of those that wait is to be judged.
    pub(super) fn due(&self) -> Option<Instant> {
        self.waiting.front().map(|(due, _)| *due)
    }

    /// Judges those that have waited.
    pub(super) async fn judge(&mut self) {
        let now = Instant::now();
        let mut due = Vec::new();
        while self.due().is_some_and(|due| due <= now) {
            due.extend(self.waiting.pop_front().map(|(_, written)| written));
        }
        let threads = due.iter().filter_map(|written| written.thread);
        let threads: HashSet<_> = threads
            .filter(|thread| !self.control.threads().has(*thread))
            .collect();
        due.retain(|written| {
            written
                .thread
                .is_some_and(|thread| threads.contains(&thread))
        });
        if due.is_empty() {
            return;
        }
        let asked = self.control.unless_replaced(self.nobodys(&threads));
        let asked = timeout(others::ANSWER, asked).await;
        match asked.unwrap_or(Err(Error::Late)) {
            Ok(Told::Nobodys(nobodys)) => {
                self.complaint = None;
                due.retain(|written| {
                    written
                        .thread
                        .is_some_and(|thread| nobodys.contains(&thread))
                });
                for written in due {
                    self.report(written);
                }
            }
            Ok(Told::Silent(numbers)) => {
                let numbers: Vec<_> = numbers.iter().map(ToString::to_string).collect();
                let why = format!(
                    "the proxies with node numbers {} do not say which threads are theirs: give each a sentinel",
                    numbers.join(", ")
                );
                self.leave_undecided(due.len(), &why);
            }
            Ok(Told::JustLeft) => {
                self.leave_undecided(due.len(), "another proxy has left a moment ago");
            }
            Err(error) => self.leave_undecided(due.len(), &error.to_string()),
        }
    }

    async fn nobodys(&self, threads: &HashSet<u32>) -> Result<Told, Error> {
        let own = self.claims.own();
        let here = self.control.agreement().here(self.control, own).await?;
        self.others.note(&here);
        if here.is_empty() {
            return Ok(match self.others.have_just_left() {
                true => Told::JustLeft,
                false => Told::Nobodys(threads.clone()),
            });
        }
        others::ask(self.control, &here, threads).await
    }

    fn leave_undecided(&mut self, changes: usize, why: &str) {
        self.metrics.count_undecided(changes);
        if self.complaint.as_deref() != Some(why) {
            tracing::warn!("sentinel: whether a change went past the proxy cannot be told: {why}");
            self.complaint = Some(why.to_owned());
        }
    }

    fn report(&mut self, written: Written) {
        let Some(thread) = written.thread else { return };
        let table = (written.table.schema.clone(), written.table.name.clone());
        self.metrics.table(&table.0, &table.1).count_write_past();
        let now = Instant::now();
        let record = self.told.get_mut(&table);
        let more = match record {
            Some((at, more)) if now.duration_since(*at) < BETWEEN_RECORDS => {
                *more += 1;
                None
            }
            Some((_, more)) => Some(*more),
            None => Some(0),
        };
        if let Some(more) = more {
            let what = match written.kind {
                Kind::Update => "changed a counter",
                Kind::Delete => "deleted a row",
                Kind::Statement => "run a statement that names it",
            };
            let more = match more {
                0 => String::new(),
                more => format!(", and there were {more} such changes before"),
            };
            tracing::warn!(
                "{}.{}: past the proxy, thread {thread} of the server has {what}{more}; what was in slots may be missing from \
                 values, or count twice. Let it connect through the proxy. SHOW SENTINEL in the console has the keys",
                table.0,
                table.1,
            );
            self.told.insert(table.clone(), (now, 0));
        }
        self.reports.add(Finding {
            at: Finding::time(written.at),
            table,
            kind: written.kind,
            key: written.key,
            thread,
        });
    }
}
