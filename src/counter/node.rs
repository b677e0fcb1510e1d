//! Which of several proxies in front of one server this one is: each leases slots of a range of its own, so that no two
//! meet on a slot row.
//!
//! The number is claimed by a user lock of the server's (GET_LOCK), which goes with the connection that holds it. While it
//! is lost, two proxies may lease the same slots: that costs waits, and nothing else.

use std::time::Duration;

use mysql_async::Conn;
use mysql_async::prelude::Queryable;

use super::control::Control;

/// So many proxies may be told apart: there are no more ranges than slots.
const MOST_NODES: u16 = 256;

/// How often the connection that holds the lock is looked at.
const LOOK: Duration = Duration::from_secs(5);

/// The number of this proxy, held as long as this is.
#[derive(Debug)]
pub struct Node {
    /// From 0, the lowest that was free.
    pub number: u16,
    conn: Conn,
}

impl Node {
    /// Claims the lowest number that no other proxy holds; `None` when the server does not give one, which is logged.
    pub async fn claim(control: &Control) -> Option<Self> {
        let mut conn = match control.connect().await {
            Ok(conn) => conn,
            Err(error) => {
                tracing::warn!("no node number: {error}");
                return None;
            }
        };
        for number in 0..MOST_NODES {
            let lock = format!("SELECT GET_LOCK('countersink.node.{number}', 0)");
            match conn.query_first::<Option<i64>, _>(lock).await {
                Ok(Some(Some(1))) => {
                    tracing::debug!("node {number}");
                    return Some(Self { number, conn });
                }
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(
                        "no node number: {error}; two proxies may wait for each other's slots"
                    );
                    return None;
                }
            }
        }
        tracing::warn!(
            "no node number: {MOST_NODES} are taken; two proxies may wait for each other's slots"
        );
        None
    }

    /// Returns when the number is lost. Cancel safe.
    async fn lost(&mut self) {
        loop {
            tokio::time::sleep(LOOK).await;
            if let Err(error) = self.conn.ping().await {
                tracing::warn!("node {} is lost: {error}", self.number);
                return;
            }
        }
    }
}

/// Holds a number, claims another when it is lost, and tells of each. Never returns.
pub async fn keep(control: &Control, first: Option<Node>, claimed: impl Fn(u16)) {
    let mut node = first;
    loop {
        match &mut node {
            Some(node) => {
                claimed(node.number);
                node.lost().await;
            }
            None => tokio::time::sleep(LOOK).await,
        }
        node = Node::claim(control).await;
    }
}
