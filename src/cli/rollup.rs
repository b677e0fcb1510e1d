//! `countersink rollup`: shows what slots hold, or moves it into the base rows now.

use clap::Args;

use super::{Error, RulesArguments, write};
use crate::catalog;
use crate::config::Config;
use crate::counter::control::Control;
use crate::counter::rollup::{Adoption, RollUp};

/// What `--help` ends with.
pub(super) const EXAMPLES: &str = "\
Examples:
  countersink rollup                                what slots hold that base rows do not have yet
  countersink rollup --now                          moves it, as a running proxy does by itself

Proxies may run meanwhile: a roll-up waits for nobody and changes no value. What an open
transaction has incremented stays in its slot until that ends.";

#[derive(Debug, Args)]
pub(super) struct RollUpArguments {
    #[command(flatten)]
    pub(super) file: RulesArguments,
    /// Move it into the base rows.
    #[arg(long)]
    now: bool,
}

/// Prints a line for each table as soon as it is done, because a later one may fail.
pub(super) async fn roll_up(config: &Config, arguments: &RollUpArguments) -> Result<(), Error> {
    let control = Control::open(config).await?;
    let rolled_up = roll_up_each(&control, config, arguments.now).await;
    control.close().await;
    rolled_up
}

async fn roll_up_each(control: &Control, config: &Config, now: bool) -> Result<(), Error> {
    let mut conn = control.connect().await?;
    let catalog = catalog::load(&mut conn, config).await?;
    let mut rolling = RollUp::new(control.clone(), Default::default());
    let mut adoption = Adoption::new(control.clone(), Default::default());
    for table in &catalog.tables {
        let name = format!("{}.{}", table.schema, table.name);
        let done = match now {
            true => rolling.now(table).await.map(|rolled| rolled.to_string()),
            false => rolling.held(table).await.map(|rows| match rows {
                0 => "all slots are empty".to_owned(),
                1 => "1 slot row holds something".to_owned(),
                rows => format!("{rows} slot rows hold something"),
            }),
        };
        let done = match done {
            // Before it is needed first, and after a drain.
            Err(error) if error.is_missing_table() => "there is no slot table".to_owned(),
            done => done.map_err(|source| Error::RollUp {
                table: name.clone(),
                source,
            })?,
        };
        write(format!("{name}: {done}\n"))?;
        let adopted = table.adopted.as_ref().filter(|_| now);
        if let Some(adopted) = adopted {
            let moved = adoption.now(table).await;
            let moved = moved.map_err(|source| Error::RollUp {
                table: name.clone(),
                source,
            })?;
            write(format!("{name}: {}: {moved}\n", adopted.table))?;
        }
    }
    Ok(())
}
