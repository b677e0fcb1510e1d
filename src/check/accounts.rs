//! Findings about privileges: of the control account, and of the accounts that use hot tables.

use std::collections::BTreeSet;

use super::code::Code;
use super::evidence::{Accounts, Evidence, Grant, Scope, Seen};
use super::finding::Finding;
use crate::catalog::{Examined, HotTable, grants};
use crate::config::{Config, Rule, TableName};
use crate::counter::grants::{
    ON_ADOPTED_TABLE, ON_HOT_TABLE, ON_SLOT_TABLE, TO_MAKE_SLOT_TABLE, grant,
};
use crate::counter::provision::State;
use crate::counter::quote;

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
    let adopted = rule.adopts.iter();
    let adopted = adopted.map(|adopted| (&adopted.table, ON_ADOPTED_TABLE.to_vec(), "allow it"));
    [
        (&rule.table, to_use, "allow it"),
        (&rule.slot_table, on_slots, advice),
    ]
    .into_iter()
    .chain(adopted)
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
        let own = |privilege: &str| accounts.own(&line.account, &hot, privilege);
        let lacking: Vec<String> = needed(table, own, evidence.examination.server.mariadb)
            .into_iter()
            .filter_map(|(privilege, needed)| {
                let has = accounts.effective(&line.account, &rule.slot_table, privilege);
                needed.without(&has).map(|lacking| lacking.of(privilege))
            })
            .collect();
        if lacking.is_empty() {
            continue;
        }
        let lacking: Vec<&str> = lacking.iter().map(String::as_str).collect();
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

/// Of which columns of a table an account has a privilege.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Reach {
    /// Of none.
    #[default]
    Nothing,
    /// Of these, in lower case.
    Columns(BTreeSet<String>),
    /// Of the table.
    All,
}

impl Reach {
    fn of_columns(columns: impl IntoIterator<Item = String>) -> Self {
        let columns: BTreeSet<_> = columns.into_iter().collect();
        match columns.is_empty() {
            true => Self::Nothing,
            false => Self::Columns(columns),
        }
    }

    fn has(&self, column: &str) -> bool {
        match self {
            Self::Nothing => false,
            Self::Columns(columns) => columns.contains(&column.to_lowercase()),
            Self::All => true,
        }
    }

    /// With the columns of another.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::All, _) | (_, Self::All) => Self::All,
            (Self::Nothing, one) | (one, Self::Nothing) => one,
            (Self::Columns(mut columns), Self::Columns(others)) => {
                columns.extend(others);
                Self::Columns(columns)
            }
        }
    }

    /// What of it `has` does not reach.
    fn without(self, has: &Self) -> Option<Self> {
        let lacking = match (self, has) {
            (_, Self::All) => Self::Nothing,
            (Self::Columns(columns), has) => {
                Self::of_columns(columns.into_iter().filter(|column| !has.has(column)))
            }
            (lacking, _) => lacking,
        };
        (lacking != Self::Nothing).then_some(lacking)
    }

    /// As GRANT wants it.
    fn of(&self, privilege: &str) -> String {
        match self {
            Self::Columns(columns) => {
                let columns: Vec<_> = columns.iter().map(|column| quote::name(column)).collect();
                format!("{privilege} ({})", columns.join(", "))
            }
            _ => privilege.to_owned(),
        }
    }
}

/// What an account needs on the slot table, by what it may do to the hot one: nothing that would let it read or write
/// more than it may there.
fn needed(
    table: &HotTable,
    may: impl Fn(&str) -> Reach,
    mariadb: bool,
) -> Vec<(&'static str, Reach)> {
    let (select, update) = (may("SELECT"), may("UPDATE"));
    let name = |column: &usize| table.columns[*column].name.to_lowercase();
    let key: Vec<_> = table.primary_key.iter().map(name).collect();
    if !key.iter().all(|column| select.has(column)) {
        return Vec::new(); // Its reads and increments have no way to the slots.
    }
    let slot = table.slot_column().to_owned();
    let counters = table.counters.iter().map(|counter| counter.column);
    let hot: Vec<_> = counters.chain(table.touches.iter().copied()).collect();
    let read: Vec<_> = hot
        .iter()
        .map(name)
        .filter(|column| select.has(column))
        .collect();
    let touches: Vec<_> = table.touches.iter().map(name).collect();
    let mut added: Vec<_> = table
        .counters
        .iter()
        .map(|counter| name(&counter.column))
        .filter(|column| select.has(column) && update.has(column))
        .collect();
    // MariaDB has an upsert need SELECT and UPDATE on every column; without them increments go to the row.
    let suffices = !mariadb || (select == Reach::All && update == Reach::All);
    let may_add = suffices && !added.is_empty() && touches.iter().all(|touch| select.has(touch));
    added.extend(touches);
    let within = |reach: &Reach, columns: &[&[String]]| match reach {
        Reach::All => Reach::All,
        _ => Reach::of_columns(columns.concat()),
    };
    let mut needed = Vec::new();
    if !read.is_empty() {
        let all = [&key[..], std::slice::from_ref(&slot), &read];
        needed.push(("SELECT", within(&select, &all)));
    }
    if may_add {
        let open = table.open_column().to_owned();
        let all = [&key[..], std::slice::from_ref(&slot), &added];
        needed.push(("INSERT", within(&update, &all)));
        let all = [&added[..], std::slice::from_ref(&open)];
        needed.push(("UPDATE", within(&update, &all)));
    }
    // TRUNCATE and DROP empty the slot table.
    let empties = may("DROP") == Reach::All || may("DELETE") == Reach::All;
    if may_add && update == Reach::All && empties {
        needed.push(("DELETE", Reach::All));
    }
    needed
}

impl Accounts {
    /// Of what an account has a privilege by its own grants.
    fn own(&self, account: &str, table: &TableName, privilege: &str) -> Reach {
        let grants = self.grants.iter().filter(|grant| {
            grant.account == account && grant.privileges.iter().any(|given| given == privilege)
        });
        grants.fold(Reach::Nothing, |reach, grant| reach.and(grant.reach(table)))
    }

    /// The same by its own grants and those of its roles, whether active or not.
    fn effective(&self, account: &str, table: &TableName, privilege: &str) -> Reach {
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
        let own = |member| self.own(member, table, privilege);
        members
            .into_iter()
            .map(own)
            .fold(Reach::Nothing, Reach::and)
    }
}

impl Grant {
    /// Of what of a table it is.
    fn reach(&self, table: &TableName) -> Reach {
        // Letter case matters on some servers. Two tables that differ only in case are rare, and then one GRANT too
        // many is printed.
        let is = |schema: &str, name: &str| {
            schema.to_lowercase() == table.schema.to_lowercase()
                && name.to_lowercase() == table.name.to_lowercase()
        };
        match &self.scope {
            Scope::Server => Reach::All,
            Scope::Schema(pattern) if grants::matches(pattern, &table.schema) => Reach::All,
            Scope::Table(schema, name) if is(schema, name) => Reach::All,
            Scope::Column(schema, name, column) if is(schema, name) => {
                Reach::of_columns([column.to_lowercase()])
            }
            _ => Reach::Nothing,
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
        let slots = table("posts_slots");
        for privilege in ["INSERT", "SELECT"] {
            assert_eq!(accounts.effective("app", &slots, privilege), Reach::All);
            assert_eq!(accounts.own("app", &slots, privilege), Reach::Nothing);
        }
        assert_eq!(accounts.effective("app", &slots, "UPDATE"), Reach::Nothing);
    }

    #[test]
    fn a_grant_on_columns_is_none_on_the_table() {
        let on =
            |column: &str| Scope::Column("shop".to_owned(), "posts".to_owned(), column.to_owned());
        let accounts = Accounts {
            grants: vec![
                grant("app", on("Views"), &["UPDATE"]),
                grant("app", on("likes"), &["UPDATE", "SELECT"]),
            ],
            roles: Vec::new(),
        };
        let columns = |names: &[&str]| Reach::of_columns(names.iter().map(|&name| name.to_owned()));
        let own = |privilege| accounts.own("app", &table("posts"), privilege);
        assert_eq!(own("UPDATE"), columns(&["likes", "views"]));
        assert_eq!(
            own("UPDATE").without(&own("SELECT")),
            Some(columns(&["views"]))
        );
        assert_eq!(own("SELECT").without(&own("UPDATE")), None);
        assert_eq!(own("SELECT").of("SELECT"), "SELECT (`likes`)");
    }
}
