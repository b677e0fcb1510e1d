//! A read of counters: base + SUM(slots), under the column definitions of the client's own statement.

use std::collections::HashSet;
use std::sync::Arc;

use tokio::time::Instant;

use crate::catalog::HotTable;
use crate::metrics::TableCounts;
use crate::reason::PlanKind;
use crate::session::Session;
use crate::session::act::fold_slots::{AsOwn, Bound};
use crate::session::act::own_rows::Mark;
use crate::session::act::read_error::Sent;
use crate::session::definitions::RUNS;
use crate::session::error::Error;
use crate::session::error_kind::{is_of_the_text, is_without_slots};
use crate::session::interrupted::{TimeLimit, is_interrupted_sum};
use crate::session::link::internal::{Failure, InternalResponse, failure};
use crate::session::link::rewrite::{Promised, Rewrite};
use crate::session::refusal::{DEFINITION_CHANGED, Foreseen};
use crate::session::reply::{Original, Replied, ReplyContext, error_payload};
use crate::session::state::variables::Isolation;
use crate::sql::plan::{ConsistentRead, Fold, FoldTable, Read, Reason};
use crate::sql::prepare;
use crate::sql::template::{Filling, KnownSlots};
use crate::wire::error_code::{ER_BAD_FIELD_ERROR, ER_NO_SUCH_TABLE};
use crate::wire::packet::{HEADER_LENGTH, Header};
use crate::wire::reply;
use crate::wire::response::ResponseKind;

/// A read in the text protocol, ready to run.
struct Query<'a> {
    /// The client's own text.
    text: &'a [u8],
    rewritten: &'a [u8],
    original: &'a Original,
    context: ReplyContext,
    /// The reason to count it under, if it is not counted yet.
    count: Option<Reason>,
}

/// The values of a text's placeholders.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Parameters<'a> {
    /// The values as literals. Empty if there are no placeholders.
    pub literals: &'a [Vec<u8>],
    /// The user variables of EXECUTE .. USING, if the server must take the values from them: only an execution shows
    /// what type a column gets from a parameter.
    pub user_variables: Option<&'a [Vec<u8>]>,
}

impl<'a> From<&'a [Vec<u8>]> for Parameters<'a> {
    fn from(literals: &'a [Vec<u8>]) -> Self {
        Self {
            literals,
            user_variables: None,
        }
    }
}

/// The outcome of a run of a rewritten text.
enum ReadOutcome {
    /// The client has its response.
    Replied(Replied),
    /// The server does not prepare the original: the ERR payload.
    Unprepared(Vec<u8>),
    /// Its columns differ from those known for the original. Nothing has been sent to the client.
    Changed,
    /// It names a column that does not exist. `is_understood`: the server has just accepted the original; otherwise it
    /// was not asked. Nothing has been sent to the client.
    Unnamed { is_understood: bool },
}

/// How a read goes on.
pub(crate) enum Prepared {
    /// By the rewritten text. The read is counted under this reason once it is certain that the rewritten text is
    /// used.
    Summed(Reason),
    /// By the original: all that it reads is folded, under its locks. The folds are undone afterwards if a mark was
    /// set.
    Folded(Option<Mark>),
    /// Not at all: the ERR payload.
    Refused(Vec<u8>),
}

impl Session {
    /// Runs a rewritten read in the text protocol. `text` is the client's own statement; `parameters` fill its
    /// placeholders.
    pub(crate) async fn read(
        &mut self,
        read: &Read,
        text: &[u8],
        parameters: Parameters<'_>,
        original: &Original,
        context: ReplyContext,
    ) -> Result<Replied, Error> {
        match self
            .read_as(read, text, parameters, original, context)
            .await?
        {
            Ok(done) => Ok(done),
            // MySQL itself refuses the original, so let it report the error.
            Err(error) if is_of_the_text(&error) => {
                self.count_read(read, read.reason);
                self.run_original(original, context).await
            }
            Err(_) => self.read_folded(read, original, context).await,
        }
    }

    /// Runs the original of a read whose columns are not known, over rows that hold the whole values.
    pub(crate) async fn read_folded(
        &mut self,
        read: &Read,
        original: &Original,
        context: ReplyContext,
    ) -> Result<Replied, Error> {
        let mut fold = Fold::new(
            read.tables.iter().map(FoldTable::whole).collect(),
            Reason::ColumnsUnknown,
        );
        fold.consistent_read = ConsistentRead::of(read);
        self.fold_then_original(&fold, None, original, context)
            .await
    }

    /// Does the same as [`Session::read`], except that the inner error is the ERR payload that `text` gets when it is
    /// prepared, so that its columns are not known. Nothing has been sent to the client or counted then.
    pub(crate) async fn read_as(
        &mut self,
        read: &Read,
        text: &[u8],
        parameters: Parameters<'_>,
        original: &Original,
        context: ReplyContext,
    ) -> Result<Result<Replied, Vec<u8>>, Error> {
        let literals = parameters.literals;
        if self.locks_before(read).await? {
            match self.foresee(original).await? {
                Foreseen::Nothing => {}
                Foreseen::Refused => {
                    self.count_read(read, read.reason);
                    return self.run_original(original, context).await.map(Ok);
                }
                Foreseen::Ended(error) => {
                    self.count_read(read, read.reason);
                    return self.reply_err(context, &error).await.map(Ok);
                }
            }
        }
        let reason = match self.prepare_to_read(read, literals).await? {
            Prepared::Summed(reason) => reason,
            Prepared::Folded(mark) => {
                return self.run_over_folds(mark, original, context).await.map(Ok);
            }
            Prepared::Refused(error) => return self.reply_err(context, &error).await.map(Ok),
        };
        let rewritten = match (parameters.user_variables, self.state.of_texts()) {
            (Some(user_variables), _) => {
                let text = self.render_read(read, &[]).await;
                match self.prepare_in_sql(&text, user_variables).await? {
                    Ok(execute) => execute,
                    Err(error) => return Ok(Err(error)),
                }
            }
            (None, Some(variables)) if !literals.is_empty() => {
                let variables = Arc::clone(variables);
                prepare::filled(
                    &self.render_read(read, literals).await,
                    literals,
                    &variables,
                )
            }
            _ => self.render_read(read, literals).await,
        };
        let mut query = Query {
            text,
            rewritten: &rewritten,
            original,
            context,
            count: Some(reason),
        };
        for _ in 0..RUNS {
            match self.run_rewritten(read, &mut query).await? {
                ReadOutcome::Replied(done) => return Ok(Ok(done)),
                ReadOutcome::Unprepared(error) => return Ok(Err(error)),
                ReadOutcome::Changed => self.may_run_again()?,
                ReadOutcome::Unnamed { is_understood } => {
                    let done = self.read_as_altered(read, is_understood, original, context);
                    return Box::pin(done).await.map(Ok);
                }
            }
        }
        // The original has other columns than the rewritten text was made for.
        self.look_again(&read.tables).await?;
        self.read_folded(read, original, context).await.map(Ok)
    }

    /// Runs a read whose rewritten text names a column that does not exist: one of the client's own, or one that the
    /// table had before it was altered past the proxy.
    pub(crate) async fn read_as_altered(
        &mut self,
        read: &Read,
        is_understood: bool,
        original: &Original,
        context: ReplyContext,
    ) -> Result<Replied, Error> {
        if !is_understood && self.refuses_now(original).await? {
            self.count_read(read, read.reason);
            return self.run_original(original, context).await;
        }
        self.look_again(&read.tables).await?;
        match &read.or_fold {
            Some(fold) => self.fold_then_original(fold, None, original, context).await,
            None => self.read_folded(read, original, context).await,
        }
    }

    /// Runs a rewritten text once.
    async fn run_rewritten(
        &mut self,
        read: &Read,
        query: &mut Query<'_>,
    ) -> Result<ReadOutcome, Error> {
        let Query {
            original, context, ..
        } = *query;
        let sent_at = Instant::now();
        let sent = match self.send_read(query.text, query.rewritten).await? {
            Ok(sent) => sent,
            Err(error) if failure(&error) == Failure::TheClients => {
                self.count_once(read, query);
                // The rewritten text may wait for the same lock again. A client that was killed need not wait for
                // that.
                let done = self.reply_err(context, &error).await?;
                self.read_internal().await?;
                return Ok(ReadOutcome::Replied(done));
            }
            Err(error) => {
                self.read_internal().await?;
                return Ok(ReadOutcome::Unprepared(error));
            }
        };
        match (self.peek_error(context).await?, &read.or_fold) {
            (Some(ER_NO_SUCH_TABLE), _) => {
                let answer = self.read_internal().await?;
                self.close_asked(sent.asked).await?;
                self.count_once(read, query);
                let error = answer.into_result().err().unwrap_or_default();
                let done = self.read_without_slots(read, &error, original, context);
                return Box::pin(done).await.map(ReadOutcome::Replied);
            }
            (Some(ER_BAD_FIELD_ERROR), _) => {
                self.read_internal().await?;
                let is_understood = sent.asked.is_some();
                self.close_asked(sent.asked).await?;
                return Ok(ReadOutcome::Unnamed { is_understood });
            }
            (Some(code), Some(fold)) if code != DEFINITION_CHANGED.0 => {
                let answer = self.read_internal().await?;
                self.close_asked(sent.asked).await?;
                let done = match answer {
                    InternalResponse::Err(error) if failure(&error) == Failure::TheClients => {
                        self.count_once(read, query);
                        self.keep_error_behind_close();
                        self.report_without_sums(&error).await?;
                        self.reply_err(context, &error).await
                    }
                    InternalResponse::Err(error) if is_interrupted_sum(&error) => {
                        self.count_once(read, query);
                        let limit = TimeLimit::OfQuery(query.text);
                        let error = self.interruption(limit, sent_at).await?;
                        self.reply_err(context, &error).await
                    }
                    _ => self.fold_then_original(fold, None, original, context).await,
                };
                return done.map(ReadOutcome::Replied);
            }
            _ => self.count_once(read, query),
        }
        let rewrite = Rewrite {
            columns: Some(Promised {
                definitions: &sent.definitions,
                are_needed: true,
            }),
            hold_errors: self.held_errors(),
            ..context.rewrite()
        };
        let ended = self.pass_rewritten(context.response_kind, rewrite).await?;
        self.close_asked(sent.asked).await?;
        if ended.held.is_none() && ended.tracker.error().is_some() {
            self.keep_error_behind_close();
        }
        if !self.note_agreement(query.text, sent, ended.agreement) {
            return Ok(ReadOutcome::Changed);
        }
        let sequence_id = match &ended.held {
            Some(error) => {
                let text = query.text;
                let sent = Sent { text, at: sent_at };
                let error = self.error_of_read(read, sent, original, error).await?;
                self.send_packet(ended.sequence_id, &error).await?
            }
            None => ended.sequence_id,
        };
        Ok(ReadOutcome::Replied(Replied {
            sequence_id,
            failed: ended.tracker.error().is_some(),
        }))
    }

    /// Runs a read whose rewritten text was refused: by `error`, some slot table does not exist. Base alone is the
    /// value then, and so it is in what others have committed since. A snapshot may be older, and show base as it was
    /// beside slots that are gone.
    pub(crate) async fn read_without_slots(
        &mut self,
        read: &Read,
        error: &[u8],
        original: &Original,
        context: ReplyContext,
    ) -> Result<Replied, Error> {
        let message = reply::Err::decode(error).map_or(&[][..], |error| error.message);
        let message = String::from_utf8_lossy(message).to_lowercase();
        let is_named = |table: &Arc<HotTable>| message.contains(&table.slot_name.to_lowercase());
        let has_slots_away = read.tables.iter().any(is_named);
        // The status was certain before the read, and a statement that does not find its tables begins no transaction.
        let is_open = self.state.last.is_in_transaction();
        let may_be_old = is_open && self.may_have_old_snapshot();
        let mut found_away = Vec::new();
        if !read.locks_rows() {
            for table in read.tables.iter().filter(|table| is_named(table)) {
                let of_snapshot = &mut self.state.transaction.without_slots;
                match of_snapshot.contains(table) {
                    true => {}
                    false if may_be_old => {
                        let name = &table.slot_name;
                        tracing::debug!("1412: {name} is away, perhaps since after the snapshot");
                        let error = error_payload(DEFINITION_CHANGED);
                        return self.reply_err(context, &error).await;
                    }
                    false => {
                        of_snapshot.push(Arc::clone(table));
                        found_away.push(Arc::clone(table));
                    }
                }
            }
        }
        let done = match has_slots_away && read.tables.len() > 1 {
            // The other tables' slots may still exist.
            true => self.read_folded(read, original, context).await?,
            false => self.run_original(original, context).await?,
        };
        if done.failed {
            // It may have made no snapshot, and the next read a later one.
            let of_snapshot = &mut self.state.transaction.without_slots;
            of_snapshot.retain(|table| !found_away.contains(table));
        }
        Ok(done)
    }

    /// Counts a read once, however often it runs.
    fn count_once(&mut self, read: &Read, query: &mut Query<'_>) {
        if let Some(reason) = query.count.take() {
            self.count_read(read, reason);
        }
    }

    /// Counts a read. Under some reasons it has folded first.
    pub(crate) fn count_read(&mut self, read: &Read, reason: Reason) {
        for table in &read.tables {
            match reason.plan() {
                Some(PlanKind::Fold) => self.hot.count(table, TableCounts::count_fold),
                _ => self.hot.count(table, TableCounts::count_read),
            }
        }
        self.count(reason);
    }

    /// Whether internal statements take locks before a read: in its transaction, or outside one to get the error that
    /// a read which does not wait would end with.
    async fn locks_before(&mut self, read: &Read) -> Result<bool, Error> {
        if self.state.in_transaction() {
            self.settle_doubt().await?;
        }
        let rows = self.state.transaction.rows();
        Ok(match self.state.in_transaction() {
            true => {
                read.folded_first.is_some() || !read.locks.is_empty() || rows.concern(&read.tables)
            }
            false => read.fails_when_locked && !read.locks.is_empty(),
        })
    }

    /// Folds what this transaction has incremented itself, and takes the locks that the read asks for. A read that
    /// does not go on as a sum is counted here.
    pub(crate) async fn prepare_to_read(
        &mut self,
        read: &Read,
        parameters: &[Vec<u8>],
    ) -> Result<Prepared, Error> {
        let is_in_doubt =
            self.state.in_transaction() || self.state.transaction.rows().concern(&read.tables);
        if is_in_doubt {
            self.settle_doubt().await?;
        }
        if read.locks_rows() {
            self.learn_mixed();
        }
        let reason = match self.fold_own(&read.tables).await? {
            Ok(false) => read.reason,
            Ok(true) => Reason::OwnIncrement,
            Err(error) => {
                self.count_read(read, read.reason);
                return Ok(Prepared::Refused(error));
            }
        };
        if self.has_only_base_of(read) {
            self.count_read(read, reason);
            return Ok(Prepared::Folded(None));
        }
        if self.state.in_transaction() {
            if let Some(fold) = &read.folded_first {
                let bound = Bound::of(fold, Some(parameters));
                let mark = self.mark(&fold.table).await?;
                match self.fold(&bound, AsOwn::No).await? {
                    Ok(moved) => {
                        let reason = match reason {
                            Reason::OwnIncrement => reason,
                            _ => Reason::LockedByKey,
                        };
                        self.count_read(read, reason);
                        self.state.running.makes_no_snapshot = true;
                        return Ok(Prepared::Folded(mark.filter(|_| moved.were_open())));
                    }
                    Err(error) if failure(&error) == Failure::TheClients => {
                        if let Some(mark) = mark {
                            self.undo_folds(mark, &error, ResponseKind::Results).await?;
                        }
                        self.count_read(read, reason);
                        return Ok(Prepared::Refused(error));
                    }
                    // The transaction is READ ONLY, or the account may not write.
                    Err(_) => {}
                }
            }
            self.forget_what_is_locked(read);
        }
        if self.state.in_transaction() || (read.fails_when_locked && !self.state.one_shot.is_set())
        {
            for lock in &read.locks {
                let mut text = Vec::new();
                let filling = Filling {
                    parameters,
                    ..Filling::default()
                };
                lock.render(&filling, &mut text);
                if let Err(error) = self.run_internal(text).await?.into_result()
                    && !is_without_slots(&error)
                {
                    self.count_read(read, reason);
                    return Ok(Prepared::Refused(error));
                }
            }
        }
        if self.state.in_transaction() {
            // A session that has committed meanwhile may have learnt some slot rows again.
            self.forget_what_is_locked(read);
        }
        Ok(Prepared::Summed(reason))
    }

    /// Whether base alone is what the read sees: its transaction's snapshot is from when the slot tables were gone.
    /// They may be there again, and the server would refuse to read them (1412).
    fn has_only_base_of(&self, read: &Read) -> bool {
        let is_consistent = self.state.in_transaction() && !read.locks_rows();
        let of_snapshot = &self.state.transaction.without_slots;
        is_consistent
            && self.state.isolation() == Some(Isolation::RepeatableRead)
            && read.tables.iter().all(|table| of_snapshot.contains(table))
    }

    /// Forgets slot rows that the read locks: no batch may write them in one transaction with increments of other
    /// keys.
    fn forget_what_is_locked(&self, read: &Read) {
        for table in read.tables.iter().filter(|_| read.locks_rows()) {
            self.shared.slots.forget_all(table);
        }
    }

    /// The text to send. The keys that this transaction has folded count by their base row alone.
    pub(crate) async fn render_read(&mut self, read: &Read, parameters: &[Vec<u8>]) -> Vec<u8> {
        let open_slots = self.open_slots_for(read).await;
        let transaction = &self.state.transaction;
        let tables = read.tables.iter();
        let folded: Vec<_> = tables
            .map(|table| transaction.rows().predicates_of_folded(table))
            .collect();
        let mut text = Vec::new();
        let filling = Filling {
            parameters,
            folded: &folded,
            open_slots: &open_slots,
            ..Filling::default()
        };
        read.text.render(&filling, &mut text);
        text
    }

    /// The open slots of tables whose locked rows a read skips.
    async fn open_slots_for(&mut self, read: &Read) -> Vec<Option<KnownSlots>> {
        let asked: HashSet<_> = read.text.asks_for_open_slots().collect();
        let mut open_slots = vec![
            None;
            if asked.is_empty() {
                0
            } else {
                read.tables.len()
            }
        ];
        for table in asked {
            open_slots[table] = self.known_slots(&read.tables[table]).await;
        }
        open_slots
    }

    /// The code of the ERR packet that the response starts with, if it does.
    async fn peek_error(&mut self, context: ReplyContext) -> Result<Option<u16>, Error> {
        const CODE: usize = 3;
        let end = loop {
            let buffered = self.link.upstream.buffered();
            let end =
                Header::decode(buffered).map(|header| HEADER_LENGTH + header.length.min(CODE));
            match end {
                Some(end) if buffered.len() >= end => break end,
                _ if context.more => self.link.await_upstream_only().await?,
                _ => self.link.await_upstream().await?,
            }
        };
        let start = &self.link.upstream.buffered()[HEADER_LENGTH..end];
        Ok(match start.first() {
            Some(&reply::ERR) => reply::Err::decode(start).ok().map(|err| err.code),
            _ => None,
        })
    }
}
