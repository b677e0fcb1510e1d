//! Order-Status (specification: 2.6): a customer's last order, read in one transaction.

use rand::RngExt;
use rand::rngs::SmallRng;

use super::customer::Customer;
use super::{DISTRICTS, Tpcc};
use crate::session::{Interrupted, Session};
use crate::workload::Done;

/// Its inputs.
pub struct OrderStatus {
    warehouse: u32,
    district: u32,
    customer: Customer,
}

impl OrderStatus {
    pub fn draw(sizes: &Tpcc, warehouse: u32, random: &mut SmallRng) -> Self {
        Self {
            warehouse,
            district: random.random_range(1..=DISTRICTS),
            customer: Customer::draw(sizes, random),
        }
    }

    pub async fn play(&self, session: &mut Session) -> Result<Done, Interrupted> {
        let (warehouse, district) = (self.warehouse, self.district);
        session.change("START TRANSACTION").await?;
        let customer = self.customer.find(session, (warehouse, district)).await?;
        let statement = format!(
            "SELECT c_balance, c_first, c_middle, c_last FROM customer \
             WHERE c_w_id = {warehouse} AND c_d_id = {district} AND c_id = {customer}"
        );
        session.row(&statement).await?;
        let statement = format!(
            "SELECT o_id, o_entry_d, o_carrier_id FROM orders \
             WHERE o_w_id = {warehouse} AND o_d_id = {district} AND o_c_id = {customer} ORDER BY o_id DESC LIMIT 1"
        );
        let order = session.row(&statement).await?.number(0)?;
        let statement = format!(
            "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line \
             WHERE ol_w_id = {warehouse} AND ol_d_id = {district} AND ol_o_id = {order}"
        );
        session.rows(&statement).await?;
        session.change("COMMIT").await?;
        Ok(Done::counting(0))
    }
}
