//! Ctrl-C at any moment: what runs is given up, so that what was begun can be taken back.

use std::future::Future;
use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

/// Hears SIGINT and SIGTERM from [`Interrupt::listen`] on; the second one ends the process at once.
///
/// SIGHUP is left alone, for `nohup`; what such an end leaves behind must be found by whoever cleans up.
#[derive(Clone, Debug)]
pub struct Interrupt {
    caught: watch::Receiver<Option<u8>>,
}

impl Interrupt {
    /// `stopping` is called when a signal has come; `left` says what becomes of everything when a second one has.
    ///
    /// # Errors
    ///
    /// The system has no room for another handler.
    pub fn listen(
        stopping: impl FnOnce() + Send + 'static,
        left: impl Into<String>,
    ) -> io::Result<Self> {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let (tell, caught) = watch::channel(None);
        let left = left.into();
        tokio::spawn(async move {
            let number = next(&mut interrupt, &mut terminate).await;
            stopping();
            tell.send(Some(number)).ok();
            let number = next(&mut interrupt, &mut terminate).await;
            eprintln!("\ncountersink: interrupted again; {left}");
            std::process::exit(128 + i32::from(number));
        });
        Ok(Self { caught })
    }

    /// Ready once a signal has come, with the system's number of it: 2 for Ctrl-C. Cancel safe.
    pub async fn caught(&self) -> u8 {
        let mut caught = self.caught.clone();
        match caught.wait_for(Option::is_some).await.map(|number| *number) {
            Ok(Some(number)) => number,
            // No signal and nobody to hear one: the runtime is going down.
            _ => std::future::pending().await,
        }
    }

    /// `work`, or the number of the signal that it was given up for.
    ///
    /// # Errors
    ///
    /// That number.
    pub async fn or<T>(&self, work: impl Future<Output = T>) -> Result<T, u8> {
        tokio::select! {
            done = work => Ok(done),
            number = self.caught() => Err(number),
        }
    }
}

/// The number of the next signal.
async fn next(interrupt: &mut Signal, terminate: &mut Signal) -> u8 {
    tokio::select! {
        _ = interrupt.recv() => 2,
        _ = terminate.recv() => 15,
    }
}
