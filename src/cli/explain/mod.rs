//! `countersink explain`: what the proxy does with a statement, from rules and catalog or from a running proxy.

mod arguments;
mod ask;
mod error;

use std::io::Read;
use std::path::Path;

use tokio::runtime::Runtime;

use crate::catalog::{self, Catalog, Snapshot};
use crate::config::{Config, Mode};
use crate::counter::control::Control;
use crate::explain::{Situation, explain_plan, show};
use crate::sql;
use crate::sql::plan::SessionVariables;

pub(super) use arguments::{EXAMPLES, ExplainArguments};
pub use error::Error;

/// The text to print.
pub(super) fn run(arguments: &ExplainArguments, runtime: &Runtime) -> Result<String, super::Error> {
    let variables = SessionVariables {
        schema: arguments.schema.clone(),
        ..SessionVariables::default()
    };
    if let Some(proxy) = &arguments.proxy {
        let variables = variables.with_sql_mode(arguments.sql_mode.as_deref().unwrap_or_default());
        let statements = statements(arguments, &variables)?;
        let explained = runtime.block_on(ask::ask(proxy, arguments, &statements))?;
        return Ok(printed(&statements, &explained));
    }
    let rules = &arguments.file.rules;
    let (config, mut catalog, snapshot) = known(arguments, rules, runtime)?;
    if !arguments.in_motion {
        catalog = catalog.at_rest();
    }
    if let Some(file) = &arguments.save_catalog {
        std::fs::write(file, snapshot.to_yaml()).map_err(|source| Error::Unwritable {
            file: file.clone(),
            source,
        })?;
        if arguments.statements.is_empty() {
            return Ok(String::new());
        }
    }
    let modes = arguments.sql_mode.as_deref().unwrap_or(snapshot.sql_mode());
    let variables = SessionVariables {
        schema: arguments.schema.clone().or_else(|| only_schema(&catalog)),
        ..variables
    }
    .with_sql_mode(modes);
    let situation = Situation {
        in_transaction: arguments.transaction,
        ..Situation::default()
    };
    let statements = statements(arguments, &variables)?;
    let explained: Vec<String> = statements
        .iter()
        .map(|statement| {
            let plan = sql::plan(statement.as_bytes(), &variables, &catalog);
            let mut explanation = explain_plan(&plan, &situation);
            explanation.notes.extend(unserved(&config, statement));
            explanation.to_string()
        })
        .collect();
    Ok(printed(&statements, &explained))
}

/// The rules, and the tables as described by a file or by the server.
fn known(
    arguments: &ExplainArguments,
    rules: &Path,
    runtime: &Runtime,
) -> Result<(Config, Catalog, Snapshot), super::Error> {
    let in_file = |error: super::Error| error.in_file(rules);
    if let Some(file) = &arguments.catalog {
        let config = Config::load_offline(rules).map_err(|error| in_file(error.into()))?;
        let text = std::fs::read_to_string(file).map_err(|source| Error::Unreadable {
            name: file.display().to_string(),
            source,
        })?;
        let snapshot = Snapshot::from_yaml(&text).map_err(|source| Error::Catalog {
            file: file.clone(),
            source,
        })?;
        let catalog = catalog::offline(&snapshot, &config);
        let catalog = catalog.map_err(|error| in_file(error.into()))?;
        return Ok((config, catalog, snapshot));
    }
    let config = super::load(rules)?;
    let (catalog, snapshot) = runtime.block_on(survey(&config)).map_err(in_file)?;
    Ok((config, catalog, snapshot))
}

/// Queries the upstream as `serve` does, but changes nothing.
async fn survey(config: &Config) -> Result<(Catalog, Snapshot), super::Error> {
    let control = Control::open(config).await?;
    let mut conn = control.connect().await?;
    let surveyed = catalog::survey(&mut conn, config).await;
    drop(conn);
    control.close().await;
    Ok(surveyed?)
}

/// The statements to explain, one by one.
fn statements(
    arguments: &ExplainArguments,
    variables: &SessionVariables,
) -> Result<Vec<String>, Error> {
    let mut statements = Vec::new();
    for given in &arguments.statements {
        let text = match given.as_str() {
            "-" => standard_input()?,
            text => text.to_owned(),
        };
        let parts = sql::split(text.as_bytes(), variables);
        let parts = parts.into_iter().filter(|part| !part.is_empty);
        statements.extend(parts.filter_map(|part| {
            let part = text.get(part.range)?.trim();
            Some(part.to_owned())
        }));
    }
    match statements.is_empty() {
        true => Err(Error::Nothing),
        false => Ok(statements),
    }
}

fn standard_input() -> Result<String, Error> {
    let mut text = String::new();
    let read = std::io::stdin().read_to_string(&mut text);
    read.map_err(|source| Error::Unreadable {
        name: "standard input".to_owned(),
        source,
    })?;
    Ok(text)
}

/// The schema of all hot tables, if there is only one.
fn only_schema(catalog: &Catalog) -> Option<String> {
    let tables = catalog.tables.iter().chain(&catalog.without_slots);
    let mut schemas: Vec<_> = tables.map(|table| &table.schema).collect();
    schemas.sort_unstable();
    schemas.dedup();
    match schemas.as_slice() {
        [schema] => Some((*schema).clone()),
        _ => None,
    }
}

/// Notes for rules whose tables the statement may name, but whose tables are not rewritten.
fn unserved(config: &Config, statement: &str) -> Vec<String> {
    let statement = statement.to_lowercase();
    let rules = config.rules.iter().filter(|rule| !rule.acts());
    let named = rules.filter(|rule| statement.contains(&rule.table.name.to_lowercase()));
    let note = |rule: &crate::config::Rule| {
        let why = match rule.mode {
            Mode::Off => "has mode: off",
            Mode::Observe | Mode::Enforce => return None,
        };
        Some(format!("{} {why}, so it is no hot table.", rule.table))
    };
    named.filter_map(note).collect()
}

/// A single explanation as it is; several with their statements above them.
fn printed(statements: &[String], explained: &[String]) -> String {
    if let [explanation] = explained {
        return explanation.clone();
    }
    let blocks = statements.iter().zip(explained);
    let blocks: Vec<String> = blocks
        .map(|(statement, explanation)| format!("{statement};\n\n{explanation}"))
        .collect();
    blocks.join(&format!("\n{}\n\n", "-".repeat(72)))
}
