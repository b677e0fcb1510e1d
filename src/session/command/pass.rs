//! Statements that are passed on as they came.

use crate::session::Session;
use crate::session::error::Error;
use crate::sql::Kind;
use crate::sql::plan::Reason;

impl Session {
    /// Passes the statement at the front of the client's stream on as it came.
    pub(crate) async fn pass_statement(&mut self, kind: Kind, reason: Reason) -> Result<(), Error> {
        self.before(kind);
        self.watch_command(kind).await?;
        self.pass_watched(kind, reason).await
    }

    /// The same, in either protocol, for one that has been looked at for what it changes out of sight.
    pub(crate) async fn pass_watched(&mut self, kind: Kind, reason: Reason) -> Result<(), Error> {
        self.count(reason);
        let response_kind = self.command_response_kind();
        self.pass_command().await?;
        let tracker = self.pass_answer(response_kind).await?;
        self.after(kind, tracker.error().is_some());
        if tracker.is_multi_result() {
            // Other statements may have stood behind the first, USE among them.
            if self.state.multi_statements {
                self.schema = None;
            }
            // COMMIT or ROLLBACK among them, and a BEGIN behind it: the flags of the last one do not tell.
            self.before(Kind::Other);
            self.after(Kind::Other, false);
        }
        Ok(())
    }
}
