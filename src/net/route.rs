//! Where the upstream is: at one address, or at one of several, which may change.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::sync::{Notify, watch};

use crate::config::Address;

/// The address that leads to the upstream now.
#[derive(Debug)]
pub struct Route {
    address: watch::Sender<Arc<Address>>,
    doubts: Notify,
    seen: ArcSwap<Vec<(Address, String)>>,
}

impl Route {
    /// Leads to this address.
    pub fn to(address: Address) -> Self {
        Self {
            address: watch::Sender::new(Arc::new(address)),
            doubts: Notify::new(),
            seen: ArcSwap::default(),
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

    /// What was found at each of several addresses when they were looked at last, in words that follow the address.
    pub fn seen(&self) -> Arc<Vec<(Address, String)>> {
        self.seen.load_full()
    }

    pub(crate) fn see(&self, states: Vec<(Address, String)>) {
        self.seen.store(Arc::new(states));
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
}
