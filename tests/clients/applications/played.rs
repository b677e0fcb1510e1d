//! An application that plays, step by step.

use std::process::Stdio;

use countersink_sandbox::Address;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};

use crate::support::client::{connect, rows};
use crate::support::process::{PATIENCE, Process, place};

/// What was said in one step.
pub struct Step {
    pub name: String,
    pub said: Vec<String>,
}

/// What was said, step by step, and what is left.
pub struct Played {
    pub steps: Vec<Step>,
    pub left: Vec<String>,
}

/// Has it make its tables in a schema of this server.
pub async fn make(process: &Process, server: &Address, schema: &str) -> Result<(), String> {
    let [host, port, user, password, schema] = place(server, schema);
    let arguments = ["make", &host, &port, &user, &password, &schema];
    let output = process.run(&arguments).await?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!(
            "it cannot make its tables: {}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        )),
    }
}

/// Has it play; `at_step` is called before each step, and once more at the end, while nothing is under way.
pub async fn play(
    process: &Process,
    server: &Address,
    schema: &str,
    left: &[&str],
    at_step: impl FnMut(),
) -> Result<Played, String> {
    let played = tokio::time::timeout(PATIENCE, steps(process, server, schema, at_step)).await;
    let steps = played.map_err(|_| format!("it has not ended after {PATIENCE:?}"))??;
    let mut client = connect(server, Some(schema)).await;
    let mut found = Vec::new();
    for query in left {
        found.extend(rows(&mut client, query).await);
    }
    let left = found.iter().map(|row| row.join(" | ")).collect();
    Ok(Played { steps, left })
}

async fn steps(
    process: &Process,
    server: &Address,
    schema: &str,
    mut at_step: impl FnMut(),
) -> Result<Vec<Step>, String> {
    let [host, port, user, password, schema] = place(server, schema);
    let mut command = process.command(&["play", &host, &port, &user, &password, &schema]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command.stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| error.to_string())?;
    let mut input = child.stdin.take().expect("piped");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let mut errors = child.stderr.take().expect("piped");
    let errors = tokio::spawn(async move {
        let mut said = String::new();
        errors.read_to_string(&mut said).await.map(|_| said)
    });
    let mut steps: Vec<Step> = Vec::new();
    let mut has_finished = false;
    while let Some(line) = lines.next_line().await.map_err(|error| error.to_string())? {
        if let Some(name) = line.strip_prefix("> ") {
            at_step();
            let name = name.to_owned();
            steps.push(Step {
                name,
                said: Vec::new(),
            });
            // Where it has ended meanwhile, its errors say why.
            let _ = input.write_all(b"go\n").await;
        } else if line == "finished" {
            at_step();
            has_finished = true;
        } else if let Some(step) = steps.last_mut() {
            step.said.push(line);
        }
    }
    let status = child.wait().await.map_err(|error| error.to_string())?;
    let errors = errors.await.expect("it reads to the end");
    let errors = errors.map_err(|error| error.to_string())?;
    if status.success() && has_finished && errors.is_empty() {
        return Ok(steps);
    }
    let at = steps.last().map_or("the start", |step| &step.name);
    Err(format!("{status} at {at}: {errors}"))
}

impl Played {
    /// What differs of another time, at most so many lines.
    pub fn differences(&self, through: &Self, most: usize) -> Vec<String> {
        let lines = |played: &Self| -> Vec<String> {
            let said = played.steps.iter().flat_map(|step| {
                let lines = step.said.iter();
                lines.map(|line| format!("{}: {}", step.name, line.trim()))
            });
            let left = played.left.iter().map(|row| format!("left: {row}"));
            said.chain(left).collect()
        };
        let (direct, through) = (lines(self), lines(through));
        (0..direct.len().max(through.len()))
            .map(|index| (direct.get(index), through.get(index)))
            .filter(|(direct, through)| direct != through)
            .map(|(direct, through)| format!("{through:?}, but directly {direct:?}"))
            .take(most)
            .collect()
    }
}
