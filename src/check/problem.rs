//! What `serve` would refuse, as findings: reason and advice are the error's own words.

use super::code::Code;
use super::evidence::Evidence;
use super::finding::Finding;
use crate::catalog::Problem;
use crate::catalog::grants;
use crate::config::{Rule, TableName};
use crate::counter::grants::{ON_HOT_TABLE, grant};
use crate::counter::{provision, quote};

/// What is wrong with a rule's table.
pub(super) fn finding(problem: &Problem, rule: &Rule, evidence: &Evidence) -> Finding {
    let finding = Finding::parted(code(problem), Some(&rule.table), &problem.to_string());
    let table = quote::table(&rule.table);
    match problem {
        Problem::Engine { .. } => {
            finding.instead_of_advice(format!("ALTER TABLE {table} ENGINE = InnoDB"))
        }
        Problem::UpdateTrigger { trigger, .. } => finding.statements([format!(
            "DROP TRIGGER {}",
            quote::pair(&rule.table.schema, trigger)
        )]),
        Problem::InUniqueIndex { index, .. } | Problem::IndexFrom { index, .. } => finding
            .statements([format!(
                "ALTER TABLE {table} DROP INDEX {}",
                quote::name(index)
            )]),
        Problem::TriggersUnseen { .. } => {
            finding.instead_of_advice(grant(&["TRIGGER"], &rule.table, &evidence.account))
        }
        Problem::NoTable { .. } if is_hidden(&rule.table, evidence) => {
            finding.instead_of_advice(grant(ON_HOT_TABLE, &rule.table, &evidence.account))
        }
        Problem::Masked { column, .. } => finding.statements([format!(
            "ALTER TABLE {table} ALTER COLUMN {} DROP MASKING POLICY",
            quote::name(column)
        )]),
        _ => finding,
    }
}

/// What is wrong with the server.
pub(super) fn of_server(problem: &Problem) -> Finding {
    let finding = Finding::parted(code(problem), None, &problem.to_string());
    match problem {
        Problem::ChecksOff => {
            finding.instead_of_advice("SET GLOBAL check_constraint_checks = ON".to_owned())
        }
        _ => finding,
    }
}

/// What is wrong with a slot table; none when it could not be asked about.
pub(super) fn of_slots(problem: &provision::Problem, rule: &Rule) -> Option<Finding> {
    use provision::Problem as Provision;
    let code = match problem {
        Provision::NotOurs { .. } => Code::NotASlotTable,
        Provision::Drift { .. } => Code::SlotTableDrift,
        Provision::Forgotten { .. } => Code::ForgottenCounter,
        Provision::Unserved { .. } => Code::UnservedValues,
        Provision::Forbidden { .. }
        | Provision::MayNotLock { .. }
        | Provision::KeyTooLong { .. }
        | Provision::InUse { .. }
        | Provision::Withdrawn { .. }
        | Provision::NoConnection { .. }
        | Provision::Failed { .. }
        | Provision::Agreement(_)
        | Provision::Catalog(_) => return None,
    };
    Some(Finding::parted(
        code,
        Some(&rule.table),
        &problem.to_string(),
    ))
}

/// Whether a table may be there after all: the control account could not see it.
fn is_hidden(table: &TableName, evidence: &Evidence) -> bool {
    let given = &evidence.examination.server.grants;
    grants::lacking(given, &table.schema, Some(&table.name), ON_HOT_TABLE).len()
        == ON_HOT_TABLE.len()
}

fn code(problem: &Problem) -> Code {
    match problem {
        // Those without a server and those of a failed query do not come here.
        Problem::NoTable { .. } | Problem::NotInSnapshot { .. } | Problem::Query { .. } => {
            Code::NoTable
        }
        Problem::NotATable { .. } => Code::NotATable,
        Problem::Engine { .. } => Code::Engine,
        Problem::NoColumn { .. } => Code::NoColumn,
        Problem::NotNumeric { .. } => Code::NotNumeric,
        Problem::Approximate { .. } => Code::Approximate,
        Problem::NotATime { .. } => Code::NotATime,
        Problem::Zerofill { .. } => Code::Zerofill,
        Problem::Generated { .. } => Code::Generated,
        Problem::AutoIncrement { .. } => Code::AutoIncrement,
        Problem::InPrimaryKey { .. } => Code::InPrimaryKey,
        Problem::InUniqueIndex { .. } => Code::InUniqueIndex,
        Problem::InForeignKey { .. } => Code::InForeignKey,
        Problem::NoPrimaryKey { .. } => Code::NoPrimaryKey,
        Problem::PrefixKey { .. } => Code::PrefixKey,
        Problem::AdoptedKey { .. } => Code::AdoptedKey,
        Problem::GeneratedFrom { .. } => Code::GeneratedFrom,
        Problem::IndexFrom { .. } => Code::IndexFrom,
        Problem::Masked { .. } => Code::Masked,
        Problem::UpdateTrigger { .. } => Code::UpdateTrigger,
        Problem::TriggersUnseen { .. } => Code::ControlGrants,
        Problem::TooOld { .. } => Code::ServerVersion,
        Problem::OtherEngine { .. } => Code::OtherEngine,
        Problem::SocketAccounts { .. } => Code::SocketAccounts,
        Problem::NoProxyProtocol | Problem::NoProxyNetworks => Code::ProxyProtocol,
        Problem::ChecksOff => Code::ChecksOff,
        Problem::SameTable { .. } => Code::SameTable,
    }
}
