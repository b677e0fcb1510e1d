//! A customer, chosen by number or by last name (specification: 2.5.1.2).

use rand::RngExt;
use rand::rngs::SmallRng;

use super::Tpcc;
use crate::session::{Interrupted, Session};

/// How a customer of a district is named.
pub enum Customer {
    Number(u32),
    LastName(String),
}

impl Customer {
    /// Six of ten are chosen by their last name.
    pub fn draw(sizes: &Tpcc, random: &mut SmallRng) -> Self {
        match random.random_range(0..10) {
            0..6 => Self::LastName(sizes.constants.last_name(sizes.customers, random)),
            _ => Self::Number(sizes.constants.customer(sizes.customers, random)),
        }
    }

    /// The customer's number: of several with one last name, that of the one in the middle.
    pub async fn find(
        &self,
        session: &mut Session,
        (warehouse, district): (u32, u32),
    ) -> Result<i64, Interrupted> {
        let name = match self {
            Self::Number(number) => return Ok((*number).into()),
            Self::LastName(name) => name,
        };
        let statement = format!(
            "SELECT c_id FROM customer WHERE c_w_id = {warehouse} AND c_d_id = {district} AND c_last = '{name}' \
             ORDER BY c_first"
        );
        let rows = session.rows(&statement).await?;
        let middle = rows.get(rows.len().div_ceil(2).saturating_sub(1));
        middle
            .ok_or_else(|| Interrupted::Ended(format!("no row in: {statement}")))?
            .number(0)
    }
}
