//! Moves slots into base rows, in the open transaction.
//!
//! The base rows are locked first. The control account then reports which slot rows are open, and these are moved,
//! each by its name.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use crate::catalog::HotTable;
use crate::counter::fold::{self, Cautious, FoldStatements, Move, OpenRow};
use crate::counter::{Key, KeyForm};
use crate::session::Session;
use crate::session::error::Error;
use crate::session::error_kind::{is_unknown_column, is_without_slots};
use crate::session::interrupted::as_killed;
use crate::session::link::internal::{Failure, InternalResponse, Row, failure};
use crate::session::state::transaction::Keys;
use crate::session::state::variables::Isolation;
use crate::sql::is_stored_as_written;
use crate::sql::plan::{FoldTable, Scope};
use crate::sql::template::{Filling, KnownSlots, Template};
use crate::wire::command::encode_query;
use crate::wire::error_code::{ER_TOO_BIG_SELECT, ER_WRONG_VALUE};
use crate::wire::reply::{self, Ok as OkPacket, row_counts};

/// What to fold, with the client's parameters filled in.
#[derive(Clone, Debug)]
pub(crate) enum Bound {
    Keys(Keys),
    /// Rows that are found by columns other than the key's. Their keys are known once they are locked.
    Rows {
        table: Arc<HotTable>,
        predicate: Vec<u8>,
        /// Other tables that the predicate reads.
        reads: Vec<String>,
        /// What is left of the predicate without these tables.
        without_reads: Option<Vec<u8>>,
        /// The key of a row that the statement may insert.
        inserted: Option<Vec<u8>>,
    },
}

impl Bound {
    /// Fills in the parameters. Takes the whole table where a parameter has no literal.
    pub(crate) fn of(fold: &FoldTable, parameters: Option<&[Vec<u8>]>) -> Self {
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
                reads: rows.reads.clone(),
                without_reads: rows
                    .without_reads
                    .as_ref()
                    .map(|predicate| filled(predicate, parameters)),
                inserted: rows.key.as_ref().map(|key| filled(key, parameters)),
                table,
            },
            (Scope::Table, _) | (_, None) => Self::Keys(Keys::whole(table)),
        }
    }

    /// The keys, as far as they are known before anything is locked.
    pub(crate) fn into_keys(self) -> Keys {
        match self {
            Self::Keys(keys) => keys,
            Self::Rows { table, .. } => Keys::whole(table),
        }
    }

    pub(crate) fn table(&self) -> &Arc<HotTable> {
        match self {
            Self::Keys(keys) => &keys.table,
            Self::Rows { table, .. } => table,
        }
    }

    /// At least the same rows, found without reading other tables. `None` if only the whole table is left, or if no
    /// other table was read.
    fn without_reads(&self) -> Option<Self> {
        let Self::Rows {
            table,
            without_reads: Some(predicate),
            inserted,
            ..
        } = self
        else {
            return None;
        };
        Some(Self::Rows {
            table: Arc::clone(table),
            predicate: predicate.clone(),
            reads: Vec::new(),
            without_reads: None,
            inserted: inserted.clone(),
        })
    }

    /// The predicate that finds the base rows.
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

/// The keys of the base rows that a fold has locked, unless there are too many.
fn keys_of(form: &KeyForm, rows: &[Row]) -> Option<Vec<Key>> {
    let few = rows.len() <= fold::MOST_LOCKED;
    few.then(|| rows.iter().map(|row| form.read(row)).collect())?
}

/// Whether to write base rows even where the slots add up to zero, so that the transaction's reads see these rows as
/// they are now, like the slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AsOwn {
    /// Not needed, or what follows the fold changes the rows, or the fold is undone.
    No,
    /// Needed if there are several rows, since the statement that follows may change only some of them.
    Several,
    /// Needed: the transaction has changed these rows itself, by increments in slots.
    Yes,
}

/// Whether an ERR payload says that a query would examine more rows than `max_join_size` allows.
fn is_too_much(error: &[u8]) -> bool {
    reply::Err::decode(error).is_ok_and(|err| err.code == ER_TOO_BIG_SELECT)
}

/// What a fold has done.
#[derive(Clone, Debug)]
pub(crate) struct Moved {
    /// The keys whose base rows are locked, and whose slots hold nothing any more.
    pub keys: Keys,
    /// How many base rows there are, if they were counted.
    pub rows: Option<usize>,
    /// The keys among them that had open slots. `None` if that is not known.
    pub open: Option<HashSet<Key>>,
    /// The keys among them whose base row the fold has changed.
    pub changed: Option<Keys>,
}

impl Moved {
    /// Whether some of the slots were open, as far as is known.
    pub(crate) fn were_open(&self) -> bool {
        self.open.as_ref().is_none_or(|open| !open.is_empty())
    }
}

impl Session {
    /// Moves what the slots of these rows hold into base. It moves the slots of the whole table if the server does not
    /// accept the predicate in a query, or if the rows cannot be named. The inner error is an ERR payload: what has
    /// been moved until then stays moved, and no value has changed.
    pub(crate) async fn move_slots(
        &mut self,
        bound: &Bound,
        as_own: AsOwn,
    ) -> Result<Result<Moved, Vec<u8>>, Error> {
        let mut bound = match self.held(bound).await? {
            Ok(bound) => bound,
            Err(error) => return Ok(Err(error)),
        };
        let is_by_rows = matches!(bound, Bound::Rows { .. });
        while !is_by_rows || self.locks_gaps() {
            match self.move_slots_of(&bound, as_own).await? {
                Ok(Some(moved)) => return Ok(Ok(moved)),
                Ok(None) => break,
                Err(error) => {
                    let code = reply::Err::decode(&error).map_or(0, |err| err.code);
                    let is_about_text = is_by_rows && failure(&error) == Failure::Ours;
                    // `day = 'no day'`: the client's UPDATE may get away with a warning, or get an error with other
                    // words.
                    if code != ER_WRONG_VALUE && !is_about_text {
                        return Ok(Err(error));
                    }
                }
            }
            match bound.without_reads() {
                Some(rows) => bound = rows,
                None => break,
            }
        }
        let whole = Bound::Keys(Keys::whole(Arc::clone(bound.table())));
        let moved = self.move_slots_of(&whole, as_own).await?;
        let unknown = || {
            let keys = whole.clone().into_keys();
            Moved {
                rows: None,
                open: None,
                changed: Some(keys.clone()),
                keys,
            }
        };
        Ok(moved.map(|moved| moved.unwrap_or_else(unknown)))
    }

    /// The same rows, or more of them if the predicate reads other tables whose rows the server would not lock for it:
    /// the predicate could match other rows when the client's statement runs. The inner error is an ERR payload.
    pub(crate) async fn held(&mut self, bound: &Bound) -> Result<Result<Bound, Vec<u8>>, Error> {
        let Bound::Rows { table, reads, .. } = bound else {
            return Ok(Ok(bound.clone()));
        };
        let mut are_locked = reads.is_empty() || self.locks_gaps();
        for path in reads {
            if !are_locked {
                break;
            }
            // For a view, or a table of another engine, the server returns something else. It refuses an account that
            // has privileges on columns only.
            let question = fold::show_create_of(path);
            let own = self.begin_names(question.as_bytes()).await?;
            let shown = self.run_internal(question).await;
            self.end_names(own).await?;
            are_locked = match shown? {
                InternalResponse::Row(row) => {
                    matches!(row.get(1), Some(Some(text)) if is_of_innodb(text))
                }
                InternalResponse::Err(error) if failure(&error) == Failure::TheClients => {
                    return Ok(Err(error));
                }
                _ => false,
            };
        }
        let whole = || Bound::Keys(Keys::whole(Arc::clone(table)));
        Ok(Ok(match are_locked {
            true => bound.clone(),
            false => bound.without_reads().unwrap_or_else(whole),
        }))
    }

    /// Locks the base rows and moves what their slots hold. Returns `None` if their keys cannot be named.
    async fn move_slots_of(
        &mut self,
        bound: &Bound,
        as_own: AsOwn,
    ) -> Result<Result<Option<Moved>, Vec<u8>>, Error> {
        let table = bound.table();
        // The fold closes these slot rows, so forget that they exist: the next increment must go through the upsert,
        // which checks base again. An UPDATE that a closed row refuses keeps that row locked, while the fold that
        // waits for it holds base. Forget all slot rows of the table: an increment of another counter may open a row
        // again, which says nothing of the room that base has for this one.
        self.forget_slots(table);
        let form = self.key_form(table);
        let named = form.as_ref().filter(|_| bound.predicate().is_some());
        let lock = fold::lock(table, bound.predicate(), named);
        let mut rows = self.internal_rows(&lock).await?;
        // DDL past the proxy may have dropped the counter, and the table may have no slots any more. Or
        // `max_join_size` refuses to read the rows, but allows reading an index.
        if matches!(&rows, Err(error) if is_unknown_column(error) || is_too_much(error)) {
            let lock = fold::lock_by_keys(table, bound.predicate(), named);
            // MariaDB since 11 counts the rows of an index as well.
            rows = self.internal_rows(&self.reading(&lock)).await?;
        }
        let rows = match rows {
            Err(error) => return Ok(Err(error)),
            Ok(rows) => rows,
        };
        let locked = named.and_then(|form| keys_of(form, &rows));
        let literals = named
            .zip(locked.as_ref().filter(|keys| !keys.is_empty()))
            .map(|(form, keys)| form.any_of(keys).into_bytes());
        let keys = match bound {
            Bound::Keys(keys) => {
                let rows = self.state.transaction.rows_mut();
                rows.remember_locked(keys, literals);
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
        let rows = locked.as_ref().map(Vec::len);
        // Before it is asked which are open: what opens a slot later cannot be committed together with this.
        let are_few = rows.is_some_and(|rows| rows <= fold::MOST_KEYS);
        let gates = keys.predicate.as_deref().filter(|_| are_few);
        if let Some(pass) = fold::pass_gates(&keys.table, gates)
            && rows != Some(0)
        {
            match self.run_all(&[pass]).await? {
                Err(error) if !is_without_slots(&error) => return Ok(Err(error)),
                _ => {}
            }
        }
        let since = Instant::now();
        let open = self.open_rows(&keys, form.as_ref(), locked).await;
        self.link.asked_elsewhere_since(since);
        let open_keys = open
            .as_ref()
            .map(|open| open.iter().map(|row| row.key.clone()).collect());
        let moved = match (open, &form) {
            (Some(open), _) if open.is_empty() => Ok(None),
            (Some(open), Some(form)) => self.move_open(&keys, form, &open, rows, as_own).await?,
            _ => {
                let by_predicate = FoldStatements::new(&keys.table, keys.predicate.as_deref());
                let moved = self
                    .run_all(&[by_predicate.lock, by_predicate.fold])
                    .await?;
                match moved {
                    // The base row exists, for it is locked. Nothing can be added to slots until that lock is
                    // released.
                    Err(error) if is_without_slots(&error) => Ok(None),
                    moved => moved.map(|_| Some(keys.clone())),
                }
            }
        };
        self.forget_slots(&keys.table);
        Ok(moved.map(|changed| {
            Some(Moved {
                keys,
                rows,
                open: open_keys,
                changed,
            })
        }))
    }

    /// Forgets that slot rows of this table are open, even those that this transaction has opened.
    fn forget_slots(&mut self, table: &Arc<HotTable>) {
        self.shared.slots.forget_all(table);
        self.state.written.retain(|(other, ..)| other != table);
    }

    /// The base rows that an internal statement locks.
    async fn internal_rows(&mut self, lock: &[u8]) -> Result<Result<Vec<Row>, Vec<u8>>, Error> {
        let text = self.locking(lock).into_owned();
        let rows = self.rows_of(&text, fold::MOST_LOCKED + 1).await?;
        Ok(rows.map_err(|error| self.of_hot_table(error)))
    }

    /// The internal statement as it is sent, which may have to lock rows of which the snapshot shows older versions.
    pub(crate) fn locking<'a>(&self, text: &'a [u8]) -> Cow<'a, [u8]> {
        match self.state.locks_newer && self.state.isolates_snapshots() {
            true => fold::with_variables("innodb_snapshot_isolation = 0", text).into(),
            false => text.into(),
        }
    }

    /// A query of the proxy's as it is sent, which `max_join_size` does not refuse. To MySQL, a hint in the text says
    /// that.
    pub(crate) fn reading<'a>(&self, text: &'a [u8]) -> Cow<'a, [u8]> {
        match self.hot.catalog.mariadb && !self.state.has_big_selects() {
            true => fold::with_variables("sql_big_selects = 1", text).into(),
            false => text.into(),
        }
    }

    /// The same for a query whose predicate has keys in it that were read before. They have no spaces at their end, so
    /// CHAR must have none either.
    pub(crate) fn reading_by_keys<'a>(&self, text: &'a [u8]) -> Cow<'a, [u8]> {
        let Some(mode) = self.state.mode_without_padding() else {
            return self.reading(text);
        };
        match self.hot.catalog.mariadb {
            true => {
                let set = format!("sql_big_selects = 1, sql_mode = '{mode}'");
                fold::with_variables(&set, text).into()
            }
            false => fold::with_mode(&mode, text).into(),
        }
    }

    /// Moves these slot rows, key by key. Returns the keys whose base rows have changed: the server does not write a
    /// row whose values stay as they are.
    async fn move_open(
        &mut self,
        keys: &Keys,
        form: &KeyForm,
        open: &[OpenRow],
        rows: Option<usize>,
        as_own: AsOwn,
    ) -> Result<Result<Option<Keys>, Vec<u8>>, Error> {
        let moves = fold::moves(&keys.table, form, open);
        let texts: Vec<_> = moves
            .iter()
            .flat_map(|of_key| of_key.texts.clone())
            .collect();
        let answers = match self.run_all(&texts).await? {
            Err(error) => return Ok(Err(error)),
            Ok(answers) => answers,
        };
        let answers = answers.chunks(Move::TEXTS);
        let (changed, unchanged): (Vec<_>, Vec<_>) = moves
            .into_iter()
            .zip(answers)
            .partition(|(_, answers)| answers.last().is_none_or(has_changed_all));
        let mut changed: Vec<Key> = changed.into_iter().map(|(of_key, _)| of_key.key).collect();
        if as_own == AsOwn::Yes || (as_own == AsOwn::Several && rows.is_none_or(|rows| rows > 1)) {
            for (of_key, _) in unchanged {
                let texts = fold::rewrites(&keys.table, form, &of_key.row());
                match self.run_all(&texts).await? {
                    Ok(_) => changed.push(of_key.key),
                    Err(error) if failure(&error) == Failure::TheClients => return Ok(Err(error)),
                    // A CHECK constraint of the table forbids the values in between.
                    Err(_) => {}
                }
            }
        }
        Ok(Ok(match changed.len() {
            0 => None,
            some if Some(some) == rows => Some(keys.clone()),
            _ => Some(Keys {
                table: Arc::clone(&keys.table),
                predicate: Some(form.any_of(&changed).into_bytes()),
            }),
        }))
    }

    /// The open slot rows of these keys, whose base rows are locked (`locked`, as far as they can be named). Returns
    /// `None` if the control account does not report them in time, or if there are too many to name.
    async fn open_rows(
        &mut self,
        keys: &Keys,
        form: Option<&KeyForm>,
        locked: Option<Vec<Key>>,
    ) -> Option<Vec<OpenRow>> {
        let (form, table) = (form?, &keys.table);
        let server = self.server.clone()?;
        if keys.predicate.is_none() {
            return self.shared.open_rows(&server, table, form, None).await;
        }
        let locked = locked?;
        match locked.len() {
            0 => Some(Vec::new()),
            1..=fold::MOST_KEYS => {
                self.shared
                    .open_rows(&server, table, form, Some(&locked))
                    .await
            }
            // Most of these keys will not be hot.
            _ => {
                let mut open = self.shared.open_rows(&server, table, form, None).await?;
                let locked: HashSet<Key> = locked.into_iter().collect();
                open.retain(|row| locked.contains(&row.key));
                Some(open)
            }
        }
    }

    /// The keys of a table that have open slots, each with the number of them. Returns `None` if the control account
    /// does not report them in time, or if there are too many to name.
    pub(crate) async fn known_slots(&mut self, table: &HotTable) -> Option<KnownSlots> {
        let form = self.key_form(table)?;
        let server = self.server.clone()?;
        let since = Instant::now();
        let open = self.shared.open_rows(&server, table, &form, None).await;
        self.link.asked_elsewhere_since(since);
        let mut counts: HashMap<Key, usize> = HashMap::new();
        for row in open? {
            *counts.entry(row.key).or_default() += 1;
        }
        Some(counts.into_iter().collect())
    }

    /// How keys of a table are written in this session. `None` if they cannot be named for certain.
    pub(crate) fn key_form(&self, table: &HotTable) -> Option<KeyForm> {
        let pads = self.state.may_pad_char();
        KeyForm::of(table).filter(|form| !(pads && form.depends_on_padding()))
    }

    /// Runs internal statements up to the first that fails. Where the session refuses updates without a key, or large
    /// joins, that is lifted around them. Returns their responses; the inner error is the ERR payload of the one that
    /// failed.
    ///
    /// A lock and the statement that needs it stand next to each other, the lock first. Each statement is sent
    /// together with the next lock, so that after a lock wait that fails no further lock is waited for.
    pub(crate) async fn run_all(
        &mut self,
        texts: &[Vec<u8>],
    ) -> Result<Result<Vec<InternalResponse>, Vec<u8>>, Error> {
        self.variables().await?;
        let around = self.state.variables.as_ref().and_then(|variables| {
            fold::without_caution(Cautious {
                safe_updates: variables.of_texts.safe_updates,
                big_selects: variables.big_selects,
                character_set: texts.iter().find_map(|text| self.other_names_in(text)),
            })
        });
        let [before, after] = around.map_or([None, None], |around| around.map(Some));
        if let Some(before) = before
            && let InternalResponse::Err(error) = self.run_internal(before).await?
        {
            return Ok(Err(error));
        }
        let ran = self.run_in_turn(texts).await;
        if let Some(after) = after {
            self.set_back(&after).await?;
        }
        Ok(ran?.map_err(as_killed))
    }

    async fn run_in_turn(
        &mut self,
        texts: &[Vec<u8>],
    ) -> Result<Result<Vec<InternalResponse>, Vec<u8>>, Error> {
        let (first, rest) = texts.split_at(texts.len().min(1));
        let mut answers = Vec::with_capacity(texts.len());
        for together in std::iter::once(first).chain(rest.chunks(2)) {
            let mut out = Vec::new();
            for text in together {
                encode_query(&mut out, &self.locking(text), self.link.capabilities);
            }
            self.write_upstream(&out).await?;
            let mut error = None;
            for _ in together {
                match self.read_internal().await? {
                    InternalResponse::Err(payload) => error = error.or(Some(payload)),
                    answer => answers.push(answer),
                }
            }
            if let Some(error) = error {
                return Ok(Err(self.of_hot_table(error)));
            }
        }
        Ok(Ok(answers))
    }

    /// Whether a locking read certainly keeps other rows from coming to match it until the transaction ends.
    pub(crate) fn locks_gaps(&self) -> bool {
        self.state.isolation().is_some_and(Isolation::locks_gaps)
    }
}

/// Whether a text of SHOW CREATE TABLE is that of a table whose rows are locked one by one.
fn is_of_innodb(text: &[u8]) -> bool {
    let is_table = [&b"CREATE TABLE "[..], b"CREATE TEMPORARY TABLE "];
    // A line break within quotes is shown as an escape.
    is_table.iter().any(|start| text.starts_with(start))
        && memchr::memmem::find(text, b"\n) ENGINE=InnoDB").is_some()
}

/// Whether an UPDATE has changed every row that it has matched, by the text of its OK packet.
fn has_changed_all(answer: &InternalResponse) -> bool {
    let InternalResponse::Ok(payload) = answer else {
        return true;
    };
    let counts = OkPacket::decode(payload)
        .ok()
        .and_then(|ok| row_counts(ok.tail));
    counts.is_none_or(|(matched, changed)| matched == changed)
}
