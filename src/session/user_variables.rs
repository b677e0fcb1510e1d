//! Values of user variables, which the upstream is asked for: they are the parameters of EXECUTE.

use crate::session::Session;
use crate::session::error::Error;
use crate::session::link::internal::internal_row;
use crate::session::literal::string_literal;
use crate::wire::column::{Column, field_type};
use crate::wire::command::encode_query;
use crate::wire::execute::Value;
use crate::wire::response::{PacketKind, ResponseKind, ResponseTracker};

/// The longest value that is fetched, in bytes.
const LONGEST_VALUE: usize = 4096;

/// The value of a user variable, if its type has a literal.
#[derive(Debug)]
pub(crate) enum Variable {
    Null,
    Integer(i128),
    Decimal(Vec<u8>),
    Text(Vec<u8>),
    Other,
}

impl Variable {
    /// Makes it from the value's length, the value, and its bytes if it is a string like the session's own literals.
    fn new(values: &[Option<Vec<u8>>], kind: u8) -> Self {
        let [length, value, bytes] = values else {
            return Self::Other;
        };
        match (length, value, kind) {
            (None, ..) => Self::Null,
            (_, Some(value), field_type::LONGLONG) => {
                let number = std::str::from_utf8(value).ok();
                let number = number.and_then(|number| number.parse().ok());
                number.map_or(Self::Other, Self::Integer)
            }
            (_, Some(value), field_type::NEWDECIMAL) => Self::Decimal(value.clone()),
            (_, Some(_), field_type::DOUBLE | field_type::FLOAT) => Self::Other,
            (_, Some(_), _) => match bytes.clone().and_then(unhex) {
                Some(text) => Self::Text(text),
                None => Self::Other,
            },
            (_, None, _) => Self::Other,
        }
    }

    pub(crate) fn value(&self) -> Value<'_> {
        match self {
            Self::Null => Value::Null,
            Self::Integer(number) => Value::Integer(*number),
            Self::Decimal(text) => Value::Decimal(text),
            Self::Text(text) => Value::Text(text),
            Self::Other => Value::Other,
        }
    }
}

impl Session {
    /// The values of user variables. `None` if the upstream does not say.
    pub(crate) async fn user_variables(
        &mut self,
        names: &[Vec<u8>],
    ) -> Result<Option<Vec<Variable>>, Error> {
        if names.is_empty() {
            return Ok(Some(Vec::new()));
        }
        let columns = names.iter().map(|name| {
            let name = String::from_utf8_lossy(name);
            format!(
                "LENGTH({name}), IF(LENGTH({name}) < {LONGEST_VALUE}, {name}, NULL), \
                 IF(LENGTH({name}) < {LONGEST_VALUE} AND COLLATION({name}) = @@SESSION.collation_connection \
                 AND @@SESSION.character_set_client = @@SESSION.character_set_connection, HEX({name}), NULL)"
            )
        });
        let question = format!("SELECT {} LIMIT 1", columns.collect::<Vec<_>>().join(", "));
        let mut out = Vec::new();
        encode_query(&mut out, question.as_bytes(), self.link.capabilities);
        self.write_upstream(&out).await?;
        let mut tracker = ResponseTracker::new(ResponseKind::Results, self.link.capabilities);
        let mut payload = Vec::new();
        let (mut types, mut row) = (Vec::new(), Vec::new());
        while !tracker.is_done() {
            match self.link.read_packet(&mut tracker, &mut payload).await? {
                PacketKind::Column => {
                    types.push(Column::decode(&payload, self.link.capabilities)?.field_type)
                }
                PacketKind::Row => row = internal_row(&payload)?,
                _ => {}
            }
        }
        self.observe_internal(&tracker);
        if row.len() != 3 * names.len() || types.len() != row.len() {
            return Ok(None);
        }
        let variables = row.chunks_exact(3).zip(types.chunks_exact(3));
        Ok(Some(
            variables
                .map(|(values, types)| Variable::new(values, types[1]))
                .collect(),
        ))
    }

    /// Has the server prepare a text of the proxy's in SQL, and returns the text that executes it with these user
    /// variables. It stays prepared until the next one, because DEALLOCATE would clear its warnings. The inner error
    /// is an ERR payload.
    pub(crate) async fn prepare_in_sql(
        &mut self,
        text: &[u8],
        user_variables: &[Vec<u8>],
    ) -> Result<Result<Vec<u8>, Vec<u8>>, Error> {
        let variables = self.variables().await?.unwrap_or_default();
        let literal = string_literal(text, variables.no_backslash_escapes);
        let prepare = [b"PREPARE countersink_read FROM ", &literal[..]].concat();
        if let Err(error) = self.run_internal(prepare).await?.into_result() {
            return Ok(Err(error));
        }
        let execute = b"EXECUTE countersink_read USING ";
        Ok(Ok([&execute[..], &user_variables.join(&b", "[..])].concat()))
    }
}

/// The bytes that hexadecimal digits stand for.
pub(crate) fn unhex(digits: Vec<u8>) -> Option<Vec<u8>> {
    let digit = |digit: u8| char::from(digit).to_digit(16);
    let pairs = digits.chunks(2).map(|pair| match pair {
        &[high, low] => u8::try_from(digit(high)? * 16 + digit(low)?).ok(),
        _ => None,
    });
    pairs.collect()
}
