//! The sessions that are connected and what they do, for an operator to see, and to close.
//!
//! A session writes what it does into its own entry only, by single writes that nobody waits for. What all share is
//! written only at login and close.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, watch};

use crate::net::{Cut, Origin};
use crate::reason::Reason;
use crate::wire::command;

/// The session waits for its client.
const IDLE: u8 = 0xFF;

/// No reason yet.
const NO_REASON: u8 = 0xFF;

/// All sessions after their login, and what an operator has told them.
#[derive(Debug)]
pub struct Sessions {
    /// By the thread id that the client sees.
    open: Mutex<HashMap<u32, Arc<Seen>>>,
    notices: watch::Sender<Notice>,
    /// Whether new connections have to wait.
    paused: watch::Sender<bool>,
    /// An operator has asked the server to stop.
    stop: Notify,
    /// A session has left.
    left: Notify,
}

impl Default for Sessions {
    fn default() -> Self {
        Self {
            open: Mutex::default(),
            notices: watch::Sender::default(),
            paused: watch::Sender::new(false),
            stop: Notify::new(),
            left: Notify::new(),
        }
    }
}

impl Sessions {
    /// Enters a session after its login. It stays until the returned entry is dropped.
    pub(crate) fn enter(
        self: &Arc<Self>,
        id: u32,
        (client, cut): (Origin, Arc<Cut>),
        login: Account,
    ) -> Entry {
        let seen = Arc::new(Seen {
            id,
            client,
            cut,
            connected: Instant::now(),
            account: Mutex::new(login),
            command: AtomicU8::new(IDLE),
            reason: AtomicU8::new(NO_REASON),
            in_transaction: AtomicBool::new(false),
            is_killed: AtomicBool::new(false),
            since: AtomicU64::new(0),
            commands: AtomicU64::new(0),
        });
        self.lock().insert(id, Arc::clone(&seen));
        Entry {
            seen,
            sessions: Arc::clone(self),
        }
    }

    /// All sessions now, by id.
    pub fn now(&self) -> Vec<Glimpse> {
        let open: Vec<_> = self.lock().values().cloned().collect();
        let mut glimpses: Vec<_> = open.iter().map(|seen| seen.glimpse()).collect();
        glimpses.sort_by_key(|glimpse| glimpse.id);
        glimpses
    }

    /// Makes a session close as soon as it runs no command. Returns whether there is one with this id.
    pub fn kill(&self, id: u32) -> bool {
        let Some(seen) = self.lock().get(&id).cloned() else {
            return false;
        };
        seen.is_killed.store(true, Ordering::Release);
        // All sessions check whether they are meant. That happens seldom, and costs nothing until it does.
        self.notify();
        true
    }

    /// Disconnects the session's client. A session blocked on client I/O ends at once; a statement already sent
    /// upstream still completes.
    pub fn cut(&self, id: u32) {
        let seen = self.lock().get(&id).cloned();
        if let Some(seen) = seen {
            seen.cut.make();
        }
    }

    /// Returns when there is no session with this id. Cancel safe.
    pub async fn until_left(&self, id: u32) {
        loop {
            let mut left = pin!(self.left.notified());
            left.as_mut().enable();
            if !self.lock().contains_key(&id) {
                return;
            }
            left.await;
        }
    }

    /// Makes all sessions close as they become idle.
    pub fn stop(&self) {
        self.notices.send_modify(|notice| notice.is_stopping = true);
    }

    /// Makes all sessions check whether something has changed: the hot tables, or whether they are killed.
    pub(crate) fn notify(&self) {
        self.notices.send_modify(|_| {});
    }

    /// Subscribes to what changes from now on.
    pub(crate) fn notices(&self) -> watch::Receiver<Notice> {
        self.notices.subscribe()
    }

    /// Whether new connections have to wait.
    pub fn is_paused(&self) -> bool {
        *self.paused.borrow()
    }

    /// Makes new connections wait, or lets them go on.
    pub fn pause(&self, paused: bool) {
        self.paused.send_replace(paused);
    }

    /// Returns when new connections wait, or no longer do. Cancel safe.
    pub async fn until_paused(&self, paused: bool) {
        let mut changes = self.paused.subscribe();
        let waited = changes.wait_for(|now| *now == paused).await;
        waited.expect("the sender is here");
    }

    /// Asks the server to stop, as SIGTERM does.
    pub fn ask_to_stop(&self) {
        self.stop.notify_one();
    }

    /// Returns when an operator has asked the server to stop. Cancel safe.
    pub async fn asked_to_stop(&self) {
        self.stop.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u32, Arc<Seen>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What sessions are told, besides what they look up.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Notice {
    /// The server stops.
    pub(crate) is_stopping: bool,
}

/// Whose session it is.
#[derive(Debug)]
pub(crate) struct Account {
    /// User name, as the client gave it.
    pub user: Box<str>,
    /// The current schema, as far as it is known.
    pub schema: Option<Box<str>>,
}

impl Account {
    /// The account of a login.
    pub(crate) fn new(user: &[u8], schema: Option<&[u8]>) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned().into_boxed_str();
        Self {
            user: text(user),
            schema: schema.map(text),
        }
    }
}

/// What is seen of one session. Only that session writes, others read now and then: each value by itself is right.
#[derive(Debug)]
struct Seen {
    id: u32,
    client: Origin,
    /// Cuts the client off.
    cut: Arc<Cut>,
    connected: Instant,
    account: Mutex<Account>,
    /// The current command, or [`IDLE`].
    command: AtomicU8,
    /// Why its last statement got its plan, or [`NO_REASON`].
    reason: AtomicU8,
    in_transaction: AtomicBool,
    is_killed: AtomicBool,
    /// When the command began, or the last one ended: microseconds after `connected`.
    since: AtomicU64,
    commands: AtomicU64,
}

impl Seen {
    fn glimpse(&self) -> Glimpse {
        let account = self.account.lock().unwrap_or_else(PoisonError::into_inner);
        let since = Duration::from_micros(self.since.load(Ordering::Relaxed));
        let connected = self.connected.elapsed();
        let reason = usize::from(self.reason.load(Ordering::Relaxed));
        let command = self.command.load(Ordering::Relaxed);
        Glimpse {
            id: self.id,
            client: self.client,
            user: account.user.to_string(),
            schema: account.schema.as_deref().map(str::to_owned),
            connected,
            in_transaction: self.in_transaction.load(Ordering::Relaxed),
            command: match self.is_killed.load(Ordering::Relaxed) {
                true => "Killed",
                false => command_name(command),
            },
            command_time: connected.saturating_sub(since),
            commands: self.commands.load(Ordering::Relaxed),
            reason: Reason::ALL.get(reason).copied(),
        }
    }
}

/// The command as SHOW PROCESSLIST calls it.
fn command_name(command_byte: u8) -> &'static str {
    match command_byte {
        IDLE => "Sleep",
        command::QUERY => "Query",
        command::STMT_PREPARE => "Prepare",
        command::STMT_EXECUTE | command::STMT_BULK_EXECUTE => "Execute",
        command::STMT_FETCH => "Fetch",
        command::STMT_CLOSE => "Close stmt",
        command::STMT_RESET => "Reset stmt",
        command::STMT_SEND_LONG_DATA => "Long Data",
        command::INIT_DB => "Init DB",
        command::CHANGE_USER => "Change user",
        command::RESET_CONNECTION => "Reset Connection",
        command::PING => "Ping",
        command::QUIT => "Quit",
        command::BINLOG_DUMP | command::BINLOG_DUMP_GTID => "Binlog Dump",
        _ => "Other",
    }
}

/// A session at one moment.
#[derive(Clone, Debug)]
pub struct Glimpse {
    /// The thread id that the client sees, which is the upstream's.
    pub id: u32,
    /// Where the client is.
    pub client: Origin,
    /// User name.
    pub user: String,
    /// The current schema, as far as the proxy knows. After a `USE` in a text, it is updated by the next statement
    /// that names a hot table.
    pub schema: Option<String>,
    /// The time since the login.
    pub connected: Duration,
    /// A transaction is open, or autocommit is off.
    pub in_transaction: bool,
    /// The current command, as SHOW PROCESSLIST calls it; `Sleep` between two commands, `Killed` when the session must
    /// close.
    pub command: &'static str,
    /// The time since the command began, or since the last one ended.
    pub command_time: Duration,
    /// Commands so far.
    pub commands: u64,
    /// Why the last statement got its plan.
    pub reason: Option<Reason>,
}

/// A session's own place among all. Dropping it removes the session.
#[derive(Debug)]
pub(crate) struct Entry {
    seen: Arc<Seen>,
    sessions: Arc<Sessions>,
}

impl Entry {
    /// The upstream connection's id.
    pub(crate) fn thread_id(&self) -> u32 {
        self.seen.id
    }

    /// Records that a command has come.
    pub(crate) fn begins(&self, command_byte: u8) {
        let seen = &self.seen;
        // No other thread writes this.
        let commands = seen.commands.load(Ordering::Relaxed) + 1;
        seen.commands.store(commands, Ordering::Relaxed);
        seen.command.store(command_byte, Ordering::Relaxed);
        self.at(Instant::now());
    }

    /// Records that the command got its response at this time.
    pub(crate) fn rests(&self, in_transaction: bool, at: Instant) {
        self.seen.command.store(IDLE, Ordering::Relaxed);
        self.seen
            .in_transaction
            .store(in_transaction, Ordering::Relaxed);
        self.at(at);
    }

    /// Records why a statement got its plan.
    pub(crate) fn reasons(&self, reason: Reason) {
        let position = u8::try_from(reason as usize).unwrap_or(NO_REASON);
        self.seen.reason.store(position, Ordering::Relaxed);
    }

    /// Records another current schema.
    pub(crate) fn set_schema(&self, schema: Option<&[u8]>) {
        let mut account = self.account();
        let text = schema.map(String::from_utf8_lossy);
        if account.schema.as_deref() != text.as_deref() {
            account.schema = text.map(|text| text.into_owned().into_boxed_str());
        }
    }

    /// Records that another account has logged in.
    pub(crate) fn set_account(&self, account: Account) {
        *self.account() = account;
    }

    /// Whether the session must close.
    pub(crate) fn is_killed(&self) -> bool {
        self.seen.is_killed.load(Ordering::Acquire)
    }

    fn account(&self) -> MutexGuard<'_, Account> {
        self.seen
            .account
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn at(&self, at: Instant) {
        let since = at.saturating_duration_since(self.seen.connected);
        let since = u64::try_from(since.as_micros()).unwrap_or(u64::MAX);
        self.seen.since.store(since, Ordering::Relaxed);
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let mut open = self.sessions.lock();
        // When another server has taken the upstream's place, its ids begin anew, so this one may belong to another
        // session by now.
        if open
            .get(&self.seen.id)
            .is_some_and(|seen| Arc::ptr_eq(seen, &self.seen))
        {
            open.remove(&self.seen.id);
        }
        // After a crowd has gone, give its memory back.
        if open.len() * 4 < open.capacity() {
            open.shrink_to_fit();
        }
        drop(open);
        self.sessions.left.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn enter(sessions: &Arc<Sessions>, id: u32) -> Entry {
        let client = Origin::Tcp {
            from: ([127, 0, 0, 1], 50000).into(),
            to: ([127, 0, 0, 1], 6033).into(),
        };
        let account = Account::new(b"ann", Some(b"shop"));
        sessions.enter(id, (client, Arc::default()), account)
    }

    #[test]
    fn a_session_is_seen_from_login_to_close() {
        let sessions = Arc::default();
        let entry = enter(&sessions, 7);
        let [glimpse] = &sessions.now()[..] else {
            panic!("one session");
        };
        assert_eq!((glimpse.id, &*glimpse.user), (7, "ann"));
        assert_eq!((glimpse.command, glimpse.reason), ("Sleep", None));
        entry.begins(command::QUERY);
        entry.reasons(Reason::Slotted);
        let glimpse = &sessions.now()[0];
        assert_eq!((glimpse.command, glimpse.commands), ("Query", 1));
        assert_eq!(glimpse.reason, Some(Reason::Slotted));
        assert!(glimpse.command_time <= glimpse.connected);
        entry.rests(true, Instant::now());
        entry.set_schema(None);
        let glimpse = &sessions.now()[0];
        assert_eq!((glimpse.command, glimpse.in_transaction), ("Sleep", true));
        assert_eq!(glimpse.schema, None);
        drop(entry);
        assert!(sessions.now().is_empty());
    }

    #[test]
    fn one_is_killed_and_all_are_woken_to_look() {
        let sessions = Arc::default();
        let (first, second) = (enter(&sessions, 1), enter(&sessions, 2));
        let mut notices = sessions.notices();
        assert!(!sessions.kill(3));
        assert!(!notices.has_changed().expect("the sender is there"));
        assert!(sessions.kill(2));
        assert!(notices.has_changed().expect("the sender is there"));
        assert!(
            !notices.borrow_and_update().is_stopping,
            "the server goes on"
        );
        assert!(!first.is_killed() && second.is_killed());
        sessions.stop();
        assert!(notices.borrow_and_update().is_stopping);
    }

    #[test]
    fn an_id_that_came_again_is_the_latter_ones() {
        let sessions = Arc::default();
        let first = enter(&sessions, 1);
        let second = enter(&sessions, 1);
        drop(first);
        assert!(sessions.kill(1) && second.is_killed());
    }

    #[test]
    fn an_entry_is_small() {
        let entry = size_of::<Seen>() + size_of::<Entry>() + 2 * size_of::<usize>();
        assert!(entry <= 200, "{entry} bytes");
    }

    #[test]
    fn every_reason_has_a_number_of_its_own() {
        assert!(Reason::ALL.len() < usize::from(NO_REASON));
    }
}
