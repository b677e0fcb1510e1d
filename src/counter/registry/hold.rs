//! Something that is said for a while, by one that is no proxy: as a user lock is held.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::{BEAT, Error, GRACE, GUESTS, Member, Registry};
use crate::counter::control::Control;

/// It is said until this is dropped.
#[derive(Debug)]
pub struct Hold {
    stop: Option<oneshot::Sender<()>>,
    /// Returns the row, if it was lost.
    task: JoinHandle<Option<Member>>,
}

impl Hold {
    /// Says all of these; `None` while another says one of them.
    ///
    /// # Errors
    ///
    /// What the server says.
    pub(in crate::counter) async fn begin(
        registry: &Arc<Registry>,
        control: &Control,
        says: BTreeSet<String>,
    ) -> Result<Option<Self>, Error> {
        let member = Member::claim(registry, control, GUESTS, &says).await?;
        // Of two that come at the same time each sees the other, and neither has it.
        let entries = registry.read(control).await;
        let is_alone = entries.map(|entries| {
            let mut others = entries.iter().filter(|entry| entry.number != member.number);
            !others.any(|other| other.silent < GRACE && !other.says.is_disjoint(&says))
        });
        if !matches!(is_alone, Ok(true)) {
            match is_alone {
                Ok(_) => member.leave().await?,
                Err(_) => member.leave_by_another(control).await?,
            }
            return is_alone.map(|_| None);
        }
        let (stop, stopped) = oneshot::channel();
        let task = control.spawn(keep(member, says, stopped));
        Ok(Some(Self {
            stop: Some(stop),
            task,
        }))
    }

    /// Whether it is still said.
    pub(in crate::counter) fn is_held(&self) -> bool {
        !self.task.is_finished()
    }

    /// Says it no longer, once this is done.
    ///
    /// # Errors
    ///
    /// The server does not answer: it will be silent.
    pub(in crate::counter) async fn release(mut self, control: &Control) -> Result<(), Error> {
        drop(self.stop.take());
        match (&mut self.task).await {
            Ok(Some(lost)) => lost.leave_by_another(control).await,
            _ => Ok(()),
        }
    }
}

/// Keeps the row until it is to go. Returns it if it is lost before.
async fn keep(
    mut member: Member,
    says: BTreeSet<String>,
    mut stopped: oneshot::Receiver<()>,
) -> Option<Member> {
    while tokio::time::timeout(BEAT, &mut stopped).await.is_err() {
        if let Err(error) = member.beat(&says).await {
            let number = member.number;
            tracing::warn!("number {number} of countersink.proxies is lost: {error}");
            return Some(member);
        }
    }
    if let Err(error) = member.leave().await {
        tracing::debug!("a row in {} stays: {error}", super::table());
    }
    None
}
