//! Delivery (specification: 2.7): the oldest new order of each district of a warehouse, all in one transaction.

use rand::RngExt;
use rand::rngs::SmallRng;

use super::{DISTRICTS, money};
use crate::session::{Interrupted, Session};
use crate::workload::Done;

/// Its inputs.
pub struct Delivery {
    warehouse: u32,
    carrier: u32,
}

impl Delivery {
    pub fn draw(warehouse: u32, random: &mut SmallRng) -> Self {
        Self {
            warehouse,
            carrier: random.random_range(1..=10),
        }
    }

    pub async fn play(&self, session: &mut Session) -> Result<Done, Interrupted> {
        session.change("START TRANSACTION").await?;
        for district in 1..=DISTRICTS {
            self.deliver(session, district).await?;
        }
        session.change("COMMIT").await?;
        Ok(Done::counting(0))
    }

    /// A district may have nothing to deliver.
    async fn deliver(&self, session: &mut Session, district: u32) -> Result<(), Interrupted> {
        let Self { warehouse, carrier } = self;
        let statement = format!(
            "SELECT no_o_id FROM new_orders WHERE no_w_id = {warehouse} AND no_d_id = {district} \
             ORDER BY no_o_id LIMIT 1 FOR UPDATE"
        );
        let Some(oldest) = session.rows(&statement).await?.pop() else {
            return Ok(());
        };
        let order = oldest.number(0)?;
        let statement = format!(
            "DELETE FROM new_orders WHERE no_w_id = {warehouse} AND no_d_id = {district} AND no_o_id = {order}"
        );
        session.change(&statement).await?;
        let place = format!("o_w_id = {warehouse} AND o_d_id = {district} AND o_id = {order}");
        let statement = format!("SELECT o_c_id FROM orders WHERE {place}");
        let customer = session.row(&statement).await?.number(0)?;
        let statement = format!("UPDATE orders SET o_carrier_id = {carrier} WHERE {place}");
        session.change(&statement).await?;
        let lines = format!("ol_w_id = {warehouse} AND ol_d_id = {district} AND ol_o_id = {order}");
        let statement = format!("UPDATE order_line SET ol_delivery_d = NOW() WHERE {lines}");
        session.change(&statement).await?;
        let statement = format!("SELECT SUM(ol_amount) FROM order_line WHERE {lines}");
        let amount = money(session.row(&statement).await?.cents(0)?);
        let statement = format!(
            "UPDATE customer SET c_balance = c_balance + {amount}, c_delivery_cnt = c_delivery_cnt + 1 \
             WHERE c_w_id = {warehouse} AND c_d_id = {district} AND c_id = {customer}"
        );
        session.change(&statement).await.map(drop)
    }
}
