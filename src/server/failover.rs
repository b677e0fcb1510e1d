//! Follows the primary, where the upstream is several servers: see [`crate::counter::primary`] for which one that is.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;

use super::rules::Rules;
use crate::config::{Address, Upstreams};
use crate::counter::control::{Control, Error};
use crate::counter::node::Claims;
use crate::counter::primary::{self, Found, Step, Watch};
use crate::session::Shared;

/// How often all servers are looked at.
const LOOK: Duration = Duration::from_secs(1);

/// The same, while the one that the proxy is on takes no writes.
const LOOK_FOR_ANOTHER: Duration = Duration::from_millis(100);

/// How long a server may take to answer.
const ANSWER: Duration = Duration::from_secs(2);

/// The same, for one that did not answer the last time: another's answer must not wait for it.
const ANSWER_AT_LAST: Duration = Duration::from_millis(500);

/// Every so many tries, one that did not answer has the whole time again: its connection is closed by now, and a login
/// from far away takes longer than a look.
const TRIES_AT_LAST: u32 = 4;

/// How long a client that has connected waits for another server to take the place of one that cannot be reached:
/// until somebody has looked.
const PATIENCE: Duration = Duration::from_secs(3);

/// How long a server that another has taken the place of may be silent before sessions that are there still are cut
/// off, as if it had died: it hangs, or its host has gone.
const SILENCE: Duration = Duration::from_secs(5);

/// The least time between two complaints while none was unnecessary.
const BETWEEN_COMPLAINTS: Duration = Duration::from_secs(10);

/// How long clients wait for another server.
pub(super) fn patience(upstreams: &Upstreams) -> Duration {
    match upstreams.only() {
        Some(_) => Duration::ZERO,
        None => PATIENCE,
    }
}

/// Follows the primary.
pub(super) struct Failover {
    pub(super) control: Control,
    pub(super) claims: Arc<Claims>,
    pub(super) rules: Rules,
    pub(super) shared: Arc<Shared>,
}

impl Failover {
    /// Never returns.
    pub(super) async fn keep(self) {
        if self.control.config().upstream.only().is_some() {
            return std::future::pending().await;
        }
        let mut watch = Watch::new(Arc::clone(self.control.ways()));
        let mut seen = HashMap::new();
        let mut silent = Silent::default();
        let mut told = Told::default();
        let mut here = Address::clone(&self.control.route().address());
        let mut moving = JoinSet::new();
        loop {
            let mut pause = LOOK;
            let mut looks = watch.look(|address| silent.patience(address)).await;
            let states = looks.iter();
            let states = states.map(|(address, found)| (address.clone(), primary::state(found)));
            self.control.route().see(states.collect());
            let was_silent = silent.servers.contains_key(&here);
            let given_up = silent.see(&here, &looks, Instant::now());
            self.control.route().give_up(given_up);
            match primary::step(&here, &looks, &mut seen) {
                Step::Stay { is_fit, complaint } => {
                    if !is_fit {
                        pause = LOOK_FOR_ANOTHER;
                    }
                    if let Some(news) = told.news(complaint, Instant::now()) {
                        tracing::warn!("{news}");
                    }
                    while moving.try_join_next().is_some() {}
                    if is_fit && was_silent && !moving.is_empty() {
                        // What it was asked before it may never answer.
                        let own = looks.into_iter().find(|(address, _)| *address == here);
                        if let Some((address, Ok(look))) = own {
                            self.move_to(address, look, &mut moving).await;
                        }
                    }
                }
                Step::Move(index, why) => {
                    let (address, found) = looks.swap_remove(index);
                    pause = LOOK_FOR_ANOTHER;
                    let confirmed = match found {
                        Ok(look) => watch.confirm(&address, &look, ANSWER, &mut seen).await,
                        Err(_) => None,
                    };
                    if let Some(look) = confirmed {
                        tracing::warn!("upstreams: {here} {why}; {address} takes its place");
                        here = address.clone();
                        self.move_to(address, look, &mut moving).await;
                        told = Told::default();
                    }
                }
            }
            // However many clients doubt.
            tokio::time::sleep(LOOK_FOR_ANOTHER).await;
            tokio::select! {
                () = tokio::time::sleep(pause - LOOK_FOR_ANOTHER) => {}
                () = self.control.route().doubted() => {}
            }
        }
    }

    /// The proxy's own connections and its rules follow first, so that no session acts on that server by what was
    /// agreed upon on another; then the sessions. The rules ask that server, which may hang by now, and are freed only
    /// by a move to another: so they are not waited for here. A move that is under way ends.
    async fn move_to(&self, address: Address, look: primary::Look, moving: &mut JoinSet<()>) {
        moving.shutdown().await;
        self.control.move_to(look);
        self.claims.lose();
        let (control, rules) = (self.control.clone(), self.rules.clone());
        let shared = Arc::clone(&self.shared);
        moving.spawn(async move {
            rules.agree_again().await;
            control.route().lead_to(address);
            shared.sessions.notify();
        });
    }
}

/// What was logged last, and when.
#[derive(Default)]
struct Told(Option<(String, Instant)>);

impl Told {
    /// What an operator must know and was not told. The words of a connection that fails may be others each time.
    fn news(&mut self, complaint: Option<String>, now: Instant) -> Option<String> {
        let is_told = self.0.as_ref().is_some_and(|(told, at)| {
            let is_recent = now.saturating_duration_since(*at) < BETWEEN_COMPLAINTS;
            complaint.as_ref() == Some(told) || is_recent
        });
        if complaint.is_none() || !is_told {
            self.0 = complaint.clone().map(|complaint| (complaint, now));
            return complaint;
        }
        None
    }
}

/// The servers that cannot be reached.
#[derive(Default)]
struct Silent {
    servers: HashMap<Address, Silence>,
}

/// How long a server has not answered.
struct Silence {
    /// Since then, or since the proxy left it, if that was later: until then clients waited for it as without a proxy.
    since: Instant,
    /// How often it was looked at in vain.
    tries: u32,
}

impl Silent {
    /// Takes in a look. Returns where sessions wait for nothing, while the proxy is on the server `here`.
    fn see(&mut self, here: &Address, looks: &[(Address, Found)], now: Instant) -> Vec<Address> {
        let mut given_up = Vec::new();
        for (address, found) in looks {
            if !matches!(found, Err(Error::Unreachable { .. })) {
                self.servers.remove(address);
                continue;
            }
            let silence = self.servers.entry(address.clone()).or_insert(Silence {
                since: now,
                tries: 0,
            });
            silence.tries += 1;
            if address == here {
                silence.since = now;
            } else if now.saturating_duration_since(silence.since) >= SILENCE {
                given_up.push(address.clone());
            }
        }
        given_up
    }

    /// How long the server at this address may take to answer.
    fn patience(&self, address: &Address) -> Duration {
        match self.servers.get(address) {
            Some(silence) if !silence.tries.is_multiple_of(TRIES_AT_LAST) => ANSWER_AT_LAST,
            _ => ANSWER,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn servers() -> [Address; 2] {
        ["db1:1", "db2:1"].map(|text| Address::parse(text).expect("right"))
    }

    fn silent_one(address: &Address) -> Vec<(Address, Found)> {
        let why = Error::Unreachable {
            address: address.to_string(),
            why: "no answer".to_owned(),
        };
        vec![(address.clone(), Err(why))]
    }

    #[test]
    fn a_silent_server_is_given_up_once_the_proxy_has_left_it() {
        let [here, other] = servers();
        let refusing = vec![(here.clone(), Err(Error::Replaced))];
        let (mut silent, start) = (Silent::default(), Instant::now());
        let mut see = |server: &Address, looks: &[(Address, Found)], after: Duration| {
            silent.see(server, looks, start + after)
        };
        assert!(see(&here, &silent_one(&here), Duration::ZERO).is_empty());
        assert!(
            see(&here, &silent_one(&here), SILENCE).is_empty(),
            "clients wait for it, as without a proxy"
        );
        assert!(
            see(&other, &silent_one(&here), SILENCE).is_empty(),
            "another has just taken its place: transactions there may end"
        );
        assert_eq!(
            see(&other, &silent_one(&here), 2 * SILENCE),
            std::slice::from_ref(&here),
            "it has been silent since"
        );
        assert!(see(&other, &refusing, 2 * SILENCE).is_empty(), "it answers");
        assert!(see(&other, &silent_one(&here), 2 * SILENCE).is_empty());
    }

    #[test]
    fn a_server_that_was_silent_has_time_for_a_login_again() {
        let [here, far] = servers();
        let mut silent = Silent::default();
        let mut patience = || {
            let patience = silent.patience(&far);
            silent.see(&here, &silent_one(&far), Instant::now());
            patience
        };
        let short = [ANSWER_AT_LAST; 3];
        assert_eq!(patience(), ANSWER);
        for _ in 0..2 {
            assert_eq!([(); 3].map(|()| patience()), short);
            assert_eq!(patience(), ANSWER);
        }
        let answering = vec![(far.clone(), Err(Error::Replaced))];
        silent.see(&here, &answering, Instant::now());
        assert_eq!(silent.patience(&far), ANSWER);
    }

    #[test]
    fn an_operator_is_told_once() {
        let (mut told, start) = (Told::default(), Instant::now());
        let mut complain = |complaint: &str, after: u64| {
            let complaint = (!complaint.is_empty()).then(|| complaint.to_owned());
            told.news(complaint, start + Duration::from_secs(after))
                .is_some()
        };
        assert!(complain("refused", 0));
        assert!(!complain("refused", 60));
        assert!(complain("no answer", 60), "it changes");
        assert!(!complain("refused", 61), "and changes, and changes");
        assert!(complain("refused", 70));
        assert!(!complain("", 71));
        assert!(complain("refused", 72), "it came back");
    }
}
