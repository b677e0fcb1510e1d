//! Large results: how fast they come, and what the proxies grow by meanwhile.

use std::time::Instant;

use countersink::driver::{Driver, query_packet};
use countersink::wire::response::ResponseKind;

use crate::machine::{self, Activity};
use crate::report::Estimate;
use crate::support::client::connect_as;
use crate::target::Target;
use crate::{Arguments, SCHEMA};

const MIB: f64 = 1024.0 * 1024.0;

/// A statement with a large result.
struct Load {
    name: &'static str,
    statement: &'static str,
    /// Of the rows, in bytes.
    length: f64,
}

const LOADS: [Load; 2] = [
    Load {
        name: "1 GiB in rows of 1 MiB",
        statement: "SELECT REPEAT('x', 1048576) FROM numbers",
        length: 1024.0 * MIB,
    },
    Load {
        name: "100 MiB in rows of 100 bytes",
        statement: "SELECT REPEAT('x', 99) FROM numbers AS a JOIN numbers AS b",
        length: 100.0 * MIB,
    },
];

/// Streams each load through each target in turns, and prints rates and growth.
pub async fn measure(targets: &[Target], arguments: &Arguments) {
    let mut clients = Vec::new();
    for target in targets {
        let client = connect_as(&target.address, Some(SCHEMA), Driver::CAPABILITIES).await;
        clients.push(client.expect("a login"));
    }
    for load in &LOADS {
        println!("\n{}, {} rounds", load.name, arguments.streams);
        let began = Activity::now();
        let packet = query_packet(load.statement);
        let warm_up = query_packet("SELECT REPEAT('x', 1048576) FROM numbers WHERE n < 8");
        for client in &mut clients {
            assert!(stream(client, &warm_up).await > 0.0);
        }
        let memory = |target: &Target| target.process().map(machine::peak_memory);
        let before: Vec<_> = targets.iter().map(memory).collect();
        let used = |target: &Target| target.processor_time();
        let used_before: Vec<_> = targets.iter().map(used).collect();
        let mut rates = vec![Vec::new(); targets.len()];
        for round in 0..arguments.streams {
            for position in 0..targets.len() {
                let which = (round + position) % targets.len();
                let seconds = stream(&mut clients[which], &packet).await;
                rates[which].push(load.length / MIB / seconds);
            }
        }
        for (which, target) in targets.iter().enumerate() {
            print!(
                "{:<20} {:>6.0} MiB/s",
                target.name,
                Estimate::of(&rates[which]).median
            );
            if let (Some(before), Some(after)) = (before[which], memory(target)) {
                let used = (used(target) - used_before[which]).as_secs_f64();
                let passed = load.length * arguments.streams as f64 / MIB;
                print!(
                    ", {:.0} us of processor time for each MiB, grown by {:.2} MiB",
                    used * 1e6 / passed,
                    (after - before) as f64 / MIB
                );
            }
            println!();
        }
        let ours = &rates[targets.len() - 1];
        for (which, target) in targets.iter().enumerate().take(targets.len() - 1) {
            let ratios: Vec<f64> = ours.iter().zip(&rates[which]).map(|(a, b)| a / b).collect();
            println!(
                "throughput over that of {}: {}",
                target.name,
                Estimate::of(&ratios)
            );
        }
        println!("{}", Activity::now().since(began));
    }
}

/// Seconds that one answer takes.
async fn stream(client: &mut Driver, packet: &[u8]) -> f64 {
    let began = Instant::now();
    let answered = client.round_trip(packet, ResponseKind::Results).await;
    assert!(answered.expect("an answer"), "an ERR");
    began.elapsed().as_secs_f64()
}
