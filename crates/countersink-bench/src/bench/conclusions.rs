//! The conclusions: what is gained at each number of clients, and what a read costs.

use super::figures::Figures;
use super::mode::Mode;
use super::report::times;

/// A rate within this factor of another is no gain, because machines are noisy.
const NOISE: f64 = 1.05;

/// Conclusions as plain text. Empty if the measured modes do not permit any.
pub(super) fn sentences(figures: &Figures) -> Vec<String> {
    let sentences = gain(figures).into_iter().chain(over_cold(figures));
    sentences.chain(read(figures)).collect()
}

/// What the rule costs, or gains.
fn over_cold(figures: &Figures) -> Option<String> {
    let levels = figures.levels.iter().filter_map(|level| {
        let spread = level.gain(Mode::Cold, Mode::Proxy)?;
        let (lowest, highest) = (times(spread.lowest), times(spread.highest));
        Some(format!(
            "{} at {} ({lowest} to {highest})",
            times(spread.median),
            level.clients
        ))
    });
    let levels: Vec<_> = levels.collect();
    (!levels.is_empty()).then(|| {
        format!(
            "As a multiple of the same through Countersink on a table without a rule, by clients: {}.",
            levels.join(", ")
        )
    })
}

fn gain(figures: &Figures) -> Option<String> {
    let gain = |level: &super::figures::Level| {
        let spread = level.gain(Mode::Direct, Mode::Proxy)?;
        Some((level.clients, spread.median))
    };
    let gains: Vec<(u16, f64)> = figures.levels.iter().filter_map(gain).collect();
    let (fewest, _) = gains.first()?;
    let list = gains
        .iter()
        .map(|(clients, gain)| format!("{} at {clients}", times(*gain)))
        .collect::<Vec<_>>()
        .join(", ");
    let last_without = gains.iter().rposition(|(_, gain)| *gain < NOISE);
    let verdict = match last_without {
        None => format!("It pays from {fewest} on, the fewest that were measured."),
        Some(last) => match gains.get(last + 1) {
            Some((clients, _)) => format!("It pays from {clients} on."),
            None => "It does not pay for this workload on this server.".to_owned(),
        },
    };
    Some(format!(
        "Through Countersink as a multiple of direct, by clients: {list}. {verdict}"
    ))
}

fn read(figures: &Figures) -> Option<String> {
    let median = |mode: Mode| {
        let reads = &figures.reads.way(mode)?.total.reads;
        (reads.count() > 0).then(|| reads.within(0.5).as_secs_f64() * 1e6)
    };
    let (direct, proxy) = (median(Mode::Direct)?, median(Mode::Proxy)?);
    let cost = figures.reads.read_cost(Mode::Direct, Mode::Proxy)?;
    let by_hand = match median(Mode::Slots) {
        Some(slots) => format!(", and {slots:.0} µs by hand-written slots"),
        None => String::new(),
    };
    Some(format!(
        "A read of the counter by its key takes {direct:.0} µs direct and {proxy:.0} µs through Countersink \
         ({}){by_hand}: medians of one client, with the slots that the load has left.",
        times(cost.median)
    ))
}

#[cfg(test)]
mod tests {
    use super::super::figures::Level;
    use super::super::json::tests::figures;
    use super::*;
    use std::time::Duration;

    fn gains(gains: &[(u16, f64)]) -> String {
        let mut figures = figures();
        let level = |&(clients, gain): &(u16, f64)| {
            let mut level = Level::new(clients, &[Mode::Direct, Mode::Proxy]);
            level.ways[0].rates = vec![100.0];
            level.ways[1].rates = vec![100.0 * gain];
            level
        };
        figures.levels = gains.iter().map(level).collect();
        super::gain(&figures).expect("a sentence")
    }

    #[test]
    fn from_where_it_pays_is_said() {
        assert_eq!(
            gains(&[(1, 0.6), (4, 1.42), (64, 6.66)]),
            "Through Countersink as a multiple of direct, by clients: 0.60x at 1, 1.4x at 4, 6.7x at 64. \
             It pays from 4 on."
        );
        assert!(
            gains(&[(4, 2.0), (64, 3.0)]).ends_with("from 4 on, the fewest that were measured.")
        );
        assert!(
            gains(&[(1, 2.0), (64, 1.04)])
                .ends_with("does not pay for this workload on this server.")
        );
        assert!(gains(&[(1, 2.0), (4, 1.0), (64, 3.0)]).ends_with("It pays from 64 on."));
    }

    #[test]
    fn what_a_rule_costs_is_said() {
        let mut figures = figures();
        assert_eq!(over_cold(&figures), None);
        let mut level = Level::new(64, &[Mode::Cold, Mode::Proxy]);
        level.ways[0].rates = vec![100.0, 100.0, 200.0];
        level.ways[1].rates = vec![97.0, 110.0, 196.0];
        figures.levels = vec![level];
        assert_eq!(
            over_cold(&figures).expect("a sentence"),
            "As a multiple of the same through Countersink on a table without a rule, by clients: 0.98x at 64 (0.97x to 1.1x)."
        );
    }

    #[test]
    fn what_a_read_costs_is_said() {
        let mut figures = figures();
        assert_eq!(read(&figures), None);
        let mut reads = Level::new(1, &[Mode::Direct, Mode::Proxy]);
        for (way, microseconds) in reads.ways.iter_mut().zip([40, 90]) {
            way.total.reads.record(Duration::from_micros(microseconds));
            way.reads_p50 = vec![microseconds as f64];
        }
        figures.reads = reads;
        assert_eq!(
            read(&figures).expect("a sentence"),
            "A read of the counter by its key takes 40 µs direct and 90 µs through Countersink (2.2x): \
             medians of one client, with the slots that the load has left."
        );
    }
}
