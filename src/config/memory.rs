//! How much the proxy keeps, and sessions hold, of texts.

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

/// The limits, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// A session's statement that is read whole before it is sent on.
    pub statement: u64,
    /// The texts of a session's prepared statements that write.
    pub prepared_statements: u64,
    /// The same, with those that query.
    pub prepared_queries: u64,
    /// Plans and the texts that they are for, of all sessions together, by estimate.
    pub plan_cache: u64,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            statement: Self::LONGEST_STATEMENT,
            prepared_statements: 4 * MIB,
            prepared_queries: 64 * MIB,
            plan_cache: 16 * MIB,
        }
    }
}

impl Memory {
    /// The longest statement that can be read whole: its packet is one.
    pub const LONGEST_STATEMENT: u64 = 16 * MIB;
}
