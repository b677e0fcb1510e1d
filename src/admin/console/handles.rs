//! What the console shows and acts on.

use std::sync::Arc;
use std::time::Instant;

use crate::admin::RecentLog;
use crate::config::Config;
use crate::counter::control::Control;
use crate::server::Rules;
use crate::session::Shared;

/// A proxy, as the console sees it.
#[derive(Debug)]
pub struct Desk {
    /// What sessions share.
    pub(super) shared: Arc<Shared>,
    /// The proxy's own account.
    pub(super) control: Control,
    /// The rules, which change.
    pub(super) rules: Rules,
    /// The last records of the log.
    pub(super) log: Arc<RecentLog>,
    pub(super) started: Instant,
}

impl Desk {
    /// Of a proxy that starts now.
    pub fn new(shared: Arc<Shared>, control: Control, rules: Rules, log: Arc<RecentLog>) -> Self {
        Self {
            shared,
            control,
            rules,
            log,
            started: Instant::now(),
        }
    }
    /// The settings of rules.yaml; those that need a restart are as they were at start.
    pub(super) fn config(&self) -> Arc<Config> {
        self.rules.config()
    }
}
