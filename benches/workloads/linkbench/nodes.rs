//! Operations on nodes, each of which is one statement.

use rand::RngExt;
use rand::rngs::SmallRng;

use super::{data, now};
use crate::session::{Interrupted, Session};
use crate::workload::Done;

/// An operation and its inputs.
pub enum NodeTask {
    Get(u64),
    Add(String),
    Update(u64, String),
    Delete(u64),
}

impl NodeTask {
    pub fn get(id: u64) -> Self {
        Self::Get(id)
    }

    pub fn add(random: &mut SmallRng) -> Self {
        Self::Add(text(random))
    }

    pub fn update(id: u64, random: &mut SmallRng) -> Self {
        Self::Update(id, text(random))
    }

    pub fn delete(id: u64) -> Self {
        Self::Delete(id)
    }

    /// A node that was deleted is neither found nor missed.
    pub async fn play(&self, session: &mut Session) -> Result<Done, Interrupted> {
        let time = now() / 1000;
        let statement = match self {
            Self::Get(id) => {
                let statement =
                    format!("SELECT id, type, version, time, data FROM nodetable WHERE id = {id}");
                session.rows(&statement).await?;
                return Ok(Done::counting(0));
            }
            Self::Add(data) => format!(
                "INSERT INTO nodetable (type, version, time, data) VALUES (2048, 1, {time}, '{data}')"
            ),
            Self::Update(id, data) => format!(
                "UPDATE nodetable SET version = 2, time = {time}, data = '{data}' WHERE id = {id} AND type = 2048"
            ),
            Self::Delete(id) => format!("DELETE FROM nodetable WHERE id = {id} AND type = 2048"),
        };
        session.change(&statement).await?;
        Ok(Done::counting(0))
    }
}

fn text(random: &mut SmallRng) -> String {
    let length = random.random_range(64..=192);
    data(length, random)
}
