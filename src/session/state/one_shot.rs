//! What SET TRANSACTION has set for the next transaction only.

use crate::sql::plan::SessionVariables;
use crate::sql::{Kind, one_shot};

/// How many statements are remembered: isolation level and access mode may be set one by one, and more than once.
const MOST_TEXTS: usize = 8;

/// What has been set for the next transaction.
#[derive(Debug, Default)]
pub(crate) struct OneShot {
    /// The client's statements, all of which together say what is set. Empty if nothing is set, or if that is not
    /// certain.
    pub texts: Vec<Vec<u8>>,
    /// They have been sent again while the current statement ran.
    pub again: bool,
    /// What `texts` held before a statement that may or may not have used them up: a CALL, or a query whose names are
    /// those of common table expressions.
    pub doubted: Vec<Vec<u8>>,
}

/// What a statement does to what is set for the next transaction.
#[derive(Debug)]
pub(crate) enum Effect {
    /// It sets characteristics, and does nothing else: its text.
    Sets(Vec<u8>),
    /// It certainly leaves them.
    Leaves,
    /// It may use them up.
    Ends,
}

impl OneShot {
    pub(crate) fn is_set(&self) -> bool {
        !self.texts.is_empty()
    }

    /// Whether it may be set, for all that is known: the next transaction is to have other characteristics then.
    pub(crate) fn may_be_set(&self) -> bool {
        self.is_set() || !self.doubted.is_empty()
    }

    /// What a statement does, if it succeeds.
    pub(crate) fn effect(&self, text: &[u8], kind: Kind, variables: &SessionVariables) -> Effect {
        let sets = || {
            one_shot::sets(text, variables)
                || (self.is_set() && one_shot::sets_session(text, variables))
        };
        if one_shot::may_be(text, kind) && sets() {
            return Effect::Sets(text.to_vec());
        }
        match self.is_set() && one_shot::survives(text, kind, variables) {
            true => Effect::Leaves,
            false => Effect::Ends,
        }
    }

    /// Takes in the end of a statement. `refused`: it failed, and had touched no row.
    pub(crate) fn after(&mut self, effect: &Effect, failed: bool, refused: bool) {
        match effect {
            _ if refused => self.again = false,
            Effect::Sets(text) if !failed => {
                if self.texts.len() >= MOST_TEXTS {
                    self.texts.remove(0);
                }
                self.texts.push(text.clone());
            }
            Effect::Leaves if !failed => {}
            _ => self.end(),
        }
    }

    /// Takes in the end of a statement that may have used the characteristics up.
    fn end(&mut self) {
        if !std::mem::take(&mut self.again) && self.is_set() {
            self.doubted = std::mem::take(&mut self.texts);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SET: &str = "SET TRANSACTION READ ONLY";

    fn ran(one_shot: &mut OneShot, text: &str, kind: Kind, (failed, refused): (bool, bool)) {
        let effect = one_shot.effect(text.as_bytes(), kind, &SessionVariables::default());
        one_shot.after(&effect, failed, refused);
    }

    fn set() -> OneShot {
        let mut one_shot = OneShot::default();
        ran(
            &mut one_shot,
            SET,
            Kind::Set { harmless: false },
            (false, false),
        );
        assert!(one_shot.is_set());
        one_shot
    }

    #[test]
    fn a_statement_that_touches_rows_uses_it_up() {
        let mut one_shot = set();
        ran(
            &mut one_shot,
            "SELECT * FROM t",
            Kind::Select,
            (false, false),
        );
        assert!(!one_shot.is_set());
        assert_eq!(one_shot.doubted, [SET.as_bytes()]);
    }

    #[test]
    fn so_does_one_that_fails_but_not_one_that_is_refused() {
        let mut one_shot = set();
        ran(
            &mut one_shot,
            "SELECT nothing FROM t",
            Kind::Select,
            (true, true),
        );
        assert!(one_shot.is_set());
        ran(
            &mut one_shot,
            "SELECT * FROM t",
            Kind::Select,
            (true, false),
        );
        assert!(!one_shot.is_set());
    }

    #[test]
    fn what_was_set_again_for_a_statement_outlives_it() {
        let mut one_shot = set();
        one_shot.again = true;
        ran(
            &mut one_shot,
            "SELECT * FROM t",
            Kind::Select,
            (false, false),
        );
        assert!(one_shot.is_set());
        ran(
            &mut one_shot,
            "SELECT * FROM t",
            Kind::Select,
            (false, false),
        );
        assert!(!one_shot.is_set());
    }

    #[test]
    fn so_many_statements_are_remembered() {
        let mut one_shot = OneShot::default();
        for _ in 0..2 * MOST_TEXTS {
            ran(
                &mut one_shot,
                SET,
                Kind::Set { harmless: false },
                (false, false),
            );
        }
        assert_eq!(one_shot.texts.len(), MOST_TEXTS);
    }
}
