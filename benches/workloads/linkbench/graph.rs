//! Which links there are at first, and which are asked for.

use rand::RngExt;
use rand::rngs::SmallRng;

/// The first of the types of links.
const FIRST_TYPE: u64 = 123_456_789;

/// Types of links, of which a node has about the same number each.
const TYPES: u64 = 2;

/// The most links of a node at first, of all types.
const MOST_LINKS: f64 = 100.0;

/// The most links that are asked for at once.
const MOST_ASKED_FOR: usize = 128;

/// The share of questions for links that ask for no further one.
const ASKED_ENOUGH: f64 = 0.382;

/// The nodes 1, 2, .., and their links at first.
#[derive(Clone, Copy, Debug)]
pub struct Graph {
    pub nodes: u64,
}

/// A link, which may or may not be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    pub from: u64,
    pub link_type: u64,
    pub to: u64,
}

/// Links of one node and type.
pub struct Links {
    pub from: u64,
    pub link_type: u64,
    pub to: Vec<u64>,
}

impl Graph {
    pub fn types() -> impl Iterator<Item = u64> {
        FIRST_TYPE..FIRST_TYPE + TYPES
    }

    /// How many links of a type a node has at first: they lead to the node itself and those that follow it.
    ///
    /// Most nodes have one or two of each type, and few have many. Which they are says nothing of how often they are
    /// asked for.
    pub fn degree(from: u64, link_type: u64) -> u64 {
        let share = (mixed(from) >> 11) as f64 / (1u64 << 53) as f64;
        // Truncates the fraction.
        let all = (2.0 / share.sqrt()).min(MOST_LINKS) as u64;
        (all + FIRST_TYPE + TYPES - 1 - link_type) / TYPES
    }

    /// A link from a node, which is there at first with a probability of `share`.
    pub fn draw_link(self, from: u64, share: f64, random: &mut SmallRng) -> Link {
        let link_type = FIRST_TYPE + random.random_range(0..TYPES);
        Link {
            from,
            link_type,
            to: from + random.random_range(0..range(from, link_type, share)),
        }
    }

    /// Several of one type.
    pub fn draw_links(self, from: u64, share: f64, random: &mut SmallRng) -> Links {
        let first = self.draw_link(from, share, random);
        let range = range(from, first.link_type, share);
        let mut to = vec![first.to];
        while to.len() < MOST_ASKED_FOR && !random.random_bool(ASKED_ENOUGH) {
            to.push(from + random.random_range(0..range));
        }
        to.sort_unstable();
        to.dedup();
        Links {
            from,
            link_type: first.link_type,
            to,
        }
    }
}

/// How many nodes to choose from.
fn range(from: u64, link_type: u64, share: f64) -> u64 {
    // A number of links is small.
    let range = Graph::degree(from, link_type) as f64 / share;
    (range.ceil() as u64).max(1)
}

/// A number that looks random, always the same one for a number (the last step of SplitMix64).
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}
