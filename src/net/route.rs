//! Where the upstream is: at one address, or at one of several, which may change.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::sync::{Notify, watch};

use super::{Cut, Cuttable, Transport};
use crate::config::Address;

/// The address that leads to the upstream now.
#[derive(Debug)]
pub struct Route {
    address: watch::Sender<Arc<Address>>,
    doubts: Notify,
    seen: ArcSwap<Vec<(Address, String)>>,
    several: Mutex<Several>,
}

/// What is known of several servers.
#[derive(Debug, Default)]
struct Several {
    given_up: Vec<Address>,
    /// Those that may be open still.
    connections: Vec<(Arc<Address>, Weak<Cut>)>,
}

impl Route {
    /// Leads to this address.
    pub fn to(address: Address) -> Self {
        Self {
            address: watch::Sender::new(Arc::new(address)),
            doubts: Notify::new(),
            seen: ArcSwap::default(),
            several: Mutex::default(),
        }
    }

    /// Where it leads now.
    pub fn address(&self) -> Arc<Address> {
        Arc::clone(&self.address.borrow())
    }

    /// It leads to this address from now on.
    pub(crate) fn lead_to(&self, address: Address) {
        self.address.send_replace(Arc::new(address));
    }

    /// The server there did not answer: has it looked, at once, whether another has taken its place.
    pub(crate) fn doubt(&self) {
        self.doubts.notify_one();
    }

    /// Returns when somebody doubts that it leads to the right server. Cancel safe.
    pub(crate) async fn doubted(&self) {
        self.doubts.notified().await;
    }

    /// The servers at these addresses, and no others, are given up: another has taken their place, and they do not
    /// answer. Whoever waits for one of them reads the end of the stream.
    pub(crate) fn give_up(&self, addresses: Vec<Address>) {
        let mut several = self.several();
        several.given_up = addresses;
        let Several {
            given_up,
            connections,
        } = &mut *several;
        connections.retain(|(address, cut)| match cut.upgrade() {
            Some(cut) if given_up.contains(address) => {
                cut.make();
                false
            }
            cut => cut.is_some(),
        });
    }

    /// A connection to this address, until the server there is given up.
    pub(crate) fn until_given_up(
        &self,
        address: &Arc<Address>,
        transport: Box<dyn Transport>,
    ) -> Box<dyn Transport> {
        let cut = Arc::<Cut>::default();
        let mut several = self.several();
        if several.given_up.contains(address) {
            cut.make();
        }
        let connections = &mut several.connections;
        if connections.len() == connections.capacity() {
            connections.retain(|(_, cut)| cut.strong_count() > 0);
            // So that this is done once in as many connections as there are.
            connections.reserve(connections.len() + 1);
        }
        connections.push((Arc::clone(address), Arc::downgrade(&cut)));
        Box::new(Cuttable::new(transport, cut))
    }

    /// What was found at each of several addresses when they were looked at last, in words that follow the address.
    pub fn seen(&self) -> Arc<Vec<(Address, String)>> {
        self.seen.load_full()
    }

    pub(crate) fn see(&self, states: Vec<(Address, String)>) {
        self.seen.store(Arc::new(states));
    }

    fn several(&self) -> MutexGuard<'_, Several> {
        self.several.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until it leads to another address than this one, and returns that; `None` if it does not in this time.
    /// Cancel safe.
    pub(crate) async fn other_than(
        &self,
        address: &Address,
        patience: Duration,
    ) -> Option<Arc<Address>> {
        let mut news = self.address.subscribe();
        let other = news.wait_for(|now| **now != *address);
        let other = tokio::time::timeout(patience, other).await.ok()?;
        other.ok().map(|now| Arc::clone(&now))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    fn address(text: &str) -> Address {
        Address::parse(text).expect("an address")
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_for_another_address_gets_it() {
        let (one, other) = (address("db1:3306"), address("db2:3306"));
        let route = Route::to(one.clone());
        let patience = Duration::from_secs(2);
        assert_eq!(route.other_than(&one, patience).await, None);
        let (found, ()) = tokio::join!(route.other_than(&one, patience), async {
            route.lead_to(other.clone());
        });
        assert_eq!(found.as_deref(), Some(&other));
        assert_eq!(*route.address(), other);
    }

    #[tokio::test]
    async fn a_doubt_is_heard_by_who_listens_later() {
        let route = Route::to(address("db1:3306"));
        route.doubt();
        route.doubted().await;
    }

    #[tokio::test]
    async fn connections_to_a_server_that_is_given_up_end() {
        let (one, other) = (Arc::new(address("db1:1")), Arc::new(address("db2:1")));
        let route = Route::to(Address::clone(&one));
        let connect = |address| {
            let (ours, theirs) = duplex(8);
            (route.until_given_up(address, Box::new(ours)), theirs)
        };
        let (mut lost, _silent) = connect(&one);
        let (mut kept, mut answers) = connect(&other);
        let waits = tokio::spawn(async move { lost.read(&mut [0; 8]).await });
        route.give_up(vec![Address::clone(&one)]);
        assert_eq!(waits.await.expect("no panic").expect("closed"), 0);
        let (mut late, _silent) = connect(&one);
        assert_eq!(late.read(&mut [0; 8]).await.expect("closed"), 0);
        answers.write_all(b"row").await.expect("room");
        assert_eq!(kept.read(&mut [0; 8]).await.expect("open"), 3);
        route.give_up(Vec::new());
        let (mut back, mut answers) = connect(&one);
        answers.write_all(b"row").await.expect("room");
        assert_eq!(back.read(&mut [0; 8]).await.expect("open"), 3);
    }

    #[tokio::test]
    async fn connections_that_have_closed_are_forgotten() {
        let address = Arc::new(address("db1:1"));
        let route = Route::to(Address::clone(&address));
        for _ in 0..1000 {
            drop(route.until_given_up(&address, Box::new(duplex(8).0)));
        }
        let known = route.several().connections.capacity();
        assert!(known < 16, "{known}");
    }
}
