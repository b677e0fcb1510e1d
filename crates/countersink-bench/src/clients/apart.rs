//! The clients' work on threads of their own, so that they and the proxy are not in each other's queue.

use std::future::Future;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::JoinSet;

/// How often the display is given new figures.
const REFRESH: Duration = Duration::from_millis(100);

/// `work` on the clients' runtime, and `show` every now and then meanwhile. When dropped, the work stops.
pub(super) async fn apart<T: Send + 'static>(
    runtime: &Handle,
    work: impl Future<Output = T> + Send + 'static,
    show: impl Fn(),
) -> T {
    // A set, because it stops its task when it is dropped.
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
