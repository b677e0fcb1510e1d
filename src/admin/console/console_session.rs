//! One client at the console: each statement finds its answer here.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::act;
use super::client_queries;
use super::explain::explain;
use super::handles::Desk;
use super::orders;
use super::statement::{Name, Order, Statement};
use super::table::{Answer, Code, Refusal};

/// The most letters of a schema's name.
const LONGEST_NAME: usize = 64;

/// A client that has logged in, and the schema that it has chosen.
#[derive(Debug)]
pub(super) struct Visit {
    pub(super) desk: Arc<Desk>,
    /// The connection's id, which no session has.
    pub(super) id: u32,
    pub(super) user: String,
    pub(super) client: SocketAddr,
    /// What the login has named.
    first_schema: Option<String>,
    /// For statements that name a table without one.
    schema: Mutex<Option<String>>,
}

impl Visit {
    pub(super) fn new(
        desk: Arc<Desk>,
        id: u32,
        client: SocketAddr,
        user: String,
        schema: Option<String>,
    ) -> Self {
        Self {
            desk,
            id,
            user,
            client,
            first_schema: schema.clone(),
            schema: Mutex::new(schema),
        }
    }

    /// Answers a statement.
    pub(super) async fn answer(&self, text: &str) -> Result<Answer, Refusal> {
        let desk = &self.desk;
        match Statement::parse(text)? {
            Statement::Show(report, filter) => Ok(Answer::Rows(filter.apply(report.table(desk))?)),
            Statement::Explain(statement) => explain(desk, self.schema(), statement).await,
            Statement::RollUp(table) => act::roll_up(desk, self.optional(table)?).await,
            Statement::Pause => Ok(act::pause(desk, true)),
            Statement::Resume => Ok(act::pause(desk, false)),
            Statement::Shutdown => Ok(act::shut_down(desk)),
            Statement::Kill(id) => act::kill(desk, id).await,
            Statement::Order(order) => orders::obey(self.ordered(order)?, desk).await,
            Statement::Use(schema) => self.change_schema(&schema).map(|()| Answer::Done),
            Statement::SmallTalk => client_queries::answer(text, self),
        }
    }

    /// The schema in force.
    pub(super) fn schema(&self) -> Option<String> {
        self.lock().clone()
    }

    /// Puts another one in force; whether it is there, the server knows.
    pub(super) fn change_schema(&self, schema: &str) -> Result<(), Refusal> {
        if schema.is_empty() || schema.chars().count() > LONGEST_NAME {
            let message = format!("a schema's name has 1 to {LONGEST_NAME} characters");
            return Err(Refusal::new(Code::Syntax, message));
        }
        *self.lock() = Some(schema.to_owned());
        Ok(())
    }

    /// As after the login.
    pub(super) fn reset(&self) {
        self.lock().clone_from(&self.first_schema);
    }

    /// What `\s` and `mysqladmin status` show (manual: "COM_STATISTICS").
    pub(super) fn statistics(&self) -> String {
        let metrics = &self.desk.shared.metrics;
        format!(
            "Uptime: {}  Sessions: {}  Connections: {}  Statements: {}",
            self.desk.started.elapsed().as_secs(),
            metrics.sessions(),
            metrics.connections(),
            metrics.statements().values().sum::<u64>(),
        )
    }

    /// The table's name with the schema in force, where it was named without one.
    fn qualified(&self, name: Name) -> Result<Name, Refusal> {
        let Name { schema, table } = name;
        let Some(schema) = schema.or_else(|| self.schema()) else {
            let message = format!("{table} is in no schema; write schema.{table}, or USE a schema");
            return Err(Refusal::new(Code::NoSuchTable, message));
        };
        Ok(Name {
            schema: Some(schema),
            table,
        })
    }

    fn optional(&self, name: Option<Name>) -> Result<Option<Name>, Refusal> {
        name.map(|name| self.qualified(name)).transpose()
    }

    /// The same for the table of an order.
    fn ordered(&self, order: Order) -> Result<Order, Refusal> {
        Ok(match order {
            Order::Reload => Order::Reload,
            Order::Drain(table) => Order::Drain(self.optional(table)?),
            Order::SetMode { table, mode } => Order::SetMode {
                table: self.qualified(table)?,
                mode,
            },
        })
    }

    fn lock(&self) -> MutexGuard<'_, Option<String>> {
        self.schema.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
