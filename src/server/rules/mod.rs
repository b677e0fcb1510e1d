//! The rules while the proxy runs: each is switched on, off and over without a session or an increment lost.
//!
//! A value is base + slots to those who act by a rule, and base alone to all others; the two go together only while slots
//! hold nothing. So between the two there is a stage that goes with either (`Changing`): reads add up slots, increments go
//! to base. A rule goes on only when no session of this proxy, and no other proxy (`counter::agreement`), acts by what does
//! not go with the next stage; and before base alone is the value, slots are emptied, and transactions that may have seen
//! another time have ended.

mod history;
mod standing;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwap;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::catalog::{self, Catalog, HotTable};
use crate::config::{Config, Mode, Rule};
use crate::counter::agreement::{self, Claim};
use crate::counter::control::Control;
use crate::counter::node::Claims;
use crate::counter::provision;
use crate::counter::rollup::RollUp;
use crate::session::Shared;
use history::History;
use standing::{Change, Place, Side, Stage, Standing};

/// How often the rules file and drains are looked for.
const LOOK: Duration = Duration::from_secs(2);

/// How often a rule that is under way is looked at.
const STEP: Duration = Duration::from_millis(100);

/// How long the start waits for rules to be in force: the other proxies may keep them from it for longer.
const START: Duration = Duration::from_secs(2);

/// What has come of a request: a sentence for an operator, or why it is refused.
pub type Answer = Result<String, String>;

/// Where a rule stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleStatus {
    /// The hot table, as the rules spell it.
    pub table: String,
    /// What the rule says.
    pub mode: Mode,
    /// How far it is in force.
    pub stage: &'static str,
    /// What it waits for.
    pub waits_for: Option<String>,
}

enum Request {
    Reload(oneshot::Sender<Answer>),
    SetMode {
        table: String,
        mode: Mode,
        done: oneshot::Sender<Answer>,
    },
    Show(oneshot::Sender<Vec<RuleStatus>>),
}

/// Asks for changes of the rules.
#[derive(Clone)]
pub struct Rules {
    requests: mpsc::Sender<Request>,
}

impl Rules {
    /// Reads the rules file again. What is wrong with it changes nothing.
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

    /// Where the rules stand, in the order of the file.
    pub async fn show(&self) -> Vec<RuleStatus> {
        self.ask(Request::Show).await.unwrap_or_default()
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

/// Carries the rules over.
pub(super) struct Keeper {
    control: Control,
    config: Arc<ArcSwap<Config>>,
    /// The rules file, and when it was last changed.
    file: Option<(PathBuf, Option<SystemTime>)>,
    shared: Arc<Shared>,
    claims: Arc<Claims>,
    standings: Vec<Standing>,
    history: History,
    roll_up: RollUp,
    requests: mpsc::Receiver<Request>,
    refreshes: mpsc::Receiver<oneshot::Sender<()>>,
}

impl Keeper {
    /// Of rules whose tables are in `catalog`; `leaving` are those off or observed whose slots hold values.
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
        let keeper = Self {
            roll_up: RollUp::new(control.clone(), Arc::clone(&shared.metrics)),
            history: History::new(names(&shared.hot().catalog)),
            control,
            config,
            file,
            shared,
            claims,
            standings: Vec::new(),
            requests,
            refreshes,
        };
        (keeper, Rules { requests: asking })
    }

    /// Puts the rules in force, as far as other proxies let them be.
    pub(super) async fn start(&mut self) {
        let config = self.config.load_full();
        for rule in &config.rules {
            let standing = self.first_standing(rule).await;
            self.standings.push(standing);
        }
        self.see_drains().await;
        self.publish();
        let deadline = Instant::now() + START;
        while self.step_all().await && Instant::now() < deadline {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        for standing in self.standings.iter().filter(|rule| !rule.is_settled()) {
            let why = standing.waits_for.as_deref().unwrap_or("the other proxies");
            tracing::warn!("{}: not in force yet, waits for {why}", standing.rule.table);
        }
    }

    /// Where a rule stands that nobody acts by yet.
    async fn first_standing(&self, rule: &Rule) -> Standing {
        let nobody = Stage::Changing {
            since: 0,
            side: Side::Neither,
        };
        let holds_values = self.holds_values(rule).await;
        let catalog = Arc::clone(&self.shared.hot().catalog);
        let table = match rule.plans() || holds_values {
            true => match find(&catalog, rule) {
                Some(table) => Some(table),
                None => self.load(rule).await.ok(),
            },
            false => None,
        };
        let stage = match rule.has_slots() || holds_values {
            true => nobody,
            false => Stage::Out { since: None },
        };
        Standing::new(rule.clone(), table, stage)
    }

    async fn holds_values(&self, rule: &Rule) -> bool {
        if rule.has_slots() || rule.slots == 0 {
            return false;
        }
        let Ok(mut conn) = self.control.connect().await else {
            return false;
        };
        let catalog = Arc::clone(&self.shared.hot().catalog);
        let asked = provision::holds_values(&mut conn, &catalog, rule).await;
        asked.unwrap_or_default()
    }

    /// Serves requests and carries rules over, for good.
    pub(super) async fn keep(mut self) {
        let mut next_look = Instant::now() + LOOK;
        loop {
            let is_under_way = !self.standings.iter().all(Standing::is_settled);
            let wake = match is_under_way {
                true => next_look.min(Instant::now() + STEP),
                false => next_look,
            };
            tokio::select! {
                Some(request) = self.requests.recv() => self.serve(request).await,
                Some(done) = self.refreshes.recv() => {
                    self.read_tables_again().await;
                    done.send(()).ok();
                }
                () = tokio::time::sleep_until(wake) => {}
            }
            if Instant::now() >= next_look {
                next_look = Instant::now() + LOOK;
                self.see_drains().await;
                self.see_file().await;
            }
            self.step_all().await;
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
            Request::Show(done) => {
                done.send(self.standings.iter().map(status).collect()).ok();
            }
        }
    }

    async fn set_mode(&mut self, table: &str, mode: Mode) -> Answer {
        let find = |standing: &Standing| {
            !standing.is_gone && standing.rule.table.to_string().eq_ignore_ascii_case(table)
        };
        let Some(index) = self.standings.iter().position(find) else {
            return Err(format!("no rule is for {table}"));
        };
        let rule = Rule {
            mode,
            ..self.standings[index].rule.clone()
        };
        if rule.plans() && self.standings[index].table.is_none() {
            self.standings[index].table = Some(self.load(&rule).await?);
        }
        let standing = &mut self.standings[index];
        standing.rule = rule;
        standing.is_drained = false;
        tracing::info!("{table}: mode {}", mode.name());
        self.publish();
        self.step_all().await;
        Ok(format!("{table}: {}", status(&self.standings[index]).stage))
    }

    /// Takes the rules file over, if all of it is right.
    async fn reload(&mut self) -> Answer {
        let Some((path, changed)) = &mut self.file else {
            return Err("the rules are from no file".to_owned());
        };
        *changed = last_change(path);
        let path = path.clone();
        let config = Config::load(&path).map_err(|error| error.to_string())?;
        let mut conn = self.control.connect().await.map_err(|e| e.to_string())?;
        let loaded = catalog::load(&mut conn, &config).await;
        loaded.map_err(|error| error.to_string())?;
        drop(conn);
        let config = self.keep_what_needs_a_restart(config);
        let mut tables = Vec::new();
        for rule in &config.rules {
            let table = match rule.plans() {
                true => Some(self.load(rule).await?),
                false => None,
            };
            if let Some(table) = table.as_ref().filter(|_| self.grows(rule)) {
                self.provision(table).await?;
            }
            tables.push(table);
        }
        for standing in &mut self.standings {
            let mut rules = config.rules.iter();
            standing.is_gone |= !rules.any(|rule| rule.table == standing.rule.table);
        }
        for (rule, table) in config.rules.iter().zip(tables) {
            self.take_over(rule, table);
        }
        self.config.store(Arc::new(config));
        self.publish();
        self.step_all().await;
        let waits = self.standings.iter().filter(|rule| !rule.is_settled());
        Ok(match waits.count() {
            0 => format!("{} read, and in force", path.display()),
            count => format!("{} read; {count} rules are on their way", path.display()),
        })
    }

    /// Whether a rule that is in force, or under way, gets more columns.
    fn grows(&self, rule: &Rule) -> bool {
        let same = |standing: &&Standing| standing.rule.table == rule.table;
        let mut standings = self.standings.iter().filter(same);
        standings.any(|standing| {
            Change::between(&standing.rule, rule) == Change::Grows
                && !matches!(standing.stage, Stage::Out { .. })
        })
    }

    /// The new rules, with all that only a start can change as it is.
    fn keep_what_needs_a_restart(&self, new: Config) -> Config {
        let old = self.config.load();
        let kept = Config {
            rules: new.rules.clone(),
            bypass: new.bypass.clone(),
            drain_timeout: new.drain_timeout,
            ..Config::clone(&old)
        };
        // `serve --listen` stands in for the file's.
        let listen = old.listen.clone();
        if kept != (Config { listen, ..new }) {
            tracing::warn!(
                "the rules file changes more than counters, bypass and drain_timeout, which takes a restart"
            );
        }
        kept
    }

    /// Gives a rule of the file its place among those that stand.
    fn take_over(&mut self, rule: &Rule, table: Option<Arc<HotTable>>) {
        let number = self.history.number() + 1;
        let same = |standing: &&mut Standing| standing.rule.table == rule.table;
        for standing in self.standings.iter_mut().filter(same) {
            let change = Change::between(&standing.rule, rule);
            if standing.is_gone && change == Change::Other {
                continue;
            }
            if change == Change::Other && !matches!(standing.stage, Stage::Out { .. }) {
                // It goes its way out, and the new one waits for that.
                standing.is_gone = true;
                continue;
            }
            standing.is_gone = false;
            standing.is_drained = false;
            standing.rule = rule.clone();
            standing.table = table.or(standing.table.take());
            if change == Change::Grows && matches!(standing.stage, Stage::Serving) {
                standing.stage = Stage::Changing {
                    since: number,
                    side: Side::Slots,
                };
            }
            return;
        }
        let stage = Stage::Out { since: None };
        self.standings
            .push(Standing::new(rule.clone(), table, stage));
    }

    /// Reads the file again when it has changed.
    async fn see_file(&mut self) {
        let Some((path, changed)) = &self.file else {
            return;
        };
        let now = last_change(path);
        if now.is_none() || now == *changed {
            return;
        }
        match self.reload().await {
            Ok(done) => tracing::info!("{done}"),
            Err(why) => tracing::error!("the rules stay as they are: {why}"),
        }
    }

    /// Whatever is being drained is out of force from now on.
    async fn see_drains(&mut self) {
        let slots = self.standings.iter().map(|rule| rule.slots().clone());
        let slots: Vec<_> = slots.collect();
        let Ok(mut conn) = self.control.connect().await else {
            return;
        };
        let Ok(drained) = agreement::drained(&mut conn, &slots).await else {
            return;
        };
        for index in drained {
            let standing = &mut self.standings[index];
            if !standing.is_drained {
                standing.is_drained = true;
                tracing::info!(
                    "{}: drained; forwarded from now on, until the rules are read again",
                    standing.rule.table
                );
            }
        }
    }

    /// Reads again what DDL may have changed. A table that no longer fits its rule is left alone from then on: its
    /// statements are forwarded.
    async fn read_tables_again(&mut self) {
        for index in 0..self.standings.len() {
            if self.standings[index].place().is_none() {
                continue;
            }
            let rule = self.standings[index].rule.clone();
            self.standings[index].table = match self.load(&rule).await {
                Ok(table) => Some(table),
                Err(why) => {
                    tracing::warn!("{} is forwarded from now on: {why}", rule.table);
                    None
                }
            };
        }
        self.publish();
    }

    /// The table of a rule, as if it were in force.
    async fn load(&self, rule: &Rule) -> Result<Arc<HotTable>, String> {
        let one = Config {
            rules: vec![Rule {
                mode: Mode::Enforce,
                ..rule.clone()
            }],
            ..Config::clone(&self.config.load())
        };
        let mut conn = self.control.connect().await.map_err(|e| e.to_string())?;
        let loaded = catalog::load(&mut conn, &one).await;
        let loaded = loaded.map_err(|error| error.to_string())?;
        let mut tables = loaded.tables.into_iter().chain(loaded.without_slots);
        tables
            .next()
            .ok_or_else(|| format!("{}: no table", rule.table))
    }

    /// Has all sessions act by the rules as they stand.
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
                Place::WithoutSlots => &mut catalog.without_slots,
                Place::Observed => &mut catalog.observed,
            };
            list.push(Arc::clone(table));
        }
        let names = names(&catalog);
        let replaced = self.shared.replace(catalog, changing);
        self.history.add(replaced, names);
        self.say();
    }

    /// Tells the other proxies where the rules stand.
    fn say(&self) {
        let says: BTreeSet<String> = self.standings.iter().flat_map(Standing::claims).collect();
        self.claims.want(says);
    }

    /// Takes each rule a step further, where it may go; whether one is under way still.
    async fn step_all(&mut self) -> bool {
        for index in 0..self.standings.len() {
            if self.standings[index].is_settled() {
                continue;
            }
            let before = self.standings[index].waits_for.take();
            let result = self.step(index).await;
            let standing = &mut self.standings[index];
            standing.waits_for = result.err();
            let table = &standing.rule.table;
            match &standing.waits_for {
                Some(why) if standing.waits_for != before => {
                    tracing::debug!("{table}: waits for {why}");
                }
                _ => {}
            }
        }
        self.standings.retain(|standing| {
            !(standing.is_gone && matches!(standing.stage, Stage::Out { since: None }))
        });
        self.say();
        !self.standings.iter().all(Standing::is_settled)
    }

    /// One step of a rule. The error is what it waits for.
    async fn step(&mut self, index: usize) -> Result<(), String> {
        let standing = &self.standings[index];
        let wants_slots = standing.wants_slots();
        match &standing.stage {
            Stage::Serving => self.change_to(index, Side::Slots),
            Stage::Out { since } if wants_slots => {
                if since.is_some_and(|since| !self.history.is_released_before(since)) {
                    return Err("sessions that read its slots".to_owned());
                }
                self.join(index).await?;
            }
            Stage::Out { since: Some(since) } => {
                if !self.history.is_released_before(*since) {
                    return Err("sessions that read its slots".to_owned());
                }
                self.standings[index].stage = Stage::Out { since: None };
            }
            Stage::Out { since: None } => {}
            Stage::Leaving(_) if wants_slots => self.change_to(index, Side::Neither),
            Stage::Leaving(past) => {
                if !past.is_over() {
                    return Err("transactions that have begun before it was empty".to_owned());
                }
                let since = Some(self.history.number() + 1);
                self.standings[index].stage = Stage::Out { since };
                self.publish();
                let table = &self.standings[index].rule.table;
                tracing::info!("{table}: slots are empty and not used any more");
            }
            &Stage::Changing { since, side } => {
                if !self.history.is_released_before(since) {
                    return Err("statements that are under way".to_owned());
                }
                match wants_slots {
                    true => self.go_in(index, since, side).await?,
                    false => self.go_out(index, since, side).await?,
                }
            }
        }
        Ok(())
    }

    fn change_to(&mut self, index: usize, side: Side) {
        let since = self.history.number() + 1;
        self.standings[index].stage = Stage::Changing { since, side };
        self.publish();
    }

    /// From out of force: slots are there and are read from now on.
    async fn join(&mut self, index: usize) -> Result<(), String> {
        let rule = self.standings[index].rule.clone();
        let others = self.standings.iter().enumerate();
        let mut others = others.filter(|(other, _)| *other != index);
        if others.any(|(_, other)| other.rule.table == rule.table) {
            return Err("the rule before it".to_owned());
        }
        let table = self.load(&rule).await?;
        self.provision(&table).await?;
        self.standings[index].table = Some(table);
        self.change_to(index, Side::Neither);
        Ok(())
    }

    async fn provision(&self, table: &Arc<HotTable>) -> Result<(), String> {
        let catalog = Catalog {
            tables: vec![Arc::clone(table)],
            ..Catalog::clone(&self.shared.hot().catalog)
        };
        let mut conn = self.control.connect().await.map_err(|e| e.to_string())?;
        let provisioned = provision::provision(&mut conn, &catalog).await;
        let report = provisioned.map_err(|error| error.to_string())?;
        for line in report.to_string().lines() {
            tracing::info!("slot table {line}");
        }
        Ok(())
    }

    /// From the middle into force.
    async fn go_in(&mut self, index: usize, since: u64, side: Side) -> Result<(), String> {
        let standing = &self.standings[index];
        let table = standing.table.clone();
        let table = table.ok_or_else(|| "a table that fits the rule".to_owned())?;
        if !self.history.is_seen_by_all(&full_name(&table)) {
            return Err(
                "sessions with statements prepared before the rule; they may be of this table"
                    .to_owned(),
            );
        }
        if side != Side::Slots {
            self.take_side(index, since, Side::Slots);
            return Err("the server to tell other proxies".to_owned());
        }
        if !self.claims.are_held() {
            return Err("the server to tell other proxies".to_owned());
        }
        let obstacle = self.contrary(index).await?;
        if let Some(why) = obstacle {
            // Both may have spoken at a time; the next time they will not.
            self.take_side(index, since, Side::Neither);
            return Err(why);
        }
        self.provision(&table).await?;
        // Other proxies may have closed the slot rows that were known, and who finds that out in a transaction holds the
        // row by then.
        self.shared.slots.forget_all(&table);
        self.standings[index].stage = Stage::Serving;
        self.publish();
        tracing::info!("{}: in force", self.standings[index].rule.table);
        Ok(())
    }

    /// What other proxies say against increments in slots.
    async fn contrary(&self, index: usize) -> Result<Option<String>, String> {
        let standing = &self.standings[index];
        let slots = standing.slots();
        if let Some(other) = self.other(&Claim::Base.name(slots)).await?.first() {
            return Ok(Some(format!(
                "the proxy of node {other}, which reads base alone"
            )));
        }
        let knowing = self.other(&standing.knows()).await?;
        let readers = self.other(&Claim::Reads.name(slots)).await?;
        let stranger = readers.iter().find(|other| !knowing.contains(other));
        Ok(
            stranger
                .map(|other| format!("the proxy of node {other}, whose rule has other columns")),
        )
    }

    /// From the middle out of force.
    async fn go_out(&mut self, index: usize, since: u64, side: Side) -> Result<(), String> {
        let slots = self.standings[index].slots().clone();
        let Some(table) = self.standings[index].table.clone() else {
            // Nobody acts by it, and nobody can say what slots hold.
            self.standings[index].stage = Stage::Out { since: None };
            return Ok(());
        };
        if side == Side::Slots {
            self.take_side(index, since, Side::Neither);
        }
        if !self.claims.are_held() {
            return Err("the server to tell other proxies".to_owned());
        }
        if let Some(other) = self.other(&Claim::Slots.name(&slots)).await?.first() {
            if side == Side::Base {
                self.take_side(index, since, Side::Neither);
            }
            return Err(format!(
                "the proxy of node {other}, which increments in slots"
            ));
        }
        match self.roll_up.empty(&table).await {
            Ok(0) => {}
            Ok(rows) => return Err(format!("{rows} slot rows that hold something")),
            Err(error) if error.is_missing_table() => {}
            Err(error) => return Err(format!("slots to be empty: {error}")),
        }
        if side != Side::Base {
            self.take_side(index, since, Side::Base);
            return Err("the server to tell other proxies".to_owned());
        }
        let past = self.shared.begin_epoch();
        self.standings[index].stage = Stage::Leaving(past);
        Ok(())
    }

    fn take_side(&mut self, index: usize, since: u64, side: Side) {
        self.standings[index].stage = Stage::Changing { since, side };
        self.say();
    }

    /// The other proxies that say this.
    async fn other(&self, claim: &str) -> Result<Vec<usize>, String> {
        let mut conn = self.control.connect().await.map_err(|e| e.to_string())?;
        let others = agreement::others(&mut conn, claim, self.claims.number()).await;
        others.map_err(|error| error.to_string())
    }
}

fn status(standing: &Standing) -> RuleStatus {
    RuleStatus {
        table: standing.rule.table.to_string(),
        mode: standing.rule.mode,
        stage: match (&standing.stage, standing.wants_slots()) {
            (Stage::Serving, _) => "enforced",
            (Stage::Changing { .. } | Stage::Leaving(_), true) => "switching on",
            (Stage::Changing { .. } | Stage::Leaving(_), false) => "switching off",
            (Stage::Out { .. }, true) => "switching on",
            (Stage::Out { .. }, false) => match standing.place() {
                Some(Place::Observed) => "observed",
                Some(_) => "enforced",
                None if standing.is_drained => "drained",
                None => "off",
            },
        },
        waits_for: standing.waits_for.clone(),
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

fn last_change(path: &std::path::Path) -> Option<SystemTime> {
    std::fs::metadata(path)
        .and_then(|data| data.modified())
        .ok()
}
