//! Ctrl-C at any moment: the current work is abandoned, so that what it began can be undone.

use std::future::Future;
use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;

/// Catches SIGINT and SIGTERM after [`Interrupt::listen`]. The second signal ends the process at once.
///
/// SIGHUP is not caught, for `nohup`. A process that it ends leaves things behind, which the clean-up of a later run
/// must find.
#[derive(Clone, Debug)]
pub struct Interrupt {
    caught: watch::Receiver<Option<u8>>,
}

impl Interrupt {
    /// Begins to listen. `stopping` is called at the first signal. `left` says what happens to everything after a
    /// second one.
    ///
    /// # Errors
    ///
    /// The system could not install another handler.
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

    /// Completes after a signal, with its number: 2 for Ctrl-C. Cancel safe.
    pub async fn caught(&self) -> u8 {
        let mut caught = self.caught.clone();
        match caught.wait_for(Option::is_some).await.map(|number| *number) {
            Ok(Some(number)) => number,
            // There is no signal and no listener any more: the runtime is shutting down.
            _ => std::future::pending().await,
        }
    }

    /// Runs `work` until it completes or a signal arrives.
    ///
    /// # Errors
    ///
    /// The number of the signal.
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
