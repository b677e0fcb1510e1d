//! What else the machine does meanwhile, and what the proxies use of it (Linux: proc(5)).

use std::fmt;
use std::fs;
use std::time::Duration;

/// Processor time that the process's threads have used so far.
pub fn processor_time(process: u32) -> Duration {
    let threads = fs::read_dir(format!("/proc/{process}/task")).expect("it runs");
    let nanoseconds = threads.filter_map(|thread| {
        let schedule = fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
        schedule.split_whitespace().next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanoseconds.sum())
}

/// What all processors have done since the start, in ticks.
#[derive(Clone, Copy, Debug)]
pub struct Activity {
    total: u64,
    idle: u64,
    /// Taken by other guests of the same host.
    steal: u64,
}

impl Activity {
    pub fn now() -> Self {
        let statistics = fs::read_to_string("/proc/stat").expect("proc is mounted");
        let line = statistics.lines().next().unwrap_or_default();
        // cpu user nice system idle iowait irq softirq steal; what follows is counted in user already.
        let ticks: Vec<u64> = line
            .split_whitespace()
            .skip(1)
            .take(8)
            .filter_map(|number| number.parse().ok())
            .collect();
        Self {
            total: ticks.iter().sum(),
            idle: ticks[3] + ticks[4],
            steal: ticks[7],
        }
    }

    /// What happened from then to now.
    pub fn since(self, before: Self) -> Load {
        let total = self.total - before.total;
        let share = |ticks: u64| ticks as f64 / total.max(1) as f64;
        let averages = fs::read_to_string("/proc/loadavg").expect("proc is mounted");
        Load {
            idle: share(self.idle - before.idle),
            steal: share(self.steal - before.steal),
            averages: averages
                .split_whitespace()
                .take(3)
                .collect::<Vec<_>>()
                .join(" "),
        }
    }
}

/// How busy the machine was.
pub struct Load {
    idle: f64,
    steal: f64,
    averages: String,
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "load averages {}, idle {:.0} %, steal {:.1} %",
            self.averages,
            self.idle * 100.0,
            self.steal * 100.0
        )
    }
}
