//! What tells which row a statement means, out of its tokens.

use super::{Compared, MOST_COMPARED, Place};
use crate::sql::words::identifier;

/// Finds what tells which row is meant.
#[derive(Debug, Default)]
pub(super) struct Finder {
    clause: Clause,
    depth: usize,
    /// The last two significant tokens, the last one first.
    before: [Seen; 2],
    /// Columns that an INSERT names, and how many values of its first row have been seen.
    columns: Vec<String>,
    values: usize,
    /// A value that counts once the parenthesis closes: `IN (42)` is `= 42`.
    pending: Option<Compared>,
    compared: Vec<Compared>,
    /// Columns that ON DUPLICATE KEY UPDATE sets.
    set: Vec<String>,
}

/// Which part of the statement it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Clause {
    /// Up to the table's name or beyond: UPDATE .. SET too.
    #[default]
    Head,
    /// INSERT INTO t: a list of columns may come.
    Insert,
    /// INSERT INTO t SET.
    InsertSet,
    /// The first row behind VALUES.
    Values,
    /// WHERE.
    Where,
    /// ON DUPLICATE KEY UPDATE.
    Duplicate,
    /// Nothing more is of interest.
    Tail,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Seen {
    #[default]
    Nothing,
    Name(String),
    In(String),
    Equals(String),
    /// `(` behind IN.
    Opened(String),
    /// `(` or `,` before a value of a row.
    Gap,
}

impl Finder {
    pub(super) fn word(&mut self, spelled: &[u8], quoted: bool) {
        self.pending = None;
        let seen = match quoted {
            true => Seen::Name(identifier(spelled)),
            false => self.plain(spelled),
        };
        if let (Clause::Insert, 1, Seen::Name(name)) = (self.clause, self.depth, &seen) {
            self.columns.push(name.clone());
        }
        self.see(seen);
    }

    /// A word without quotes: a keyword, perhaps.
    fn plain(&mut self, spelled: &[u8]) -> Seen {
        let word = String::from_utf8_lossy(spelled).into_owned();
        if self.depth > 0 && self.clause != Clause::Where {
            return Seen::Name(word);
        }
        match (word.to_ascii_uppercase().as_str(), self.clause) {
            ("INSERT", Clause::Head) => self.clause = Clause::Insert,
            ("SET", Clause::Insert) => self.clause = Clause::InsertSet,
            ("VALUES" | "VALUE", Clause::Insert) => self.clause = Clause::Values,
            ("SELECT", Clause::Insert) => self.clause = Clause::Tail,
            ("DUPLICATE", Clause::Values | Clause::InsertSet | Clause::Tail) => {
                self.clause = Clause::Duplicate;
            }
            ("WHERE", Clause::Head) => self.clause = Clause::Where,
            ("OR" | "XOR" | "NOT" | "UNION", Clause::Where) => {
                // A row that is compared with this may be another one all the same.
                self.compared.clear();
                self.clause = Clause::Tail;
            }
            ("SELECT" | "GROUP" | "ORDER" | "LIMIT" | "FOR" | "HAVING", Clause::Where) => {
                self.clause = Clause::Tail;
            }
            ("IN", _) => {
                return match &self.before[0] {
                    Seen::Name(name) => Seen::In(name.clone()),
                    _ => Seen::Nothing,
                };
            }
            ("AND", _) => return Seen::Nothing,
            _ => return Seen::Name(word),
        }
        Seen::Nothing
    }

    pub(super) fn mark(&mut self, mark: u8) {
        if mark != b')' {
            self.pending = None;
        }
        let seen = match (mark, &self.before[0]) {
            (b'=', Seen::Name(name)) => {
                if self.clause == Clause::Duplicate && self.depth == 0 {
                    self.set.push(name.clone());
                }
                Seen::Equals(name.clone())
            }
            (b'(', Seen::In(name)) => Seen::Opened(name.clone()),
            (b'(', _) if self.clause == Clause::Values => Seen::Gap,
            (b',', _) if self.clause == Clause::Values && self.depth == 1 => {
                self.values += 1;
                Seen::Gap
            }
            _ => Seen::Nothing,
        };
        match mark {
            b'(' => self.depth += 1,
            b')' => {
                self.depth = self.depth.saturating_sub(1);
                self.compared.extend(self.pending.take());
                if self.clause == Clause::Values && self.depth == 0 {
                    self.clause = Clause::Tail;
                }
            }
            _ => {}
        }
        self.see(seen);
    }

    pub(super) fn value(&mut self, place: Place) {
        self.pending = None;
        let compared = |column: &String| Compared {
            column: column.clone(),
            place: place.clone(),
        };
        match (&self.before[0], self.clause) {
            (Seen::Equals(column), Clause::Where | Clause::InsertSet) => {
                let found = compared(column);
                self.compared.push(found);
            }
            (Seen::Opened(column), Clause::Where) => self.pending = Some(compared(column)),
            (Seen::Gap, Clause::Values) if self.depth == 1 => {
                let position = self.values;
                let named = self.columns.get(position).cloned();
                let column = named.unwrap_or_else(|| format!("#{}", position + 1));
                let found = compared(&column);
                self.compared.push(found);
            }
            _ => {}
        }
        self.see(Seen::Nothing);
    }

    fn see(&mut self, seen: Seen) {
        self.before.swap(0, 1);
        self.before[0] = seen;
    }

    pub(super) fn finish(self) -> Vec<Compared> {
        let mut compared = self.compared;
        let is_set = |column: &str| self.set.iter().any(|set| set.eq_ignore_ascii_case(column));
        compared.retain(|compared| !is_set(&compared.column));
        compared.truncate(MOST_COMPARED);
        compared
    }
}
