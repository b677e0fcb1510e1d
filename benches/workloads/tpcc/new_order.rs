//! New-Order (specification: 2.4): an order of five to fifteen items, one in a hundred of which is rolled back.

use rand::RngExt;
use rand::rngs::SmallRng;

use super::{DISTRICTS, Tpcc, money};
use crate::session::{Interrupted, Session};
use crate::workload::Done;

/// Its inputs.
pub struct NewOrder {
    warehouse: u32,
    district: u32,
    customer: u32,
    lines: Vec<Line>,
}

/// An item that is ordered.
struct Line {
    item: u32,
    supplier: u32,
    quantity: i64,
}

impl NewOrder {
    pub fn draw(sizes: &Tpcc, warehouse: u32, random: &mut SmallRng) -> Self {
        let count = random.random_range(5..=15);
        let mut line = || Line {
            item: sizes.constants.item(sizes.items, random),
            supplier: match random.random_range(0..100) {
                0 => sizes.another_warehouse(warehouse, random),
                _ => warehouse,
            },
            quantity: random.random_range(1..=10),
        };
        let mut lines: Vec<Line> = (0..count).map(|_| line()).collect();
        lines.sort_by_key(|line| (line.item, line.supplier));
        if random.random_range(0..100) == 0 {
            // An item that there is not.
            let last = lines.last_mut().expect("there are five at least");
            last.item = sizes.items + 1;
        }
        Self {
            warehouse,
            district: random.random_range(1..=DISTRICTS),
            customer: sizes.constants.customer(sizes.customers, random),
            lines,
        }
    }

    pub async fn play(&self, session: &mut Session) -> Result<Done, Interrupted> {
        session.change("START TRANSACTION").await?;
        let order = self.insert_order(session).await?;
        for (number, line) in (1..).zip(&self.lines) {
            if !self.insert_line(session, order, number, line).await? {
                session.roll_back().await?;
                return Ok(Done {
                    is_committed: false,
                    counted: 0,
                });
            }
        }
        session.change("COMMIT").await?;
        Ok(Done::counting(0))
    }

    /// Returns the order's number.
    async fn insert_order(&self, session: &mut Session) -> Result<i64, Interrupted> {
        let (warehouse, district) = (self.warehouse, self.district);
        let customer = self.customer;
        let statement = format!(
            "SELECT c_discount, c_last, c_credit, w_tax FROM customer JOIN warehouse ON w_id = c_w_id \
             WHERE c_w_id = {warehouse} AND c_d_id = {district} AND c_id = {customer}"
        );
        session.row(&statement).await?;
        let statement = format!(
            "SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = {warehouse} AND d_id = {district} FOR UPDATE"
        );
        let order = session.row(&statement).await?.number(0)?;
        let statement = format!(
            "UPDATE district SET d_next_o_id = {} WHERE d_w_id = {warehouse} AND d_id = {district}",
            order + 1
        );
        session.change(&statement).await?;
        let is_local = self.lines.iter().all(|line| line.supplier == warehouse);
        let statement = format!(
            "INSERT INTO orders (o_w_id, o_d_id, o_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) \
             VALUES ({warehouse}, {district}, {order}, {customer}, NOW(), {}, {})",
            self.lines.len(),
            u8::from(is_local)
        );
        session.change(&statement).await?;
        let statement = format!(
            "INSERT INTO new_orders (no_w_id, no_d_id, no_o_id) VALUES ({warehouse}, {district}, {order})"
        );
        session.change(&statement).await?;
        Ok(order)
    }

    /// Returns whether there is such an item.
    async fn insert_line(
        &self,
        session: &mut Session,
        order: i64,
        number: u32,
        line: &Line,
    ) -> Result<bool, Interrupted> {
        let Line {
            item,
            supplier,
            quantity,
        } = line;
        let statement = format!("SELECT i_price, i_name, i_data FROM item WHERE i_id = {item}");
        let Some(found) = session.rows(&statement).await?.pop() else {
            return Ok(false);
        };
        let price = found.cents(0)?;
        let (warehouse, district) = (self.warehouse, self.district);
        let statement = format!(
            "SELECT s_quantity, s_data, s_dist_{district:02} FROM stock WHERE s_w_id = {supplier} AND s_i_id = {item} \
             FOR UPDATE"
        );
        let stock = session.row(&statement).await?;
        let left = match stock.number(0)? {
            before if before >= quantity + 10 => before - quantity,
            before => before - quantity + 91,
        };
        let statement = format!(
            "UPDATE stock SET s_quantity = {left}, s_ytd = s_ytd + {quantity}, s_order_cnt = s_order_cnt + 1, \
             s_remote_cnt = s_remote_cnt + {} WHERE s_w_id = {supplier} AND s_i_id = {item}",
            u8::from(*supplier != warehouse)
        );
        session.change(&statement).await?;
        let statement = format!(
            "INSERT INTO order_line (ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, \
             ol_amount, ol_dist_info) VALUES ({warehouse}, {district}, {order}, {number}, {item}, {supplier}, \
             {quantity}, {}, '{}')",
            money(quantity * price),
            stock.text(2)?
        );
        session.change(&statement).await?;
        Ok(true)
    }
}
