//! What a client is told of a read whose rewritten text fails: the words are to be about the client's own expressions,
//! not about the proxy's.

use std::sync::Arc;

use tokio::time::Instant;

use crate::counter::fold::BEGIN_TO_WRITE;
use crate::session::Session;
use crate::session::act::fold_slots::{AsOwn, Bound};
use crate::session::error::Error;
use crate::session::interrupted::{TimeLimit, is_interrupted_sum};
use crate::session::link::internal::is_deadlock;
use crate::session::reply::{Original, ReplyContext};
use crate::session::state::diagnostics::Diagnostics;
use crate::session::state::transaction::Keys;
use crate::sql::plan::Read;
use crate::wire::error_code::{
    ER_BAD_FIELD_ERROR, ER_CHECKREAD, ER_DATA_OUT_OF_RANGE, ER_LOCK_DEADLOCK, ER_LOCK_WAIT_TIMEOUT,
    ER_NO_SUCH_TABLE, ER_QUERY_INTERRUPTED, ER_STATEMENT_TIMEOUT,
};
use crate::wire::reply;
use crate::wire::response::ResponseTracker;

/// A rewritten text that was sent for a client's own.
#[derive(Clone, Copy)]
pub(crate) struct Sent<'a> {
    /// The client's.
    pub text: &'a [u8],
    pub at: Instant,
}

/// Errors of a subquery. MariaDB evaluates what stands beside it all the same, and has two errors to report then.
const OF_A_SUBQUERY: [u16; 5] = [
    ER_LOCK_WAIT_TIMEOUT,
    ER_LOCK_DEADLOCK,
    ER_CHECKREAD,
    ER_QUERY_INTERRUPTED,
    ER_STATEMENT_TIMEOUT,
];

/// Errors of a rewritten text that are held back, on MySQL and on MariaDB: the first is of a value, the next two are of
/// names, by which an execution is planned again, and the others are those of a subquery.
const HELD: [&[u16]; 2] = [
    &[ER_DATA_OUT_OF_RANGE, ER_NO_SUCH_TABLE, ER_BAD_FIELD_ERROR],
    &[
        ER_DATA_OUT_OF_RANGE,
        ER_NO_SUCH_TABLE,
        ER_BAD_FIELD_ERROR,
        ER_LOCK_WAIT_TIMEOUT,
        ER_LOCK_DEADLOCK,
        ER_CHECKREAD,
        ER_QUERY_INTERRUPTED,
        ER_STATEMENT_TIMEOUT,
    ],
];

impl Session {
    /// Errors of a rewritten read that are held back, for [`Session::error_of_read`].
    pub(crate) fn held_errors(&self) -> &'static [u16] {
        HELD[usize::from(self.hot.catalog.mariadb)]
    }

    /// The error to tell the client of a read whose rewritten text has ended with `error`.
    pub(crate) async fn error_of_read(
        &mut self,
        read: &Read,
        sent: Sent<'_>,
        original: &Original,
        error: &[u8],
    ) -> Result<Vec<u8>, Error> {
        if is_interrupted_sum(error) {
            let limit = TimeLimit::OfQuery(sent.text);
            return self.interruption(limit, sent.at).await;
        }
        let code = reply::Err::decode(error).map_or(0, |error| error.code);
        if OF_A_SUBQUERY.contains(&code) {
            self.report_without_sums(error).await?;
            return Ok(self.of_hot_table(error.to_vec()));
        }
        match code {
            ER_DATA_OUT_OF_RANGE => self.originals_error(read, original, error).await,
            _ => Ok(error.to_vec()),
        }
    }

    /// Keeps what the client may ask about its error, where the server may have been asked something before a statement
    /// was closed.
    pub(crate) fn keep_error_behind_close(&mut self) {
        if self.may_lose_silently() {
            self.state.diagnostics = Some(Diagnostics::of_an_error());
        }
    }

    /// The error that the original ends with: its words are about the client's own expression, not about the proxy's
    /// sum. `error` is the rewritten text's, for when the original does not fail.
    async fn originals_error(
        &mut self,
        read: &Read,
        original: &Original,
        error: &[u8],
    ) -> Result<Vec<u8>, Error> {
        self.settle_doubt().await?;
        let tables = read.tables.iter();
        let folds: Vec<Bound> = tables
            .map(|table| Keys::whole(Arc::clone(table)).into())
            .collect();
        let wrapped = !self.state.in_transaction();
        let mut folded = Ok(());
        if wrapped {
            folded = self.begin_and_fold(BEGIN_TO_WRITE, &folds).await?;
        } else {
            for bound in folds {
                folded = folded.and(self.fold(&bound, AsOwn::No).await?.map(drop));
            }
        }
        let mut last = Vec::new();
        // If another session holds rows, base alone may have the value that is out of range.
        let is_open = wrapped || !folded.as_ref().is_err_and(|error| is_deadlock(error));
        if is_open {
            let context = ReplyContext::single(original.response_kind());
            self.send_original(original, context).await?;
            let mut tracker = ResponseTracker::new(context.response_kind, self.link.capabilities);
            while !tracker.is_done() {
                self.link.read_packet(&mut tracker, &mut last).await?;
            }
            self.observe_internal(&tracker);
        }
        let is_told = match &folded {
            Ok(()) => last.first() == Some(&reply::ERR),
            Err(_) => reply::Err::decode(&last).is_ok_and(|err| err.code == ER_DATA_OUT_OF_RANGE),
        };
        let messages = match wrapped && is_told {
            true => self.take_messages().await?,
            false => None,
        };
        if !is_told {
            last = error.to_vec();
        }
        if wrapped {
            self.commit_own().await?;
            self.state.diagnostics = Some(match messages {
                Some(messages) => Diagnostics::of(&last, Some(messages)),
                None => Diagnostics::of_an_error(),
            });
            self.raise_again(&last).await?;
        }
        Ok(last)
    }
}
