//! Where a rule stands while proxies change over, and what is said of it to the others.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::task::JoinHandle;

use crate::catalog::HotTable;
use crate::config::{Mode, Rule, TableName};
use crate::counter::agreement::{self, Claim};
use crate::counter::rollup;
use crate::session::Past;

/// A rule and how far it is in force.
#[derive(Debug)]
pub(super) struct Standing {
    pub rule: Rule,
    /// Its table, as it was last read; `None` where it does not fit the rule, or nobody has asked yet.
    pub table: Option<Arc<HotTable>>,
    pub stage: Stage,
    /// Drained: base alone is the value from now on, whatever the mode.
    pub is_drained: bool,
    /// The rules do not have it any more: it goes when it is out of force.
    pub is_gone: bool,
    /// What it waits for, in words; the last that was logged.
    pub waits_for: Option<String>,
    /// Slots that are being emptied, and what was said to other proxies when that began.
    pub emptying: Option<(Side, JoinHandle<Result<u64, rollup::Error>>)>,
}

/// How far a rule is in force. From `Out` to `Serving` and back it goes through `Changing`, which goes with both.
#[derive(Debug)]
pub(super) enum Stage {
    /// Base alone is the value: forwarded, observed, or without slots.
    Out {
        /// Since this catalog; sessions that act by an earlier one may read slots still. `None`: none does.
        since: Option<u64>,
    },
    /// Reads add up slots, increments go to base.
    Changing {
        /// Since this catalog.
        since: u64,
        side: Side,
    },
    /// Slots hold nothing, and nothing will come; transactions that began while they did have not all ended.
    Leaving(Past),
    /// Increments go to slots.
    Serving,
}

/// What is said to other proxies in mid-way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Neither,
    Slots,
    Base,
}

impl Standing {
    pub(super) fn new(rule: Rule, table: Option<Arc<HotTable>>, stage: Stage) -> Self {
        Self {
            rule,
            table,
            stage,
            is_drained: false,
            is_gone: false,
            waits_for: None,
            emptying: None,
        }
    }

    /// Whether its increments are to go to slots.
    pub(super) fn wants_slots(&self) -> bool {
        self.rule.has_slots() && !self.is_drained && !self.is_gone
    }

    /// Whether it has arrived where it is to be.
    pub(super) fn is_settled(&self) -> bool {
        match &self.stage {
            Stage::Serving => self.wants_slots(),
            Stage::Out { since: None } => !self.wants_slots(),
            Stage::Out { .. } | Stage::Changing { .. } | Stage::Leaving(_) => false,
        }
    }

    /// Its slot table.
    pub(super) fn slots(&self) -> &TableName {
        &self.rule.slot_table
    }

    /// In which list of the catalog its table stands, if in any.
    pub(super) fn place(&self) -> Option<Place> {
        match (&self.stage, self.rule.mode) {
            (Stage::Serving, _) => Some(Place::Slots),
            (Stage::Changing { .. } | Stage::Leaving(_), _) => Some(Place::Changing),
            (Stage::Out { .. }, _) if self.is_drained || self.is_gone => None,
            (Stage::Out { .. }, Mode::Observe) => Some(Place::Observed),
            (Stage::Out { .. }, Mode::Enforce) if self.rule.slots == 0 => Some(Place::WithoutSlots),
            (Stage::Out { .. }, Mode::Enforce | Mode::Off) => None,
        }
    }

    /// What is said of it to the other proxies.
    pub(super) fn claims(&self) -> BTreeSet<String> {
        let slots = self.slots();
        let side = match &self.stage {
            Stage::Serving => Side::Slots,
            Stage::Changing { side, .. } => *side,
            Stage::Leaving(_) | Stage::Out { .. } => Side::Base,
        };
        let mut claims = BTreeSet::new();
        if !matches!(self.stage, Stage::Out { since: None }) {
            claims.insert(Claim::Reads.name(slots));
            claims.insert(self.knows());
        }
        match side {
            Side::Slots => claims.insert(Claim::Slots.name(slots)),
            Side::Base => claims.insert(Claim::Base.name(slots)),
            Side::Neither => false,
        };
        claims
    }

    /// What a proxy says that has the same columns in slots.
    pub(super) fn knows(&self) -> String {
        let hot = self.rule.columns.iter().chain(&self.rule.touch);
        let mut hot: Vec<_> = hot.cloned().collect();
        hot.sort_unstable();
        agreement::knows(self.slots(), &hot)
    }
}

/// A list of the catalog's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Tables with slots.
    Slots,
    /// The same, but nothing is put into them.
    Changing,
    /// Tables without slots.
    WithoutSlots,
    Observed,
}

/// What reloading does to a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// The rule as it was, but for what takes effect at once: mode, interval, number of slots.
    InPlace,
    /// More columns have slots: nobody may put anything there until all look.
    Grows,
    /// What slots hold of it must be in base first.
    Other,
}

impl Change {
    pub(super) fn between(old: &Rule, new: &Rule) -> Self {
        let within = |some: &[String], all: &[String]| {
            let is_in = |name: &String| all.iter().any(|other| other.eq_ignore_ascii_case(name));
            some.iter().all(is_in)
        };
        let keeps = within(&old.columns, &new.columns) && within(&old.touch, &new.touch);
        let is_same = within(&new.columns, &old.columns) && within(&new.touch, &old.touch);
        let same_slots = old.slot_table == new.slot_table && (old.slots == 0) == (new.slots == 0);
        match (keeps && same_slots, is_same) {
            (true, true) => Self::InPlace,
            (true, false) => Self::Grows,
            (false, _) => Self::Other,
        }
    }
}
