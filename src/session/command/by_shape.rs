//! Statements that use the plan of their shape: it was made once, and the literals of each statement fill its holes,
//! as the parameters of a prepared statement would.

use std::sync::Arc;

use crate::session::Session;
use crate::session::act::invocation::{Arguments, Form, Invocation};
use crate::session::error::Error;
use crate::session::plan::Found;
use crate::session::reply::{Original, Replied, ReplyContext};
use crate::session::shared::hot_tables::Known;
use crate::session::state::running::Planned;
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
        self.state.running.planned = Planned::Once;
        let mut found = found;
        loop {
            let Found { known, shape } = found;
            let done = match known {
                Known::Text(plan) => {
                    self.act(&plan, Invocation::of_text(text, original, context))
                        .await
                }
                Known::Shape(plan) => {
                    self.act_by_shape(&plan, &shape, text, original, context)
                        .await
                }
            };
            self.shape = shape;
            if !matches!(done, Err(Error::Stale)) {
                self.state.running.planned = Planned::ForGood;
                return done;
            }
            match self.find_or_plan(text).await? {
                Some(anew) => found = anew,
                None => {
                    self.state.running.planned = Planned::ForGood;
                    let plan = self.plan(text).await?;
                    return self
                        .act(&plan, Invocation::of_text(text, original, context))
                        .await;
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
        let values = values(shape, text);
        let literals = shape.literals().iter();
        let literals: Vec<_> = literals.map(|literal| literal.of(text).to_vec()).collect();
        let invocation = Invocation {
            form: Form::Shape(text, shape),
            arguments: Arguments::known(&values, &literals),
            original,
            context,
        };
        self.act(plan, invocation).await
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
