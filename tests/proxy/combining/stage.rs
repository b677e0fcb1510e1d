//! What the tests of batches stand on: a proxy in front of a hot table, locks in the way of its increments, and clients
//! that send them one behind the other.

use std::time::Duration;

use countersink::driver::{Driver, Error, Reply};
use countersink_sandbox::{Address, Flavour};
use tokio::task::JoinHandle;

use crate::support::client::{connect, number, number_of_transactions, rows, run, run_all};
use crate::support::proxy::Proxy;
use crate::support::twin::twin;

pub(super) const INCREMENT: &str = "UPDATE posts SET views = views + 1 WHERE id = 1";

/// How many sessions in the asking one's schema wait for a lock. Other tests have some of their own.
pub(super) const LOCK_WAITS: &str = "SELECT COUNT(*) FROM information_schema.innodb_trx t \
     JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id \
     WHERE t.trx_state = 'LOCK WAIT' AND p.db = DATABASE()";

pub(super) const TABLES: &str = "
    CREATE TABLE posts (id INT PRIMARY KEY, title VARCHAR(20), views INT NOT NULL DEFAULT 0,
        score DECIMAL(10, 2) NOT NULL DEFAULT 0, likes TINYINT UNSIGNED);
    INSERT INTO posts (id) VALUES (1), (2), (3), (4), (5), (6), (7), (8)";

/// What an increment came to.
pub(super) type Answer = Result<Reply, Error>;

/// Tables of one test, and a proxy that has just learned the slot row of key 1.
pub(super) struct Stage {
    pub(super) schema: String,
    server: &'static Address,
    pub(super) proxy: Proxy,
}

impl Stage {
    pub(super) async fn new(flavour: Flavour, name: &str, rule: &str) -> Self {
        Self::at(&twin(flavour).proxied, name, rule).await
    }

    async fn at(server: &'static Address, name: &str, rule: &str) -> Self {
        Self::of_tables(
            server,
            name,
            TABLES,
            &format!("columns: [views, score], {rule}"),
        )
        .await
    }

    pub(super) async fn of_tables(
        server: &'static Address,
        name: &str,
        tables: &str,
        rule: &str,
    ) -> Self {
        let schema = format!("cs_combining_{name}");
        let mut direct = connect(server, None).await;
        run_all(
            &mut direct,
            &format!(
                "DROP DATABASE IF EXISTS {schema}; CREATE DATABASE {schema}; USE {schema}; {tables}"
            ),
        )
        .await;
        let rules = format!("counters:\n- {{table: {schema}.posts, {rule}}}\n");
        let proxy = Proxy::start(server, &rules);
        Self {
            schema,
            server,
            proxy,
        }
    }

    pub(super) async fn slotted(flavour: Flavour, name: &str) -> Self {
        Self::slotted_at(&twin(flavour).proxied, name).await
    }

    pub(super) async fn slotted_at(server: &'static Address, name: &str) -> Self {
        let stage = Self::at(server, name, "slots: 8").await;
        let mut client = stage.client().await;
        for id in 1..=8 {
            run(
                &mut client,
                &format!("UPDATE posts SET views = views + 1 WHERE id = {id}"),
            )
            .await;
            run(
                &mut client,
                &format!("UPDATE posts SET views = views - 1 WHERE id = {id}"),
            )
            .await;
        }
        stage
    }

    pub(super) async fn client(&self) -> Driver {
        connect(&self.proxy.address, Some(&self.schema)).await
    }

    pub(super) async fn direct(&self) -> Driver {
        connect(self.server, Some(&self.schema)).await
    }

    /// A session past the proxy that locks this row; it lets go when dropped.
    pub(super) async fn lock(&self, row: &str) -> Driver {
        let mut locker = self.direct().await;
        run_all(
            &mut locker,
            &format!("BEGIN; SELECT * FROM {row} FOR UPDATE"),
        )
        .await;
        locker
    }

    /// The same for the slot row that this proxy's increments of row 1 go to.
    pub(super) async fn lock_the_slot_row(&self) -> Driver {
        let lowest = "SELECT MIN(slot) FROM posts_slots WHERE id = 1";
        let slot = number(&mut self.direct().await, lowest).await;
        self.lock(&format!("posts_slots WHERE id = 1 AND slot = {slot}"))
            .await
    }

    /// Waits until so many increments wait.
    pub(super) async fn until_waiting(&self, count: u64) {
        let waiting = || self.proxy.shared.metrics.waiting() == count;
        until(&format!("{count} increments wait"), async || waiting()).await;
    }

    /// Sends increments one behind the other: the first is on its way when the second comes, and so on.
    pub(super) async fn queue(
        &self,
        clients: Vec<Driver>,
        text: &str,
    ) -> Vec<JoinHandle<(Driver, Answer)>> {
        let mut sent = Vec::new();
        let mut direct = self.direct().await;
        for (position, client) in clients.into_iter().enumerate() {
            sent.push(send(client, text.to_owned()));
            match position {
                0 => self.until_blocked(&mut direct).await,
                _ => self.until_waiting(position as u64).await,
            }
        }
        sent
    }

    /// Sends increments all at once.
    pub(super) fn queue_freely(
        &self,
        clients: Vec<Driver>,
        text: &str,
    ) -> Vec<JoinHandle<(Driver, Answer)>> {
        let sent = clients.into_iter();
        sent.map(|client| send(client, text.to_owned())).collect()
    }

    /// Waits until a statement of the proxy's waits for a lock.
    pub(super) async fn until_blocked(&self, direct: &mut Driver) {
        let direct = tokio::sync::Mutex::new(direct);
        until("a statement waits for a lock", async || {
            number_of_transactions(*direct.lock().await, LOCK_WAITS).await > 0
        })
        .await;
    }

    /// How many deadlocks the server has seen.
    pub(super) async fn deadlocks(&self, flavour: Flavour) -> i64 {
        let question = match flavour {
            Flavour::MySql => {
                "SELECT `count` FROM information_schema.innodb_metrics WHERE name = 'lock_deadlocks'"
            }
            Flavour::MariaDb => {
                "SELECT variable_value FROM information_schema.global_status WHERE variable_name = 'Innodb_deadlocks'"
            }
        };
        number(&mut self.direct().await, question).await
    }

    pub(super) async fn value(&self, column: &str, id: u32) -> String {
        let question = format!("SELECT {column} FROM posts WHERE id = {id}");
        rows(&mut self.client().await, &question).await[0][0].clone()
    }
}

pub(super) fn send(mut client: Driver, text: String) -> JoinHandle<(Driver, Answer)> {
    tokio::spawn(async move {
        let answer = client.query(&text).await;
        (client, answer)
    })
}

pub(super) async fn until(what: &str, holds: impl AsyncFn() -> bool) {
    let waited = tokio::time::timeout(Duration::from_secs(20), async {
        while !holds().await {
            tokio::task::yield_now().await;
        }
    });
    waited
        .await
        .unwrap_or_else(|_| panic!("waited in vain until {what}"));
}

pub(super) async fn answers(sent: Vec<JoinHandle<(Driver, Answer)>>) -> Vec<Answer> {
    let mut answers = Vec::new();
    for answer in sent {
        answers.push(answer.await.expect("it does not panic").1);
    }
    answers
}

pub(super) fn code(answer: &Answer) -> Option<u16> {
    match answer {
        Ok(Reply::Err(error)) => Some(error.code),
        _ => None,
    }
}

pub(super) fn is_one_row(answer: &Answer) -> bool {
    matches!(answer, Ok(Reply::Ok(1)))
}

pub(super) async fn clients(stage: &Stage, count: usize) -> Vec<Driver> {
    let mut clients = Vec::new();
    for _ in 0..count {
        let mut client = stage.client().await;
        run(&mut client, "SET innodb_lock_wait_timeout = 60").await;
        // The first increment of a session asks what it has in common with others.
        run(
            &mut client,
            "UPDATE posts SET views = views + 1 WHERE id = 8",
        )
        .await;
        clients.push(client);
    }
    clients
}
