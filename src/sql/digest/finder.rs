//! Which row a statement means, by its tokens.

use super::{Compared, MOST_COMPARED, Place};
use crate::sql::words::identifier;

/// Finds what identifies the row.
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
    /// INSERT: it means a row that others may mean too only if ON DUPLICATE KEY UPDATE follows.
    is_insert: bool,
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
    /// The first row after VALUES.
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
    /// `(` after IN.
    Opened(String),
    /// The value that a column is compared with.
    Compared,
    /// `(` or `,` before a value of a row.
    Gap,
    Mark(u8),
}

impl Finder {
    pub(super) fn word(&mut self, spelled: &[u8], quoted: bool) {
        self.pending = None;
        let ends = [
            &b"AND"[..],
            b"GROUP",
            b"ORDER",
            b"LIMIT",
            b"FOR",
            b"RETURNING",
        ];
        let is_end = !quoted && ends.iter().any(|end| spelled.eq_ignore_ascii_case(end));
        match self.before[0] {
            Seen::Equals(_) | Seen::Opened(_) | Seen::Mark(b'!') => self.lose(),
            Seen::Compared if !is_end => self.lose(),
            _ => {}
        }
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
            ("INSERT", Clause::Head) => {
                self.is_insert = true;
                self.clause = Clause::Insert;
            }
            ("SET", Clause::Insert) => self.clause = Clause::InsertSet,
            ("VALUES" | "VALUE", Clause::Insert) => self.clause = Clause::Values,
            ("SELECT", Clause::Insert) => self.clause = Clause::Tail,
            ("DUPLICATE", Clause::Values | Clause::InsertSet | Clause::Tail) => {
                self.clause = Clause::Duplicate;
            }
            ("WHERE", Clause::Head) => self.clause = Clause::Where,
            // A row that is compared with what has been found may still be another one.
            (
                "OR" | "XOR" | "NOT" | "UNION" | "SELECT" | "LIKE" | "RLIKE" | "REGEXP" | "SOUNDS"
                | "BETWEEN",
                Clause::Where,
            ) => self.lose(),
            ("GROUP" | "ORDER" | "LIMIT" | "FOR" | "HAVING" | "RETURNING", Clause::Where) => {
                self.clause = Clause::Tail;
            }
            ("IN", _) => {
                return match (&self.before[0], self.is_alone()) {
                    (Seen::Name(name), true) => Seen::In(name.clone()),
                    _ => {
                        self.lose();
                        Seen::Nothing
                    }
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
        if mark == b'.' && matches!(self.before[0], Seen::Name(_)) {
            // What qualifies a name is no part of it.
            self.before[0] = std::mem::take(&mut self.before[1]);
            return;
        }
        self.doubt(mark);
        let seen = match (mark, &self.before[0]) {
            (b'=', Seen::Name(name)) if self.clause != Clause::Where || self.is_alone() => {
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
            (mark, _) => Seen::Mark(mark),
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

    /// Whether the name seen last is all that there is on its side of an operator.
    fn is_alone(&self) -> bool {
        matches!(self.before[1], Seen::Nothing | Seen::Mark(b'('))
    }

    /// Drops what has been found if a mark makes a comparison more than a column and a value. Bounds (`n > 0`) do not
    /// change the row if the other comparisons identify it.
    fn doubt(&mut self, mark: u8) {
        let is_lost = match (&self.before[0], mark) {
            (Seen::Mark(b'<' | b'>' | b'!'), b'=') => false,
            (Seen::Name(_), b'=') => !self.is_alone(),
            // `<=>`.
            (Seen::Mark(b'='), b'>') => true,
            (Seen::Compared, mark) => !matches!(mark, b')' | b';'),
            (Seen::Equals(_) | Seen::Opened(_) | Seen::Mark(b'!'), _) => true,
            (_, mark) => matches!(mark, b'=' | b'|'),
        };
        if is_lost {
            self.lose();
        }
    }

    /// What the WHERE compares does not identify the row.
    fn lose(&mut self) {
        if self.clause == Clause::Where {
            self.compared.clear();
            self.pending = None;
            self.clause = Clause::Tail;
        }
    }

    pub(super) fn value(&mut self, place: Place) {
        if self.pending.take().is_some() || self.before[0] == Seen::Compared {
            self.lose();
        }
        let compared = |column: &String| Compared {
            column: column.clone(),
            place: place.clone(),
        };
        let mut seen = Seen::Nothing;
        match (&self.before[0], self.clause) {
            (Seen::Equals(column), Clause::Where | Clause::InsertSet) => {
                let found = compared(column);
                self.compared.push(found);
                seen = Seen::Compared;
            }
            (Seen::Opened(column), Clause::Where) => {
                self.pending = Some(compared(column));
                seen = Seen::Compared;
            }
            (Seen::Gap, Clause::Values) if self.depth == 1 => {
                let position = self.values;
                let named = self.columns.get(position).cloned();
                let column = named.unwrap_or_else(|| format!("#{}", position + 1));
                let found = compared(&column);
                self.compared.push(found);
            }
            _ => {}
        }
        self.see(seen);
    }

    fn see(&mut self, seen: Seen) {
        self.before.swap(0, 1);
        self.before[0] = seen;
    }

    pub(super) fn finish(self) -> Vec<Compared> {
        let mut compared = self.compared;
        let is_set = |column: &str| self.set.iter().any(|set| set.eq_ignore_ascii_case(column));
        compared.retain(|compared| !is_set(&compared.column));
        // No other session uses a new row; of too many columns any may be those that identify it.
        let is_new = self.is_insert && self.clause != Clause::Duplicate;
        if is_new || compared.len() > MOST_COMPARED {
            compared.clear();
        }
        compared
    }
}
