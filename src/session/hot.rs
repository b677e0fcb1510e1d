//! The hot tables at one time: whether a statement concerns them, and its plan.

use std::sync::Arc;

use super::plans::{KeptPlan, Plans};
use super::tally::{Tallies, Tally};
use crate::catalog::{Catalog, HotTable};
use crate::sql::plan::{Plan, SessionFacts};
use crate::sql::{self, Prefilter, Shape};

/// The hot tables at one time, and the plans made for them, which go with them.
#[derive(Debug)]
pub struct Hot {
    /// The tables.
    pub catalog: Arc<Catalog>,
    /// Tells statements that cannot concern them.
    pub prefilter: Prefilter,
    /// Plans of texts and shapes seen.
    pub(super) plans: Plans,
    /// What was done to each of them.
    pub(super) tallies: Tallies,
}

impl Hot {
    /// With an empty plan cache.
    pub fn new(catalog: Catalog) -> Self {
        Self {
            prefilter: Prefilter::new(&catalog),
            tallies: Tallies::of(all_tables(&catalog), None),
            catalog: Arc::new(catalog),
            plans: Plans::default(),
        }
    }

    /// In place of another: what was counted of its tables is not lost.
    #[must_use]
    pub(super) fn after(mut self, before: &Self) -> Self {
        self.tallies = Tallies::of(all_tables(&self.catalog), Some(&before.tallies));
        self
    }

    /// The hot tables, those without slots too, with what was done to each.
    pub fn tallies(&self) -> &[(Arc<HotTable>, Arc<Tally>)] {
        self.tallies.all()
    }

    /// The plans that are kept, `most` of them at the most, and how many there are.
    pub fn kept_plans(&self, most: usize) -> (Vec<KeptPlan>, usize) {
        self.plans.kept(most)
    }

    /// The plan of a text under these facts.
    pub fn plan(&self, text: &[u8], facts: &SessionFacts) -> Arc<Plan> {
        let plan = || sql::plan(text, facts, &self.catalog);
        self.plans.get_or_plan(text, facts, plan)
    }

    /// The plan kept for a text itself, or for its shape where that has the text's plan with holes for its literals.
    /// `shape` is where these are lifted to.
    pub fn known(&self, text: &[u8], facts: &SessionFacts, shape: &mut Shape) -> Option<Known> {
        if shape.lift(text, facts)
            && let Some(plan) = self.plans.get(shape.text(), facts)
            && shape.fits(&plan, text)
        {
            return Some(Known::Shape(plan));
        }
        self.plans.get(text, facts).map(Known::Text)
    }

    /// The same, planned now if it is not kept yet: the shape, and where that does not fit, the text.
    pub fn known_or_planned(&self, text: &[u8], facts: &SessionFacts, shape: &mut Shape) -> Known {
        if shape.lift(text, facts) {
            let plan = self.plan(shape.text(), facts);
            if shape.fits(&plan, text) {
                return Known::Shape(plan);
            }
        }
        Known::Text(self.plan(text, facts))
    }
}

fn all_tables(catalog: &Catalog) -> impl Iterator<Item = &Arc<HotTable>> {
    catalog.tables.iter().chain(&catalog.without_slots)
}

/// A plan from the cache.
#[derive(Clone, Debug)]
pub enum Known {
    /// Of the text.
    Text(Arc<Plan>),
    /// Of the text's shape: the literals fill its holes.
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
