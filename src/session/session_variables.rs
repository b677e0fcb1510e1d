//! What the session must know of itself to read a statement's text. It asks the upstream when something may have
//! changed that, so no SET, procedure or USE has to be understood.

use std::sync::Arc;

use crate::counter::server::{IDENTITY, Server};
use crate::session::Session;
use crate::session::error::Error;
use crate::session::link::internal::InternalResponse;
use crate::session::state::Isolation;
use crate::session::state::combining::Combining;
use crate::session::state::info_text::InfoText;
use crate::session::state::rights::Shown;
use crate::sql::plan::SessionVariables;

const QUESTION: &str = "SELECT DATABASE(), @@SESSION.sql_mode, @@SESSION.character_set_client, \
     @@SESSION.character_set_results, @@SESSION.sql_safe_updates, \
     @@SESSION.character_set_client LIKE 'utf8%' AND @@SESSION.character_set_connection LIKE 'utf8%', ";

const MORE: &str = ", @@SESSION.sql_big_selects, @@SESSION.sql_auto_is_null, \
     LEFT(@@SESSION.lc_messages, 3) = 'en_', ";

/// Asks whether statements are logged as they are. MySQL warns about the variable (1287), and means to remove it, so
/// it is asked for by itself, and the query after it clears the warning.
const LOGS_STATEMENTS: &str = "SELECT @@SESSION.binlog_format = 'STATEMENT' AND @@GLOBAL.log_bin";

const MYSQL_QUESTION: &str = "@@SESSION.transaction_isolation";

/// MariaDB can switch CHECK constraints off in a session; MySQL cannot.
const MARIADB_QUESTION: &str = "@@SESSION.tx_isolation, @@SESSION.check_constraint_checks";

/// Character sets in which an ASCII byte may be the tail of another character.
const UNSAFE_CHARACTER_SETS: [&str; 5] = ["big5", "cp932", "gb18030", "gbk", "sjis"];

impl Session {
    /// The session's variables. Asks the upstream if they are not known. `None` if it does not say.
    pub(crate) async fn variables(&mut self) -> Result<Option<Arc<SessionVariables>>, Error> {
        self.see_shadows().await?;
        if self.state.variables.is_none() {
            self.state.definitions.clear();
            self.state.combining = Combining::Unknown;
            self.state.shown = Shown::default();
            let more = match self.hot.catalog.mariadb {
                true => MARIADB_QUESTION,
                false => MYSQL_QUESTION,
            };
            let logs_statements = match self.insist(LOGS_STATEMENTS).await? {
                InternalResponse::Row(row) => {
                    row.first().is_some_and(|is| is.as_deref() == Some(b"1"))
                }
                _ => false,
            };
            let question = format!("{QUESTION}{IDENTITY}{MORE}{more}");
            if let InternalResponse::Row(row) = self.insist(question).await? {
                let variables = variables(&row);
                let schema = variables.schema.as_deref();
                self.entry.set_schema(schema.map(str::as_bytes));
                self.state.variables = Some(Arc::new(variables));
                self.state.speaks_utf8 = matches!(row.get(5), Some(Some(is)) if is == b"1");
                if let Some(Some(identity)) = row.get(6) {
                    let server = Server::new(identity);
                    self.shared.control.see(&server);
                    self.server = Some(server);
                }
                let is = |position: usize, value: &[u8]| matches!(row.get(position), Some(Some(is)) if is == value);
                self.state.big_selects = !is(7, b"0");
                self.state.auto_is_null = is(8, b"1");
                self.state.info = match is(9, b"1") {
                    true => InfoText::English,
                    false => InfoText::Unknown,
                };
                self.state.pads_char = matches!(row.get(1), Some(Some(modes)) if has_mode(modes, b"PAD_CHAR_TO_FULL_LENGTH"));
                let level = row.get(10).and_then(Option::as_deref);
                self.state.isolation = Isolation::of(level.unwrap_or_default());
                self.state.checks_disabled = logs_statements || is(11, b"0");
            }
        }
        Ok(self.state.variables.clone())
    }
}

fn has_mode(modes: &[u8], mode: &[u8]) -> bool {
    modes.split(|byte| *byte == b',').any(|has| has == mode)
}

fn variables(row: &[Option<Vec<u8>>]) -> SessionVariables {
    let text = |position: usize| {
        let value = row.get(position).and_then(Option::as_deref)?;
        Some(String::from_utf8_lossy(value).into_owned())
    };
    let modes = text(1).unwrap_or_default();
    let client = text(2).unwrap_or_default();
    // If the character set of results is not a superset of ASCII, the names just read cannot be trusted.
    let legible = text(3).is_none_or(|results| !results.contains('\0'));
    SessionVariables {
        schema: text(0),
        unsafe_character_set: !legible || UNSAFE_CHARACTER_SETS.contains(&client.as_str()),
        safe_updates: text(4).as_deref() == Some("1"),
        ..SessionVariables::default()
    }
    .with_sql_mode(&modes)
}
