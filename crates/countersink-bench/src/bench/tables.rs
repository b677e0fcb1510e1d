//! The tables and statements of each mode.

use super::journal::{self, FULL, JOURNAL, JOURNALED, NEXT};
use super::mode::Mode;
use super::options::{Options, Workload};
use super::work::Work;
use crate::clients::{Job, Keys, Reads, Statement, Transaction};

/// Marks a schema as the benchmark's. No application has a table of this name.
pub(super) const MARK: &str = "made_by_countersink_bench";

/// The hot table in the proxy's rules.
pub(super) const PROXIED: &str = "bench_proxied";

/// All tables that may exist, including the proxy's slot table. A schema with other tables must not be removed.
pub(super) const TABLES: [&str; 12] = [
    MARK,
    "bench_rows",
    "bench_direct",
    "bench_slotted",
    "bench_slotted_slots",
    JOURNALED,
    JOURNAL,
    NEXT,
    FULL,
    "bench_cold",
    PROXIED,
    "bench_proxied_slots",
];

/// Maximum number of rows in one INSERT.
const ROWS_AT_ONCE: u64 = 2000;

impl Mode {
    /// The table whose rows are incremented, if there is one.
    fn base(self) -> Option<&'static str> {
        match self {
            Self::Wire => None,
            Self::Rows => Some("bench_rows"),
            Self::Direct => Some("bench_direct"),
            Self::Slots => Some("bench_slotted"),
            Self::Journal => Some(JOURNALED),
            Self::Cold => Some("bench_cold"),
            Self::Proxy => Some(PROXIED),
        }
    }

    /// The table of its slots, if there is one.
    fn slots(self) -> Option<&'static str> {
        match self {
            Self::Wire | Self::Rows | Self::Direct | Self::Journal | Self::Cold => None,
            Self::Slots => Some("bench_slotted_slots"),
            Self::Proxy => Some("bench_proxied_slots"),
        }
    }

    /// The statements that create and fill the tables. The proxy creates its slot table itself.
    pub fn create(self, options: &Options) -> Vec<String> {
        let Some(base) = self.base() else {
            return Vec::new();
        };
        let mut statements = vec![format!(
            "CREATE TABLE {base} ({}) ENGINE = InnoDB",
            Work::columns()
        )];
        if let (Self::Slots, Some(slots)) = (self, self.slots()) {
            statements.push(format!(
                "CREATE TABLE {slots} (id BIGINT UNSIGNED NOT NULL, slot SMALLINT UNSIGNED NOT NULL, \
                 views BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (id, slot)) ENGINE = InnoDB"
            ));
        }
        if self == Self::Journal {
            statements.push(journal::create());
        }
        let rows = match self {
            Self::Rows => options.most_clients().into(),
            _ => u64::from(options.workload.keys),
        };
        let mut first = 1;
        while first <= rows {
            let last = rows.min(first + ROWS_AT_ONCE - 1);
            let values = (first..=last).map(|id| format!("({id}, 'post {id}')"));
            let values = values.collect::<Vec<_>>().join(", ");
            statements.push(format!("INSERT INTO {base} (id, title) VALUES {values}"));
            first = last + 1;
        }
        statements
    }

    /// What a client of this mode does.
    pub fn job(self, workload: &Workload) -> Job {
        let Some(base) = self.base() else {
            return Job::only("DO 0");
        };
        let increment = match (self, self.slots()) {
            (Self::Slots, Some(slots)) => format!(
                "INSERT INTO {slots} (id, slot, views) VALUES ({{key}}, {{slot}}, 1) \
                 ON DUPLICATE KEY UPDATE views = views + 1"
            ),
            (Self::Journal, _) => format!("INSERT INTO {JOURNAL} (id) VALUES ({{key}})"),
            _ => workload.work.statement(base),
        };
        Job {
            increment: Statement::new(&increment),
            reads: self.reads_of(workload, base),
            transaction: workload.think.map(|think| Transaction { think }),
            keys: match self {
                Self::Rows => Keys::Own,
                _ => Keys::pareto(workload.keys.into(), workload.skew),
            },
            slots: workload.slots.max(1),
        }
    }

    /// What a client of this mode does when it only reads.
    pub fn reading(self, workload: &Workload) -> Job {
        let job = self.job(workload);
        Job {
            reads: self.base().map(|base| self.reads(base, 1.0)),
            transaction: None,
            ..job
        }
    }

    /// The reads among a client's statements, if there are any.
    fn reads_of(self, workload: &Workload, base: &str) -> Option<Reads> {
        let asked_for = (workload.reads > 0.0).then_some(workload.reads);
        match workload.work {
            Work::Mix => Some(Reads {
                statement: Statement::new(&Work::Reads.statement(base)),
                share: asked_for.unwrap_or(Work::READS_OF_A_MIX),
            }),
            _ => asked_for.map(|share| self.reads(base, share)),
        }
    }

    fn reads(self, base: &str, share: f64) -> Reads {
        let text = match (self, self.slots()) {
            (Self::Slots, Some(slots)) => format!(
                "SELECT views + (SELECT COALESCE(SUM(views), 0) FROM {slots} WHERE id = {{key}}) \
                 FROM {base} WHERE id = {{key}}"
            ),
            _ => format!("SELECT views FROM {base} WHERE id = {{key}}"),
        };
        Reads {
            statement: Statement::new(&text),
            share,
        }
    }

    /// A statement that returns the sums over base and over the slots, and the number of slot rows, all as of the same
    /// moment. `None` if there are none.
    pub fn sums(self, workload: &Workload) -> Option<String> {
        let sum = |table: &str, what: &str| {
            format!("(SELECT CAST(COALESCE(SUM({what}), 0) AS SIGNED) FROM {table})")
        };
        let slots = self
            .slots()
            .filter(|_| self == Self::Slots || workload.slots > 0);
        let in_slots = |table: &str| sum(table, workload.work.counted_in_slot());
        let base = sum(self.base()?, &workload.work.counted()?);
        let count = |table| format!("(SELECT COUNT(*) FROM {table})");
        if self == Self::Journal {
            let entries = count(JOURNAL);
            return Some(format!("SELECT {base}, {entries}, {entries}"));
        }
        let rows = slots.map_or_else(|| "0".to_owned(), count);
        let slots = slots.map_or_else(|| "0".to_owned(), in_slots);
        Some(format!("SELECT {base}, {slots}, {rows}"))
    }

    /// The sum as an application reads it, where that is a different statement.
    pub fn sum_through_proxy(self, work: Work) -> Option<String> {
        let counted = work.counted().filter(|_| self == Self::Proxy)?;
        Some(format!(
            "SELECT CAST(SUM({counted}) AS SIGNED) FROM {PROXIED}"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::options::tests::options;
    use clap::ValueEnum;
    use std::time::Duration;

    #[test]
    fn every_row_that_is_incremented_is_made() {
        let mut options = options();
        options.workload.keys = 4001;
        options.clients = vec![3];
        let inserts = |mode: Mode| -> Vec<String> {
            let statements = mode.create(&options).into_iter();
            statements
                .filter(|text| text.starts_with("INSERT"))
                .collect()
        };
        let direct = inserts(Mode::Direct);
        assert_eq!(direct.len(), 3);
        assert!(
            direct[0].contains("(1, 'post 1'), (2, ") && direct[0].ends_with("(2000, 'post 2000')")
        );
        assert!(direct[2].ends_with("VALUES (4001, 'post 4001')"));
        let rows = inserts(Mode::Rows);
        assert!(rows.len() == 1 && rows[0].ends_with("(3, 'post 3')"));
        assert!(inserts(Mode::Wire).is_empty());
    }

    #[test]
    fn the_proxy_gets_the_statements_of_direct() {
        let mut workload = options().workload;
        workload.reads = 0.2;
        let text = |mode: Mode| {
            let job = mode.job(&workload);
            let read = job.reads.expect("reads").statement.text(1, 2);
            (job.increment.text(1, 2), read)
        };
        let (increment, read) = text(Mode::Direct);
        assert_eq!(
            increment,
            "UPDATE bench_direct SET views = views + 1 WHERE id = 1"
        );
        let proxied = |text: String| text.replace("bench_direct", PROXIED);
        assert_eq!(text(Mode::Proxy), (proxied(increment), proxied(read)));
        let (increment, read) = text(Mode::Slots);
        assert!(
            increment.contains("VALUES (1, 2, 1) ON DUPLICATE KEY UPDATE"),
            "{increment}"
        );
        assert!(read.contains("bench_slotted_slots WHERE id = 1"), "{read}");
    }

    #[test]
    fn the_limit_of_the_wire_has_neither_reads_nor_transactions() {
        let mut workload = options().workload;
        workload.reads = 0.2;
        workload.think = Some(Duration::from_millis(1));
        let job = Mode::Wire.job(&workload);
        assert!(job.reads.is_none() && job.transaction.is_none());
        let job = Mode::Direct.job(&workload);
        assert!(job.reads.is_some() && job.transaction.is_some());
        assert!(Mode::Direct.reading(&workload).transaction.is_none());
    }

    #[test]
    fn every_table_is_on_the_list_of_ours() {
        for mode in Mode::value_variants() {
            for table in [mode.base(), mode.slots()].into_iter().flatten() {
                assert!(TABLES.contains(&table), "{table}");
            }
        }
    }
}
