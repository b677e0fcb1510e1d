//! COM_QUERY: most of it passes on a glance; a statement that names a hot table gets its plan.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use memchr::{memchr, memmem};

use super::Session;
use super::by_shape::Found;
use super::combine::may_take_locks;
use super::diagnostics::Told;
use super::error::Error;
use super::explain::asks_to_explain;
use super::kind::kind_of;
use super::parameters::whole_tables;
use super::read::Parameters;
use super::rights::may_change_rights;
use super::shared::hot::Known;
use super::shared::planning;
use super::state::diagnostics::Diagnostics;
use super::state::one_shot::Effect;
use super::state::{Access, TableLocks, Unseen};
use super::turn::{Done, Original, Turn};
use crate::catalog::{Catalog, HotTable};
use crate::net::PacketStream;
use crate::sql::diagnostics::{may_ask, may_ask_for_messages, may_be_question};
use crate::sql::plan::{Fold, FoldTable, Plan, Reason, SessionFacts};
use crate::sql::{self, Kind, Shape};
use crate::wire::capability;
use crate::wire::command;
use crate::wire::packet::{HEADER_LENGTH, Header};
use crate::wire::reader::{Malformed, Reader};
use crate::wire::response::ResponseKind;

/// Of a statement too long to be held, so much is looked at to find what it is about, in bytes.
const HEAD: usize = 64 * 1024;

impl Session {
    /// Buffers the command at the front whole; false when it is too long for that.
    pub(super) async fn buffer_command(&mut self) -> Result<bool, Error> {
        let header = self
            .link
            .client
            .peek_header()
            .await
            .map_err(Error::Client)?;
        let length = header.packet_length();
        if length > PacketStream::LARGEST_PEEK {
            return Ok(false);
        }
        let filled = self.link.client.fill_to(length).await;
        filled.map_err(Error::Client)?;
        Ok(true)
    }

    /// The payload of the command at the front, which is buffered whole.
    pub(super) fn command_payload(&self) -> &[u8] {
        let buffered = self.link.client.buffered();
        let header = Header::decode(buffered).expect("a command is buffered");
        &buffered[HEADER_LENGTH..header.packet_length()]
    }

    /// The form of the answer to the command at the front, of which the first [`ResponseKind::LOOKAHEAD`] bytes are buffered.
    pub(super) fn command_response_kind(&self) -> ResponseKind {
        let buffered = self.link.client.buffered();
        let header = Header::decode(buffered).expect("a command's header is buffered");
        let end = header.packet_length().min(buffered.len());
        ResponseKind::of(&buffered[HEADER_LENGTH..end])
    }

    /// COM_QUERY.
    pub(super) async fn query(&mut self) -> Result<(), Error> {
        let capabilities = self.link.capabilities;
        if !self.buffer_command().await? {
            return Box::pin(self.long_query()).await;
        }
        let payload = self.command_payload();
        let Ok(text) = statement_text(payload, capabilities) else {
            return self.pass_statement(Kind::Other, Reason::NotHot).await;
        };
        let kind = kind_of(text);
        let may_lock = may_take_locks(text, kind, self.state.multi_statements);
        self.note_locks(kind, may_lock);
        let text = statement_text(self.command_payload(), capabilities)?;
        let changes_rights = may_change_rights(text, kind, self.state.multi_statements);
        self.state.prepares_rights |= changes_rights && kind == Kind::Prepare;
        let changes_rights =
            changes_rights || (kind == Kind::Execute && self.state.prepares_rights);
        let shared = Arc::clone(&self.shared);
        let _change = changes_rights.then(|| shared.rights.change());
        let mut shape = std::mem::take(&mut self.shape);
        let text = statement_text(self.command_payload(), capabilities)?;
        let sighting = self.sight(text, kind);
        let found = match self.glance(text, kind, &mut shape) {
            Glance::Pass(reason) => {
                let control = self.control_in(text, kind);
                let access = match self.state.in_transaction() {
                    true => self.access_in(Some(text), kind),
                    false => Access::default(),
                };
                self.shape = shape;
                self.state.control = control;
                self.state.access = access;
                self.state.diagnostics = None;
                self.learn_from_forwarded(reason, kind);
                if kind == Kind::Prepare && !self.state.bypass {
                    Unseen::add(&mut self.state.unseen, None, &self.hot.prepared_under);
                }
                self.pass_statement(kind, reason).await?;
                self.saw(sighting);
                return Ok(());
            }
            Glance::Planned(known) => Some(Found { known, shape }),
            Glance::Look => {
                self.shape = shape;
                None
            }
        };
        let payload = self.command_payload().to_vec();
        self.link.drop_command();
        // Boxed: a task is as large as the largest of what it may do, and most sessions never come here.
        Box::pin(self.hot_query(payload, found)).await?;
        self.saw(sighting);
        Ok(())
    }

    /// Passes the statement at the front of the client's stream on as it came.
    pub(super) async fn pass_statement(&mut self, kind: Kind, reason: Reason) -> Result<(), Error> {
        self.before(kind);
        self.watch_command(kind).await?;
        self.pass_watched(kind, reason).await
    }

    /// The same, in either protocol, for one that has been looked at for what it changes out of sight.
    pub(super) async fn pass_watched(&mut self, kind: Kind, reason: Reason) -> Result<(), Error> {
        self.count(reason);
        let response_kind = self.command_response_kind();
        self.pass_command().await?;
        let tracker = self.pass_answer(response_kind).await?;
        self.after(kind, tracker.error().is_some());
        if tracker.is_multi_result() {
            // Other statements may have stood behind the first, USE among them.
            if self.state.multi_statements {
                self.schema = None;
            }
            // COMMIT or ROLLBACK among them, and a BEGIN behind it: the flags of the last one do not tell.
            self.before(Kind::Other);
            self.after(Kind::Other, false);
        }
        Ok(())
    }

    /// What is known of a statement without a closer look: its text is not copied where it passes. `shape` is where its
    /// literals are lifted to.
    fn glance(&self, text: &[u8], kind: Kind, shape: &mut Shape) -> Glance {
        // It may ask about the statement before, or use up what is set for one transaction.
        if asks_to_explain(text, kind)
            || (self.state.diagnostics.is_some() && may_be_question(text, kind))
            || self.state.one_shot.is_set()
            || sql::one_shot::may_be(text, kind)
            || may_change_the_catalog(text, kind, &self.hot.catalog)
        {
            return Glance::Look;
        }
        if !self.is_hot(text, kind) {
            return Glance::Pass(Reason::NotHot);
        }
        let may_be_several = self.state.multi_statements && memchr(b';', text).is_some();
        if may_be_several || kind == Kind::Execute || !self.is_ordinary() {
            return Glance::Look;
        }
        let facts = self.state.facts.as_ref();
        let known = facts.and_then(|facts| self.hot.known(text, facts, shape));
        match known.as_ref().map(|known| &**known.plan()) {
            Some(Plan::Forward(reason)) => Glance::Pass(*reason),
            Some(Plan::Write(write)) if !self.state.in_transaction() => Glance::Pass(write.reason),
            Some(Plan::Observe(plan)) => {
                self.metrics().count_observed(plan.reason());
                Glance::Pass(Reason::Observed)
            }
            _ => known.map_or(Glance::Look, Glance::Planned),
        }
    }

    /// Whether a statement must be looked at.
    pub(super) fn is_hot(&self, text: &[u8], kind: Kind) -> bool {
        if self.state.bypass {
            return false;
        }
        self.hot.prefilter.may_concern(text)
            || (!self.hot.catalog.tables.is_empty() && self.may_hide_names(text, kind))
    }

    /// Whether a text may concern hot tables without naming them: EXECUTE, PREPARE .. FROM @v, DROP DATABASE.
    fn may_hide_names(&self, text: &[u8], kind: Kind) -> bool {
        match kind {
            Kind::Prepare | Kind::Ddl => true,
            Kind::Execute | Kind::Deallocate => self.state.sql_prepared.is_in_use(),
            Kind::Other => sql::prepare::may_execute(text),
            _ => {
                self.state.multi_statements
                    && memchr(b';', text).is_some()
                    && sql::prepare::may_execute(text)
            }
        }
    }

    /// A statement of over a megabyte: its head tells what it is about. An INSERT into a cold table passes.
    async fn long_query(&mut self) -> Result<(), Error> {
        self.state.diagnostics = None;
        self.buffer_head().await?;
        let head = &self.link.client.buffered()[HEADER_LENGTH..];
        let text = statement_text(head, self.link.capabilities).unwrap_or_default();
        let kind = kind_of(text);
        if !self.is_hot(text, kind) {
            return self.pass_statement(kind, Reason::NotHot).await;
        }
        let fold = self.fold_of_named(text);
        self.before(kind);
        let turn = Turn::single(ResponseKind::Results);
        let done = self
            .fold_then_original(&fold, None, &Original::Stream, turn)
            .await?;
        self.after(kind, done.failed);
        Ok(())
    }

    /// Buffers the first bytes of a command too long to be held.
    pub(super) async fn buffer_head(&mut self) -> Result<(), Error> {
        self.link.client.fill_to(HEAD).await.map_err(Error::Client)
    }

    /// A fold of all tables that a statement too long to be read names, or whose rows may go with those of one that it
    /// names.
    pub(super) fn fold_of_named(&self, text: &[u8]) -> Fold {
        let catalog = self.catalog();
        let takes_rows = matches!(
            kind_of(text),
            Kind::Delete | Kind::Update | Kind::Replace | Kind::With
        );
        let folds = catalog.tables.iter().filter(|table| {
            names(text, &table.name) || (takes_rows && names_one_above(text, table))
        });
        Fold::new(folds.map(FoldTable::whole).collect(), Reason::TooLong)
    }

    /// A statement, or several, of which at least one names a hot table.
    async fn hot_query(&mut self, payload: Vec<u8>, found: Option<Found>) -> Result<(), Error> {
        let text = statement_text(&payload, self.link.capabilities)?;
        // What is asked first clears what MySQL has to tell of the statement before.
        let is_to_be_asked = self.state.facts.is_none() || self.state.shadows_doubted;
        if is_to_be_asked && self.state.diagnostics.is_none() {
            if may_ask(text) || sql::prepare::may_execute(text) {
                self.keep_numbers().await?;
            } else if may_ask_for_messages(text) {
                let messages = self.take_messages(0).await?;
                self.state.diagnostics = Some(Diagnostics::of(&[], messages));
            }
        }
        let facts = self.facts().await?.unwrap_or_default();
        let text = statement_text(&payload, self.link.capabilities)?;
        let prefix = &payload[..payload.len() - text.len()];
        let parts = match self.state.multi_statements && memchr(b';', text).is_some() {
            true => sql::split(text, &facts),
            false => Vec::new(),
        };
        if parts.len() < 2 {
            let turn = Turn::single(ResponseKind::Results);
            let text = text.to_vec();
            let original = Original::Payload(payload);
            self.statement_or_explanation(&text, &original, turn, found)
                .await?;
            return Ok(());
        }
        self.several(prefix, text, parts).await
    }

    /// A text as the upstream reads it.
    pub(super) async fn executed<'a>(&mut self, text: &'a [u8]) -> Result<Cow<'a, [u8]>, Error> {
        if !sql::may_have_executable_comment(text) {
            return Ok(Cow::Borrowed(text));
        }
        let facts = self.facts().await?.unwrap_or_default();
        Ok(sql::executed(text, &facts, self.hot.catalog.mariadb))
    }

    /// One statement, whose plan may have been found already.
    pub(super) async fn statement(
        &mut self,
        text: &[u8],
        original: &Original,
        turn: Turn,
        found: Option<Found>,
    ) -> Result<Done, Error> {
        let kind = kind_of(text);
        if kind.is_sql_prepared() {
            let facts = self.facts().await?.unwrap_or_default();
            if let Some(command) = sql::prepare::command(text, &facts) {
                let is_execute = kind == Kind::Execute || kind == Kind::Other;
                let done = self.sql_prepared(command, original, turn).await?;
                if is_execute || done.failed {
                    self.after_one_shot(&Effect::Ends, done.failed);
                }
                return Ok(done);
            }
        }
        let edited = match self.ask_of_last(text, kind, turn).await? {
            Told::Done(done) => return Ok(done),
            Told::Rewritten(edited) => Some(edited),
            Told::Not => None,
        };
        self.state.control = self.control_in(text, kind);
        self.state.access = self.access_in(Some(text), kind);
        self.before(kind);
        self.watch(Some(text), kind).await?;
        let done = match edited {
            Some(edited) => self.act_with(&edited, text, original, turn).await?,
            None => {
                let found = match found {
                    None => self.find_or_plan(text).await?,
                    found => found,
                };
                match found {
                    Some(found) => self.act_on_found(found, text, original, turn).await?,
                    None => {
                        let plan = self.plan(text).await?;
                        self.act(&plan, text, original, turn).await?
                    }
                }
            }
        };
        self.after(kind, done.failed);
        let facts = self.state.facts.clone().unwrap_or_default();
        let effect = self.state.one_shot.effect(text, kind, &facts);
        self.after_one_shot(&effect, done.failed);
        if !done.failed && may_change_the_catalog(text, kind, &self.hot.catalog) {
            self.catalog_may_have_changed(kind).await;
        }
        self.after_ddl(kind);
        Ok(done)
    }

    /// The plan of a statement that is to run now.
    pub(super) async fn plan(&mut self, text: &[u8]) -> Result<Arc<Plan>, Error> {
        let plan = self.plan_without_locks(text).await?;
        Ok(self.plan_now(plan, text))
    }

    /// The plan of a statement, from the cache where its text has been seen; LOCK TABLES may forbid it.
    pub(super) async fn plan_without_locks(&mut self, text: &[u8]) -> Result<Arc<Plan>, Error> {
        let Some(facts) = self.facts().await? else {
            // The upstream is not in a state to answer; whatever the statement is, it will say so.
            return Ok(Arc::new(Plan::Forward(Reason::Off)));
        };
        if !self.state.shadowed.is_empty() {
            return Ok(Arc::new(self.plan_anew(text, facts).await));
        }
        if !planning::is_long(text) {
            return Ok(self.hot.plan(text, &facts));
        }
        let (hot, text) = (Arc::clone(&self.hot), text.to_vec());
        Ok(planning::apart(move || hot.plan(&text, &facts)).await)
    }

    /// The plan of a statement by the tables that this session sees and by these facts, whatever plans are kept.
    pub(super) async fn plan_anew(&mut self, text: &[u8], facts: Arc<SessionFacts>) -> Plan {
        let catalog = self.catalog();
        if !planning::is_long(text) {
            return self.hot.plan_anew(text, &facts, &catalog);
        }
        let (hot, text) = (Arc::clone(&self.hot), text.to_vec());
        planning::apart(move || hot.plan_anew(&text, &facts, &catalog)).await
    }

    /// What becomes of a plan under LOCK TABLES, and where a statement of ours would be the one that IS NULL gives the
    /// row to which was inserted last.
    pub(super) fn plan_now(&self, plan: Arc<Plan>, text: &[u8]) -> Arc<Plan> {
        let plan = self.under_table_locks(plan);
        let is_told = match &*plan {
            Plan::Increment(_) | Plan::Read(_) | Plan::Fold(_) | Plan::Write(_) => {
                let facts = self.state.facts.clone().unwrap_or_default();
                !self.state.auto_is_null || !sql::may_test_for_null(text, &facts)
            }
            _ => true,
        };
        match is_told {
            true => plan,
            false => Arc::new(Plan::Fold(Box::new(whole_tables(
                &plan,
                Reason::Unresolved,
            )))),
        }
    }

    fn under_table_locks(&self, plan: Arc<Plan>) -> Arc<Plan> {
        match (&*plan, self.state.table_locks) {
            // LOCK TABLES releases what is locked first.
            (_, TableLocks::None)
            | (Plan::LockTables(_) | Plan::Shadow(_), _)
            | (Plan::Read(_) | Plan::Forward(_) | Plan::Write(_), TableLocks::Read) => plan,
            _ => Arc::new(Plan::Forward(Reason::UnderLockTables)),
        }
    }

    /// Does what the plan says.
    pub(super) async fn act(
        &mut self,
        plan: &Plan,
        text: &[u8],
        original: &Original,
        turn: Turn,
    ) -> Result<Done, Error> {
        match plan {
            Plan::Forward(reason) => {
                self.learn_from_forwarded(*reason, kind_of(text));
                self.count(*reason);
                self.run_original(original, turn).await
            }
            Plan::Write(write) => self.write(write, Some(&[]), original, turn).await,
            Plan::Observe(plan) => {
                self.metrics().count_observed(plan.reason());
                self.count(Reason::Observed);
                self.run_original(original, turn).await
            }
            Plan::Combine(increment) => {
                let amounts: Option<Vec<_>> = increment.amounts.iter().copied().collect();
                self.increment_base(increment, (&[], amounts.as_deref()), original, turn)
                    .await
            }
            Plan::Increment(increment) if self.state.unguarded => {
                self.fold_then_original(&increment.exact, Some(&[]), original, turn)
                    .await
            }
            Plan::Increment(increment) => {
                let amounts: Option<Vec<_>> = increment.amounts.iter().copied().collect();
                self.increment(increment, (&[], amounts.as_deref()), original, turn)
                    .await
            }
            Plan::Read(read) => {
                self.read(read, text, Parameters::default(), original, turn)
                    .await
            }
            Plan::Fold(fold) => {
                self.fold_then_original(fold, Some(&[]), original, turn)
                    .await
            }
            Plan::Ddl(ddl) => self.ddl(ddl, original, turn).await,
            Plan::Shadow(tables) => self.shadow(tables, original, turn).await,
            // In the text protocol, where alone it is possible, `statement` has seen to it.
            Plan::Prepare(_) => self.run_original(original, turn).await,
            Plan::LockTables(lock) => self.lock_tables(lock, original, turn).await,
        }
    }

    /// The hot tables as this session sees them.
    pub(super) fn catalog(&self) -> Catalog {
        let mut catalog = Catalog::clone(&self.hot.catalog);
        let shadowed = &self.state.shadowed;
        catalog.tables.retain(|table| !shadowed.contains(table));
        catalog
    }

    /// DDL has run that no plan tells of. In an executable comment it may have been about a temporary table.
    pub(super) async fn catalog_may_have_changed(&mut self, kind: Kind) {
        self.refresh_catalog().await;
        if kind == Kind::Other {
            self.state.may_have_temporary = true;
            self.state.doubt_shadows();
        }
    }

    /// Has the catalog read again and waits for it, but not for ever: it may be the server that does not answer.
    pub(super) async fn refresh_catalog(&mut self) {
        const MOST: Duration = Duration::from_secs(5);
        let since = Instant::now();
        if tokio::time::timeout(MOST, self.shared.refresh())
            .await
            .is_err()
        {
            tracing::warn!("the tables have not been read again within {MOST:?} after DDL");
        }
        self.link.asked_elsewhere_since(since);
        self.see_hot();
    }
}

/// Whether a statement is DDL that its plan does not tell of: about a trigger or a routine, which may change hot
/// tables, or a table whose rows take theirs with them, or in an executable comment.
pub(super) fn may_change_the_catalog(text: &[u8], kind: Kind, catalog: &Catalog) -> bool {
    const PROGRAMS: [&[u8]; 3] = [b"TRIGGER", b"PROCEDURE", b"FUNCTION"];
    const VERBS: [&[u8]; 4] = [b"CREATE", b"ALTER", b"DROP", b"RENAME"];
    let mentions_one = |words: &[&[u8]]| words.iter().any(|word| sql::mentions(text, word));
    let has = |mark: &[u8]| memmem::find(text, mark).is_some();
    match kind {
        Kind::Ddl => {
            let mut tables = catalog.tables.iter();
            mentions_one(&PROGRAMS) || tables.any(|table| names_one_above(text, table))
        }
        Kind::Other => (has(b"/*!") || has(b"/*M!")) && mentions_one(&VERBS),
        _ => false,
    }
}

/// What a first look at a statement tells.
enum Glance {
    /// It passes as it came.
    Pass(Reason),
    /// Its plan.
    Planned(Known),
    /// Nothing for certain.
    Look,
}

/// The statement in a COM_QUERY payload, behind the query attributes.
pub(super) fn statement_text(payload: &[u8], capabilities: u64) -> Result<&[u8], Malformed> {
    let mut reader = Reader::new(payload);
    debug_assert_eq!(payload.first(), Some(&command::QUERY));
    reader.u8()?;
    if capabilities & capability::QUERY_ATTRIBUTES == 0 {
        return Ok(reader.rest());
    }
    let count = usize::try_from(reader.lenenc()?).map_err(|_| Malformed)?;
    let _sets = reader.lenenc()?;
    if count > 0 {
        crate::wire::execute::skip_attributes(&mut reader, count)?;
    }
    Ok(reader.rest())
}

fn names(text: &[u8], name: &str) -> bool {
    let name = name.as_bytes();
    text.windows(name.len())
        .any(|window| window.eq_ignore_ascii_case(name))
}

/// Whether a text names a table whose rows take rows of this one with them.
fn names_one_above(text: &[u8], table: &HotTable) -> bool {
    let mut cascades = table.cascades.iter();
    cascades.any(|cascade| names(text, &cascade.name))
}
