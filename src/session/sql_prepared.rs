//! SQL syntax for prepared statements: EXECUTE follows the plan of the text that was prepared.
//!
//! The session remembers each statement's text with the schema and sql_mode of its PREPARE. Where the text is not
//! known (MariaDB's `PREPARE s FROM CONCAT(..)`, a PREPARE inside a procedure) EXECUTE folds every hot table first.

use std::collections::HashMap;
use std::sync::Arc;

use super::Session;
use super::diagnostics::Told;
use super::error::Error;
use super::kind::kind_of;
use super::link::internal::{Failure, InternalResponse, failure};
use super::literal::string_literal;
use super::parameters::whole_tables;
use super::query::may_change_the_catalog;
use super::read::Parameters;
use super::state::TableLocks;
use super::turn::{Done, Original, Turn};
use super::user_variables::{Variable, unhex};
use crate::sql::plan::{Fold, FoldTable, Plan, Reason, SessionFacts};
use crate::sql::prepare::{self, Command, Source, Using};
use crate::sql::{self, Kind};
use crate::wire::command::query_payload;
use crate::wire::execute::Value;

/// The most that the texts of a session's prepared statements may take together, in bytes.
const MOST_TEXT: usize = 1024 * 1024;

/// The longest text that is asked of a user variable, in bytes.
const LONGEST_TEXT: usize = 128 * 1024;

/// The statements that PREPARE has made in this session.
#[derive(Debug, Default)]
pub(super) struct SqlPrepared {
    /// By name in lower case.
    statements: HashMap<String, Prepared>,
    /// Length of all texts.
    length: usize,
    /// There may be others: a procedure, a compound statement or a name beyond ASCII has been at work.
    out_of_sight: bool,
}

/// What is known of one of them.
#[derive(Clone, Debug)]
enum Prepared {
    /// Its text, and the facts of its PREPARE, which it keeps.
    Text(Arc<Text>),
    /// It is run as it is, by the client's wish.
    Off(Kind),
    /// Nothing but that it may be there.
    Unread,
}

#[derive(Debug)]
struct Text {
    text: Vec<u8>,
    facts: Arc<SessionFacts>,
    kind: Kind,
}

impl SqlPrepared {
    /// Whether there may be any.
    pub(super) fn is_in_use(&self) -> bool {
        self.out_of_sight || !self.statements.is_empty()
    }

    /// Something that is not read may have prepared, replaced or dropped statements.
    pub(super) fn lose_sight(&mut self) {
        *self = Self {
            out_of_sight: true,
            ..Self::default()
        };
    }

    fn remove(&mut self, name: &str) -> bool {
        let removed = self.statements.remove(name);
        if let Some(Prepared::Text(text)) = &removed {
            self.length -= text.text.len();
        }
        removed.is_some()
    }

    fn insert(&mut self, name: String, prepared: Prepared) {
        self.remove(&name);
        let mut prepared = prepared;
        if let Prepared::Text(text) = &prepared {
            match self.length + text.text.len() <= MOST_TEXT {
                true => self.length += text.text.len(),
                false => prepared = Prepared::Unread,
            }
        }
        self.statements.insert(name, prepared);
    }

    /// `None`: there is no such statement.
    fn get(&self, name: Option<&str>) -> Option<Prepared> {
        let known = name.and_then(|name| self.statements.get(name));
        match known {
            Some(known) => Some(known.clone()),
            None if self.out_of_sight || name.is_none() => Some(Prepared::Unread),
            None => None,
        }
    }
}

impl Session {
    /// PREPARE, EXECUTE, EXECUTE IMMEDIATE, DEALLOCATE PREPARE.
    pub(super) async fn sql_prepared(
        &mut self,
        command: Command,
        original: &Original,
        turn: Turn,
    ) -> Result<Done, Error> {
        if let Command::Prepare { .. } | Command::Deallocate { .. } = command {
            self.state.diagnostics = None;
        }
        match command {
            Command::Prepare { name, source, off } => {
                let prepared = match (off, self.text_of(source).await?) {
                    (true, text) => Prepared::Off(text.map_or(Kind::Other, |text| text.kind)),
                    (false, Some(text)) => Prepared::Text(Arc::new(text)),
                    (false, None) => Prepared::Unread,
                };
                self.sql_prepare(name, prepared, original, turn).await
            }
            Command::Deallocate { name } => {
                let done = self.run_original(original, turn).await?;
                match name {
                    Some(name) if !done.failed => drop(self.state.sql_prepared.remove(&name)),
                    Some(_) => {}
                    None => self.state.sql_prepared.lose_sight(),
                }
                Ok(done)
            }
            Command::Execute { name, using } => {
                let prepared = self.state.sql_prepared.get(name.as_deref());
                self.sql_execute(prepared, using, original, turn).await
            }
            // To MySQL, IMMEDIATE is a name.
            Command::Immediate { .. } if !self.hot.catalog.mariadb => {
                let prepared = self.state.sql_prepared.get(Some("immediate"));
                self.sql_execute(prepared, None, original, turn).await
            }
            Command::Immediate { source, using } => {
                let prepared = match self.text_of(source).await? {
                    Some(text) => Prepared::Text(Arc::new(text)),
                    None => Prepared::Unread,
                };
                self.sql_execute(Some(prepared), using, original, turn)
                    .await
            }
        }
    }

    /// The plan of an EXECUTE, for an explanation.
    pub(super) async fn plan_of_execute(&mut self, text: &[u8]) -> Result<Arc<Plan>, Error> {
        let facts = self.facts().await?.unwrap_or_default();
        let prepared = match prepare::command(text, &facts) {
            Some(Command::Execute { name, .. }) => self.state.sql_prepared.get(name.as_deref()),
            _ => Some(Prepared::Unread),
        };
        Ok(match prepared {
            Some(Prepared::Text(prepared)) => self.plan_prepared(&prepared).await?,
            Some(Prepared::Unread) if self.state.table_locks == TableLocks::None => {
                Arc::new(Plan::Fold(Box::new(self.fold_of_all())))
            }
            Some(Prepared::Off(_)) => Arc::new(Plan::Forward(Reason::Off)),
            _ => Arc::new(Plan::Forward(Reason::Metadata)),
        })
    }

    /// A text that is not known may concern every hot table that no temporary one hides.
    fn fold_of_all(&self) -> Fold {
        Fold::new(
            self.catalog().tables.iter().map(FoldTable::whole).collect(),
            Reason::SqlExecute,
        )
    }

    async fn sql_prepare(
        &mut self,
        name: Option<String>,
        prepared: Prepared,
        original: &Original,
        turn: Turn,
    ) -> Result<Done, Error> {
        self.count(Reason::SqlPrepare);
        let done = self.run_original(original, turn).await?;
        let known = &mut self.state.sql_prepared;
        match name {
            None => known.lose_sight(),
            Some(name) if !done.failed => known.insert(name, prepared),
            // What had the name is gone, unless PREPARE itself was misspelt: then it is still there.
            Some(name) => {
                if known.remove(&name) {
                    known.insert(name, Prepared::Unread);
                }
            }
        }
        Ok(done)
    }

    /// The text that a source gives now; `None` when it is not known for certain.
    async fn text_of(&mut self, source: Source) -> Result<Option<Text>, Error> {
        let text = match source {
            Source::Literal(text) => Some(text),
            Source::Variable(name) => {
                let name = String::from_utf8_lossy(&name);
                let question = format!(
                    "SELECT IF(LENGTH({name}) <= {LONGEST_TEXT}, HEX(CONVERT({name} USING utf8mb4)), NULL)"
                );
                match self.run_internal(question).await? {
                    InternalResponse::Row(row) => row.into_iter().next().flatten().and_then(unhex),
                    _ => None,
                }
            }
            Source::Unknown => None,
        };
        let facts = self.facts().await?;
        // The server takes the text through character sets of its own, which keep ASCII, and UTF-8 of three bytes.
        let speaks_utf8 = self.state.speaks_utf8;
        let is_kept = |byte: &u8| byte.is_ascii() || (speaks_utf8 && *byte < 0xF0);
        let text = text.filter(|text| text.iter().all(is_kept));
        let mariadb = self.hot.catalog.mariadb;
        Ok(text.zip(facts).map(|(text, facts)| {
            let text = sql::executed(&text, &facts, mariadb).into_owned();
            Text {
                kind: kind_of(&text),
                text,
                facts,
            }
        }))
    }

    async fn sql_execute(
        &mut self,
        prepared: Option<Prepared>,
        using: Using,
        original: &Original,
        turn: Turn,
    ) -> Result<Done, Error> {
        if !matches!(prepared, Some(Prepared::Text(_))) {
            self.state.diagnostics = None;
        }
        let kind = match &prepared {
            Some(Prepared::Text(text)) => text.kind,
            Some(Prepared::Off(kind)) => *kind,
            Some(Prepared::Unread) | None => Kind::Execute,
        };
        let text = match &prepared {
            Some(Prepared::Text(text)) => Some(&text.text[..]),
            _ => None,
        };
        self.state.access = self.access_in(text, kind);
        self.before(kind);
        let may_change_the_catalog = match &prepared {
            Some(Prepared::Text(text)) => {
                may_change_the_catalog(&text.text, kind, &self.hot.catalog)
            }
            _ => false,
        };
        let done = match prepared {
            Some(Prepared::Text(text)) => self.execute_text(&text, using, original, turn).await?,
            Some(Prepared::Unread) if self.state.table_locks == TableLocks::None => {
                let fold = self.fold_of_all();
                let done = self.fold_then_original(&fold, None, original, turn).await?;
                self.state.shadows_doubted = true;
                done
            }
            // Where there is no such statement, the server says so.
            _ => self.run_original(original, turn).await?,
        };
        self.after(kind, done.failed);
        if may_change_the_catalog && !done.failed {
            self.catalog_may_have_changed(kind).await;
        }
        self.after_ddl(kind);
        Ok(done)
    }

    async fn execute_text(
        &mut self,
        prepared: &Text,
        using: Using,
        original: &Original,
        turn: Turn,
    ) -> Result<Done, Error> {
        let Text { text, facts, kind } = prepared;
        let parameters = prepare::placeholders(text, facts);
        if let (Some(parameters), Some(using)) = (parameters, &using)
            && parameters != using.len()
        {
            // The server's error.
            self.state.diagnostics = None;
            return self.run_original(original, turn).await;
        }
        match self.ask_of_last(text, *kind, turn).await? {
            Told::Done(done) => return Ok(done),
            Told::Rewritten(edited) if parameters == Some(0) => {
                let inner = Original::Payload(query_payload(text, self.link.capabilities));
                return self.act_with(&edited, text, &inner, turn).await;
            }
            _ => {}
        }
        let plan = self.plan_prepared(prepared).await?;
        let Some(using) = using.filter(|_| parameters.is_some() && may_have_values(&plan)) else {
            return self.execute_plan(&plan, text, None, original, turn).await;
        };
        if let Plan::Fold(fold) = &*plan
            && let Some(read) = self.read_in_snapshot(fold, text)
        {
            match self.define_as_executed(text, original).await? {
                Ok(()) => {
                    let parameters = Parameters {
                        literals: &[],
                        variables: Some(&using),
                    };
                    return self.read(read, text, parameters, original, turn).await;
                }
                Err(error) if failure(&error) == Failure::TheClients => {
                    return self.answer_err(turn, &error).await;
                }
                Err(_) => {}
            }
        }
        let Some(values) = self.user_variables(&using).await? else {
            return self.execute_plan(&plan, text, None, original, turn).await;
        };
        let values: Vec<_> = values.iter().map(Variable::value).collect();
        let is_number = |value: &Value<'_>| matches!(value, Value::Integer(0..));
        if let Plan::Read(_) = &*plan
            && (!prepare::promises_hold(text, facts)
                || (prepare::limits_by_parameter(text, facts) && !values.iter().all(is_number)))
        {
            return self.execute_plan(&plan, text, None, original, turn).await;
        }
        let literals = self.literals(&values).await?;
        if let (Plan::Increment(increment), Some(literals)) = (&*plan, &literals)
            && !self.state.unguarded
        {
            return self
                .increment_by(increment, &values, literals, original, turn)
                .await;
        }
        self.execute_plan(&plan, text, literals, original, turn)
            .await
    }

    /// The plan of a prepared statement, which has kept its schema and sql_mode.
    async fn plan_prepared(&mut self, prepared: &Text) -> Result<Arc<Plan>, Error> {
        let plan = self
            .plan_as_prepared(&prepared.text, &prepared.facts)
            .await?;
        Ok(self.plan_now(plan, &prepared.text))
    }

    /// The plan of a text as it was understood when these were the session's facts.
    pub(super) async fn plan_as_prepared(
        &mut self,
        text: &[u8],
        facts: &Arc<SessionFacts>,
    ) -> Result<Arc<Plan>, Error> {
        if self.facts().await?.as_ref() == Some(facts) {
            return self.plan_without_locks(text).await;
        }
        let plan = self.plan_anew(text, Arc::clone(facts)).await;
        Ok(Arc::new(match plan {
            Plan::Increment(_) | Plan::Read(_) | Plan::Fold(_) | Plan::LockTables(_) => {
                // Our own texts would be read in another way than the client's was.
                Plan::Fold(Box::new(whole_tables(&plan, Reason::SqlExecute)))
            }
            plan => plan,
        }))
    }

    /// Does what the plan says; `None` for values that are not known.
    async fn execute_plan(
        &mut self,
        plan: &Plan,
        text: &[u8],
        literals: Option<Vec<Vec<u8>>>,
        original: &Original,
        turn: Turn,
    ) -> Result<Done, Error> {
        match (plan, literals) {
            (Plan::Read(read), Some(literals)) => {
                self.read(read, text, literals[..].into(), original, turn)
                    .await
            }
            (Plan::Fold(fold), literals) => {
                self.fold_then_original(fold, literals.as_deref(), original, turn)
                    .await
            }
            (Plan::Increment(_) | Plan::Read(_), _) => {
                let fold = whole_tables(plan, Reason::Fallback);
                self.fold_then_original(&fold, None, original, turn).await
            }
            (plan, _) => self.act(plan, text, original, turn).await,
        }
    }

    /// Has the server prepare a text of ours in SQL: the text that executes it with these user variables. It stays
    /// prepared until the next one: DEALLOCATE would clear its warnings. The inner error is an ERR payload.
    pub(super) async fn prepare_in_sql(
        &mut self,
        text: &[u8],
        variables: &[Vec<u8>],
    ) -> Result<Result<Vec<u8>, Vec<u8>>, Error> {
        let facts = self.facts().await?.unwrap_or_default();
        let literal = string_literal(text, facts.no_backslash_escapes);
        let prepare = [b"PREPARE countersink_read FROM ", &literal[..]].concat();
        if let Err(error) = self.run_internal(prepare).await?.into_result() {
            return Ok(Err(error));
        }
        let execute = b"EXECUTE countersink_read USING ";
        Ok(Ok([&execute[..], &variables.join(&b", "[..])].concat()))
    }
}

/// Whether a plan has use for the values of parameters.
fn may_have_values(plan: &Plan) -> bool {
    matches!(plan, Plan::Increment(_) | Plan::Read(_) | Plan::Fold(_))
}
