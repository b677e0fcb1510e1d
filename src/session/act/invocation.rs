//! One run of a client's statement: its values, and the form in which it came.

use crate::session::parameters::exact_amounts;
use crate::session::reply::{Original, ReplyContext};
use crate::session::state::prepared::Statement;
use crate::sql::plan::Increment;
use crate::sql::{Amount, Shape, Values};
use crate::wire::execute::{Execute, Value};

/// A statement that is about to run.
pub(crate) struct Invocation<'a> {
    pub form: Form<'a>,
    pub arguments: Arguments<'a>,
    pub original: &'a Original,
    pub context: ReplyContext,
}

/// How a statement came, which says how a read of it is sent.
pub(crate) enum Form<'a> {
    /// As this text.
    Text(&'a [u8]),
    /// As this text, by the plan of its shape: the literals are the values.
    Shape(&'a [u8], &'a Shape),
    /// By EXECUTE, which names the prepared text; USING names these user variables.
    Using(&'a [u8], &'a [Vec<u8>]),
    /// By COM_STMT_EXECUTE.
    Execution(Execution<'a>),
}

/// An execution of the binary protocol.
pub(crate) struct Execution<'a> {
    pub statement: &'a mut Statement,
    pub execute: &'a Execute<'a>,
    /// The statement to execute at the upstream: the client's own, or one with an edited text.
    pub id: u32,
}

/// The values that a statement's placeholders stand for.
#[derive(Clone, Copy)]
pub(crate) struct Arguments<'a> {
    /// What is known of them.
    pub known: Values,
    values: &'a [Value<'a>],
    literals: &'a [Vec<u8>],
}

impl<'a> Invocation<'a> {
    /// Of a text that has no placeholders.
    pub(crate) fn of_text(text: &'a [u8], original: &'a Original, context: ReplyContext) -> Self {
        Self {
            form: Form::Text(text),
            arguments: Arguments::known(&[], &[]),
            original,
            context,
        }
    }

    /// The text of the statement.
    pub(crate) fn text(&self) -> &[u8] {
        match &self.form {
            Form::Text(text) | Form::Shape(text, _) | Form::Using(text, _) => text,
            Form::Execution(execution) => &execution.statement.text,
        }
    }
}

impl<'a> Arguments<'a> {
    /// All of them, as values and as the literals that spell them.
    pub(crate) fn known(values: &'a [Value<'a>], literals: &'a [Vec<u8>]) -> Self {
        Self {
            known: Values::Known,
            values,
            literals,
        }
    }

    /// None of them: only the server has them.
    pub(crate) fn of_the_server(known: Values) -> Self {
        Self {
            known,
            ..Self::known(&[], &[])
        }
    }

    /// The same values, which MySQL takes for other types.
    pub(crate) fn retyped(self) -> Self {
        Self {
            known: Values::Retyped,
            ..self
        }
    }

    /// The values, if they are known.
    pub(crate) fn values(&self) -> &'a [Value<'a>] {
        self.values
    }

    /// Whether they are known, and of the types for which the statement was prepared.
    pub(crate) fn are_known(&self) -> bool {
        self.known == Values::Known
    }

    /// The literals, if they are known.
    pub(crate) fn literals(&self) -> Option<&'a [Vec<u8>]> {
        match self.known {
            Values::Known | Values::Retyped => Some(self.literals),
            Values::Transferable | Values::Unknown => None,
        }
    }

    /// What an increment adds to each counter. `None` if that is not certain.
    pub(crate) fn amounts(&self, increment: &Increment) -> Option<Vec<Amount>> {
        match self.known {
            Values::Known => exact_amounts(increment, self.values),
            Values::Retyped | Values::Transferable | Values::Unknown => None,
        }
    }
}
