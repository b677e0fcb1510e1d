//! Which of several servers is the primary: the one that takes writes.
//!
//! None is guessed. A server becomes the primary when it is the only one that takes writes, and was seen to be
//! read-only until it was promoted. If another took writes at that time, that one must say that it takes none any
//! more. So a replica that was never read-only does not become the primary because the primary is slow for a moment,
//! and neither does a server that comes back and takes writes.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mysql_async::Conn;
use tokio::task::JoinSet;

use super::control::{Control, Error, Way, Ways, leave, no_answer};
use super::server::{self, Server, Writes};
use crate::config::Address;

/// A server, as it was found.
#[derive(Debug)]
pub(crate) struct Look {
    /// How it is reached.
    pub(super) way: Way,
    pub(crate) server: Server,
    pub(crate) writes: Writes,
}

/// What was found at an address.
pub(crate) type Found = Result<Look, Error>;

/// What is to be done after a look.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Nothing.
    Stay {
        /// The server takes writes.
        is_fit: bool,
        /// What an operator must know.
        complaint: Option<String>,
    },
    /// The server at this place in the list takes over, for this reason.
    Move(usize, String),
}

/// Looks at all servers, again and again, each by a connection that is kept: a login costs a server more than a look.
#[derive(Debug)]
pub(crate) struct Watch {
    ways: Arc<Ways>,
    open: HashMap<Address, Open>,
}

/// A connection to a server that was looked at.
#[derive(Debug)]
struct Open {
    conn: Conn,
    look: Look,
    since: Instant,
}

/// After this time another connection is made: the name of the address may lead elsewhere by now.
const OLDEST: Duration = Duration::from_secs(30);

impl Watch {
    pub(crate) fn new(ways: Arc<Ways>) -> Self {
        Self {
            ways,
            open: HashMap::new(),
        }
    }

    /// Looks at all of them at the same time. One that does not answer within its `limit` is one that cannot be
    /// reached. Not cancel safe: what was open is closed.
    pub(crate) async fn look(
        &mut self,
        limit: impl Fn(&Address) -> Duration,
    ) -> Vec<(Address, Found)> {
        let mut looking = JoinSet::new();
        for (index, address) in self.ways.config().upstream.addresses().cloned().enumerate() {
            let (ways, limit) = (Arc::clone(&self.ways), limit(&address));
            let open = self.open.remove(&address);
            looking.spawn(async move {
                let found = look_again(&ways, &address, open, limit).await;
                (index, address, found)
            });
        }
        let mut looks = looking.join_all().await;
        looks.sort_by_key(|(index, ..)| *index);
        let looks = looks.into_iter().map(|(_, address, found)| {
            let found = found.map(|open| {
                let look = open.look.anew();
                self.open.insert(address.clone(), open);
                look
            });
            (address, found)
        });
        looks.collect()
    }

    /// Looks at the server that is to take over by another connection than the one that is kept: new sessions are led
    /// to the address, which may lead elsewhere by now (names for roles, which change hands). Where it leads to another
    /// server, or to one that takes no writes, there is nothing, and all addresses are looked at anew next time. Not
    /// cancel safe.
    pub(crate) async fn confirm(
        &mut self,
        address: &Address,
        found: &Look,
        limit: Duration,
        seen: &mut HashMap<Address, Seen>,
    ) -> Option<Look> {
        let look = match Control::look_at(&self.ways, address, limit).await {
            Ok((look, conn)) => {
                tokio::spawn(leave(conn));
                look
            }
            Err(error) => {
                tracing::debug!("{address} does not take over yet: {error}");
                return None;
            }
        };
        let is_same = look.server == found.server;
        if is_same && look.writes == Writes::Taken {
            return Some(look);
        }
        if !is_same {
            tracing::warn!("upstreams: {address} leads to another server than it did");
            // What is known is the other's.
            seen.remove(address);
        }
        let open = std::mem::take(&mut self.open);
        tokio::spawn(
            Self {
                open,
                ways: Arc::clone(&self.ways),
            }
            .end(),
        );
        None
    }

    /// Closes what is open.
    async fn end(self) {
        for (_, open) in self.open {
            leave(open.conn).await;
        }
    }
}

async fn look_again(
    ways: &Ways,
    address: &Address,
    open: Option<Open>,
    limit: Duration,
) -> Result<Open, Error> {
    if let Some(mut open) = open {
        if open.since.elapsed() < OLDEST {
            match tokio::time::timeout(limit, server::writes(&mut open.conn)).await {
                Ok(Ok(writes)) => {
                    open.look.writes = writes;
                    return Ok(open);
                }
                Ok(Err(error)) => tracing::debug!("{address} is looked at anew: {error}"),
                Err(_) => return Err(no_answer(address, limit)),
            }
        } else {
            tokio::spawn(leave(open.conn));
        }
    }
    let (look, conn) = Control::look_at(ways, address, limit).await?;
    Ok(Open {
        conn,
        look,
        since: Instant::now(),
    })
}

impl Look {
    /// The same, with a pool of its own.
    fn anew(&self) -> Self {
        Self {
            way: self.way.anew(),
            server: self.server.clone(),
            writes: self.writes.clone(),
        }
    }
}

/// The only server that takes writes.
///
/// # Errors
///
/// There is none, or there are several.
pub(super) async fn find(ways: &Arc<Ways>) -> Result<Look, Error> {
    let mut watch = Watch::new(Arc::clone(ways));
    let mut looks = watch.look(|_| ways.config().handshake_timeout).await;
    watch.end().await;
    let primaries = primaries(&looks);
    match primaries[..] {
        [primary] => looks.swap_remove(primary).1,
        [] => Err(none(looks)),
        _ => Err(several(&looks, &primaries)),
    }
}

/// Those that take writes, by their place in the list; a server that has two addresses once.
fn primaries(looks: &[(Address, Found)]) -> Vec<usize> {
    let mut servers = Vec::new();
    let mut primaries = Vec::new();
    for (index, (_, found)) in looks.iter().enumerate() {
        if let Ok(look) = found
            && look.writes == Writes::Taken
            && !servers.contains(&&look.server)
        {
            servers.push(&look.server);
            primaries.push(index);
        }
    }
    primaries
}

/// The error where several take writes.
fn several(looks: &[(Address, Found)], primaries: &[usize]) -> Error {
    let addresses: Vec<_> = primaries
        .iter()
        .map(|index| looks[*index].0.to_string())
        .collect();
    Error::SeveralPrimaries {
        addresses: addresses.join(" and "),
    }
}

/// The error where none takes writes. If all of them refuse the control account, the rules are to be corrected.
fn none(looks: Vec<(Address, Found)>) -> Error {
    let states = states(&looks);
    let refuses = |(_, found): &(_, Found)| found.as_ref().is_err_and(Error::is_configuration);
    let all_refuse = looks.iter().all(refuses);
    match looks.into_iter().next() {
        Some((_, Err(error))) if all_refuse => error,
        _ => Error::NoPrimary { states },
    }
}

/// Each server in words.
fn states(looks: &[(Address, Found)]) -> String {
    let states: Vec<_> = looks
        .iter()
        .map(|(address, found)| format!("{address} {}", state(found)))
        .collect();
    states.join(", ")
}

/// What follows a server's name.
pub(crate) fn state(found: &Found) -> String {
    match found {
        Ok(look) => look.writes.to_string(),
        Err(Error::Unreachable { why, .. }) => format!("cannot be reached ({why})"),
        Err(Error::Denied { message, .. }) => format!("refuses the control account ({message})"),
        Err(error) => format!("cannot be asked ({error})"),
    }
}

/// What is known of a server that the proxy is not on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// It is read-only.
    ReadOnly,
    /// It was read-only until it came to take writes, while the primary took none.
    Promoted,
    /// The same, but another server took writes as well then.
    PromotedBeside,
    /// It took writes when it was first seen, or when it came back.
    Suspect,
}

/// What is to be done where the proxy is on the server `here`. `seen` has what is known of each server that answered
/// when it was looked at last.
pub(crate) fn step(
    here: &Address,
    looks: &[(Address, Found)],
    seen: &mut HashMap<Address, Seen>,
) -> Step {
    let primaries = primaries(looks);
    remember(looks, primaries.len() > 1, seen);
    let own = looks.iter().find(|(address, _)| address == here);
    let is_fit = own.is_some_and(|(_, found)| writes(found) == Some(&Writes::Taken));
    let is_demoted = own.is_some_and(|(_, found)| writes(found) == Some(&Writes::ReadOnly));
    let state = own.map_or_else(String::new, |(_, found)| state(found));
    let stay = |complaint| Step::Stay { is_fit, complaint };
    match primaries[..] {
        _ if is_fit && primaries.len() < 2 => stay(None),
        [] => stay(Some(format!(
            "upstreams: none takes writes: {}",
            states(looks)
        ))),
        [other] => match seen.get(&looks[other].0) {
            Some(Seen::Promoted) => Step::Move(other, state),
            Some(Seen::PromotedBeside) if is_demoted => Step::Move(other, state),
            _ => {
                let other = &looks[other].0;
                stay(Some(format!(
                    "upstreams: {here} {state}; {other} takes writes, but was not seen to be read-only before, so it is \
                     not certain that it was promoted; restart countersink if it was"
                )))
            }
        },
        _ => stay(Some(several(looks, &primaries).to_string())),
    }
}

/// Takes in a look. `are_several`: more than one server takes writes.
fn remember(looks: &[(Address, Found)], are_several: bool, seen: &mut HashMap<Address, Seen>) {
    for (address, found) in looks {
        let now = match (writes(found), seen.get(address)) {
            (Some(Writes::ReadOnly), _) => Seen::ReadOnly,
            (Some(Writes::Taken), Some(Seen::ReadOnly)) if are_several => Seen::PromotedBeside,
            (Some(Writes::Taken), Some(Seen::ReadOnly)) => Seen::Promoted,
            (Some(Writes::Taken), Some(before)) => *before,
            (Some(Writes::Taken), None) => Seen::Suspect,
            // It may come back as something else.
            (Some(Writes::Unready(_)) | None, _) => {
                seen.remove(address);
                continue;
            }
        };
        seen.insert(address.clone(), now);
    }
}

fn writes(found: &Found) -> Option<&Writes> {
    found.as_ref().ok().map(|look| &look.writes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    const ADDRESSES: [&str; 3] = ["db1:1", "db2:1", "db3:1"];

    fn config() -> Config {
        let text = format!(
            "upstreams: [{}]\ncounters: [{{table: a.b, columns: [c]}}]\n",
            ADDRESSES.join(", ")
        );
        Config::from_str(&text, &|_| None).expect("rules")
    }

    /// What was found: `w` takes writes, `r` is read-only, `x` cannot be reached.
    fn looks(states: &str) -> Vec<(Address, Found)> {
        let config = Arc::new(config());
        let ways = Ways::of(Arc::clone(&config)).expect("no files are named");
        let addresses = config.upstream.addresses();
        let looks = addresses.zip(states.chars()).map(|(address, state)| {
            let writes = match state {
                'w' => Some(Writes::Taken),
                'r' => Some(Writes::ReadOnly),
                _ => None,
            };
            let found = writes.map(|writes| Look {
                way: ways.encrypted(address),
                server: Server::new(address.to_string().as_bytes()),
                writes,
            });
            let unreachable = Error::Unreachable {
                address: address.to_string(),
                why: "refused".to_owned(),
            };
            (address.clone(), found.ok_or(unreachable))
        });
        looks.collect()
    }

    /// Where the proxy is after each of these looks, from the first server on.
    fn follow(looks_in_turn: &[&str]) -> Vec<&'static str> {
        let mut here = ADDRESSES[0];
        let mut seen = HashMap::new();
        let places = looks_in_turn.iter().map(|states| {
            let address = Address::parse(here).expect("an address");
            if let Step::Move(index, _) = step(&address, &looks(states), &mut seen) {
                here = ADDRESSES[index];
            }
            here
        });
        places.collect()
    }

    #[tokio::test]
    async fn a_promoted_server_takes_over() {
        assert_eq!(
            follow(&["wrr", "xrr", "xrw", "rrw"]),
            ["db1:1", "db1:1", "db3:1", "db3:1"]
        );
        assert_eq!(
            follow(&["wrr", "rrr", "rwr", "xwr"]),
            ["db1:1", "db1:1", "db2:1", "db2:1"],
            "in good order"
        );
        assert_eq!(
            follow(&["wrr", "wwr", "rwr"]),
            ["db1:1", "db1:1", "db2:1"],
            "the old one was demoted a moment late"
        );
    }

    #[tokio::test]
    async fn nothing_is_guessed() {
        assert_eq!(
            follow(&["wwr", "xwr", "wwr", "xwx"]),
            ["db1:1"; 4],
            "who always took writes was not promoted"
        );
        assert_eq!(
            follow(&["wxr", "xwr"]),
            ["db1:1"; 2],
            "an old primary that comes back was not promoted"
        );
        assert_eq!(follow(&["wrr", "xww"]), ["db1:1"; 2], "two were");
        assert_eq!(
            follow(&["wrr", "xxr", "xwr"]),
            ["db1:1"; 3],
            "a replica that has restarted was not promoted"
        );
        assert_eq!(
            follow(&["wrr", "xrw", "wrw", "wrr"]),
            ["db1:1", "db3:1", "db3:1", "db3:1"],
            "an old primary that is back, while the new one has restarted"
        );
        assert_eq!(follow(&["wrr", "xrr", "wrr"]), ["db1:1"; 3]);
    }

    #[tokio::test]
    async fn what_an_operator_must_know_is_said() {
        let mut seen = HashMap::new();
        let mut said = |states: &str| {
            let here = Address::parse(ADDRESSES[0]).expect("an address");
            match step(&here, &looks(states), &mut seen) {
                Step::Stay { complaint, .. } => complaint.unwrap_or_default(),
                Step::Move(_, why) => format!("moved: {why}"),
            }
        };
        assert_eq!(said("wxr"), "");
        assert_eq!(
            said("xwr"),
            "upstreams: db1:1 cannot be reached (refused); db2:1 takes writes, but was not seen to be read-only before, so \
             it is not certain that it was promoted; restart countersink if it was"
        );
        assert_eq!(
            said("xrr"),
            "upstreams: none takes writes: db1:1 cannot be reached (refused), db2:1 is read-only, db3:1 is read-only"
        );
        assert_eq!(
            said("wrw"),
            "upstreams: db1:1 and db3:1 take writes, and only one can be the primary; let the others be read-only (SET \
             GLOBAL read_only = ON)"
        );
        assert_eq!(
            said("rrr"),
            "upstreams: none takes writes: db1:1 is read-only, db2:1 is read-only, db3:1 is read-only"
        );
        assert_eq!(said("rwr"), "moved: is read-only");
    }
}
