//! One application, directly and through the proxy.

use countersink_sandbox::{Address, Flavour};

use crate::applications::application::Application;
use crate::applications::became::{self, Moment, Row, Rows};
use crate::applications::played::{self, Played};
use crate::matrix::counted::Mode;
use crate::support::client::create_schema;
use crate::support::process::Process;
use crate::support::proxy::Proxy;
use crate::support::twin::twin;

/// The most lines that are shown of what differs.
const MOST_SHOWN: usize = 12;

/// The step in which several work at a time.
const CROWD: &str = "crowd";

/// What came of one application on one server.
#[derive(Default)]
pub struct Outcome {
    pub version: String,
    pub rows: Rows,
    /// The writes of several clients that were written together.
    pub together: u64,
    pub wrong: Vec<String>,
}

/// Plays it in each way.
pub async fn compare(application: &Application, process: &Process, flavour: Flavour) -> Outcome {
    let mut outcome = Outcome {
        version: process.version().await,
        ..Outcome::default()
    };
    if let Err(error) = fill(application, process, flavour, &mut outcome).await {
        outcome.wrong.push(error);
    }
    let what = |wrong: &String| format!("{flavour}, {}: {wrong}", application.name);
    outcome.wrong = outcome.wrong.iter().map(what).collect();
    outcome
}

async fn fill(
    application: &Application,
    process: &Process,
    flavour: Flavour,
    outcome: &mut Outcome,
) -> Result<(), String> {
    let twin = twin(flavour);
    let schema = schema(application.name);
    let tables = application.tables;
    prepare(application, process, &twin.plain, &schema).await?;
    let direct = played::play(process, &twin.plain, &schema, tables.left, || ()).await;
    let direct = direct.map_err(|error| format!("directly: {error}"))?;
    if let Some(leaves) = tables.leaves {
        let left: String = direct.left.iter().map(|row| format!("{row}\n")).collect();
        if left != leaves {
            let wrong = format!("it leaves directly\n{left}rather than\n{leaves}");
            outcome.wrong.push(wrong);
        }
    }
    for (index, mode) in Mode::ALL.into_iter().enumerate() {
        prepare(application, process, &twin.proxied, &schema).await?;
        let proxy = Proxy::start(&twin.proxied, &rules(application, &schema, mode));
        let mut moments = Vec::new();
        let names: Vec<_> = tables.rules.iter().map(|(table, ..)| *table).collect();
        let look = || moments.push(Moment::of(&proxy.shared.metrics, &schema, &names));
        let through = played::play(process, &proxy.address, &schema, tables.left, look).await;
        let through = through.map_err(|error| format!("{mode}: {error}"))?;
        outcome.together += proxy.shared.metrics.combined().1;
        let differences = direct.differences(&through, MOST_SHOWN);
        let differences = differences.iter().map(|wrong| format!("{mode}: {wrong}"));
        outcome.wrong.extend(differences);
        let clock = application.has_its_own_clock;
        put_in(&mut outcome.rows, &through, &moments, (index, clock));
    }
    Ok(())
}

/// What the steps became in one mode, beside what they became in the other.
fn put_in(
    rows: &mut Rows,
    played: &Played,
    moments: &[Moment],
    (index, has_its_own_clock): (usize, bool),
) {
    let between = moments.windows(2);
    for (step, moments) in played.steps.iter().zip(between) {
        if !became::is_told(&step.name) {
            continue;
        }
        if !rows.iter().any(|row| row.step == step.name) {
            rows.push(Row {
                step: step.name.clone(),
                ..Row::default()
            });
        }
        let row = rows.iter_mut().find(|row| row.step == step.name);
        row.expect("it is there").became[index] =
            moments[0].until(&moments[1], has_its_own_clock && step.name == CROWD);
    }
}

/// The same on both servers, for errors name it.
fn schema(name: &str) -> String {
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    format!("app_{}", letters.collect::<String>().to_lowercase())
}

/// Its tables, new.
async fn prepare(
    application: &Application,
    process: &Process,
    server: &Address,
    schema: &str,
) -> Result<(), String> {
    create_schema(server, schema, application.tables.before).await;
    played::make(process, server, schema).await
}

fn rules(application: &Application, schema: &str, mode: Mode) -> String {
    let rest = match mode {
        Mode::AtRest => "auto",
        Mode::InMotion => "never",
    };
    let rules = application.tables.rules.iter();
    let rules = rules.map(|(table, columns, more)| {
        format!("- {{table: {schema}.{table}, columns: [{columns}], rest: {rest}{more}}}\n")
    });
    format!("counters:\n{}", rules.collect::<String>())
}
