//! The initial rows (specification: 4.3.3).

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::random::{digits, item_data, last_name, letters, permutation, zip};
use super::{DISTRICTS, Tpcc, money};
use crate::schemas::Bulk;
use crate::session::{Interrupted, Session};

/// What each customer has paid at first, in cents.
pub const FIRST_PAYMENT: u32 = 1_000;

/// Fills all tables.
pub async fn load(sizes: &Tpcc, session: &mut Session) -> Result<(), Interrupted> {
    let mut random = SmallRng::seed_from_u64(0);
    session.change("START TRANSACTION").await?;
    items(sizes, session, &mut random).await?;
    for warehouse in 1..=sizes.warehouses {
        warehouse_row(sizes, session, warehouse, &mut random).await?;
        stock(sizes, session, warehouse, &mut random).await?;
        for district in 1..=DISTRICTS {
            let place = (warehouse, district);
            district_row(sizes, session, place, &mut random).await?;
            customers(sizes, session, place, &mut random).await?;
            orders(sizes, session, place, &mut random).await?;
        }
    }
    session.change("COMMIT").await.map(drop)
}

async fn items(
    sizes: &Tpcc,
    session: &mut Session,
    random: &mut SmallRng,
) -> Result<(), Interrupted> {
    let mut rows = Bulk::new("item");
    for id in 1..=sizes.items {
        let values = format!(
            "{id}, {}, '{}', {}, '{}'",
            random.random_range(1..=10_000),
            letters(14, 24, random),
            money(random.random_range(100..=10_000)),
            item_data(random)
        );
        rows.add(session, values).await?;
    }
    rows.flush(session).await
}

async fn warehouse_row(
    sizes: &Tpcc,
    session: &mut Session,
    id: u32,
    random: &mut SmallRng,
) -> Result<(), Interrupted> {
    let paid = i64::from(DISTRICTS * sizes.customers * FIRST_PAYMENT);
    let mut rows = Bulk::new("warehouse");
    let values = format!("{id}, {}, {}", named_place(random), money(paid));
    rows.add(session, values).await?;
    rows.flush(session).await
}

async fn district_row(
    sizes: &Tpcc,
    session: &mut Session,
    (warehouse, id): (u32, u32),
    random: &mut SmallRng,
) -> Result<(), Interrupted> {
    let paid = i64::from(sizes.customers * FIRST_PAYMENT);
    let mut rows = Bulk::new("district");
    let values = format!(
        "{warehouse}, {id}, {}, {}, {}",
        named_place(random),
        money(paid),
        sizes.customers + 1
    );
    rows.add(session, values).await?;
    rows.flush(session).await
}

/// Name, address and tax of a warehouse or a district.
fn named_place(random: &mut SmallRng) -> String {
    format!(
        "'{}', {}, {:.4}",
        letters(6, 10, random),
        address(random),
        random.random_range(0.0..=0.2)
    )
}

/// Two streets, city, state and zip code.
fn address(random: &mut SmallRng) -> String {
    format!(
        "'{}', '{}', '{}', '{}', '{}'",
        letters(10, 20, random),
        letters(10, 20, random),
        letters(10, 20, random),
        letters(2, 2, random),
        zip(random)
    )
}

async fn stock(
    sizes: &Tpcc,
    session: &mut Session,
    warehouse: u32,
    random: &mut SmallRng,
) -> Result<(), Interrupted> {
    let mut rows = Bulk::new("stock");
    for item in 1..=sizes.items {
        let districts: String = (0..DISTRICTS)
            .map(|_| format!("'{}', ", letters(24, 24, random)))
            .collect();
        let values = format!(
            "{warehouse}, {item}, {}, {districts}0, 0, 0, '{}'",
            random.random_range(10..=100),
            item_data(random)
        );
        rows.add(session, values).await?;
    }
    rows.flush(session).await
}

async fn customers(
    sizes: &Tpcc,
    session: &mut Session,
    (warehouse, district): (u32, u32),
    random: &mut SmallRng,
) -> Result<(), Interrupted> {
    let paid = money(FIRST_PAYMENT.into());
    let (mut rows, mut history) = (Bulk::new("customer"), Bulk::new("history"));
    for id in 1..=sizes.customers {
        let name = match id {
            1..=1000 => last_name(id - 1),
            _ => sizes.constants.last_name(sizes.customers, random),
        };
        let credit = if random.random_range(0..10) == 0 {
            "BC"
        } else {
            "GC"
        };
        let values = format!(
            "{warehouse}, {district}, {id}, '{}', 'OE', '{name}', {}, '{}', NOW(), '{credit}', 50000.00, {:.4}, \
             -{paid}, {paid}, 1, 0, '{}'",
            letters(8, 16, random),
            address(random),
            digits(16, random),
            random.random_range(0.0..=0.5),
            letters(300, 500, random)
        );
        rows.add(session, values).await?;
        let text = letters(12, 24, random);
        let place = format!("{district}, {warehouse}");
        let values = format!("{id}, {place}, {place}, NOW(), {paid}, '{text}'");
        history.add(session, values).await?;
    }
    rows.flush(session).await?;
    history.flush(session).await
}

/// One order for each customer. The last three of ten are still to be delivered.
async fn orders(
    sizes: &Tpcc,
    session: &mut Session,
    (warehouse, district): (u32, u32),
    random: &mut SmallRng,
) -> Result<(), Interrupted> {
    let place = format!("{warehouse}, {district}");
    let mut rows = Bulk::new("orders");
    let (mut lines, mut new) = (Bulk::new("order_line"), Bulk::new("new_orders"));
    for (id, customer) in (1..).zip(permutation(sizes.customers, random)) {
        let is_new = id > sizes.customers * 7 / 10;
        let count = random.random_range(5..=15);
        let carrier = match is_new {
            true => "NULL".to_owned(),
            false => random.random_range(1..=10).to_string(),
        };
        let values = format!("{place}, {id}, {customer}, NOW(), {carrier}, {count}, 1");
        rows.add(session, values).await?;
        for number in 1..=count {
            let (delivered, amount) = match is_new {
                true => ("NULL", random.random_range(1..=999_999)),
                false => ("NOW()", 0),
            };
            let values = format!(
                "{place}, {id}, {number}, {}, {warehouse}, {delivered}, 5, {}, '{}'",
                random.random_range(1..=sizes.items),
                money(amount),
                letters(24, 24, random)
            );
            lines.add(session, values).await?;
        }
        if is_new {
            new.add(session, format!("{place}, {id}")).await?;
        }
    }
    rows.flush(session).await?;
    lines.flush(session).await?;
    new.flush(session).await
}
