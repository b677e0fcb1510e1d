//! The statements that PREPARE has made, as far as the session knows them.

use std::collections::HashMap;
use std::sync::Arc;

use crate::sql::Kind;
use crate::sql::plan::SessionVariables;

/// The statements that PREPARE has made in this session.
#[derive(Debug, Default)]
pub(crate) struct SqlPrepared {
    /// By name in lower case.
    statements: HashMap<String, PreparedText>,
    /// Length of all texts.
    length: usize,
    /// There may be others, made by a procedure, a compound statement, or under a name beyond ASCII.
    out_of_sight: bool,
}

/// What is known of one of them.
#[derive(Clone, Debug)]
pub(crate) enum PreparedText {
    /// Its text, and the session variables of its PREPARE, which it keeps.
    Text(Arc<Text>),
    /// It runs as it is, by the client's wish.
    Off(Kind),
    /// Nothing is known, except that it may exist.
    Unread,
}

#[derive(Debug)]
pub(crate) struct Text {
    pub text: Vec<u8>,
    pub variables: Arc<SessionVariables>,
    pub kind: Kind,
}

impl SqlPrepared {
    /// Whether there may be any.
    pub(crate) fn is_in_use(&self) -> bool {
        self.out_of_sight || !self.statements.is_empty()
    }

    /// Takes in that something which is not read may have prepared, replaced or dropped statements.
    pub(crate) fn lose_sight(&mut self) {
        *self = Self {
            out_of_sight: true,
            ..Self::default()
        };
    }

    pub(crate) fn remove(&mut self, name: &str) -> bool {
        let removed = self.statements.remove(name);
        if let Some(PreparedText::Text(text)) = &removed {
            self.length -= text.text.len();
        }
        removed.is_some()
    }

    /// Remembers a statement, or its name alone if all texts would have more than `most` bytes with its own.
    pub(crate) fn insert(&mut self, name: String, prepared: PreparedText, most: u64) {
        self.remove(&name);
        let mut prepared = prepared;
        if let PreparedText::Text(text) = &prepared {
            match (self.length + text.text.len()) as u64 <= most {
                true => self.length += text.text.len(),
                false => prepared = PreparedText::Unread,
            }
        }
        self.statements.insert(name, prepared);
    }

    /// What is known of the statement with this name. `None` if there is no such statement.
    pub(crate) fn get(&self, name: Option<&str>) -> Option<PreparedText> {
        let known = name.and_then(|name| self.statements.get(name));
        match known {
            Some(known) => Some(known.clone()),
            None if self.out_of_sight || name.is_none() => Some(PreparedText::Unread),
            None => None,
        }
    }
}
