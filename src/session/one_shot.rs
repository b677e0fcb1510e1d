//! SET TRANSACTION for the next transaction only. A transaction of the proxy's own around the client's statement uses
//! it up, so it is set again where MySQL would have left it.
//!
//! MySQL uses it up with the first statement that touches a table's rows, whether that succeeds or not. A statement
//! refused before that (with 1792, among others) leaves it.

use crate::reason::Reason;
use crate::session::Session;
use crate::session::error::Error;
use crate::session::link::internal::InternalResponse;
use crate::session::state::one_shot::Effect;
use crate::sql::Kind;
use crate::wire::{error_code, reply};

/// Whether an ERR payload reports a write in a READ ONLY transaction.
pub(crate) fn is_read_only(error: &[u8]) -> bool {
    reply::Err::decode(error)
        .is_ok_and(|error| error.code == error_code::ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION)
}

impl Session {
    /// Sets it again after a transaction of the proxy's own has used it up.
    pub(crate) async fn set_one_shot_again(&mut self) -> Result<(), Error> {
        self.set_one_shot().await?;
        self.state.one_shot.again = true;
        Ok(())
    }

    /// Takes in that a transaction of the proxy's own has begun as READ ONLY. If the session itself is not read only,
    /// what the client had set for one transaction was still in force.
    pub(crate) async fn recall_one_shot(&mut self) -> Result<(), Error> {
        if self.state.one_shot.is_set() || self.state.one_shot.doubted.is_empty() {
            return Ok(());
        }
        let doubted = std::mem::take(&mut self.state.one_shot.doubted);
        let of_session = match self.hot.catalog.mariadb {
            true => "SELECT @@SESSION.tx_read_only LIMIT 1",
            false => "SELECT @@SESSION.transaction_read_only LIMIT 1",
        };
        if let InternalResponse::Row(row) = self.insist(of_session).await?
            && matches!(row.first(), Some(Some(value)) if value == b"0")
        {
            self.state.one_shot.texts = doubted;
        }
        Ok(())
    }

    /// Sets it for a transaction of the proxy's own that begins once more.
    pub(crate) async fn set_one_shot(&mut self) -> Result<(), Error> {
        for text in self.state.one_shot.texts.clone() {
            self.insist(text).await?;
        }
        Ok(())
    }

    /// Sets it again if a statement with this response would have left it.
    pub(crate) async fn restore_one_shot(
        &mut self,
        last: &[u8],
        reason: Reason,
    ) -> Result<(), Error> {
        match self.state.one_shot.is_set() && self.never_ran(last, reason) {
            true => self.set_one_shot_again().await,
            false => Ok(()),
        }
    }

    /// Takes in what the statement that has ended has done to it.
    pub(crate) fn after_one_shot(&mut self, effect: &Effect, failed: bool) {
        let last_error = self.state.last.error.filter(|_| failed);
        let refused = last_error.is_some_and(|code| self.refuses(code, false));
        self.state.after_one_shot(effect, failed, refused);
    }

    /// Whether a response, by its last packet, says that the statement has touched no row.
    fn never_ran(&self, last: &[u8], reason: Reason) -> bool {
        let of_several = reason == Reason::MultiTable && self.state.running.kind == Kind::Update;
        last.first() == Some(&reply::ERR)
            && reply::Err::decode(last).is_ok_and(|error| self.refuses(error.code, of_several))
    }

    /// Whether an error says that the statement has touched no row: it was refused for its text, its names, its
    /// privileges or its transaction. Both servers were asked, error by error.
    fn refuses(&self, code: u16, of_several: bool) -> bool {
        const REFUSED: [u16; 20] = [
            error_code::ER_DBACCESS_DENIED_ERROR,
            error_code::ER_NO_DB_ERROR,
            error_code::ER_BAD_DB_ERROR,
            error_code::ER_PARSE_ERROR,
            error_code::ER_NONUNIQ_TABLE,
            error_code::ER_UNKNOWN_TABLE,
            error_code::ER_UNKNOWN_CHARACTER_SET,
            error_code::ER_TABLEACCESS_DENIED_ERROR,
            error_code::ER_COLUMNACCESS_DENIED_ERROR,
            error_code::ER_NO_SUCH_TABLE,
            error_code::ER_UNKNOWN_SYSTEM_VARIABLE,
            error_code::ER_SPECIFIC_ACCESS_DENIED_ERROR,
            error_code::ER_UNKNOWN_STMT_HANDLER,
            error_code::ER_UNKNOWN_COLLATION,
            error_code::ER_SP_UNDECLARED_VAR,
            error_code::ER_PROCACCESS_DENIED_ERROR,
            error_code::ER_WRONG_PARAMCOUNT_TO_NATIVE_FCT,
            error_code::ER_PARTITION_CLAUSE_ON_NONPARTITIONED,
            error_code::ER_UNKNOWN_DATA_TYPE,
            error_code::ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION,
        ];
        // MariaDB looks up columns only after it has begun, except for an UPDATE of several tables; since 11.1, except
        // for every UPDATE and DELETE.
        const BY_MYSQL: [u16; 23] = [
            error_code::ER_BAD_TABLE_ERROR,
            error_code::ER_NON_UNIQ_ERROR,
            error_code::ER_BAD_FIELD_ERROR,
            error_code::ER_WRONG_FIELD_WITH_GROUP,
            error_code::ER_DUP_FIELDNAME,
            error_code::ER_UPDATE_TABLE_USED,
            error_code::ER_FIELD_SPECIFIED_TWICE,
            error_code::ER_INVALID_GROUP_FUNC_USE,
            error_code::ER_WRONG_VALUE_COUNT_ON_ROW,
            error_code::ER_MIX_OF_GROUP_FUNC_AND_FIELDS,
            error_code::ER_KEY_DOES_NOT_EXITS,
            error_code::ER_FT_MATCHING_KEY_NOT_FOUND,
            error_code::ER_WRONG_NUMBER_OF_COLUMNS_IN_SELECT,
            error_code::ER_OPERAND_COLUMNS,
            error_code::ER_DERIVED_MUST_HAVE_ALIAS,
            error_code::ER_COLLATION_CHARSET_MISMATCH,
            error_code::ER_CANT_AGGREGATE_2COLLATIONS,
            error_code::ER_SP_DOES_NOT_EXIST,
            error_code::ER_UNRESOLVED_TABLE_LOCK,
            error_code::ER_DUPLICATE_TABLE_LOCK,
            error_code::ER_WINDOW_NO_SUCH_WINDOW,
            error_code::ER_WINDOW_CIRCULARITY_IN_WINDOW_GRAPH,
            error_code::ER_MISPLACED_INTO,
        ];
        match self.state.running.kind {
            // They commit before they look up their tables.
            Kind::Ddl | Kind::LockTables => matches!(
                code,
                error_code::ER_PARSE_ERROR | error_code::ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION
            ),
            Kind::Call | Kind::Set { .. } | Kind::Do
                if code == error_code::ER_SP_DOES_NOT_EXIST =>
            {
                true
            }
            _ => {
                let catalog = &self.hot.catalog;
                let is_prepared = catalog.prepares_writes
                    && matches!(self.state.running.kind, Kind::Update | Kind::Delete);
                let is_early = !catalog.mariadb || of_several || is_prepared;
                REFUSED.contains(&code) || (is_early && BY_MYSQL.contains(&code))
            }
        }
    }
}
