//! File descriptors: each client takes two, and without any nobody gets in.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::config::Connections;

/// What the process takes beside its clients: ports, threads, the control account's connections, files that it reads.
const BESIDE_CLIENTS: u64 = 128;

/// Takes as many as the system lets the process have. It gives a process fewer to begin with for the sake of those that
/// use `select`.
pub(super) fn claim(connections: &Connections) {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        tracing::debug!("the limit of open files stays as it is: {error}");
    }
    let Some(most) = getrlimit(Resource::Nofile).current else {
        return;
    };
    let clients = connections.most as u64;
    if most < 2 * clients + BESIDE_CLIENTS {
        tracing::info!(
            "max_connections: {clients} clients take {} file descriptors, and the process may have {most}; raise \
             LimitNOFILE (ulimit -n) for so many",
            2 * clients + BESIDE_CLIENTS
        );
    }
}
