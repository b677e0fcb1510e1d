//! The console as opensrv-mysql calls it: a text comes in, an answer goes out.

use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use opensrv_mysql::{
    AsyncMysqlShim, Column, ColumnFlags, ColumnType, ErrorKind, InitWriter, OkResponse,
    ParamParser, QueryResultWriter, StatementMetaWriter,
};
use tokio::io::AsyncWrite;

use super::console_session::Visit;
use super::table::{Answer, Code, Kind, Table, Value};

/// A client's visit.
pub(super) struct Shim(pub(super) Arc<Visit>);

#[async_trait]
impl<W: AsyncWrite + Send + Unpin> AsyncMysqlShim<W> for Shim {
    type Error = io::Error;

    async fn on_query<'a>(
        &'a mut self,
        query: &'a str,
        results: QueryResultWriter<'a, W>,
    ) -> io::Result<()> {
        match self.0.answer(query).await {
            Ok(Answer::Rows(table)) => write(&table, results).await,
            Ok(Answer::Done) => results.completed(OkResponse::default()).await,
            Err(refusal) => {
                let kind = kind_of(refusal.code);
                results.error(kind, refusal.message.as_bytes()).await
            }
        }
    }

    async fn on_init<'a>(
        &'a mut self,
        schema: &'a str,
        writer: InitWriter<'a, W>,
    ) -> io::Result<()> {
        match self.0.change_schema(schema) {
            Ok(()) => writer.ok().await,
            Err(refusal) => {
                let kind = kind_of(refusal.code);
                writer.error(kind, refusal.message.as_bytes()).await
            }
        }
    }

    /// The fence lets nothing prepared through, neither here nor below.
    async fn on_prepare<'a>(
        &'a mut self,
        _query: &'a str,
        info: StatementMetaWriter<'a, W>,
    ) -> io::Result<()> {
        let kind = ErrorKind::ER_UNSUPPORTED_PS;
        info.error(kind, b"the console prepares no statements")
            .await
    }

    async fn on_execute<'a>(
        &'a mut self,
        _id: u32,
        _parameters: ParamParser<'a>,
        results: QueryResultWriter<'a, W>,
    ) -> io::Result<()> {
        let kind = ErrorKind::ER_UNKNOWN_STMT_HANDLER;
        results
            .error(kind, b"the console prepares no statements")
            .await
    }

    async fn on_close<'a>(&'a mut self, _statement: u32)
    where
        W: 'async_trait,
    {
    }
}

async fn write<W: AsyncWrite + Send + Unpin>(
    table: &Table,
    results: QueryResultWriter<'_, W>,
) -> io::Result<()> {
    let columns: Vec<Column> = table.columns.iter().map(column).collect();
    let mut rows = results.start(&columns).await?;
    for row in &table.rows {
        for value in row {
            match value {
                Value::Null => rows.write_col(None::<u64>)?,
                Value::Text(text) => rows.write_col(text.as_str())?,
                Value::Integer(number) => rows.write_col(*number)?,
                Value::Seconds(seconds) => rows.write_col(*seconds)?,
            }
        }
        rows.end_row().await?;
    }
    rows.finish().await
}

fn column((name, kind): &(String, Kind)) -> Column {
    let (coltype, colflags) = match kind {
        Kind::Text => (ColumnType::MYSQL_TYPE_VAR_STRING, ColumnFlags::empty()),
        Kind::Integer => (ColumnType::MYSQL_TYPE_LONGLONG, ColumnFlags::UNSIGNED_FLAG),
        Kind::Seconds => (ColumnType::MYSQL_TYPE_DOUBLE, ColumnFlags::empty()),
    };
    Column {
        table: String::new(),
        column: name.clone(),
        coltype,
        colflags,
    }
}

fn kind_of(code: Code) -> ErrorKind {
    match code {
        Code::Syntax => ErrorKind::ER_PARSE_ERROR,
        Code::NoSuchThread => ErrorKind::ER_NO_SUCH_THREAD,
        Code::Failed => ErrorKind::ER_UNKNOWN_ERROR,
        Code::NoSuchTable => ErrorKind::ER_NO_SUCH_TABLE,
        Code::UnknownVariable => ErrorKind::ER_UNKNOWN_SYSTEM_VARIABLE,
    }
}
