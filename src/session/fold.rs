//! Fold, then the original: slower than slots, and right for every statement.

use std::sync::Arc;

use super::Session;
use super::diagnostics::Diagnostics;
use super::error::Error;
use super::hidden::{Hidden, Row, encode_query};
use super::patched::Patch;
use super::state::Keys;
use super::tracked::{add_commit, has_written};
use super::turn::{Done, Original, Turn};
pub(super) use crate::counter::fold::COMMIT;
use crate::counter::fold::{self, FoldStatements, OpenRow, SAFE_UPDATES, UNSAFE_UPDATES};
use crate::counter::{Key, KeyForm};
use crate::sql::Kind;
use crate::sql::plan::{Fold, FoldTable, Reason, Scope};
use crate::sql::template::Filling;
use crate::wire::answer::Form;
use crate::wire::capability;
use crate::wire::reply::{self, Ok as OkPacket};
use crate::wire::status;

/// Opens a transaction with the characteristics that the client has asked for.
pub(super) const BEGIN: &str = "START TRANSACTION";

/// The same, but for the access mode.
const BEGIN_TO_WRITE: &str = "START TRANSACTION READ WRITE";

/// The keys of a fold with the client's parameters filled in; the whole table where a parameter has no literal.
pub(super) fn bind(fold: &FoldTable, parameters: Option<&[Vec<u8>]>) -> Keys {
    let predicate = match (&fold.scope, parameters) {
        (Scope::Keys(template), Some(parameters)) => {
            let mut predicate = Vec::new();
            let filling = Filling {
                parameters,
                ..Filling::default()
            };
            template.render(&filling, &mut predicate);
            Some(predicate)
        }
        _ => None,
    };
    Keys {
        table: Arc::clone(&fold.table),
        predicate,
    }
}

/// Whether the original is right although the fold failed: a slot table that is not there holds nothing, and an
/// increment needs no fold to be counted, only rights that this account may not have.
fn needs_no_fold(reason: Reason, error: &[u8]) -> bool {
    const NO_SUCH_TABLE: u16 = 1146;
    // Our text is right but for what it takes from the client's, which then is wrong as well.
    const SYNTAX: u16 = 1064;
    const ACCESS_DENIED: [u16; 4] = [1044, 1142, 1143, 1370];
    let code = reply::Err::decode(error).map_or(0, |err| err.code);
    matches!(code, NO_SUCH_TABLE | SYNTAX)
        || (matches!(reason, Reason::Fallback | Reason::OwnIncrement)
            && ACCESS_DENIED.contains(&code))
}

/// Whether an answer's last packet tells of warnings, or is an error.
fn has_messages(last: &[u8], form: Form) -> bool {
    match (last.first(), OkPacket::decode(last)) {
        (Some(&reply::ERR), _) => true,
        // EOF of old: the count stands first.
        (Some(&reply::EOF), _) if last.len() == 5 => last[1..3] != [0, 0],
        (Some(_), Ok(ok)) => form == Form::Results && ok.warnings > 0,
        _ => false,
    }
}

/// Whether a statement whose answer ends with this packet has changed nothing.
fn changes_nothing(last: &[u8], capabilities: u64) -> bool {
    let Some(ok) = OkPacket::decode(last)
        .ok()
        .filter(|ok| ok.header == reply::OK)
    else {
        return true;
    };
    // With CLIENT_FOUND_ROWS the count is of the rows that matched; the text behind it tells both.
    let text = String::from_utf8_lossy(ok.tail);
    let changed = text.split_once("Changed: ").and_then(|(_, rest)| {
        let digits = rest.split(|byte: char| !byte.is_ascii_digit()).next()?;
        digits.parse::<u64>().ok()
    });
    match changed {
        Some(changed) => changed == 0,
        None => ok.affected_rows == 0 && capabilities & capability::FOUND_ROWS == 0,
    }
}

/// The keys of the base rows that a fold has locked, unless they are too many to be named.
fn named_keys(form: &KeyForm, rows: &[Row]) -> Option<Vec<Key>> {
    let few = rows.len() <= fold::MOST_KEYS;
    few.then(|| rows.iter().map(|row| form.read(row)).collect())?
}

impl Session {
    /// Folds, then runs the original: inside the client's transaction, or in one of our own around the statement.
    pub(super) async fn fold_then_original(
        &mut self,
        fold: &Fold,
        parameters: Option<&[Vec<u8>]>,
        original: &Original,
        turn: Turn,
    ) -> Result<Done, Error> {
        self.metrics().count(fold.reason);
        let keys: Vec<_> = fold
            .folds
            .iter()
            .map(|fold| bind(fold, parameters))
            .collect();
        if keys.is_empty() {
            return self.run_original(original, turn).await;
        }
        if self.state.status_uncertain {
            self.hidden("DO 0").await?;
        }
        if !self.state.in_transaction() {
            return self
                .fold_in_own_transaction(fold.reason, &keys, original, turn)
                .await;
        }
        if !matches!(
            fold.reason,
            Reason::OwnIncrement | Reason::AddsToBase | Reason::Fallback
        ) {
            self.learn_mixed();
        }
        let mut unmoved = Vec::new();
        for keys in keys {
            match self.fold(&keys).await? {
                Err(error) if !needs_no_fold(fold.reason, &error) => {
                    return self.discard_and_fail(original, turn, &error).await;
                }
                Ok(()) if !self.state.transaction.has_folded(&keys) => unmoved.push(keys),
                _ => {}
            }
        }
        if unmoved.is_empty() {
            return self.run_original(original, turn).await;
        }
        // Base was the whole value as it was. Whether later reads of this transaction see the row as it is now or as
        // its snapshot has it depends on whether the statement changes it.
        let (done, last) = self.run_original_and_see(original, turn).await?;
        if !changes_nothing(&last, self.capabilities) {
            for keys in unmoved {
                self.state.transaction.remember_fold(keys);
            }
        }
        Ok(done)
    }

    /// The open transaction locks base rows for another reason than increments. Two that do so, and hold slots, may
    /// wait for each other; so the next ones with increments of these shapes lock base from the start.
    pub(super) fn learn_mixed(&mut self) {
        let transaction = &mut self.state.transaction;
        transaction.proves_nothing = true;
        let mut is_new = false;
        for shape in &transaction.shapes {
            is_new |= self.shared.learn_mixed(*shape);
        }
        if !is_new {
            return;
        }
        // A sequence, or a counter that is shown where it is counted, gains nothing from slots.
        let of_slots = transaction.incremented.iter();
        let mut tables: Vec<_> = of_slots
            .chain(&transaction.settled)
            .map(|keys| &keys.table)
            .collect();
        tables.dedup();
        for table in tables {
            tracing::info!(
                "{}.{}: a transaction reads or writes rows that it increments; from now on such increments queue on the \
                 row ({})",
                table.schema,
                table.name,
                Reason::OwnIncrement
            );
        }
    }

    /// Folds keys in the open transaction, unless they are. The inner error is an ERR payload: the fold did not happen.
    pub(super) async fn fold(&mut self, keys: &Keys) -> Result<Result<(), Vec<u8>>, Error> {
        if self.state.transaction.has_settled(keys) {
            return Ok(Ok(()));
        }
        let (moved, keys) = match self.move_slots(keys.clone()).await? {
            Err(error) => return Ok(Err(error)),
            Ok(moved) => moved,
        };
        let transaction = &mut self.state.transaction;
        match moved || transaction.has_doubted(&keys) {
            true => transaction.remember_fold(keys),
            false => transaction.remember_settled(keys),
        }
        Ok(Ok(()))
    }

    /// [`Session::move_slots_of`] these keys, or of all where the server does not take their predicate for a query; gives
    /// them back.
    async fn move_slots(&mut self, keys: Keys) -> Result<Result<(bool, Keys), Vec<u8>>, Error> {
        /// `day = 'no day'`: an UPDATE may be let off with a warning, or has an error with other words.
        const WRONG_VALUE: u16 = 1525;
        let whole = Keys {
            table: Arc::clone(&keys.table),
            predicate: None,
        };
        Ok(match self.move_slots_of(&keys).await? {
            Ok(moved) => Ok((moved, keys)),
            Err(error) if reply::Err::decode(&error).is_ok_and(|err| err.code == WRONG_VALUE) => {
                let moved = self.move_slots_of(&whole).await?;
                moved.map(|moved| (moved, whole))
            }
            Err(error) => Err(error),
        })
    }

    /// Locks the base rows of these keys and moves what their slots hold into them, in the open transaction. Whether
    /// there was anything to move. The inner error is an ERR payload: what has been moved until then stays moved, and
    /// no value has changed.
    async fn move_slots_of(&mut self, keys: &Keys) -> Result<Result<bool, Vec<u8>>, Error> {
        self.forget_slots(keys);
        let form = KeyForm::of(&keys.table);
        let named = form.as_ref().filter(|_| keys.predicate.is_some());
        let lock = fold::lock(&keys.table, keys.predicate.as_deref(), named);
        self.write_query(&lock).await?;
        let rows = match self.read_hidden_rows(fold::MOST_KEYS + 1).await? {
            Err(error) => return Ok(Err(error)),
            Ok(rows) => rows,
        };
        let locked = named.and_then(|form| named_keys(form, &rows));
        let literals = named.zip(locked.as_ref().filter(|keys| !keys.is_empty()));
        let literals = literals.map(|(form, keys)| form.any_of(keys).into_bytes());
        self.state.transaction.remember_locked(keys, literals);
        let texts = match self.open_rows(keys, form.as_ref(), locked).await {
            Some(open) if open.is_empty() => return Ok(Ok(false)),
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
        self.forget_slots(keys);
        Ok(moved.map(|()| true))
    }

    /// The open slot rows of these keys, whose base rows (`locked`, as far as they are named) are locked. `None` when
    /// they cannot be told, or are too many to be named.
    async fn open_rows(
        &mut self,
        keys: &Keys,
        form: Option<&KeyForm>,
        locked: Option<Vec<Key>>,
    ) -> Option<Vec<OpenRow>> {
        let form = form?;
        if keys.predicate.is_none() {
            return self.shared.open_rows(&keys.table, form, None).await;
        }
        let locked = locked?;
        if locked.is_empty() {
            return Some(Vec::new());
        }
        self.shared
            .open_rows(&keys.table, form, Some(&locked))
            .await
    }

    /// Runs statements of ours, sent at once, in a session that may refuse updates that name no key. The inner error is
    /// the first ERR payload.
    async fn run_all(&mut self, texts: &[Vec<u8>]) -> Result<Result<(), Vec<u8>>, Error> {
        let cautious = self.updates_safely();
        let mut out = Vec::new();
        let before = cautious.then_some(UNSAFE_UPDATES.as_bytes());
        let after = cautious.then_some(SAFE_UPDATES.as_bytes());
        let texts = before
            .into_iter()
            .chain(texts.iter().map(Vec::as_slice))
            .chain(after);
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
        Ok(result)
    }

    /// Each of our statements keeps base + SUM(slots) as it is, so they may all be sent at once, and COMMIT is
    /// right even where the original fails.
    async fn fold_in_own_transaction(
        &mut self,
        reason: Reason,
        keys: &[Keys],
        original: &Original,
        turn: Turn,
    ) -> Result<Done, Error> {
        // A read may be folded for in a READ ONLY session; a write is to be refused.
        let begin = match self.state.kind {
            Kind::Select | Kind::Do | Kind::Set { .. } => BEGIN_TO_WRITE,
            _ => BEGIN,
        };
        if let Err(error) = self.begin_and_fold(begin, keys).await? {
            self.hidden(COMMIT).await?;
            if needs_no_fold(reason, &error) {
                self.set_one_shot_again().await?;
                return self.run_original(original, turn).await;
            }
            self.restore_one_shot(&error).await?;
            return self.discard_and_fail(original, turn, &error).await;
        }
        let turn = self.send_original(original, turn).await?;
        let patch = Patch {
            clear_status: status::IN_TRANS | status::IN_TRANS_READONLY,
            hold_last: true,
            hide_transaction: true,
            ..turn.patch()
        };
        let ended = self.pass_patched(turn.form, patch).await?;
        let held = ended.held.unwrap_or_default();
        // MySQL's COMMIT clears the messages, MariaDB's keeps them, but neither keeps that there was an error.
        let is_err = held.first() == Some(&reply::ERR);
        let are_cleared = !self.hot.catalog.mariadb || is_err;
        let messages = match are_cleared && has_messages(&held, turn.form) {
            true => self.take_messages().await?,
            false => None,
        };
        self.state.diagnostics = Some(Diagnostics::of(&held, messages));
        let was_set = self.state.one_shot.is_set();
        let committed = self.hidden(COMMIT).await?;
        let mut last = held;
        match &committed {
            Hidden::Err(error) => {
                self.state.diagnostics = None;
                last.clone_from(error);
            }
            Hidden::Ok(ok) if self.capabilities & capability::SESSION_TRACK != 0 => {
                let written = has_written(&last, self.state.kind == Kind::Update);
                add_commit(&mut last, ok, written, was_set);
            }
            _ => {}
        }
        self.restore_one_shot(&last).await?;
        self.raise_again(&last).await?;
        let failed = last.first() == Some(&reply::ERR);
        Ok(Done {
            sequence_id: self.answer(ended.sequence_id, &last).await?,
            failed,
        })
    }

    /// Opens a transaction and folds. The inner error is the first ERR payload.
    pub(super) async fn begin_and_fold(
        &mut self,
        begin: &str,
        keys: &[Keys],
    ) -> Result<Result<(), Vec<u8>>, Error> {
        let mut result = self.hidden(begin).await?.into_result();
        for keys in keys {
            if result.is_ok() {
                result = self.move_slots(keys.clone()).await?.map(drop);
            }
        }
        Ok(result)
    }

    /// Whether the session refuses updates that name no key, as those of a fold may.
    fn updates_safely(&self) -> bool {
        let facts = self.state.facts.as_ref();
        facts.is_some_and(|facts| facts.safe_updates)
    }

    /// Slot rows that are closed: whoever increments next must ask base first. An UPDATE that a closed row refuses keeps
    /// it locked, and base is what a fold holds that waits for it. All of the table's, as another counter of the row may
    /// open it again, which says nothing of what base has room for.
    fn forget_slots(&self, keys: &Keys) {
        self.shared.slots.forget_all(&keys.table);
    }

    /// Folds in a transaction of its own and commits it, for what MySQL does in READ ONLY sessions too.
    pub(super) async fn fold_and_commit(
        &mut self,
        keys: &[Keys],
    ) -> Result<Result<(), Vec<u8>>, Error> {
        let folded = self.begin_and_fold(BEGIN_TO_WRITE, keys).await?;
        let committed = self.hidden(COMMIT).await?.into_result();
        Ok(folded.and(committed))
    }

    /// Answers with an ERR in place of the original, which is taken from the client's stream unread.
    pub(super) async fn discard_and_fail(
        &mut self,
        original: &Original,
        turn: Turn,
        error: &[u8],
    ) -> Result<Done, Error> {
        let mut turn = turn;
        if matches!(original, Original::Stream) {
            turn.sequence_id = self.skip_command().await?.wrapping_add(1);
        }
        self.answer_err(turn, error).await
    }
}
