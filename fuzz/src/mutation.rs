//! Changes of inputs, for runs without libFuzzer. They know nothing of what an input reaches.

use rand::RngExt;
use rand::rngs::StdRng;

/// Longer inputs are cut, in bytes.
const LONGEST: usize = 4096;

/// The most changes of one input.
const MOST_CHANGES: usize = 6;

/// Bytes and lengths at whose sides packets and texts mean different things.
const EDGES: [u8; 14] = [
    0, 1, 7, 8, 0x20, b'\'', b'\\', 0x7F, 0x80, 0xFA, 0xFB, 0xFC, 0xFE, 0xFF,
];

/// One of the inputs, with some changes. Some of what is put in comes from another one, or from the words.
pub fn changed(inputs: &[Vec<u8>], words: &[&str], dice: &mut StdRng) -> Vec<u8> {
    let mut data = picked(inputs, dice).clone();
    for _ in 0..dice.random_range(1..=MOST_CHANGES) {
        let at = dice.random_range(0..=data.len());
        let end = dice.random_range(at..=data.len().min(at + 40));
        match dice.random_range(0..8) {
            0 if at < data.len() => data[at] ^= 1 << dice.random_range(0..8),
            1 if at < data.len() => data[at] = EDGES[dice.random_range(0..EDGES.len())],
            2 if at < data.len() => data[at] = dice.random(),
            3 => drop(data.drain(at..end)),
            4 => {
                let again = data[at..end].to_vec();
                data.splice(end..end, again);
            }
            5 => {
                let other = picked(inputs, dice);
                let from = dice.random_range(0..=other.len());
                let to = dice.random_range(from..=other.len().min(from + 60));
                data.splice(at..end, other[from..to].iter().copied());
            }
            _ => {
                let word = words[dice.random_range(0..words.len())];
                let end = if dice.random() { at } else { end };
                data.splice(at..end, word.bytes());
            }
        }
    }
    data.truncate(LONGEST);
    data
}

fn picked<'a>(inputs: &'a [Vec<u8>], dice: &mut StdRng) -> &'a Vec<u8> {
    &inputs[dice.random_range(0..inputs.len())]
}
