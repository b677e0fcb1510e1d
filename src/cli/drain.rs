//! `countersink drain`: takes rules out of force in every proxy, moves slots into the rows, drops the slot tables.

use std::fmt::Write;
use std::time::{Duration, Instant};

use clap::Args;

use super::{Error, RulesArguments};
use crate::catalog::{self, HotTable};
use crate::config::{Config, DurationRange, Mode, Rule, TableName};
use crate::counter::agreement::{self, Claim};
use crate::counter::control::Control;
use crate::counter::provision::{self, Removal};
use crate::counter::rollup::RollUp;

/// What `--help` ends with.
pub(super) const EXAMPLES: &str = "\
Examples:
  countersink drain                                 all rules: afterwards the server is as if there had been no proxy
  countersink drain shop.posts                      one of them
  countersink drain --timeout 10m                   waits longer for transactions that stay open

Proxies that run stop using slots, without an error or a pause for their clients, and go on
to pass everything on; they need not be stopped. Then set mode: off in their rules file, or take
the rule out: at its next start a proxy goes by that again.";

/// How often it is looked whether the proxies have come so far.
const LOOK: Duration = Duration::from_millis(200);

/// By then every proxy has heard that a table is being drained.
const HEARING: Duration = Duration::from_secs(5);

/// How long a table may take to be drained.
const TIMEOUT: DurationRange = DurationRange {
    low: (Duration::from_secs(1), "1s"),
    high: (Duration::from_secs(24 * 3600), "24h"),
};

#[derive(Debug, Args)]
pub(super) struct DrainArguments {
    /// The tables, as the rules spell them; all unless given.
    #[arg(value_name = "SCHEMA.TABLE")]
    tables: Vec<String>,
    #[command(flatten)]
    pub(super) file: RulesArguments,
    /// How long each table may take.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = |text: &str| TIMEOUT.parse(text))]
    timeout: Duration,
}

/// What to print: a line for each table.
pub(super) async fn drain(config: &Config, arguments: &DrainArguments) -> Result<String, Error> {
    let control = Control::open(config).await?;
    let text = text(&control, config, arguments).await;
    control.close().await;
    text
}

async fn text(
    control: &Control,
    config: &Config,
    arguments: &DrainArguments,
) -> Result<String, Error> {
    for name in &arguments.tables {
        let mut rules = config.rules.iter();
        if !rules.any(|rule| is_named(rule, name)) {
            let table = name.clone();
            return Err(Error::Drain {
                table,
                why: "no rule is for it; write it as the rules file does".to_owned(),
            });
        }
    }
    let is_meant = |rule: &&Rule| {
        let mut names = arguments.tables.iter();
        arguments.tables.is_empty() || names.any(|name| is_named(rule, name))
    };
    let mut text = String::new();
    for rule in config.rules.iter().filter(is_meant) {
        let done = Drain::new(control, config, rule)
            .run(arguments.timeout)
            .await;
        let done = done.map_err(|why| Error::Drain {
            table: rule.table.to_string(),
            why,
        })?;
        writeln!(text, "{}: {done}", rule.table).expect("a String takes all");
    }
    Ok(text)
}

fn is_named(rule: &Rule, name: &str) -> bool {
    rule.table.to_string().eq_ignore_ascii_case(name)
}

/// One table on its way.
struct Drain<'a> {
    control: &'a Control,
    config: &'a Config,
    rule: &'a Rule,
    /// What was told last.
    told: String,
}

impl<'a> Drain<'a> {
    fn new(control: &'a Control, config: &'a Config, rule: &'a Rule) -> Self {
        Self {
            control,
            config,
            rule,
            told: String::new(),
        }
    }

    fn slots(&self) -> &TableName {
        &self.rule.slot_table
    }

    /// Drains it; what came of it, or why it did not come to an end.
    async fn run(mut self, timeout: Duration) -> Result<String, String> {
        let deadline = Instant::now() + timeout;
        let mut conn = self.control.connect().await.map_err(|e| e.to_string())?;
        let one = Config {
            rules: vec![Rule {
                mode: Mode::Enforce,
                ..self.rule.clone()
            }],
            ..self.config.clone()
        };
        let loaded = catalog::load(&mut conn, &one).await;
        let catalog = loaded.map_err(|error| error.to_string())?;
        // The lock goes with this connection, which is a pool's: it must not come back to that.
        let mut conn = self
            .control
            .roll_up_connection()
            .await
            .map_err(|e| e.to_string())?;
        let begun = agreement::begin_drain(&mut conn, self.slots()).await;
        if !begun.map_err(|error| error.to_string())? {
            return Err("another drain of it is under way".to_owned());
        }
        self.wait_for_silence(&mut conn, Claim::Slots, deadline)
            .await?;
        let Some(table) = catalog.tables.first() else {
            self.wait_for_proxies(&mut conn).await?;
            return Ok("no slots; forwarded from now on".to_owned());
        };
        let held = self.empty(table, deadline).await?;
        self.wait_for_silence(&mut conn, Claim::Reads, deadline)
            .await?;
        self.remove(table, deadline).await?;
        conn.disconnect().await.ok();
        Ok(match held {
            true => format!("drained; {} is gone", self.slots()),
            false => format!("there was no {}", self.slots()),
        })
    }

    /// With `slots: 0` there is nothing to wait for but that the proxies have seen the lock.
    async fn wait_for_proxies(&mut self, conn: &mut mysql_async::Conn) -> Result<(), String> {
        let proxies = agreement::others(conn, agreement::NODE, None).await;
        if !proxies.map_err(|error| error.to_string())?.is_empty() {
            self.tell("the proxies to hear of it");
            tokio::time::sleep(HEARING).await;
        }
        Ok(())
    }

    /// Waits until no proxy says this any more.
    async fn wait_for_silence(
        &mut self,
        conn: &mut mysql_async::Conn,
        claim: Claim,
        deadline: Instant,
    ) -> Result<(), String> {
        let claim = claim.name(self.slots());
        loop {
            let others = agreement::others(conn, &claim, None).await;
            let others = others.map_err(|error| error.to_string())?;
            if others.is_empty() {
                return Ok(());
            }
            let numbers: Vec<_> = others.iter().map(usize::to_string).collect();
            self.tell(&format!(
                "proxies to end their use of slots (node {})",
                numbers.join(", ")
            ));
            self.pause(deadline).await?;
        }
    }

    /// Moves what slots hold into the rows; false if there is no slot table.
    async fn empty(&mut self, table: &HotTable, deadline: Instant) -> Result<bool, String> {
        loop {
            let mut roll_up = RollUp::new(self.control.clone(), Default::default());
            match roll_up.empty(table).await {
                Ok(0) => return Ok(true),
                Ok(rows) => self.tell(&format!("{rows} slot rows that hold something still")),
                Err(error) if error.is_missing_table() => return Ok(false),
                Err(error) => self.tell(&format!("slots to be free ({error})")),
            }
            self.pause(deadline).await?;
        }
    }

    async fn remove(&mut self, table: &HotTable, deadline: Instant) -> Result<(), String> {
        loop {
            let removed = provision::remove(self.control, table).await;
            match removed.map_err(|error| error.to_string())? {
                Removal::Done | Removal::Absent => return Ok(()),
                Removal::HoldsValues => {
                    self.empty(table, deadline).await?;
                }
                Removal::InUse => self.tell("transactions that have read the slot table"),
            }
            self.pause(deadline).await?;
        }
    }

    /// Says on standard error what it waits for, once.
    fn tell(&mut self, what: &str) {
        if self.told != what {
            eprintln!("{}: waiting for {what}", self.rule.table);
            what.clone_into(&mut self.told);
        }
    }

    async fn pause(&self, deadline: Instant) -> Result<(), String> {
        if Instant::now() >= deadline {
            let why = match self.told.as_str() {
                "" => String::new(),
                told => format!(": waited for {told}"),
            };
            return Err(format!(
                "not drained in time{why}; nothing is lost, and the slot table stays; proxies forward what they can until \
                 their rules are read again (SIGHUP). Try again, with a longer --timeout"
            ));
        }
        tokio::time::sleep(LOOK).await;
        Ok(())
    }
}
