//! The hot tables at one time: whether a statement concerns them, and its plan.

use std::sync::Arc;
use std::time::Instant;

use super::plans::{KeptPlan, Plans};
use crate::catalog::{Catalog, HotTable};
use crate::config::Memory;
use crate::metrics::{Metrics, TableCounts};
use crate::sql::plan::{Plan, SessionVariables};
use crate::sql::{self, Prefilter, Shape};

/// The hot tables at one time, with the plans made for them.
#[derive(Debug)]
pub struct Hot {
    /// The tables.
    pub catalog: Arc<Catalog>,
    /// Whether one of them has a name beyond ASCII.
    pub(crate) has_names_beyond_ascii: bool,
    /// Recognises statements that cannot concern them.
    pub prefilter: Prefilter,
    /// Plans of texts and shapes that have been seen.
    pub(crate) plans: Plans,
    /// The tables whose slots take nothing while proxies change over: their increments take the exact path.
    changing: Vec<Arc<HotTable>>,
    /// Distinguishes these from the hot tables before and after.
    pub(crate) number: u64,
    /// Held by sessions that have prepared statements of which nothing is remembered, because they named no hot table
    /// then.
    pub(crate) prepared_under: Arc<PreparedUnder>,
    metrics: Arc<Metrics>,
    /// For the tables with slots, then for those without.
    counts: Vec<Arc<TableCounts>>,
}

/// Stands for the time in which statements were prepared: while one [`Hot`] was in force.
#[derive(Debug)]
pub struct PreparedUnder;

impl Hot {
    /// Makes them with an empty plan cache, and metrics of their own.
    pub fn new(catalog: Catalog) -> Self {
        let plans = Memory::default().plan_cache;
        Self::in_force(catalog, Vec::new(), 0, plans, &Arc::default())
    }

    /// Makes them with an empty plan cache, and counts in `metrics`. `changing` are those of the catalog's tables
    /// whose slots take nothing; the plans may take `plan_cache` bytes.
    pub(crate) fn in_force(
        catalog: Catalog,
        changing: Vec<Arc<HotTable>>,
        number: u64,
        plan_cache: u64,
        metrics: &Arc<Metrics>,
    ) -> Self {
        let tables = catalog.tables.iter().chain(&catalog.without_slots);
        Self {
            has_names_beyond_ascii: catalog.has_names_beyond_ascii(),
            prefilter: Prefilter::new(&catalog),
            counts: tables
                .map(|table| metrics.table(&table.schema, &table.name))
                .collect(),
            catalog: Arc::new(catalog),
            plans: Plans::holding(plan_cache),
            changing,
            number,
            prepared_under: Arc::new(PreparedUnder),
            metrics: Arc::clone(metrics),
        }
    }

    /// The same without any table.
    pub(crate) fn of_nothing(&self) -> Self {
        let catalog = Catalog {
            tables: Vec::new(),
            without_slots: Vec::new(),
            observed: Vec::new(),
            ..Catalog::clone(&self.catalog)
        };
        let plan_cache = self.plans.capacity();
        Self::in_force(catalog, Vec::new(), self.number, plan_cache, &self.metrics)
    }

    /// Whether the table's slots take nothing at the moment.
    pub(crate) fn is_changing(&self, table: &HotTable) -> bool {
        self.changing.iter().any(|changing| **changing == *table)
    }

    /// Does the same as [`Hot::is_changing`] for whatever the table of this name is now.
    pub(crate) fn is_changing_by_name(&self, table: &HotTable) -> bool {
        let mut changing = self.changing.iter();
        changing.any(|other| other.name == table.name && other.schema == table.schema)
    }

    /// Counts what is done to a table, if it is still among these.
    pub(crate) fn count(&self, table: &HotTable, count: impl FnOnce(&TableCounts)) {
        let is_it =
            |other: &Arc<HotTable>| other.name == table.name && other.schema == table.schema;
        let tables = self.catalog.tables.iter();
        let mut tables = tables.chain(&self.catalog.without_slots);
        if let Some(counts) = tables.position(is_it).and_then(|at| self.counts.get(at)) {
            count(counts);
        }
    }

    /// The hot tables, with the counts of what was done to them.
    pub fn tables(&self) -> impl Iterator<Item = (&Arc<HotTable>, &TableCounts)> {
        let tables = self.catalog.tables.iter();
        let tables = tables.chain(&self.catalog.without_slots);
        tables.zip(self.counts.iter().map(Arc::as_ref))
    }

    /// At most `most` of the plans that are kept, and how many there are.
    pub fn kept_plans(&self, most: usize) -> (Vec<KeptPlan>, usize) {
        self.plans.kept(most)
    }

    /// The plan of a text under these variables.
    pub fn plan(&self, text: &[u8], variables: &SessionVariables) -> Arc<Plan> {
        let plan = || self.plan_anew(text, variables, &self.catalog);
        self.plans.get_or_plan(text, variables, plan)
    }

    /// The plan of a text by these tables, which are those that a session sees. Plans that are kept are not used.
    pub(crate) fn plan_anew(
        &self,
        text: &[u8],
        variables: &SessionVariables,
        catalog: &Catalog,
    ) -> Plan {
        let started = Instant::now();
        let plan = sql::plan(text, variables, catalog);
        self.metrics.latency.planned(started.elapsed());
        plan
    }

    /// The plan kept for a text itself, or for its shape if that gives the text's plan with holes for its literals.
    /// `shape` is what the literals are lifted into.
    pub fn known(
        &self,
        text: &[u8],
        variables: &SessionVariables,
        shape: &mut Shape,
    ) -> Option<Known> {
        if shape.lift(text, variables)
            && let Some(plan) = self.plans.get(shape.text(), variables)
            && shape.fits(&plan, text)
        {
            return Some(Known::Shape(plan));
        }
        self.plans.get(text, variables).map(Known::Text)
    }

    /// Does the same as [`Hot::known`], but plans what is not kept yet: the shape, or the text if the shape does not
    /// fit.
    pub fn known_or_planned(
        &self,
        text: &[u8],
        variables: &SessionVariables,
        shape: &mut Shape,
    ) -> Known {
        if shape.lift(text, variables) {
            let plan = self.plan(shape.text(), variables);
            if shape.fits(&plan, text) {
                return Known::Shape(plan);
            }
        }
        Known::Text(self.plan(text, variables))
    }
}

/// A plan from the cache.
#[derive(Clone, Debug)]
pub enum Known {
    /// The plan of the text.
    Text(Arc<Plan>),
    /// The plan of the text's shape: the literals fill its holes.
    Shape(Arc<Plan>),
}

impl Known {
    /// The plan, whichever it is.
    pub fn plan(&self) -> &Arc<Plan> {
        match self {
            Self::Text(plan) | Self::Shape(plan) => plan,
        }
    }
}
