//! Forwarding: a statement passes on as it came, and the session takes in what its response says.

use crate::session::Session;
use crate::session::error::Error;
use crate::sql::Kind;
use crate::sql::plan::Reason;

impl Session {
    /// Forwards the statement at the front of the client's stream.
    pub(crate) async fn pass_statement(&mut self, kind: Kind, reason: Reason) -> Result<(), Error> {
        self.before(kind);
        self.watch_command(kind).await?;
        self.pass_watched(kind, reason).await
    }

    /// Forwards a statement, in either protocol, that [`Session::watch`] has seen already.
    pub(crate) async fn pass_watched(&mut self, kind: Kind, reason: Reason) -> Result<(), Error> {
        self.count(reason);
        let response_kind = self.command_response_kind();
        self.pass_command().await?;
        let tracker = self.pass_response(response_kind).await?;
        self.after(kind, tracker.error().is_some());
        if tracker.is_multi_result() {
            // Other statements may have followed the first, USE among them.
            if self.state.mode.multi_statements {
                self.schema = None;
            }
            // COMMIT or ROLLBACK may be among them, with a BEGIN after it: the flags of the last response do not show
            // that.
            self.before(Kind::Other);
            self.after(Kind::Other, false);
        }
        Ok(())
    }
}
