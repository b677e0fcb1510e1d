//! What a session knows of itself: transaction, session variables, locks, temporary tables, prepared statements,
//! diagnostics.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::catalog::HotTable;
use crate::counter::SlotRow;
use crate::session::link::definitions::Definitions;
use crate::session::link::transaction_state::Tracked;
use crate::session::shared::hot_tables::PreparedUnder;
use crate::session::state::combining::Combining;
use crate::session::state::info_text::InfoText;
use crate::session::state::last_response::LastResponse;
use crate::session::state::locks::Locks;
use crate::session::state::prepared::Statement;
use crate::session::state::rights::Rights;
use crate::session::state::running::{Access, Running};
use crate::session::state::sql_prepared::SqlPrepared;
use crate::session::state::temporary::Temporary;
use crate::session::state::understood::Understood;
use crate::session::state::variables::{Isolation, Snapshots, Variables};
use crate::sql::Kind;
use crate::sql::plan::SessionVariables;
use diagnostics::Diagnostics;
use one_shot::{Effect, OneShot};
use transaction::Transaction;

pub(crate) mod combining;
pub(crate) mod diagnostics;
pub(crate) mod info_text;
pub(crate) mod last_response;
pub(crate) mod locks;
pub(crate) mod one_shot;
pub(crate) mod prepared;
pub(crate) mod rights;
pub(crate) mod running;
pub(crate) mod savepoints;
pub(crate) mod sql_prepared;
pub(crate) mod temporary;
pub(crate) mod transaction;
pub(crate) mod typing;
pub(crate) mod understood;
pub(crate) mod variables;

/// A session between two commands.
#[derive(Debug)]
pub(crate) struct State {
    /// How the last response ended.
    pub last: LastResponse,
    /// The session variables. `None` if something may have changed them, so that the upstream must be asked.
    pub variables: Option<Variables>,
    /// The open transaction may have another isolation level than the session.
    pub isolation_doubted: bool,
    /// What OK packets report about the transaction.
    pub tracked: Tracked,
    /// Locks that outlive a transaction.
    pub locks: Locks,
    /// Which sessions' increments its own may be combined with.
    pub combining: Combining,
    /// What the account may do.
    pub rights: Rights,
    /// How the session's commands are treated.
    pub mode: Mode,
    /// The session's temporary tables, as far as they concern hot ones.
    pub temporary: Temporary,
    /// Statements prepared by PREPARE.
    pub sql_prepared: SqlPrepared,
    /// Binary protocol statements that concern hot tables, by the client's id.
    pub statements: HashMap<u32, Statement>,
    /// Prepared statements of which nothing is remembered, because they named no hot table.
    pub unseen: Option<Unseen>,
    /// The id that the last COM_STMT_PREPARE returned.
    pub last_prepared: u32,
    /// Column definitions of rewritten reads, by the original's text.
    pub definitions: HashMap<Vec<u8>, Arc<Definitions>>,
    /// Shapes of statements whose text the server accepts.
    pub understood: Understood,
    /// What LAST_INSERT_ID() has to return, where another session has run the statement: the upstream is told before it
    /// is sent anything else.
    pub last_insert_id_due: Option<u64>,
    /// What the client may ask about its last statement, kept where the upstream would report on another.
    pub diagnostics: Option<Diagnostics>,
    /// What SET TRANSACTION has set for the next transaction only.
    pub one_shot: OneShot,
    /// The statement that runs, or that ran last.
    pub running: Running,
    /// The open transaction.
    pub transaction: Transaction,
    /// The ERR payload by which the server has said that the transaction is gone, if neither the client has been told
    /// nor the transaction begun again.
    pub lost: Option<Vec<u8>>,
    /// Internal statements lock rows even where the transaction's snapshot shows older versions of them, which
    /// `innodb_snapshot_isolation` would have refused.
    pub locks_newer: bool,
    /// Slot rows (table, key, slot) that the open transaction has written. They exist for the transaction itself, and
    /// for all sessions once it has committed. Outlives `transaction` until the statement that ended it is known.
    pub written: Vec<(Arc<HotTable>, SlotRow, u16)>,
}

/// How a session's commands are treated. COM_RESET_CONNECTION leaves it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mode {
    /// One COM_QUERY may contain several statements.
    pub multi_statements: bool,
    /// Nothing is rewritten: the session's user or program is listed under `bypass`.
    pub bypass: bool,
}

/// Prepared statements of which nothing is remembered.
#[derive(Debug)]
pub(crate) struct Unseen {
    /// The binary protocol's statements that have not been closed, by their ids, and what they do to tables.
    pub ids: HashMap<u32, Access>,
    /// Those among them that change no rows out of sight, by the hot tables with this number.
    unwatched: (u64, HashSet<u32>),
    /// There are others, made by PREPARE.
    has_named: bool,
    /// When the first of them was prepared.
    _since: Arc<PreparedUnder>,
}

impl Unseen {
    /// Adds one, with its id if it is of the binary protocol.
    pub(crate) fn add(
        unseen: &mut Option<Self>,
        id: Option<(u32, Access)>,
        now: &Arc<PreparedUnder>,
    ) {
        let unseen = unseen.get_or_insert_with(|| Self {
            ids: HashMap::new(),
            unwatched: (0, HashSet::new()),
            has_named: false,
            _since: Arc::clone(now),
        });
        unseen.has_named |= id.is_none();
        unseen.ids.extend(id);
    }

    /// Records that the statement with this id, which has been added, changes no rows out of sight by the hot tables
    /// with this number.
    pub(crate) fn leave_unwatched(unseen: &mut Option<Self>, id: u32, hot: u64) {
        if let Some(Self { unwatched, .. }) = unseen {
            if unwatched.0 != hot {
                *unwatched = (hot, HashSet::new());
            }
            unwatched.1.insert(id);
        }
    }

    /// Whether that was recorded of the statement with this id, by the hot tables with this number.
    pub(crate) fn is_unwatched(&self, id: u32, hot: u64) -> bool {
        self.unwatched.0 == hot && self.unwatched.1.contains(&id)
    }

    /// Takes in that the statement with this id was closed, if there is one: clients close some twice, and some that
    /// are gone.
    pub(crate) fn remove(unseen: &mut Option<Self>, id: u32) {
        if let Some(some) = unseen {
            some.ids.remove(&id);
            some.unwatched.1.remove(&id);
            if some.ids.is_empty() && !some.has_named {
                *unseen = None;
            }
        }
    }
}

impl State {
    pub(crate) fn new(status: u16, mariadb: bool) -> Self {
        Self {
            last: LastResponse::new(status),
            variables: None,
            isolation_doubted: false,
            tracked: Tracked::new(mariadb),
            locks: Locks::default(),
            combining: Combining::Unknown,
            rights: Rights::default(),
            mode: Mode::default(),
            temporary: Temporary::default(),
            sql_prepared: SqlPrepared::default(),
            statements: HashMap::new(),
            unseen: None,
            last_prepared: 0,
            definitions: HashMap::new(),
            understood: Understood::default(),
            last_insert_id_due: None,
            diagnostics: None,
            one_shot: OneShot::default(),
            lost: None,
            locks_newer: false,
            running: Running::default(),
            transaction: Transaction::default(),
            written: Vec::new(),
        }
    }

    /// The variables that decide how a text is read, if they are known.
    pub(crate) fn of_texts(&self) -> Option<&Arc<SessionVariables>> {
        self.variables.as_ref().map(|variables| &variables.of_texts)
    }

    /// The isolation level of the open transaction, or of the next one. `None` if it is not known.
    pub(crate) fn isolation(&self) -> Option<Isolation> {
        let is_certain = !self.isolation_doubted && !self.one_shot.is_set();
        let variables = self.variables.as_ref().filter(|_| is_certain);
        variables.map(|variables| variables.isolation)
    }

    /// The language of info texts.
    pub(crate) fn info(&self) -> &InfoText {
        let variables = self.variables.as_ref();
        variables.map_or(&InfoText::Unknown, |variables| &variables.info)
    }

    /// Whether `sql_auto_is_null` may be on.
    pub(crate) fn may_find_last_inserted(&self) -> bool {
        let variables = self.variables.as_ref();
        variables.is_none_or(|variables| variables.auto_is_null)
    }

    /// Whether no increment may go to a slot, by the session's variables.
    pub(crate) fn takes_no_slots(&self) -> bool {
        let variables = self.variables.as_ref();
        variables.is_none_or(|variables| variables.takes_no_slots)
    }

    /// Whether `innodb_snapshot_isolation` is on, as far as is known.
    pub(crate) fn isolates_snapshots(&self) -> bool {
        let variables = self.variables.as_ref();
        variables.is_some_and(|variables| variables.snapshots == Snapshots::Isolated)
    }

    /// Whether `max_join_size` certainly refuses nothing.
    pub(crate) fn has_big_selects(&self) -> bool {
        let variables = self.variables.as_ref();
        variables.is_some_and(|variables| variables.big_selects)
    }

    /// Whether reads may pad CHAR values.
    pub(crate) fn may_pad_char(&self) -> bool {
        let variables = self.variables.as_ref();
        variables.is_none_or(|variables| variables.has_mode("PAD_CHAR_TO_FULL_LENGTH"))
    }

    /// The sql_mode without PAD_CHAR_TO_FULL_LENGTH, if it has that. It is never empty.
    pub(crate) fn mode_without_padding(&self) -> Option<String> {
        let variables = self.variables.as_ref()?;
        variables.mode_without("PAD_CHAR_TO_FULL_LENGTH")
    }

    /// Whether the client's texts are certainly UTF-8.
    pub(crate) fn speaks_utf8(&self) -> bool {
        let variables = self.variables.as_ref();
        variables.is_some_and(|variables| variables.speaks_utf8)
    }

    /// Whether a statement that runs now belongs to a transaction that the client must end.
    pub(crate) fn in_transaction(&self) -> bool {
        self.last.is_in_transaction() || !self.last.has_autocommit()
    }

    /// Whether a transaction may be open that sees rows as they were. An ERR does not say; in autocommit a statement
    /// that fails leaves none, unless it was a routine.
    pub(crate) fn may_have_snapshot(&self) -> bool {
        let may_be_new = !self.last.has_autocommit() || self.running.kind == Kind::Call;
        self.last.is_in_transaction() || (self.last.leaves_doubt && may_be_new)
    }

    /// Takes in how a response ended.
    pub(crate) fn observe(&mut self, status: Option<u16>, error: Option<u16>) {
        let before = self.last;
        self.last.observe(status, error);
        if status.is_some() {
            // Without autocommit, another transaction may have followed the one that the error has ended.
            let may_be_another = before.leaves_doubt && !self.last.has_autocommit();
            if !self.last.is_in_transaction() {
                self.transaction = Transaction::default();
                self.isolation_doubted &= !before.is_in_transaction();
            } else if may_be_another {
                self.transaction.distrust_folds();
            }
        }
        if error.is_some() {
            self.written.clear();
            self.transaction.proves_nothing = true;
        }
    }

    /// Takes in the end of a statement with this effect on what is set for one transaction.
    pub(crate) fn after_one_shot(&mut self, effect: &Effect, failed: bool, refused: bool) {
        let was_set = self.one_shot.is_set();
        self.one_shot.after(effect, failed, refused);
        self.isolation_doubted |= was_set && !self.one_shot.is_set() && self.in_transaction();
    }

    /// Starts anew after COM_RESET_CONNECTION or COM_CHANGE_USER.
    pub(crate) fn reset(&mut self, status: u16, mariadb: bool) {
        *self = Self {
            mode: self.mode,
            ..Self::new(status, mariadb)
        };
    }
}
