//! How many clients there may be, and how long they may be idle.

use std::time::Duration;

use super::{Check, Text};
use crate::config::error::{Error, Problem};
use crate::config::limits::{Range, duration, number};
use crate::config::raw::{RawConfig, RawReserved, Scalar};
use crate::config::{Connections, Reserved};

const RESERVED: &str = "reserved_connections";

const IDLE: Range = Range {
    low: (Duration::from_secs(1), "1s"),
    high: (Duration::from_secs(24 * 3600), "24h"),
};

impl Check<'_> {
    /// The limits of `raw`, which are taken out of it.
    pub(super) fn connections(&self, raw: &mut RawConfig) -> Result<Connections, Error> {
        let limit = |field, scalar: Option<Scalar>, remedy| {
            let most = |text: &Text| number(text, (1, 1_000_000), remedy);
            let limit = self.field(field, scalar, most)?;
            Ok::<_, Error>(limit.map(|limit| limit as usize))
        };
        let unlimited = "leave it out for no limit";
        let most = limit(
            "max_connections",
            raw.max_connections.take(),
            "the default is 10000",
        )?
        .unwrap_or(10_000);
        let most_logins = limit(
            "max_logins",
            raw.max_logins.take(),
            "leave it out for as many as max_connections",
        )?;
        Ok(Connections {
            most,
            most_of_user: limit(
                "max_user_connections",
                raw.max_user_connections.take(),
                unlimited,
            )?,
            most_of_address: limit(
                "max_address_connections",
                raw.max_address_connections.take(),
                unlimited,
            )?,
            most_logins: most_logins.unwrap_or(most),
            reserved: match raw.reserved_connections.take() {
                Some(reserved) => self.reserved(reserved, most)?,
                None => Reserved::default(),
            },
            idle_timeout: self.field("idle_timeout", raw.idle_timeout.take(), |text| {
                duration(text, &IDLE)
            })?,
        })
    }

    /// Places and those who get them need each other.
    fn reserved(&self, raw: RawReserved, most: usize) -> Result<Reserved, Error> {
        let refuse = |text| Err(self.error(RESERVED, 0, Problem::Together(text)));
        let line = raw
            .connections
            .as_ref()
            .map_or(0, |it| it.referenced.line());
        let places = self.field(
            "reserved_connections.connections",
            raw.connections,
            |text| number(text, (1, 1_000), "a few are enough for operators"),
        )?;
        let users = self.texts("reserved_connections.users", raw.users)?;
        match (places, users) {
            (Some(places), Some(users)) if !users.is_empty() => match places as usize {
                places if places < most => Ok(Reserved { places, users }),
                _ => Err(self.error(
                    "reserved_connections.connections",
                    line,
                    Problem::Together(
                        "leaves nobody else a place; reserve fewer than max_connections",
                    ),
                )),
            },
            (None, _) => refuse("has no connections; write how many, as in connections: 3"),
            (Some(_), _) => {
                refuse("has no users; name the accounts that get them, as in users: [dba]")
            }
        }
    }
}
