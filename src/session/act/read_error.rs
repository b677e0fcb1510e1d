//! What a client is told of a read whose rewritten text fails: the words are to be about the client's own expressions,
//! not about the proxy's.

use std::sync::Arc;

use tokio::time::Instant;

use crate::counter::fold::BEGIN_TO_WRITE;
use crate::session::Session;
use crate::session::act::fold_slots::{AsOwn, Bound};
use crate::session::error::Error;
use crate::session::interrupted::is_interrupted_sum;
use crate::session::link::internal::is_deadlock;
use crate::session::reply::{Original, ReplyContext};
use crate::session::state::diagnostics::Diagnostics;
use crate::session::state::transaction::Keys;
use crate::sql::plan::Read;
use crate::wire::error_code::ER_DATA_OUT_OF_RANGE;
use crate::wire::reply;
use crate::wire::response::ResponseTracker;

/// A rewritten text that was sent for a client's own.
#[derive(Clone, Copy)]
pub(crate) struct Sent<'a> {
    /// The client's.
    pub text: &'a [u8],
    pub at: Instant,
}

impl Session {
    /// The error to tell the client of a read whose rewritten text has ended with `error`, over a value.
    pub(crate) async fn error_of_read(
        &mut self,
        read: &Read,
        sent: Sent<'_>,
        original: &Original,
        error: &[u8],
    ) -> Result<Vec<u8>, Error> {
        match is_interrupted_sum(error) {
            true => self.interruption(sent.text, sent.at).await,
            false => self.originals_error(read, original, error).await,
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
        if self.state.last.leaves_doubt {
            self.run_internal("DO 0").await?;
        }
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
