//! What the words of a statement show before any plan: its kind, and whether it may take locks, alter hot tables out
//! of the plan's sight, or change privileges.

use memchr::memmem;

use crate::catalog::{Catalog, HotTable};
use crate::sql::plan::SessionVariables;
use crate::sql::{self, Kind, mentions};
use crate::wire::reader::{Malformed, Reader};
use crate::wire::{capability, command};

/// The kind of a statement. Comments and first words read the same under all session variables.
pub(crate) fn kind_of(text: &[u8]) -> Kind {
    sql::glance(text).unwrap_or_else(|| sql::statement_kind(text, &SessionVariables::default()))
}

/// Whether the words of a text may take locks that belong to no table, or make a temporary table.
pub(crate) fn may_take_locks(text: &[u8], kind: Kind, may_be_several: bool) -> bool {
    // TEMPORARY: a temporary table may hide a hot table without slots, and no plan takes note of that.
    const WORDS: [&[u8]; 4] = [b"FLUSH", b"XA", b"BACKUP", b"TEMPORARY"];
    let is_plain = !matches!(
        kind,
        Kind::Show | Kind::Other | Kind::Prepare | Kind::Set { .. } | Kind::Ddl
    );
    if is_plain && !(may_be_several && memchr::memchr(b';', text).is_some()) {
        return false;
    }
    WORDS.iter().any(|word| mentions(text, word))
}

/// The statement in a COM_QUERY payload, after the query attributes.
pub(crate) fn statement_text(payload: &[u8], capabilities: u64) -> Result<&[u8], Malformed> {
    let mut reader = Reader::new(payload);
    debug_assert_eq!(payload.first(), Some(&command::QUERY));
    reader.u8()?;
    if capabilities & capability::QUERY_ATTRIBUTES == 0 {
        return Ok(reader.rest());
    }
    let count = usize::try_from(reader.lenenc()?).map_err(|_| Malformed)?;
    let _sets = reader.lenenc()?;
    if count > 0 {
        crate::wire::execute::skip_attributes(&mut reader, count)?;
    }
    Ok(reader.rest())
}

pub(crate) fn names(text: &[u8], name: &str) -> bool {
    let name = name.as_bytes();
    text.windows(name.len())
        .any(|window| window.eq_ignore_ascii_case(name))
}

/// Whether a text names a table whose rows take rows of this one with them (a foreign key's action).
pub(crate) fn names_one_above(text: &[u8], table: &HotTable) -> bool {
    let mut cascades = table.cascades.iter();
    cascades.any(|cascade| names(text, &cascade.name))
}

/// Whether a statement is DDL of which its plan says nothing: about a trigger or a routine, which may change hot
/// tables; about a table whose rows take rows of a hot one with them; or in an executable comment.
pub(crate) fn may_change_the_catalog(text: &[u8], kind: Kind, catalog: &Catalog) -> bool {
    const PROGRAMS: [&[u8]; 3] = [b"TRIGGER", b"PROCEDURE", b"FUNCTION"];
    const VERBS: [&[u8]; 4] = [b"CREATE", b"ALTER", b"DROP", b"RENAME"];
    let mentions_one = |words: &[&[u8]]| words.iter().any(|word| sql::mentions(text, word));
    let has = |mark: &[u8]| memmem::find(text, mark).is_some();
    match kind {
        Kind::Ddl => {
            let mut tables = catalog.tables.iter();
            mentions_one(&PROGRAMS) || tables.any(|table| names_one_above(text, table))
        }
        Kind::Other => (has(b"/*!") || has(b"/*M!")) && mentions_one(&VERBS),
        _ => false,
    }
}

/// The schema that bytes of the protocol name.
pub(crate) fn schema_named(bytes: Option<&[u8]>) -> Option<String> {
    bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned())
}

/// Whether a text may change anyone's privileges, judged by its words.
pub(crate) fn may_change_rights(text: &[u8], kind: Kind, may_be_several: bool) -> bool {
    const WORDS: [&[u8]; 5] = [b"GRANT", b"REVOKE", b"USER", b"ROLE", b"PRIVILEGES"];
    let is_plain = !matches!(
        kind,
        Kind::Show | Kind::Other | Kind::Prepare | Kind::Set { .. } | Kind::Ddl
    );
    if is_plain && !(may_be_several && memchr::memchr(b';', text).is_some()) {
        return false;
    }
    WORDS.iter().any(|word| mentions(text, word))
}
