//! Finds the plan of a statement: a kept one or a new one, by the hot tables and the variables of this session, and by
//! what its locks allow.

use std::borrow::Cow;
use std::sync::Arc;

use memchr::memchr;

use crate::catalog::HotTable;
use crate::session::Session;
use crate::session::error::Error;
use crate::session::shared::hot_tables::Known;
use crate::session::shared::planning;
use crate::session::text::{kind_of, names, names_one_above};
use crate::sql::plan::{ConsistentRead, Fold, FoldTable, Plan, Reason, SessionVariables};
use crate::sql::{self, Circumstances, Kind, Shape, TableLocks, Values};

/// A plan that is known for a statement, and its literals.
pub(crate) struct Found {
    pub known: Known,
    /// For [`Known::Shape`]. It is given back to the session, which reuses what it has allocated.
    pub shape: Shape,
}

impl Session {
    /// Whether a statement must be looked at.
    pub(crate) fn is_hot(&self, text: &[u8], kind: Kind) -> bool {
        if self.state.mode.bypass {
            return false;
        }
        self.hot.prefilter.may_concern(text)
            || (!self.hot.catalog.tables.is_empty() && self.may_hide_names(text, kind))
    }

    /// Whether a text may concern hot tables without naming them: EXECUTE, PREPARE .. FROM @v, DROP DATABASE.
    fn may_hide_names(&self, text: &[u8], kind: Kind) -> bool {
        match kind {
            Kind::Prepare | Kind::Ddl => true,
            Kind::Execute | Kind::Deallocate => self.state.sql_prepared.is_in_use(),
            Kind::Other => sql::prepare::may_execute(text),
            _ => {
                self.state.mode.multi_statements
                    && memchr(b';', text).is_some()
                    && sql::prepare::may_execute(text)
            }
        }
    }

    /// A text as the upstream reads it.
    pub(crate) async fn executed<'a>(&mut self, text: &'a [u8]) -> Result<Cow<'a, [u8]>, Error> {
        if !sql::may_have_executable_comment(text) {
            return Ok(Cow::Borrowed(text));
        }
        let variables = self.variables().await?.unwrap_or_default();
        Ok(sql::executed(text, &variables, self.hot.catalog.mariadb))
    }

    /// The plan of a statement, from the cache if its text has been seen.
    pub(crate) async fn plan(&mut self, text: &[u8]) -> Result<Arc<Plan>, Error> {
        let Some(variables) = self.variables().await? else {
            // The upstream is not in a state to respond. Whatever the statement is, it will report that.
            return Ok(Arc::new(Plan::Forward(Reason::Off)));
        };
        if !self.state.temporary.hide.is_empty() {
            return Ok(Arc::new(self.plan_anew(text, variables).await));
        }
        if !planning::is_long(text) {
            return Ok(self.hot.plan(text, &variables));
        }
        let (hot, text) = (Arc::clone(&self.hot), text.to_vec());
        Ok(planning::apart(move || hot.plan(&text, &variables)).await)
    }

    /// The plan of a statement by the tables that this session sees and by these variables. Plans that are kept are
    /// not used.
    pub(crate) async fn plan_anew(
        &mut self,
        text: &[u8],
        variables: Arc<SessionVariables>,
    ) -> Plan {
        let catalog = self.catalog();
        if !planning::is_long(text) {
            return self.hot.plan_anew(text, &variables, &catalog);
        }
        let (hot, text) = (Arc::clone(&self.hot), text.to_vec());
        planning::apart(move || hot.plan_anew(&text, &variables, &catalog)).await
    }

    /// What changes the plan of a text that is about to run, with what is known of its values.
    pub(crate) fn circumstances(&self, text: &[u8], values: Values) -> Circumstances {
        let finds_last_inserted = self.state.may_find_last_inserted() && {
            let variables = self.state.of_texts().cloned().unwrap_or_default();
            sql::may_test_for_null(text, &variables)
        };
        Circumstances {
            table_locks: self.state.locks.tables,
            finds_last_inserted,
            takes_no_slots: self.state.takes_no_slots(),
            values,
        }
    }

    /// A fold of all hot tables that a statement too long to be read names, and of those whose rows may go or change
    /// with rows of a table that it names.
    pub(crate) fn fold_of_named(&self, text: &[u8]) -> Fold {
        let catalog = self.catalog();
        let kind = kind_of(text);
        let takes_rows = matches!(
            kind,
            Kind::Delete | Kind::Update | Kind::Replace | Kind::With
        );
        let folds = catalog.tables.iter().filter(|table| {
            names(text, &table.name) || (takes_rows && names_one_above(text, table))
        });
        too_long(kind, folds)
    }

    /// A fold of all hot tables, for a statement of this kind of which only the beginning is read.
    pub(crate) fn fold_of_all(&self, kind: Kind) -> Fold {
        too_long(kind, self.catalog().tables.iter())
    }

    /// The plan of a text or of its shape, made now if it is not kept. `None` if the session's state decides.
    pub(crate) async fn find_or_plan(&mut self, text: &[u8]) -> Result<Option<Found>, Error> {
        let Some(variables) = self.variables().await? else {
            return Ok(None);
        };
        if !self.is_ordinary() {
            return Ok(None);
        }
        let mut shape = std::mem::take(&mut self.shape);
        if !planning::is_long(text) {
            let known = self.hot.known_or_planned(text, &variables, &mut shape);
            return Ok(Some(Found { known, shape }));
        }
        let (hot, text) = (Arc::clone(&self.hot), text.to_vec());
        let found = planning::apart(move || {
            let known = hot.known_or_planned(&text, &variables, &mut shape);
            Found { known, shape }
        });
        Ok(Some(found.await))
    }

    /// Whether neither LOCK TABLES nor temporary tables change what names mean, nor a variable what IS NULL finds.
    pub(crate) fn is_ordinary(&self) -> bool {
        self.state.locks.tables == TableLocks::None
            && !self.state.may_find_last_inserted()
            && self.state.temporary.hide.is_empty()
            && !self.state.temporary.are_doubted
    }

    /// The plan of a text as it was read when the session's variables had these values.
    pub(crate) async fn plan_as_prepared(
        &mut self,
        text: &[u8],
        variables: &Arc<SessionVariables>,
    ) -> Result<Arc<Plan>, Error> {
        let now = self.variables().await?;
        if now.as_ref() == Some(variables) {
            return self.plan(text).await;
        }
        // What is sent in its place is sent now, and its names would be others.
        let other_characters = now.and_then(|now| now.other_characters.clone());
        let variables = &Arc::new(SessionVariables {
            other_characters: other_characters.or_else(|| variables.other_characters.clone()),
            ..SessionVariables::clone(variables)
        });
        let plan = self.plan_anew(text, Arc::clone(variables)).await;
        Ok(Arc::new(match plan.sends_its_text_edited() {
            // The server would read it under other variables than the client's.
            true => Plan::Fold(Box::new(Fold::of_whole_tables(&plan, Reason::SqlExecute))),
            false => plan,
        }))
    }
}

/// A fold of these tables, for a statement of this kind that is too long.
fn too_long<'a>(kind: Kind, tables: impl Iterator<Item = &'a Arc<HotTable>>) -> Fold {
    let folds = tables.map(FoldTable::whole).collect();
    Fold {
        consistent_read: match kind.is_write() || kind == Kind::Ddl {
            true => ConsistentRead::No,
            false => ConsistentRead::Possibly,
        },
        ..Fold::new(folds, Reason::TooLong)
    }
}
