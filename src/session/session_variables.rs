//! What the session must know of itself to read a statement's text. It asks the upstream when something may have
//! changed that, so no SET, procedure or USE has to be understood.

use std::sync::Arc;

use crate::session::Session;
use crate::session::error::Error;
use crate::session::link::internal::InternalResponse;
use crate::session::state::combining::Combining;
use crate::session::state::rights::Shown;
use crate::session::state::variables::{LOGS_STATEMENTS, Variables};
use crate::sql::plan::SessionVariables;

impl Session {
    /// The variables that decide how a text is read. Asks the upstream if they are not known. `None` if it does not
    /// say.
    pub(crate) async fn variables(&mut self) -> Result<Option<Arc<SessionVariables>>, Error> {
        if self.state.variables.is_none() {
            self.state.definitions.clear();
            self.state.combining = Combining::Unknown;
            self.state.rights.shown = Shown::default();
            let logs_statements = match self.insist(LOGS_STATEMENTS).await? {
                InternalResponse::Row(row) => {
                    row.first().is_some_and(|is| is.as_deref() == Some(b"1"))
                }
                _ => false,
            };
            let question = Variables::question(&self.hot.catalog);
            if let InternalResponse::Row(row) = self.insist(question).await? {
                let (variables, server) = Variables::read(&row, logs_statements);
                let schema = variables.of_texts.schema.as_deref();
                self.entry.set_schema(schema.map(str::as_bytes));
                self.state.variables = Some(variables);
                if let Some(server) = server {
                    self.shared.control.see(&server);
                    self.server = Some(server);
                }
            }
        }
        if self.state.temporary.are_doubted {
            Box::pin(self.see_shadows()).await?;
        }
        Ok(self.state.of_texts().cloned())
    }
}
