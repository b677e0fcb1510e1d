//! What OK packets report about the client's transaction (`session_track_transaction_info`), reduced to what the
//! client's own statements have done. Internal statements read and write tables too, and the server reports each
//! change only once, in the response to whichever statement comes next.

use crate::wire::response::ResponseTracker;
use crate::wire::session_state::{TRANSACTION_STATE, TransactionState, changes, with_changes};
use crate::wire::status;

/// The state of the transaction, as the server and the client know it.
///
/// The value of the session variable is not known, and need not be: where it is off, the server reports no access to
/// tables. MySQL reports a change in the next OK packet, whatever that is for. MariaDB reports it in the next one for
/// a statement that concerns the transaction, and a flag in an EOF packet says that a change is due which that packet
/// cannot report.
#[derive(Clone, Copy, Debug)]
pub struct Tracked {
    /// What the server reported last, to the client or to an internal statement.
    server: TransactionState,
    /// What the client's own statements have made of it.
    client: TransactionState,
    /// What the client was reported last.
    reported: TransactionState,
    /// What statements of the client's have added whose responses could not report it, if the server agrees.
    owed: TransactionState,
    /// Internal statements have added something that their responses could not report: the server's next report
    /// includes it.
    is_internal_unreported: bool,
    /// A response that could not report it has ended the transaction.
    is_end_unreported: bool,
    /// The open transaction is the proxy's own, around a statement of the client's.
    is_own: bool,
    mariadb: bool,
}

impl Tracked {
    /// The state of a session that has just begun.
    pub fn new(mariadb: bool) -> Self {
        Self {
            server: TransactionState::NONE,
            client: TransactionState::NONE,
            reported: TransactionState::NONE,
            owed: TransactionState::NONE,
            is_internal_unreported: false,
            is_end_unreported: false,
            is_own: false,
            mariadb,
        }
    }

    /// A transaction of the proxy's own begins, while the client has none.
    pub fn begin_own(&mut self) {
        self.is_own = true;
    }

    /// The transaction of the proxy's own has ended.
    pub fn end_own(&mut self) {
        *self = Self {
            reported: self.reported,
            ..Self::new(self.mariadb)
        };
    }

    /// Whether the server's next report is just what the client must be reported.
    pub fn is_passed_on(&self) -> bool {
        self.server == self.reported
            && self.client == self.reported
            && !self.is_internal_unreported
            && !self.is_own
    }

    /// Whether the client knows of no transaction, and there is none.
    pub fn is_at_rest(&self) -> bool {
        self.is_passed_on() && self.reported == TransactionState::NONE && !self.is_end_unreported
    }

    /// Takes in the response to an internal statement.
    pub fn see_internal(&mut self, tracker: &ResponseTracker) {
        let (false, Some(status)) = (self.is_own, reported_status(tracker)) else {
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
                self.is_internal_unreported |= is_open;
                return;
            }
            None if self.mariadb && is_open => return,
            None => {}
        }
        self.owed = TransactionState::NONE;
        self.is_internal_unreported = false;
    }

    /// Takes in a response that has been forwarded to the client. `added`: what the statement adds, by its kind.
    pub fn see_passed(&mut self, tracker: &ResponseTracker, added: TransactionState) {
        if self.is_own {
            return;
        }
        if let Some(state) = tracker.transaction_state() {
            self.forget_what_has_ended(state);
            (self.server, self.client, self.reported) = (state, state, state);
        }
        let tells = tracker.transaction_state().is_some();
        if tracker.is_ended_by_eof() || tracker.error().is_some() {
            self.see_unreported(tracker, added);
        } else if tells || (tracker.status().is_some() && !self.mariadb) {
            self.owed = TransactionState::NONE;
        }
    }

    /// Takes in that the client's response has ended in a packet that cannot report changes.
    pub fn see_unreported(&mut self, tracker: &ResponseTracker, added: TransactionState) {
        if self.is_own {
            return;
        }
        self.owed = self.owed.with(added);
        if reported_status(tracker).is_some_and(|status| status & status::IN_TRANS == 0) {
            self.owed = TransactionState::NONE;
            self.is_end_unreported = self.reported != TransactionState::NONE;
        }
    }

    /// Makes an OK packet for the client report what the client's own statements have made of the transaction.
    /// `added`: what the statement that it responds to adds, by its kind. The server does not report that if an
    /// internal statement has done the same before.
    pub fn report(&mut self, payload: &mut Vec<u8>, status: u16, added: TransactionState) {
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
        if self.is_end_unreported || !is_open {
            self.client = now;
        } else {
            let mut gained = match self.is_internal_unreported {
                true => added.within(now),
                false => now.without(self.server),
            };
            // This may come from internal statements whose responses could not report it.
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
        self.is_internal_unreported = false;
        self.is_end_unreported = false;
        let changed = (self.client != self.reported).then_some(self.client);
        if state != changed {
            replace(payload, changed);
        }
        self.reported = self.client;
    }

    /// Whether a change is due that an EOF packet cannot report, which MariaDB flags there. `None` if nothing is
    /// known.
    pub fn is_due(&self, added: TransactionState) -> Option<bool> {
        let is_known = self.mariadb && !self.is_own && self.server != TransactionState::NONE;
        is_known.then(|| self.client.with(self.owed).with(added) != self.reported)
    }

    /// Forgets the known transaction if the server's report is about another one: flags are missing, or an end was not
    /// reported.
    fn forget_what_has_ended(&mut self, state: TransactionState) {
        if self.is_end_unreported || !self.server.is_within(state) {
            self.server = TransactionState::NONE;
            self.client = TransactionState::NONE;
            self.owed = TransactionState::NONE;
            self.is_end_unreported = false;
        }
    }
}

/// The status flags at the end of a response, if it has any.
fn reported_status(tracker: &ResponseTracker) -> Option<u16> {
    tracker.status().filter(|_| tracker.error().is_none())
}

/// Puts this state into an OK packet with SESSION_TRACK, in place of the one that it reports.
fn replace(payload: &mut Vec<u8>, state: Option<TransactionState>) {
    let Ok(mut reported) = changes(payload) else {
        return;
    };
    reported.retain(|(kind, _)| *kind != TRANSACTION_STATE);
    reported.extend(state.map(TransactionState::change));
    if let Ok(patched) = with_changes(payload, &reported) {
        *payload = patched;
    }
}
