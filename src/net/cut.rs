//! A transport that another task can cut off from its peer.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use atomic_waker::AtomicWaker;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Disconnects a [`Cuttable`] from its peer.
#[derive(Debug, Default)]
pub struct Cut {
    is_made: AtomicBool,
    /// The task that waits for the peer.
    waiting: AtomicWaker,
}

impl Cut {
    /// Makes the transport behave as if the peer had closed the connection. The socket itself closes when the
    /// [`Cuttable`] is dropped.
    pub fn make(&self) {
        self.is_made.store(true, Ordering::Release);
        self.waiting.wake();
    }

    fn is_made(&self) -> bool {
        self.is_made.load(Ordering::Acquire)
    }

    /// Whether the cut has been made. If not, the current task will be woken when it is.
    fn is_made_or_wakes(&self, context: &Context<'_>) -> bool {
        // Register before checking, so that a cut made in between wakes the task.
        self.waiting.register(context.waker());
        self.is_made()
    }
}

/// A transport until it is cut: then reads return the end of the stream and writes fail with `BrokenPipe`. Only one
/// task may use it.
pub struct Cuttable<T> {
    transport: T,
    cut: Arc<Cut>,
}

impl<T> Cuttable<T> {
    /// Wraps `transport`, so that `cut` can disconnect it.
    pub fn new(transport: T, cut: Arc<Cut>) -> Self {
        Self { transport, cut }
    }

    /// Polls `step`, or returns `cut_off` if the cut has been made.
    fn unless_cut<O>(
        &mut self,
        context: &mut Context<'_>,
        cut_off: io::Result<O>,
        step: impl FnOnce(&mut T, &mut Context<'_>) -> Poll<io::Result<O>>,
    ) -> Poll<io::Result<O>> {
        if self.cut.is_made() {
            return Poll::Ready(cut_off);
        }
        match step(&mut self.transport, context) {
            Poll::Pending if self.cut.is_made_or_wakes(context) => Poll::Ready(cut_off),
            polled => polled,
        }
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Cuttable<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        room: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.unless_cut(context, Ok(()), |transport, context| {
            Pin::new(transport).poll_read(context, room)
        })
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Cuttable<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.unless_cut(context, cut_off(), |transport, context| {
            Pin::new(transport).poll_write(context, bytes)
        })
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.unless_cut(context, cut_off(), |transport, context| {
            Pin::new(transport).poll_flush(context)
        })
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.unless_cut(context, cut_off(), |transport, context| {
            Pin::new(transport).poll_shutdown(context)
        })
    }
}

fn cut_off<O>() -> io::Result<O> {
    Err(io::ErrorKind::BrokenPipe.into())
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    use super::*;

    /// A transport with room for eight bytes, its peer, and its cut.
    fn cuttable() -> (
        Cuttable<tokio::io::DuplexStream>,
        tokio::io::DuplexStream,
        Arc<Cut>,
    ) {
        let (ours, theirs) = duplex(8);
        let cut = Arc::<Cut>::default();
        (Cuttable::new(ours, Arc::clone(&cut)), theirs, cut)
    }

    #[tokio::test]
    async fn who_waits_for_the_peer_is_woken_by_the_cut() {
        let (mut reads, _peer, cut) = cuttable();
        let waits = tokio::spawn(async move { reads.read(&mut [0; 8]).await });
        tokio::task::yield_now().await;
        cut.make();
        assert_eq!(waits.await.unwrap().unwrap(), 0);

        let (mut writes, _peer, cut) = cuttable();
        let waits = tokio::spawn(async move { writes.write_all(&[0; 9]).await });
        tokio::task::yield_now().await;
        cut.make();
        let error = waits.await.unwrap().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }

    #[tokio::test]
    async fn nothing_comes_behind_a_cut_though_the_peer_goes_on() {
        let (mut stream, mut peer, cut) = cuttable();
        peer.write_all(b"before").await.unwrap();
        assert_eq!(stream.read(&mut [0; 3]).await.unwrap(), 3);
        cut.make();
        assert_eq!(stream.read(&mut [0; 3]).await.unwrap(), 0);
        assert!(stream.write_all(b"more").await.is_err());
        drop(stream);
        assert_eq!(peer.read(&mut [0; 3]).await.unwrap(), 0);
    }
}
