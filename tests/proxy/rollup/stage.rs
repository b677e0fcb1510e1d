//! What the tests of roll-ups have in common: a schema with a hot table, and a proxy in front of it.

use std::time::{Duration, Instant};

use countersink::driver::Driver;
use countersink_sandbox::Flavour;

use crate::support::client::{connect, create_schema, number, run};
use crate::support::proxy::{Proxy, rules_head};
use crate::support::twin::{Twin, twin};

pub const POSTS: &str = "CREATE TABLE posts (id INT PRIMARY KEY, views BIGINT NOT NULL DEFAULT 0, likes BIGINT NOT NULL DEFAULT 0, title VARCHAR(9));
    INSERT INTO posts (id, title) VALUES (1, 'one'), (2, 'two'), (3, 'three')";

/// A schema of one test with a proxy in front of it.
pub struct Stage {
    pub twin: &'static Twin,
    pub schema: String,
    /// The rules, whole and without their head.
    pub rules: String,
    pub counters: String,
    pub proxy: Proxy,
}

pub fn deadline() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

impl Stage {
    pub async fn new(flavour: Flavour, schema: &str, tables: &str, interval: &str) -> Self {
        Self::with_rule(flavour, schema, tables, interval, "").await
    }

    pub async fn with_rule(
        flavour: Flavour,
        schema: &str,
        tables: &str,
        interval: &str,
        more: &str,
    ) -> Self {
        let twin = twin(flavour);
        create_schema(&twin.proxied, schema, tables).await;
        let counters = format!(
            "counters:\n- {{table: {schema}.posts, columns: [views, likes], {more}rollup: {interval}}}\n"
        );
        Self {
            twin,
            schema: schema.to_owned(),
            rules: rules_head(&twin.proxied) + &counters,
            proxy: Proxy::start(&twin.proxied, &counters),
            counters,
        }
    }

    pub async fn client(&self) -> Driver {
        connect(&self.proxy.address, Some(&self.schema)).await
    }

    pub async fn direct(&self) -> Driver {
        connect(&self.twin.proxied, Some(&self.schema)).await
    }

    /// The first transaction with an increment of a shape increments base.
    pub async fn show_that_transactions_only_increment(&self) {
        let mut client = self.client().await;
        run(&mut client, "BEGIN").await;
        run(
            &mut client,
            "UPDATE posts SET views = views + 1 WHERE id = 2",
        )
        .await;
        run(&mut client, "COMMIT").await;
    }

    pub async fn until<F: Future<Output = bool>>(&self, holds: impl Fn() -> F) {
        let deadline = deadline();
        while !holds().await {
            assert!(Instant::now() < deadline, "it comes to pass");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    pub async fn until_base_is(&self, id: i64, expected: i64) {
        let mut direct = self.direct().await;
        let base = format!("SELECT views FROM posts WHERE id = {id}");
        let deadline = deadline();
        loop {
            let found = number(&mut direct, &base).await;
            if found == expected {
                return;
            }
            assert!(
                Instant::now() < deadline,
                "base of {id} is {found}, not {expected}"
            );
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Waits until slots hold nothing.
    pub async fn until_rolled_up(&self) {
        let mut direct = self.direct().await;
        let full = "SELECT COUNT(*) FROM posts_slots WHERE views <> 0 OR likes <> 0";
        let deadline = deadline();
        while number(&mut direct, full).await > 0 {
            assert!(Instant::now() < deadline, "slots are rolled up");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}
