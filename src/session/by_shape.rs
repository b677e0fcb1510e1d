//! Statements whose plan is that of their shape: it was made once, and each one's literals fill its holes, as
//! parameters of a prepared statement would.

use std::sync::Arc;

use super::Session;
use super::error::Error;
use super::parameters::exact_amounts;
use super::shared::hot::Known;
use super::shared::planning;
use super::stale::Planned;
use super::state::TableLocks;
use super::turn::{Done, Original, Turn};
use crate::sql::plan::Plan;
use crate::sql::{Literal, LiteralKind, Shape};
use crate::wire::execute::Value;

/// A plan that is known for a statement, and its literals.
pub(super) struct Found {
    pub known: Known,
    /// For [`Known::Shape`]. It goes back to the session, which keeps what it has allocated.
    pub shape: Shape,
}

impl Session {
    /// The plan of a text or of its shape, made now if it is not kept. `None` where the session's state decides.
    pub(super) async fn find_or_plan(&mut self, text: &[u8]) -> Result<Option<Found>, Error> {
        let Some(facts) = self.facts().await? else {
            return Ok(None);
        };
        if !self.is_ordinary() {
            return Ok(None);
        }
        let mut shape = std::mem::take(&mut self.shape);
        if !planning::is_long(text) {
            let known = self.hot.known_or_planned(text, &facts, &mut shape);
            return Ok(Some(Found { known, shape }));
        }
        let (hot, text) = (Arc::clone(&self.hot), text.to_vec());
        let found = planning::apart(move || {
            let known = hot.known_or_planned(&text, &facts, &mut shape);
            Found { known, shape }
        });
        Ok(Some(found.await))
    }

    /// Whether neither LOCK TABLES nor temporary tables change what names mean, nor a variable what NULL is.
    pub(super) fn is_ordinary(&self) -> bool {
        self.state.table_locks == TableLocks::None
            && !self.state.auto_is_null
            && self.state.shadowed.is_empty()
            && !self.state.shadows_doubted
    }

    /// Does what a plan says that was found for this text.
    pub(super) async fn act_on_found(
        &mut self,
        found: Found,
        text: &[u8],
        original: &Original,
        turn: Turn,
    ) -> Result<Done, Error> {
        self.state.planned = Planned::Once;
        let mut found = found;
        loop {
            let Found { known, shape } = found;
            let done = match known {
                Known::Text(plan) => self.act(&plan, text, original, turn).await,
                Known::Shape(plan) => self.act_by_shape(&plan, &shape, text, original, turn).await,
            };
            self.shape = shape;
            if !matches!(done, Err(Error::Stale)) {
                self.state.planned = Planned::ForGood;
                return done;
            }
            self.see_shadows().await?;
            match self.find_or_plan(text).await? {
                Some(anew) => found = anew,
                None => {
                    self.state.planned = Planned::ForGood;
                    let plan = self.plan(text).await?;
                    return self.act(&plan, text, original, turn).await;
                }
            }
        }
    }

    /// Does what the plan of a text's shape says.
    async fn act_by_shape(
        &mut self,
        plan: &Arc<Plan>,
        shape: &Shape,
        text: &[u8],
        original: &Original,
        turn: Turn,
    ) -> Result<Done, Error> {
        let literals = || -> Vec<Vec<u8>> {
            let literals = shape.literals().iter();
            literals.map(|literal| literal.of(text).to_vec()).collect()
        };
        match &**plan {
            Plan::Combine(increment) => {
                let amounts = exact_amounts(increment, &values(shape, text));
                let added = (&literals()[..], amounts.as_deref());
                self.increment_base(increment, added, original, turn).await
            }
            Plan::Write(write) => self.write(write, Some(&literals()), original, turn).await,
            Plan::Increment(increment) if self.state.unguarded => {
                self.fold_then_original(&increment.exact, Some(&literals()), original, turn)
                    .await
            }
            Plan::Increment(increment) => {
                let values = values(shape, text);
                self.increment_by(increment, &values, &literals(), original, turn)
                    .await
            }
            Plan::Read(read) => {
                let literals = literals();
                match self
                    .read_as(read, shape.text(), literals[..].into(), original, turn)
                    .await?
                {
                    Ok(done) => Ok(done),
                    Err(_) => self.read_by_text(text, original, turn).await,
                }
            }
            plan => self.act(plan, text, original, turn).await,
        }
    }

    /// A read whose shape MySQL does not prepare: its text may say more.
    async fn read_by_text(
        &mut self,
        text: &[u8],
        original: &Original,
        turn: Turn,
    ) -> Result<Done, Error> {
        let plan = self.plan(text).await?;
        self.act(&plan, text, original, turn).await
    }
}

/// The literals as the binary protocol would have brought them.
fn values<'a>(shape: &Shape, text: &'a [u8]) -> Vec<Value<'a>> {
    let value = |literal: &Literal| {
        let spelled = literal.of(text);
        match (literal.kind, literal.integer(text)) {
            (_, Some(number)) => Value::Integer(number),
            (LiteralKind::Text, _) => Value::Text(&spelled[1..spelled.len() - 1]),
            (LiteralKind::Digits | LiteralKind::Number, None) => Value::Decimal(spelled),
        }
    };
    shape.literals().iter().map(value).collect()
}
