//! Prepared statements of the binary protocol: the client keeps its own statement id, parameters and column
//! definitions, whatever is run in its place.

use std::sync::Arc;

use super::Session;
use super::error::Error;
use super::hidden::encode_prepare;
use super::hidden::encode_statement_command;
use super::literal;
use super::patched::Patch;
use super::query::kind_of;
use super::read::{OUT_OF_RANGE, Prepared};
use super::turn::{Original, Turn};
use crate::sql::Kind;
use crate::sql::plan::{Fold, FoldTable, Increment, ParameterDelta, Plan, Read, Reason, Scope};
use crate::wire::answer::{Form, PrepareOk, Role, Walker};
use crate::wire::column::RowEncoder;
use crate::wire::command;
use crate::wire::execute::{Execute, Value};
use crate::wire::packet::{HEADER_LENGTH, encode_packet};
use crate::wire::reader::{Malformed, Reader};

/// MariaDB: the statement that was prepared last.
const LAST_PREPARED: u32 = u32::MAX;

/// A statement of the client's that cannot simply be passed on.
#[derive(Debug)]
pub(super) struct Statement {
    kind: Kind,
    plan: Arc<Plan>,
    parameters: u16,
    /// Payloads of the column definitions that the client was given.
    columns: Vec<Vec<u8>>,
    /// Parameter types of the last execution that sent some.
    types: Vec<u8>,
    /// Parameters have come by COM_STMT_SEND_LONG_DATA since the last execution.
    long_data: bool,
    /// The rewritten statement, prepared: id and text.
    rewritten: Option<(u32, Vec<u8>)>,
    /// How the rows of its cursor are to be laid out anew.
    rows: Option<RowEncoder>,
}

impl Session {
    /// COM_STMT_PREPARE.
    pub(super) async fn prepare(&mut self) -> Result<(), Error> {
        if !self.buffer_command().await? {
            return self.prepare_long().await;
        }
        let payload = self.command_payload();
        let text = &payload[1..];
        let kind = kind_of(text);
        let hot = self.is_hot(text, kind);
        if !hot && !kind.may_change_session() && !kind.may_end_transaction() {
            self.pass_command().await?;
            self.state.last_prepared = 0;
            return self.pass_answer(Form::Prepared).await.map(drop);
        }
        let text = text.to_vec();
        let payload = payload.to_vec();
        self.drop_command();
        let plan = match hot {
            // It may be executed when the tables are no longer locked, or not yet.
            true => self.plan_without_locks(&text).await?,
            false => Arc::new(Plan::Forward(Reason::NotHot)),
        };
        self.send_payload(&payload).await?;
        self.pass_prepared(1, kind, plan).await
    }

    /// A statement of over a megabyte: every execution folds the hot tables that its head names.
    async fn prepare_long(&mut self) -> Result<(), Error> {
        self.buffer_head().await?;
        let head = &self.client.buffered()[HEADER_LENGTH + 1..];
        let kind = kind_of(head);
        let fold = match self.is_hot(head, kind) {
            true => self.fold_of_named(head),
            false => Fold {
                folds: Vec::new(),
                reason: Reason::NotHot,
            },
        };
        let sequence_id = self.pass_command().await?.wrapping_add(1);
        self.pass_prepared(sequence_id, kind, Arc::new(Plan::Fold(Box::new(fold))))
            .await
    }

    /// Passes the answer to COM_STMT_PREPARE on, and remembers the statement.
    async fn pass_prepared(
        &mut self,
        sequence_id: u8,
        kind: Kind,
        plan: Arc<Plan>,
    ) -> Result<(), Error> {
        let Some((ok, columns)) = self.copy_prepared(sequence_id).await? else {
            return Ok(());
        };
        self.state.last_prepared = ok.statement_id;
        let statement = Statement {
            kind,
            plan,
            parameters: ok.parameters,
            columns,
            types: Vec::new(),
            long_data: false,
            rewritten: None,
            rows: None,
        };
        self.state.statements.insert(ok.statement_id, statement);
        Ok(())
    }

    /// Passes the answer to COM_STMT_PREPARE on and takes a copy; `None` when it is an ERR.
    async fn copy_prepared(
        &mut self,
        mut sequence_id: u8,
    ) -> Result<Option<(PrepareOk, Vec<Vec<u8>>)>, Error> {
        let mut walker = Walker::new(Form::Prepared, self.capabilities);
        let mut payload = Vec::new();
        let mut out = Vec::new();
        let mut prepared = None;
        let mut columns = Vec::new();
        while !walker.is_done() {
            match self.read_packet(&mut walker, &mut payload).await? {
                Role::PrepareOk => prepared = Some(PrepareOk::decode(&payload)?),
                Role::Column => columns.push(payload.clone()),
                _ => {}
            }
            sequence_id = encode_packet(&mut out, sequence_id, &payload);
        }
        self.client.write(&out).await.map_err(Error::client)?;
        self.observe(&walker);
        Ok(prepared.map(|ok| (ok, columns)))
    }

    /// A command that names a statement: COM_STMT_EXECUTE, FETCH, RESET, CLOSE, SEND_LONG_DATA, BULK_EXECUTE.
    pub(super) async fn statement_command(&mut self, command_byte: u8) -> Result<(), Error> {
        const NAMED: usize = HEADER_LENGTH + 5;
        let header = self.client.peek_header().await.map_err(Error::Client)?;
        let filled = self.client.fill_to(header.packet_length().min(NAMED)).await;
        filled.map_err(Error::Client)?;
        let mut named = Reader::new(&self.client.buffered()[HEADER_LENGTH + 1..]);
        let id = named.u32().unwrap_or(0);
        let id = match id {
            LAST_PREPARED if self.state.last_prepared != 0 => self.state.last_prepared,
            id => id,
        };
        // Taken out while it runs, so that the session can be borrowed whole.
        let Some(mut statement) = self.state.statements.remove(&id) else {
            self.pass_command().await?;
            return self.pass_answer(Form::of(command_byte)).await.map(drop);
        };
        let done = match command_byte {
            command::STMT_EXECUTE => match *statement.plan {
                Plan::Forward(reason) => {
                    self.learn_from_forwarded(reason, statement.kind);
                    self.pass_statement(statement.kind, reason).await
                }
                _ => self.execute(id, &mut statement).await,
            },
            command::STMT_FETCH => self.fetch(id, &mut statement).await,
            command::STMT_RESET => self.reset_statement(&mut statement).await,
            command::STMT_SEND_LONG_DATA => self.long_data(&mut statement).await,
            command::STMT_CLOSE => {
                self.close_rewritten(&mut statement).await?;
                return self.pass_command().await.map(drop);
            }
            _ => self.execute_in_bulk(&statement).await,
        };
        self.state.statements.insert(id, statement);
        done
    }

    async fn execute(&mut self, id: u32, statement: &mut Statement) -> Result<(), Error> {
        let turn = Turn::single(Form::Results);
        self.before(statement.kind);
        if !self.buffer_command().await? {
            let fold = whole_tables(&statement.plan, Reason::TooLong);
            self.fold_then_original(&fold, None, &Original::Stream, turn)
                .await?;
            return Ok(());
        }
        let payload = self.command_payload().to_vec();
        self.drop_command();
        let capabilities = self.capabilities;
        let execute = Execute::decode(&payload, statement.parameters, capabilities);
        let Ok(execute) = execute else {
            // Let the upstream say what is wrong with it.
            self.run_original(&Original::Payload(payload), turn).await?;
            return Ok(());
        };
        if let Some(types) = execute.types {
            statement.types = types.to_vec();
        }
        let values = execute.values(statement.parameters, &statement.types, capabilities);
        let literals = match (statement.long_data, values) {
            (false, Ok(values)) => self.literals(&values).await?,
            _ => None,
        };
        let original = Original::Payload(execute.encode(id, &statement.types, capabilities));
        let plan = self.under_table_locks(Arc::clone(&statement.plan));
        match (&*plan, &literals) {
            (Plan::Increment(increment), Some(literals)) if !self.state.unguarded => {
                self.execute_increment(increment, &execute, statement, literals, &original)
                    .await?;
            }
            (Plan::Read(read), literals) if literals.is_some() || read.locks.is_empty() => {
                let literals = literals.as_deref().unwrap_or_default();
                self.execute_read(read, &execute, statement, literals, &original)
                    .await?;
            }
            (Plan::Fold(fold), literals) => {
                self.fold_then_original(fold, literals.as_deref(), &original, turn)
                    .await?;
            }
            (Plan::Increment(_) | Plan::Read(_), _) => {
                let fold = whole_tables(&plan, Reason::Fallback);
                self.fold_then_original(&fold, None, &original, turn)
                    .await?;
            }
            (plan, _) => {
                self.act(plan, &[], &original, turn).await?;
            }
        }
        statement.long_data = false;
        self.after(statement.kind, self.state.status_uncertain);
        Ok(())
    }

    /// The values as SQL literals that mean the same; `None` when one has no such literal.
    async fn literals(&mut self, values: &[Value<'_>]) -> Result<Option<Vec<Vec<u8>>>, Error> {
        let facts = self.facts().await?.unwrap_or_default();
        let literals = values.iter().map(|value| match value {
            Value::Text(_) if facts.unsafe_character_set => None,
            value => literal::of(value, facts.no_backslash_escapes),
        });
        Ok(literals.collect())
    }

    async fn execute_increment(
        &mut self,
        increment: &Increment,
        execute: &Execute<'_>,
        statement: &Statement,
        literals: &[Vec<u8>],
        original: &Original,
    ) -> Result<(), Error> {
        let turn = Turn::single(Form::Results);
        let values = execute.values(statement.parameters, &statement.types, self.capabilities)?;
        let deltas = increment
            .parameter_deltas
            .iter()
            .map(|delta| judge(delta, increment, &values));
        match deltas.max().unwrap_or(Delta::Exact) {
            Delta::Exact => {
                self.increment(increment, literals, original, turn).await?;
            }
            Delta::Zero if increment.table.touches.is_empty() => {
                self.metrics().count(Reason::ZeroDelta);
                self.run_original(original, turn).await?;
            }
            // Nothing is added, but a time may be set that is before what the slots hold.
            Delta::Zero => {
                let mut fold = increment.exact.clone();
                fold.reason = Reason::TouchColumn;
                self.fold_then_original(&fold, Some(literals), original, turn)
                    .await?;
            }
            Delta::Inexact => {
                let mut fold = increment.exact.clone();
                fold.reason = Reason::InexactDelta;
                self.fold_then_original(&fold, Some(literals), original, turn)
                    .await?;
            }
        }
        Ok(())
    }

    async fn execute_read(
        &mut self,
        read: &Read,
        execute: &Execute<'_>,
        statement: &mut Statement,
        literals: &[Vec<u8>],
        original: &Original,
    ) -> Result<(), Error> {
        let turn = Turn::single(Form::Results);
        self.count_read(read);
        match self.prepare_to_read(read, literals).await? {
            Prepared::Summed => {}
            Prepared::Folded => {
                // What is fetched from a cursor then comes from the original.
                self.close_rewritten(statement).await?;
                return self.run_original(original, turn).await.map(drop);
            }
            Prepared::Refused(error) => {
                return self.answer_err(turn, &error).await.map(drop);
            }
        }
        let text = self.render_read(read, &[]);
        let Some(id) = self.rewritten(statement, text).await? else {
            return self.run_original(original, turn).await.map(drop);
        };
        let packet = execute.encode(id, &statement.types, self.capabilities);
        self.send_payload(&packet).await?;
        let patch = Patch {
            columns: Some(&statement.columns),
            binary: true,
            hold_error: Some(OUT_OF_RANGE),
            ..turn.patch()
        };
        let ended = self.pass_patched(Form::Results, patch).await?;
        statement.rows = ended.rows;
        if let Some(error) = &ended.held {
            let error = self.originals_error(read, original, error).await?;
            self.answer(ended.sequence_id, &error).await?;
        }
        Ok(())
    }

    /// The id of the rewritten text, prepared now if it is not yet; `None` when the upstream refuses it.
    async fn rewritten(
        &mut self,
        statement: &mut Statement,
        text: Vec<u8>,
    ) -> Result<Option<u32>, Error> {
        if let Some((id, prepared)) = &statement.rewritten
            && *prepared == text
        {
            return Ok(Some(*id));
        }
        self.close_rewritten(statement).await?;
        let mut out = Vec::new();
        encode_prepare(&mut out, &text);
        self.write_upstream(&out).await?;
        let Ok(prepared) = self.read_prepared().await? else {
            return Ok(None);
        };
        statement.rewritten = Some((prepared.id, text));
        Ok(Some(prepared.id))
    }

    async fn close_rewritten(&mut self, statement: &mut Statement) -> Result<(), Error> {
        let Some((id, _)) = statement.rewritten.take() else {
            return Ok(());
        };
        let mut out = Vec::new();
        encode_statement_command(&mut out, command::STMT_CLOSE, id);
        self.write_upstream(&out).await
    }

    /// Passes a command on with the rewritten statement's id in place of the client's.
    async fn pass_renamed(&mut self, statement: &Statement) -> Result<bool, Error> {
        let Some((id, _)) = &statement.rewritten else {
            return Ok(false);
        };
        if !self.buffer_command().await? {
            return Ok(false);
        }
        let mut payload = self.command_payload().to_vec();
        payload
            .get_mut(1..5)
            .ok_or(Malformed)?
            .copy_from_slice(&id.to_le_bytes());
        self.drop_command();
        self.send_payload(&payload).await?;
        Ok(true)
    }

    async fn fetch(&mut self, id: u32, statement: &mut Statement) -> Result<(), Error> {
        if !self.pass_renamed(statement).await? {
            self.pass_command().await?;
            return self.pass_answer(Form::Rows).await.map(drop);
        }
        let patch = Patch {
            sequence_id: 1,
            rows: statement.rows.take(),
            renamed: statement.rewritten.as_ref().map(|(ours, _)| (*ours, id)),
            ..Patch::default()
        };
        statement.rows = self.pass_patched(Form::Rows, patch).await?.rows;
        Ok(())
    }

    async fn reset_statement(&mut self, statement: &mut Statement) -> Result<(), Error> {
        statement.long_data = false;
        if let Some((id, _)) = &statement.rewritten {
            let mut out = Vec::new();
            encode_statement_command(&mut out, command::STMT_RESET, *id);
            self.write_upstream(&out).await?;
            let mut walker = Walker::new(Form::Single, self.capabilities);
            self.read_packet(&mut walker, &mut Vec::new()).await?;
        }
        self.pass_command().await?;
        self.pass_answer(Form::Single).await.map(drop)
    }

    /// Long data of a read goes to the statement that will be executed, and nothing answers.
    async fn long_data(&mut self, statement: &mut Statement) -> Result<(), Error> {
        statement.long_data = true;
        if let Plan::Read(read) = &*Arc::clone(&statement.plan) {
            let text = self.render_read(read, &[]);
            if self.rewritten(statement, text).await?.is_some()
                && self.pass_renamed(statement).await?
            {
                return Ok(());
            }
        }
        self.pass_command().await.map(drop)
    }

    /// MariaDB's bulk execution: increments add on base, which is right; all else folds first.
    async fn execute_in_bulk(&mut self, statement: &Statement) -> Result<(), Error> {
        let fold = whole_tables(&statement.plan, Reason::Fallback);
        let turn = Turn::single(Form::Results);
        self.fold_then_original(&fold, None, &Original::Stream, turn)
            .await?;
        Ok(())
    }
}

/// What a delta parameter's value allows, from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Delta {
    Exact,
    Zero,
    Inexact,
}

fn judge(delta: &ParameterDelta, increment: &Increment, values: &[Value<'_>]) -> Delta {
    let Some(counter) = increment.table.counter(delta.column) else {
        return Delta::Inexact;
    };
    let number = match values.get(usize::from(delta.parameter)) {
        Some(Value::Integer(number)) => Some(*number),
        Some(Value::Double(number)) if counter.domain.adds_doubles() => literal::whole(*number),
        Some(Value::Text(digits)) if counter.domain.adds_doubles() => literal::digits(digits),
        _ => None,
    };
    let signed = match number {
        Some(number) if delta.negated => -number,
        Some(number) => number,
        None => return Delta::Inexact,
    };
    let most = counter.bounds.as_ref().map(|bounds| bounds.slot.parse());
    match (signed, most) {
        (0, _) => Delta::Zero,
        (..0, _) if counter.domain.is_unsigned() => Delta::Inexact,
        (_, Some(Ok(most))) if signed.abs() <= most => Delta::Exact,
        _ => Delta::Inexact,
    }
}

/// A fold of all that a plan touches.
fn whole_tables(plan: &Plan, reason: Reason) -> Fold {
    let tables: Vec<_> = match plan {
        Plan::Increment(increment) => vec![&increment.table],
        Plan::Read(read) => read.tables.iter().collect(),
        Plan::Fold(fold) => fold.folds.iter().map(|fold| &fold.table).collect(),
        Plan::Ddl(ddl) => ddl.tables.iter().collect(),
        Plan::LockTables(lock) => lock.tables.iter().collect(),
        Plan::Shadow(tables) | Plan::Prepare(tables) => tables.iter().collect(),
        Plan::Forward(_) => Vec::new(),
    };
    let folds = tables.into_iter().map(|table| FoldTable {
        table: Arc::clone(table),
        scope: Scope::Table,
    });
    Fold {
        folds: folds.collect(),
        reason,
    }
}
