//! Writes that need no fold.
//!
//! Those that are right on base alone are forwarded. The rows that they change are then rows that the transaction has
//! changed itself: its reads must see their counters as they are now, like all their other columns. Writes of other
//! tables that read counters can run with sums in their place.

use tokio::time::Instant;

use crate::session::Session;
use crate::session::act::fold_slots::Bound;
use crate::session::error::Error;
use crate::session::error_kind::{is_of_the_text, is_unknown_column};
use crate::session::interrupted::{TimeLimit, is_interrupted_sum};
use crate::session::link::internal::{Failure, InternalResponse, failure};
use crate::session::refusal::Foreseen;
use crate::session::reply::{Original, Replied, ReplyContext, changes_nothing};
use crate::sql::plan::{ChangeReport, Fold, Reason, Write};
use crate::sql::template::Filling;
use crate::wire::reader::Malformed;
use crate::wire::{capability, error_code, reply};

impl Session {
    /// Runs a write of other tables with sums in place of the counters that it reads, if a fold would show in the open
    /// transaction's snapshot. Returns `None` if it has not run: it must run after a fold.
    pub(crate) async fn write_with_sums(
        &mut self,
        fold: &Fold,
        parameters: Option<&[Vec<u8>]>,
        original: &Original,
        context: ReplyContext,
    ) -> Result<Option<Replied>, Error> {
        let may_be_refused = original.may_open_cursor() && !self.hot.catalog.mariadb;
        let is_in_the_way = self.state.in_transaction()
            && self.may_have_old_snapshot()
            // `max_join_size` would count the slot rows as well.
            && self.state.has_big_selects();
        let with_sums = fold.with_sums.as_ref().filter(|_| is_in_the_way);
        let Some(with_sums) = with_sums.filter(|sums| sums.any_cursor || !may_be_refused) else {
            return Ok(None);
        };
        let Some(parameters) = parameters.or((!with_sums.text.has_parameters()).then_some(&[]))
        else {
            return Ok(None);
        };
        let mut text = Vec::new();
        let filling = Filling {
            parameters,
            ..Filling::default()
        };
        with_sums.text.render(&filling, &mut text);
        let sent = Instant::now();
        let done = match self.run_internal(text).await? {
            InternalResponse::Ok(ok) => {
                self.learn_language(&ok);
                self.reply_ok(context, ok).await?
            }
            InternalResponse::Err(error) if is_interrupted_sum(&error) => {
                let limit = match self.hot.catalog.mariadb {
                    true => TimeLimit::OfSession,
                    false => TimeLimit::None,
                };
                let error = self.interruption(limit, sent).await?;
                self.reply_err(context, &error).await?
            }
            // A fold for a statement that fails is undone.
            InternalResponse::Err(error) if is_of_the_text(&error) || tells_of_a_value(&error) => {
                return Ok(None);
            }
            // The error is the original's own. If the statement ran twice, it would take AUTO_INCREMENT values twice.
            InternalResponse::Err(error) => {
                self.report_without_sums(&error).await?;
                self.reply_err(context, &error).await?
            }
            InternalResponse::Row(_) => return Err(Malformed.into()),
        };
        self.count(Reason::Summed);
        self.learn_mixed();
        Ok(Some(done))
    }

    /// Runs a write. `parameters` are literals; `None` if they cannot be written as literals.
    pub(crate) async fn write(
        &mut self,
        write: &Write,
        parameters: Option<&[Vec<u8>]>,
        original: &Original,
        context: ReplyContext,
    ) -> Result<Replied, Error> {
        if self.is_snapshot_isolated() {
            let fold = Fold::new(vec![write.rows.clone()], Reason::SnapshotIsolation);
            let done = self.fold_then_original(&fold, parameters, original, context);
            return Box::pin(done).await;
        }
        self.learn_from_forwarded(write.reason, self.state.running.kind);
        self.count(write.reason);
        self.note_locking_write(&write.rows.table);
        if !self.state.in_transaction() {
            return self.run_original(original, context).await;
        }
        let bound = Bound::of(&write.rows, parameters);
        let counts_matches = self.link.capabilities & capability::FOUND_ROWS != 0;
        let names_one_key = write.key_parameters.iter().all(|key| {
            let literal = parameters.and_then(|list| list.get(usize::from(key.parameter)));
            literal.is_some_and(|literal| key.is_one_key(literal))
        });
        let by_count = match write.change_report {
            _ if !names_one_key => false,
            ChangeReport::Count => true,
            ChangeReport::CountOfChanged => !counts_matches,
            ChangeReport::Nothing => false,
        };
        let is_told = by_count && matches!(bound, Bound::Keys(_));
        if !is_told {
            match self.foresee(original).await? {
                Foreseen::Nothing => {}
                Foreseen::Refused => return self.run_original(original, context).await,
                Foreseen::Ended(error) => return self.reply_err(context, &error).await,
            }
        }
        let bound = match self.held(&bound).await? {
            Ok(bound) => bound,
            Err(error) => return self.discard_and_fail(original, context, &error).await,
        };
        let suspects = match (by_count, &bound) {
            (true, Bound::Keys(_)) => None,
            (_, Bound::Keys(keys)) => {
                let predicate = keys.predicate.as_deref();
                Some(self.suspects(&keys.table, predicate, None).await?)
            }
            (
                _,
                Bound::Rows {
                    table,
                    predicate,
                    reads,
                    without_reads,
                    inserted,
                },
            ) => {
                let inserted = inserted.clone();
                Some(
                    match self.suspects(table, Some(predicate), inserted).await? {
                        // A column in the inner query may belong to the table around it.
                        Err(error) if !reads.is_empty() && failure(&error) == Failure::Ours => {
                            let plain = without_reads.as_deref();
                            self.suspects(table, plain, None).await?
                        }
                        found => found,
                    },
                )
            }
        };
        let suspects = match suspects {
            // The table has been altered since the catalog was read. The client's statement need not name the column.
            Some(Err(error)) if is_unknown_column(&error) => None,
            Some(Err(error)) => return self.discard_and_fail(original, context, &error).await,
            Some(Ok(suspects)) => suspects,
            None => None,
        };
        let (done, last) = self.run_original_and_see(original, context).await?;
        // A response that ends the transaction has discarded what the transaction knew.
        if !changes_nothing(&last, self.state.running.kind) && self.state.in_transaction() {
            let rows = self.state.transaction.rows_mut();
            match suspects {
                Some(suspects) => rows.remember_suspects(suspects),
                None => rows.remember_written(bound.into_keys()),
            }
        }
        Ok(done)
    }
}

/// Whether an ERR payload is about a value that its column or type does not accept. It names the expression, which may
/// be the proxy's, or the number of the row, which counts the rows of the proxy's queries as well.
fn tells_of_a_value(error: &[u8]) -> bool {
    const VALUES: [u16; 6] = [
        error_code::ER_WARN_DATA_OUT_OF_RANGE,
        error_code::WARN_DATA_TRUNCATED,
        error_code::ER_TRUNCATED_WRONG_VALUE,
        error_code::ER_TRUNCATED_WRONG_VALUE_FOR_FIELD,
        error_code::ER_DATA_TOO_LONG,
        error_code::ER_DATA_OUT_OF_RANGE,
    ];
    reply::Err::decode(error).is_ok_and(|err| VALUES.contains(&err.code))
}
