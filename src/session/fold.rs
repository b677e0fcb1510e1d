//! Fold, then the original: slower than slots, and right for every statement.

use std::sync::Arc;

use super::Session;
use super::diagnostics::Diagnostics;
use super::error::Error;
use super::hidden::{Hidden, encode_query};
use super::patched::Patch;
use super::state::Keys;
use super::tracked::{add_commit, has_written};
use super::turn::{Done, Original, Turn};
use crate::counter::fold::FoldStatements;
use crate::sql::Kind;
use crate::sql::plan::{Fold, FoldTable, Reason, Scope};
use crate::sql::template::Filling;
use crate::wire::answer::Form;
use crate::wire::capability;
use crate::wire::reply::{self, Ok as OkPacket};
use crate::wire::status;

/// Says what it means whatever `completion_type` is.
pub(super) const COMMIT: &str = "COMMIT AND NO CHAIN NO RELEASE";

/// Opens a transaction with the characteristics that the client has asked for.
pub(super) const BEGIN: &str = "START TRANSACTION";

/// The same, but for the access mode.
const BEGIN_TO_WRITE: &str = "START TRANSACTION READ WRITE";

/// Around the statements of a fold in a session that has `sql_safe_updates` on.
const UNSAFE_UPDATES: &str = "SET SESSION sql_safe_updates = 0";
const SAFE_UPDATES: &str = "SET SESSION sql_safe_updates = 1";

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
        for keys in keys {
            if self.state.transaction.has_folded(&keys) {
                continue;
            }
            match self.fold(keys, fold.reason).await? {
                Err(error) if !needs_no_fold(fold.reason, &error) => {
                    return self.discard_and_fail(original, turn, &error).await;
                }
                _ => {}
            }
        }
        self.run_original(original, turn).await
    }

    /// Folds keys in the open transaction. The inner error is an ERR payload: the fold did not happen.
    pub(super) async fn fold(
        &mut self,
        keys: Keys,
        reason: Reason,
    ) -> Result<Result<(), Vec<u8>>, Error> {
        let purge = reason.may_remove_rows();
        self.forget_slots(&keys);
        let statements = FoldStatements::new(&keys.table, keys.predicate.as_deref(), purge);
        let cautious = self.updates_safely();
        if cautious {
            self.hidden(UNSAFE_UPDATES).await?;
        }
        let mut folded = Ok(());
        for text in statements.all() {
            folded = self.hidden(text).await?.into_result();
            if folded.is_err() {
                break;
            }
        }
        if cautious {
            self.hidden(SAFE_UPDATES).await?;
        }
        if folded.is_err() {
            return Ok(folded);
        }
        self.forget_slots(&keys);
        if purge {
            let written = &mut self.state.written;
            written.retain(|(table, ..)| *table != keys.table);
        }
        self.state.transaction.remember_fold(keys);
        Ok(Ok(()))
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
        if let Err(error) = self.begin_and_fold(begin, keys, reason).await? {
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

    /// Opens a transaction and folds, in one write. The inner error is the first ERR payload.
    pub(super) async fn begin_and_fold(
        &mut self,
        begin: &str,
        keys: &[Keys],
        reason: Reason,
    ) -> Result<Result<(), Vec<u8>>, Error> {
        let purge = reason.may_remove_rows();
        keys.iter().for_each(|keys| self.forget_slots(keys));
        let mut out = Vec::new();
        let mut answers = 1;
        encode_query(&mut out, begin.as_bytes(), self.capabilities);
        let cautious = self.updates_safely();
        if cautious {
            encode_query(&mut out, UNSAFE_UPDATES.as_bytes(), self.capabilities);
            answers += 2;
        }
        for keys in keys {
            let predicate = keys.predicate.as_deref();
            for text in FoldStatements::new(&keys.table, predicate, purge).all() {
                encode_query(&mut out, text, self.capabilities);
                answers += 1;
            }
        }
        if cautious {
            encode_query(&mut out, SAFE_UPDATES.as_bytes(), self.capabilities);
        }
        self.write_upstream(&out).await?;
        let mut result = Ok(());
        for _ in 0..answers {
            let answer = self.read_hidden().await?;
            result = result.and(Hidden::into_result(answer));
        }
        keys.iter().for_each(|keys| self.forget_slots(keys));
        Ok(result)
    }

    /// Whether the session refuses updates that name no key, as those of a fold may.
    fn updates_safely(&self) -> bool {
        let facts = self.state.facts.as_ref();
        facts.is_some_and(|facts| facts.safe_updates)
    }

    /// Slot rows that are deleted or closed: whoever increments next must ask base first. An UPDATE that a closed row
    /// refuses keeps it locked, and base is what a fold holds that waits for it.
    fn forget_slots(&self, keys: &Keys) {
        let slots = &self.shared.slots;
        match &keys.predicate {
            Some(predicate) => {
                (0..keys.table.slots).for_each(|slot| slots.forget(&keys.table, predicate, slot))
            }
            None => slots.forget_all(&keys.table),
        }
    }

    /// Folds in a transaction of its own and commits it, for what MySQL does in READ ONLY sessions too.
    pub(super) async fn fold_and_commit(
        &mut self,
        keys: &[Keys],
        reason: Reason,
    ) -> Result<Result<(), Vec<u8>>, Error> {
        let folded = self.begin_and_fold(BEGIN_TO_WRITE, keys, reason).await?;
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
