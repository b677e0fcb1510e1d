//! For how long sessions may act by what the proxies have agreed on.
//!
//! A proxy that is not heard for a while is taken for gone by the others, which then go on without it. But it may only
//! have been stopped, and go on where it was. So what it has agreed on is leased: when the lease has run out, its
//! sessions wait until the rules are at the stage that agrees with whatever the others have come to do.

use std::sync::{Arc, Mutex, OnceLock};

use tokio::time::Instant;

use crate::counter::node::Claims;
use crate::counter::unpoisoned;

/// What sessions must know of the agreement.
#[derive(Debug, Default)]
pub struct Lease {
    claims: OnceLock<Arc<Claims>>,
    /// How many times the number had been lost when all rules were last put to that stage, and the number of the hot
    /// tables in which they are there.
    agreed_again: Mutex<(u64, u64)>,
}

impl Lease {
    /// Goes by these claims from now on.
    pub fn go_by(&self, claims: Arc<Claims>) {
        self.claims.set(claims).ok();
    }

    /// After so many losses, the hot tables with this number agree with whatever others do.
    pub fn agree_again(&self, losses: u64, number: u64) {
        *unpoisoned(&self.agreed_again) = (losses, number);
    }

    /// Whether a session that has the hot tables with this number may act by them.
    pub(crate) fn may_act(&self, number: u64) -> bool {
        let Some(claims) = self.claims.get() else {
            return true;
        };
        let (losses, since) = *unpoisoned(&self.agreed_again);
        let has_seen_all = losses == claims.losses() && number >= since;
        has_seen_all && claims.lease().is_none_or(|until| Instant::now() < until)
    }
}
