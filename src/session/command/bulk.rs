//! MariaDB's COM_STMT_BULK_EXECUTE.

use std::sync::Arc;

use crate::net::PacketStream;
use crate::session::Session;
use crate::session::act::bulk::Literals;
use crate::session::command::execution::renamed;
use crate::session::error::Error;
use crate::session::parameters::literals_of;
use crate::session::reply::{Original, ReplyContext};
use crate::session::state::prepared::Statement;
use crate::sql::BulkDecision;
use crate::sql::plan::{Fold, SessionVariables};
use crate::wire::bulk_execute::BulkExecute;
use crate::wire::capability;
use crate::wire::packet::HEADER_LENGTH;

/// The types of the parameters in a bulk execution.
struct Types {
    /// They are in the packet.
    are_sent: bool,
    /// As in the packet. Empty if they are not known.
    types: Vec<u8>,
}

impl Session {
    /// Runs a bulk execution of this statement.
    pub(crate) async fn execute_in_bulk(
        &mut self,
        id: u32,
        statement: &mut Statement,
    ) -> Result<(), Error> {
        self.keep_up(statement).await?;
        let Types { are_sent, types } = self.types_in_bulk(statement).await?;
        self.state.running.access = statement.access;
        self.before(statement.kind);
        self.state.running.is_bulk = true;
        self.watch_execution(id, statement).await?;
        let plan = Arc::clone(&statement.plan);
        let failed = match self.decide_in_bulk(&plan, &statement.text) {
            BulkDecision::Pass(reason) => {
                self.count_observed(&plan);
                self.learn_from_forwarded(reason, statement.kind);
                self.pass_watched(statement.kind, reason).await?;
                self.state.last.error.is_some()
            }
            BulkDecision::Fold(fold) => self.fold_then_bulk(id, statement, fold, &types).await?,
        };
        // The execution has used up the long data.
        statement.long_data = false;
        // They hold for later executions as well. A server that refuses the command may not have come to them.
        match are_sent && failed {
            true => statement.types.clear(),
            false => statement.types = types,
        }
        Ok(())
    }

    /// The types of the parameters in the bulk execution at the front of the client's stream.
    async fn types_in_bulk(&mut self, statement: &Statement) -> Result<Types, Error> {
        let header = self.link.client.peek_header().await;
        let length = header.map_err(Error::Client)?.packet_length();
        let length = length.min(PacketStream::USUAL_PEEK);
        let filled = self.link.client.fill_to(length).await;
        filled.map_err(Error::Client)?;
        let payload = &self.link.client.buffered()[HEADER_LENGTH..length];
        // MariaDB has no names for parameters.
        let is_of_mariadb = self.link.capabilities & capability::QUERY_ATTRIBUTES == 0;
        let execute = BulkExecute::decode(payload, statement.parameters);
        let (are_sent, types) = match execute.ok().filter(|_| is_of_mariadb) {
            Some(BulkExecute { types: None, .. }) => (false, statement.types.clone()),
            Some(BulkExecute {
                types: Some(types), ..
            }) => (true, types.to_vec()),
            None => (true, Vec::new()),
        };
        Ok(Types { are_sent, types })
    }

    /// Folds for a bulk execution, and runs it. Returns whether it has failed.
    async fn fold_then_bulk(
        &mut self,
        id: u32,
        statement: &mut Statement,
        of_a_row: Option<Fold>,
        types: &[u8],
    ) -> Result<bool, Error> {
        // The fold goes by them.
        let variables = self.variables().await?.unwrap_or_default();
        let context = ReplyContext::single(self.command_response_kind());
        self.close_rewritten(statement).await?;
        let (payload, original) = match self.buffer_command().await? {
            true => {
                let payload = self.command_payload().to_vec();
                self.link.drop_command();
                let original = Original::Payload(renamed(&payload, id)?);
                (payload, original)
            }
            // It is too long to be read.
            false => (Vec::new(), Original::Stream),
        };
        let plan = Arc::clone(&statement.plan);
        let rows = rows_of(&payload, statement, types, &variables);
        let done = self.fold_in_bulk(&plan, of_a_row, rows, &original, context);
        let failed = Box::pin(done).await?.failed;
        self.after(statement.kind, self.state.last.leaves_doubt);
        Ok(failed)
    }
}

/// The rows of parameters, as literals. The last one is `None` if what follows cannot be read.
fn rows_of<'a>(
    payload: &'a [u8],
    statement: &'a mut Statement,
    types: &'a [u8],
    variables: &'a SessionVariables,
) -> impl Iterator<Item = Literals> + 'a {
    let decoded = BulkExecute::decode(payload, statement.parameters).ok();
    let decoded = decoded.filter(|_| !statement.long_data && !types.is_empty());
    let is_unreadable = decoded.is_none();
    let rows = decoded.into_iter().flat_map(|execute| execute.rows(types));
    let typing = &mut statement.typing;
    let literals = rows.map(move |row| {
        let values = row.ok()?;
        typing.see(&values);
        match typing.is_fixed() {
            true => None,
            false => literals_of(&values, variables),
        }
    });
    literals.chain(is_unreadable.then_some(None))
}
