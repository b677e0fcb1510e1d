//! One rule: a hot table and its counters.

use std::time::Duration;

use super::adopted::Adopted;
use super::error::Place;
use super::names::TableName;

/// One entry of `counters`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Position in the file's list, from 0.
    pub index: usize,
    /// Line of the rule in the file, from 1.
    pub line: u64,
    /// The hot table, as the file spells it.
    pub table: TableName,
    /// Its slot table.
    pub slot_table: TableName,
    /// The counters, as the file spells them; at least one, none twice.
    pub columns: Vec<String>,
    /// Columns that an increment may set to the current time.
    pub touch: Vec<String>,
    /// Maximum number of slots of a key, 0 to 256; 0 asks for combining on the base row.
    pub slots: u16,
    /// What to do with the table's statements.
    pub mode: Mode,
    /// How often slots are moved into base.
    pub rollup: Duration,
    /// When the table needs no slots.
    pub rest: Rest,
    /// Slots that an application writes by hand, to be rolled up as well.
    pub adopts: Option<Adopted>,
}

impl Rule {
    /// Whether the table's statements are planned: also where they are then only counted.
    pub fn plans(&self) -> bool {
        self.mode != Mode::Off
    }

    /// Whether the table's statements are rewritten.
    pub fn acts(&self) -> bool {
        self.mode == Mode::Enforce
    }

    /// Whether the table needs a slot table: `slots: 0` combines on the base row.
    pub fn has_slots(&self) -> bool {
        self.acts() && self.slots > 0
    }

    /// Whether slots are in use only while they are needed.
    pub fn may_rest(&self) -> bool {
        self.has_slots() && self.rest == Rest::Auto
    }

    /// The place of this rule's `field`, for an error.
    pub fn place(&self, field: &str) -> Place {
        Place {
            rule: Some((self.index, self.table.to_string())),
            field: Some(field.to_owned()),
            line: self.line,
        }
    }
}

/// When a table with slots does without them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rest {
    /// Until transactions come to wait for each other's rows.
    #[default]
    Auto,
    /// Never.
    Never,
}

impl Rest {
    /// As it is spelled in rules.yaml.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Never => "never",
        }
    }
}

/// What a rule does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Nothing: the table is forwarded.
    Off,
    /// Plans are made and counted, statements forwarded.
    Observe,
    /// Statements are rewritten.
    #[default]
    Enforce,
}

impl Mode {
    /// From its name, in any letter case.
    pub fn parse(name: &str) -> Option<Self> {
        let modes = [Self::Off, Self::Observe, Self::Enforce];
        let mut modes = modes.into_iter();
        modes.find(|mode| mode.name().eq_ignore_ascii_case(name))
    }

    /// As it is spelled in rules.yaml.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Observe => "observe",
            Self::Enforce => "enforce",
        }
    }
}
