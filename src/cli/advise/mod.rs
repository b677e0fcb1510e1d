//! `countersink advise`: finds the hot counters of a server, or of the traffic through a proxy, and the rules for them.

mod arguments;
mod error;
mod json;
mod proxy;
mod row;
mod text;

use std::path::{Path, PathBuf};
use std::time::Duration;

use countersink_terminal::{self as terminal, Interrupt, Progress};
use mysql_async::Conn;
use tokio::runtime::Runtime;

use super::target::{Named, Target};
use crate::advise::{self, Advice, Candidate, Evidence, Replaced, Verdict};
use crate::config::{self, Config};
use crate::counter::control::{self, Control};

pub(super) use arguments::{AdviseArguments, EXAMPLES};
pub use error::Error;

/// Everything that the report is made from.
struct Outcome {
    /// `MySQL 9.7.4`.
    server: String,
    evidence: Evidence,
    candidates: Vec<Candidate>,
    /// How many clients wait for rows of unknown tables, on average.
    lost: f64,
    base: Config,
    /// The file to add the rules to, if there is one.
    file: Option<PathBuf>,
}

impl Outcome {
    fn advised(&self) -> impl Iterator<Item = &Advice> {
        let candidates = self.candidates.iter();
        candidates.filter_map(|candidate| match &candidate.verdict {
            Verdict::Advised(advice, _) => Some(advice),
            _ => None,
        })
    }

    /// The rules that replace others.
    fn changed(&self) -> impl Iterator<Item = (&Advice, Replaced)> {
        self.advised()
            .filter_map(|advice| Some((advice, advice.replaces?)))
    }

    /// The rules to add, or a whole file if there is none yet. `None` if there are none to add.
    fn yaml(&self) -> Option<String> {
        let new = || self.advised().filter(|advice| advice.replaces.is_none());
        new().next()?;
        let counters = advise::counters(new());
        Some(match &self.file {
            Some(_) => counters,
            None => advise::head(self.base.upstream.first(), &self.base.control.user) + &counters,
        })
    }

    /// How many clients wait for row locks, on average.
    fn waiting(&self) -> f64 {
        let crowds = self.evidence.crowds.iter();
        crowds.map(|crowd| crowd.waiting).sum()
    }
}

/// Watches, tests possible rules, and prints the result.
pub(super) fn run(arguments: &AdviseArguments, runtime: &Runtime) -> Result<(), super::Error> {
    let (base, file) = match arguments.target.find()? {
        Named::ByArguments(target) => (of_arguments(&target)?, None),
        Named::InRules(config) => (*config, Some(arguments.target.file().to_owned())),
    };
    let outcome = runtime.block_on(advice(arguments, base, file.as_deref()))?;
    let lines = match arguments.json {
        true => vec![json::text(&outcome)],
        false => text::lines(&outcome),
    };
    terminal::print(&lines).map_err(super::Error::Output)
}

/// A configuration with only the server and the account.
fn of_arguments(target: &Target) -> Result<Config, super::Error> {
    // Through variables, because names and passwords may contain any character.
    const TEXT: &str = "upstream: ${UPSTREAM}\ncontrol: {user: \"${USER}\", password: \"${PASSWORD}\"}\n\
                        counters: [{table: a.b, columns: [c]}]\n";
    let config = Config::from_str(TEXT, &|name| match name {
        "UPSTREAM" => Some(target.upstream.to_string()),
        "USER" => Some(target.user.clone()),
        "PASSWORD" => Some(target.password.reveal().to_owned()),
        _ => None,
    });
    let mut config = config.map_err(|error: config::Error| super::Error::from(error))?;
    config.rules.clear();
    Ok(config)
}

async fn advice(
    arguments: &AdviseArguments,
    base: Config,
    file: Option<&Path>,
) -> Result<Outcome, super::Error> {
    let progress = Progress::new("looks");
    let line = progress.clone();
    let interrupt = Interrupt::listen(
        move || line.step("Ending early".to_owned()),
        "nothing is left behind",
    )
    .map_err(|source| super::Error::Runtime { source })?;
    let opened = Control::open(&base).await;
    let control = opened.map_err(|error| refused(error, &base, file))?;
    let mut conn = control.connect().await?;
    let evidence = match &arguments.proxy {
        Some(proxy) => passing(proxy, arguments.window, &interrupt, &progress).await,
        None => {
            progress.step(format!("Watching {}", base.upstream));
            watched(&mut conn, arguments.window, &interrupt, &progress).await
        }
    };
    progress.clear();
    let evidence = evidence?;
    let (candidates, lost) = advise::advise(&mut conn, &evidence, &base).await?;
    let server = server(&conn);
    drop(conn);
    control.close().await;
    Ok(Outcome {
        server,
        evidence,
        candidates,
        lost,
        base,
        file: file.map(Path::to_owned),
    })
}

fn refused(error: control::Error, base: &Config, file: Option<&Path>) -> super::Error {
    match (error, file) {
        (control::Error::Denied { message, .. }, None) => Error::Refused {
            user: base.control.user.clone(),
            why: message,
        }
        .into(),
        (error, Some(file)) => super::Error::from(error).in_file(file),
        (error, None) => error.into(),
    }
}

/// Collects evidence from the server.
async fn watched(
    conn: &mut Conn,
    window: Duration,
    interrupt: &Interrupt,
    progress: &Progress,
) -> Result<Evidence, Error> {
    progress.round("Watching", window);
    let mut looks = 0;
    let step = |elapsed| {
        looks += 1;
        progress.load(elapsed, looks);
    };
    Ok(advise::watch(conn, window, caught(interrupt), step).await?)
}

/// Collects evidence from the proxy.
async fn passing(
    proxy: &proxy::Url,
    window: Duration,
    interrupt: &Interrupt,
    progress: &Progress,
) -> Result<Evidence, Error> {
    /// The proxy observes its traffic only while it is being asked.
    const ASK: Duration = Duration::from_secs(10);
    progress.step(format!("Watching {proxy}"));
    let end = tokio::time::Instant::now() + window;
    proxy.ask().await?;
    loop {
        let next = (tokio::time::Instant::now() + ASK).min(end);
        tokio::select! {
            () = caught(interrupt) => break,
            () = tokio::time::sleep_until(next) => {}
        }
        if tokio::time::Instant::now() >= end {
            break;
        }
        proxy.ask().await?;
    }
    Ok(advise::of_traffic(&proxy.ask().await?))
}

/// Completes when the user asks to end early.
async fn caught(interrupt: &Interrupt) {
    interrupt.caught().await;
}

fn server(conn: &Conn) -> String {
    let (major, minor, patch) = conn.server_version();
    let name = if major >= 10 { "MariaDB" } else { "MySQL" };
    format!("{name} {major}.{minor}.{patch}")
}
