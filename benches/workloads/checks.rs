//! Whether the rows are right in the end.

use std::time::Duration;

use countersink_sandbox::Address;

use crate::figures::Figures;
use crate::session::{Interrupted, Session};
use crate::ways::Ways;
use crate::workload::{Check, Workload};

/// Checks each schema: Countersink's through the proxy first, and after a drain, as the others, directly. Prints what
/// is wrong.
pub async fn check<W: Workload>(
    workload: &W,
    ways: &Ways,
    upstream: &Address,
    figures: &Figures,
) -> Result<(), String> {
    let mut wrong = 0;
    for (which, way) in ways.all.iter().enumerate() {
        let checks = workload.checks(figures.acknowledged(which));
        let mut places = vec![(way.name, way.address.clone(), "")];
        if which + 1 == ways.all.len() {
            places.push((way.name, upstream.clone(), ", on the server after a drain"));
        }
        for (name, address, after) in places {
            if !after.is_empty() {
                print!("{}", ways.drain()?);
            }
            let failed = run(&checks, &address, &way.schema).await?;
            println!(
                "{name}{after}: {} of {} checks passed",
                checks.len() - failed,
                checks.len()
            );
            wrong += failed;
        }
    }
    match wrong {
        0 => Ok(()),
        wrong => Err(format!("{wrong} checks failed")),
    }
}

/// How many of the checks fail.
async fn run(checks: &[Check], on: &Address, schema: &str) -> Result<usize, String> {
    let mut session = Session::open(on, Some(schema), Duration::ZERO).await?;
    let mut failed = 0;
    for check in checks {
        let row = session.row(&check.query).await.map_err(Interrupted::told)?;
        let found = row.number(0).map_err(Interrupted::told)?;
        if found != check.expected {
            println!(
                "FAILED: {}: {found}, not {}\n    {}",
                check.what, check.expected, check.query
            );
            failed += 1;
        }
    }
    session.quit().await;
    Ok(failed)
}
