//! Runs the clients on threads of their own, so that they and the proxy do not wait for each other's tasks.

use std::future::Future;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::JoinSet;

/// How often the display is updated.
const REFRESH: Duration = Duration::from_millis(100);

/// Runs `work` on the clients' runtime, and calls `show` at intervals meanwhile. When dropped, the work stops.
pub(super) async fn apart<T: Send + 'static>(
    runtime: &Handle,
    work: impl Future<Output = T> + Send + 'static,
    show: impl Fn(),
) -> T {
    // A set, because it aborts its task when it is dropped.
    let mut set = JoinSet::new();
    set.spawn_on(work, runtime);
    let mut refresh = tokio::time::interval(REFRESH);
    loop {
        tokio::select! {
            Some(done) = set.join_next() => return done.expect("it does not panic"),
            _ = refresh.tick() => show(),
        }
    }
}
