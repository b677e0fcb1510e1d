//! How MySQL changes a column definition when the result goes through a temporary table: for GROUP BY, DISTINCT, UNION,
//! window functions, or ORDER BY over joins. The response to preparing the statement does not show it, because it
//! depends on the plan.

use crate::wire::column::{Definition, field_type};
use crate::wire::reader::{Malformed, Reader, put_lenenc_bytes};

/// Integers with a shorter length than this become INT in a temporary table; others become BIGINT.
const SHORTEST_BIGINT: u32 = 10;

/// PRI_KEY, UNIQUE_KEY, MULTIPLE_KEY and PART_KEY. A temporary table has keys of its own.
const KEYS: u16 = 0x0002 | 0x0004 | 0x0008 | 0x4000;
const PART_KEY: u16 = 0x4000;
const BINARY: u16 = 0x0080;

/// The `decimals` of a string that has not been stored in a table.
const NOT_FIXED: u8 = 31;

/// The kind of a query, which determines why it needs a temporary table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Query {
    /// It needs one for ORDER BY at most, and perhaps only because the proxy's sums are what it sorts by.
    Plain,
    /// For GROUP BY or DISTINCT. An aggregate may have the type of its argument column.
    Groups,
    /// For window functions. Their type depends on their length, as that of other functions does.
    Windows,
    /// For UNION and the like, whose columns have the types of their arms.
    Arms,
}

/// The kind of each column of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kinds {
    query: Query,
    /// Which columns are aggregates. Empty where that is not known.
    aggregates: Vec<bool>,
}

impl Kinds {
    /// The kinds for a query of this kind. `aggregates` says for each column whether it is an aggregate, and may be
    /// empty.
    pub fn new(query: Query, aggregates: Vec<bool>) -> Self {
        Self { query, aggregates }
    }

    /// The kind of the column at this position, from 0. In a grouped query too, the type of an expression that is
    /// neither a column nor an aggregate depends on its length.
    pub fn of(&self, position: usize) -> Query {
        match (self.query, self.aggregates.get(position)) {
            (Query::Groups, Some(false)) => Query::Windows,
            (query, _) => query,
        }
    }
}

/// The definition to show to the client in place of `promised`, which came from preparing the client's statement.
/// `sent` is the definition that the rewritten statement returned. `None` if the result did not go through a temporary
/// table, or if that makes no difference.
pub fn materialized(
    promised: &[u8],
    sent: &[u8],
    query: Query,
) -> Result<Option<Vec<u8>>, Malformed> {
    let (original, ours) = (
        Definition::decode(promised, 0)?,
        Definition::decode(sent, 0)?,
    );
    let [_, table, name] = original.origin;
    let is_computed = name.is_empty();
    let mut column = original.column;
    let mut decimals = original.decimals;
    // No table column is a BIGINT of so short a length. So this one is computed, perhaps in a derived table, and its
    // own type shows whether it was materialized.
    let is_short = original.length < SHORTEST_BIGINT;
    let types = [column.field_type, ours.column.field_type];
    let is_int = is_short && types == [field_type::LONGLONG, field_type::LONG];
    if is_int {
        column.field_type = field_type::LONG;
    }
    let is_materialized = !ours.name.is_empty() && ours.origin[2] == ours.name;
    if !is_computed && is_int {
        column.flags &= !BINARY;
    } else if !is_computed {
        // The rewrite left this column alone, so its key flags show whether the result was materialized. Sorting by a
        // sum needs a temporary table where the client's statement needs none, so plain queries are excluded.
        let is_left = [table, name] == ours.origin[1..] && query != Query::Plain;
        if !is_left || column.flags & PART_KEY == 0 || ours.column.flags & PART_KEY != 0 {
            return Ok(None);
        }
        column.flags &= !KEYS;
    } else if !is_materialized {
        return Ok(None);
    } else {
        match column.field_type {
            field_type::TINY | field_type::SHORT | field_type::INT24 | field_type::LONG
                if query == Query::Windows =>
            {
                column.field_type = match is_short {
                    true => field_type::LONG,
                    false => field_type::LONGLONG,
                };
            }
            _ => {}
        }
        match column.field_type {
            field_type::TINY
            | field_type::SHORT
            | field_type::INT24
            | field_type::LONG
            | field_type::LONGLONG
            | field_type::FLOAT
            | field_type::DOUBLE
            | field_type::NEWDECIMAL => column.flags &= !BINARY,
            field_type::VARCHAR | field_type::VAR_STRING | field_type::STRING
                if decimals == NOT_FIXED =>
            {
                decimals = 0;
            }
            _ => {}
        }
    }
    let mut reader = Reader::new(promised);
    for _ in 0..5 {
        reader.lenenc_bytes()?;
    }
    let mut payload = promised[..promised.len() - reader.rest().len()].to_vec();
    let original_name = if is_computed { original.name } else { name };
    put_lenenc_bytes(&mut payload, original_name);
    reader.lenenc_bytes()?;
    let fixed = payload.len();
    payload.extend_from_slice(reader.rest());
    // int<1> length of the fixed part, int<2> character_set, int<4> column_length, int<1> type, int<2> flags, int<1>
    // decimals.
    let parts = payload.get_mut(fixed + 7..fixed + 11).ok_or(Malformed)?;
    parts[0] = column.field_type;
    parts[1..3].copy_from_slice(&column.flags.to_le_bytes());
    parts[3] = decimals;
    Ok(Some(payload))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(origin: [&str; 2], name: &str, length: u32, kind: u8, flags: u16) -> Vec<u8> {
        let mut payload = Vec::new();
        for part in ["def", "", "", origin[0], name, origin[1]] {
            put_lenenc_bytes(&mut payload, part.as_bytes());
        }
        payload.extend_from_slice(&[0x0C, 63, 0]);
        payload.extend_from_slice(&length.to_le_bytes());
        payload.push(kind);
        payload.extend_from_slice(&flags.to_le_bytes());
        payload.extend_from_slice(&[0, 0, 0]);
        payload
    }

    #[test]
    fn what_a_temporary_table_makes_of_a_definition() {
        let int = |origin, flags| definition(["", origin], "v > 9", 1, field_type::LONG, flags);
        let prepared = definition(["", ""], "v > 9", 1, field_type::LONGLONG, 0x81);
        assert_eq!(
            materialized(&prepared, &int("v > 9", 1), Query::Groups),
            Ok(Some(int("v > 9", 1)))
        );
        // There was no temporary table.
        assert_eq!(
            materialized(&prepared, &int("", 0x81), Query::Groups),
            Ok(None)
        );
        // An aggregate of a column keeps the column's type; a window function does not.
        let big = |origin, kind, flags| definition(["", origin], "m", 10, kind, flags);
        let prepared = big("", field_type::LONG, 0xA0);
        let sent = big("m", field_type::LONGLONG, 0x20);
        for (query, kind) in [
            (Query::Groups, field_type::LONG),
            (Query::Arms, field_type::LONG),
            (Query::Windows, field_type::LONGLONG),
        ] {
            assert_eq!(
                materialized(&prepared, &sent, query),
                Ok(Some(big("m", kind, 0x20)))
            );
        }
        let key = |flags| definition(["t", "id"], "id", 11, field_type::LONG, flags);
        assert_eq!(
            materialized(&key(0x5003), &key(0x1001), Query::Groups),
            Ok(Some(key(0x1001)))
        );
        assert_eq!(
            materialized(&key(0x5003), &key(0x1001), Query::Plain),
            Ok(None)
        );
    }
}
