//! What the console shows, and has at hand to act on.

use std::sync::Arc;
use std::time::Instant;

use crate::admin::RecentLog;
use crate::config::Config;
use crate::counter::control::Control;
use crate::session::Shared;

/// A proxy, as the console sees it.
#[derive(Debug)]
pub struct Desk {
    /// What sessions share.
    pub(super) shared: Arc<Shared>,
    /// The proxy's own account.
    pub(super) control: Control,
    /// As it was read at start.
    pub(super) config: Arc<Config>,
    /// The last records of the log.
    pub(super) log: Arc<RecentLog>,
    pub(super) started: Instant,
}

impl Desk {
    /// Of a proxy that starts now.
    pub fn new(
        shared: Arc<Shared>,
        control: Control,
        config: Arc<Config>,
        log: Arc<RecentLog>,
    ) -> Self {
        Self {
            shared,
            control,
            config,
            log,
            started: Instant::now(),
        }
    }
}
