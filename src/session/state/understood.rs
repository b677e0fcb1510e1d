//! Statements whose text the server has accepted before.

use std::collections::HashSet;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

/// How many shapes that the server has accepted a session remembers.
const MOST_UNDERSTOOD: usize = 256;

/// Hashes of the shapes of statements that the server has accepted. A collision, or a table that has changed since,
/// costs no more than locks that a statement leaves behind when it is refused.
#[derive(Debug, Default)]
pub(crate) struct Understood(HashSet<u64>);

impl Understood {
    pub(crate) fn hash(shape: &[u8]) -> u64 {
        BuildHasherDefault::<DefaultHasher>::default().hash_one(shape)
    }

    pub(crate) fn contains(&self, hash: u64) -> bool {
        self.0.contains(&hash)
    }

    pub(crate) fn insert(&mut self, hash: u64) {
        if self.0.len() >= MOST_UNDERSTOOD {
            self.0.clear();
        }
        self.0.insert(hash);
    }
}
