//! Whatever several clients do to one row of a table without slots at the same time: there is an order in which MySQL
//! by itself would have answered each of them as the proxy did, and left the row as it is.
//!
//!     COUNTERSINK_SEED=7 cargo test --test proxy combining::any_order

use std::collections::HashSet;
use std::future::Future;
use std::pin::Pin;

use countersink::driver::Driver;
use countersink::wire::command;
use countersink::wire::response::ResponseKind;
use countersink_sandbox::Flavour;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::task::JoinSet;

use super::stage::{Stage, TABLES};
use crate::support::client::{connect, create_schema, prepare, rows, run, run_all};
use crate::support::on_both;
use crate::support::thorough::of_all;
use crate::support::twin::twin;

on_both![some_order_explains_all_answers];

/// How many rounds are played: in every run, and where everything is asked for.
const ROUNDS: u64 = 60;
const ROUNDS_OF_ALL: u64 = 500;

/// How many clients write at the same time. All their orders may have to be tried.
const CLIENTS: usize = 6;

/// `{n}` is a small number.
const WRITES: &[&str] = &[
    "UPDATE posts SET views = views + {n} WHERE id = 1",
    "UPDATE posts SET views = views + 1, score = score - {n}.25 WHERE id = 1",
    "UPDATE posts SET views = views - 1 WHERE id = 1 AND views >= {n}",
    "UPDATE posts SET views = views - {n} WHERE id = 1 AND views > 2 AND title <> 'b'",
    "UPDATE posts SET views = {n} WHERE id = 1",
    "UPDATE posts SET views = views WHERE id = 1",
    "UPDATE posts SET views = LAST_INSERT_ID(views + 1) WHERE id = 1",
    "UPDATE posts SET views = LAST_INSERT_ID(views + {n}), likes = 7 WHERE id = 1 AND views < 4",
    "UPDATE posts SET likes = LAST_INSERT_ID(likes) WHERE id = 1",
    "UPDATE posts SET likes = likes - {n} WHERE id = 1",
    "UPDATE posts SET likes = likes + 25{n} WHERE id = 1",
    "UPDATE posts SET likes = GREATEST(likes, {n}), title = IF(likes > 3, 'b', title) WHERE id = 1",
    "UPDATE posts SET title = CASE views WHEN {n} THEN 'b' ELSE 'c' END, views = views + 1 WHERE 1 = id LIMIT 1",
    "UPDATE posts SET title = 'far too long for twenty letters' WHERE id = 1",
    "UPDATE posts SET score = 'x{n}' WHERE id = 1",
    "UPDATE posts SET score = NULL WHERE id = 1",
    "DELETE FROM posts WHERE id = 1",
    "DELETE FROM posts WHERE id = 1 AND views = {n}",
    "INSERT INTO posts VALUES (1, 'n', {n}, 1.5, 3)",
    "INSERT INTO posts (likes, score, views, title, id) VALUES (1, 2, {n}, 'b', 1) ON DUPLICATE KEY UPDATE views = views + 1",
    "INSERT INTO posts VALUES (1, 'u', {n}, 0, 1) ON DUPLICATE KEY UPDATE views = views + VALUES(views), likes = {n}",
    "INSERT INTO posts SET id = 1, title = 'n', views = 1, score = 1, likes = 500",
    "REPLACE INTO posts VALUES (1, 'r', {n}, 1.5, 3)",
    "UPDATE posts SET likes = likes - 1 WHERE id = 1 AND likes > {n}",
    "UPDATE posts SET likes = likes - 1 WHERE id = 1",
    "UPDATE posts SET likes = likes - 1, views = views + 2 WHERE id = 1 AND views + likes < 9 AND likes BETWEEN 1 AND 250",
    "UPDATE posts SET views = views - 1 WHERE id = 1 AND views - {n} >= 0",
    "UPDATE posts SET score = score - 0.5, title = 'd' WHERE id = 1 AND score - 0.5 >= 0",
    "UPDATE posts SET views = LAST_INSERT_ID(views - {n}), title = 'q' WHERE id = 1 AND views IS NOT NULL",
    "UPDATE posts SET views = views + 1, likes = {n} WHERE id = 1 AND views <= likes",
    "UPDATE posts SET views = GREATEST(views - 1, {n}) WHERE id = 1",
    "UPDATE posts SET views = LEAST(views + 2, 7), likes = GREATEST(0, likes - 1) WHERE id = 1",
    "INSERT INTO posts VALUES (1, 'u', 1, 0.5, 1) ON DUPLICATE KEY UPDATE score = VALUES(score) + score, title = VALUES(title), likes = likes - 1",
];

/// The same, with a counter that has no negative values, and room for sums.
const WIDE: &str = "
    CREATE TABLE posts (id INT PRIMARY KEY, title VARCHAR(20), views INT NOT NULL DEFAULT 0,
        score DECIMAL(10, 2) NOT NULL DEFAULT 0, likes INT UNSIGNED);
    INSERT INTO posts (id) VALUES (1)";

/// What a client may ask afterwards.
const QUESTIONS: &[&str] = &[
    "SELECT ROW_COUNT()",
    "SHOW WARNINGS",
    "SHOW COUNT(*) WARNINGS",
    "SELECT @@warning_count, @@error_count",
    "SELECT LAST_INSERT_ID()",
    "SELECT @@last_insert_id, ROW_COUNT()",
    "SELECT 1",
];

/// Prepared, with one parameter.
const PREPARED: &[&str] = &[
    "UPDATE posts SET views = views + ? WHERE id = 1",
    "UPDATE posts SET views = ? WHERE id = 1",
    "UPDATE posts SET views = views - 1 WHERE id = 1 AND views >= ?",
    "INSERT INTO posts VALUES (1, 'p', ?, 0, 1) ON DUPLICATE KEY UPDATE views = views + 2",
];

/// What one client sends in a round.
#[derive(Clone, Debug)]
struct Script {
    /// The texts; the first is executed with this parameter where there is one.
    texts: Vec<String>,
    parameter: Option<(usize, i64)>,
}

/// The payload that each response ends with, or all where there are rows.
type Answers = Vec<Vec<Vec<u8>>>;

struct Client {
    driver: Driver,
    /// The ids of [`PREPARED`].
    prepared: Vec<u32>,
    /// What its LAST_INSERT_ID() returns before a round.
    last_insert_id: String,
}

async fn some_order_explains_all_answers(flavour: Flavour) {
    let seed = match std::env::var("COUNTERSINK_SEED") {
        Ok(text) => text.parse().expect("COUNTERSINK_SEED is a number"),
        Err(_) => rand::random(),
    };
    eprintln!("COUNTERSINK_SEED={seed} on {flavour}");
    let mut dice = StdRng::seed_from_u64(seed);
    let is_keyless = dice.random_bool(0.3);
    let (tables, columns) = match is_keyless || dice.random_bool(0.5) {
        false => (TABLES.to_owned(), "views, score"),
        true => (WIDE.to_owned(), "views, score, likes"),
    };
    let tables = match is_keyless {
        true => tables.replace(" PRIMARY KEY", ""),
        false => tables,
    };
    let rule = format!("columns: [{columns}], slots: 0");
    let stage = Stage::of_tables(&twin(flavour).proxied, "any_order", &tables, &rule).await;
    let mut direct = stage.direct().await;
    let plain = &twin(flavour).plain;
    drop(create_schema(plain, &stage.schema, &tables).await);
    let mut model = connect(plain, Some(&stage.schema)).await;
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        let mut driver = connect(&stage.proxy.address, Some(&stage.schema)).await;
        let mut prepared = Vec::new();
        for text in PREPARED {
            let text = match is_keyless {
                true => without_key(text),
                false => (*text).to_owned(),
            };
            prepared.push(prepare(&mut driver, &text).await);
        }
        clients.push(Client {
            driver,
            prepared,
            last_insert_id: "0".to_owned(),
        });
    }
    let mut mode = "";
    let rounds = of_all(
        &format!("combining::any_order on {flavour}, rounds"),
        ROUNDS,
        ROUNDS_OF_ALL,
    );
    for round in 0..rounds {
        // A group has one sql_mode. Without the strict one values are cut, with a warning.
        let may_be_several = is_keyless && round >= rounds / 2;
        if round % 20 == 0 || round == rounds / 2 {
            mode = ["SET sql_mode = DEFAULT", "SET sql_mode = ''"][dice.random_range(0..2)];
            // Under READ COMMITTED no order need explain what MySQL itself does to several rows.
            let level = match may_be_several || dice.random_bool(0.5) {
                true => "REPEATABLE READ",
                false => "READ COMMITTED",
            };
            let level = format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}");
            for driver in clients.iter_mut().map(|client| &mut client.driver) {
                run(driver, mode).await;
                run(driver, &level).await;
            }
            run(&mut model, mode).await;
        }
        let start = state(&mut dice);
        set(&mut direct, &start).await;
        let grammar = match is_keyless {
            false => Grammar::Keyed,
            true if may_be_several => Grammar::Keyless,
            true => Grammar::OneRow,
        };
        let scripts = scripts(&mut dice, grammar);
        for client in &mut clients {
            let mut found = rows(&mut client.driver, "SELECT LAST_INSERT_ID()").await;
            client.last_insert_id = found[0].remove(0);
        }
        let ids = clients.iter().map(|client| client.last_insert_id.clone());
        let ids: Vec<_> = ids.collect();
        let answers;
        (clients, answers) = play(clients, &scripts).await;
        let found = look(&mut direct).await;
        let mut search = Search {
            model: &mut model,
            scripts: &scripts,
            ids: &ids,
            answers: &answers,
            end: &found,
            in_vain: HashSet::new(),
            furthest: (0, String::new()),
        };
        let is_explained = search.explains(start.clone(), Vec::new()).await;
        let furthest = search.furthest.1;
        assert!(
            is_explained,
            "COUNTERSINK_SEED={seed}, round {round} on {flavour}, {mode}: no order explains this, from {start:?} to {found:?}:\n{}\nthe longest order that explains some: {furthest}",
            shown(&scripts, &answers)
        );
    }
    let (batches, statements) = stage.proxy.shared.metrics.combined();
    let key = if is_keyless { "without" } else { "with" };
    eprintln!("{statements} statements in {batches} batches on {flavour}, {key} a key");
    let are_some = statements > if is_keyless { rounds / 2 } else { rounds };
    assert!(are_some, "most of them are to meet in batches");
}

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Grammar {
    /// The row of key 1.
    Keyed,
    /// The only row of a table without a primary key, or none.
    OneRow,
    /// Whatever rows that table has: INSERT adds to them, and such statements then run one by one.
    Keyless,
}

/// The same for a table without a primary key.
fn without_key(text: &str) -> String {
    text.replace(" WHERE id = 1 AND ", " WHERE ")
        .replace(" WHERE id = 1", "")
        .replace(" WHERE 1 = id", "")
}

/// The rows, as the values of an INSERT; `None` if there are none.
type State = Option<String>;

fn state(dice: &mut StdRng) -> State {
    let views = dice.random_range(0..6);
    let likes = ["0", "1", "2", "5", "250", "NULL"][dice.random_range(0..6)];
    dice.random_bool(0.9)
        .then(|| format!("1, 'a', {views}, 1.00, {likes}"))
}

async fn set(driver: &mut Driver, state: &State) {
    let insert = state
        .as_ref()
        .map(|values| format!("; INSERT INTO posts VALUES ({values})"));
    let script = "DELETE FROM posts WHERE id = 1".to_owned() + &insert.unwrap_or_default();
    run_all(driver, &script).await;
}

async fn look(driver: &mut Driver) -> State {
    let question = "SELECT CONCAT_WS(', ', id, QUOTE(title), QUOTE(views), QUOTE(score), QUOTE(likes)) FROM posts WHERE id = 1";
    let found = rows(driver, question).await;
    let mut found: Vec<_> = found.into_iter().flatten().collect();
    found.sort();
    (!found.is_empty()).then(|| found.join("), ("))
}

/// One for each client. In every other round many of them write the same.
fn scripts(dice: &mut StdRng, grammar: Grammar) -> Vec<Script> {
    let kinds = match dice.random_bool(0.5) {
        true => dice.random_range(1..3),
        false => CLIENTS,
    };
    let mut scripts: Vec<_> = (0..kinds).map(|_| script(dice, grammar)).collect();
    while scripts.len() < CLIENTS {
        let like = scripts[dice.random_range(0..kinds)].clone();
        let question = QUESTIONS[dice.random_range(0..QUESTIONS.len())];
        scripts.push(Script {
            texts: vec![like.texts[0].clone(), question.to_owned()],
            ..like
        });
    }
    scripts
}

fn script(dice: &mut StdRng, grammar: Grammar) -> Script {
    let small = dice.random_range(0..5);
    let (first, parameter) = match dice.random_range(0..4) {
        0 => {
            let which = dice.random_range(0..PREPARED.len());
            (PREPARED[which], Some((which, small)))
        }
        _ => (WRITES[dice.random_range(0..WRITES.len())], None),
    };
    let is_left_out = match grammar {
        Grammar::Keyed => false,
        Grammar::OneRow => !first.starts_with("UPDATE"),
        // Which row is the first or the last is left to the server.
        Grammar::Keyless => first.ends_with("LIMIT 1") || first.contains("LAST_INSERT_ID"),
    };
    if is_left_out {
        return script(dice, grammar);
    }
    let first = match grammar {
        Grammar::Keyed => first.to_owned(),
        Grammar::OneRow | Grammar::Keyless => without_key(first),
    };
    let first = first
        .replace('?', &small.to_string())
        .replace("{n}", &small.to_string());
    let question = QUESTIONS[dice.random_range(0..QUESTIONS.len())];
    Script {
        texts: vec![first, question.to_owned()],
        parameter,
    }
}

/// All clients run their scripts at the same time.
async fn play(clients: Vec<Client>, scripts: &[Script]) -> (Vec<Client>, Vec<Answers>) {
    let mut running = JoinSet::new();
    for (place, (mut client, script)) in clients.into_iter().zip(scripts.to_vec()).enumerate() {
        running.spawn(async move {
            let mut answers = Vec::new();
            for (index, text) in script.texts.iter().enumerate() {
                let payload = match script.parameter {
                    Some((which, number)) if index == 0 => {
                        execution(client.prepared[which], number)
                    }
                    _ => client.driver.query_payload(text),
                };
                answers.push(ask(&mut client.driver, &payload).await);
            }
            (place, client, answers)
        });
    }
    let mut done = running.join_all().await;
    done.sort_by_key(|(place, ..)| *place);
    done.into_iter()
        .map(|(_, client, answers)| (client, answers))
        .unzip()
}

/// COM_STMT_EXECUTE with one BIGINT.
fn execution(id: u32, number: i64) -> Vec<u8> {
    let mut payload = vec![command::STMT_EXECUTE];
    payload.extend_from_slice(&id.to_le_bytes());
    // No cursor, once; nothing is NULL, and the types come with it.
    payload.extend_from_slice(&[0, 1, 0, 0, 0, 0, 1, 0x08, 0x00]);
    payload.extend_from_slice(&number.to_le_bytes());
    payload
}

async fn ask(driver: &mut Driver, payload: &[u8]) -> Vec<Vec<u8>> {
    driver.send(payload).await.expect("it is sent");
    let packets = driver.packets(ResponseKind::Results).await;
    let packets = packets.expect("an answer").into_iter();
    packets.map(|packet| packet.payload).collect()
}

/// Looks for an order in which the model gives the same answers.
struct Search<'a> {
    model: &'a mut Driver,
    scripts: &'a [Script],
    /// What LAST_INSERT_ID() returned to each client before.
    ids: &'a [String],
    answers: &'a [Answers],
    end: &'a State,
    /// From here no order was found.
    in_vain: HashSet<(State, Vec<usize>)>,
    /// The longest order that explains some of the answers, with what the model answers to the others then.
    furthest: (usize, String),
}

impl Search<'_> {
    /// Whether an order that begins with these scripts, which lead to this state, explains the answers to the others.
    fn explains(
        &mut self,
        state: State,
        order: Vec<usize>,
    ) -> Pin<Box<dyn Future<Output = bool> + Send + '_>> {
        Box::pin(async move {
            if order.len() == self.scripts.len() {
                return state == *self.end;
            }
            let mut done = order.clone();
            done.sort_unstable();
            if self.in_vain.contains(&(state.clone(), done.clone())) {
                return false;
            }
            let mut others = String::new();
            for next in 0..self.scripts.len() {
                if order.contains(&next) {
                    continue;
                }
                let answers = self.ask_model(&state, next).await;
                if answers != self.answers[next] {
                    others += &shown(&self.scripts[next..=next], &[answers]);
                    continue;
                }
                let then = look(self.model).await;
                let order = [&order[..], &[next]].concat();
                if self.explains(then, order).await {
                    return true;
                }
            }
            if order.len() >= self.furthest.0 {
                self.furthest = (
                    order.len(),
                    format!("{order:?}, to {state:?}; then\n{others}"),
                );
            }
            self.in_vain.insert((state, done));
            false
        })
    }

    /// What the model answers to a script in this state.
    async fn ask_model(&mut self, state: &State, script: usize) -> Answers {
        set(self.model, state).await;
        let id = format!("DO LAST_INSERT_ID({})", self.ids[script]);
        run(self.model, &id).await;
        let mut answers = Vec::new();
        for text in &self.scripts[script].texts {
            let payload = self.model.query_payload(text);
            answers.push(ask(self.model, &payload).await);
        }
        answers
    }
}

fn shown(scripts: &[Script], answers: &[Answers]) -> String {
    let mut text = String::new();
    for (script, answers) in scripts.iter().zip(answers) {
        for (line, answer) in script.texts.iter().zip(answers) {
            let answer = answer
                .iter()
                .map(|payload| payload.escape_ascii().to_string());
            let prepared = script.parameter.map_or("", |_| "[prepared] ");
            text += &format!(
                "  {prepared}{line}\n    {}\n",
                answer.collect::<Vec<_>>().join("\n    ")
            );
        }
    }
    text
}
