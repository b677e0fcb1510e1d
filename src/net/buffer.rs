//! Read buffers, lent to connections that have bytes in flight. An idle connection holds none.

use std::cell::RefCell;

/// A thread's spare buffers of one size. There are as many as connections on this thread had bytes in flight at the
/// same time, but at most `most`; further ones go back to the allocator.
///
/// They belong to the thread rather than to the server, so that lending needs no lock and does not contend for a cache
/// line with another processor. The contents are meaningless: this is only a cache of memory, like the allocator's own.
struct Spares {
    length: usize,
    most: usize,
    buffers: Vec<Box<[u8]>>,
}

thread_local! {
    static SPARES: RefCell<[Spares; 2]> = const {
        RefCell::new([
            Spares { length: SMALL, most: 32, buffers: Vec::new() },
            Spares { length: LARGE, most: 4, buffers: Vec::new() },
        ])
    };
}

/// Size of the buffer that a connection reads into first, in bytes. Most commands and most responses fit.
pub(super) const SMALL: usize = 32 * 1024;

/// Size of the buffer for streams that fill a small one, in bytes. It makes reads and writes fewer and longer.
pub(super) const LARGE: usize = 256 * 1024;

/// Lends a buffer of at least `length` bytes: a small or a large one, or one allocated for this length.
pub(super) fn lend(length: usize) -> Box<[u8]> {
    let spare = SPARES.try_with(|spares| {
        let mut spares = spares.borrow_mut();
        let fitting = spares.iter_mut().find(|spares| spares.length >= length);
        fitting.map(|spares| (spares.length, spares.buffers.pop()))
    });
    let (length, spare) = spare.ok().flatten().unwrap_or((length, None));
    spare.unwrap_or_else(|| vec![0; length].into_boxed_slice())
}

/// Takes a buffer back. The next borrower can see its contents until it reads over them.
pub(super) fn give_back(buffer: Box<[u8]>) {
    // A thread that is ending keeps no buffers.
    let _ = SPARES.try_with(|spares| {
        let mut spares = spares.borrow_mut();
        let same = spares
            .iter_mut()
            .find(|spares| spares.length == buffer.len());
        if let Some(spares) = same.filter(|spares| spares.buffers.len() < spares.most) {
            spares.buffers.push(buffer);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_given_back_is_lent_again_by_size() {
        let lent = lend(1);
        assert_eq!(lent.len(), SMALL);
        let place = lent.as_ptr();
        give_back(lent);
        assert_eq!(lend(SMALL + 1).len(), LARGE);
        let again = lend(SMALL);
        assert_eq!(again.as_ptr(), place);
    }

    #[test]
    fn a_thread_keeps_a_limited_number_and_none_of_other_sizes() {
        let lent: Vec<_> = (0..10).map(|_| lend(LARGE)).collect();
        lent.into_iter().for_each(give_back);
        give_back(lend(LARGE + 1));
        let kept = |size: usize| SPARES.with_borrow(|spares| spares[size].buffers.len());
        assert_eq!((kept(0), kept(1)), (0, 4));
    }
}
