//! How a rule moves on, one step at a time, when nothing prevents it.

use std::sync::Arc;

use mysql_async::Conn;

use super::standing::{Side, Stage, Standing};
use super::tables::Obstacle;
use super::{Keeper, Steps, full_name};
use crate::catalog::{Catalog, HotTable};
use crate::counter::agreement::Claim;
use crate::counter::rollup::RollUp;
use crate::counter::{provision, unfit};

impl Keeper {
    /// Moves each rule one step on, if it may.
    pub(super) async fn step_all(&mut self) -> Steps {
        let has_arrived = |standing: &Standing| standing.is_settled() && !standing.is_gone;
        if self.standings.iter().all(has_arrived) {
            return Steps::AllSettled;
        }
        let mut has_moved = false;
        for index in 0..self.standings.len() {
            if self.standings[index].is_settled() {
                continue;
            }
            let before = self.standings[index].waits_for.take();
            let stage = self.standings[index].stage;
            let result = self.step(index).await;
            let standing = &mut self.standings[index];
            has_moved |= standing.stage != stage;
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
        self.show();
        match self.standings.iter().all(Standing::is_settled) {
            true => Steps::AllSettled,
            false => Steps::UnderWay { has_moved },
        }
    }

    /// One step of a rule. The error is what it waits for.
    async fn step(&mut self, index: usize) -> Result<(), String> {
        let standing = &self.standings[index];
        let wants_slots = standing.wants_slots();
        match &standing.stage {
            Stage::Serving if standing.rests() => self.close(index),
            Stage::Serving => self.change_to(index, Side::Slots),
            Stage::Out { .. } if wants_slots && standing.rule.may_rest() => {
                self.open(index).await?;
            }
            &Stage::Opening { since, until } => self.step_opening(index, since, until)?,
            &Stage::Closing { since, until } => self.step_closing(index, since, until)?,
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
            Stage::Out { since: None } => self.standings[index].is_remade = false,
            Stage::Leaving { .. } if wants_slots => self.change_to(index, Side::Neither),
            &Stage::Leaving { since } => {
                if !self.history.is_released_before(since) {
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
                    return Err("transactions and statements that are under way".to_owned());
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

    /// From `Out`: slots exist, and are read from now on.
    async fn join(&mut self, index: usize) -> Result<(), String> {
        self.prepare(index).await?;
        // Until they learn of it, sessions take base alone for the value.
        self.change_to(index, Side::Base);
        Ok(())
    }

    /// Reads the table of a rule that comes into force, and makes its slot table.
    pub(super) async fn prepare(&mut self, index: usize) -> Result<(), String> {
        let rule = self.standings[index].rule.clone();
        let others = self.standings.iter().enumerate();
        let mut others = others.filter(|(other, _)| *other != index);
        if others.any(|(_, other)| other.rule.table == rule.table) {
            return Err("the rule before it".to_owned());
        }
        let table = self.load(&rule).await.map_err(|why| why.to_string())?;
        self.refuse_unfit(&table).await?;
        self.provision(&table)
            .await
            .map_err(|why| why.to_string())?;
        self.standings[index].table = Some(table);
        Ok(())
    }

    /// Refuses slots where the server does not go with them: at start no rule may have had any, or no table a row.
    async fn refuse_unfit(&self, table: &Arc<HotTable>) -> Result<(), String> {
        let catalog = Catalog {
            tables: vec![Arc::clone(table)],
            ..Catalog::clone(&self.shared.hot().catalog)
        };
        let find = async |conn: &mut Conn| {
            let unfit = unfit::find(&self.control, conn, &catalog).await;
            Ok::<_, Obstacle>(unfit?)
        };
        match self
            .control
            .ask(find)
            .await
            .map_err(|why| why.to_string())?
        {
            Some(unfit) => Err(unfit.to_string()),
            None => Ok(()),
        }
    }

    /// Makes sure that the table has its slot table. Does not wait for the server's metadata locks: all sessions that
    /// use the slot table would queue after it.
    pub(super) async fn provision(&self, table: &Arc<HotTable>) -> Result<(), Obstacle> {
        if self.is_replica {
            return Ok(());
        }
        let catalog = Catalog {
            tables: vec![Arc::clone(table)],
            ..Catalog::clone(&self.shared.hot().catalog)
        };
        let provide = async |conn: &mut Conn| {
            let provided = provision::provide(&self.control, conn, &catalog).await;
            provided.map_err(Obstacle::from)
        };
        let report = self.control.ask(provide).await?;
        for line in report.to_string().lines() {
            tracing::info!("slot table {line}");
        }
        Ok(())
    }

    /// From `Changing` into force.
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
        let here = self.hears_all(index).await?;
        let obstacle = self.contrary(index).await?;
        if let Some(why) = obstacle {
            // Both may have spoken at the same time; next time they will not.
            self.take_side(index, since, Side::Neither);
            return Err(why);
        }
        self.has_heard_all(&here).await?;
        self.knows_all()?;
        self.provide_slots(index)
            .await
            .map_err(|why| why.to_string())?;
        // What was heard may be another server's.
        if self.claims.losses() != self.losses {
            return Err("the server to tell other proxies".to_owned());
        }
        // Other proxies may have closed the known slot rows, and a session that finds that out in a transaction holds
        // the row by then.
        self.shared.slots.forget_all(&table);
        self.standings[index].stage = Stage::Serving;
        self.standings[index].restored_by = None;
        self.publish();
        tracing::info!("{}: in force", self.standings[index].rule.table);
        Ok(())
    }

    /// What other proxies say that prevents increments in slots.
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

    /// From `Changing` out of force.
    async fn go_out(&mut self, index: usize, since: u64, side: Side) -> Result<(), String> {
        let slots = self.standings[index].slots().clone();
        let Some(table) = self.standings[index].table.clone() else {
            // No session acts by it, and no one can say what slots hold.
            self.standings[index].stage = Stage::Out { since: None };
            return Ok(());
        };
        if side == Side::Slots {
            self.take_side(index, since, Side::Neither);
            return Err("the server to tell other proxies".to_owned());
        }
        if !self.claims.are_held() {
            return Err("the server to tell other proxies".to_owned());
        }
        let here = self.hears_all(index).await?;
        if let Some(other) = self.other(&Claim::Slots.name(&slots)).await?.first() {
            self.follow_after_a_while(index);
            if side == Side::Base {
                self.take_side(index, since, Side::Neither);
            }
            return Err(format!(
                "the proxy of node {other}, which increments in slots"
            ));
        }
        self.standings[index].needs.held_up = None;
        self.has_heard_all(&here).await?;
        self.empty(index, &table, side).await?;
        if side != Side::Base {
            self.take_side(index, since, Side::Base);
            return Err("the server to tell other proxies".to_owned());
        }
        let since = self.history.number() + 1;
        let standing = &mut self.standings[index];
        standing.stage = match standing.rests() {
            true => {
                tracing::info!("{}: at rest", standing.rule.table);
                // The slot table stays, so transactions from before may still read it.
                Stage::Out { since: Some(since) }
            }
            false => Stage::Leaving { since },
        };
        self.publish();
        Ok(())
    }

    /// Empties the slots, in a task of its own, because sessions whose DDL makes the proxy read the catalog again must
    /// not wait for that. Ok when it is done, and was begun on this side.
    async fn empty(
        &mut self,
        index: usize,
        table: &Arc<HotTable>,
        side: Side,
    ) -> Result<(), String> {
        let emptying = self.standings[index].emptying.take();
        let Some((_, task)) = emptying.filter(|(begun, _)| *begun == side) else {
            let (table, control) = (Arc::clone(table), self.control.clone());
            let metrics = Arc::clone(&self.shared.metrics);
            let task = tokio::spawn(async move {
                let mut rollup = RollUp::new(control.clone(), metrics);
                control.unless_replaced(rollup.empty(&table)).await
            });
            self.standings[index].emptying = Some((side, task));
            return Err("its slots to be emptied".to_owned());
        };
        if !task.is_finished() {
            self.standings[index].emptying = Some((side, task));
            return Err("its slots to be emptied".to_owned());
        }
        match task.await.expect("a roll-up does not panic") {
            // Who cannot be heard may be incrementing in them. But nobody makes a slot table unheard.
            Ok(0) => self.knows_all(),
            Ok(rows) => Err(format!("{rows} slot rows that hold something")),
            Err(error) if error.is_missing_table() || self.standings[index].is_unreadable => {
                tracing::debug!("what slots hold is nobody's: {error}");
                Ok(())
            }
            Err(error) => Err(format!("slots to be empty: {error}")),
        }
    }

    fn take_side(&mut self, index: usize, since: u64, side: Side) {
        self.standings[index].stage = Stage::Changing { since, side };
        self.say();
    }
}
