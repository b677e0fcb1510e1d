//! Where the server's binary log ends, and how it is read from there.

use std::fmt;

use mysql_async::prelude::Queryable;
use mysql_async::{BinlogStream, BinlogStreamRequest, Conn, Error as DriverFailure, Row};

use super::follow::Error;
use crate::wire::error_code::ER_PARSE_ERROR;

/// How often the server says that there is nothing new, in nanoseconds; its own variables take that unit.
const HEARTBEAT: u64 = 5_000_000_000;

/// What MariaDB goes by: a replica with less is sent other events in place of those with the ids of threads.
const KNOWS_GTIDS: u8 = 4;

/// A place between two transactions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Position {
    pub(super) file: Vec<u8>,
    pub(super) offset: u64,
}

impl fmt::Display for Position {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{}:{}",
            String::from_utf8_lossy(&self.file),
            self.offset
        )
    }
}

impl Position {
    /// Where the log ends now. MySQL since 8.2 has another name for the statement, and since 8.4 that one alone.
    pub(super) async fn now(conn: &mut Conn) -> Result<Self, Error> {
        let row: Result<Option<Row>, _> = conn.query_first("SHOW BINARY LOG STATUS").await;
        let row = match row {
            Err(DriverFailure::Server(error)) if error.code == ER_PARSE_ERROR => {
                conn.query_first("SHOW MASTER STATUS").await?
            }
            row => row?,
        };
        let position = row.and_then(|row: Row| {
            Some(Self {
                file: row.get(0)?,
                offset: row.get(1)?,
            })
        });
        position.ok_or(Error::NoLog)
    }
}

/// Reads the log from here on, as a replica with this id.
pub(super) async fn stream(
    mut conn: Conn,
    from: &Position,
    server_id: u32,
) -> Result<BinlogStream, Error> {
    let settings = format!(
        "SET @master_heartbeat_period = {HEARTBEAT}, @mariadb_slave_capability = {KNOWS_GTIDS}"
    );
    conn.query_drop(settings).await?;
    let request = BinlogStreamRequest::new(server_id)
        .with_filename(&from.file)
        .with_pos(from.offset);
    Ok(conn.get_binlog_stream(request).await?)
}
