//! The blog of the planner's own tests.

#[path = "../../src/sql/fixture.rs"]
#[allow(dead_code, reason = "the planner's tests take the other parts")]
mod blog;

use crate::catalog::Catalog;
use crate::sql::plan::Plan;

/// Its tables on a server of one kind or the other.
pub(crate) fn catalog(mariadb: bool, lower_case_table_names: bool) -> Catalog {
    Catalog {
        mariadb,
        lower_case_table_names: u8::from(lower_case_table_names),
        ..blog::catalog()
    }
}

/// A plan as text.
pub(crate) fn show(plan: &Plan) -> String {
    blog::show(plan)
}
