//! Samples the statements that pass, for the traffic report, while somebody asks for it. While nobody does, all of
//! this costs one look at a flag.

use std::borrow::Cow;
use std::sync::Arc;

use crate::session::error::Error;
use crate::session::state::prepared::Statement;
use crate::session::{Session, literal};
use crate::sql::plan::SessionVariables;
use crate::sql::{Digest, Kind, Place};
use crate::traffic::{Prepared, Read, Sighting};
use crate::wire::command;
use crate::wire::execute::Execute;
use crate::wire::response::ResponseTracker;

/// How many writes of an open transaction are remembered.
const MOST_WRITTEN: usize = 4;

impl Session {
    /// Samples a statement in the text protocol that is about to run. `None` while sampling is off.
    pub(crate) fn sight(&self, text: &[u8], kind: Kind) -> Option<Box<Sighting>> {
        if !self.shared.traffic.is_on() {
            return None;
        }
        let digest = self.digest(text, kind);
        if digest.is_none() && Sighting::is_of_interest(kind) {
            self.shared.traffic.saw_unread();
        }
        let digest = digest?;
        let value = |place: &Place| match place {
            Place::Literal(place) => text.get(place.clone()).map(Cow::Borrowed),
            Place::Parameter(_) => None,
        };
        Some(self.sighting(digest, value))
    }

    /// What the report needs of a statement that is being prepared. `None` while sampling is off.
    pub(crate) fn sight_prepared(&self, text: &[u8], kind: Kind) -> Option<Prepared> {
        let variables = self.state.of_texts().map(AsRef::as_ref);
        let is_on = self.shared.traffic.is_on();
        is_on.then(|| Prepared::of(text, kind, variables))
    }

    /// Records that a statement has been prepared.
    pub(crate) fn saw_prepared(&mut self, id: u32, seen: Option<Prepared>) {
        let Some(seen) = seen else {
            return;
        };
        if self.number == 0 {
            self.number = self.shared.traffic.number();
        }
        self.shared.traffic.keep((self.number, id), seen);
    }

    /// Records that a statement is being closed.
    pub(crate) fn forget_prepared(&self, id: u32) {
        if self.shared.traffic.is_on() {
            self.shared.traffic.forget((self.number, id));
        }
    }

    /// Forwards a command that names a statement of which nothing else is remembered, and samples it.
    pub(crate) async fn pass_seen(
        &mut self,
        command_byte: u8,
        id: u32,
    ) -> Result<ResponseTracker, Error> {
        let mut sighting = None;
        match command_byte {
            command::STMT_EXECUTE => sighting = self.sight_execution(id, None).await?,
            command::STMT_SEND_LONG_DATA => self.sight_long_data(id),
            command::STMT_CLOSE => self.forget_prepared(id),
            _ => {}
        }
        let form = self.command_response_kind();
        self.pass_command().await?;
        let tracker = self.pass_response(form).await?;
        self.saw(sighting);
        Ok(tracker)
    }

    fn sight_long_data(&mut self, id: u32) {
        let known = self.shared.traffic.prepared((self.number, id));
        if let Some(Prepared::Read(read)) = known.as_deref() {
            let mut read = read.clone();
            read.has_long_data = true;
            self.saw_prepared(id, Some(Prepared::Read(read)));
        }
    }

    /// Samples the execution at the front of the client's stream. `statement` is what the session remembers of it
    /// otherwise.
    pub(crate) async fn sight_execution(
        &mut self,
        id: u32,
        statement: Option<&Statement>,
    ) -> Result<Option<Box<Sighting>>, Error> {
        if !self.shared.traffic.is_on() {
            return Ok(None);
        }
        let read = match self.known(id, statement).as_deref() {
            Some(Prepared::Read(read)) => read.clone(),
            Some(Prepared::OfNoInterest) => return Ok(None),
            Some(Prepared::Unread) => {
                self.shared.traffic.saw_unread();
                return Ok(None);
            }
            None => {
                self.shared.traffic.saw_unknown();
                return Ok(None);
            }
        };
        let has_long_data = read.has_long_data || statement.is_some_and(|known| known.long_data);
        let values = match !has_long_data && self.buffer_command().await? {
            true => self.spelled_values(id, &read),
            false => Vec::new(),
        };
        let value = |place: &Place| match place {
            Place::Parameter(position) => {
                let value = values.get(usize::from(*position))?;
                value.as_deref().map(Cow::Borrowed)
            }
            Place::Literal(place) => read.literal(place).map(Cow::Borrowed),
        };
        Ok(Some(self.sighting(Arc::clone(&read.digest), value)))
    }

    /// What is known of a statement: from its PREPARE, or by its text if it names hot tables.
    fn known(&mut self, id: u32, statement: Option<&Statement>) -> Option<Arc<Prepared>> {
        if let Some(known) = self.shared.traffic.prepared((self.number, id)) {
            return Some(known);
        }
        let statement = statement?;
        if !Sighting::is_of_interest(statement.kind) {
            return Some(Arc::new(Prepared::OfNoInterest));
        }
        // Default variables stand for variables that could not be had.
        let variables = statement.variables.as_deref()?;
        let variables =
            Some(variables).filter(|variables| **variables != SessionVariables::default());
        let mut seen = Prepared::of(&statement.text, statement.kind, variables);
        if let Prepared::Read(read) = &mut seen {
            read.parameters = statement.parameters;
            read.types = statement.types.as_slice().into();
        }
        self.saw_prepared(id, Some(seen.clone()));
        Some(Arc::new(seen))
    }

    /// Records that a statement has run.
    pub(crate) fn saw(&mut self, sighting: Option<Box<Sighting>>) {
        let Some(sighting) = sighting else {
            return;
        };
        if let Some(written) = sighting.written()
            && self.state.in_transaction()
            && self.written.len() < MOST_WRITTEN
            && !self.written.contains(written)
        {
            self.written.push(Arc::clone(written));
        }
        self.shared.traffic.saw(*sighting);
    }

    /// The parameters of an execution as SQL, as far as they can be decoded. Its types are kept for the next
    /// execution.
    fn spelled_values(&mut self, id: u32, read: &Read) -> Vec<Option<Vec<u8>>> {
        let (parameters, capabilities) = (read.parameters, self.link.capabilities);
        let decoded = Execute::decode(self.command_payload(), parameters, capabilities);
        let Ok(execute) = decoded else {
            return Vec::new();
        };
        let typed = execute.types.and_then(|types| read.typed(types));
        let types = execute.types.unwrap_or(&read.types);
        let values = execute.values(parameters, types, capabilities);
        let values = values.unwrap_or_default();
        let spelled = values.iter().map(|value| literal::of(value, false));
        let spelled = spelled.collect();
        self.saw_prepared(id, typed.map(Prepared::Read));
        spelled
    }

    fn digest(&self, text: &[u8], kind: Kind) -> Option<Arc<Digest>> {
        let digest = Sighting::is_of_interest(kind)
            .then(|| Sighting::digest(text, self.state.of_texts().map(AsRef::as_ref)));
        digest.flatten()
    }

    fn sighting<'a>(
        &self,
        digest: Arc<Digest>,
        value: impl Fn(&Place) -> Option<Cow<'a, [u8]>>,
    ) -> Box<Sighting> {
        let asked = self
            .state
            .of_texts()
            .map(|variables| variables.schema.clone());
        let schema = asked.unwrap_or_else(|| self.schema.clone());
        let in_transaction = self.state.in_transaction();
        let sighting = Sighting::new(digest, schema, in_transaction, value);
        Box::new(match in_transaction {
            true => sighting.behind(&self.written),
            false => sighting,
        })
    }
}
