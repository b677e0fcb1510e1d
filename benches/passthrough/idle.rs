//! What sessions with nothing to do take of the proxies' memory.

use countersink::driver::{Driver, query_packet};
use countersink::wire::response::ResponseKind;
use countersink_sandbox::Address;
use tokio::task::JoinSet;

use crate::machine;
use crate::support::client::connect_as;
use crate::target::Target;
use crate::{SCHEMA, STATEMENT};

/// How many clients log in at a time.
const AT_A_TIME: usize = 50;

/// Opens `sessions` connections through each target, one target after the other, and prints what it has grown by.
pub async fn measure(targets: &[Target], sessions: usize) {
    println!("\n{sessions} idle sessions");
    for target in targets {
        let Some(process) = target.process() else {
            continue;
        };
        // What the process takes once and for all, it has taken then.
        drop(open(&target.address, AT_A_TIME).await);
        let before = machine::memory(process);
        let clients = open(&target.address, sessions).await;
        let grown = machine::memory(process).saturating_sub(before);
        println!(
            "{:<20} {:>6.1} KiB for each session ({:.1} MiB with none)",
            target.name,
            grown as f64 / 1024.0 / sessions as f64,
            before as f64 / 1024.0 / 1024.0
        );
        drop(clients);
    }
}

/// Logs in, and has each session run one statement.
async fn open(address: &Address, count: usize) -> Vec<Driver> {
    let mut clients = Vec::with_capacity(count);
    while clients.len() < count {
        let mut logins = JoinSet::new();
        for _ in clients.len()..count.min(clients.len() + AT_A_TIME) {
            let address = address.clone();
            logins.spawn(async move {
                let client = connect_as(&address, Some(SCHEMA), Driver::CAPABILITIES).await;
                let mut client = client.unwrap_or_else(|error| panic!("{address:?}: {error}"));
                let answered = client
                    .round_trip(&query_packet(STATEMENT), ResponseKind::Results)
                    .await;
                assert!(answered.expect("an answer"), "an ERR");
                client
            });
        }
        clients.extend(logins.join_all().await);
    }
    clients
}
