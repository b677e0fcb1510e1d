//! What is added to a row out of its slots, by a subquery that cannot be interrupted without an error.
//!
//! Where a KILL or a time limit ends a scalar subquery, servers take NULL for its value. They report no error if its
//! row was the last one: `SELECT (SELECT COUNT(*) FROM t)`, on MySQL 9.7 and on MariaDB 10.11. So an expression that
//! fails takes the place of NULL here.

/// A number in the expression that fails, and so in its error (1690). Its digits are the code and the SQLSTATE of a
/// KILL: 1317, 70100.
pub const INTERRUPTED_SUM: u32 = 131_770_100;

/// An expression that fails, unless `column` is NULL. It is a column of the same row, so that servers do not compute
/// the expression beforehand.
pub fn interrupted(column: &[u8]) -> Vec<u8> {
    let begin = format!("EXP({INTERRUPTED_SUM} + LENGTH(");
    [begin.as_bytes(), column, b"))"].concat()
}

/// What stands before and behind `FROM slots ..` in an expression for the value of a row.
pub struct Around {
    /// Before.
    pub head: Vec<u8>,
    /// Behind.
    pub tail: Vec<u8>,
}

impl Around {
    /// `base + SUM(slots)`.
    pub fn counter(base: &[u8], in_slots: &str) -> Self {
        let head = format!(" + COALESCE((SELECT COALESCE(SUM({in_slots}), 0)");
        Self {
            head: [base, head.as_bytes()].concat(),
            tail: [b"), CAST(", &interrupted(base)[..], b" AS SIGNED))"].concat(),
        }
    }

    /// `GREATEST(base, MAX(slots))` for a touch column with so many digits of its seconds' fraction; base if no slot
    /// has a time. The time in slots goes through a number, in which zero stands for none: MySQL takes a zero date for
    /// NULL in a COALESCE of dates, and in CAST.
    pub fn touch(base: &[u8], in_slots: &str, fraction: u8) -> Self {
        let greatest: [&[u8]; 3] = [b"COALESCE(GREATEST(", base, b", CAST(NULLIF(COALESCE("];
        let select = format!("(SELECT COALESCE(MAX({in_slots}) + 0, 0)");
        let as_time = format!(" AS DECIMAL(20,6))), 0) AS DATETIME({fraction}))), ");
        Self {
            head: [&greatest.concat()[..], select.as_bytes()].concat(),
            tail: [
                b"), CAST(",
                &interrupted(base)[..],
                as_time.as_bytes(),
                base,
                b")",
            ]
            .concat(),
        }
    }
}
