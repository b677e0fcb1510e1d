//! Heavy hitters in bounded memory: the Space-Saving sketch (Metwally, Agrawal, El Abbadi: "Efficient Computation of
//! Frequent and Top-k Elements in Data Streams", 2005), with weights.

use std::hash::{BuildHasher, Hash, RandomState};

/// The heaviest of all that was added, with something that is kept of each.
///
/// Whatever weighs more than all weight divided by the capacity is in it; it never counts too little, and says by how
/// much it may count too much.
#[derive(Clone, Debug)]
pub struct Sketch<K, V> {
    capacity: usize,
    hasher: RandomState,
    /// Of the entries, by their positions: few enough to be looked through.
    hashes: Vec<u64>,
    entries: Vec<Entry<K, V>>,
    total: u64,
}

/// One of the heaviest.
#[derive(Clone, Debug)]
pub struct Entry<K, V> {
    /// What it is.
    pub key: K,
    /// What was added under this key, and up to [`Entry::error`] more.
    pub weight: u64,
    /// What the entry weighed whose place it has taken.
    pub error: u64,
    /// What is kept of it since it has this place.
    pub value: V,
}

impl<K: Eq + Hash, V: Default> Sketch<K, V> {
    /// An empty sketch for this many keys, at least one.
    pub fn new(capacity: usize) -> Self {
        Self {
            capacity: capacity.max(1),
            hasher: RandomState::new(),
            hashes: Vec::new(),
            entries: Vec::new(),
            total: 0,
        }
    }

    /// Adds weight; what is kept of the key.
    pub fn add(&mut self, key: K, weight: u64) -> &mut V {
        self.total = self.total.saturating_add(weight);
        let hash = self.hasher.hash_one(&key);
        let position = match self.position(hash, &key) {
            Some(position) => position,
            None => self.place(hash, key),
        };
        let entry = &mut self.entries[position];
        entry.weight = entry.weight.saturating_add(weight);
        &mut entry.value
    }

    /// All that was added.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The entries, the heaviest first.
    pub fn heaviest(&self) -> Vec<&Entry<K, V>> {
        let mut entries: Vec<_> = self.entries.iter().collect();
        entries.sort_by_key(|entry| std::cmp::Reverse(entry.weight));
        entries
    }

    fn position(&self, hash: u64, key: &K) -> Option<usize> {
        let hashes = self.hashes.iter().enumerate();
        let mut same = hashes.filter(|(_, other)| **other == hash);
        same.find(|(position, _)| self.entries[*position].key == *key)
            .map(|(position, _)| position)
    }

    /// A place for a new key: a free one, or that of the lightest, whose weight it takes over.
    fn place(&mut self, hash: u64, key: K) -> usize {
        let mut entry = Entry {
            key,
            weight: 0,
            error: 0,
            value: V::default(),
        };
        if self.entries.len() < self.capacity {
            self.hashes.push(hash);
            self.entries.push(entry);
            return self.entries.len() - 1;
        }
        let weights = self.entries.iter().enumerate();
        let lightest = weights.min_by_key(|(_, entry)| entry.weight);
        let position = lightest.map_or(0, |(position, _)| position);
        entry.weight = self.entries[position].weight;
        entry.error = entry.weight;
        self.hashes[position] = hash;
        self.entries[position] = entry;
        position
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    fn sketch(capacity: usize, stream: &[(u8, u64)]) -> Sketch<u8, u64> {
        let mut sketch = Sketch::new(capacity);
        for &(key, weight) in stream {
            *sketch.add(key, weight) += 1;
        }
        sketch
    }

    fn truth(stream: &[(u8, u64)]) -> HashMap<u8, u64> {
        let mut truth = HashMap::new();
        for &(key, weight) in stream {
            *truth.entry(key).or_default() += weight;
        }
        truth
    }

    #[test]
    fn a_heavy_key_is_found_among_many() {
        let mut stream: Vec<_> = (0..=255).map(|key| (key, 1)).collect();
        stream.extend([(7, 100), (9, 50)]);
        stream.extend((0..=255).rev().map(|key| (key, 1)));
        let sketch = sketch(16, &stream);
        let keys: Vec<u8> = sketch.heaviest().iter().map(|entry| entry.key).collect();
        assert_eq!(keys[..2], [7, 9]);
    }

    #[test]
    fn what_is_kept_goes_with_its_key() {
        let sketch = sketch(1, &[(1, 5), (1, 5), (2, 1)]);
        let [entry] = sketch.heaviest()[..] else {
            panic!("one place");
        };
        assert_eq!(
            (entry.key, entry.weight, entry.error, entry.value),
            (2, 11, 10, 1)
        );
    }

    proptest! {
        #[test]
        fn it_keeps_what_it_promises(
            capacity in 1_usize..20,
            stream in prop::collection::vec((any::<u8>(), 0_u64..100), 0..400),
        ) {
            let sketch = sketch(capacity, &stream);
            let truth = truth(&stream);
            let total: u64 = truth.values().sum();
            prop_assert_eq!(sketch.total(), total);
            let entries = sketch.heaviest();
            prop_assert!(entries.len() <= capacity);
            // Nothing is lost, only put down to others.
            prop_assert_eq!(entries.iter().map(|entry| entry.weight).sum::<u64>(), total);
            for entry in &entries {
                let true_weight = truth[&entry.key];
                prop_assert!(entry.weight >= true_weight);
                prop_assert!(entry.weight - entry.error <= true_weight);
            }
            for (key, weight) in truth {
                if weight > total / capacity as u64 {
                    prop_assert!(entries.iter().any(|entry| entry.key == key), "{} is not there", key);
                }
            }
        }
    }
}
