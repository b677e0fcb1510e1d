//! Slots into base rows, in the open transaction: base is locked, the control account tells which slot rows are open, and
//! these are moved, each by its name.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use super::Session;
use super::error::Error;
use super::hidden::{Failure, Hidden, Row, encode_query, failure};
use super::state::Keys;
use crate::catalog::HotTable;
use crate::counter::fold::{self, FoldStatements, OpenRow};
use crate::counter::{Key, KeyForm};
use crate::sql::is_stored_as_written;
use crate::sql::plan::{FoldTable, Scope};
use crate::sql::template::{Filling, Template};
use crate::wire::reply;

/// What is to be folded, with the client's parameters filled in.
#[derive(Clone, Debug)]
pub(super) enum Bound {
    Keys(Keys),
    /// Rows that are found by other columns than the key's; which keys they have is known when they are locked.
    Rows {
        table: Arc<HotTable>,
        predicate: Vec<u8>,
        /// The key of a row that the statement may insert.
        inserted: Option<Vec<u8>>,
    },
}

impl Bound {
    /// The whole table where a parameter has no literal.
    pub(super) fn of(fold: &FoldTable, parameters: Option<&[Vec<u8>]>) -> Self {
        let table = Arc::clone(&fold.table);
        let filled = |template: &Template, parameters| {
            let mut text = Vec::new();
            let filling = Filling {
                parameters,
                ..Filling::default()
            };
            template.render(&filling, &mut text);
            text
        };
        let is_stored = |parameters: &&[Vec<u8>]| {
            fold.stored.iter().all(|stored| {
                let literal = parameters.get(usize::from(stored.parameter));
                literal.is_some_and(|literal| {
                    is_stored_as_written(&table.columns[stored.column], literal)
                })
            })
        };
        match (&fold.scope, parameters.filter(is_stored)) {
            (Scope::Keys(template), Some(parameters)) => Self::Keys(Keys {
                predicate: Some(filled(template, parameters)),
                table,
            }),
            (Scope::Rows(rows), Some(parameters)) => Self::Rows {
                predicate: filled(&rows.predicate, parameters),
                inserted: rows.key.as_ref().map(|key| filled(key, parameters)),
                table,
            },
            (Scope::Table, _) | (_, None) => Self::Keys(Keys::whole(table)),
        }
    }

    /// As far as they are known before anything is locked.
    pub(super) fn into_keys(self) -> Keys {
        match self {
            Self::Keys(keys) => keys,
            Self::Rows { table, .. } => Keys::whole(table),
        }
    }

    pub(super) fn table(&self) -> &Arc<HotTable> {
        match self {
            Self::Keys(keys) => &keys.table,
            Self::Rows { table, .. } => table,
        }
    }

    /// What finds the base rows.
    fn predicate(&self) -> Option<&[u8]> {
        match self {
            Self::Keys(keys) => keys.predicate.as_deref(),
            Self::Rows { predicate, .. } => Some(predicate),
        }
    }
}

impl From<Keys> for Bound {
    fn from(keys: Keys) -> Self {
        Self::Keys(keys)
    }
}

/// The keys of the base rows that a fold has locked, unless they are too many.
fn keys_of(form: &KeyForm, rows: &[Row]) -> Option<Vec<Key>> {
    let few = rows.len() <= fold::MOST_LOCKED;
    few.then(|| rows.iter().map(|row| form.read(row)).collect())?
}

impl Session {
    /// Moves what the slots of these hold into base, or what those of the whole table hold, where the server does not take
    /// the predicate for a query, or where the rows cannot be told. Whether there was anything to move, and which keys it
    /// was about. The inner error is an ERR payload: what has been moved until then stays moved, and no value has changed.
    pub(super) async fn move_slots(
        &mut self,
        bound: &Bound,
    ) -> Result<Result<(bool, Keys), Vec<u8>>, Error> {
        /// `day = 'no day'`: an UPDATE may be let off with a warning, or has an error with other words.
        const WRONG_VALUE: u16 = 1525;
        let is_by_rows = matches!(bound, Bound::Rows { .. });
        if !is_by_rows || self.locks_gaps() {
            match self.move_slots_of(bound).await? {
                Ok(Some(moved)) => return Ok(Ok(moved)),
                Ok(None) => {}
                Err(error) => {
                    let code = reply::Err::decode(&error).map_or(0, |err| err.code);
                    let is_about_text = is_by_rows && failure(&error) == Failure::Ours;
                    if code != WRONG_VALUE && !is_about_text {
                        return Ok(Err(error));
                    }
                }
            }
        }
        let whole = Bound::Keys(Keys::whole(Arc::clone(bound.table())));
        let moved = self.move_slots_of(&whole).await?;
        let unknown = || (true, whole.clone().into_keys());
        Ok(moved.map(|moved| moved.unwrap_or_else(unknown)))
    }

    /// Locks the base rows of these and moves what their slots hold. `None`: their keys cannot be told.
    async fn move_slots_of(
        &mut self,
        bound: &Bound,
    ) -> Result<Result<Option<(bool, Keys)>, Vec<u8>>, Error> {
        let table = bound.table();
        // Slot rows that are closed: whoever increments next must ask base first. An UPDATE that a closed row refuses
        // keeps it locked, and base is what a fold holds that waits for it. All of the table's, as another counter of the
        // row may open it again, which says nothing of what base has room for.
        self.shared.slots.forget_all(table);
        let form = KeyForm::of(table);
        let named = form.as_ref().filter(|_| bound.predicate().is_some());
        let lock = fold::lock(table, bound.predicate(), named);
        self.write_query(&lock).await?;
        let rows = match self.read_hidden_rows(fold::MOST_LOCKED + 1).await? {
            Err(error) => return Ok(Err(error)),
            Ok(rows) => rows,
        };
        let locked = named.and_then(|form| keys_of(form, &rows));
        let literals = named
            .zip(locked.as_ref().filter(|keys| !keys.is_empty()))
            .map(|(form, keys)| form.any_of(keys).into_bytes());
        let keys = match bound {
            Bound::Keys(keys) => {
                self.state.transaction.remember_locked(keys, literals);
                keys.clone()
            }
            Bound::Rows { .. } if locked.is_none() => return Ok(Ok(None)),
            Bound::Rows {
                table, inserted, ..
            } => {
                let either: Vec<_> = literals.into_iter().chain(inserted.clone()).collect();
                let predicate = match either.is_empty() {
                    true => b"FALSE".to_vec(),
                    false => either.join(&b" OR "[..]),
                };
                Keys {
                    table: Arc::clone(table),
                    predicate: Some(predicate),
                }
            }
        };
        let since = Instant::now();
        let open = self.open_rows(&keys, form.as_ref(), locked).await;
        self.asked_elsewhere_since(since);
        let texts = match open {
            Some(open) if open.is_empty() => return Ok(Ok(Some((false, keys)))),
            Some(open) => {
                let form = form.as_ref().expect("the rows have been read by it");
                fold::moves(&keys.table, form, &open)
            }
            None => {
                let by_predicate = FoldStatements::new(&keys.table, keys.predicate.as_deref());
                vec![by_predicate.lock, by_predicate.fold]
            }
        };
        let moved = self.run_all(&texts).await?;
        self.shared.slots.forget_all(&keys.table);
        Ok(moved.map(|()| Some((true, keys))))
    }

    /// The open slot rows of these keys, whose base rows (`locked`, as far as they are named) are locked. `None` when
    /// they cannot be told, or are too many to be named.
    async fn open_rows(
        &mut self,
        keys: &Keys,
        form: Option<&KeyForm>,
        locked: Option<Vec<Key>>,
    ) -> Option<Vec<OpenRow>> {
        let (form, table) = (form?, &keys.table);
        if keys.predicate.is_none() {
            return self.shared.open_rows(table, form, None).await;
        }
        let locked = locked?;
        match locked.len() {
            0 => Some(Vec::new()),
            1..=fold::MOST_KEYS => self.shared.open_rows(table, form, Some(&locked)).await,
            // Most of them will not be hot.
            _ => {
                let mut open = self.shared.open_rows(table, form, None).await?;
                let locked: HashSet<Key> = locked.into_iter().collect();
                open.retain(|row| locked.contains(&row.key));
                Some(open)
            }
        }
    }

    /// Runs statements of ours, sent at once, in a session that may refuse updates that name no key, or joins. The inner
    /// error is the first ERR payload.
    pub(super) async fn run_all(
        &mut self,
        texts: &[Vec<u8>],
    ) -> Result<Result<(), Vec<u8>>, Error> {
        let facts = self.state.facts.as_ref();
        let safe_updates = facts.is_some_and(|facts| facts.safe_updates);
        let around = fold::without_caution(safe_updates, self.state.big_selects);
        let [before, after] = around.map_or([None, None], |around| around.map(Some));
        let mut out = Vec::new();
        let texts = before
            .iter()
            .map(String::as_bytes)
            .chain(texts.iter().map(Vec::as_slice))
            .chain(after.iter().map(String::as_bytes));
        let mut answers = 0;
        for text in texts {
            encode_query(&mut out, text, self.capabilities);
            answers += 1;
        }
        self.write_upstream(&out).await?;
        let mut result = Ok(());
        for _ in 0..answers {
            let answer = self.read_hidden().await?;
            result = result.and(Hidden::into_result(answer));
        }
        Ok(result.map_err(as_killed))
    }

    /// Whether a locking read surely keeps other rows from coming to match it until the transaction ends.
    pub(super) fn locks_gaps(&self) -> bool {
        self.state.locks_gaps && !self.state.isolation_doubted && !self.state.one_shot.is_set()
    }
}
/// MySQL tells of an UPDATE of several tables that was killed by an error without a name; the client's own statement would
/// have been killed in its own words.
fn as_killed(error: Vec<u8>) -> Vec<u8> {
    const UNKNOWN_ERROR: u16 = 1105;
    let is_of_a_move = reply::Err::decode(&error).is_ok_and(|error| {
        error.code == UNKNOWN_ERROR && error.message.ends_with(b"multi-table update")
    });
    if !is_of_a_move {
        return error;
    }
    let mut killed = Vec::new();
    reply::Err {
        code: 1317,
        sql_state: b"70100",
        message: b"Query execution was interrupted",
    }
    .encode(&mut killed);
    killed
}
