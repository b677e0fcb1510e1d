//! What a proxy holds.

use std::fs;
use std::time::{Duration, Instant};

use countersink::driver::Driver;

use crate::support::client::number;

/// What is held at a time.
#[derive(Debug)]
pub struct Held {
    pub resident_mib: f64,
    pub descriptors: usize,
    pub connections: i64,
}

/// Waits until all that the clients had is given back: the last of them are on their way out.
pub async fn expect_as_before(process: u32, direct: &mut Driver, before: &Held) {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let now = held(process, direct).await;
        // Some of the proxy's own connections were made only when they were needed.
        let own = 8;
        if now.descriptors <= before.descriptors + own && now.connections <= before.connections + 8
        {
            println!("before {before:?}, afterwards {now:?}");
            return;
        }
        assert!(Instant::now() < deadline, "{now:?} are left of {before:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

pub async fn held(process: u32, direct: &mut Driver) -> Held {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("Linux has it");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next());
    let kib: f64 = kib.expect("a size").parse().expect("a number");
    let descriptors = fs::read_dir(format!("/proc/{process}/fd")).expect("Linux has it");
    Held {
        resident_mib: kib / 1024.0,
        descriptors: descriptors.count(),
        connections: number(
            direct,
            "SELECT COUNT(*) FROM information_schema.processlist",
        )
        .await,
    }
}
