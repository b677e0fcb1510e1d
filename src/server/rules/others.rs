//! What other proxies do, and what is being drained.

use tokio::time::Instant;

use super::Keeper;
use super::standing::{Side, Stage};
use crate::counter::agreement::Here;
use crate::counter::node::{SILENCE, STRANGERS};

/// A proxy that has, or had a moment ago, a part in a slot table.
#[derive(Debug)]
pub(super) struct Partner {
    number: usize,
    /// Since when it has not been heard.
    silent_since: Option<Instant>,
}

impl Keeper {
    /// Finds out which other proxies are there, what is being drained, and whether tables that did not fit their rules
    /// do so now.
    pub(super) async fn look_around(&mut self) {
        if let Err(why) = self.see_partners().await {
            tracing::debug!("other proxies cannot be told: {why}");
        }
        self.see_replica().await;
        self.see_others_needs().await;
        self.see_drains().await;
        self.restore_slots().await;
        let misfits = self.standings.iter().enumerate();
        let misfits = misfits.filter(|(_, standing)| standing.misfit.is_some());
        let misfits: Vec<_> = misfits.map(|(index, _)| index).collect();
        for index in misfits {
            self.read_table_again(index).await;
            let standing = &self.standings[index];
            if standing.misfit.is_none() {
                tracing::info!("{}: fits its rule", standing.rule.table);
                self.publish();
            }
        }
    }

    /// Whatever is being drained is out of force from now on.
    pub(super) async fn see_drains(&mut self) {
        let slots = self.standings.iter().map(|rule| rule.slots().clone());
        let slots: Vec<_> = slots.collect();
        let agreement = self.control.agreement();
        let Ok(drained) = agreement.drained(&self.control, &slots).await else {
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

    /// Whether every proxy that had a part in this rule's slot table a moment ago can still be heard: it is not known
    /// what a silent one does.
    pub(super) async fn hears_all(&mut self, index: usize) -> Result<Here, String> {
        let here = self.see_partners().await?;
        let slots = self.standings[index].slots();
        let is_heard = |connection| here.values().any(|other| other == connection);
        let mut partners = self.partners.iter();
        let silent =
            partners.find(|((table, connection), _)| table == slots && !is_heard(connection));
        match silent {
            Some((_, partner)) => Err(format!(
                "the proxy of node {}, which was here a moment ago: it has stopped, or will be back",
                partner.number
            )),
            None => Ok(here),
        }
    }

    /// Whether it has been here for long enough to know of all who may act: one that cannot be heard, because it has
    /// lost its locks, has noticed by now. In a cluster its row is there.
    pub(super) fn knows_all(&self) -> Result<(), String> {
        let has_listened = |since: Instant| since.elapsed() >= STRANGERS;
        match self.hears_since.is_some_and(has_listened) || self.control.has_several_writers() {
            true => Ok(()),
            false => Err("other proxies that may be here".to_owned()),
        }
    }

    /// All of them were there all the time: none has lost its connection and come back between two questions. And they
    /// have heard this proxy: it may have lost its own, and not have noticed.
    pub(super) async fn has_heard_all(&self, before: &Here) -> Result<(), String> {
        if self.here().await? != *before {
            return Err("other proxies that come and go".to_owned());
        }
        if let Some(own) = self.claims.own() {
            let is_heard = self.control.agreement().is_heard(&self.control, own).await;
            if !is_heard.map_err(|why| why.to_string())? {
                return Err("the server to tell other proxies".to_owned());
            }
        }
        Ok(())
    }

    /// Finds out which other proxies are here, and in which slot tables they have a part. A proxy that has been silent
    /// for long is forgotten.
    async fn see_partners(&mut self) -> Result<Here, String> {
        let here = self.here().await?;
        let highest = here.keys().next_back().copied().unwrap_or_default();
        let highest = u16::try_from(highest).unwrap_or(u16::MAX);
        self.shared.slots.set_highest(highest);
        let tables = self.standings.iter().map(|rule| rule.slots().clone());
        let tables: Vec<_> = tables.collect();
        let agreement = self.control.agreement();
        let partners = agreement.partners(&self.control, &tables, &here).await;
        let partners = partners.map_err(|why| why.to_string())?;
        let now = Instant::now();
        self.hears_since.get_or_insert(now);
        // From now on, rather than since it was heard last: a proxy that cannot be heard has lost its locks at any
        // time between two questions.
        for partner in self.partners.values_mut() {
            partner.silent_since.get_or_insert(now);
        }
        let heard = partners.into_iter().map(|(key, number)| {
            let silent_since = None;
            let partner = Partner {
                number,
                silent_since,
            };
            (key, partner)
        });
        self.partners.extend(heard);
        self.partners.retain(|_, partner| {
            let silent = partner.silent_since.map(|since| now - since);
            silent.is_none_or(|silent| silent < SILENCE)
        });
        Ok(here)
    }

    /// The other proxies that are here.
    async fn here(&self) -> Result<Here, String> {
        let own = self.claims.own();
        let here = self.control.agreement().here(&self.control, own).await;
        here.map_err(|why| why.to_string())
    }

    /// This proxy's number was lost, and the others have not heard since what it does: everything must be agreed on
    /// again.
    pub(super) async fn agree_again(&mut self) {
        let losses = self.claims.losses();
        if losses == self.losses {
            return;
        }
        self.losses = losses;
        // Others may have come and lost theirs meanwhile.
        self.hears_since = None;
        let since = self.history.number() + 1;
        for index in 0..self.standings.len() {
            match self.standings[index].stage {
                Stage::Serving | Stage::Closing { .. } => {
                    let side = Side::Slots;
                    self.standings[index].stage = Stage::Changing { since, side };
                }
                Stage::Opening { .. } => {
                    let side = Side::Neither;
                    self.standings[index].stage = Stage::Changing { since, side };
                }
                Stage::Out { .. } => self.look_for_slots(index, since).await,
                Stage::Changing { .. } | Stage::Leaving { .. } => {
                    let side = Side::Neither;
                    self.standings[index].stage = Stage::Changing { since, side };
                    // It may have emptied another server's.
                    self.standings[index].emptying = None;
                }
            }
        }
        self.publish();
        let number = self.shared.hot().number;
        self.shared.lease.agree_again(losses, number);
    }

    /// The other proxies that say this.
    pub(super) async fn other(&self, claim: &str) -> Result<Vec<usize>, String> {
        let own = self.claims.own();
        let agreement = self.control.agreement();
        let others = agreement.others(&self.control, claim, own).await;
        others.map_err(|why| why.to_string())
    }
}
