//! RELOAD, SET RULE .. MODE, DRAIN: what changes rules while the proxy runs.

use super::desk::Desk;
use super::statement::Order;
use super::table::{Answer, Code, Refusal};

/// Does what was ordered. Tables have their schema by now.
pub(super) async fn obey(order: Order, _desk: &Desk) -> Result<Answer, Refusal> {
    let (what, instead) = match order {
        Order::Reload => (
            "RELOAD",
            "restart the proxy (serve --take-over) for other rules",
        ),
        Order::SetMode { .. } => ("SET RULE", "write the mode into rules.yaml and restart"),
        Order::Drain(_) => (
            "DRAIN",
            "set mode: off, restart, and `countersink rollup --now`",
        ),
    };
    let message = format!("{what} is not served yet; {instead}");
    Err(Refusal::new(Code::NotServedYet, message))
}
