//! What OK packets tell of the client's transaction (`session_track_transaction_info`), as its own statements have made
//! it: ours read and write tables too, and the server tells each change once, to whoever asks next.

use crate::wire::response::ResponseTracker;
use crate::wire::session_state::{TRANSACTION_STATE, TransactionState, changes, with_changes};
use crate::wire::status;

/// The state of the transaction, as server and client know it.
///
/// Nothing is known of the session's variable, and nothing needs to be: where it is off, the server tells of no table.
/// MySQL tells a change in the next OK packet that there is; MariaDB in the next one to a statement that is about the
/// transaction, and an EOF packet has a flag where a change is due that it cannot tell.
#[derive(Clone, Copy, Debug)]
pub struct Tracked {
    /// As the server has told it last, to the client or to us.
    server: TransactionState,
    /// What the client's own statements have made of it.
    client: TransactionState,
    /// As the client has been told last.
    told: TransactionState,
    /// What statements of the client's have added whose answers could not tell, if the server agrees.
    owed: TransactionState,
    /// The same of statements of ours: the server's next word has that as well.
    is_ours_untold: bool,
    /// An answer that could not tell it has ended the transaction.
    is_end_untold: bool,
    /// The open transaction is ours, around a statement of the client's.
    is_own: bool,
    mariadb: bool,
}

impl Tracked {
    /// That of a session that has just begun.
    pub fn new(mariadb: bool) -> Self {
        Self {
            server: TransactionState::NONE,
            client: TransactionState::NONE,
            told: TransactionState::NONE,
            owed: TransactionState::NONE,
            is_ours_untold: false,
            is_end_untold: false,
            is_own: false,
            mariadb,
        }
    }

    /// A transaction of ours begins, where the client has none.
    pub fn begin_own(&mut self) {
        self.is_own = true;
    }

    /// It has ended.
    pub fn end_own(&mut self) {
        *self = Self {
            told: self.told,
            ..Self::new(self.mariadb)
        };
    }

    /// Whether the server's own words are what the client is to be told next.
    pub fn is_passed_on(&self) -> bool {
        self.server == self.told && self.client == self.told && !self.is_ours_untold && !self.is_own
    }

    /// Whether the client knows of no transaction, and there is none.
    pub fn is_at_rest(&self) -> bool {
        self.is_passed_on() && self.told == TransactionState::NONE && !self.is_end_untold
    }

    /// Takes in the answer to a statement of ours.
    pub fn see_ours(&mut self, tracker: &ResponseTracker) {
        let (false, Some(status)) = (self.is_own, told_status(tracker)) else {
            return;
        };
        let is_open = status & status::IN_TRANS != 0;
        match tracker.transaction_state() {
            Some(state) => {
                self.forget_what_has_ended(state);
                self.client = self.client.with(self.owed.within(state));
                self.server = state;
            }
            None if tracker.is_ended_by_eof() => {
                self.is_ours_untold |= is_open;
                return;
            }
            None if self.mariadb && is_open => return,
            None => {}
        }
        self.owed = TransactionState::NONE;
        self.is_ours_untold = false;
    }

    /// Takes in an answer that has gone to the client as it came. `added`: what the statement adds by its kind.
    pub fn see_passed(&mut self, tracker: &ResponseTracker, added: TransactionState) {
        if self.is_own {
            return;
        }
        if let Some(state) = tracker.transaction_state() {
            self.forget_what_has_ended(state);
            (self.server, self.client, self.told) = (state, state, state);
        }
        let tells = tracker.transaction_state().is_some();
        if tracker.is_ended_by_eof() || tracker.error().is_some() {
            self.see_untold(tracker, added);
        } else if tells || (tracker.status().is_some() && !self.mariadb) {
            self.owed = TransactionState::NONE;
        }
    }

    /// The client's answer has ended in a packet that does not tell.
    pub fn see_untold(&mut self, tracker: &ResponseTracker, added: TransactionState) {
        if self.is_own {
            return;
        }
        self.owed = self.owed.with(added);
        if told_status(tracker).is_some_and(|status| status & status::IN_TRANS == 0) {
            self.owed = TransactionState::NONE;
            self.is_end_untold = self.told != TransactionState::NONE;
        }
    }

    /// Has an OK packet for the client tell what its own statements have made of the transaction. `added`: what the
    /// one that it answers adds by its kind, of which the server says nothing where ours have done the same before.
    pub fn tell(&mut self, payload: &mut Vec<u8>, status: u16, added: TransactionState) {
        if self.is_own {
            return;
        }
        let state = TransactionState::of(payload);
        if let Some(state) = state {
            self.forget_what_has_ended(state);
        }
        let is_open = status & status::IN_TRANS != 0;
        let is_about_it = state.is_some() || added != TransactionState::NONE;
        if self.mariadb && is_open && !is_about_it {
            return;
        }
        let now = state.unwrap_or(self.server);
        if self.is_end_untold || !is_open {
            self.client = now;
        } else {
            let mut gained = match self.is_ours_untold {
                true => added.within(now),
                false => now.without(self.server),
            };
            // It may come of statements of ours whose answers did not tell.
            if self.mariadb && self.server != self.client {
                gained = gained.without(TransactionState::UNSAFE.without(added));
            }
            let masked = added.within(self.server.without(self.client));
            let owed = self.owed.within(now);
            let client = self.client.with(now.begun()).with(gained);
            self.client = client.with(masked).with(owed);
        }
        self.server = now;
        self.owed = TransactionState::NONE;
        self.is_ours_untold = false;
        self.is_end_untold = false;
        let news = (self.client != self.told).then_some(self.client);
        if state != news {
            replace(payload, news);
        }
        self.told = self.client;
    }

    /// Whether a change is due that an EOF packet cannot tell, which MariaDB says there; `None` where nothing is known.
    pub fn is_due(&self, added: TransactionState) -> Option<bool> {
        let is_known = self.mariadb && !self.is_own && self.server != TransactionState::NONE;
        is_known.then(|| self.client.with(self.owed).with(added) != self.told)
    }

    /// The server's word on another transaction than that which is known: it has lost flags, or the end was not told.
    fn forget_what_has_ended(&mut self, state: TransactionState) {
        if self.is_end_untold || !self.server.is_within(state) {
            self.server = TransactionState::NONE;
            self.client = TransactionState::NONE;
            self.owed = TransactionState::NONE;
            self.is_end_untold = false;
        }
    }
}

/// The status flags at the end of an answer that has some.
fn told_status(tracker: &ResponseTracker) -> Option<u16> {
    tracker.status().filter(|_| tracker.error().is_none())
}

/// Puts this state into an OK packet with SESSION_TRACK, in the place of what it says.
fn replace(payload: &mut Vec<u8>, state: Option<TransactionState>) {
    let Ok(mut told) = changes(payload) else {
        return;
    };
    told.retain(|(kind, _)| *kind != TRANSACTION_STATE);
    told.extend(state.map(TransactionState::change));
    if let Ok(patched) = with_changes(payload, &told) {
        *payload = patched;
    }
}
