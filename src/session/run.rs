//! The command phase: one command after another. Each gets its response before the next is looked at.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::time::timeout;

use crate::config::Bypass;
use crate::counter::server::Server;
use crate::net::{Cut, Origin, PacketStream, ReadError};
use crate::session::command::beside::leaves_diagnostics;
use crate::session::connect::{self, ChangeUserOutcome, Connected, Login, Place, Reauthentication};
use crate::session::error::Error;
use crate::session::exchange::Alone;
use crate::session::link::Link;
use crate::session::shared::Shared;
use crate::session::shared::hot_tables::Hot;
use crate::session::shared::registry::{Account, Entry, Notice};
use crate::session::state::State;
use crate::session::state::diagnostics::Diagnostics;
use crate::session::text::schema_named;
use crate::sql::{Following, Shape};
use crate::wire::error_code::ER_CLIENT_INTERACTION_TIMEOUT;
use crate::wire::packet::{HEADER_LENGTH, Header};
use crate::wire::response::ResponseKind;
use crate::wire::{capability, command, reply};

/// A session in the command phase.
///
/// Memory: while bytes are in flight, two read buffers of up to [`PacketStream::LARGE_BUFFER`] and the current
/// statement; permanently, prepared statements that concern hot tables (both as far as [`Place::memory`] says), and
/// the column definitions of some rewritten reads.
pub struct Session {
    pub(crate) link: Link,
    pub(crate) shared: Arc<Shared>,
    /// The hot tables as this session last saw them. A transaction keeps to those that were in force when it began.
    pub(crate) hot: Arc<Hot>,
    pub(crate) state: State,
    /// The server that the upstream connection leads to, once it has been asked.
    pub(crate) server: Option<Server>,
    /// The current schema, as far as it is known without a query, for the traffic report.
    pub(crate) schema: Option<String>,
    /// What the open transaction has written, while the traffic report is on.
    pub(crate) written: Vec<Arc<str>>,
    /// The session's number among those whose prepared statements were sampled; 0 before the first.
    pub(crate) number: u64,
    /// What literals are lifted into.
    pub(crate) shape: Shape,
    /// The increment that the session writes by itself, and that others of the same key wait for.
    pub(crate) alone: Option<Alone>,
    /// What follows the current statement in its packet.
    pub(crate) following: Option<Arc<Following>>,
    /// The session ends by the will of another than its client, and the client must learn why.
    pub(crate) parts: bool,
    /// What COM_CHANGE_USER needs to know about the login.
    reauthentication: Reauthentication,
    /// Among the clients, and what the rules file lets them have.
    pub(crate) place: Place,
    bypass: Bypass,
    /// What operators see of the session.
    pub(crate) entry: Entry,
    notices: watch::Receiver<Notice>,
    /// Notice came while a transaction or LOCK TABLES kept the session from heeding it.
    pub(crate) is_behind: bool,
    /// Why the session is to end, if it is.
    ending: Option<Ending>,
}

/// A session that has done nothing for this long is idle. When the server stops, a session that has just come, or is
/// between two statements, goes on until it is idle.
const QUIET: Duration = Duration::from_millis(500);

/// How long a session that is not idle may go on when the server stops.
const GRACE: Duration = Duration::from_secs(2);

/// The command that MySQL takes an empty packet for (COM_SLEEP), which it refuses.
const NO_COMMAND: u8 = 0x00;

/// Why a session ends when it is between two statements and no transaction is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// The proxy stops, and the session has seen that at this time.
    Stop(Instant),
    /// Another server has taken the place of the one that it is on.
    Elsewhere,
}

/// Whether the session goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flow {
    Next,
    Close,
}

impl Session {
    /// A session after its login, with its client's address and the handle that cuts the client off.
    pub fn new(
        connected: Connected,
        client: (Origin, Arc<Cut>),
        shared: Arc<Shared>,
        bypass: Bypass,
    ) -> Self {
        // Subscribe before what the news is about is looked up, so that nothing is missed.
        let mut notices = shared.sessions.notices();
        notices.mark_changed();
        let login = &connected.login;
        let account = Account::new(&login.user, login.schema.as_deref());
        let entry = shared.sessions.enter(connected.thread_id, client, account);
        let hot = shared.hot();
        let mut state = State::new(connected.login.status, hot.catalog.mariadb);
        state.mode.multi_statements = connected.capabilities & capability::MULTI_STATEMENTS != 0;
        state.mode.bypass = covers(&bypass, &connected.login);
        Self {
            link: Link::new(connected.client, connected.upstream, connected.capabilities),
            schema: schema_named(connected.login.schema.as_deref()),
            hot,
            shared,
            state,
            server: None,
            written: Vec::new(),
            alone: None,
            number: 0,
            shape: Shape::default(),
            following: None,
            parts: false,
            reauthentication: connected.reauthentication,
            place: connected.place,
            bypass,
            entry,
            notices,
            is_behind: false,
            ending: None,
        }
    }

    /// Serves commands until one side closes. Between two commands that is no error.
    ///
    /// # Errors
    ///
    /// If a side was lost in the middle of a command.
    pub async fn run(&mut self) -> Result<(), Error> {
        while self.goes_on().await {
            self.link.start();
            if self.shared.spans.are_wanted() {
                Box::pin(self.find_span()).await;
            }
            match self.command().await {
                Ok(Flow::Next) => {}
                Ok(Flow::Close) => break,
                Err(Error::Lost) => {
                    if let Err(error) = Box::pin(self.tell_loss()).await {
                        self.parts = true;
                        return Err(error);
                    }
                }
                Err(error) => {
                    self.parts = true;
                    Box::pin(self.say_why(&error)).await;
                    return Err(error);
                }
            }
            let spent = self.link.end_timing();
            if let Some((plan, spent)) = &spent {
                self.metrics().latency.statement(*plan, spent);
            }
            if let Some(statement) = self.link.end_span(spent.as_ref()) {
                self.shared.spans.end(statement, self.metrics());
            }
            let in_transaction = self.state.in_transaction();
            self.entry.rests(in_transaction, self.link.served);
        }
        Ok(())
    }

    /// Tells the client that its transaction is gone, in answer to its command. If that has been answered already, or
    /// has no response, the next one is answered so.
    async fn tell_loss(&mut self) -> Result<(), Error> {
        if self.link.answered.is_whole {
            return Ok(());
        }
        if self.link.is_unanswered {
            if self.link.is_command_unread() {
                self.link.skip_command().await?;
            }
            return Ok(());
        }
        let Some(error) = self.state.lost.take() else {
            return Ok(());
        };
        let mut sequence_id = self.link.answered.next.unwrap_or(1);
        if self.link.is_command_unread() {
            sequence_id = self.link.skip_command().await?.wrapping_add(1);
        }
        self.state.diagnostics = Some(Diagnostics::of_an_error());
        self.send_packet(sequence_id, &error).await.map(drop)
    }

    /// Sends the client the reason why the upstream was lost, if the upstream has given one. Takes bounded time,
    /// whatever the client does.
    async fn say_why(&mut self, error: &Error) {
        let farewell = async {
            if let Some((sequence_id, error)) = self.link.unsaid(error).await {
                self.send_packet(sequence_id, &error).await?;
                let closed = self.link.client.lingering_close().await;
                closed.map_err(Error::client)?;
            }
            Ok::<_, Error>(())
        };
        if let Ok(Err(error)) = timeout(PacketStream::LINGER, farewell).await {
            tracing::debug!("the client was not told why its session was lost: {error}");
        }
    }

    /// Closes a session whose client got its last packet from the upstream, and may still be sending. The upstream
    /// connection is closed first. Takes [`PacketStream::LINGER`] at most.
    pub async fn part(self) {
        let (mut client, parts) = (self.link.client, self.parts);
        drop((self.link.upstream, self.entry));
        if parts {
            // The client may be gone already.
            let _ = timeout(PacketStream::LINGER, client.lingering_close()).await;
        }
    }

    /// Waits for the next command. Returns false if there is none. A side that closes, or is lost, between two
    /// commands leaves nothing undone.
    async fn goes_on(&mut self) -> bool {
        let waited = self.await_command().await;
        waited.unwrap_or_else(|error| {
            tracing::debug!("closed between two commands: {error}");
            self.parts = true;
            false
        })
    }

    /// Waits for the next command. Returns false if the client has closed, or the session must. An upstream that sends
    /// something first reports why it closes (a timeout, a KILL): that is forwarded.
    async fn await_command(&mut self) -> Result<bool, Error> {
        loop {
            if self.is_behind || self.notices.has_changed().unwrap_or(false) {
                self.heed_notice();
            }
            // This holds even if the client has sent the next command already.
            if self.entry.is_killed() {
                return Ok(false);
            }
            match Header::decode(self.link.client.buffered()) {
                // It is a command byte, or an empty packet, which is no command but gets a response.
                Some(header)
                    if self.link.client.buffered().len() > HEADER_LENGTH || header.length == 0 =>
                {
                    return Ok(true);
                }
                _ => {}
            }
            if self.link.client_closed {
                return Ok(false);
            }
            let last = &self.state.last;
            let closes_at = match self.ending {
                Some(Ending::Stop(since)) if !self.state.in_transaction() => {
                    Some((self.link.served + QUIET).min(since + GRACE))
                }
                // Under `autocommit = 0` too, where nothing has been begun.
                Some(Ending::Elsewhere) if !last.is_in_transaction() && !last.leaves_doubt => {
                    Some(self.link.served)
                }
                _ => None,
            };
            if closes_at.is_some_and(|at| at <= Instant::now()) {
                return Ok(false);
            }
            let idle_timeout = self.place.idle_timeout();
            let idle_until = idle_timeout.map(|longest| self.link.rests_since() + longest);
            if idle_until.is_some_and(|at| at <= Instant::now()) {
                self.say_goodbye().await?;
                return Ok(false);
            }
            let wakes_at = [closes_at, idle_until].into_iter().flatten().min();
            tokio::select! {
                biased;
                // This branch comes first because it is the usual one: the branches after it are then not even polled.
                read = self.link.client.fill() => {
                    if read.map_err(Error::client)? == 0 {
                        self.link.client_closed = true;
                    }
                }
                _ = self.notices.changed() => self.heed_notice(),
                () = until(wakes_at), if wakes_at.is_some() => {}
                read = self.link.upstream.fill(), if !self.link.upstream.is_full() => {
                    if read.map_err(Error::upstream)? == 0 {
                        return Err(Error::Upstream(ReadError::Closed));
                    }
                    let length = self.link.upstream.buffered().len();
                    let passed = self.link.upstream.forward(length, &mut self.link.client).await;
                    passed.map_err(Error::client)?;
                }
            }
        }
    }

    /// Tells a client that has been idle for too long why its session ends, if it is one that the server would tell
    /// after `wait_timeout`: MariaDB says nothing.
    async fn say_goodbye(&mut self) -> Result<(), Error> {
        tracing::debug!("closed after idle_timeout");
        self.parts = true;
        if self.hot.catalog.mariadb {
            return Ok(());
        }
        let mut payload = Vec::new();
        reply::Err {
            code: ER_CLIENT_INTERACTION_TIMEOUT,
            sql_state: b"HY000",
            message: b"The client was disconnected by Countersink because of inactivity. See idle_timeout in its \
                       rules.yaml for configuring this behavior.",
        }
        .encode(&mut payload);
        // It may not be reading.
        let told = timeout(PacketStream::LINGER, self.send_packet(0, &payload)).await;
        told.map_or(Ok(()), |sent| sent.map(drop))
    }

    /// Takes in what other parts of the proxy have changed.
    fn heed_notice(&mut self) {
        let is_stopping = self.notices.borrow_and_update().is_stopping;
        if self.shared.control.route().address() != self.reauthentication.upstream {
            self.ending = Some(Ending::Elsewhere);
        } else if is_stopping && self.ending.is_none() {
            self.ending = Some(Ending::Stop(Instant::now()));
        }
        self.see_hot();
    }

    /// Handles the command at the front of the client's stream.
    async fn command(&mut self) -> Result<Flow, Error> {
        let header = Header::decode(self.link.client.buffered());
        let command_byte = match header.is_some_and(|header| header.length == 0) {
            true => NO_COMMAND,
            false => self.link.client.buffered()[HEADER_LENGTH],
        };
        self.entry.begins(command_byte);
        self.link.client.begin_answer();
        // A client that has lost count may be in the middle of something else. The server refuses whatever it is, and
        // closes the connection, so nothing may be done for it here.
        let is_counted = !self.link.client.is_compressed();
        if is_counted && header.is_some_and(|header| header.sequence_id != 0) {
            self.pass_command().await?;
            self.pass_response(ResponseKind::Single).await?;
            return Ok(Flow::Close);
        }
        if self.shared.control.has_several_writers()
            && !self.state.mode.bypass
            && command_byte != command::QUIT
            && !Box::pin(self.await_agreement()).await
        {
            return Ok(Flow::Close);
        }
        // These have no response that could say so.
        let tells_nothing = matches!(
            command_byte,
            command::STMT_SEND_LONG_DATA | command::STMT_CLOSE | command::QUIT
        );
        self.link.is_unanswered = tells_nothing;
        let is_to_ask = match command_byte {
            command::STMT_CLOSE => self.doubts_transaction(),
            _ => self.link.owes_loss && !tells_nothing,
        };
        if is_to_ask {
            Box::pin(self.ask_between()).await?;
        }
        let lost = tells_nothing.then(|| self.state.lost.take()).flatten();
        if self.state.lost.is_some() {
            return Err(Error::Lost);
        }
        match command_byte {
            command::QUERY
            | command::STMT_PREPARE
            | command::STMT_EXECUTE
            | command::STMT_FETCH
            | command::STMT_SEND_LONG_DATA
            | command::STMT_CLOSE => {}
            other if leaves_diagnostics(other, self.hot.catalog.mariadb) => {}
            _ => self.state.diagnostics = None,
        }
        match command_byte {
            // It has no response otherwise.
            _ if !self.hot.catalog.mariadb
                && header.is_some_and(|header| is_cut_short(command_byte, header.length)) =>
            {
                self.pass_command().await?;
                self.pass_response(ResponseKind::Single).await?;
            }
            command::QUERY => self.query().await?,
            command::STMT_PREPARE => self.prepare().await?,
            command::STMT_EXECUTE
            | command::STMT_FETCH
            | command::STMT_RESET
            | command::STMT_CLOSE
            | command::STMT_SEND_LONG_DATA
            | command::STMT_BULK_EXECUTE => {
                let shared = Arc::clone(&self.shared);
                let changes_rights =
                    command_byte == command::STMT_EXECUTE && self.state.rights.are_prepared;
                let _change = changes_rights.then(|| shared.rights.change());
                self.statement_command(command_byte).await?;
                if command_byte == command::STMT_FETCH && self.state.last.error.is_some() {
                    // Fetching rows of a cursor leaves the statement's diagnostics; an error replaces them.
                    self.state.diagnostics = None;
                }
            }
            command::INIT_DB => self.change_schema().await?,
            command::RESET_CONNECTION => {
                self.pass_command().await?;
                let tracker = self.pass_response(ResponseKind::Single).await?;
                if tracker.error().is_none() {
                    let status = tracker.status().unwrap_or_default();
                    self.state.reset(status, self.hot.catalog.mariadb);
                }
            }
            command::SET_OPTION => self.set_option().await?,
            command::CHANGE_USER => Box::pin(self.change_user()).await?,
            command::QUIT => {
                // There is no response, and a server that is gone already need not be told.
                self.pass_command().await.ok();
                return Ok(Flow::Close);
            }
            other => {
                self.pass_command().await?;
                match ResponseKind::of(&[other]) {
                    ResponseKind::Endless if self.link.is_refused().await? => {
                        // What follows are statements, as before.
                        self.pass_response(ResponseKind::Single).await?;
                    }
                    ResponseKind::Endless => {
                        // The stream may go on for months, and nothing in it is a statement.
                        self.hot = Arc::new(self.hot.of_nothing());
                        self.link.pass_everything().await?;
                    }
                    ResponseKind::Single => self.pass_beside(other).await.map(drop)?,
                    response_kind => self.pass_response(response_kind).await.map(drop)?,
                }
            }
        }
        if lost.is_some() {
            self.state.lost = lost;
        }
        if command_byte == command::STMT_CLOSE {
            self.note_close();
        }
        Ok(Flow::Next)
    }

    /// Handles COM_INIT_DB: `string<EOF>`, the schema.
    async fn change_schema(&mut self) -> Result<(), Error> {
        let schema = match self.buffer_command().await? {
            true => schema_named(self.command_payload().get(1..)),
            false => None,
        };
        self.pass_command().await?;
        let tracker = self.pass_beside(command::INIT_DB).await?;
        if tracker.error().is_none() {
            self.entry.set_schema(schema.as_deref().map(str::as_bytes));
            self.schema = schema;
        }
        self.state.variables = None;
        Ok(())
    }

    /// Handles COM_SET_OPTION: `int<2>`, where 0 turns multi-statements on, and 1 turns them off.
    async fn set_option(&mut self) -> Result<(), Error> {
        let on = match self.buffer_command().await? {
            true => match self.command_payload() {
                [_, 0, 0] => Some(true),
                [_, 1, 0] => Some(false),
                _ => None,
            },
            false => None,
        };
        self.pass_command().await?;
        let tracker = self.pass_beside(command::SET_OPTION).await?;
        if let (Some(on), None) = (on, tracker.error()) {
            self.state.mode.multi_statements = on;
        }
        Ok(())
    }

    /// Handles COM_CHANGE_USER: the login once more.
    async fn change_user(&mut self) -> Result<(), Error> {
        self.link.client.expect_secrets();
        self.link.upstream.expect_secrets();
        let mut command = Vec::new();
        let read = self
            .link
            .client
            .read_payload(&mut command, connect::PACKET_LIMIT);
        read.await.map_err(Error::Client)?;
        let outcome = connect::change_user(
            &self.reauthentication,
            &mut self.place,
            &mut self.link.client,
            &mut self.link.upstream,
            &command,
        );
        // A refused session may go on (MariaDB), or be closed by the upstream (MySQL). Either way it is reset.
        let login = match outcome.await? {
            ChangeUserOutcome::Changed(login) => Some(login),
            ChangeUserOutcome::Refused { .. } => None,
        };
        let status = login
            .as_ref()
            .map_or(self.state.last.status, |login| login.status);
        self.state.reset(status, self.hot.catalog.mariadb);
        self.state.last.leaves_doubt = login.is_none();
        if let Some(login) = login {
            self.state.mode.bypass = covers(&self.bypass, &login);
            let account = Account::new(&login.user, login.schema.as_deref());
            self.entry.set_account(account);
            self.schema = schema_named(login.schema.as_deref());
        }
        Ok(())
    }
}

async fn until(at: Option<Instant>) {
    if let Some(at) = at {
        tokio::time::sleep_until(at.into()).await;
    }
}

/// Whether MySQL refuses a command of this length that has no response otherwise. MariaDB says nothing then, too.
fn is_cut_short(command_byte: u8, length: usize) -> bool {
    const STATEMENT_ID: usize = 4;
    const PARAMETER: usize = 2;
    match command_byte {
        command::STMT_CLOSE => length <= STATEMENT_ID,
        command::STMT_SEND_LONG_DATA => length <= STATEMENT_ID + PARAMETER,
        _ => false,
    }
}

/// Whether a login's statements are left alone.
fn covers(bypass: &Bypass, login: &Login) -> bool {
    const PROGRAM: &[u8] = b"program_name";
    let program = login.attributes.iter().find(|(name, _)| name == PROGRAM);
    let program = program.map(|(_, value)| String::from_utf8_lossy(value));
    bypass.covers(&String::from_utf8_lossy(&login.user), program.as_deref())
}
