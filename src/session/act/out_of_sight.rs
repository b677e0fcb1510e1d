//! Rows of hot tables that a statement changes without naming them: by a trigger, a routine, or a foreign key's
//! action.
//!
//! These rows are then rows that the transaction has changed itself, like those that it names (see
//! [`crate::session::state::transaction`]): its reads see base rows as they are now, beside slots as its snapshot has
//! them. So the proxy takes a digest of the rows that have slots before such a statement, as the transaction sees
//! them, and again before the next read of their table. Rows that the transaction itself has changed then look
//! different, and no others do: other sessions change nothing in its snapshot.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::catalog::HotTable;
use crate::counter::fold::{self, Look};
use crate::counter::{Key, KeyForm};
use crate::session::Session;
use crate::session::act::own_rows::Named;
use crate::session::error::Error;
use crate::session::link::internal::{Failure, failure};
use crate::session::state::prepared::Statement;
use crate::session::state::transaction::Suspects;
use crate::session::text::statement_text;
use crate::sql::{Kind, is_table_query, may_call_routines, mentions};
use crate::wire::command;
use crate::wire::packet::HEADER_LENGTH;

impl Session {
    /// Does the same as [`Session::watch`] for the command at the front of the client's stream, which is to be
    /// forwarded.
    pub(crate) async fn watch_command(&mut self, kind: Kind) -> Result<(), Error> {
        if !self.has_changers() {
            return Ok(());
        }
        let command = self.link.client.buffered().get(HEADER_LENGTH..);
        let command = command.filter(|command| command.first() == Some(&command::QUERY));
        let text = command.and_then(|command| statement_text(command, self.link.capabilities).ok());
        let text = text.map(<[u8]>::to_vec);
        self.watch(text.as_deref(), kind).await
    }

    /// Does the same as [`Session::watch`] for the prepared statement with this id, which is to be executed as it
    /// came.
    pub(crate) async fn watch_execution(
        &mut self,
        id: u32,
        statement: &Statement,
    ) -> Result<(), Error> {
        let unseen = self.state.unseen.as_ref();
        if unseen.is_some_and(|unseen| unseen.is_unwatched(id, self.hot.number)) {
            self.state.running.reads_a_table = reads_a_table(None, statement.kind);
            return Ok(());
        }
        // The text of a statement that names no hot table is not kept.
        let text = Some(&statement.text[..]).filter(|text| !text.is_empty());
        self.watch(text, statement.kind).await
    }

    fn has_changers(&self) -> bool {
        let mut tables = self.hot.catalog.tables.iter();
        tables.any(|table| !table.changed_by.is_empty())
    }

    /// Whether a statement may change rows of hot tables out of sight. `None` if no table has anything that does.
    pub(crate) fn may_change_out_of_sight(&self, text: &[u8], kind: Kind) -> Option<bool> {
        let mut tables = self.hot.catalog.tables.iter();
        self.has_changers()
            .then(|| tables.any(|table| may_change(Some(text), kind, table)))
    }

    /// Prepares for a statement that may change rows of hot tables out of sight. Without a text, nobody knows what it
    /// does.
    pub(crate) async fn watch(&mut self, text: Option<&[u8]>, kind: Kind) -> Result<(), Error> {
        if self.state.in_transaction() {
            self.state.running.may_call_routines =
                kind == Kind::Call || text.is_none_or(may_call_routines);
        }
        // Nothing changes a row in a READ ONLY transaction.
        let only_reads = self.state.last.is_read_only();
        if !self.has_changers() || !self.state.in_transaction() || only_reads {
            return Ok(());
        }
        self.state.running.reads_a_table = reads_a_table(text, kind);
        if !self.state.transaction.has_snapshot || !self.may_have_old_snapshot() {
            return Ok(());
        }
        let hot = Arc::clone(&self.hot);
        let tables = hot.catalog.tables.iter();
        for table in tables.filter(|table| !table.changed_by.is_empty()) {
            let is_seen = self.state.transaction.rows().is_watched(table);
            let is_there = !self.state.temporary.hide.contains(table);
            if !is_seen && is_there && may_change(text, kind, table) {
                Box::pin(self.watch_table(table)).await?;
            }
        }
        Ok(())
    }

    async fn watch_table(&mut self, table: &Arc<HotTable>) -> Result<(), Error> {
        let (Some(form), Some(server)) = (KeyForm::of(table), self.server.clone()) else {
            return Ok(());
        };
        // Others may have added to slots since the snapshot. Once a row is locked, no more slots are added for it.
        let open = self.shared.open_rows(&server, table, &form, None).await;
        let open: BTreeSet<Key> = open.into_iter().flatten().map(|row| row.key).collect();
        let open: Vec<Key> = open.into_iter().collect();
        let predicate = fold::with_slots(table, &form, &open);
        let rows = (Some(&predicate[..]), Named::ByKeys);
        let before = self.digests(table, rows, Look::Consistent);
        match before.await? {
            Ok(Some(before)) => {
                let rows = self.state.transaction.rows_mut();
                rows.remember_suspects(Suspects {
                    table: Arc::clone(table),
                    before,
                    look: Look::Consistent,
                    inserted: None,
                });
                Ok(())
            }
            // A KILL, say, which is meant for the client's statement: that is answered so, and does not run.
            Err(error) if failure(&error) == Failure::TheClients => {
                self.state.lost = Some(error);
                Err(Error::Lost)
            }
            // If the account may not read the table, its reads see nothing of it either.
            Ok(None) | Err(_) => Ok(()),
        }
    }
}

/// Whether a statement that succeeds has certainly read a table without locks, and so made a snapshot.
fn reads_a_table(text: Option<&[u8]>, kind: Kind) -> bool {
    let is_consistent = |text: &[u8]| {
        (mentions(text, b"FROM") || is_table_query(text)) && !mentions(text, b"SHARE")
    };
    matches!(kind, Kind::Select | Kind::With) && text.is_none_or(is_consistent)
}

/// Whether a text contains a name that is not part of a longer one.
fn names(text: &[u8], name: &[u8]) -> bool {
    let is_part = |byte: Option<&u8>| {
        byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$'))
    };
    mentions(text, name)
        && text.windows(name.len()).enumerate().any(|(at, window)| {
            window.eq_ignore_ascii_case(name)
                && !is_part(at.checked_sub(1).and_then(|before| text.get(before)))
                && !is_part(text.get(at + name.len()))
        })
}

/// Whether a statement may change rows of this table without naming it. Without a text, nobody knows what it names.
fn may_change(text: Option<&[u8]>, kind: Kind, table: &HotTable) -> bool {
    let changers = &table.changed_by;
    let is_named = |name: &String| text.is_none_or(|text| names(text, name.as_bytes()));
    let names_one = |all: &[String]| all.iter().any(is_named);
    match kind {
        Kind::Use
        | Kind::Begin
        | Kind::Commit
        | Kind::Rollback
        | Kind::Savepoint
        | Kind::Release => false,
        // The text that was prepared is not read again.
        Kind::Execute => true,
        Kind::Select | Kind::Do | Kind::Set { .. } | Kind::Show => names_one(&changers.routines),
        _ => names_one(&changers.tables) || names_one(&changers.routines),
    }
}

#[cfg(test)]
mod tests {
    use crate::session::act::out_of_sight::names;

    #[test]
    fn a_name_is_no_part_of_a_longer_one() {
        for text in [
            "CALL follow(1)",
            "SELECT`follow`(1)",
            "do Follow (1)",
            "CALL shop.follow",
        ] {
            assert!(names(text.as_bytes(), b"follow"), "{text}");
        }
        for text in [
            "SELECT followers",
            "UPDATE un_follow SET n = 1",
            "SELECT $follow",
            "",
        ] {
            assert!(!names(text.as_bytes(), b"follow"), "{text}");
        }
    }
}
