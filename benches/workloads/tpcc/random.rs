//! Random numbers and texts as the specification wants them (2.1.6, 4.3.2).

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// The numbers C of NURand, which are drawn once and for all.
#[derive(Clone, Copy, Debug)]
pub struct Constants {
    last_name: u32,
    customer: u32,
    item: u32,
}

const SYLLABLES: [&str; 10] = [
    "BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING",
];

const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

impl Constants {
    /// The same ones in every run.
    pub fn draw() -> Self {
        let mut random = SmallRng::seed_from_u64(1);
        Self {
            last_name: random.random_range(0..=255),
            customer: random.random_range(0..=1023),
            item: random.random_range(0..=8191),
        }
    }

    /// The number of a customer, up to `count`.
    pub fn customer(self, count: u32, random: &mut SmallRng) -> u32 {
        not_uniform(1023, self.customer, 1, count, random)
    }

    /// The number of an item, up to `count`.
    pub fn item(self, count: u32, random: &mut SmallRng) -> u32 {
        not_uniform(8191, self.item, 1, count, random)
    }

    /// A last name that one of `customers` customers has.
    pub fn last_name(self, customers: u32, random: &mut SmallRng) -> String {
        let most = customers.min(1000) - 1;
        last_name(not_uniform(255, self.last_name, 0, most, random))
    }
}

/// NURand(A, x, y).
fn not_uniform(a: u32, c: u32, x: u32, y: u32, random: &mut SmallRng) -> u32 {
    let drawn = random.random_range(0..=a) | random.random_range(x..=y);
    (drawn + c) % (y - x + 1) + x
}

/// The last name with this number, which is below 1000.
pub fn last_name(number: u32) -> String {
    let digits = [number / 100, number / 10 % 10, number % 10];
    let syllables = digits.map(|digit| SYLLABLES[usize::try_from(digit).expect("a digit")]);
    syllables.concat()
}

/// Letters and digits, as many as in a range.
pub fn letters(least: usize, most: usize, random: &mut SmallRng) -> String {
    let length = random.random_range(least..=most);
    let letter = |_| char::from(LETTERS[random.random_range(0..LETTERS.len())]);
    (0..length).map(letter).collect()
}

/// This many digits.
pub fn digits(count: usize, random: &mut SmallRng) -> String {
    let digit = |_| char::from(b'0' + random.random_range(0..10u8));
    (0..count).map(digit).collect()
}

/// Text of an item or of its stock, one in ten of which is an original.
pub fn item_data(random: &mut SmallRng) -> String {
    let mut data = letters(26, 50, random);
    if random.random_range(0..10) == 0 {
        let at = random.random_range(0..=data.len() - 8);
        data.replace_range(at..at + 8, "ORIGINAL");
    }
    data
}

/// A zip code.
pub fn zip(random: &mut SmallRng) -> String {
    digits(4, random) + "11111"
}

/// The numbers from 1 in random order.
pub fn permutation(count: u32, random: &mut SmallRng) -> Vec<u32> {
    let mut numbers: Vec<u32> = (1..=count).collect();
    for at in (1..numbers.len()).rev() {
        numbers.swap(at, random.random_range(0..=at));
    }
    numbers
}
