//! Payment (specification: 2.5): raises the balances of a warehouse, a district and a customer.

use rand::RngExt;
use rand::rngs::SmallRng;

use super::customer::Customer;
use super::{DISTRICTS, Tpcc, money};
use crate::session::{Interrupted, Session};
use crate::workload::Done;

/// The most letters of `c_data`.
const MOST_DATA: usize = 500;

/// Its inputs.
pub struct Payment {
    warehouse: u32,
    district: u32,
    /// Warehouse and district of the customer.
    home: (u32, u32),
    customer: Customer,
    cents: u32,
}

impl Payment {
    pub fn draw(sizes: &Tpcc, warehouse: u32, random: &mut SmallRng) -> Self {
        let district = random.random_range(1..=DISTRICTS);
        let is_remote = sizes.warehouses > 1 && random.random_range(0..100) < 15;
        let home = match is_remote {
            true => (
                sizes.another_warehouse(warehouse, random),
                random.random_range(1..=DISTRICTS),
            ),
            false => (warehouse, district),
        };
        Self {
            warehouse,
            district,
            home,
            customer: Customer::draw(sizes, random),
            cents: random.random_range(100..=500_000),
        }
    }

    pub async fn play(&self, session: &mut Session) -> Result<Done, Interrupted> {
        let (warehouse, district) = (self.warehouse, self.district);
        let amount = money(self.cents.into());
        session.change("START TRANSACTION").await?;
        let statement =
            format!("UPDATE warehouse SET w_ytd = w_ytd + {amount} WHERE w_id = {warehouse}");
        session.change(&statement).await?;
        let statement = format!(
            "SELECT w_name, w_street_1, w_street_2, w_city, w_state, w_zip FROM warehouse WHERE w_id = {warehouse}"
        );
        let from = session.row(&statement).await?.text(0)?;
        let statement = format!(
            "UPDATE district SET d_ytd = d_ytd + {amount} WHERE d_w_id = {warehouse} AND d_id = {district}"
        );
        session.change(&statement).await?;
        let statement = format!(
            "SELECT d_name, d_street_1, d_street_2, d_city, d_state, d_zip FROM district \
             WHERE d_w_id = {warehouse} AND d_id = {district}"
        );
        let within = session.row(&statement).await?.text(0)?;
        let customer = self.pay(session, &amount).await?;
        let (home_warehouse, home_district) = self.home;
        let statement = format!(
            "INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data) \
             VALUES ({customer}, {home_district}, {home_warehouse}, {district}, {warehouse}, NOW(), {amount}, \
             '{from}    {within}')"
        );
        session.change(&statement).await?;
        session.change("COMMIT").await?;
        Ok(Done::counting(self.cents.into()))
    }

    /// Returns the customer's number.
    async fn pay(&self, session: &mut Session, amount: &str) -> Result<i64, Interrupted> {
        let customer = self.customer.find(session, self.home).await?;
        let (warehouse, district) = self.home;
        let place = format!("c_w_id = {warehouse} AND c_d_id = {district} AND c_id = {customer}");
        let statement = format!(
            "SELECT c_credit, c_data, c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, \
             c_phone, c_since, c_credit_lim, c_discount, c_balance FROM customer WHERE {place} FOR UPDATE"
        );
        let row = session.row(&statement).await?;
        let data = match row.text(0)?.as_str() {
            "BC" => {
                let mut data = format!(
                    "{customer} {district} {warehouse} {} {} {amount} {}",
                    self.district,
                    self.warehouse,
                    row.text(1)?
                );
                data.truncate(MOST_DATA);
                format!(", c_data = '{data}'")
            }
            _ => String::new(),
        };
        let statement = format!(
            "UPDATE customer SET c_balance = c_balance - {amount}, c_ytd_payment = c_ytd_payment + {amount}, \
             c_payment_cnt = c_payment_cnt + 1{data} WHERE {place}"
        );
        session.change(&statement).await?;
        Ok(customer)
    }
}
