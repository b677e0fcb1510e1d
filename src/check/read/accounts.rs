//! The grant tables. Of these information_schema shows each account only its own grants.

use mysql_async::Conn;

use crate::catalog::Problem;
use crate::catalog::read::rows;
use crate::check::evidence::{Accounts, Grant, Scope};
use crate::counter::quote;

/// What of the grant tables is read: for each table what it is about, and how its privileges are listed.
const SOURCES: [(&str, &str, &str); 4] = [
    ("user", "'', '', ''", FLAGS),
    ("db", "Db, '', ''", FLAGS),
    ("tables_priv", "Db, Table_name, ''", "Table_priv"),
    ("columns_priv", "Db, Table_name, Column_name", "Column_priv"),
];

/// Flags of `mysql.user` and `mysql.db` as the lists that the others have.
const FLAGS: &str = "CONCAT_WS(',', IF(Select_priv = 'Y', 'Select', NULL), IF(Insert_priv = 'Y', 'Insert', NULL), \
                     IF(Update_priv = 'Y', 'Update', NULL), IF(Delete_priv = 'Y', 'Delete', NULL), \
                     IF(Drop_priv = 'Y', 'Drop', NULL))";

pub(super) async fn read(conn: &mut Conn, mariadb: bool) -> Result<Accounts, Problem> {
    let mut accounts = Accounts::default();
    for (table, names, privileges) in SOURCES {
        let query = format!("SELECT User, Host, {names}, {privileges} FROM mysql.{table}");
        let tuple = mysql_async::from_row_opt::<(String, String, String, String, String, String)>;
        let found = rows(conn, "the accounts' grants", &query, (), tuple).await?;
        let grant = |row: (String, String, String, String, String, String)| {
            let (user, host, schema, name, column, privileges) = row;
            Grant {
                account: account(mariadb, &user, &host),
                user,
                scope: match table {
                    "user" => Scope::Server,
                    "db" => Scope::Schema(schema),
                    "tables_priv" => Scope::Table(schema, name),
                    _ => Scope::Column(schema, name, column),
                },
                privileges: privileges.split(',').map(str::to_uppercase).collect(),
            }
        };
        accounts.grants.extend(found.into_iter().map(grant));
    }
    accounts.roles = roles(conn, mariadb).await?;
    Ok(accounts)
}

/// Each account with a role of its own.
async fn roles(conn: &mut Conn, mariadb: bool) -> Result<Vec<(String, String)>, Problem> {
    let query = match mariadb {
        true => "SELECT User, Host, Role, '' FROM mysql.roles_mapping",
        false => "SELECT TO_USER, TO_HOST, FROM_USER, FROM_HOST FROM mysql.role_edges",
    };
    let tuple = mysql_async::from_row_opt::<(String, String, String, String)>;
    let found = rows(conn, "the accounts' roles", query, (), tuple).await?;
    let pair = |(user, host, role, role_host): (String, String, String, String)| {
        (
            account(mariadb, &user, &host),
            account(mariadb, &role, &role_host),
        )
    };
    Ok(found.into_iter().map(pair).collect())
}

/// As GRANT wants it; MariaDB's roles are of no host.
fn account(mariadb: bool, user: &str, host: &str) -> String {
    match mariadb && host.is_empty() {
        true => quote::text(user),
        false => format!("{}@{}", quote::text(user), quote::text(host)),
    }
}
