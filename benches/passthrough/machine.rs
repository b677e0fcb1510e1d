//! What else the machine does meanwhile, and what the proxies use of it (Linux: proc(5)).

use std::fmt;
use std::fs;
use std::time::Duration;

/// Processors, memory and system.
pub fn description() -> String {
    let field = |file: &str, name: &str| {
        let text = fs::read_to_string(file).unwrap_or_default();
        let line = text.lines().find(|line| line.starts_with(name));
        let value = line.and_then(|line| line.split_once(':'));
        value.map_or_else(
            || "unknown".to_owned(),
            |(_, value)| value.trim().to_owned(),
        )
    };
    let processors = std::thread::available_parallelism().map_or(0, usize::from);
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!(
        "{processors} x {}; memory {}; Linux {}",
        field("/proc/cpuinfo", "model name"),
        field("/proc/meminfo", "MemTotal"),
        release.trim()
    )
}

/// Processor time that the process's threads have used so far.
pub fn processor_time(process: u32) -> Duration {
    let threads = fs::read_dir(format!("/proc/{process}/task")).expect("it runs");
    let nanoseconds = threads.filter_map(|thread| {
        let schedule = fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
        schedule.split_whitespace().next()?.parse::<u64>().ok()
    });
    Duration::from_nanos(nanoseconds.sum())
}

/// Resident memory of the process, in bytes.
pub fn memory(process: u32) -> u64 {
    status(process, "VmRSS:")
}

/// The most memory that was ever resident of the process, in bytes.
pub fn peak_memory(process: u32) -> u64 {
    status(process, "VmHWM:")
}

/// Manual: proc_pid_status(5).
fn status(process: u32, field: &str) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("it runs");
    let line = status.lines().find(|line| line.starts_with(field));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kib.expect("a number") * 1024
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
