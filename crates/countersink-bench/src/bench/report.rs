//! The report as text: on standard output, in 80 columns.

use std::time::Duration;

use countersink_terminal::chart::{self, Bar};
use countersink_terminal::number::{self, grouped};
use countersink_terminal::{Paint, wrapped};

use super::conclusions;
use super::facts::Facts;
use super::figures::{Figures, Level, Way};
use super::mode::Mode;
use super::options::{Options, Workload};
use super::statistics::Spread;
use super::sum::Sum;
use crate::clients::Latencies;

/// Width of a concluding sentence, in columns.
const WIDTH: usize = 78;

/// Says what will be compared, before the load.
pub(super) fn heading(options: &Options, address: &str, facts: &Facts) -> Vec<String> {
    let title = format!("{} at {address}", facts.name());
    let mut lines = vec![
        Paint::Strong.on(&title),
        format!("  {}", durability(facts)),
        format!("  {}", workload(&options.workload)),
        format!(
            "  {} rounds of {} each way, about {} in all.",
            options.workload.rounds,
            number::time(options.workload.turn),
            minutes(options.duration())
        ),
    ];
    if cfg!(debug_assertions) {
        let note = "  A debug build of the proxy: build it with --release for its real figures.";
        lines.push(Paint::Bad.on(note));
    }
    lines.push(String::new());
    lines
}

/// Formats a duration in seconds, or in minutes if it is longer than about 100 s.
fn minutes(duration: Duration) -> String {
    match duration.as_secs_f64() {
        seconds if seconds < 99.5 => format!("{seconds:.0} s"),
        seconds => format!("{:.0} min", seconds / 60.0),
    }
}

fn durability(facts: &Facts) -> String {
    let binlog = match facts.log_bin {
        true => format!("sync_binlog = {}", facts.sync_binlog),
        false => "no binary log".to_owned(),
    };
    let flush = facts.innodb_flush_log_at_trx_commit;
    format!("{binlog}, innodb_flush_log_at_trx_commit = {flush}")
}

fn workload(workload: &Workload) -> String {
    let rows = match workload.keys {
        1 => "one row".to_owned(),
        keys => format!("{} rows, skew {}", grouped(keys), workload.skew),
    };
    let how = match workload.think {
        Some(think) => format!("in transactions open for {}", number::time(think)),
        None => "in autocommit".to_owned(),
    };
    let reads = match workload.reads > 0.0 {
        true => format!(", {:.0} % reads", workload.reads * 100.0),
        false => String::new(),
    };
    let slots = match workload.slots {
        0 => "no slots".to_owned(),
        slots => format!("{slots} slots"),
    };
    format!(
        "{} of {rows}, {how}{reads}; {slots}.",
        workload.work.title()
    )
}

/// The lines of the report.
pub(super) fn lines(figures: &Figures) -> Vec<String> {
    let unit = match figures.workload.think {
        Some(_) => "transactions",
        None => "statements",
    };
    let mut lines = table(figures);
    lines.push(String::new());
    lines.push(Paint::Strong.on(&format!("{} a second", capitalised(unit))));
    lines.extend(bars(figures));
    lines.push(String::new());
    lines.extend(reads(&figures.reads));
    lines.extend(figures.sums.iter().map(sum));
    lines.push(String::new());
    for sentence in conclusions::sentences(figures) {
        lines.extend(wrapped("", &sentence, WIDTH));
    }
    lines
}

fn capitalised(word: &str) -> String {
    let (first, rest) = word.split_at(1);
    first.to_uppercase() + rest
}

fn table(figures: &Figures) -> Vec<String> {
    let heading = format!(
        "{:>7}  {:<6} {:>9}  {:<15} {:>8} {:>8}  {}",
        "clients", "mode", "per s", "rounds", "p50", "p99", "x direct (rounds)"
    );
    let mut lines = vec![Paint::Strong.on(&heading)];
    for level in &figures.levels {
        let mut clients = level.clients.to_string();
        for way in &level.ways {
            lines.push(row(&clients, level, way));
            clients.clear();
            if way.total.reads.count() > 0 && way.increments().count() > 0 {
                let (p50, p99) = latency(&way.total.reads);
                let its = format!("{:>7}  {:<33} {p50:>8} {p99:>8}", "", "  its reads");
                lines.push(its);
            }
            if way.total.again() > 0 {
                lines.push(again(way));
            }
        }
    }
    lines
}

fn row(clients: &str, level: &Level, way: &Way) -> String {
    let (rate, range) = way.rate().map_or_else(Default::default, |rate| {
        let whole = |rate: f64| grouped(rate.round());
        let range = format!("{}-{}", whole(rate.lowest), whole(rate.highest));
        (whole(rate.median), range)
    });
    let measured = match way.increments().count() {
        0 => &way.total.reads,
        _ => way.increments(),
    };
    let (p50, p99) = latency(measured);
    let ratio = match way.mode {
        Mode::Direct | Mode::Wire => None,
        mode => level.gain(Mode::Direct, mode),
    };
    let ratio = ratio.map_or_else(String::new, |ratio| spread(&ratio));
    let mode = way.mode.paint().on(&format!("{:<6}", way.mode.name()));
    let line = format!("{clients:>7}  {mode} {rate:>9}  {range:<15} {p50:>8} {p99:>8}  {ratio}");
    line.trim_end().to_owned()
}

fn again(way: &Way) -> String {
    format!(
        "{:>7}  {:<6} sent again: {} after a deadlock, {} after a lock wait timeout",
        "",
        "",
        grouped(way.total.deadlocks),
        grouped(way.total.timeouts)
    )
}

fn latency(latencies: &Latencies) -> (String, String) {
    match latencies.count() {
        0 => Default::default(),
        _ => (
            number::time(latencies.within(0.5)),
            number::time(latencies.within(0.99)),
        ),
    }
}

fn spread(spread: &Spread) -> String {
    let (lowest, highest) = (times(spread.lowest), times(spread.highest));
    let lowest = lowest.trim_end_matches('x');
    let highest = highest.trim_end_matches('x');
    format!("{} ({lowest}-{highest})", times(spread.median))
}

/// Formats a factor with two significant digits: `0.61x`, `6.7x`, `125x`.
pub(super) fn times(factor: f64) -> String {
    match factor {
        below if below < 0.995 => format!("{below:.2}x"),
        below if below < 99.95 => format!("{below:.1}x"),
        above => format!("{above:.0}x"),
    }
}

/// Bars for the modes that count, on one scale. The rate of [`Mode::Wire`] would leave no room for the others.
fn bars(figures: &Figures) -> Vec<String> {
    let mut bars = Vec::new();
    for level in &figures.levels {
        for way in level.ways.iter().filter(|way| way.mode != Mode::Wire) {
            let rate = way.rate().map_or(0.0, |rate| rate.median);
            let note = match way.mode {
                Mode::Proxy => level
                    .gain(Mode::Direct, Mode::Proxy)
                    .map_or_else(String::new, |gain| times(gain.median)),
                _ => String::new(),
            };
            bars.push(Bar {
                label: format!("{:>4} {}", level.clients, way.mode.name()),
                figure: grouped(rate.round()),
                value: rate,
                paint: way.mode.paint(),
                note,
            });
        }
    }
    chart::lines(&bars)
}

fn reads(level: &Level) -> Vec<String> {
    if level.ways.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![Paint::Strong.on("A read of the counter by its key, 1 client")];
    for way in &level.ways {
        let (p50, p99) = latency(&way.total.reads);
        let mode = way.mode.paint().on(&format!("{:<6}", way.mode.name()));
        let ratio = match way.mode {
            Mode::Direct => None,
            mode => level.read_cost(Mode::Direct, mode),
        };
        let ratio = ratio.map_or_else(String::new, |ratio| spread(&ratio));
        let line = format!("  {mode}  p50 {p50:>8}  p99 {p99:>8}  {ratio}");
        lines.push(line.trim_end().to_owned());
    }
    lines.push(String::new());
    lines
}

fn sum(sum: &Sum) -> String {
    let told = grouped(sum.acknowledged);
    let (base, slots) = (grouped(sum.base), grouped(sum.slots));
    let read = sum.read.map_or_else(String::new, |read| {
        format!(", read through the proxy {}", grouped(read))
    });
    let (mark, paint) = match sum.is_exact() {
        true => ("=", Paint::Good),
        false => ("≠", Paint::Bad),
    };
    format!(
        "{:<6} {told} acknowledged {} base {base} + slots {slots}{read}",
        sum.mode.name(),
        paint.on(mark)
    )
}

#[cfg(test)]
mod tests {
    use super::super::json::tests::figures;
    use super::*;

    fn plain(lines: &[String]) -> Vec<String> {
        let strip = |line: &String| countersink_terminal::plain(line);
        lines.iter().map(strip).collect()
    }

    #[test]
    fn a_table_has_a_line_for_each_mode() {
        assert_eq!(
            plain(&table(&figures())),
            [
                "clients  mode       per s  rounds               p50      p99  x direct (rounds)",
                "      8  direct        10  10-10            2.00 ms  2.00 ms",
                "                sent again: 1 after a deadlock, 0 after a lock wait timeout",
                "         proxy         25  25-25            2.00 ms  2.00 ms  2.5x (2.5-2.5)",
                "                sent again: 1 after a deadlock, 0 after a lock wait timeout",
            ]
        );
    }

    #[test]
    fn every_line_fits_the_screen() {
        let mut figures = figures();
        for way in &mut figures.levels[0].ways {
            way.rates = vec![123_456.0, 234_567.0];
        }
        for line in plain(&lines(&figures)) {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }

    #[test]
    fn a_sum_that_is_wrong_is_marked() {
        let mut figures = figures();
        let line = |figures: &Figures| plain(&[sum(&figures.sums[0])]).remove(0);
        assert_eq!(
            line(&figures),
            "proxy  25 acknowledged = base 0 + slots 25, read through the proxy 25"
        );
        figures.sums[0].slots = 24;
        assert!(line(&figures).contains('≠'));
    }

    #[test]
    fn sentences_are_broken_between_words() {
        let text = "word ".repeat(40);
        let lines = wrapped("", text.trim_end(), WIDTH);
        assert!(lines.iter().all(|line| line.chars().count() <= WIDTH));
        assert_eq!(lines.join(" "), text.trim_end());
    }
}
