//! Prepared statements of the binary protocol. The client keeps its own statement id, parameters and column
//! definitions, whatever runs in place of its statement.

use std::sync::Arc;

use crate::net::PacketStream;
use crate::session::Session;
use crate::session::command::execution::renamed;
use crate::session::error::Error;
use crate::session::link::definitions::Definitions;
use crate::session::link::rewrite::Rewrite;
use crate::session::state::Unseen;
use crate::session::state::diagnostics::Asks;
use crate::session::state::one_shot::Effect;
use crate::session::state::prepared::Statement;
use crate::session::state::running::Access;
use crate::session::state::typing::Typing;
use crate::session::text::{kind_of, may_change_rights, may_change_the_catalog, may_take_locks};
use crate::sql::diagnostics::{self, Question};
use crate::sql::plan::{Fold, Plan, Reason};
use crate::sql::{self, Kind};
use crate::traffic::Prepared;
use crate::wire::command::{self, encode_statement_command};
use crate::wire::execute::Execute;
use crate::wire::packet::{HEADER_LENGTH, encode_packet};
use crate::wire::reader::Reader;
use crate::wire::response::{PacketKind, PrepareOk, ResponseKind, ResponseTracker};

/// MariaDB: the id that stands for the statement prepared last.
const LAST_PREPARED: u32 = u32::MAX;

/// Texts up to this are not counted, in bytes.
const SHORT_TEXT: usize = 1024;

impl Session {
    /// Handles COM_STMT_PREPARE.
    pub(crate) async fn prepare(&mut self) -> Result<(), Error> {
        if !self.buffer_statement().await? {
            return self.prepare_long().await;
        }
        let payload = self.command_payload();
        let text = &payload[1..];
        let kind = kind_of(text);
        let hot = self.is_hot(text, kind);
        let may_lock = may_take_locks(text, kind, false);
        let changes =
            kind.may_change_session() || kind.may_end_transaction() || kind == Kind::Savepoint;
        let is_pending = self.state.one_shot.is_set();
        let may_ask = diagnostics::may_ask(text);
        let seen = self.sight_prepared(text, kind);
        let changes_rights = may_change_rights(text, kind, false);
        let is_watched = self.may_change_out_of_sight(text, kind);
        let access = self.access_in(Some(text), kind);
        let clears = self.clears_when_prepared(text, kind);
        self.note_locks(kind, may_lock);
        self.state.rights.are_prepared |= changes_rights;
        let is_plain = !hot && !changes && !is_pending && !may_ask;
        if is_plain && kind != Kind::Deallocate {
            let sequence_id = self.pass_command().await?.wrapping_add(1);
            self.state.last_prepared = 0;
            let prepared = match seen {
                None => self.pass_response(ResponseKind::Prepared).await?.prepared(),
                Some(seen) => self.pass_prepared_seen(sequence_id, seen).await?,
            };
            match prepared {
                None => self.state.diagnostics = None,
                id => {
                    self.clear_messages(clears);
                    let known = id.map(|id| (id, access));
                    Unseen::add(&mut self.state.unseen, known, &self.hot.prepared_under);
                    if let Some(id) = id.filter(|_| is_watched == Some(false)) {
                        Unseen::leave_unwatched(&mut self.state.unseen, id, self.hot.number);
                    }
                }
            }
            return Ok(());
        }
        let payload = self.command_payload().to_vec();
        self.link.drop_command();
        if (may_ask || hot) && self.state.variables.is_none() && self.state.diagnostics.is_none() {
            // COM_STMT_PREPARE leaves these numbers as they are, but an internal query does not.
            self.keep_numbers().await?;
        }
        let text = self.executed(&payload[1..]).await?.into_owned();
        let kind = kind_of(&text);
        let is_kept = hot && (kind == Kind::Ddl || self.may_remember(&text, kind));
        let plan = match hot {
            // It may be executed when the tables are no longer locked, or not locked yet.
            true if is_kept => self.plan(&text).await?,
            true => Arc::new(Plan::Fold(Box::new(self.fold_of_named(&text)))),
            false => Arc::new(Plan::Forward(Reason::NotHot)),
        };
        let variables = self.state.of_texts().cloned().unwrap_or_default();
        let effect = self.state.one_shot.effect(&text, kind, &variables);
        let control = self.control_in(&text, kind);
        let access = self.access_in(Some(&text), kind);
        let asks = match diagnostics::question(&text, &variables).filter(|_| may_ask) {
            Some(question @ (Question::Numbers(_) | Question::Into(_))) => Some(Asks {
                text: text.clone(),
                question,
            }),
            _ => None,
        };
        self.send_payload(&payload).await?;
        let kinds = self.column_kinds(&text);
        let shadowed = self.state.temporary.hide.clone();
        let (planned_by, now) = (self.hot.number, Arc::clone(&self.hot.prepared_under));
        let may_change_the_catalog = may_change_the_catalog(&text, kind, &self.hot.catalog);
        if let Some(statement) = self.pass_prepared(1, kind, plan, clears).await? {
            statement.one_shot = effect;
            statement.control = control;
            statement.access = access;
            statement.may_change_the_catalog = may_change_the_catalog;
            statement.asks = asks;
            let parameters = statement.parameters;
            if is_kept {
                statement.columns.kinds = kinds;
                statement.text = text;
                statement.shadowed = shadowed;
                statement.other_names = variables.other_characters.is_some();
                statement.variables = Some(variables);
                statement.planned_by = planned_by;
            } else {
                let id = self.state.last_prepared;
                Unseen::add(&mut self.state.unseen, Some((id, access)), &now);
                if is_watched == Some(false) {
                    Unseen::leave_unwatched(&mut self.state.unseen, id, planned_by);
                }
            }
            let id = self.state.last_prepared;
            self.saw_prepared(id, seen.map(|seen| seen.taking(parameters)));
        }
        Ok(())
    }

    /// Whether there is room for the text of one more prepared statement: there may be as many as the server's
    /// `max_prepared_stmt_count` says, and each may have megabytes. Those that are prepared beyond it fold the hot
    /// tables that they name, whenever they are executed. There is more room for queries, which could not be answered
    /// after a snapshot then.
    fn may_remember(&self, text: &[u8], kind: Kind) -> bool {
        let memory = self.place.memory();
        let most = match kind.is_write() {
            true => memory.prepared_statements,
            false => memory.prepared_queries,
        };
        let is_short = text.len() <= SHORT_TEXT;
        let texts = || self.state.statements.values().map(|it| it.text.len());
        is_short || (texts().sum::<usize>() + text.len()) as u64 <= most
    }

    /// Forwards the response to COM_STMT_PREPARE of a statement of which only the traffic report remembers anything.
    /// Returns its id, or `None` if the response is an ERR.
    async fn pass_prepared_seen(
        &mut self,
        sequence_id: u8,
        seen: Prepared,
    ) -> Result<Option<u32>, Error> {
        let copied = self.copy_prepared(sequence_id).await?;
        let Some((ok, ..)) = copied else {
            return Ok(None);
        };
        self.state.last_prepared = ok.statement_id;
        self.saw_prepared(ok.statement_id, Some(seen.taking(ok.parameters)));
        Ok(Some(ok.statement_id))
    }

    /// Prepares a statement that is too long to be read: every execution folds all hot tables.
    async fn prepare_long(&mut self) -> Result<(), Error> {
        self.buffer_head().await?;
        let head = &self.link.client.buffered()[HEADER_LENGTH + 1..];
        let kind = kind_of(head);
        let fold = match self.state.mode.bypass {
            true => Fold::new(Vec::new(), Reason::NotHot),
            false => self.fold_of_all(kind),
        };
        let clears = self.clears_when_prepared(head, kind);
        let now = Arc::clone(&self.hot.prepared_under);
        let sequence_id = self.pass_command().await?.wrapping_add(1);
        let plan = Arc::new(Plan::Fold(Box::new(fold)));
        let prepared = self.pass_prepared(sequence_id, kind, plan, clears).await?;
        if prepared.is_some() {
            let id = self.state.last_prepared;
            Unseen::add(&mut self.state.unseen, Some((id, Access::default())), &now);
        }
        Ok(())
    }

    /// Whether COM_STMT_PREPARE of this text clears the diagnostics of the statement before it. On MySQL it always
    /// does, on MariaDB if it opens a table. On neither does it change ROW_COUNT().
    fn clears_when_prepared(&self, text: &[u8], kind: Kind) -> bool {
        let names = |word| sql::mentions(text, word);
        !self.hot.catalog.mariadb
            || match kind {
                Kind::Insert | Kind::Replace | Kind::Update | Kind::Delete | Kind::Ddl => true,
                Kind::Show => !names(b"WARNINGS") && !names(b"ERRORS"),
                _ => names(b"FROM"),
            }
    }

    /// Takes in that a statement has been prepared, which has cleared the diagnostics of the one before it, or has
    /// not.
    fn clear_messages(&mut self, clears: bool) {
        if let (true, Some(diagnostics)) = (clears, &mut self.state.diagnostics) {
            diagnostics.clear_messages();
        }
    }

    /// Forwards the response to COM_STMT_PREPARE, and remembers the statement.
    async fn pass_prepared(
        &mut self,
        sequence_id: u8,
        kind: Kind,
        plan: Arc<Plan>,
        clears: bool,
    ) -> Result<Option<&mut Statement>, Error> {
        let Some((ok, parameters, columns)) = self.copy_prepared(sequence_id).await? else {
            self.state.diagnostics = None;
            return Ok(None);
        };
        self.state.last_prepared = ok.statement_id;
        self.clear_messages(clears);
        let statement = Statement {
            kind,
            plan,
            text: Vec::new(),
            shadowed: Vec::new(),
            variables: None,
            other_names: false,
            planned_by: 0,
            asks: None,
            one_shot: Effect::Ends,
            control: None,
            access: Access::default(),
            may_change_the_catalog: false,
            parameters: ok.parameters,
            columns: Definitions::new(columns, None),
            types: Vec::new(),
            typing: Typing::new(ok.parameters, &parameters, self.link.capabilities),
            long_data: false,
            rewritten: None,
            rows: None,
        };
        let statements = &mut self.state.statements;
        statements.insert(ok.statement_id, statement);
        Ok(statements.get_mut(&ok.statement_id))
    }

    /// Forwards the response to COM_STMT_PREPARE and returns a copy, with the definitions of the parameters, then of
    /// the columns. `None` if it is an ERR.
    async fn copy_prepared(
        &mut self,
        mut sequence_id: u8,
    ) -> Result<Option<(PrepareOk, Vec<Vec<u8>>, Vec<Vec<u8>>)>, Error> {
        let mut tracker = ResponseTracker::new(ResponseKind::Prepared, self.link.capabilities);
        let mut payload = Vec::new();
        let mut out = Vec::new();
        let mut prepared = None;
        let (mut parameters, mut columns) = (Vec::new(), Vec::new());
        while !tracker.is_done() {
            match self.link.read_packet(&mut tracker, &mut payload).await? {
                PacketKind::PrepareOk => prepared = Some(PrepareOk::decode(&payload)?),
                PacketKind::Parameter => parameters.push(payload.clone()),
                PacketKind::Column => columns.push(payload.clone()),
                _ => {}
            }
            sequence_id = encode_packet(&mut out, sequence_id, &payload);
        }
        self.link.client.write(&out).await.map_err(Error::client)?;
        // An error is the client's.
        self.link.rolled_back = None;
        self.observe(&tracker);
        Ok(prepared.map(|ok| (ok, parameters, columns)))
    }

    /// Handles a command that names a statement: COM_STMT_EXECUTE, FETCH, RESET, CLOSE, SEND_LONG_DATA, BULK_EXECUTE.
    pub(crate) async fn statement_command(&mut self, command_byte: u8) -> Result<(), Error> {
        const NAMED: usize = HEADER_LENGTH + ResponseKind::LOOKAHEAD;
        let header = self
            .link
            .client
            .peek_header()
            .await
            .map_err(Error::Client)?;
        let filled = self
            .link
            .client
            .fill_to(header.packet_length().min(NAMED))
            .await;
        filled.map_err(Error::Client)?;
        let buffered = self.link.client.buffered();
        let end = header.packet_length().min(buffered.len());
        let mut named = Reader::new(&buffered[HEADER_LENGTH + 1..end]);
        let id = named.u32().unwrap_or(0);
        let id = match id {
            LAST_PREPARED if self.state.last_prepared != 0 => self.state.last_prepared,
            id => id,
        };
        // The statement is taken out of the map while it runs, so that the session can be borrowed as a whole.
        let Some(mut statement) = self.state.statements.remove(&id) else {
            if command_byte == command::STMT_CLOSE {
                Unseen::remove(&mut self.state.unseen, id);
            } else {
                // The others run nothing.
                if !matches!(
                    command_byte,
                    command::STMT_RESET | command::STMT_SEND_LONG_DATA
                ) {
                    self.state.diagnostics = None;
                }
                // It may be a query.
                self.state.transaction.may_have_snapshot = true;
                let of_unseen = self
                    .state
                    .unseen
                    .as_ref()
                    .and_then(|unseen| unseen.ids.get(&id));
                self.state.running.access = of_unseen.copied().unwrap_or_default();
            }
            let executes = matches!(
                command_byte,
                command::STMT_EXECUTE | command::STMT_BULK_EXECUTE
            );
            // A statement that does not exist is not watched. MySQL adds its error to the diagnostics of the statement
            // before (a failed PREPARE), which an internal query would clear.
            let unseen = self.state.unseen.as_ref();
            let is_watched = unseen.is_some_and(|unseen| {
                let exists = id == LAST_PREPARED || unseen.ids.contains_key(&id);
                exists && !unseen.is_unwatched(id, self.hot.number)
            });
            if executes && is_watched {
                self.watch(None, Kind::Other).await?;
            }
            let tracker = match self.shared.traffic.is_on() {
                _ if command_byte == command::STMT_RESET => {
                    self.pass_command().await?;
                    self.pass_beside(command_byte).await?
                }
                true => Box::pin(self.pass_seen(command_byte, id)).await?,
                false => {
                    let response_kind = self.command_response_kind();
                    self.pass_command().await?;
                    self.pass_response(response_kind).await?
                }
            };
            if command_byte != command::STMT_CLOSE {
                self.after_one_shot(&Effect::Ends, tracker.error().is_some());
            }
            // The response has rows, which come from a table in all but a few queries.
            let has_rows = tracker.error().is_none() && tracker.has_no_warnings().is_none();
            self.state.transaction.has_snapshot |= executes && has_rows;
            return Ok(());
        };
        let done = match command_byte {
            command::STMT_EXECUTE => {
                self.note_types(&mut statement).await?;
                let sighting = self.sight_execution(id, Some(&statement)).await?;
                let done = self.execute_known(id, &mut statement).await;
                if done.is_ok() {
                    self.saw(sighting);
                }
                done
            }
            command::STMT_FETCH => Box::pin(self.fetch(id, &mut statement)).await,
            command::STMT_RESET => self.reset_statement(&mut statement).await,
            command::STMT_SEND_LONG_DATA => {
                statement.long_data = true;
                self.pass_command().await.map(drop)
            }
            command::STMT_CLOSE => {
                self.forget_prepared(id);
                Unseen::remove(&mut self.state.unseen, id);
                self.close_rewritten(&mut statement).await?;
                return self.pass_command().await.map(drop);
            }
            _ => Box::pin(self.execute_in_bulk(id, &mut statement)).await,
        };
        self.state.statements.insert(id, statement);
        done
    }

    /// Takes in the parameter types of the execution at the front. Clients send them once, and whatever happens to
    /// this execution, a later one may rely on them.
    async fn note_types(&mut self, statement: &mut Statement) -> Result<(), Error> {
        let header = self
            .link
            .client
            .peek_header()
            .await
            .map_err(Error::Client)?;
        let length = header.packet_length().min(PacketStream::USUAL_PEEK);
        self.link
            .client
            .fill_to(length)
            .await
            .map_err(Error::Client)?;
        let payload = &self.link.client.buffered()[HEADER_LENGTH..length];
        let execute = Execute::decode(payload, statement.parameters, self.link.capabilities);
        if let Ok(Execute {
            types: Some(types), ..
        }) = execute
        {
            // Some clients send the types with every execution, so reuse the allocation.
            statement.types.clear();
            statement.types.extend_from_slice(types);
        }
        Ok(())
    }

    /// Forwards a command with the rewritten statement's id in place of the client's.
    async fn pass_renamed(&mut self, statement: &Statement) -> Result<bool, Error> {
        let Some((id, _)) = &statement.rewritten else {
            return Ok(false);
        };
        if !self.buffer_command().await? {
            return Ok(false);
        }
        let payload = renamed(self.command_payload(), *id)?;
        self.link.drop_command();
        self.send_payload(&payload).await?;
        Ok(true)
    }

    async fn fetch(&mut self, id: u32, statement: &mut Statement) -> Result<(), Error> {
        if !self.pass_renamed(statement).await? {
            self.pass_command().await?;
            return self.pass_response(ResponseKind::Rows).await.map(drop);
        }
        let rewrite = Rewrite {
            sequence_id: 1,
            rows: statement.rows.take(),
            renamed: statement.rewritten.as_ref().map(|(ours, _)| (*ours, id)),
            ..Rewrite::default()
        };
        statement.rows = self.pass_rewritten(ResponseKind::Rows, rewrite).await?.rows;
        Ok(())
    }

    async fn reset_statement(&mut self, statement: &mut Statement) -> Result<(), Error> {
        statement.long_data = false;
        if let Some((id, _)) = &statement.rewritten {
            let mut out = Vec::new();
            encode_statement_command(&mut out, command::STMT_RESET, *id);
            self.write_upstream(&out).await?;
            let mut tracker = ResponseTracker::new(ResponseKind::Single, self.link.capabilities);
            self.link.read_packet(&mut tracker, &mut Vec::new()).await?;
        }
        self.pass_command().await?;
        self.pass_beside(command::STMT_RESET).await.map(drop)
    }
}
