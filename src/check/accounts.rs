//! Findings about privileges: of the control account, and of the accounts that use hot tables.

use super::code::Code;
use super::evidence::{Accounts, Evidence, Grant, Scope, Seen};
use super::finding::Finding;
use crate::catalog::{Examined, HotTable, grants};
use crate::config::{Config, Rule, TableName};
use crate::counter::grants::{ON_HOT_TABLE, ON_SLOT_TABLE, TO_MAKE_SLOT_TABLE, grant};
use crate::counter::provision::State;

/// What an account does to a table to be one of its writers.
const WRITES: &[&str] = &["INSERT", "UPDATE", "DELETE"];

/// What the control account lacks on a rule's tables. That it may not see triggers is a problem of the catalog's.
pub(super) fn control(
    rule: &Rule,
    examined: &Examined,
    seen: &Seen,
    evidence: &Evidence,
) -> Vec<Finding> {
    if examined.facts.is_none() || !rule.has_slots() {
        return Vec::new();
    }
    let to_use: Vec<&str> = ON_HOT_TABLE
        .iter()
        .copied()
        .filter(|privilege| *privilege != "TRIGGER")
        .collect();
    let (on_slots, advice) = match seen.slots {
        Some(State::Verified | State::Refused(_)) => (ON_SLOT_TABLE.to_vec(), "allow it"),
        // A table on which the account has no right at all is not shown to it either.
        _ => (
            [ON_SLOT_TABLE, TO_MAKE_SLOT_TABLE].concat(),
            "allow it, or let a DBA run what `countersink provision --print` shows",
        ),
    };
    let given = &evidence.examination.server.grants;
    [
        (&rule.table, to_use, "allow it"),
        (&rule.slot_table, on_slots, advice),
    ]
    .into_iter()
    .filter_map(|(table, wanted, advice)| {
        let lacking = grants::lacking(given, &table.schema, Some(&table.name), &wanted);
        if lacking.is_empty() {
            return None;
        }
        let reason = format!(
            "the control account {} lacks {} on {table}",
            evidence.account,
            lacking.join(", ")
        );
        let finding = Finding::new(Code::ControlGrants, Some(&rule.table), reason)
            .advice(advice)
            .statements([grant(&lacking, table, &evidence.account)]);
        Some(finding)
    })
    .collect()
}

/// Accounts that may use the hot table, but not its slot table.
pub(super) fn clients(
    config: &Config,
    table: &HotTable,
    rule: &Rule,
    evidence: &Evidence,
) -> Vec<Finding> {
    let Some(accounts) = &evidence.accounts else {
        return Vec::new();
    };
    let hot = TableName {
        schema: table.schema.clone(),
        name: table.name.clone(),
    };
    let mut known: Vec<&str> = Vec::new();
    let mut findings = Vec::new();
    for line in &accounts.grants {
        let passes = line.user == config.control.user || config.bypass.users.contains(&line.user);
        if passes || known.contains(&line.account.as_str()) {
            continue;
        }
        known.push(&line.account);
        let may = accounts.own(&line.account, &hot, true);
        let needed: &[&str] = match may {
            may if may.iter().any(|privilege| WRITES.contains(privilege)) => ON_SLOT_TABLE,
            may if may.contains(&"SELECT") => &["SELECT"],
            _ => continue,
        };
        let has = accounts.effective(&line.account, &rule.slot_table);
        let lacking: Vec<&str> = needed
            .iter()
            .copied()
            .filter(|privilege| !has.contains(privilege))
            .collect();
        if lacking.is_empty() {
            continue;
        }
        let (account, slots) = (&line.account, &rule.slot_table);
        let reason = format!(
            "{account} may use {} and lacks {} on its slot table: its reads of counters through the proxy fail (1142), \
             and its increments go to the base row",
            rule.table,
            lacking.join(", ")
        );
        findings.push(
            Finding::new(Code::ClientGrants, Some(&rule.table), reason)
                .advice(format!("allow it, once {slots} is there"))
                .statements([grant(&lacking, slots, account)]),
        );
    }
    findings
}

impl Accounts {
    /// What an account may do to all of a table (with `columns`, to some of its columns) by its own grants.
    fn own(&self, account: &str, table: &TableName, columns: bool) -> Vec<&str> {
        let grants = self
            .grants
            .iter()
            .filter(|grant| grant.account == account && grant.covers(table, columns));
        grants
            .flat_map(|grant| grant.privileges.iter().map(String::as_str))
            .collect()
    }

    /// What an account may do to all of a table by its own grants and those of its roles, whether active or not.
    fn effective<'a>(&'a self, account: &'a str, table: &TableName) -> Vec<&'a str> {
        let mut members = vec![account];
        let mut at = 0;
        while let Some(member) = members.get(at).copied() {
            let granted = self.roles.iter().filter(|(to, _)| to == member);
            for (_, role) in granted {
                if !members.contains(&role.as_str()) {
                    members.push(role);
                }
            }
            at += 1;
        }
        let own = |member| self.own(member, table, false);
        members.into_iter().flat_map(own).collect()
    }
}

impl Grant {
    fn covers(&self, table: &TableName, columns: bool) -> bool {
        // Letter case matters on some servers; two tables told apart by it are rare, and then a GRANT too many is said.
        let is = |schema: &str, name: &str| {
            schema.to_lowercase() == table.schema.to_lowercase()
                && name.to_lowercase() == table.name.to_lowercase()
        };
        match &self.scope {
            Scope::Server => true,
            Scope::Schema(pattern) => grants::matches(pattern, &table.schema),
            Scope::Table(schema, name) => is(schema, name),
            Scope::Columns(schema, name) => columns && is(schema, name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(account: &str, scope: Scope, privileges: &[&str]) -> Grant {
        Grant {
            user: account.to_owned(),
            account: account.to_owned(),
            scope,
            privileges: privileges.iter().map(|&text| text.to_owned()).collect(),
        }
    }

    fn table(name: &str) -> TableName {
        TableName {
            schema: "shop".to_owned(),
            name: name.to_owned(),
        }
    }

    #[test]
    fn roles_of_roles_count_and_a_circle_of_them_ends() {
        let on = |name: &str| Scope::Table("shop".to_owned(), name.to_owned());
        let pair = |to: &str, role: &str| (to.to_owned(), role.to_owned());
        let accounts = Accounts {
            grants: vec![
                grant("app", on("posts"), &["SELECT"]),
                grant("writers", on("posts_slots"), &["INSERT"]),
                grant("readers", Scope::Schema("sh%".to_owned()), &["SELECT"]),
            ],
            roles: vec![
                pair("app", "writers"),
                pair("writers", "readers"),
                pair("readers", "writers"),
            ],
        };
        assert_eq!(
            accounts.effective("app", &table("posts_slots")),
            ["INSERT", "SELECT"]
        );
        assert_eq!(accounts.own("app", &table("posts_slots"), true), [""; 0]);
    }

    #[test]
    fn a_grant_on_columns_is_none_on_the_table() {
        let scope = Scope::Columns("shop".to_owned(), "posts".to_owned());
        let accounts = Accounts {
            grants: vec![grant("app", scope, &["UPDATE"])],
            roles: Vec::new(),
        };
        assert_eq!(accounts.own("app", &table("posts"), true), ["UPDATE"]);
        assert_eq!(accounts.own("app", &table("posts"), false), [""; 0]);
    }
}
