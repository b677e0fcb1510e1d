//! Statements that use the plan of their shape: it was made once, and the literals of each statement fill its holes,
//! as the parameters of a prepared statement would.

use std::sync::Arc;

use crate::session::Session;
use crate::session::error::Error;
use crate::session::parameters::exact_amounts;
use crate::session::plan::Found;
use crate::session::reply::{Original, Replied, ReplyContext};
use crate::session::shared::hot_tables::Known;
use crate::session::state::Planned;
use crate::sql::plan::Plan;
use crate::sql::{Literal, LiteralKind, Shape};
use crate::wire::execute::Value;

impl Session {
    /// Does what the plan found for this text says.
    pub(crate) async fn act_on_found(
        &mut self,
        found: Found,
        text: &[u8],
        original: &Original,
        context: ReplyContext,
    ) -> Result<Replied, Error> {
        self.state.planned = Planned::Once;
        let mut found = found;
        loop {
            let Found { known, shape } = found;
            let done = match known {
                Known::Text(plan) => self.act(&plan, text, original, context).await,
                Known::Shape(plan) => {
                    self.act_by_shape(&plan, &shape, text, original, context)
                        .await
                }
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
                    return self.act(&plan, text, original, context).await;
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
        context: ReplyContext,
    ) -> Result<Replied, Error> {
        let literals = || -> Vec<Vec<u8>> {
            let literals = shape.literals().iter();
            literals.map(|literal| literal.of(text).to_vec()).collect()
        };
        match &**plan {
            Plan::Combine(increment) => {
                let amounts = exact_amounts(increment, &values(shape, text));
                let added = (&literals()[..], amounts.as_deref());
                self.increment_base(increment, added, original, context)
                    .await
            }
            Plan::Write(write) => {
                self.write(write, Some(&literals()), original, context)
                    .await
            }
            Plan::Increment(increment) if self.state.checks_disabled => {
                self.fold_then_original(&increment.exact, Some(&literals()), original, context)
                    .await
            }
            Plan::Increment(increment) => {
                let values = values(shape, text);
                self.increment_by(increment, &values, &literals(), original, context)
                    .await
            }
            Plan::Read(read) => {
                let literals = literals();
                match self
                    .read_as(read, shape.text(), literals[..].into(), original, context)
                    .await?
                {
                    Ok(done) => Ok(done),
                    Err(_) => self.read_by_text(text, original, context).await,
                }
            }
            plan => self.act(plan, text, original, context).await,
        }
    }

    /// Runs a read whose shape MySQL does not prepare, by the plan of its text: that may show more.
    async fn read_by_text(
        &mut self,
        text: &[u8],
        original: &Original,
        context: ReplyContext,
    ) -> Result<Replied, Error> {
        let plan = self.plan(text).await?;
        self.act(&plan, text, original, context).await
    }
}

/// The literals as the binary protocol would have sent them.
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
