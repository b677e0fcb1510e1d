//! A number that is held by a row, and what is said there.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::time::Instant;

use super::HERE;
use crate::counter::control::Control;
use crate::counter::registry::{BEAT, Entry, Error, FORGOTTEN, Member, PROXIES, Registry};

/// Held until others take its row for silent.
#[derive(Debug)]
pub(super) struct ByRow {
    registry: Arc<Registry>,
    member: Member,
}

impl ByRow {
    pub(super) async fn claim(registry: &Arc<Registry>, control: &Control) -> Result<Self, Error> {
        let member = Member::claim(registry, control, PROXIES, &BTreeSet::new()).await?;
        Ok(Self {
            registry: Arc::clone(registry),
            member,
        })
    }

    pub(super) fn number(&self) -> u16 {
        self.member.number
    }

    pub(super) fn lease(&self) -> Instant {
        self.member.lease()
    }

    /// Says this, that it is here, and no more.
    pub(super) async fn say(&mut self, wanted: &BTreeSet<String>) -> Result<(), Error> {
        let mut says = wanted.clone();
        says.insert(HERE.to_owned());
        self.member.beat(&says).await
    }

    /// Whether it is the one among the proxies that leads: the one with the lowest number. Such a one deletes the rows
    /// of those that have gone for good. The next beat does not wait for this for long.
    pub(super) async fn leads(&self, control: &Control) -> bool {
        let look = async {
            let entries = self.registry.read(control).await?;
            let lowest = entries.iter().find(|entry| entry.is_live());
            let leads = lowest.is_some_and(|entry| entry.number == self.member.number);
            let is_gone = |entry: &&Entry| leads && entry.silent >= FORGOTTEN;
            for entry in entries.iter().filter(is_gone) {
                self.registry.forget(control, entry).await?;
            }
            Ok::<_, Error>(leads)
        };
        match tokio::time::timeout(BEAT, look).await {
            Ok(Ok(leads)) => leads,
            Ok(Err(error)) => {
                tracing::debug!("which proxies are there: {error}");
                false
            }
            Err(_) => false,
        }
    }
}
