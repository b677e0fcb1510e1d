//! A byte stream in memory that says what an input has it say, in pieces, and notes what it is told.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::runtime::{Builder, Runtime};

/// What a transport has been told so far.
pub(crate) type Written = Arc<Mutex<Vec<u8>>>;

/// One piece of what it says.
pub(crate) struct Piece {
    pub(crate) bytes: Vec<u8>,
    /// The other side gets a turn before it arrives.
    pub(crate) is_late: bool,
}

/// The stream.
pub(crate) struct Scripted {
    pieces: VecDeque<Piece>,
    /// Behind the last piece it says nothing, and stays.
    stalls: bool,
    written: Written,
}

impl Scripted {
    /// It says these pieces, none of them late, and ends.
    pub(crate) fn saying<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let pieces = pieces.into_iter().map(|bytes| Piece {
            bytes: bytes.to_vec(),
            is_late: false,
        });
        Self::new(pieces, false).0
    }

    pub(crate) fn new(pieces: impl IntoIterator<Item = Piece>, stalls: bool) -> (Self, Written) {
        let written = Written::default();
        let scripted = Self {
            pieces: pieces
                .into_iter()
                .filter(|piece| !piece.bytes.is_empty())
                .collect(),
            stalls,
            written: Arc::clone(&written),
        };
        (scripted, written)
    }
}

/// What has been written to a stream.
pub(crate) fn taken(written: &Written) -> Vec<u8> {
    let mut written = written.lock().unwrap_or_else(PoisonError::into_inner);
    std::mem::take(&mut *written)
}

impl AsyncRead for Scripted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        room: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let stalls = self.stalls;
        let Some(piece) = self.pieces.front_mut() else {
            return match stalls {
                true => Poll::Pending,
                false => Poll::Ready(Ok(())),
            };
        };
        if std::mem::take(&mut piece.is_late) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let length = room.remaining().min(piece.bytes.len());
        room.put_slice(&piece.bytes[..length]);
        piece.bytes.drain(..length);
        if piece.bytes.is_empty() {
            self.pieces.pop_front();
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Scripted {
    fn poll_write(
        self: Pin<&mut Self>,
        _context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        written.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

thread_local! {
    /// Its clock moves only when nothing else can happen, so no input takes long.
    static RUNTIME: RefCell<Runtime> = RefCell::new(
        Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime without sockets"),
    );
}

/// Runs a future that needs no socket.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    RUNTIME.with_borrow(|runtime| runtime.block_on(future))
}
