//! Accounts with every combination of rights.

use countersink_sandbox::Flavour;

/// An account.
pub struct Account {
    /// Its rights, in short.
    pub name: String,
    /// Statements that give it these, past the proxy. `~` stands for the schema.
    pub grants: Vec<String>,
    /// The same on the slot table, which is there on one side alone.
    pub on_slots: Vec<String>,
    /// All that it may do to all of both tables.
    everywhere: Vec<&'static str>,
}

impl Account {
    /// Whether it has these rights on all of both tables.
    pub fn may(&self, needs: &[&str]) -> bool {
        needs.iter().all(|right| self.everywhere.contains(right))
    }
}

/// What is granted on the slot table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnSlots {
    Nothing,
    All,
}

/// A privilege, and on what.
#[derive(Clone, Copy)]
enum On {
    Nothing,
    Columns(&'static str),
    Table,
    Schema,
    Global,
}

impl On {
    fn name(self, letter: &str) -> String {
        match self {
            Self::Nothing => String::new(),
            Self::Columns(columns) => format!("{letter}({columns}) "),
            Self::Table => format!("{letter} "),
            Self::Schema => format!("{letter}:schema "),
            Self::Global => format!("{letter}:global "),
        }
    }

    fn grant(self, privilege: &str) -> Option<String> {
        Some(match self {
            Self::Nothing => return None,
            Self::Columns(columns) => {
                format!("GRANT {privilege} ({columns}) ON ~.posts TO @app")
            }
            Self::Table => format!("GRANT {privilege} ON ~.posts TO @app"),
            Self::Schema => format!("GRANT {privilege} ON ~.* TO @app"),
            Self::Global => format!("GRANT {privilege} ON *.* TO @app"),
        })
    }
}

const SELECTS: &[On] = &[
    On::Nothing,
    On::Columns("id"),
    On::Columns("id, views"),
    On::Columns("id, title, likes"),
    On::Columns("views"),
    On::Table,
    On::Schema,
    On::Global,
];

const UPDATES: &[On] = &[
    On::Nothing,
    On::Columns("likes"),
    On::Columns("views"),
    On::Columns("views, likes"),
    On::Columns("title"),
    On::Table,
    On::Schema,
    On::Global,
];

const OTHERS: &[(On, On)] = &[
    (On::Nothing, On::Nothing),
    (On::Table, On::Nothing),
    (On::Columns("id, title"), On::Nothing),
    (On::Nothing, On::Table),
    (On::Schema, On::Schema),
];

/// Every combination.
pub fn all(flavour: Flavour) -> Vec<Account> {
    let mut accounts = Vec::new();
    for on_slots in [OnSlots::All, OnSlots::Nothing] {
        for select in SELECTS {
            for update in UPDATES {
                for (insert, delete) in OTHERS {
                    let rights = [
                        (select, "SELECT"),
                        (update, "UPDATE"),
                        (insert, "INSERT"),
                        (delete, "DELETE"),
                    ];
                    accounts.push(account(&rights, on_slots));
                }
            }
        }
    }
    accounts.extend(others(flavour));
    accounts
}

fn account(rights: &[(&On, &str); 4], on_slots: OnSlots) -> Account {
    let names = rights
        .iter()
        .map(|(on, privilege)| on.name(&privilege[..1]));
    let name: String = names.collect();
    let grants = rights
        .iter()
        .filter_map(|(on, privilege)| on.grant(privilege));
    let covers = |on: On| match on_slots {
        OnSlots::All => matches!(on, On::Table | On::Schema | On::Global),
        OnSlots::Nothing => matches!(on, On::Schema | On::Global),
    };
    let [(select, _), (update, _), ..] = rights;
    let mut everywhere = Vec::new();
    if covers(**select) {
        everywhere.push("SELECT");
    }
    // MySQL refuses SELECT on a column, in an UPDATE of two tables, to who may UPDATE more than SELECT.
    if covers(**update) && (matches!(update, On::Table) || !matches!(select, On::Table)) {
        everywhere.push("UPDATE");
    }
    Account {
        everywhere,
        name: match on_slots {
            OnSlots::All => format!("{name}/slots"),
            OnSlots::Nothing => format!("{name}/-"),
        },
        grants: grants.collect(),
        on_slots: match on_slots {
            OnSlots::All => vec![ALL_ON_SLOTS.to_owned()],
            OnSlots::Nothing => Vec::new(),
        },
    }
}

const ALL_ON_SLOTS: &str = "GRANT SELECT, INSERT, UPDATE, DELETE ON ~.posts_slots TO @app";

/// Rights by roles, active or not, and partial revokes.
fn others(flavour: Flavour) -> Vec<Account> {
    let one = |name: &str, grants: &[&str]| Account {
        name: format!("{name} /slots"),
        grants: grants.iter().map(|&text| text.to_owned()).collect(),
        on_slots: vec![ALL_ON_SLOTS.to_owned()],
        everywhere: Vec::new(),
    };
    let of_role = [
        "GRANT SELECT ON ~.posts TO @app",
        "GRANT UPDATE ON ~.posts TO @role",
        "GRANT @role TO @app",
    ];
    let default = match flavour {
        Flavour::MySql => "SET DEFAULT ROLE @role TO @app",
        Flavour::MariaDb => "SET DEFAULT ROLE @role FOR @app",
    };
    let mut accounts = vec![
        one("role, not active", &of_role),
        one("role, active", &[&of_role[..], &[default]].concat()),
    ];
    if flavour == Flavour::MySql {
        accounts.extend([
            one(
                "global but for the schema",
                &[
                    "SET GLOBAL partial_revokes = ON",
                    "GRANT SELECT, UPDATE ON *.* TO @app",
                    "REVOKE UPDATE ON ~.* FROM @app",
                ],
            ),
            one(
                "global but for the schema, and a column",
                &[
                    "SET GLOBAL partial_revokes = ON",
                    "GRANT SELECT, UPDATE ON *.* TO @app",
                    "REVOKE UPDATE ON ~.* FROM @app",
                    "GRANT UPDATE (likes) ON ~.posts TO @app",
                ],
            ),
        ]);
    }
    accounts
}
