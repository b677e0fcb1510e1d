//! What a rule is worth, by what docs/performance.md has measured.

/// From the least to the most.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The least.
    pub low: f64,
    /// The most.
    pub high: f64,
}

/// What a rule is worth to the increments of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Worth {
    /// The clients that are at the row at a time, which the gain depends on.
    pub clients: f64,
    /// So many times the increments in a second, as far as the clients send them.
    pub gain: Range,
}

/// So much is gained for each client at the row: 6.0 to 6.5 times with 16 clients, 15.4 to 29.1 times with 64, in
/// autocommit and in transactions that stay open for 5 ms.
const FOR_EACH_CLIENT: Range = Range {
    low: 0.24,
    high: 0.455,
};

/// More clients were not measured.
const MOST_CLIENTS: f64 = 64.0;

/// One client alone has this to lose: each statement takes another hop.
const ALONE: Range = Range {
    low: 0.85,
    high: 1.0,
};

/// The gain with this many clients at one row.
pub fn gain(clients: f64) -> Worth {
    let counted = clients.clamp(1.0, MOST_CLIENTS);
    Worth {
        clients,
        gain: Range {
            low: (FOR_EACH_CLIENT.low * counted).max(ALONE.low),
            high: (FOR_EACH_CLIENT.high * counted).max(ALONE.high),
        },
    }
}

/// The gain with this many clients at the hottest row, if most clients wait for other rows: 2.7 to 3.2 times were
/// measured with 64 clients on 1,000 rows by Pareto's rule.
pub fn gain_of_many_rows(clients: f64) -> Worth {
    const MEASURED: Range = Range {
        low: 2.7,
        high: 3.2,
    };
    let one = gain(clients);
    Worth {
        gain: Range {
            low: one.gain.low.clamp(1.0, MEASURED.low),
            high: MEASURED.high,
        },
        ..one
    }
}

/// A read of a counter by its key takes this many times as long as one that passes the proxy unchanged.
pub fn read_cost() -> Range {
    Range {
        low: 1.2,
        high: 1.4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The figures of docs/performance.md are within the estimates.
    #[test]
    fn what_was_measured_is_within_the_range() {
        for (clients, measured) in [
            (1.0, [0.85, 0.88]),
            (16.0, [6.03, 6.48]),
            (64.0, [15.43, 29.1]),
            (64.0, [17.1, 23.5]),
        ] {
            let range = gain(clients).gain;
            let within = |figure: f64| range.low <= figure && figure <= range.high + 0.05;
            assert!(measured.into_iter().all(within), "{clients}: {range:?}");
        }
        for clients in [1.0, 20.0, 64.0] {
            let range = gain_of_many_rows(clients).gain;
            assert!(1.0 <= range.low && range.low <= 2.7, "{range:?}");
            assert!((range.high - 3.2).abs() < 1e-9, "{range:?}");
        }
        assert_eq!(gain(1_000.0).gain, gain(64.0).gain);
    }
}
