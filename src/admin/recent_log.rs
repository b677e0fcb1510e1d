//! The last records of the log, kept for the console.

use std::collections::VecDeque;
use std::fmt::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

/// How many records are kept.
const MOST_RECORDS: usize = 1000;

/// The longest text of one, in bytes.
const LONGEST: usize = 1000;

/// A record of the log.
#[derive(Clone, Debug)]
pub struct Record {
    /// When it was written.
    pub time: SystemTime,
    /// How much it matters.
    pub level: Level,
    /// Which part of the program wrote it.
    pub target: &'static str,
    /// Message and fields; cut where it is too long.
    pub text: String,
}

/// The last records, the oldest first. Those of levels DEBUG and TRACE, which may quote statements, are not kept.
#[derive(Debug, Default)]
pub struct RecentLog {
    records: Mutex<VecDeque<Record>>,
}

impl RecentLog {
    /// All that are kept.
    pub fn records(&self) -> Vec<Record> {
        self.lock().iter().cloned().collect()
    }

    fn keep(&self, record: Record) {
        let mut records = self.lock();
        if records.len() == MOST_RECORDS {
            records.pop_front();
        }
        records.push_back(record);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Record>> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes into a [`RecentLog`] what is logged.
#[derive(Debug)]
pub struct Keeper(pub Arc<RecentLog>);

impl<S: Subscriber> Layer<S> for Keeper {
    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        let metadata = event.metadata();
        if *metadata.level() > Level::INFO {
            return;
        }
        let mut text = Text::default();
        event.record(&mut text);
        self.0.keep(Record {
            time: SystemTime::now(),
            level: *metadata.level(),
            target: metadata.target(),
            text: text.finish(),
        });
    }
}

/// The message, then the fields.
#[derive(Default)]
struct Text {
    message: String,
    fields: String,
}

impl Text {
    fn finish(mut self) -> String {
        self.message.push_str(&self.fields);
        let mut end = LONGEST.min(self.message.len());
        while !self.message.is_char_boundary(end) {
            end -= 1;
        }
        self.message.truncate(end);
        self.message
    }
}

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let written = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
        written.expect("a String takes all");
    }
}

#[cfg(test)]
mod tests {
    use tracing_subscriber::layer::SubscriberExt;

    use super::*;

    #[test]
    fn the_last_records_are_kept_and_no_statement() {
        let log = Arc::<RecentLog>::default();
        let subscriber = tracing_subscriber::registry().with(Keeper(Arc::clone(&log)));
        tracing::subscriber::with_default(subscriber, || {
            for number in 0..=MOST_RECORDS {
                tracing::info!(number, "the {}th", number);
            }
            tracing::debug!("SELECT 'secret'");
            tracing::warn!("{}", "ü".repeat(LONGEST));
        });
        let records = log.records();
        assert_eq!(records.len(), MOST_RECORDS);
        assert_eq!(records[0].text, "the 2th number=2");
        let last = &records[MOST_RECORDS - 1];
        assert_eq!(last.level, Level::WARN);
        assert_eq!(last.text, "ü".repeat(LONGEST / 2));
        assert!(records.iter().all(|record| !record.text.contains("secret")));
    }
}
