//! Which of several proxies in front of one server this one is. Each leases slots from a range of its own, so that no
//! two meet on a slot row.
//!
//! The number is claimed by a user lock on the server (GET_LOCK), which is released with the connection that holds it;
//! or by a row of the table of proxies ([`registry`](super::registry)). While it is lost, two proxies may lease the
//! same slots, which costs waits; and the others do not hear what this proxy says about its rules, so the proxies
//! agree on them again. One of the proxies leads in each slot table, by another such lock, or because its number is
//! the lowest: it looks after what the others leave behind. If two lead, or none, slots are looked through twice, or
//! later.

mod by_locks;
mod by_row;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_lc_rs::digest::{SHA256, digest};
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error as DriverFailure};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::agreement::{Agreement, Own};
use super::control::Control;
use super::registry::BEAT;
use super::unpoisoned;
use crate::catalog::HotTable;
use by_locks::ByLocks;
use by_row::ByRow;

/// How many proxies can be distinguished: there are no more ranges than slots.
pub(super) const MOST_NODES: u16 = 256;

/// The name of the user lock by which a number is claimed, but for the number.
const NODE: &str = "countersink.node";

/// What each proxy says, the name of a user lock but for the number: that it is there, and says all that it has to say.
pub(super) const HERE: &str = "countersink.here";

/// How long to wait for a number that was lost, or could not be had.
const PAUSE: Duration = Duration::from_secs(1);

/// How often a proxy looks where it may lead, and says again what it has not been able to say.
const LOOK: Duration = Duration::from_secs(5);

/// How often it makes sure that the connection is there that holds its locks.
const PULSE: Duration = Duration::from_millis(250);

/// For how long it may act by what it has said, since it last knew that its locks were there.
const LEASE: Duration = PULSE.saturating_mul(6);

/// A proxy of which nothing can be heard, because its locks went with their connection, does not act any more after
/// this time. Who has just come, and cannot know who was there before, waits for so long.
pub const STRANGERS: Duration = Duration::from_secs(2);

/// How long the server may take to answer; beyond, the connection is taken for lost.
const ANSWER: Duration = Duration::from_secs(5);

/// A proxy that has not been heard of for so long may be there still: it has lost its connection, and is about to see
/// that, which takes an answer at the most, and to claim a number again.
pub const SILENCE: Duration = Duration::from_secs(15);

/// The number of this proxy, held as long as this is.
#[derive(Debug)]
pub struct Node {
    /// From 0, the lowest that was free.
    pub number: u16,
    /// Where it leads.
    leads: Vec<Arc<HotTable>>,
    /// How often a number had been lost when this one was claimed.
    losses: u64,
    way: Way,
}

/// How a number is held.
#[derive(Debug)]
enum Way {
    Locks(ByLocks),
    Row(ByRow),
}

/// What a proxy says to the others: names of user locks, to which its number is added, or words in its row. They are
/// held as the number is, and go with it.
#[derive(Debug, Default)]
pub struct Claims {
    wanted: Mutex<BTreeSet<String>>,
    held: Mutex<Held>,
    changed: Notify,
    /// Whether a proxy without a number may do as if it were the only one.
    may_be_alone: bool,
    /// How many times the number was lost.
    losses: AtomicU64,
    lost: Notify,
}

/// What is held.
#[derive(Debug, Default)]
struct Held {
    /// `None` while the proxy has no number.
    own: Option<Own>,
    /// It has had one.
    had_number: bool,
    says: BTreeSet<String>,
    /// Until when others take the number for held; `None` where it goes with a connection.
    lease: Option<Instant>,
}

impl Claims {
    /// Of the proxy that has this node; nothing is said yet. Without a number it may act as the only one, or not.
    pub fn of(node: Option<&Node>, may_be_alone: bool) -> Self {
        let claims = Self {
            may_be_alone,
            ..Self::default()
        };
        let lease = node.and_then(Node::lease);
        claims.hold(0, (node.map(Node::own), lease), &BTreeSet::new());
        claims
    }

    /// Has these held, and no others, as soon as possible.
    pub fn want(&self, says: BTreeSet<String>) {
        let before = std::mem::replace(&mut *unpoisoned(&self.wanted), says.clone());
        if before != says {
            self.changed.notify_one();
        }
    }

    /// Whether what is wanted is what is held. A proxy that never had a number can say nothing, and acts as the only
    /// one, unless others are there for certain: before a cluster, whose members hear it by its number alone.
    pub fn are_held(&self) -> bool {
        let held = unpoisoned(&self.held);
        match held.own {
            Some(_) => held.says == *unpoisoned(&self.wanted),
            None => self.may_be_alone && !held.had_number,
        }
    }

    /// How many times the number was lost, and with it what was said.
    pub fn losses(&self) -> u64 {
        self.losses.load(Ordering::Relaxed)
    }

    /// Waits until the number is lost.
    pub async fn lost(&self) {
        self.lost.notified().await;
    }

    /// By what the others know this proxy; `None` while it has no number.
    pub fn own(&self) -> Option<Own> {
        unpoisoned(&self.held).own
    }

    /// Until when this proxy may act by what it has said: the others will not take it for gone before. `None` while it
    /// has no number.
    pub fn lease(&self) -> Option<Instant> {
        unpoisoned(&self.held).lease
    }

    /// The same is held for longer, unless it was lost meanwhile.
    fn renew(&self, losses: u64, lease: Instant) {
        let mut held = unpoisoned(&self.held);
        if losses == self.losses() {
            held.lease = Some(lease);
        }
    }

    fn hold(
        &self,
        losses: u64,
        (own, lease): (Option<Own>, Option<Instant>),
        says: &BTreeSet<String>,
    ) {
        let mut held = unpoisoned(&self.held);
        if losses != self.losses() {
            return;
        }
        *held = Held {
            own,
            had_number: held.had_number || own.is_some(),
            says: says.clone(),
            lease,
        };
    }

    /// The number is no longer this proxy's: it has lost the connection, or has gone to another server.
    pub(crate) fn lose(&self) {
        let mut held = unpoisoned(&self.held);
        self.losses.fetch_add(1, Ordering::Relaxed);
        held.own = None;
        held.lease = None;
        held.says.clear();
        drop(held);
        self.lost.notify_one();
    }
}

impl Node {
    /// Claims the lowest number that no other proxy holds.
    ///
    /// # Errors
    ///
    /// Why the server gives none.
    pub async fn claim(control: &Control) -> Result<Self, String> {
        let (number, way) = match control.agreement() {
            Agreement::Locks => {
                let held = ByLocks::claim(control).await?;
                (held.number, Way::Locks(held))
            }
            Agreement::Rows(registry) => {
                let held = ByRow::claim(registry, control).await;
                let held = held.map_err(|error| error.to_string())?;
                (held.number(), Way::Row(held))
            }
        };
        tracing::debug!("node {number}");
        Ok(Self {
            number,
            leads: Vec::new(),
            losses: 0,
            way,
        })
    }

    /// By what the others know it.
    pub fn own(&self) -> Own {
        Own {
            number: self.number,
            connection: match &self.way {
                Way::Locks(held) => Some(held.connection()),
                Way::Row(_) => None,
            },
        }
    }

    fn lease(&self) -> Option<Instant> {
        match &self.way {
            Way::Locks(held) => Some(held.known_at() + LEASE),
            Way::Row(row) => Some(row.lease()),
        }
    }

    /// Stays as it is until something is to be looked at. Not cancel safe: the connection is of no use then.
    async fn rest(&mut self, claims: &Claims) -> Result<(), String> {
        let (pause, until) = match self.way {
            Way::Locks(_) => (PULSE, Instant::now() + LOOK),
            Way::Row(_) => (BEAT, Instant::now()),
        };
        loop {
            let changed = claims.changed.notified();
            let is_changed = tokio::time::timeout(pause, changed).await.is_ok();
            if let Way::Locks(held) = &mut self.way {
                in_time(held.ping()).await?;
                claims.renew(self.losses, held.known_at() + LEASE);
            }
            if is_changed || Instant::now() >= until {
                return Ok(());
            }
        }
    }

    /// Says what is wanted, makes sure of the number, and sees where it leads.
    async fn look(
        &mut self,
        control: &Control,
        claims: &Claims,
        listener: &impl Listener,
    ) -> Result<(), String> {
        let wanted = unpoisoned(&claims.wanted).clone();
        let tables = listener.tables();
        let own = Some(self.own());
        match &mut self.way {
            Way::Locks(held) => {
                let look = async {
                    // Nothing may be there to say.
                    held.ping().await?;
                    let says = held.say(&wanted).await?.clone();
                    let lease = Some(held.known_at() + LEASE);
                    claims.hold(self.losses, (own, lease), &says);
                    held.lead(&mut self.leads, &tables).await
                };
                in_time(look).await
            }
            Way::Row(row) => {
                let said = row.say(&wanted).await;
                said.map_err(|error| error.to_string())?;
                claims.hold(self.losses, (own, Some(row.lease())), &wanted);
                self.leads = match row.leads(control).await {
                    true => tables,
                    false => Vec::new(),
                };
                Ok(())
            }
        }
    }
}

/// What the rest of the proxy learns about its number.
pub trait Listener {
    /// The hot tables with slots, now.
    fn tables(&self) -> Vec<Arc<HotTable>>;

    /// The proxy has this number, and leads in these tables.
    fn stands(&self, number: u16, leads: &[Arc<HotTable>]);
}

/// Holds a number and says what is claimed; claims another number when that one is lost, and reports each. Never
/// returns.
pub async fn keep(
    control: &Control,
    first: Option<Node>,
    claims: &Claims,
    listener: &impl Listener,
) {
    let mut node = first;
    let mut complaint = None;
    let mut servers = control.servers();
    loop {
        if let Some(node) = &mut node {
            complaint = None;
            listener.stands(node.number, &node.leads);
            while let Ok(()) = node
                .look(control, claims, listener)
                .await
                .inspect_err(|error| {
                    tracing::warn!("node {} is lost: {error}", node.number);
                })
            {
                listener.stands(node.number, &node.leads);
                tokio::select! {
                    rested = node.rest(claims) => if let Err(error) = rested {
                        tracing::warn!("node {} is lost: {error}", node.number);
                        break;
                    },
                    _ = servers.changed() => {
                        tracing::warn!("node {} is given up: it is another server's", node.number);
                        break;
                    }
                }
            }
            listener.stands(node.number, &[]);
            claims.lose();
        }
        tokio::time::sleep(PAUSE).await;
        let losses = claims.losses();
        node = match Node::claim(control).await {
            Ok(node) => Some(Node { losses, ..node }),
            Err(why) => {
                if complaint.as_ref() != Some(&why) {
                    warn_of_none(&why);
                    complaint = Some(why);
                }
                None
            }
        };
    }
}

/// What becomes of a question to the server, which may take [`ANSWER`].
async fn in_time<T>(question: impl Future<Output = Result<T, DriverFailure>>) -> Result<T, String> {
    match tokio::time::timeout(ANSWER, question).await {
        Ok(answer) => answer.map_err(|error| error.to_string()),
        Err(_) => Err(format!("no answer within {ANSWER:?}")),
    }
}

/// Says what it means to have no number.
pub fn warn_of_none(why: &str) {
    tracing::warn!("no node number: {why}; two proxies may wait for each other's slots");
}

/// The name of the lock of the proxy with this number.
pub(super) fn lock_of(number: u16) -> String {
    format!("{NODE}.{number}")
}

/// A name of any length in 32 characters.
pub(super) fn short(name: &str) -> String {
    let digest = digest(&SHA256, name.as_bytes());
    let bytes = digest.as_ref().iter().take(16);
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

/// Whether a user lock could be had at once; it is held then.
pub(super) async fn has_locked(conn: &mut Conn, lock: &str) -> Result<bool, DriverFailure> {
    let got: Option<Option<i64>> = conn
        .query_first(format!("SELECT GET_LOCK('{lock}', 0)"))
        .await?;
    Ok(got.flatten() == Some(1))
}
