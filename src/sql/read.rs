//! stub
use super::context::Context;
use super::plan::*;
pub(super) fn is_query(_: &sqlparser::ast::Query) -> bool { true }
pub(super) fn plan(_: &Context<'_>, _: &sqlparser::ast::Query) -> Plan { Plan::Forward(Reason::NoCounter) }
