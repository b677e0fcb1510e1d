//! One statement on its way: its digest, the row that it means, and when it was sent.

use std::fmt::Write;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Instant;

use crate::sql::plan::SessionVariables;
use crate::sql::{self, Digest, Kind, Place};

/// How many bytes of a value are kept.
const MOST_OF_A_VALUE: usize = 64;

/// The longest text of a key, in bytes.
const LONGEST_KEY: usize = 192;

/// A statement that is on its way, or was.
#[derive(Clone, Debug)]
pub struct Sighting {
    /// The current schema, as far as it is known.
    pub(super) schema: Option<String>,
    pub(super) digest: Arc<Digest>,
    /// The row that it means: `id = 42`.
    pub(super) key: Option<String>,
    pub(super) in_transaction: bool,
    /// What its transaction has written before, without literals.
    pub(super) behind: Vec<Arc<str>>,
    pub(super) since: Instant,
}

impl Sighting {
    /// Whether statements of this kind are looked at.
    pub fn is_of_interest(kind: Kind) -> bool {
        matches!(
            kind,
            Kind::Select | Kind::With | Kind::Insert | Kind::Replace | Kind::Update | Kind::Delete
        )
    }

    /// The digest of a statement. Where nothing is known of the session, only of a text that reads the same in all:
    /// what one takes for an identifier may be a literal of another.
    pub fn digest(text: &[u8], variables: Option<&SessionVariables>) -> Option<Arc<Digest>> {
        let digest = match variables {
            Some(variables) => sql::digest(text, variables),
            None if sql::reads_the_same(text) => sql::digest(text, &SessionVariables::default()),
            None => None,
        };
        digest.map(Arc::new)
    }

    /// Of one in a transaction that has written this before.
    #[must_use]
    pub fn behind(mut self, written: &[Arc<str>]) -> Self {
        self.behind = written.to_vec();
        self
    }

    /// What it writes, without literals, if it is an UPDATE.
    pub fn written(&self) -> Option<&Arc<str>> {
        let verb = self.digest.text.get(..6);
        verb.filter(|verb| verb.eq_ignore_ascii_case("UPDATE"))
            .map(|_| &self.digest.text)
    }

    /// A statement that is about to be sent; `value` gives the value at a place of its digest, as SQL.
    pub fn new<'a>(
        digest: Arc<Digest>,
        schema: Option<String>,
        in_transaction: bool,
        value: impl Fn(&Place) -> Option<std::borrow::Cow<'a, [u8]>>,
    ) -> Self {
        Self {
            key: key(&digest, value),
            schema,
            digest,
            in_transaction,
            behind: Vec::new(),
            since: Instant::now(),
        }
    }
}

/// The row that a statement means; none where it does not say, or a value is not known.
fn key<'a>(
    digest: &Digest,
    value: impl Fn(&Place) -> Option<std::borrow::Cow<'a, [u8]>>,
) -> Option<String> {
    // What reads does not queue.
    let first = digest.text.as_bytes().first()?;
    if !matches!(first.to_ascii_lowercase(), b'u' | b'i') {
        return None;
    }
    let mut key = String::new();
    let mut whole = DefaultHasher::new();
    for compared in &digest.compared {
        let value = value(&compared.place)?;
        (&compared.column, &value).hash(&mut whole);
        let and = if key.is_empty() { "" } else { " AND " };
        let shown = shown(&value);
        write!(key, "{and}{} = {shown}", compared.column).ok()?;
    }
    if key.len() > LONGEST_KEY {
        let mark = mark(&whole);
        key.truncate(key.floor_char_boundary(LONGEST_KEY - mark.len()));
        key.push_str(&mark);
    }
    (!key.is_empty()).then_some(key)
}

/// A value, cut if it is long; others that begin like it can still be distinguished.
fn shown(value: &[u8]) -> String {
    let Some((begins, _)) = value.split_at_checked(MOST_OF_A_VALUE + 1) else {
        return String::from_utf8_lossy(value).into_owned();
    };
    let mut whole = DefaultHasher::new();
    value.hash(&mut whole);
    let begins = String::from_utf8_lossy(&begins[..MOST_OF_A_VALUE]);
    format!("{begins}{}", mark(&whole))
}

/// What replaces the part that is cut off.
fn mark(whole: &DefaultHasher) -> String {
    format!("..#{:016x}", whole.finish())
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;

    fn of(text: &str) -> Option<String> {
        let digest = Sighting::digest(text.as_bytes(), None).expect("a digest");
        key(&digest, |place| match place {
            Place::Literal(place) => Some(Cow::Borrowed(&text.as_bytes()[place.clone()])),
            Place::Parameter(_) => None,
        })
    }

    #[test]
    fn long_values_are_cut_and_still_told_apart() {
        let begins = "x".repeat(2 * MOST_OF_A_VALUE);
        let update = |name: &str| format!("UPDATE t SET n = n + 1 WHERE url = '{begins}{name}'");
        let (one, other) = (of(&update("one")), of(&update("other")));
        assert!(one.is_some() && one == of(&update("one")));
        assert_ne!(one, other);
        assert_eq!(
            of("UPDATE t SET n = 1 WHERE id = 7"),
            Some("id = 7".to_owned())
        );
    }

    #[test]
    fn long_keys_are_cut_and_still_told_apart() {
        let names: Vec<String> = (0..MANY).map(|n| format!("column_{n}")).collect();
        let update = |value: &str| {
            let value = |name: &String| format!("{name} = '{value}'");
            let compared: Vec<String> = names.iter().map(value).collect();
            format!("UPDATE t SET n = n + 1 WHERE {}", compared.join(" AND "))
        };
        let last = format!("{} AND b = 1", update("ééééééééééé"));
        let keys = [of(&update("ééééééééééé")), of(&last)];
        for key in &keys {
            assert!(
                key.as_ref().is_some_and(|key| key.len() <= LONGEST_KEY),
                "{key:?}"
            );
        }
        assert_ne!(keys[0], keys[1]);
    }

    /// Columns whose values make more than the longest key.
    const MANY: usize = 12;

    #[test]
    fn a_new_row_has_no_key() {
        let insert = "INSERT INTO patients (name, illness) VALUES ('anna', 'gout')";
        assert_eq!(of(insert), None);
        let upsert =
            "INSERT INTO hits (page, n) VALUES ('home', 1) ON DUPLICATE KEY UPDATE n = n + 1";
        assert_eq!(of(upsert), Some("page = 'home'".to_owned()));
    }
}
