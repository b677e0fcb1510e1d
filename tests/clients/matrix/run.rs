//! One library's blog, played directly and through the proxy, and what differs.

use std::collections::BTreeSet;

use countersink_sandbox::{Address, Flavour};

use crate::matrix::counted::{Counted, Mode};
use crate::matrix::library::Library;
use crate::matrix::program::Program;
use crate::support::client::{connect, create_schema, rows};
use crate::support::proxy::Proxy;
use crate::support::twin::twin;

/// The tables of the blog.
pub const TABLES: &str = include_str!("blog.sql");

/// What every program says.
const COMMON: &str = include_str!("common.txt");

/// What the blog has left.
const LEFT: [&str; 3] = [
    "SELECT id, title, views, likes, stock, price, created, SHA2(body, 256), SHA2(picture, 256) FROM posts ORDER BY id",
    "SELECT day, hits FROM sign_ups ORDER BY day",
    "SELECT id FROM seq",
];

/// The most lines that are shown of what differs.
const MOST_SHOWN: usize = 8;

/// What came of one library.
pub struct Outcome {
    pub version: String,
    pub told: String,
    /// The writes of several clients that were written together.
    pub together: u64,
    /// Whether its statements were counted at rest.
    pub has_rested: bool,
    pub wrong: Vec<String>,
}

/// What is left, and what was said.
struct Played {
    said: Vec<String>,
    left: Vec<Vec<String>>,
}

/// Plays the blog in each way.
pub async fn compare(library: &Library, program: &Program, flavour: Flavour) -> Outcome {
    let twin = twin(flavour);
    let schema = schema(library.name);
    let mut outcome = Outcome {
        version: program.version().await,
        told: String::new(),
        together: 0,
        has_rested: false,
        wrong: Vec::new(),
    };
    let direct = match play(program, &twin.plain, &twin.plain, &schema).await {
        Ok(direct) => direct,
        Err(error) => {
            outcome.fails(&format!("{flavour}, {}, directly: {error}", library.name));
            return outcome;
        }
    };
    for line in COMMON.lines() {
        if !direct.said.iter().any(|said| said == line) {
            let step = line.split(' ').next().unwrap_or_default();
            let said: Vec<_> = direct
                .said
                .iter()
                .filter(|said| said.starts_with(step))
                .collect();
            outcome.fails(&format!(
                "{flavour}, {}: {said:?}, not {line}",
                library.name
            ));
        }
    }
    for mode in Mode::ALL {
        let what = format!("{flavour}, {}, {mode}", library.name);
        create_schema(&twin.proxied, &schema, TABLES).await;
        let proxy = Proxy::start(&twin.proxied, &mode.rules(&schema));
        let through = play_there(program, &proxy.address, &schema).await;
        match through {
            Ok(through) => {
                let counted = Counted::of(mode, &schema, &proxy.shared.metrics);
                outcome.told += &format!("; {counted}");
                outcome.together += counted.together;
                outcome.has_rested |= counted.has_rested();
                let faults = differences(&direct, &through).into_iter();
                let faults = faults.chain(counted.faults(&library.unlike_at(flavour)));
                for fault in faults {
                    outcome.fails(&format!("{what}: {fault}"));
                }
            }
            Err(error) => outcome.fails(&format!("{what}: {error}")),
        }
    }
    if outcome.wrong.is_empty() {
        outcome.told.insert_str(0, "equal");
    }
    outcome
}

impl Outcome {
    fn fails(&mut self, what: &str) {
        self.told = "DIFFERS".to_owned();
        self.wrong.push(what.to_owned());
    }
}

/// The same on both servers, for errors name it.
fn schema(name: &str) -> String {
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    format!("matrix_{}", letters.collect::<String>().to_lowercase())
}

/// Plays it on tables that are new, through this address of that server.
async fn play(
    program: &Program,
    through: &Address,
    server: &Address,
    schema: &str,
) -> Result<Played, String> {
    create_schema(server, schema, TABLES).await;
    play_there(program, through, schema).await
}

async fn play_there(program: &Program, through: &Address, schema: &str) -> Result<Played, String> {
    let said = program.play(through, schema).await?;
    let mut client = connect(through, Some(schema)).await;
    let mut left = Vec::new();
    for query in LEFT {
        left.extend(rows(&mut client, query).await);
    }
    Ok(Played { said, left })
}

fn differences(direct: &Played, through: &Played) -> Vec<String> {
    let lines = (0..direct.said.len().max(through.said.len()))
        .map(|index| (direct.said.get(index), through.said.get(index)));
    let said = lines
        .filter(|(direct, through)| direct != through)
        .map(|(direct, through)| format!("said {through:?}, but directly {direct:?}"));
    let [expected, found] =
        [direct, through].map(|played| played.left.iter().collect::<BTreeSet<_>>());
    let left = expected.symmetric_difference(&found).map(|row| {
        let whose = match expected.contains(row) {
            true => "directly",
            false => "through the proxy",
        };
        format!("only {whose} there is {row:?}")
    });
    said.chain(left).take(MOST_SHOWN).collect()
}
