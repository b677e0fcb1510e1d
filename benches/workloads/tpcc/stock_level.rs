//! Stock-Level (specification: 2.8): how many of the items that were sold last are about to be sold out.

use rand::RngExt;
use rand::rngs::SmallRng;

use crate::session::{Interrupted, Session};
use crate::workload::Done;

/// Its inputs.
pub struct StockLevel {
    warehouse: u32,
    district: u32,
    threshold: u32,
}

impl StockLevel {
    pub fn draw(warehouse: u32, district: u32, random: &mut SmallRng) -> Self {
        Self {
            warehouse,
            district,
            threshold: random.random_range(10..=20),
        }
    }

    pub async fn play(&self, session: &mut Session) -> Result<Done, Interrupted> {
        let Self {
            warehouse,
            district,
            threshold,
        } = self;
        session.change("START TRANSACTION").await?;
        let statement = format!(
            "SELECT d_next_o_id FROM district WHERE d_w_id = {warehouse} AND d_id = {district}"
        );
        let next = session.row(&statement).await?.number(0)?;
        let statement = format!(
            "SELECT COUNT(DISTINCT s_i_id) FROM order_line JOIN stock ON s_w_id = {warehouse} AND s_i_id = ol_i_id \
             WHERE ol_w_id = {warehouse} AND ol_d_id = {district} AND ol_o_id < {next} AND ol_o_id >= {} \
             AND s_quantity < {threshold}",
            next - 20
        );
        session.row(&statement).await?;
        session.change("COMMIT").await?;
        Ok(Done::counting(0))
    }
}
