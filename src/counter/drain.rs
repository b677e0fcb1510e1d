//! Takes a rule out of force permanently: proxies stop using slots, the values in slots go into the rows, and the slot
//! table is dropped.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::agreement::{self, Claim, Said};
use super::control::Control;
use super::provision::{self, Removal};
use super::rollup::{Adoption, RollUp};
use crate::catalog::{self, HotTable};
use crate::config::{Config, Mode, Rule, TableName};

/// How often to look whether the proxies have got this far.
const LOOK: Duration = Duration::from_millis(200);

/// After this time every proxy has noticed that a table is being drained.
const HEARING: Duration = Duration::from_secs(12);

/// Why a table is not drained. Nothing is lost then.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It has not finished in time.
    #[error(
        "not drained in time{waited}; nothing is lost, and the slot table stays; proxies forward what they can until \
         their rules are read again"
    )]
    Late {
        /// What for.
        waited: String,
    },
    /// The other proxies cannot be told or heard for the moment, or the server does not answer.
    #[error("{0}")]
    Unheard(String),
    /// Somebody else drains it. Or the word of this drain was lost, and is still believed for a while.
    #[error("another drain of it is under way")]
    UnderWay,
    /// Any other error, whose own text says what to do.
    #[error("{0}")]
    Failed(String),
}

impl From<String> for Error {
    fn from(why: String) -> Self {
        Self::Failed(why)
    }
}

impl From<agreement::Error> for Error {
    fn from(error: agreement::Error) -> Self {
        match error.is_passing() {
            true => Self::Unheard(error.to_string()),
            false => Self::Failed(error.to_string()),
        }
    }
}

impl From<provision::Problem> for Error {
    fn from(problem: provision::Problem) -> Self {
        use provision::Problem;
        match problem {
            Problem::Agreement(error) => error.into(),
            Problem::NoConnection { source } if !source.is_configuration() => {
                Self::Unheard(source.to_string())
            }
            other => Self::Failed(other.to_string()),
        }
    }
}

impl Error {
    /// The same, with the remedy for the command that asked: how to read the rules again, and how to wait longer.
    pub fn told(&self, remedy: &str) -> String {
        match self {
            Self::Late { .. } => format!("{self} {remedy}"),
            Self::Unheard(_) | Self::UnderWay | Self::Failed(_) => self.to_string(),
        }
    }
}

/// One table on its way.
pub struct Drain<'a> {
    control: &'a Control,
    config: &'a Config,
    rule: &'a Rule,
    /// Receives what it waits for.
    tell: &'a (dyn Fn(&str) + Send + Sync),
    /// What was reported last.
    told: String,
}

impl<'a> Drain<'a> {
    /// Drains the table of this rule. `tell` receives what it waits for.
    pub fn new(
        control: &'a Control,
        config: &'a Config,
        rule: &'a Rule,
        tell: &'a (dyn Fn(&str) + Send + Sync),
    ) -> Self {
        Self {
            control,
            config,
            rule,
            tell,
            told: String::new(),
        }
    }

    fn slots(&self) -> &TableName {
        &self.rule.slot_table
    }

    /// Drains it; returns the outcome, for an operator.
    ///
    /// # Errors
    ///
    /// Why it did not finish within this time.
    pub async fn run(mut self, timeout: Duration) -> Result<String, Error> {
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
        drop(conn);
        let mut was_lost = false;
        loop {
            let done = self.begin(catalog.tables.first(), deadline).await;
            match &done {
                // The others may think that there is no drain any more, and use slots again.
                Err(error @ Error::Unheard(_)) => {
                    self.tell(&format!("the other proxies to hear of it ({error})"));
                    was_lost = true;
                }
                Err(Error::UnderWay) if was_lost => {
                    self.tell("what it has said before to be forgotten, or another drain to end");
                }
                _ => return done,
            }
            self.pause(deadline).await?;
        }
    }

    /// Says that the table is being drained, and drains it.
    async fn begin(
        &mut self,
        table: Option<&Arc<HotTable>>,
        deadline: Instant,
    ) -> Result<String, Error> {
        let agreement = self.control.agreement();
        agreement.provide(self.control).await?;
        let begun = agreement.begin_drain(self.control, self.slots()).await?;
        let Some(mut said) = begun else {
            return Err(Error::UnderWay);
        };
        let done = self.by(&mut said, table, deadline).await;
        said.end(self.control).await;
        done
    }

    /// Drains it, as long as this is said.
    async fn by(
        &mut self,
        said: &mut Said,
        table: Option<&Arc<HotTable>>,
        deadline: Instant,
    ) -> Result<String, Error> {
        self.wait_for_silence(said, Claim::Slots, deadline).await?;
        let Some(table) = table else {
            self.wait_for_proxies(said).await?;
            return Ok("no slots; forwarded from now on".to_owned());
        };
        let held = self.empty(said, table, deadline).await?;
        self.wait_for_silence(said, Claim::Reads, deadline).await?;
        self.wait_for_the_silent(said, deadline).await?;
        self.remove(said, table, deadline).await?;
        let done = match held {
            true => format!("drained; {} is gone", self.slots()),
            false => format!("there was no {}", self.slots()),
        };
        Ok(match self.adopted(table).await? {
            Some(adopted) => format!("{done}; {adopted}"),
            None => done,
        })
    }

    /// Moves hand-written slots once more. What is written into them later stays there: nobody adopts it then.
    async fn adopted(&mut self, table: &HotTable) -> Result<Option<String>, Error> {
        let Some(adopted) = &table.adopted else {
            return Ok(None);
        };
        let mut adoption = Adoption::new(self.control.clone(), Default::default());
        let moved = adoption
            .now(table)
            .await
            .map_err(|error| error.to_string())?;
        Ok(Some(format!("{}: {moved}", adopted.table)))
    }

    /// With `slots: 0` the only thing to wait for is that the proxies have seen the lock.
    async fn wait_for_proxies(&mut self, said: &mut Said) -> Result<(), Error> {
        let proxies = self.control.agreement().here(self.control, None).await?;
        if !proxies.is_empty() {
            self.tell("the proxies to hear of it");
            tokio::time::sleep(HEARING).await;
        }
        Ok(said.check().await?)
    }

    /// Waits until no proxy says this any more.
    async fn wait_for_silence(
        &mut self,
        said: &mut Said,
        claim: Claim,
        deadline: Instant,
    ) -> Result<(), Error> {
        let claim = claim.name(self.slots());
        let agreement = self.control.agreement();
        loop {
            said.check().await?;
            let others = agreement.others(self.control, &claim, None).await?;
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
    async fn empty(
        &mut self,
        said: &mut Said,
        table: &HotTable,
        deadline: Instant,
    ) -> Result<bool, Error> {
        loop {
            said.check().await?;
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

    /// Waits for proxies that have not said that they stop. Those that have will not be heard again.
    async fn wait_for_the_silent(
        &mut self,
        said: &mut Said,
        deadline: Instant,
    ) -> Result<(), Error> {
        let agreement = self.control.agreement();
        loop {
            said.check().await?;
            let silent = agreement.silent(self.control, self.slots()).await?;
            let Some(number) = silent.first() else {
                return Ok(());
            };
            self.tell(&format!(
                "the proxy of node {number}, which was here a minute ago: it has stopped, or will be back"
            ));
            self.pause(deadline).await?;
        }
    }

    async fn remove(
        &mut self,
        said: &mut Said,
        table: &HotTable,
        deadline: Instant,
    ) -> Result<(), Error> {
        loop {
            said.check().await?;
            let removed = provision::remove(self.control, table).await;
            match removed? {
                Removal::Done | Removal::Absent => return Ok(()),
                Removal::HoldsValues => {
                    self.empty(said, table, deadline).await?;
                }
                Removal::InUse => self.tell("transactions that have read the slot table"),
            }
            self.pause(deadline).await?;
        }
    }

    fn tell(&mut self, what: &str) {
        if self.told != what {
            (self.tell)(what);
            what.clone_into(&mut self.told);
        }
    }

    async fn pause(&self, deadline: Instant) -> Result<(), Error> {
        if Instant::now() >= deadline {
            let waited = match self.told.as_str() {
                "" => String::new(),
                told => format!(": waited for {told}"),
            };
            return Err(Error::Late { waited });
        }
        tokio::time::sleep(LOOK).await;
        Ok(())
    }
}
