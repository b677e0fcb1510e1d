//! Statements of the proxy's that a KILL or a time limit has ended: the client is told what its own would have got.

use std::time::Duration;

use tokio::time::Instant;

use crate::session::Session;
use crate::session::error::Error;
use crate::session::link::internal::{InternalResponse, is_deadlock};
use crate::session::reply::error_payload;
use crate::session::state::diagnostics::Diagnostics;
use crate::sql::interrupted::INTERRUPTED_SUM;
use crate::wire::error_code::{
    ER_DATA_OUT_OF_RANGE, ER_QUERY_INTERRUPTED, ER_QUERY_TIMEOUT, ER_STATEMENT_TIMEOUT,
    ER_UNKNOWN_ERROR, is_over_time,
};
use crate::wire::reply;
use crate::wire::response::PacketKind;

/// The error of a statement that was killed.
pub(crate) const INTERRUPTED: (u16, &str, &str) = (
    ER_QUERY_INTERRUPTED,
    "70100",
    "Query execution was interrupted",
);

/// The error of a statement that MySQL has ended at its time limit.
const OVER_TIME: (u16, &str, &str) = (
    ER_QUERY_TIMEOUT,
    "HY000",
    "Query execution was interrupted, maximum statement execution time exceeded",
);

/// The same on MariaDB.
const OVER_TIME_ON_MARIADB: (u16, &str, &str) = (
    ER_STATEMENT_TIMEOUT,
    "70100",
    "Query execution was interrupted (max_statement_time exceeded)",
);

/// Which time limit a statement has.
#[derive(Clone, Copy)]
pub(crate) enum TimeLimit<'a> {
    /// The session's, or one that a hint in this text sets.
    OfQuery(&'a [u8]),
    /// The session's.
    OfSession,
    /// None: MySQL limits queries only.
    None,
}

/// Whether an ERR payload says that a sum over slots was interrupted: see [`crate::sql::interrupted`].
pub(crate) fn is_interrupted_sum(error: &[u8]) -> bool {
    let Ok(error) = reply::Err::decode(error) else {
        return false;
    };
    // The message is in the client's character set, which may be as wide as UTF-32.
    let message: Vec<u8> = error
        .message
        .iter()
        .copied()
        .filter(|&byte| byte != 0)
        .collect();
    let message = String::from_utf8_lossy(&message);
    // The client's own expression may have a sum in it.
    let failed = message.split_once("'exp(").map_or("", |(_, inner)| inner);
    let failed = failed.trim_start_matches("<cache>");
    let failed = failed.trim_start_matches('(');
    error.code == ER_DATA_OUT_OF_RANGE && failed.starts_with(&INTERRUPTED_SUM.to_string())
}

/// MySQL reports a killed multi-table UPDATE by an error without a name. The client's own statement would have got the
/// error of a KILL, so this returns that one.
pub(crate) fn as_killed(error: Vec<u8>) -> Vec<u8> {
    let is_of_a_move = reply::Err::decode(&error).is_ok_and(|error| {
        error.code == ER_UNKNOWN_ERROR && error.message.ends_with(b"multi-table update")
    });
    match is_of_a_move {
        true => error_payload(INTERRUPTED),
        false => error,
    }
}

/// The time limit that an optimizer hint of MySQL's sets, which goes before the session's. Zero is none.
fn hinted_limit(text: &[u8]) -> Option<Duration> {
    const HINT: &[u8] = b"MAX_EXECUTION_TIME";
    let place = |text: &[u8], word: &[u8]| {
        text.windows(word.len())
            .position(|part| part.eq_ignore_ascii_case(word))
    };
    let hints = &text[place(text, b"/*+")?..];
    let hints = &hints[..place(hints, b"*/")?];
    let behind = &hints[place(hints, HINT)? + HINT.len()..];
    let argument = behind.trim_ascii_start().strip_prefix(b"(")?;
    let number = &argument[..place(argument, b")")?];
    let milliseconds = std::str::from_utf8(number).ok()?.trim().parse().ok()?;
    Some(Duration::from_millis(milliseconds))
}

impl Session {
    /// The ERR payload for a statement, sent at that time, whose sum was interrupted: it was killed, or ran into its
    /// time limit. The server does not say which, but nothing goes on after its limit.
    pub(crate) async fn interruption(
        &mut self,
        limit: TimeLimit<'_>,
        sent: Instant,
    ) -> Result<Vec<u8>, Error> {
        let ran_for = sent.elapsed();
        let is_mariadb = self.hot.catalog.mariadb;
        let hinted = match limit {
            TimeLimit::OfQuery(text) if !is_mariadb => hinted_limit(text),
            TimeLimit::OfQuery(_) | TimeLimit::OfSession => None,
            TimeLimit::None => Some(Duration::ZERO),
        };
        let is_over_time = match hinted {
            Some(limit) => !limit.is_zero() && ran_for >= limit,
            None => self.is_over_time(ran_for).await?,
        };
        let error = error_payload(match is_over_time {
            false => INTERRUPTED,
            true if is_mariadb => OVER_TIME_ON_MARIADB,
            true => OVER_TIME,
        });
        self.report_alone(&error).await?;
        Ok(error)
    }

    /// Has the server report this error, and no other one, for the statement that has just run.
    pub(crate) async fn report_alone(&mut self, error: &[u8]) -> Result<(), Error> {
        self.state.diagnostics = Some(Diagnostics::of_an_error());
        self.raise_again(error).await
    }

    /// Has what MariaDB reports for the statement that has just failed with this error be without the error of an
    /// interrupted sum: it evaluates the expression that fails also behind another error.
    pub(crate) async fn report_without_sums(&mut self, error: &[u8]) -> Result<(), Error> {
        if !self.hot.catalog.mariadb {
            return Ok(());
        }
        let mark = INTERRUPTED_SUM.to_string();
        let is_of_a_sum = |row: &[u8]| row.windows(mark.len()).any(|part| part == mark.as_bytes());
        // What is lost is told by this error.
        let lost = self.state.lost.take();
        let messages = self.take_messages().await?.map(|mut messages| {
            messages.retain(|(kind, row)| *kind != PacketKind::Row || !is_of_a_sum(row));
            messages
        });
        self.state.diagnostics = Some(Diagnostics::of(error, messages));
        // Galera takes one that is raised for the end of another transaction.
        if !is_deadlock(error) {
            self.raise_again(error).await?;
        }
        self.state.lost = lost.or(self.state.lost.take());
        Ok(())
    }

    /// Whether no statement of this session may run for so long.
    async fn is_over_time(&mut self, ran_for: Duration) -> Result<bool, Error> {
        let (question, unit) = match self.hot.catalog.mariadb {
            true => ("SELECT @@SESSION.max_statement_time LIMIT 1", 1.0),
            false => ("SELECT @@SESSION.max_execution_time LIMIT 1", 1000.0),
        };
        let row = match self.insist(question).await? {
            InternalResponse::Row(row) => row,
            // Even the question takes longer than it may.
            InternalResponse::Err(error) => {
                return Ok(reply::Err::decode(&error).is_ok_and(|error| is_over_time(error.code)));
            }
            InternalResponse::Ok(_) => return Ok(false),
        };
        let limit = row.first().and_then(|value| {
            let limit: f64 = std::str::from_utf8(value.as_ref()?).ok()?.parse().ok()?;
            Some(limit / unit)
        });
        Ok(limit.is_some_and(|limit| limit > 0.0 && ran_for.as_secs_f64() >= limit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_that_was_interrupted_is_known_by_its_error() {
        let error = |code, message: &str| error_payload((code, "22003", message));
        let of_the_sum = |message| is_interrupted_sum(&error(ER_DATA_OUT_OF_RANGE, message));
        assert!(of_the_sum(
            "DOUBLE value is out of range in 'exp(131770100 + octet_length(`shop`.`posts`.`views`))'"
        ));
        assert!(of_the_sum(
            "DOUBLE value is out of range in 'exp((131770100 + length(`shop`.`posts`.`views`)))'"
        ));
        assert!(!of_the_sum("DOUBLE value is out of range in 'exp(1000)'"));
        assert!(!of_the_sum(
            "DOUBLE value is out of range in 'exp((cast(exp((131770100 + length(`views`))) as signed) + 1000))'"
        ));
        assert!(!of_the_sum(
            "BIGINT value is out of range in '(131770100 * 9223372036854775807)'"
        ));
        // In UTF-16.
        let wide: Vec<u8> = "'exp((131770100 + length(`views`)))'"
            .bytes()
            .flat_map(|byte| [0, byte])
            .collect();
        let wide = String::from_utf8(wide).expect("ASCII and zeros");
        assert!(of_the_sum(&wide));
        let other = error(ER_UNKNOWN_ERROR, "'exp(131770100 + length(views))'");
        assert!(!is_interrupted_sum(&other));
    }

    #[test]
    fn a_hint_limits_the_time() {
        let limit = |text: &str| hinted_limit(text.as_bytes()).map(|limit| limit.as_millis());
        let hinted = "SELECT /*+ max_execution_time( 1500 ) */ views FROM posts";
        assert_eq!(limit(hinted), Some(1500));
        assert_eq!(limit("SELECT /*+ MAX_EXECUTION_TIME(0) */ 1"), Some(0));
        let commented = "SELECT 'MAX_EXECUTION_TIME(5)' /* MAX_EXECUTION_TIME(6) */ FROM posts";
        assert_eq!(limit(commented), None);
        assert_eq!(
            limit("SELECT /*+ NO_ICP(posts) */ MAX_EXECUTION_TIME(5)"),
            None
        );
        assert_eq!(limit("SELECT views FROM posts"), None);
        assert_eq!(limit("SELECT /*+ MAX_EXECUTION_TIME("), None);
    }
}
