//! What an ERR payload means for the statement that failed: whether it is about the text, a name, a missing slot
//! table, a right, or a CHECK.

use crate::wire::error_code::{
    self, ER_NO_SUCH_TABLE, ER_PARSE_ERROR, is_check_violated, lacks_object_privilege,
};
use crate::wire::reply;

/// Whether an ERR payload says that the text itself is at fault, and would be as a query too: its syntax, its names,
/// the place of its parts, what the account may see. Any other error is about preparing the text (for example, too
/// many statements are prepared already), and the query may well succeed.
pub(crate) fn is_of_the_text(error: &[u8]) -> bool {
    reply::Err::decode(error).is_ok_and(|err| is_code_of_the_text(err.code))
}

/// Does the same as [`is_of_the_text`], for an error code.
pub(crate) fn is_code_of_the_text(code: u16) -> bool {
    const NAMES: [u16; 15] = [
        error_code::ER_NO_DB_ERROR,
        error_code::ER_BAD_DB_ERROR,
        error_code::ER_NON_UNIQ_ERROR,
        error_code::ER_BAD_FIELD_ERROR,
        error_code::ER_NONUNIQ_TABLE,
        error_code::ER_TABLE_NOT_LOCKED,
        error_code::ER_UNKNOWN_TABLE,
        error_code::ER_NO_SUCH_TABLE,
        error_code::ER_KEY_DOES_NOT_EXITS,
        error_code::ER_ILLEGAL_REFERENCE,
        error_code::ER_DERIVED_MUST_HAVE_ALIAS,
        error_code::ER_SP_DOES_NOT_EXIST,
        error_code::ER_VIEW_INVALID,
        error_code::ER_UNRESOLVED_TABLE_LOCK,
        error_code::ER_DUPLICATE_TABLE_LOCK,
    ];
    const FORM: [u16; 18] = [
        error_code::ER_WRONG_FIELD_WITH_GROUP,
        error_code::ER_WRONG_GROUP_FIELD,
        error_code::ER_PARSE_ERROR,
        error_code::ER_UPDATE_TABLE_USED,
        error_code::ER_FIELD_SPECIFIED_TWICE,
        error_code::ER_INVALID_GROUP_FUNC_USE,
        error_code::ER_WRONG_VALUE_COUNT_ON_ROW,
        error_code::ER_MIX_OF_GROUP_FUNC_AND_FIELDS,
        error_code::ER_SYNTAX_ERROR,
        error_code::ER_WRONG_USAGE,
        error_code::ER_WRONG_NUMBER_OF_COLUMNS_IN_SELECT,
        error_code::ER_NOT_SUPPORTED_YET,
        error_code::ER_OPERAND_COLUMNS,
        error_code::ER_NON_UPDATABLE_TABLE,
        error_code::ER_SP_WRONG_NO_OF_ARGS,
        error_code::ER_SP_UNDECLARED_VAR,
        error_code::ER_NON_INSERTABLE_TABLE,
        error_code::ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT,
    ];
    lacks_object_privilege(code) || NAMES.contains(&code) || FORM.contains(&code)
}

/// Whether an ERR payload says that a column does not exist: one that the rule knows, or one of the client's
/// statement.
pub(crate) fn is_unknown_column(error: &[u8]) -> bool {
    reply::Err::decode(error).is_ok_and(|err| err.code == error_code::ER_BAD_FIELD_ERROR)
}

/// Whether an ERR payload for an internal statement says that a table does not exist. Without a slot table, there are
/// no slots.
pub(crate) fn is_without_slots(error: &[u8]) -> bool {
    reply::Err::decode(error).is_ok_and(|err| err.code == ER_NO_SUCH_TABLE)
}

/// Whether an ERR payload says that the account lacks a privilege: on the schema, the table, a column or a routine.
pub(crate) fn is_access_denied(error: &[u8]) -> bool {
    reply::Err::decode(error).is_ok_and(|err| lacks_object_privilege(err.code))
}

/// Whether an ERR payload reports a syntax error. The proxy's texts are correct except for what they take from the
/// client's statement, which is then wrong as well.
pub(crate) fn is_syntax_error(error: &[u8]) -> bool {
    reply::Err::decode(error).is_ok_and(|err| err.code == ER_PARSE_ERROR)
}

/// Whether an ERR payload says that a CHECK was violated (MySQL, MariaDB).
pub(crate) fn is_check_violation(error: &[u8]) -> bool {
    reply::Err::decode(error).is_ok_and(|err| is_check_violated(err.code))
}
