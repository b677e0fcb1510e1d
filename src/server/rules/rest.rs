//! Tables that rest: they do without slots until transactions wait for each other's rows, and come back to that.
//!
//! A resting table is a table without slots to its sessions (`Stage::Out`). On the way to slots and back, increments
//! take the exact path, so a change must be quick: it is taken back if sessions do not follow at once. A transaction
//! that stays open keeps the catalog that it began with.

use std::time::Duration;

use mysql_async::Conn;
use tokio::time::Instant;

use super::standing::{Side, Stage};
use super::tables::Obstacle;
use super::{Keeper, LOOK_AROUND};
use crate::counter::agreement::Claim;
use crate::counter::server::is_read_only;
use crate::metrics::TableCounts;

/// How long a change waits for transactions and statements that are under way, unless transactions last longer because
/// they wait for each other.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long a table keeps its slots after it could not come to rest.
const AGAIN: Duration = Duration::from_secs(10);

impl Keeper {
    /// Takes in which tables need slots, by what the sessions of this proxy show.
    pub(super) fn see_needs(&mut self) {
        let now = Instant::now();
        let mut is_news = false;
        for standing in &mut self.standings {
            let (Some(table), true) = (&standing.table, standing.rule.may_rest()) else {
                continue;
            };
            let needs = self.shared.motion.needs_slots(table);
            if needs && !standing.needs.here && standing.rests() {
                tracing::info!(
                    "{}: transactions wait for each other's rows; their increments go to slots from now on",
                    standing.rule.table
                );
            }
            is_news |= needs != standing.needs.here;
            standing.needs.here = needs;
            let is_over = |until: Instant| now >= until;
            standing.needs.others.take_if(|until| is_over(*until));
            standing.needs.stays_until.take_if(|until| is_over(*until));
        }
        if is_news {
            self.say();
        }
    }

    /// Asks which tables other proxies need slots for.
    pub(super) async fn see_others_needs(&mut self) {
        for index in 0..self.standings.len() {
            let standing = &self.standings[index];
            if standing.rule.may_rest() && self.is_needed_by_others(index).await {
                self.standings[index].needs.others = Some(Instant::now() + 2 * LOOK_AROUND);
            }
        }
    }

    /// Asks whether the server is read-only. On a replica, slots change by what the proxies of its source do, which
    /// nobody tells here: no table may rest there.
    pub(super) async fn see_replica(&mut self) {
        let asked = async |conn: &mut Conn| Ok::<_, Obstacle>(is_read_only(conn).await?);
        let Ok(is_replica) = self.control.ask(asked).await else {
            return;
        };
        if is_replica != self.is_replica {
            let what = match is_replica {
                true => {
                    "read-only, as a replica is: reads add up slots, which are its source's to fill and to empty"
                }
                false => "not read-only any more",
            };
            tracing::info!("the server is {what}");
        }
        self.is_replica = is_replica;
        for standing in &mut self.standings {
            standing.needs.replica = is_replica;
            standing.needs.several_writers = self.control.has_several_writers();
        }
        self.say();
    }

    async fn is_needed_by_others(&self, index: usize) -> bool {
        let claim = Claim::Motion.name(self.standings[index].slots());
        let others = self.other(&claim).await;
        others.is_ok_and(|others| !others.is_empty())
    }

    /// From rest: sessions are to read slots from now on.
    pub(super) async fn open(&mut self, index: usize) -> Result<(), String> {
        let base = Claim::Base.name(self.standings[index].slots());
        if let Some(other) = self.other(&base).await?.first()
            && !self.is_needed_by_others(index).await
        {
            return Err(format!("the proxy of node {other}, where the table rests"));
        }
        self.prepare(index).await?;
        let since = self.history.number() + 1;
        let waits = self.standings[index].table.as_ref();
        let waits = waits.map_or(Duration::ZERO, |table| self.shared.motion.patience(table));
        let until = Instant::now() + PATIENCE.max(waits);
        self.standings[index].stage = Stage::Opening { since, until };
        self.publish();
        Ok(())
    }

    /// Goes on from `Opening` when all sessions have followed, or back to rest.
    pub(super) fn step_opening(
        &mut self,
        index: usize,
        since: u64,
        until: Instant,
    ) -> Result<(), String> {
        let standing = &mut self.standings[index];
        let is_released = self.history.is_released_before(since);
        if standing.wants_slots() && is_released {
            let side = Side::Base;
            standing.stage = Stage::Changing { since, side };
            if let Some(table) = &standing.table {
                let hot = self.shared.hot();
                hot.count(table, TableCounts::count_changeover);
            }
            return Ok(());
        }
        if standing.wants_slots() && Instant::now() < until {
            return Err("transactions and statements that are under way".to_owned());
        }
        // No slot has taken anything: base alone is the value, as before.
        if let Some(table) = &standing.table {
            self.shared.motion.refuse(table);
        }
        standing.needs.here = false;
        standing.needs.others = None;
        let since = Some(self.history.number() + 1);
        standing.stage = Stage::Out { since };
        self.publish();
        Ok(())
    }

    /// Another proxy increments in slots, which keeps a table from rest. It may be about to rest as well; if not, this
    /// one goes back to slots, for increments are slow in between.
    pub(super) fn follow_after_a_while(&mut self, index: usize) {
        let standing = &mut self.standings[index];
        let now = Instant::now();
        let since = *standing.needs.held_up.get_or_insert(now);
        if standing.rests() && now.saturating_duration_since(since) > 2 * LOOK_AROUND {
            standing.needs.held_up = None;
            standing.needs.others = Some(now + 2 * LOOK_AROUND);
        }
    }

    /// From slots: sessions put nothing into them from now on.
    pub(super) fn close(&mut self, index: usize) {
        let since = self.history.number() + 1;
        let until = Instant::now() + PATIENCE;
        self.standings[index].stage = Stage::Closing { since, until };
        self.publish();
    }

    /// Goes on from `Closing` when all sessions have followed, or back to slots.
    pub(super) fn step_closing(
        &mut self,
        index: usize,
        since: u64,
        until: Instant,
    ) -> Result<(), String> {
        let standing = &mut self.standings[index];
        let is_late = Instant::now() >= until;
        if !standing.wants_slots() && (!standing.rests() || self.history.is_released_before(since))
        {
            let side = Side::Slots;
            standing.stage = Stage::Changing { since, side };
            return Ok(());
        }
        if !standing.wants_slots() && !is_late {
            return Err("transactions and statements that are under way".to_owned());
        }
        // This proxy has said all the time that it increments in slots.
        if is_late {
            standing.needs.stays_until = Some(Instant::now() + AGAIN);
        }
        if let Some(table) = &standing.table {
            self.shared.slots.forget_all(table);
        }
        standing.stage = Stage::Serving;
        self.publish();
        Ok(())
    }
}
