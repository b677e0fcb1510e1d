//! A row of one's own: how it is claimed, kept and given up.

use std::collections::BTreeSet;
use std::ops::Range;

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error as DriverFailure};
use tokio::time::Instant;

use super::tracker::written;
use super::{ANSWER, Entry, Error, GRACE, LEASE, PROXIES, Registry, SILENCE, has_lost};
use crate::counter::control::Control;
use crate::counter::quote;
use crate::counter::unpoisoned;
use crate::wire::error_code::ER_DUP_ENTRY;

/// How often a claim is tried again that others have come before.
const TRIES: usize = 20;

/// A row that is this process's.
#[derive(Debug)]
pub(in crate::counter) struct Member {
    pub number: u16,
    proxy: String,
    conn: Conn,
    lease: Instant,
}

impl Member {
    /// Claims the lowest number of these that no other has, or that is a silent one's, and says this.
    ///
    /// # Errors
    ///
    /// What the server says.
    pub(in crate::counter) async fn claim(
        registry: &Registry,
        control: &Control,
        numbers: Range<u16>,
        says: &BTreeSet<String>,
    ) -> Result<Self, Error> {
        let is_proxy = numbers == PROXIES;
        if is_proxy {
            // What was this proxy's before it lost it is nobody's.
            registry.leave(control).await?;
        }
        let mut conn = control.roll_up_connection().await?;
        for _ in 0..TRIES {
            let entries = registry.read(control).await?;
            let proxy = format!("{:032x}", rand::random::<u128>());
            let (number, claim) = claim(&entries, numbers.clone(), &proxy, says)?;
            if is_proxy {
                *unpoisoned(&registry.own) = Some((number, proxy.clone()));
            }
            let sent = Instant::now();
            let claimed = tokio::time::timeout(ANSWER, conn.query_drop(claim)).await;
            let Ok(claimed) = claimed else {
                // The server may still write it, and whoever has said it would wait for itself.
                delete_by_another(control, number, &proxy).await.ok();
                return Err(Error::Late);
            };
            match claimed {
                Ok(()) if conn.affected_rows() == 1 => {
                    tracing::debug!("number {number} in {}", super::table());
                    return Ok(Self {
                        number,
                        proxy,
                        conn,
                        lease: sent + LEASE,
                    });
                }
                Ok(()) => {}
                Err(failure) if has_lost(&failure) || is_duplicate(&failure) => {}
                Err(failure) => return Err(failure.into()),
            }
        }
        Err(Error::Full)
    }

    /// Until when others take it for alive, unless the next beat is written.
    pub(in crate::counter) fn lease(&self) -> Instant {
        self.lease
    }

    /// Says this and no more, and lives on.
    ///
    /// # Errors
    ///
    /// The number is lost.
    pub(in crate::counter) async fn beat(&mut self, says: &BTreeSet<String>) -> Result<(), Error> {
        let sent = Instant::now();
        if sent >= self.lease {
            // This process has stood still, and others may have taken it for gone.
            return Err(Error::Late);
        }
        let update = format!(
            "UPDATE countersink.proxies SET beat = beat + 1, says = {} WHERE number = {} AND proxy = '{}'",
            quote::text(&written(says)),
            self.number,
            self.proxy
        );
        let until = self.lease.min(sent + ANSWER);
        let written = tokio::time::timeout_at(until, write(&mut self.conn, &update)).await;
        let rows = written.map_err(|_| Error::Late)??;
        if rows == 0 {
            return Err(Error::Taken);
        }
        if Instant::now() >= self.lease {
            return Err(Error::Late);
        }
        self.lease = sent + LEASE;
        Ok(())
    }

    /// Gives the number up.
    pub(in crate::counter) async fn leave(mut self) -> Result<(), Error> {
        let left = delete(&mut self.conn, self.number, &self.proxy);
        let left = tokio::time::timeout(ANSWER, left).await;
        left.map_err(|_| Error::Late).flatten()?;
        self.conn.disconnect().await.ok();
        Ok(())
    }

    /// Gives the number up by another connection: this one's has failed, or does not answer.
    pub(in crate::counter) async fn leave_by_another(self, control: &Control) -> Result<(), Error> {
        delete_by_another(control, self.number, &self.proxy).await
    }
}

/// The lowest number that can be had, and the statement that claims it.
fn claim(
    entries: &[Entry],
    mut numbers: Range<u16>,
    proxy: &str,
    says: &BTreeSet<String>,
) -> Result<(u16, String), Error> {
    let of = |number: u16| entries.iter().find(|entry| entry.number == number);
    // The words of guests outlive them for a while, see GRACE.
    let patience = match numbers == PROXIES {
        true => SILENCE,
        false => GRACE,
    };
    let is_free = |number: &u16| of(*number).is_none_or(|entry| entry.silent >= patience);
    let number = numbers.find(is_free).ok_or(Error::Full)?;
    let says = quote::text(&written(says));
    let claim = match of(number) {
        None => format!(
            "INSERT INTO countersink.proxies (number, proxy, beat, says, host) \
             VALUES ({number}, '{proxy}', 1, {says}, LEFT(USER(), 255))"
        ),
        Some(silent) => format!(
            "UPDATE countersink.proxies SET proxy = '{proxy}', beat = beat + 1, says = {says}, host = LEFT(USER(), 255) \
             WHERE number = {number} AND proxy = {} AND beat = {}",
            quote::text(&silent.proxy),
            silent.beat
        ),
    };
    Ok((number, claim))
}

/// Does the same as [`delete`], by a connection of its own.
pub(super) async fn delete_by_another(
    control: &Control,
    number: u16,
    proxy: &str,
) -> Result<(), Error> {
    let deleted = async {
        let mut conn = control.roll_up_connection().await?;
        delete(&mut conn, number, proxy).await?;
        conn.disconnect().await.ok();
        Ok(())
    };
    let deleted = tokio::time::timeout(ANSWER, deleted).await;
    deleted.map_err(|_| Error::Late).flatten()
}

/// Deletes a row, unless it is another's by now.
async fn delete(conn: &mut Conn, number: u16, proxy: &str) -> Result<(), Error> {
    let delete =
        format!("DELETE FROM countersink.proxies WHERE number = {number} AND proxy = '{proxy}'");
    write(conn, &delete).await?;
    Ok(())
}

/// Writes a row, however often another member comes first. How many rows were there.
async fn write(conn: &mut Conn, statement: &str) -> Result<u64, DriverFailure> {
    loop {
        match conn.query_drop(statement).await {
            Err(failure) if has_lost(&failure) => {}
            written => return written.map(|()| conn.affected_rows()),
        }
    }
}

fn is_duplicate(failure: &DriverFailure) -> bool {
    matches!(failure, DriverFailure::Server(error) if error.code == ER_DUP_ENTRY)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::counter::registry::GUESTS;

    fn entry(number: u16, silent: Duration) -> Entry {
        Entry {
            number,
            proxy: "other".to_owned(),
            beat: 7,
            says: BTreeSet::new(),
            silent,
        }
    }

    #[test]
    fn the_lowest_number_that_is_nobodys_is_claimed() {
        let (says, live) = (BTreeSet::new(), Duration::ZERO);
        let claimed = |entries: &[Entry], numbers| claim(entries, numbers, "own", &says).ok();
        let (number, text) = claimed(&[entry(0, live), entry(1000, live)], PROXIES).expect("free");
        assert_eq!(number, 1);
        assert!(text.starts_with("INSERT "), "{text}");
        let (number, text) = claimed(&[entry(0, SILENCE), entry(1, live)], PROXIES).expect("free");
        assert_eq!(number, 0);
        assert!(text.starts_with("UPDATE "), "{text}");
        assert!(
            text.ends_with("WHERE number = 0 AND proxy = 'other' AND beat = 7"),
            "{text}"
        );
        let (number, _) = claimed(&[entry(0, live)], GUESTS).expect("free");
        assert_eq!(number, 1000);
        let (number, _) = claimed(&[entry(1000, SILENCE)], GUESTS).expect("free");
        assert_eq!(number, 1001, "what it says counts still");
        let (number, _) = claimed(&[entry(1000, GRACE)], GUESTS).expect("free");
        assert_eq!(number, 1000);
        let all: Vec<_> = PROXIES.map(|number| entry(number, live)).collect();
        assert_eq!(claimed(&all, PROXIES), None);
    }
}
