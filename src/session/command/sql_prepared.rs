//! SQL syntax for prepared statements: EXECUTE follows the plan of the text that was prepared.
//!
//! The session remembers each statement's text with the schema and sql_mode of its PREPARE. Where the text is not
//! known (a PREPARE inside a procedure), EXECUTE folds every hot table first.

use std::sync::Arc;

use crate::session::Session;
use crate::session::act::invocation::{Arguments, Form, Invocation};
use crate::session::command::diagnostics_statements::QuestionOutcome;
use crate::session::error::Error;
use crate::session::link::internal::InternalResponse;
use crate::session::reply::{Original, Replied, ReplyContext};
use crate::session::state::diagnostics::Diagnostics;
use crate::session::state::sql_prepared::{PreparedText, Text};
use crate::session::text::{kind_of, may_change_the_catalog};
use crate::session::user_variables::{Variable, unhex};
use crate::sql::plan::{Fold, Plan, Reason};
use crate::sql::prepare::{self, Command, Source, Using};
use crate::sql::{self, Kind, TableLocks, Values, may_call_routines};
use crate::wire::command::query_payload;
use crate::wire::error_code::{ER_MUST_CHANGE_PASSWORD, is_killed, is_over_time};
use crate::wire::execute::Value;

/// The longest text that is fetched from the server, in bytes.
const LONGEST_TEXT: usize = 128 * 1024;

impl Session {
    /// Runs PREPARE, EXECUTE, EXECUTE IMMEDIATE or DEALLOCATE PREPARE.
    pub(crate) async fn sql_prepared(
        &mut self,
        command: Command,
        original: &Original,
        context: ReplyContext,
    ) -> Result<Replied, Error> {
        let mut left = None;
        if let Command::Prepare { .. } | Command::Deallocate { .. } = command {
            left = self.state.diagnostics.take();
        }
        match command {
            // On MySQL this is a syntax error: a statement that has the name already stays.
            Command::Prepare {
                source: Source::Expression(_),
                ..
            } if !self.hot.catalog.mariadb => {
                self.count(Reason::SqlPrepare);
                self.run_original(original, context).await
            }
            Command::Prepare { name, source, off } => {
                let prepared = match (off, self.text_of(source).await?) {
                    (true, text) => PreparedText::Off(text.map_or(Kind::Other, |text| text.kind)),
                    (false, Some(text)) => PreparedText::Text(Arc::new(text)),
                    (false, None) => PreparedText::Unread,
                };
                self.sql_prepare(name, prepared, original, context).await
            }
            Command::Deallocate { name } => {
                let done = self.run_original(original, context).await?;
                // On MariaDB it leaves the messages of the statement before it.
                left.take_if(|_| done.failed || !self.hot.catalog.mariadb);
                self.state.diagnostics = left.map(|left| Diagnostics {
                    row_count: 0,
                    ..left
                });
                match name {
                    Some(name) if !done.failed => drop(self.state.sql_prepared.remove(&name)),
                    Some(_) => {}
                    None => self.state.sql_prepared.lose_sight(),
                }
                Ok(done)
            }
            Command::Execute { name, using } => {
                let prepared = self.state.sql_prepared.get(name.as_deref());
                self.sql_execute(prepared, using, original, context).await
            }
            // On MySQL, IMMEDIATE is a statement's name.
            Command::Immediate { .. } if !self.hot.catalog.mariadb => {
                let prepared = self.state.sql_prepared.get(Some("immediate"));
                self.sql_execute(prepared, None, original, context).await
            }
            Command::Immediate { source, using } => {
                let prepared = match self.text_of(source).await? {
                    Some(text) => PreparedText::Text(Arc::new(text)),
                    None => PreparedText::Unread,
                };
                self.sql_execute(Some(prepared), using, original, context)
                    .await
            }
        }
    }

    /// The plan of an EXECUTE, for an explanation.
    pub(crate) async fn plan_of_execute(&mut self, text: &[u8]) -> Result<Arc<Plan>, Error> {
        let variables = self.variables().await?.unwrap_or_default();
        let prepared = match prepare::command(text, &variables) {
            Some(Command::Execute { name, .. }) => self.state.sql_prepared.get(name.as_deref()),
            _ => Some(PreparedText::Unread),
        };
        Ok(match prepared {
            Some(PreparedText::Text(prepared)) => self.plan_prepared(&prepared).await?,
            Some(PreparedText::Unread) if self.state.locks.tables == TableLocks::None => {
                Arc::new(Plan::Fold(Box::new(Fold::of_unknown_text(&self.catalog()))))
            }
            Some(PreparedText::Off(_)) => Arc::new(Plan::Forward(Reason::Off)),
            _ => Arc::new(Plan::Forward(Reason::Metadata)),
        })
    }

    async fn sql_prepare(
        &mut self,
        name: Option<String>,
        prepared: PreparedText,
        original: &Original,
        context: ReplyContext,
    ) -> Result<Replied, Error> {
        self.count(Reason::SqlPrepare);
        let done = self.run_original(original, context).await?;
        let most = self.place.memory().prepared_statements;
        let known = &mut self.state.sql_prepared;
        match name {
            None => known.lose_sight(),
            Some(name) if !done.failed => known.insert(name, prepared, most),
            // The statement that had the name is gone: the server drops it before it reads the text. It still exists if
            // PREPARE itself was misspelt, or has not begun.
            Some(name) => {
                let has_begun = |code| {
                    !is_killed(code) && !is_over_time(code) && code != ER_MUST_CHANGE_PASSWORD
                };
                let is_gone = self.state.last.error.is_some_and(has_begun)
                    && matches!(prepared, PreparedText::Text(_));
                if known.remove(&name) && !is_gone {
                    known.insert(name, PreparedText::Unread, most);
                }
            }
        }
        Ok(done)
    }

    /// The text that a source has now. `None` if it is not known for certain.
    async fn text_of(&mut self, source: Source) -> Result<Option<Text>, Error> {
        let text = match source {
            Source::Literal(text) => Some(text),
            Source::Variable(expression) | Source::Expression(expression) => {
                let limit = format!(") <= {LONGEST_TEXT}, HEX(CONVERT((");
                let question = [
                    b"SELECT IF(LENGTH(",
                    &expression[..],
                    limit.as_bytes(),
                    &expression,
                    b") USING utf8mb4)), NULL) LIMIT 1",
                ];
                let question = question.concat();
                match self.run_internal(question).await? {
                    InternalResponse::Row(row) => row.into_iter().next().flatten().and_then(unhex),
                    _ => None,
                }
            }
            Source::Unknown => None,
        };
        let variables = self.variables().await?;
        // The server converts the text through character sets of its own. These keep ASCII, and UTF-8 of up to three
        // bytes.
        let speaks_utf8 = self.state.speaks_utf8();
        let is_kept = |byte: &u8| byte.is_ascii() || (speaks_utf8 && *byte < 0xF0);
        let text = text.filter(|text| text.iter().all(is_kept));
        let mariadb = self.hot.catalog.mariadb;
        Ok(text.zip(variables).map(|(text, variables)| {
            let text = sql::executed(&text, &variables, mariadb).into_owned();
            Text {
                kind: kind_of(&text),
                text,
                variables,
            }
        }))
    }

    async fn sql_execute(
        &mut self,
        prepared: Option<PreparedText>,
        using: Using,
        original: &Original,
        context: ReplyContext,
    ) -> Result<Replied, Error> {
        if !matches!(prepared, Some(PreparedText::Text(_))) {
            self.state.diagnostics = None;
        }
        let kind = match &prepared {
            Some(PreparedText::Text(text)) => text.kind,
            Some(PreparedText::Off(kind)) => *kind,
            Some(PreparedText::Unread) | None => Kind::Execute,
        };
        let text = match &prepared {
            Some(PreparedText::Text(text)) => Some(&text.text[..]),
            _ => None,
        };
        self.state.running.access = self.access_in(text, kind);
        self.before(kind);
        let mut _turn = None;
        if let Some(text) = text {
            _turn = self.turn_of(text).await;
            self.state.running.may_call_routines = kind == Kind::Call || may_call_routines(text);
        }
        let may_change_the_catalog = match &prepared {
            Some(PreparedText::Text(text)) => {
                may_change_the_catalog(&text.text, kind, &self.hot.catalog)
            }
            _ => false,
        };
        let done = match prepared {
            Some(PreparedText::Text(text)) => {
                self.execute_text(&text, using, original, context).await?
            }
            Some(PreparedText::Unread) if self.state.locks.tables == TableLocks::None => {
                let fold = Fold::of_unknown_text(&self.catalog());
                let done = self
                    .fold_then_original(&fold, None, original, context)
                    .await?;
                self.state.temporary.are_doubted = true;
                done
            }
            // If there is no such statement, the server reports that.
            _ => self.run_original(original, context).await?,
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
        context: ReplyContext,
    ) -> Result<Replied, Error> {
        let Text {
            text,
            variables,
            kind,
        } = prepared;
        let parameters = prepare::placeholders(text, variables);
        if let (Some(parameters), Some(using)) = (parameters, &using)
            && parameters != using.len()
        {
            // The server reports the error.
            self.state.diagnostics = None;
            return self.run_original(original, context).await;
        }
        match self.ask_of_last(text, *kind, context).await? {
            QuestionOutcome::Replied(done) => return Ok(done),
            QuestionOutcome::Rewritten(edited) if parameters == Some(0) => {
                let inner = Original::Payload(query_payload(text, self.link.capabilities));
                return self.act_with(&edited, text, &inner, context).await;
            }
            _ => {}
        }
        let plan = self.plan_prepared(prepared).await?;
        let using = using.as_deref().filter(|_| parameters.is_some());
        let has_use = plan.takes_values(self.state.in_transaction());
        let fetched = match using {
            Some(names) if names.is_empty() || has_use => self.user_variables(names).await?,
            _ => None,
        };
        let fetched = fetched.as_deref();
        let fetched: Option<Vec<_>> =
            fetched.map(|values| values.iter().map(Variable::value).collect());
        let is_number = |value: &Value<'_>| matches!(value, Value::Integer(0..));
        let values = fetched.filter(|values| {
            let may_fill = prepare::promises_hold(text, variables)
                && (!prepare::limits_by_parameter(text, variables) || values.iter().all(is_number));
            may_fill || !plan.is_read()
        });
        let literals = match &values {
            Some(values) => self.literals(values).await?,
            None => None,
        };
        let invocation = Invocation {
            form: match using {
                Some(names) => Form::Using(text, names),
                None => Form::Text(text),
            },
            arguments: match (&values, &literals) {
                (Some(values), Some(literals)) => Arguments::known(values, literals),
                _ => Arguments::of_the_server(Values::Unknown),
            },
            original,
            context,
        };
        self.act(&plan, invocation).await
    }

    /// The plan of a prepared statement, under the schema and sql_mode of its PREPARE.
    async fn plan_prepared(&mut self, prepared: &Text) -> Result<Arc<Plan>, Error> {
        self.plan_as_prepared(&prepared.text, &prepared.variables)
            .await
    }
}
