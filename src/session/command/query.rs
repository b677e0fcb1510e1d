//! COM_QUERY: most statements pass after one glance; a statement that names a hot table gets its plan.

use std::sync::Arc;

use memchr::memchr;

use crate::session::Session;
use crate::session::command::explain::asks_to_explain;
use crate::session::error::Error;
use crate::session::plan::Found;
use crate::session::reply::{Original, ReplyContext};
use crate::session::shared::hot_tables::Known;
use crate::session::state::Unseen;
use crate::session::state::running::Access;
use crate::session::text::{
    kind_of, may_change_rights, may_change_the_catalog, may_take_locks, statement_text,
};
use crate::sql::diagnostics::may_be_question;
use crate::sql::plan::Reason;
use crate::sql::{self, Kind, Shape};
use crate::wire::packet::HEADER_LENGTH;
use crate::wire::response::ResponseKind;

impl Session {
    /// Handles COM_QUERY.
    pub(crate) async fn query(&mut self) -> Result<(), Error> {
        let capabilities = self.link.capabilities;
        if !self.buffer_statement().await? {
            return Box::pin(self.long_query()).await;
        }
        let payload = self.command_payload();
        let Ok(text) = statement_text(payload, capabilities) else {
            return self.pass_statement(Kind::Other, Reason::NotHot).await;
        };
        let kind = kind_of(text);
        let may_lock = may_take_locks(text, kind, self.state.mode.multi_statements);
        self.note_locks(kind, may_lock);
        let text = statement_text(self.command_payload(), capabilities)?;
        let changes_rights = may_change_rights(text, kind, self.state.mode.multi_statements);
        self.state.rights.are_prepared |= changes_rights && kind == Kind::Prepare;
        let changes_rights =
            changes_rights || (kind == Kind::Execute && self.state.rights.are_prepared);
        let shared = Arc::clone(&self.shared);
        let _change = changes_rights.then(|| shared.rights.change());
        let mut shape = std::mem::take(&mut self.shape);
        let text = statement_text(self.command_payload(), capabilities)?;
        let sighting = self.sight(text, kind);
        let found = match self.glance(text, kind, &mut shape) {
            Glance::Pass(reason) => {
                let control = self.control_in(text, kind);
                let access = match self.state.in_transaction() {
                    true => self.access_in(Some(text), kind),
                    false => Access::default(),
                };
                self.shape = shape;
                self.state.running.control = control;
                self.state.running.access = access;
                self.forget_diagnostics(kind);
                self.learn_from_forwarded(reason, kind);
                if kind == Kind::Prepare && !self.state.mode.bypass {
                    Unseen::add(&mut self.state.unseen, None, &self.hot.prepared_under);
                }
                self.pass_statement(kind, reason).await?;
                self.saw(sighting);
                return Ok(());
            }
            Glance::Planned(known) => Some(Found { known, shape }),
            Glance::Look => {
                self.shape = shape;
                None
            }
        };
        let payload = self.command_payload().to_vec();
        self.link.drop_command();
        // Boxed: a task is as large as the largest future in it, and most sessions never come here.
        Box::pin(self.hot_query(payload, found)).await?;
        self.saw(sighting);
        Ok(())
    }

    /// What is known of a statement without a closer look. The text of one that passes is not copied. `shape` is what
    /// its literals are lifted into.
    fn glance(&self, text: &[u8], kind: Kind, shape: &mut Shape) -> Glance {
        // It may ask about the statement before, or use up what SET TRANSACTION has set for one transaction.
        if asks_to_explain(text, kind)
            || (self.state.diagnostics.is_some() && may_be_question(text, kind))
            || self.state.one_shot.is_set()
            || sql::one_shot::may_be(text, kind)
            || may_change_the_catalog(text, kind, &self.hot.catalog)
        {
            return Glance::Look;
        }
        if !self.is_hot(text, kind) {
            return Glance::Pass(Reason::NotHot);
        }
        let may_be_several = self.state.mode.multi_statements && memchr(b';', text).is_some();
        if may_be_several || kind == Kind::Execute || !self.is_ordinary() {
            return Glance::Look;
        }
        let variables = self.state.of_texts();
        let known = variables.and_then(|variables| self.hot.known(text, variables, shape));
        let Some(known) = known else {
            return Glance::Look;
        };
        match known.plan().forwards(self.state.in_transaction()) {
            Some(reason) => {
                self.count_observed(known.plan());
                Glance::Pass(reason)
            }
            None => Glance::Planned(known),
        }
    }

    /// Handles a statement that is too long to be read: all hot tables are folded for it, whatever it names.
    async fn long_query(&mut self) -> Result<(), Error> {
        self.state.diagnostics = None;
        self.buffer_head().await?;
        let head = &self.link.client.buffered()[HEADER_LENGTH..];
        let text = statement_text(head, self.link.capabilities).unwrap_or_default();
        let kind = kind_of(text);
        if self.state.mode.bypass || self.catalog().tables.is_empty() {
            return self.pass_statement(kind, Reason::NotHot).await;
        }
        // The fold goes by them.
        self.variables().await?;
        let fold = self.fold_of_all(kind);
        self.before(kind);
        let context = ReplyContext::single(ResponseKind::Results);
        let done = self
            .fold_then_original(&fold, None, &Original::Stream, context)
            .await?;
        self.after(kind, done.failed);
        Ok(())
    }

    /// Handles a statement, or several, of which at least one names a hot table.
    async fn hot_query(&mut self, payload: Vec<u8>, found: Option<Found>) -> Result<(), Error> {
        let text = statement_text(&payload, self.link.capabilities)?;
        self.keep_what_it_may_ask_for(text).await?;
        let variables = self.variables().await?.unwrap_or_default();
        let text = statement_text(&payload, self.link.capabilities)?;
        let prefix = &payload[..payload.len() - text.len()];
        let parts = match self.state.mode.multi_statements && memchr(b';', text).is_some() {
            true => sql::split(text, &variables),
            false => Vec::new(),
        };
        if parts.len() < 2 {
            let context = ReplyContext::single(ResponseKind::Results);
            let text = text.to_vec();
            let original = Original::Payload(payload);
            self.statement_or_explanation(&text, &original, context, found)
                .await?;
            return Ok(());
        }
        Box::pin(self.several(prefix, text, parts)).await
    }
}

/// What the first look at a statement shows.
enum Glance {
    /// It is forwarded.
    Pass(Reason),
    /// Its plan is known.
    Planned(Known),
    /// Nothing is certain.
    Look,
}

#[cfg(test)]
mod tests {
    use std::future::Future;

    use super::*;

    /// The size of the future that a command of the session is.
    fn size_of_future<'a, F: Future + 'a>(_: impl FnOnce(&'a mut Session) -> F) -> usize {
        size_of::<F>()
    }

    /// Each statement that concerns a hot table allocates this future and copies it there. At 12 KB that took more than
    /// a quarter of the proxy's own instructions for an increment.
    #[test]
    fn the_future_of_a_statement_is_small() {
        let size = size_of_future(|session| session.hot_query(Vec::new(), None));
        assert!(size <= 5 * 1024, "{size} bytes: box what is rare");
        // Each session has this one for as long as it lives.
        let size = size_of_future(Session::run);
        assert!(size <= 2048, "{size} bytes");
    }
}
