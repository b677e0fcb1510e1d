//! What the console shows, and has at hand to act on.

use std::sync::Arc;
use std::time::Instant;

use arc_swap::ArcSwap;

use super::orders::Rulebook;
use crate::admin::RecentLog;
use crate::config::{Config, HostPort};
use crate::counter::control::Control;
use crate::session::Shared;

/// A proxy, as the console sees it.
#[derive(Debug)]
pub struct Desk {
    /// What sessions share.
    pub(super) shared: Arc<Shared>,
    /// The proxy's own account.
    pub(super) control: Control,
    config: Arc<ArcSwap<Config>>,
    /// What changes rules; `None` where they are from no file.
    pub(super) rules: Option<Box<dyn Rulebook>>,
    /// The last records of the log.
    pub(super) log: Arc<RecentLog>,
    pub(super) started: Instant,
}

impl Desk {
    /// Of a proxy that starts now.
    pub fn new(
        shared: Arc<Shared>,
        control: Control,
        config: Arc<ArcSwap<Config>>,
        log: Arc<RecentLog>,
    ) -> Self {
        Self {
            shared,
            control,
            config,
            rules: None,
            log,
            started: Instant::now(),
        }
    }

    /// With what changes its rules.
    #[must_use]
    pub fn with_rules(mut self, rules: impl Rulebook + 'static) -> Self {
        self.rules = Some(Box::new(rules));
        self
    }

    /// Where the console is to listen, if anywhere.
    pub fn address(&self) -> Option<HostPort> {
        let config = self.config();
        config.admin.as_ref().map(|admin| admin.address.clone())
    }

    /// The rules file as it was last read.
    pub(super) fn config(&self) -> Arc<Config> {
        self.config.load_full()
    }
}
