//! How much is kept of texts.

use super::Check;
use crate::config::Memory;
use crate::config::error::Error;
use crate::config::limits::{Range, size};
use crate::config::raw::RawMemory;

/// A session sees a megabyte at least, as much as it always has at hand of a command.
const STATEMENT: Range<u64> = Range {
    low: (1 << 20, "1MiB"),
    high: (Memory::LONGEST_STATEMENT, "16MiB"),
};

const TEXTS: Range<u64> = Range {
    low: (64 << 10, "64KiB"),
    high: (1 << 30, "1GiB"),
};

const PLANS: Range<u64> = Range {
    low: (1 << 20, "1MiB"),
    high: (4 << 30, "4GiB"),
};

impl Check<'_> {
    pub(super) fn memory(&self, raw: RawMemory) -> Result<Memory, Error> {
        let size = |field: &str, scalar, range| self.field(field, scalar, |text| size(text, range));
        let usual = Memory::default();
        let statement = size("memory.statement", raw.statement, &STATEMENT)?;
        let statements = size(
            "memory.prepared_statements",
            raw.prepared_statements,
            &TEXTS,
        )?;
        let queries = size("memory.prepared_queries", raw.prepared_queries, &TEXTS)?;
        let plans = size("memory.plan_cache", raw.plan_cache, &PLANS)?;
        Ok(Memory {
            statement: statement.unwrap_or(usual.statement),
            prepared_statements: statements.unwrap_or(usual.prepared_statements),
            prepared_queries: queries.unwrap_or(usual.prepared_queries),
            plan_cache: plans.unwrap_or(usual.plan_cache),
        })
    }
}
