//! Proxies in front of a server with one hot table, and what is known of their rules.

use std::time::{Duration, Instant};

use countersink::config::Mode;
use countersink::driver::Driver;
use countersink::wire::command;
use countersink::wire::response::ResponseKind;
use countersink_sandbox::{Address, Flavour};

use crate::support::binary::PATIENCE;
use crate::support::client::{connect, create_schema, number};
use crate::support::proxy::Proxy;
use crate::support::twin::{Twin, twin};

pub const POSTS: &str = "CREATE TABLE posts (id INT PRIMARY KEY, title VARCHAR(20) NOT NULL DEFAULT '', \
     views BIGINT NOT NULL DEFAULT 0, likes BIGINT NOT NULL DEFAULT 0); INSERT INTO posts (id) VALUES (1), (2), (3)";

/// How often it is looked at what is waited for.
pub const GLANCE: Duration = Duration::from_millis(2);

/// A schema of its own on a server.
pub struct Stage {
    pub upstream: Address,
    pub schema: &'static str,
    /// A session past all proxies.
    pub direct: Driver,
}

impl Stage {
    pub async fn new(flavour: Flavour, schema: &'static str) -> Self {
        let Twin { proxied, .. } = twin(flavour);
        Self {
            upstream: proxied.clone(),
            schema,
            direct: create_schema(proxied, schema, POSTS).await,
        }
    }

    pub fn table(&self) -> String {
        format!("{}.posts", self.schema)
    }

    /// A rule for the table, with these settings.
    pub fn rule(&self, settings: &str) -> String {
        format!("counters:\n- {{table: {}, {settings}}}\n", self.table())
    }

    pub fn proxy(&self, settings: &str) -> Proxy {
        Proxy::start(&self.upstream, &self.rule(settings))
    }

    pub async fn client(&self, proxy: &Proxy) -> Driver {
        connect(&proxy.address, Some(self.schema)).await
    }

    /// What lies in slots of a row, which need not have been rolled up.
    pub async fn slot_rows(&mut self) -> i64 {
        number(&mut self.direct, "SELECT COUNT(*) FROM posts_slots").await
    }

    pub async fn has_slot_table(&mut self) -> bool {
        let question = format!(
            "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = '{}' AND table_name = 'posts_slots'",
            self.schema
        );
        number(&mut self.direct, &question).await == 1
    }
}

/// Gives the rule another mode and waits until it has arrived there.
pub async fn switch(proxy: &Proxy, table: &str, mode: Mode, stage: &str) {
    proxy
        .rules
        .set_mode(table, mode)
        .await
        .unwrap_or_else(|why| panic!("{why}"));
    arrives(proxy, stage).await;
}

/// Waits until the only rule is at this stage.
pub async fn arrives(proxy: &Proxy, stage: &str) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let rules = proxy.rules.show();
        if rules.len() == 1 && rules[0].stage == stage && rules[0].waits_for.is_none() {
            return;
        }
        assert!(Instant::now() < deadline, "not {stage}: {rules:?}");
        tokio::time::sleep(GLANCE).await;
    }
}

/// Waits until a rule waits for this.
pub async fn waits_for(proxy: &Proxy, what: &str) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let rules = proxy.rules.show();
        let mut waits = rules.iter().filter_map(|rule| rule.waits_for.as_ref());
        if waits.any(|why| why.contains(what)) {
            return;
        }
        assert!(Instant::now() < deadline, "waits not for {what}: {rules:?}");
        tokio::time::sleep(GLANCE).await;
    }
}

/// COM_STMT_EXECUTE of a statement without parameters: the number that it gives, 0 if it gives none.
pub async fn execute(driver: &mut Driver, id: u32) -> i64 {
    let mut payload = vec![command::STMT_EXECUTE];
    payload.extend_from_slice(&id.to_le_bytes());
    payload.extend_from_slice(&[0, 1, 0, 0, 0]);
    driver.send(&payload).await.expect("sent");
    let packets = driver
        .packets(ResponseKind::Results)
        .await
        .expect("an answer");
    assert_ne!(
        packets[0].payload[0],
        0xFF,
        "{:?}",
        String::from_utf8_lossy(&packets[0].payload)
    );
    // A row of one BIGINT: header, bitmap of NULLs, value.
    let row = packets
        .iter()
        .rev()
        .find(|packet| packet.payload.len() == 10 && packet.payload[0] == 0);
    row.map_or(0, |row| {
        i64::from_le_bytes(row.payload[2..].try_into().expect("8 bytes"))
    })
}

/// COM_STMT_CLOSE, which has no answer.
pub async fn close(driver: &mut Driver, id: u32) {
    let payload = [&[command::STMT_CLOSE][..], &id.to_le_bytes()].concat();
    driver.send(&payload).await.expect("sent");
}
