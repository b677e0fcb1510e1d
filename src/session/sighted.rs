//! Statements as they are seen while somebody wants to know what passes. While nobody does, all of it is one look at a flag.

use std::borrow::Cow;
use std::sync::Arc;

use super::Session;
use super::error::Error;
use super::literal;
use super::prepared::Statement;
use crate::sql::{Digest, Kind, Place};
use crate::traffic::Sighting;
use crate::wire::execute::Execute;

/// How many writes of an open transaction are remembered.
const MOST_WRITTEN: usize = 4;

impl Session {
    /// A statement in the text protocol that is about to run; none unless somebody wants to know.
    pub(super) fn sight(&self, text: &[u8], kind: Kind) -> Option<Box<Sighting>> {
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

    /// The digest of a statement that is being prepared; none unless somebody wants to know.
    pub(super) fn sight_prepared(&self, text: &[u8], kind: Kind) -> Option<Arc<Digest>> {
        match self.shared.traffic.is_on() {
            true => self.digest(text, kind),
            false => None,
        }
    }

    /// The execution at the front of the client's stream.
    pub(super) async fn sight_execution(
        &mut self,
        statement: &mut Statement,
    ) -> Result<Option<Box<Sighting>>, Error> {
        if !self.shared.traffic.is_on() {
            return Ok(None);
        }
        if statement.digest.is_none() {
            statement.digest = self.digest(&statement.text, statement.kind);
        }
        let Some(digest) = statement.digest.clone() else {
            self.shared.traffic.saw_unknown();
            return Ok(None);
        };
        let values = match self.buffer_command().await? {
            true => self.spelled_values(statement),
            false => Vec::new(),
        };
        let value = |place: &Place| match place {
            Place::Parameter(position) => {
                let value = values.get(usize::from(*position))?;
                value.as_deref().map(Cow::Borrowed)
            }
            Place::Literal(place) => {
                let literal = statement.text.get(place.clone());
                literal.map(Cow::Borrowed)
            }
        };
        Ok(Some(self.sighting(digest, value)))
    }

    /// A statement has been answered.
    pub(super) fn saw(&mut self, sighting: Option<Box<Sighting>>) {
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

    /// The parameters of an execution as SQL, as far as they can be told. Its types are kept for the next one.
    fn spelled_values(&self, statement: &mut Statement) -> Vec<Option<Vec<u8>>> {
        let (parameters, capabilities) = (statement.parameters, self.capabilities);
        let decoded = Execute::decode(self.command_payload(), parameters, capabilities);
        let Ok(execute) = decoded else {
            return Vec::new();
        };
        if let Some(types) = execute.types {
            statement.types = types.to_vec();
        }
        let values = execute.values(parameters, &statement.types, capabilities);
        let values = values.unwrap_or_default();
        let spelled = values.iter().map(|value| literal::of(value, false));
        spelled.collect()
    }

    fn digest(&self, text: &[u8], kind: Kind) -> Option<Arc<Digest>> {
        let digest = Sighting::is_of_interest(kind)
            .then(|| Sighting::digest(text, self.state.facts.as_deref()));
        digest.flatten()
    }

    fn sighting<'a>(
        &self,
        digest: Arc<Digest>,
        value: impl Fn(&Place) -> Option<Cow<'a, [u8]>>,
    ) -> Box<Sighting> {
        let asked = self.state.facts.as_ref().map(|facts| facts.schema.clone());
        let schema = asked.unwrap_or_else(|| self.schema.clone());
        let in_transaction = self.state.in_transaction();
        let sighting = Sighting::new(digest, schema, in_transaction, value);
        Box::new(match in_transaction {
            true => sighting.behind(&self.written),
            false => sighting,
        })
    }
}

/// The schema that bytes of the protocol name.
pub(super) fn schema_named(bytes: Option<&[u8]>) -> Option<String> {
    bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned())
}
