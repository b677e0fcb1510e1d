//! The rules while the proxy runs: each is switched on, off and over without a session or an increment lost.
//!
//! For a session that acts by a rule the value is base + slots; for all others it is base alone. The two agree only
//! while slots hold nothing. So between them is a stage that agrees with both (`Changing`): reads add up slots,
//! increments go to base. A rule moves on only when no session of this proxy, and no other proxy
//! (`counter::agreement`), acts in a way that does not agree with the next stage. Before base alone is the value, slots
//! are emptied, and transactions that may have seen an earlier time have ended.

mod history;
mod others;
mod reload;
mod rest;
mod standing;
mod steps;
mod tables;

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwap;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::last_change;
use crate::catalog::{Catalog, HotTable};
use crate::config::{Config, Mode, Rule, TableName};
use crate::counter::control::Control;
use crate::counter::node::{Claims, STRANGERS};
use crate::session::Shared;
use history::History;
use others::Partner;
use standing::{Place, Stage, Standing};

/// How often the rules file is looked at.
const LOOK: Duration = Duration::from_secs(2);

/// How often the server is asked which other proxies are there, what is being drained, and whether tables fit their
/// rules again.
const LOOK_AROUND: Duration = Duration::from_secs(5);

/// How often a rule that is being switched on or off is looked at.
const STEP: Duration = Duration::from_millis(100);

/// The same while somebody waits: DDL, for its slot table to be there again, or statements, for a rule that no longer
/// fits its table to be out of force.
const STEP_WHEN_AWAITED: Duration = Duration::from_millis(10);

/// How long the start waits for a rule to move on: the other proxies may keep them from it for longer. If the number is
/// lost meanwhile, it has to listen for strangers once more.
const START: Duration = Duration::from_secs(2).saturating_add(STRANGERS);

/// The longest that a start takes, however many rules move on.
const LONGEST_START: Duration = Duration::from_mins(1);

/// What came of moving each rule one step on.
enum Steps {
    AllSettled,
    UnderWay {
        /// Whether any of them is at another stage than before.
        has_moved: bool,
    },
}

/// The outcome of a request: a sentence for an operator, or why it is refused.
pub type Answer = Result<String, String>;

/// How far a rule is in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleStatus {
    /// The rule, with the mode that it has now.
    pub rule: Rule,
    /// How far it is in force.
    pub stage: &'static str,
    /// What it waits for.
    pub waits_for: Option<String>,
}

#[derive(Debug)]
enum Request {
    Reload(oneshot::Sender<Answer>),
    SetMode {
        table: String,
        mode: Mode,
        done: oneshot::Sender<Answer>,
    },
    Agree(oneshot::Sender<()>),
}

/// Asks for changes of the rules.
#[derive(Clone, Debug)]
pub struct Rules {
    requests: mpsc::Sender<Request>,
    config: Arc<ArcSwap<Config>>,
    standings: Arc<ArcSwap<Vec<RuleStatus>>>,
}

impl Rules {
    /// Reads the rules file again. A file with an error changes nothing.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub async fn reload(&self) -> Answer {
        self.ask(Request::Reload).await.unwrap_or_else(stopped)
    }

    /// Gives a rule another mode, until the rules file is read again.
    ///
    /// # Errors
    ///
    /// There is no such rule, or its table does not fit it.
    pub async fn set_mode(&self, table: &str, mode: Mode) -> Answer {
        let table = table.to_owned();
        let asked = self.ask(|done| Request::SetMode { table, mode, done });
        asked.await.unwrap_or_else(stopped)
    }

    /// Agrees with other proxies on everything anew, because this one's number is lost. Returns when sessions act by
    /// the stages from which that begins.
    pub(crate) async fn agree_again(&self) {
        self.ask(Request::Agree).await;
    }

    /// How far the rules are in force, in the order of the file; after them the rules that the file no longer has,
    /// until they are out of force.
    pub fn show(&self) -> Arc<Vec<RuleStatus>> {
        self.standings.load_full()
    }

    /// The rules file as it was read last; settings that need a restart are as they were at start.
    pub fn config(&self) -> Arc<Config> {
        self.config.load_full()
    }

    async fn ask<T>(&self, request: impl FnOnce(oneshot::Sender<T>) -> Request) -> Option<T> {
        let (done, answer) = oneshot::channel();
        self.requests.send(request(done)).await.ok()?;
        answer.await.ok()
    }
}

fn stopped() -> Answer {
    Err("the proxy stops".to_owned())
}

/// Moves the rules from stage to stage.
pub(super) struct Keeper {
    control: Control,
    config: Arc<ArcSwap<Config>>,
    /// The rules file, and when it was last changed.
    file: Option<(PathBuf, Option<SystemTime>)>,
    /// Why the file was not taken over, as it was last logged.
    complaint: Option<String>,
    shared: Arc<Shared>,
    claims: Arc<Claims>,
    standings: Vec<Standing>,
    /// The other proxies that have a part in a slot table, by the connections on which they say so.
    partners: HashMap<(TableName, u64), Partner>,
    /// Since when it has heard the others.
    hears_since: Option<Instant>,
    /// Whether the server was read-only when it was last asked.
    is_replica: bool,
    /// How often this proxy had lost its own number when its rules were last agreed upon.
    losses: u64,
    history: History,
    /// How far they are in force, for the rest of the proxy to see.
    shown: Arc<ArcSwap<Vec<RuleStatus>>>,
    requests: mpsc::Receiver<Request>,
    refreshes: mpsc::Receiver<oneshot::Sender<()>>,
    /// DDL for which the tables have been read again, and which is not answered yet.
    refreshed: Vec<oneshot::Sender<()>>,
}

impl Keeper {
    /// Of the rules that `config` has; `file` is where they are from.
    pub(super) fn new(
        config: Arc<ArcSwap<Config>>,
        file: Option<PathBuf>,
        (control, claims): (Control, Arc<Claims>),
        shared: Arc<Shared>,
        refreshes: mpsc::Receiver<oneshot::Sender<()>>,
    ) -> (Self, Rules) {
        let (asking, requests) = mpsc::channel(16);
        let file = file.map(|path| {
            let changed = last_change(&path);
            (path, changed)
        });
        let rules = Rules {
            requests: asking,
            config: Arc::clone(&config),
            standings: Arc::default(),
        };
        let keeper = Self {
            shown: Arc::clone(&rules.standings),
            history: History::new(names(&shared.hot().catalog)),
            control,
            config,
            file,
            complaint: None,
            shared,
            claims,
            standings: Vec::new(),
            partners: HashMap::new(),
            hears_since: None,
            is_replica: false,
            losses: 0,
            requests,
            refreshes,
            refreshed: Vec::new(),
        };
        (keeper, rules)
    }

    /// Puts the rules in force, as far as other proxies let them be.
    pub(super) async fn start(&mut self) {
        let config = self.config.load_full();
        for rule in &config.rules {
            let standings = self.first_standings(rule).await;
            self.standings.extend(standings);
        }
        self.look_around().await;
        self.publish();
        let latest = Instant::now() + LONGEST_START;
        let mut still_since = None;
        while let Steps::UnderWay { has_moved } = self.step_all().await {
            let now = Instant::now();
            // A round may take long itself, where the server is far away or busy: what counts is what is waited for.
            let waited = now - *still_since.get_or_insert(now);
            if now >= latest || (!has_moved && waited >= START) {
                break;
            }
            if has_moved {
                still_since = None;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
            let losses = self.losses;
            self.agree_again().await;
            if self.losses != losses {
                still_since = None;
            }
        }
        for standing in self.standings.iter().filter(|rule| !rule.is_settled()) {
            let why = standing.waits_for.as_deref().unwrap_or("the other proxies");
            tracing::warn!("{}: not in force yet, waits for {why}", standing.rule.table);
        }
    }

    /// Serves requests and moves rules on, until it is dropped.
    pub(super) async fn keep(mut self) {
        let mut next_look = Instant::now() + LOOK;
        let mut next_look_around = Instant::now() + LOOK_AROUND;
        loop {
            let is_under_way = !self.standings.iter().all(Standing::is_settled);
            let is_awaited = !self.refreshed.is_empty() || self.shared.is_change_awaited();
            let wake = match (is_under_way, is_awaited) {
                (true, true) => Instant::now() + STEP_WHEN_AWAITED,
                (true, false) => Instant::now() + STEP,
                (false, _) => next_look.min(next_look_around),
            };
            tokio::select! {
                Some(request) = self.requests.recv() => self.serve(request).await,
                Some(done) = self.refreshes.recv() => {
                    self.read_tables_again().await;
                    self.refreshed.push(done);
                    self.answer_ddl();
                }
                () = self.claims.lost() => {}
                () = self.shared.motion.needed() => {}
                () = tokio::time::sleep_until(wake) => {}
            }
            self.agree_again().await;
            self.see_needs();
            if Instant::now() >= next_look {
                next_look = Instant::now() + LOOK;
                self.see_file().await;
            }
            if Instant::now() >= next_look_around {
                next_look_around = Instant::now() + LOOK_AROUND;
                self.look_around().await;
            }
            self.step_all().await;
            self.answer_ddl();
        }
    }

    async fn serve(&mut self, request: Request) {
        match request {
            Request::Reload(done) => {
                let answer = self.reload().await;
                done.send(answer).ok();
            }
            Request::SetMode { table, mode, done } => {
                let answer = self.set_mode(&table, mode).await;
                done.send(answer).ok();
            }
            Request::Agree(done) => {
                self.agree_again().await;
                done.send(()).ok();
            }
        }
    }

    async fn set_mode(&mut self, table: &str, mode: Mode) -> Answer {
        let Some(index) = self.standing_of(table) else {
            return Err(format!("no rule is for {table}"));
        };
        let rule = Rule {
            mode,
            ..self.standings[index].rule.clone()
        };
        if rule.plans() && self.standings[index].table.is_none() {
            let loaded = self.load(&rule).await.map_err(|why| why.to_string())?;
            self.standings[index].table = Some(loaded);
        }
        let standing = &mut self.standings[index];
        standing.rule = rule;
        standing.is_drained = false;
        tracing::info!("{table}: mode {}", mode.name());
        // A drain that is under way goes on.
        self.see_drains().await;
        self.publish();
        self.step_all().await;
        // Others may have gone meanwhile.
        let stage = self.standing_of(table);
        let stage = stage.map_or("gone", |index| status(&self.standings[index]).stage);
        Ok(format!("{table}: {stage}"))
    }

    /// The position in the list of the rule for the table with this name.
    fn standing_of(&self, table: &str) -> Option<usize> {
        let standings = self.standings.iter().enumerate();
        let here: Vec<_> = standings
            .filter(|(_, standing)| !standing.is_gone)
            .collect();
        let tables = here.iter().map(|(_, standing)| &standing.rule.table);
        let at = TableName::position(table, tables)?;
        Some(here[at].0)
    }

    /// Makes all sessions act by the rules as they are now.
    fn publish(&mut self) {
        let mut catalog = Catalog {
            tables: Vec::new(),
            without_slots: Vec::new(),
            observed: Vec::new(),
            ..Catalog::clone(&self.shared.hot().catalog)
        };
        let mut changing = Vec::new();
        for standing in &self.standings {
            let (Some(table), Some(place)) = (&standing.table, standing.place()) else {
                continue;
            };
            let list = match place {
                Place::Slots => &mut catalog.tables,
                Place::Changing => {
                    changing.push(Arc::clone(table));
                    &mut catalog.tables
                }
                Place::WithoutSlots => {
                    catalog.without_slots.push(Arc::new(table.at_rest()));
                    continue;
                }
                Place::Observed => &mut catalog.observed,
            };
            list.push(Arc::clone(table));
        }
        let names = names(&catalog);
        let replaced = self.shared.replace(catalog, changing);
        self.history.add(replaced, names);
        self.say();
        self.show();
    }

    /// Publishes how far the rules are in force.
    fn show(&self) {
        let config = self.config.load();
        let place = |standing: &&Standing| {
            let mut rules = config.rules.iter();
            let at = rules.position(|rule| rule.table == standing.rule.table);
            (standing.is_gone, at)
        };
        let mut standings: Vec<_> = self.standings.iter().collect();
        standings.sort_by_key(place);
        let shown = standings.into_iter().map(status).collect();
        self.shown.store(Arc::new(shown));
    }

    /// Tells the other proxies how far the rules are in force.
    fn say(&self) {
        let says: BTreeSet<String> = self.standings.iter().flat_map(Standing::claims).collect();
        self.claims.want(says);
    }
}

fn status(standing: &Standing) -> RuleStatus {
    RuleStatus {
        rule: standing.rule.clone(),
        stage: match (&standing.stage, standing.wants_slots()) {
            (Stage::Serving, _) => "enforced",
            (Stage::Opening { .. } | Stage::Closing { .. }, _) => "changing over",
            (Stage::Changing { .. } | Stage::Leaving { .. }, _) if standing.rule.may_rest() => {
                "changing over"
            }
            (Stage::Changing { .. } | Stage::Leaving { .. }, true) => "switching on",
            (Stage::Changing { .. } | Stage::Leaving { .. }, false) => "switching off",
            (Stage::Out { .. }, _) if standing.misfit.is_some() => "waiting",
            (Stage::Out { .. }, true) => "switching on",
            (Stage::Out { .. }, false) => match standing.place() {
                Some(Place::Observed) => "observed",
                Some(Place::WithoutSlots) if standing.rests() => "at rest",
                Some(_) => "enforced",
                None if standing.is_drained => "drained",
                None => "off",
            },
        },
        waits_for: standing
            .waits_for
            .clone()
            .or_else(|| standing.misfit.clone()),
    }
}

/// The table of a rule in a catalog.
fn find(catalog: &Catalog, rule: &Rule) -> Option<Arc<HotTable>> {
    let tables = catalog.tables.iter().chain(&catalog.without_slots);
    let mut tables = tables.chain(&catalog.observed);
    let (schema, name) = (&rule.table.schema, &rule.table.name);
    tables
        .find(|table| table.schema == *schema && table.name == *name)
        .cloned()
}

/// The tables that a catalog names, as [`full_name`] writes them.
fn names(catalog: &Catalog) -> Vec<String> {
    let tables = catalog.tables.iter().chain(&catalog.without_slots);
    let tables = tables.chain(&catalog.observed);
    tables.map(|table| full_name(table)).collect()
}

fn full_name(table: &HotTable) -> String {
    format!("{}.{}", table.schema, table.name)
}
