//! Statements that were prepared while traffic is sampled, in bounded memory: the least used are dropped first.

use std::ops::Range;
use std::sync::Arc;

use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};

use super::Sighting;
use crate::sql::plan::SessionVariables;
use crate::sql::{Digest, Kind, Place};

/// How much they may take together, in bytes, by estimate.
const MOST_BYTES: u64 = 4 * 1024 * 1024;

/// How many statements there is room for from the start.
const USUAL: usize = 64;

/// What the cache itself keeps of each, in bytes.
const BOOKKEEPING: usize = 64;

/// Longer lists of types are not kept, in bytes: executions that do not bring their own types then show no row.
const MOST_TYPES: usize = 4 * 1024;

/// Session, by [`Traffic::number`], and the id that the statement has there.
///
/// [`Traffic::number`]: super::Traffic::number
pub type PreparedName = (u64, u32);

/// What is known of a statement that was prepared.
#[derive(Clone, Debug)]
pub enum Prepared {
    /// Statements of its kind are not looked at.
    OfNoInterest,
    /// Its text was not read.
    Unread,
    /// What is needed to know what the statement is, and which row it means.
    Read(Read),
}

/// A statement that was read.
#[derive(Clone, Debug)]
pub struct Read {
    /// Its digest.
    pub digest: Arc<Digest>,
    /// The literals that identify the row, by their places.
    literals: Vec<(Range<usize>, Box<[u8]>)>,
    /// How many parameters it takes.
    pub parameters: u16,
    /// Types of its parameters, as the last execution that brought some had them.
    pub types: Box<[u8]>,
    /// Parameters have come by COM_STMT_SEND_LONG_DATA, where they are not looked at.
    pub has_long_data: bool,
}

impl Prepared {
    /// A statement that is about to be prepared; its parameters are set when the answer says how many there are.
    pub fn of(text: &[u8], kind: Kind, variables: Option<&SessionVariables>) -> Self {
        if !Sighting::is_of_interest(kind) {
            return Self::OfNoInterest;
        }
        let Some(digest) = Sighting::digest(text, variables) else {
            return Self::Unread;
        };
        let places = digest.compared.iter().map(|compared| &compared.place);
        let literals = places.filter_map(|place| match place {
            Place::Literal(place) => Some((place.clone(), text.get(place.clone())?.into())),
            Place::Parameter(_) => None,
        });
        Self::Read(Read {
            literals: literals.collect(),
            digest,
            parameters: 0,
            types: Box::default(),
            has_long_data: false,
        })
    }

    /// With this many parameters.
    #[must_use]
    pub fn taking(mut self, parameters: u16) -> Self {
        if let Self::Read(read) = &mut self {
            read.parameters = parameters;
        }
        self
    }
}

impl Read {
    /// The literal at a place, as SQL.
    pub fn literal(&self, place: &Range<usize>) -> Option<&[u8]> {
        let mut literals = self.literals.iter();
        let (_, literal) = literals.find(|(other, _)| other == place)?;
        Some(literal)
    }

    /// With these types, if they are others; none where there is nothing to keep.
    pub fn typed(&self, types: &[u8]) -> Option<Self> {
        let is_new = *self.types != *types && types.len() <= MOST_TYPES;
        is_new.then(|| Self {
            types: types.into(),
            ..self.clone()
        })
    }

    fn size(&self) -> usize {
        let columns = self.digest.compared.iter();
        let columns = columns.map(|compared| compared.column.len() + size_of_val(compared));
        let literals = self.literals.iter();
        let literals = literals.map(|(place, literal)| literal.len() + size_of_val(place) + 16);
        let own = self.digest.text.len() + self.types.len() + size_of::<Digest>();
        own + columns.sum::<usize>() + literals.sum::<usize>()
    }
}

/// Statements of all sessions.
#[derive(Debug)]
pub(super) struct AllPrepared {
    cache: Cache<PreparedName, Arc<Prepared>, Bytes>,
}

/// Weighs statements by their size in bytes.
#[derive(Clone, Debug)]
struct Bytes;

impl Weighter<PreparedName, Arc<Prepared>> for Bytes {
    fn weight(&self, _: &PreparedName, prepared: &Arc<Prepared>) -> u64 {
        let own = match &**prepared {
            Prepared::Read(read) => read.size(),
            Prepared::OfNoInterest | Prepared::Unread => 0,
        };
        let entry = size_of::<PreparedName>() + size_of::<Prepared>() + BOOKKEEPING;
        u64::try_from(entry + own).unwrap_or(u64::MAX)
    }
}

impl Default for AllPrepared {
    fn default() -> Self {
        let options = OptionsBuilder::new()
            .shards(4)
            .weight_capacity(MOST_BYTES)
            .estimated_items_capacity(USUAL)
            .build()
            .expect("both capacities are set");
        let hasher = DefaultHashBuilder::default();
        Self {
            cache: Cache::with_options(options, Bytes, hasher, DefaultLifecycle::default()),
        }
    }
}

impl AllPrepared {
    pub(super) fn keep(&self, name: PreparedName, prepared: Prepared) {
        self.cache.insert(name, Arc::new(prepared));
    }

    pub(super) fn of(&self, name: PreparedName) -> Option<Arc<Prepared>> {
        self.cache.get(&name)
    }

    pub(super) fn forget(&self, name: PreparedName) {
        self.cache.remove(&name);
    }

    pub(super) fn forget_all(&self) {
        self.cache.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prepared(text: &str) -> Prepared {
        Prepared::of(text.as_bytes(), Kind::Update, None)
    }

    #[test]
    fn literals_stay_when_the_text_is_gone() {
        let Prepared::Read(read) = prepared("UPDATE t SET n = n + ? WHERE name = 'motd' AND m = ?")
        else {
            panic!("it is read");
        };
        let shown = |place: &Place| match place {
            Place::Literal(place) => read.literal(place).map(<[u8]>::to_vec),
            Place::Parameter(_) => None,
        };
        let shown: Vec<_> = read
            .digest
            .compared
            .iter()
            .map(|c| shown(&c.place))
            .collect();
        assert_eq!(shown, [Some(b"'motd'".to_vec()), None]);
        assert_eq!(
            read.typed(&[3, 0]).map(|read| read.types),
            Some([3, 0].into())
        );
        assert!(read.typed(&[]).is_none() && read.typed(&[0; MOST_TYPES + 1]).is_none());
    }

    #[test]
    fn memory_is_bounded() {
        let all = AllPrepared::default();
        for number in 0..20_000 {
            let text = format!("UPDATE {} SET n = n + 1 WHERE id = 1", "t".repeat(1_000));
            all.keep((1, number), prepared(&text));
        }
        assert!(all.cache.weight() <= MOST_BYTES);
        assert!(all.of((1, 19_999)).is_some());
        all.forget_all();
        assert_eq!(all.cache.weight(), 0);
    }
}
