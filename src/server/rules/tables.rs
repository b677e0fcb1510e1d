//! The tables of the rules, as the server has them.

use std::sync::Arc;
use std::time::Duration;

use mysql_async::Conn;
use mysql_async::prelude::Queryable;
use tokio::time::Instant;

use super::standing::{Side, Stage, Standing};
use super::{Keeper, find};
use crate::catalog::{self, Catalog, HotTable, Problem};
use crate::config::{Config, Mode, Rule};
use crate::counter::control;
use crate::counter::provision;
use crate::counter::withdrawal;

/// How long DDL waits at most for slot tables that are made again: the other proxies may keep them away for longer. On
/// a busy machine the server alone takes a second for what is asked of it.
const RESTORED: Duration = Duration::from_secs(3);

/// What keeps a rule from its table.
#[derive(Debug, thiserror::Error)]
pub(super) enum Obstacle {
    /// There is no such table yet, or the control account may not see it.
    #[error("{0}")]
    Absent(String),
    /// The table does not fit it, or its slot table does not.
    #[error("{0}")]
    Misfit(String),
    /// The same, but the slots can still be read: something was added beside the counters.
    #[error("{0}")]
    Beside(String),
    /// The server did not answer, or had the table in use: a later try may succeed.
    #[error("{0}")]
    Passing(String),
}

impl From<control::Error> for Obstacle {
    fn from(error: control::Error) -> Self {
        Self::Passing(error.to_string())
    }
}

impl From<mysql_async::Error> for Obstacle {
    fn from(error: mysql_async::Error) -> Self {
        Self::Passing(error.to_string())
    }
}

impl From<catalog::Error> for Obstacle {
    fn from(error: catalog::Error) -> Self {
        let text = error.to_string();
        match error.problem {
            Problem::Query { .. } => Self::Passing(text),
            Problem::NoTable { .. } => Self::Absent(text),
            problem if problem.is_beside_counters() => Self::Beside(text),
            _ => Self::Misfit(text),
        }
    }
}

impl From<provision::Error> for Obstacle {
    fn from(error: provision::Error) -> Self {
        match error.problem.is_passing() {
            true => Self::Passing(error.to_string()),
            false => Self::Misfit(error.to_string()),
        }
    }
}

impl Keeper {
    /// The stage of a rule that no session acts by yet. Other proxies may act by it if there is a slot table; then it
    /// must be agreed on, whatever its mode.
    pub(super) async fn first_standings(&self, rule: &Rule) -> Vec<Standing> {
        let in_the_middle = || Stage::Changing {
            since: 0,
            side: Side::Neither,
        };
        let catalog = Arc::clone(&self.shared.hot().catalog);
        let mut table = find(&catalog, rule);
        let mut misfit = None;
        if rule.plans() && table.is_none() {
            match self.load(rule).await {
                Ok(loaded) => table = Some(loaded),
                Err(obstacle) => {
                    tracing::warn!("{obstacle}; the rule waits for that");
                    misfit = Some(obstacle.to_string());
                }
            }
        }
        let out = Stage::Out { since: None };
        if misfit.is_some() {
            return vec![Standing {
                misfit,
                ..Standing::new(rule.clone(), None, out)
            }];
        }
        if rule.has_slots() {
            return vec![Standing::new(rule.clone(), table, in_the_middle())];
        }
        let mut standings = Vec::new();
        if self.has_slot_table(rule).await {
            let with_slots = Rule {
                mode: Mode::Off,
                slots: rule.slots.max(1),
                ..rule.clone()
            };
            let loaded = self.load(&with_slots).await;
            match (rule.slots, loaded.ok()) {
                // The rule itself knows of no slots.
                (0, Some(table)) => {
                    let leaving = Standing::new(with_slots, Some(table), in_the_middle());
                    standings.push(Standing {
                        is_gone: true,
                        ..leaving
                    });
                }
                (_, Some(table)) => {
                    return vec![Standing::new(rule.clone(), Some(table), in_the_middle())];
                }
                (_, None) => {}
            }
        }
        standings.push(Standing::new(rule.clone(), table, out));
        standings
    }

    pub(super) async fn has_slot_table(&self, rule: &Rule) -> bool {
        self.is_there_a_slot_table(rule).await.unwrap_or_default()
    }

    /// `None` if the server does not say.
    async fn is_there_a_slot_table(&self, rule: &Rule) -> Option<bool> {
        let catalog = Arc::clone(&self.shared.hot().catalog);
        let found = async |conn: &mut Conn| {
            let found = provision::has_slot_table(conn, &catalog, rule).await;
            found.map_err(|problem| Obstacle::Passing(problem.to_string()))
        };
        self.control.ask(found).await.ok()
    }

    /// Reads again what DDL may have changed.
    pub(super) async fn read_tables_again(&mut self) {
        for index in 0..self.standings.len() {
            if self.standings[index].place().is_some() || self.standings[index].misfit.is_some() {
                self.read_table_again(index).await;
            }
        }
        self.restore_slots().await;
        self.publish();
    }

    /// Makes slot tables again that were taken away for DDL, here or through another proxy. Until then base alone is
    /// the value for all, and another proxy may have come to act by that: so the proxies agree first, as for a rule
    /// that comes into force.
    pub(super) async fn restore_slots(&mut self) {
        if self.is_replica {
            return;
        }
        let mut is_any_away = false;
        for index in 0..self.standings.len() {
            let standing = &self.standings[index];
            let (Stage::Serving, Some(table)) = (&standing.stage, &standing.table) else {
                continue;
            };
            let table = Arc::clone(table);
            if let Ok(false) = self.has_slots_of(&table).await {
                self.read_table_again(index).await;
                is_any_away = true;
                if let Stage::Serving = self.standings[index].stage {
                    // A proxy that increments in slots as before does no harm: there are none.
                    let (since, side) = (0, Side::Slots);
                    self.standings[index].stage = Stage::Changing { since, side };
                    self.standings[index].restored_by = Some(Instant::now() + RESTORED);
                }
            }
        }
        if is_any_away {
            self.publish();
            self.step_all().await;
        }
    }

    /// Answers DDL, unless slot tables are still away because of it. A snapshot from before they are made again could
    /// not read them.
    pub(super) fn answer_ddl(&mut self) {
        if !self.is_restoring() {
            for done in self.refreshed.drain(..) {
                done.send(()).ok();
            }
        }
    }

    /// Whether DDL is to wait for a slot table.
    pub(super) fn is_restoring(&self) -> bool {
        let now = Instant::now();
        let mut times = self.standings.iter().filter_map(|rule| rule.restored_by);
        times.any(|time| now < time)
    }

    async fn has_slots_of(&self, table: &HotTable) -> Result<bool, Obstacle> {
        let found = async |conn: &mut Conn| Ok(withdrawal::is_there(conn, table).await?);
        self.control.ask(found).await
    }

    /// Makes sure that a rule has its slot table, for the table as it is while DDL on it is blocked.
    pub(super) async fn provide_slots(&mut self, index: usize) -> Result<(), Obstacle> {
        let control = self.control.clone();
        let provide = async |conn: &mut Conn| self.provide_slots_on(conn, index).await;
        let report = control.ask(provide).await?;
        for line in report.to_string().lines() {
            tracing::info!("slot table {line}");
        }
        Ok(())
    }

    async fn provide_slots_on(
        &mut self,
        conn: &mut Conn,
        index: usize,
    ) -> Result<provision::Report, Obstacle> {
        let known = self.standings[index].table.clone();
        let known = known.ok_or_else(|| Obstacle::Passing("no table yet".to_owned()))?;
        let lock = withdrawal::lock_name(&known);
        let got: Option<Option<i64>> = conn.query_first(withdrawal::lock(&lock, 0)).await?;
        if got.flatten() != Some(1) {
            return Err(Obstacle::Passing("DDL that is under way".to_owned()));
        }
        self.read_table_again(index).await;
        let standing = &self.standings[index];
        let provided = match &standing.table {
            Some(_) if self.is_replica => Ok(provision::Report::default()),
            Some(table) if standing.wants_slots() => {
                let catalog = Catalog {
                    tables: vec![Arc::clone(table)],
                    ..Catalog::clone(&self.shared.hot().catalog)
                };
                let report = provision::provide(&self.control, conn, &catalog).await;
                report.map_err(Obstacle::from)
            }
            _ => Err(Obstacle::Passing("its table has changed".to_owned())),
        };
        conn.query_drop(withdrawal::release(&lock)).await?;
        provided
    }

    /// A table that no longer fits its rule goes out of force, when other proxies permit it. The values in its slots
    /// are moved into it first, if they can still be read; from then on statements are forwarded.
    pub(super) async fn read_table_again(&mut self, index: usize) {
        let rule = self.standings[index].rule.clone();
        let loaded = match self.load(&rule).await {
            Err(Obstacle::Passing(_)) => self.load(&rule).await,
            loaded => loaded,
        };
        let standing = &mut self.standings[index];
        let is_out = matches!(standing.stage, Stage::Out { .. });
        match loaded {
            Ok(table) => standing.see_table(table),
            Err(obstacle) => {
                standing.table = standing.table.take().filter(|_| !is_out);
                let is_lost = matches!(obstacle, Obstacle::Absent(_) | Obstacle::Misfit(_));
                standing.is_unreadable = is_lost;
                let why = Some(obstacle.to_string());
                if standing.misfit != why {
                    tracing::warn!("{} is forwarded from now on: {obstacle}", rule.table);
                    standing.misfit = why;
                }
            }
        }
        if matches!(standing.stage, Stage::Serving) && !standing.wants_slots() {
            standing.stage = Stage::Changing {
                since: self.history.number() + 1,
                side: Side::Slots,
            };
        }
    }

    /// The table of a rule, as if it were in force.
    pub(super) async fn load(&self, rule: &Rule) -> Result<Arc<HotTable>, Obstacle> {
        let one = Config {
            rules: vec![Rule {
                mode: Mode::Enforce,
                ..rule.clone()
            }],
            ..Config::clone(&self.config.load())
        };
        let load = async |conn: &mut Conn| Ok::<_, Obstacle>(catalog::load(conn, &one).await?);
        let mut loaded = self.control.ask(load).await?;
        if self.control.has_several_writers() {
            loaded = loaded.of_several_writers();
        }
        let mut tables = loaded.tables.into_iter().chain(loaded.without_slots);
        tables
            .next()
            .ok_or_else(|| Obstacle::Misfit(format!("{}: no table", rule.table)))
    }

    /// Other proxies may have put something into slots of a table for which this proxy takes base alone.
    pub(super) async fn look_for_slots(&mut self, index: usize, since: u64) {
        let rule = self.standings[index].rule.clone();
        if rule.slots == 0 || self.is_there_a_slot_table(&rule).await == Some(false) {
            return;
        }
        // Where the server does not say, the table as it was known: it is read again before slots are used.
        if let Ok(table) = self.load(&rule).await {
            self.standings[index].table = Some(table);
        }
        if self.standings[index].table.is_some() {
            let side = Side::Neither;
            self.standings[index].stage = Stage::Changing { since, side };
        }
    }
}
