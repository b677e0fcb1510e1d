//! The benchmark's schema: claimed only if nobody else uses the name, removed only if the benchmark created it.

use super::error::Error;
use super::options::Options;
use super::tables::{MARK, TABLES};
use crate::clients::{self, Client};
use crate::lent::Account;
use countersink_server_errors::{
    ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION, ER_OPTION_PREVENTS_STATEMENT, ER_READ_ONLY_MODE,
    lacks_privilege,
};

/// Seconds after which the removal gives up waiting for somebody else's lock.
const PATIENCE: u32 = 60;

/// Maximum duration of a run in seconds: a week.
const LONGEST: u32 = 604_800;

/// The errors under `read_only` and `innodb_read_only`.
const READ_ONLY: [u16; 3] = [
    ER_OPTION_PREVENTS_STATEMENT,
    ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION,
    ER_READ_ONLY_MODE,
];

/// A schema that this process may create, and must remove.
pub(super) struct Schema<'a, A: Account> {
    account: A,
    options: &'a Options,
    /// Holds the lock that keeps other runs away. The lock ends with the connection.
    lock: Client<A>,
}

impl<'a, A: Account> Schema<'a, A> {
    /// Makes sure that nobody else uses the name, and removes what a killed run left behind.
    pub async fn claim(account: &A, options: &'a Options) -> Result<Self, Error> {
        let account = account.clone();
        let name = &options.schema;
        let mut lock = Client::connect(&account).await?;
        // The connection is idle for as long as the run takes.
        lock.rows(&format!("SET wait_timeout = {LONGEST}")).await?;
        take_lock(&mut lock, name).await?;
        drop_ours(&mut lock, name).await?;
        Ok(Self {
            account,
            options,
            lock,
        })
    }

    /// Creates the schema and the tables of all modes.
    pub async fn make(&self) -> Result<(), Error> {
        let mut client = Client::connect(&self.account).await?;
        let made = self.create(&mut client).await;
        let Err(why) = made else {
            client.quit().await;
            return Ok(());
        };
        let schema = self.options.schema.clone();
        match why.code().unwrap_or_default() {
            code if lacks_privilege(code) => Err(Error::Denied {
                account: account(&mut client).await,
                schema,
                why: why.to_string(),
            }),
            code => Err(Error::NotMade {
                schema,
                why: Box::new(why),
                remedy: match READ_ONLY.contains(&code) {
                    true => "name the server that is written to, not a replica, by --upstream",
                    false => "see what the server says",
                },
            }),
        }
    }

    async fn create(&self, client: &mut Client<A>) -> Result<(), clients::Error> {
        let name = &self.options.schema;
        client.rows(&format!("CREATE DATABASE `{name}`")).await?;
        client.rows(&format!("USE `{name}`")).await?;
        client
            .rows(&format!("CREATE TABLE {MARK} (id INT PRIMARY KEY)"))
            .await?;
        let modes = self.options.modes.iter();
        for statement in modes.flat_map(|mode| mode.create(self.options)) {
            client.rows(&statement).await?;
        }
        Ok(())
    }

    /// Removes the schema if it exists and nobody else has begun to use it.
    pub async fn remove(mut self) -> Result<(), Error> {
        // On another connection, because a statement on the existing one may have been abandoned in the middle.
        let mut client = Client::connect(&self.account).await?;
        let name = &self.options.schema;
        let question = format!(
            "SELECT COALESCE(IS_USED_LOCK('{}') = CONNECTION_ID(), 0)",
            lock_of(name)
        );
        if self.lock.number(&question).await.unwrap_or_default() != 1 {
            take_lock(&mut client, name).await?;
        }
        client
            .rows(&format!("SET lock_wait_timeout = {PATIENCE}"))
            .await?;
        let removed = drop_ours(&mut client, name).await;
        client.quit().await;
        self.lock.quit().await;
        removed
    }
}

/// The name of the user lock that keeps other runs away.
fn lock_of(schema: &str) -> String {
    format!("countersink_bench.{schema}")
}

async fn take_lock<A: Account>(client: &mut Client<A>, schema: &str) -> Result<(), Error> {
    let question = format!("SELECT GET_LOCK('{}', 1)", lock_of(schema));
    match client.number(&question).await? {
        1 => Ok(()),
        _ => Err(Error::Busy {
            schema: schema.to_owned(),
        }),
    }
}

/// Drops the schema if it exists and the benchmark created it. Fails if somebody else created it.
async fn drop_ours<A: Account>(client: &mut Client<A>, name: &str) -> Result<(), Error> {
    let known =
        format!("SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = '{name}'");
    if client.number(&known).await? == 0 {
        return Ok(());
    }
    let tables = client
        .rows(&format!("SHOW TABLES FROM `{name}`"))
        .await?
        .into_iter()
        .flatten()
        .flatten()
        .map(|table| String::from_utf8_lossy(&table).into_owned());
    foreign(&tables.collect::<Vec<_>>()).map_err(|why| Error::Foreign {
        schema: name.to_owned(),
        why,
    })?;
    client.rows(&format!("DROP DATABASE `{name}`")).await?;
    Ok(())
}

/// Why a schema with these tables was not created by the benchmark.
fn foreign(tables: &[String]) -> Result<(), String> {
    if let Some(table) = tables
        .iter()
        .find(|table| !TABLES.contains(&table.as_str()))
    {
        return Err(format!("its table {table} is not of this command's making"));
    }
    match tables.iter().any(|table| table == MARK) {
        true => Ok(()),
        false => Err("this command did not make it".to_owned()),
    }
}

/// The account as GRANT spells it.
async fn account<A: Account>(client: &mut Client<A>) -> String {
    let rows = client
        .rows("SELECT CURRENT_USER()")
        .await
        .unwrap_or_default();
    let value = rows
        .into_iter()
        .flatten()
        .flatten()
        .next()
        .unwrap_or_default();
    let value = String::from_utf8_lossy(&value).into_owned();
    match value.rsplit_once('@') {
        Some((user, host)) => format!("'{user}'@'{host}'"),
        None => "..".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_schema_with_our_mark_and_nothing_else_is_ours() {
        let tables =
            |names: &[&str]| foreign(&names.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(tables(&[MARK]), Ok(()));
        assert_eq!(tables(&TABLES), Ok(()));
        for (names, why) in [
            (&[][..], "did not make it"),
            (&["bench_direct"][..], "did not make it"),
            (&[MARK, "orders"][..], "its table orders is not"),
        ] {
            let refused = tables(names).unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
    }
}
