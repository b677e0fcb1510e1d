//! The rules file, read again.

use std::sync::Arc;

use mysql_async::Conn;

use super::standing::{Change, Stage, Standing};
use super::tables::Obstacle;
use super::{Answer, Keeper};
use crate::catalog::{self, HotTable};
use crate::config::{Config, Rule};
use crate::server::last_change;

impl Keeper {
    /// Takes the rules file over, if all of it is right.
    pub(super) async fn reload(&mut self) -> Answer {
        let Some((path, changed)) = &mut self.file else {
            return Err("the rules are from no file".to_owned());
        };
        *changed = last_change(path);
        let path = path.clone();
        let config = Config::load(&path).map_err(|error| error.to_string())?;
        if let Err(obstacle) = self.put_in_force(config).await {
            if let (Obstacle::Passing(_), Some((_, changed))) = (&obstacle, &mut self.file) {
                // It is read again at the next look.
                *changed = None;
            }
            return Err(obstacle.to_string());
        }
        self.step_all().await;
        let waits = self
            .standings
            .iter()
            .filter(|rule| rule.misfit.is_some() || !rule.is_settled());
        Ok(match waits.count() {
            0 => format!("{} read, and in force", path.display()),
            1 => format!("{} read; a rule is on its way", path.display()),
            count => format!("{} read; {count} rules are on their way", path.display()),
        })
    }

    /// Replaces all rules by those of `config`, or changes nothing.
    async fn put_in_force(&mut self, config: Config) -> Result<(), Obstacle> {
        let load =
            async |conn: &mut Conn| Ok::<_, Obstacle>(catalog::load_present(conn, &config).await?);
        self.control.ask(load).await?;
        let config = self.keep_what_needs_a_restart(config);
        let mut tables = Vec::new();
        for rule in &config.rules {
            let table = match rule.plans() {
                true => match self.load(rule).await {
                    Err(Obstacle::Absent(why)) => Err(why),
                    loaded => Ok(Some(loaded?)),
                },
                false => Ok(None),
            };
            if let Ok(Some(table)) = &table
                && self.grows(rule)
            {
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
        for standing in &mut self.standings {
            standing.needs.replica = self.is_replica;
        }
        self.shared.resize_plan_cache(config.memory.plan_cache);
        self.config.store(Arc::new(config));
        // A drain that is under way goes on.
        self.see_drains().await;
        self.publish();
        Ok(())
    }

    /// Whether a rule that is in force, or being switched on or off, gets more columns.
    fn grows(&self, rule: &Rule) -> bool {
        let same = |standing: &&Standing| standing.rule.table == rule.table;
        let mut standings = self.standings.iter().filter(same);
        standings.any(|standing| {
            Change::between(&standing.rule, rule) == Change::Grows
                && !matches!(standing.stage, Stage::Out { .. })
        })
    }

    /// The new rules; settings that need a restart stay as they are.
    fn keep_what_needs_a_restart(&self, new: Config) -> Config {
        let old = self.config.load();
        let changed = need_a_restart(&old, &new);
        if !changed.is_empty() {
            tracing::warn!(
                "the rules file changes {} too, which takes a restart (serve --take-over loses no client)",
                changed.join(", ")
            );
        }
        Config {
            rules: new.rules,
            bypass: new.bypass,
            drain_timeout: new.drain_timeout,
            connections: new.connections,
            memory: new.memory,
            slot_table: new.slot_table,
            ..Config::clone(&old)
        }
    }

    /// Adds a rule of the file to the list, or changes the one that is there. The error is why its table is not there.
    fn take_over(&mut self, rule: &Rule, table: Result<Option<Arc<HotTable>>, String>) {
        let number = self.history.number() + 1;
        let same = |standing: &&mut Standing| standing.rule.table == rule.table;
        let (table, misfit) = match table {
            Ok(table) => (table, None),
            Err(why) => (None, Some(why)),
        };
        if let Some(why) = &misfit
            && !self.standings.iter().any(|known| known.misfit == misfit)
        {
            tracing::warn!("{why}; the rule waits for that");
        }
        let mut table = Some(table);
        for standing in self.standings.iter_mut().filter(same) {
            let change = Change::between(&standing.rule, rule);
            let is_out = matches!(standing.stage, Stage::Out { .. });
            let may_stay = change != Change::Other || (is_out && !standing.is_gone);
            let Some(table) = table.take_if(|_| may_stay) else {
                // It goes out of force, and the new one waits for that.
                standing.is_gone = true;
                continue;
            };
            standing.is_gone = false;
            standing.is_drained = false;
            standing.misfit = misfit.clone();
            standing.rule = rule.clone();
            standing.table = table.or(standing.table.take());
            if change == Change::Grows {
                standing.grow(number);
            }
        }
        if let Some(table) = table {
            let stage = Stage::Out { since: None };
            self.standings.push(Standing {
                misfit,
                ..Standing::new(rule.clone(), table, stage)
            });
        }
    }

    /// Reads the file again when it has changed.
    pub(super) async fn see_file(&mut self) {
        let Some((path, changed)) = &self.file else {
            return;
        };
        let now = last_change(path);
        if now.is_none() || now == *changed {
            return;
        }
        let is_new = changed.is_some();
        match self.reload().await {
            Ok(done) => {
                tracing::info!("{done}");
                self.complaint = None;
            }
            Err(why) if is_new || self.complaint.as_ref() != Some(&why) => {
                tracing::error!("the rules stay as they are: {why}");
                self.complaint = Some(why);
            }
            Err(_) => {}
        }
    }
}

/// The settings that differ, of those that a running proxy keeps. `listen` is not among them: `serve --listen` replaces
/// the file's.
fn need_a_restart(old: &Config, new: &Config) -> Vec<&'static str> {
    let Config {
        listen: _,
        upstream,
        single_writer,
        admin,
        http,
        control,
        tls,
        upstream_tls,
        upstream_certificate,
        upstream_public_key,
        upstream_compression,
        sentinel,
        proxy_protocol,
        handshake_timeout,
        connections: _,
        memory: _,
        slot_table: _,
        drain_timeout: _,
        bypass: _,
        rules: _,
    } = new;
    let settings = [
        ("upstream", *upstream != old.upstream),
        ("single_writer", *single_writer != old.single_writer),
        ("admin", *admin != old.admin),
        ("http", *http != old.http),
        ("control", *control != old.control),
        ("tls", *tls != old.tls),
        (
            "upstream_tls",
            *upstream_tls != old.upstream_tls
                || *upstream_certificate != old.upstream_certificate
                || *upstream_public_key != old.upstream_public_key,
        ),
        (
            "upstream_compression",
            *upstream_compression != old.upstream_compression,
        ),
        ("sentinel", *sentinel != old.sentinel),
        ("proxy_protocol", *proxy_protocol != old.proxy_protocol),
        (
            "handshake_timeout",
            *handshake_timeout != old.handshake_timeout,
        ),
    ];
    let changed = settings.into_iter().filter(|(_, changed)| *changed);
    changed.map(|(name, _)| name).collect()
}
