//! How far a rule is in force while it is switched on or off, and what is said about it to other proxies.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::catalog::HotTable;
use crate::config::{Mode, Rule, TableName};
use crate::counter::agreement::{self, Claim};
use crate::counter::rollup;

/// A rule and how far it is in force.
#[derive(Debug)]
pub(super) struct Standing {
    pub rule: Rule,
    /// Its table, as it was last read; `None` if it does not fit the rule, or was not read yet.
    pub table: Option<Arc<HotTable>>,
    pub stage: Stage,
    /// Why slots do not go with the table as it is now, if so.
    pub misfit: Option<String>,
    /// The rows, or their columns, are gone: the values in slots may belong to no row.
    pub is_unreadable: bool,
    /// The table has changed so that it needs other slots: the rule goes out of force, and comes back.
    pub is_remade: bool,
    /// Its slot table was away and is being made again. DDL is not answered before that is done, or this time has come.
    pub restored_by: Option<Instant>,
    /// Who needs slots, if its table may rest without them.
    pub needs: Needs,
    /// Drained: base alone is the value from now on, whatever the mode.
    pub is_drained: bool,
    /// The file no longer has this rule: it is removed when it is out of force.
    pub is_gone: bool,
    /// What it waits for, in words, as it was last logged.
    pub waits_for: Option<String>,
    /// Slots that are being emptied, and what was said to other proxies when that began.
    pub emptying: Option<(Side, JoinHandle<Result<u64, rollup::Error>>)>,
}

/// Who needs the slots of a table that may rest without them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Needs {
    /// The sessions of this proxy do.
    pub here: bool,
    /// The server is read-only: what its source puts into slots comes at any time.
    pub replica: bool,
    /// Other members of the server's cluster take writes: increments of a row would fail each other there.
    pub several_writers: bool,
    /// Other proxies are taken to need them until then.
    pub others: Option<Instant>,
    /// It does not come to rest before this time.
    pub stays_until: Option<Instant>,
    /// Since when another proxy's slots have kept it from rest.
    pub held_up: Option<Instant>,
}

impl Needs {
    /// Whether this proxy needs them, whatever others do.
    fn any_here(self) -> bool {
        self.here || self.replica || self.several_writers
    }

    fn any(self) -> bool {
        self.any_here() || self.others.is_some() || self.stays_until.is_some()
    }
}

/// How far a rule is in force. From `Out` to `Serving` and back it goes through `Changing`, which agrees with both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Base alone is the value: forwarded, observed, or without slots.
    Out {
        /// Since this catalog; sessions that act by an earlier one may still read slots. `None`: none does.
        since: Option<u64>,
    },
    /// A table that has rested comes to need slots: as `Changing`, but this proxy still says that it takes base alone,
    /// and goes back to that if sessions do not follow at once.
    Opening {
        /// Since this catalog.
        since: u64,
        /// At this time it goes back.
        until: Instant,
    },
    /// A table comes to rest: as `Changing`, but this proxy still says that it increments in slots, and goes back to
    /// that if sessions do not follow at once.
    Closing {
        /// Since this catalog.
        since: u64,
        /// At this time it goes back.
        until: Instant,
    },
    /// Reads add up slots, increments go to base.
    Changing {
        /// Since this catalog.
        since: u64,
        side: Side,
    },
    /// Slots hold nothing, and nothing will be added; transactions that began while they held something may still be
    /// open.
    Leaving {
        /// Since this catalog.
        since: u64,
    },
    /// Increments go to slots.
    Serving,
}

/// What is said to other proxies during the change.
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
            misfit: None,
            is_unreadable: false,
            is_remade: false,
            restored_by: None,
            needs: Needs::default(),
            is_drained: false,
            is_gone: false,
            waits_for: None,
            emptying: None,
        }
    }

    /// Whether its increments are to go to slots.
    pub(super) fn wants_slots(&self) -> bool {
        (!self.rule.may_rest() || self.needs.any()) && self.may_have_slots()
    }

    /// Whether its increments may go to slots, if they need them.
    fn may_have_slots(&self) -> bool {
        let is_asked_for = self.rule.has_slots() && !self.is_drained && !self.is_gone;
        is_asked_for && self.misfit.is_none() && !self.is_remade
    }

    /// Whether its table is to do without slots until they are needed.
    pub(super) fn rests(&self) -> bool {
        self.may_have_slots() && !self.wants_slots()
    }

    /// Whether it has arrived at its stage.
    pub(super) fn is_settled(&self) -> bool {
        match &self.stage {
            Stage::Serving => self.wants_slots(),
            Stage::Out { since: None } => !self.wants_slots() && !self.is_remade,
            Stage::Out { .. }
            | Stage::Opening { .. }
            | Stage::Closing { .. }
            | Stage::Changing { .. }
            | Stage::Leaving { .. } => false,
        }
    }

    /// More columns have slots, which sessions with an earlier catalog do not know.
    pub(super) fn grow(&mut self, number: u64) {
        match &mut self.stage {
            Stage::Serving => {
                self.stage = Stage::Changing {
                    since: number,
                    side: Side::Slots,
                };
            }
            Stage::Opening { since, .. }
            | Stage::Closing { since, .. }
            | Stage::Changing { since, .. }
            | Stage::Leaving { since } => *since = number,
            Stage::Out { .. } => {}
        }
    }

    /// Takes over its table as it was just read.
    pub(super) fn see_table(&mut self, now: Arc<HotTable>) {
        let is_out = matches!(self.stage, Stage::Out { .. });
        if let Some(before) = &self.table
            && !is_out
        {
            self.is_remade |= !go_with_the_same_slots(before, &now);
        }
        self.table = Some(now);
        self.misfit = None;
        self.is_unreadable = false;
    }

    /// Its slot table.
    pub(super) fn slots(&self) -> &TableName {
        &self.rule.slot_table
    }

    /// The list of the catalog that its table is in, if any.
    pub(super) fn place(&self) -> Option<Place> {
        match (&self.stage, self.rule.mode) {
            (Stage::Serving, _) => Some(Place::Slots),
            (
                Stage::Opening { .. }
                | Stage::Closing { .. }
                | Stage::Changing { .. }
                | Stage::Leaving { .. },
                _,
            ) => Some(Place::Changing),
            (Stage::Out { .. }, _) if self.is_drained || self.is_gone => None,
            (Stage::Out { .. }, Mode::Observe) => Some(Place::Observed),
            (Stage::Out { .. }, Mode::Enforce) if self.rule.slots == 0 || self.rests() => {
                Some(Place::WithoutSlots)
            }
            (Stage::Out { .. }, Mode::Enforce | Mode::Off) => None,
        }
    }

    /// What is said about it to the other proxies.
    pub(super) fn claims(&self) -> BTreeSet<String> {
        let slots = self.slots();
        let side = match &self.stage {
            Stage::Serving | Stage::Closing { .. } => Side::Slots,
            Stage::Changing { side, .. } => *side,
            Stage::Opening { .. } | Stage::Leaving { .. } | Stage::Out { .. } => Side::Base,
        };
        let mut claims = BTreeSet::new();
        if !matches!(self.stage, Stage::Out { since: None }) {
            claims.insert(Claim::Reads.name(slots));
            claims.insert(self.knows());
        }
        let needs_slots = self.needs.any_here() || !self.rule.may_rest();
        if self.may_have_slots() && needs_slots {
            claims.insert(Claim::Motion.name(slots));
        }
        match side {
            Side::Slots => claims.insert(Claim::Slots.name(slots)),
            Side::Base => claims.insert(Claim::Base.name(slots)),
            Side::Neither => false,
        };
        claims
    }

    /// What a proxy with the same columns in slots says.
    pub(super) fn knows(&self) -> String {
        let hot = self.rule.columns.iter().chain(&self.rule.touch);
        let mut hot: Vec<_> = hot.cloned().collect();
        hot.sort_unstable();
        agreement::knows(self.slots(), &hot)
    }
}

/// Whether a slot table for the one is right for the other: keys, counters and times are of the same types.
fn go_with_the_same_slots(one: &HotTable, other: &HotTable) -> bool {
    let column = |table: &HotTable, position: usize| {
        let column = &table.columns[position];
        (column.name.clone(), column.definition.clone())
    };
    let keys = |table: &HotTable| -> Vec<_> {
        let keys = table.primary_key.iter();
        keys.map(|key| column(table, *key)).collect()
    };
    let touches = |table: &HotTable| -> BTreeSet<_> {
        let touches = table.touches.iter();
        touches.map(|touch| column(table, *touch)).collect()
    };
    let counters = |table: &HotTable| -> BTreeSet<_> {
        let counters = table.counters.iter();
        counters
            .map(|counter| (column(table, counter.column), counter.bounds.is_some()))
            .collect()
    };
    keys(one) == keys(other) && touches(one) == touches(other) && counters(one) == counters(other)
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
    /// The rule is unchanged except for what takes effect at once: mode, interval, number of slots.
    InPlace,
    /// More columns have slots: nothing may be put there until all sessions read them.
    Grows,
    /// Its values in slots must be moved into base first.
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
