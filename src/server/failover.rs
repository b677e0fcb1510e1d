//! Follows the primary, where the upstream is several servers: see [`crate::counter::primary`] for which one that is.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::rules::Rules;
use crate::config::{Address, Upstreams};
use crate::counter::control::Control;
use crate::counter::node::Claims;
use crate::counter::primary::{self, Step};
use crate::session::Shared;

/// How often all servers are looked at.
const LOOK: Duration = Duration::from_secs(1);

/// The same, while the one that the proxy is on takes no writes.
const LOOK_FOR_ANOTHER: Duration = Duration::from_millis(100);

/// How long a server may take to answer.
const ANSWER: Duration = Duration::from_secs(2);

/// How long a client that has connected waits for another server to take the place of one that cannot be reached:
/// until somebody has looked.
const PATIENCE: Duration = Duration::from_secs(3);

/// How long clients wait for another server.
pub(super) fn patience(upstreams: &Upstreams) -> Duration {
    match upstreams.only() {
        Some(_) => Duration::ZERO,
        None => PATIENCE,
    }
}

/// Follows the primary.
pub(super) struct Failover {
    pub(super) control: Control,
    pub(super) claims: Arc<Claims>,
    pub(super) rules: Rules,
    pub(super) shared: Arc<Shared>,
}

impl Failover {
    /// Never returns.
    pub(super) async fn keep(self) {
        let config = Arc::clone(self.control.config());
        if config.upstream.only().is_some() {
            return std::future::pending().await;
        }
        let mut seen = HashMap::new();
        let mut told = None;
        loop {
            let mut pause = LOOK;
            let mut looks = primary::look_at_all(&config, ANSWER).await;
            let states = looks.iter();
            let states = states.map(|(address, found)| (address.clone(), primary::state(found)));
            self.control.route().see(states.collect());
            let here = self.control.route().address();
            match primary::step(&here, &looks, &mut seen) {
                Step::Stay { is_fit, complaint } => {
                    if !is_fit {
                        pause = LOOK_FOR_ANOTHER;
                    }
                    if let Some(complaint) = complaint.as_ref().filter(|_| complaint != told) {
                        tracing::warn!("{complaint}");
                    }
                    told = complaint;
                }
                Step::Move(index, why) => {
                    let (address, found) = looks.swap_remove(index);
                    if let Ok(look) = found {
                        tracing::warn!("upstreams: {here} {why}; {address} takes its place");
                        self.move_to(address, look).await;
                    }
                    told = None;
                }
            }
            // However many clients doubt.
            tokio::time::sleep(LOOK_FOR_ANOTHER).await;
            tokio::select! {
                () = tokio::time::sleep(pause - LOOK_FOR_ANOTHER) => {}
                () = self.control.route().doubted() => {}
            }
        }
    }

    /// The proxy's own connections and its rules follow first, so that no session acts on that server by what was agreed
    /// upon on another; then the sessions.
    async fn move_to(&self, address: Address, look: primary::Look) {
        self.control.move_to(look);
        self.claims.lose();
        self.rules.agree_again().await;
        self.control.route().lead_to(address);
        self.shared.sessions.notify();
    }
}
