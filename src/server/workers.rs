//! Threads that serve sessions, each with an event loop of its own.
//!
//! A session stays on the thread where it began, and so do its two sockets. If all threads shared one event loop, only
//! one of them at a time could ask what has happened, and it would have to wake the others (`docs/performance.md` has
//! the figures). The price is that a session with a long computation holds up the other sessions of its thread, so long
//! computations run elsewhere (`session::shared::planning`).

use std::io;
use std::num::NonZero;
use std::sync::Arc;
use std::thread;

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

/// The threads. Each ends when this is dropped, and its sessions with it.
#[derive(Debug)]
pub(super) struct Workers {
    workers: Vec<Worker>,
}

#[derive(Debug)]
struct Worker {
    runtime: Handle,
    /// Held here once, and once by each session.
    sessions: Arc<()>,
    /// Ends the thread when dropped.
    _stop: oneshot::Sender<()>,
}

/// A session's place on a thread, taken for as long as this is held.
#[derive(Debug)]
pub(super) struct Place {
    /// The runtime on which to spawn the session's task.
    pub runtime: Handle,
    _session: Arc<()>,
}

impl Workers {
    /// Starts as many threads as the process may use processors.
    pub(super) fn start() -> io::Result<Self> {
        let threads = thread::available_parallelism().map_or(1, NonZero::get);
        let workers = (0..threads).map(|_| Worker::start());
        Ok(Self {
            workers: workers.collect::<io::Result<_>>()?,
        })
    }

    /// A place on the thread that has the fewest sessions.
    pub(super) fn place(&self) -> Place {
        let sessions = |worker: &&Worker| Arc::strong_count(&worker.sessions);
        let worker = self.workers.iter().min_by_key(sessions);
        let worker = worker.expect("there is one for each processor");
        Place {
            runtime: worker.runtime.clone(),
            _session: Arc::clone(&worker.sessions),
        }
    }
}

impl Worker {
    fn start() -> io::Result<Self> {
        let runtime = Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        thread::Builder::new()
            .name("sessions".to_owned())
            .spawn(move || {
                interrupt_nobody();
                runtime.block_on(stopped).ok();
            })?;
        Ok(Self {
            runtime: handle,
            sessions: Arc::new(()),
            _stop: stop,
        })
    }
}

/// Lets the thread that has the processor finish before this one runs (SCHED_BATCH; manual: sched(7)). On a machine
/// that the proxy shares with the server, that is usually the server: it is interrupted less often, and more work has
/// arrived by the time it is done. An idle processor is still taken at once.
#[cfg(target_os = "linux")]
fn interrupt_nobody() {
    use thread_priority::unix::set_thread_priority_and_policy;
    use thread_priority::{
        NormalThreadSchedulePolicy, ThreadPriority, ThreadPriorityOsValue, ThreadSchedulePolicy,
        thread_native_id,
    };

    // Setting the policy also sets the niceness; an operator who has chosen one has chosen how this process is to be
    // scheduled.
    if !matches!(rustix::process::getpriority_process(None), Ok(0)) {
        return;
    }
    let priority = ThreadPriority::Os(ThreadPriorityOsValue::default());
    let policy = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Batch);
    if let Err(error) = set_thread_priority_and_policy(thread_native_id(), priority, policy) {
        tracing::debug!("scheduled as any other thread: {error}");
    }
}

#[cfg(not(target_os = "linux"))]
fn interrupt_nobody() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_thread_for_sessions_is_scheduled_as_one_that_interrupts_nobody() {
        use thread_priority::unix::thread_schedule_policy;
        use thread_priority::{NormalThreadSchedulePolicy, ThreadSchedulePolicy};

        if !matches!(rustix::process::getpriority_process(None), Ok(0)) {
            return;
        }
        let policy = thread::spawn(|| {
            interrupt_nobody();
            thread_schedule_policy()
        });
        assert_eq!(
            policy.join().unwrap(),
            Ok(ThreadSchedulePolicy::Normal(
                NormalThreadSchedulePolicy::Batch
            ))
        );
    }

    #[test]
    fn sessions_are_spread_evenly_and_make_room_when_they_go() {
        let workers = Workers {
            workers: vec![Worker::start().unwrap(), Worker::start().unwrap()],
        };
        let id = |place: &Place| place.runtime.id();
        let [first, second, third] = [(); 3].map(|()| workers.place());
        assert_ne!(id(&first), id(&second));
        let (crowded, other) = match id(&third) == id(&first) {
            true => ((first, third), second),
            false => ((second, third), first),
        };
        assert_eq!(id(&workers.place()), id(&other));
        let freed = id(&crowded.0);
        let fourth = workers.place();
        drop(crowded);
        assert_eq!(id(&workers.place()), freed);
        drop((other, fourth));
    }
}
