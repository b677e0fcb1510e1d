//! TPC-C, written from revision 5.11 of its specification: nine tables, five transactions, conditions of consistency.
//!
//! What is not as the specification wants it: terminals have neither keying nor think times, the initial rows are fewer
//! (`--scale`), no foreign keys are declared, Delivery is not queued, and the order lines of a New-Order are sorted by
//! item, so that two of them do not lock stock in opposite orders.

mod checks;
mod customer;
mod delivery;
mod load;
mod new_order;
mod order_status;
mod payment;
mod random;
mod stock_level;
mod tables;

use clap::{Args, ValueEnum};
use rand::RngExt;
use rand::rngs::SmallRng;

use crate::course::RuleOptions;
use crate::session::{Interrupted, Session};
use crate::workload::{Acknowledged, Check, Done, Workload};
use delivery::Delivery;
use new_order::NewOrder;
use order_status::OrderStatus;
use payment::Payment;
use random::Constants;
use stock_level::StockLevel;

/// Districts of a warehouse.
const DISTRICTS: u32 = 10;

/// What is particular to TPC-C.
#[derive(Clone, Debug, Args)]
pub struct Arguments {
    /// Warehouses. Client n works for warehouse n modulo this.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    warehouses: u32,
    /// Which counters have a rule.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Hot::WYtd, Hot::DYtd])]
    hot: Vec<Hot>,
    #[command(flatten)]
    rule: RuleOptions,
    /// Divides the numbers of items, customers and initial orders that the specification wants.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=100))]
    scale: u32,
}

/// A counter of TPC-C.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Hot {
    /// The year-to-date balance of a warehouse, which every payment raises.
    #[value(name = "w_ytd")]
    WYtd,
    /// That of a district, in the row that every new order locks.
    #[value(name = "d_ytd")]
    DYtd,
    /// Neither.
    None,
}

impl Hot {
    fn name(self) -> &'static str {
        match self {
            Self::WYtd => "w_ytd",
            Self::DYtd => "d_ytd",
            Self::None => "none",
        }
    }
}

/// TPC-C with these numbers of rows.
#[derive(Clone, Debug)]
pub struct Tpcc {
    warehouses: u32,
    items: u32,
    /// Customers of a district, and its initial orders.
    customers: u32,
    hot: Vec<Hot>,
    rule: RuleOptions,
    constants: Constants,
}

/// A transaction and its inputs.
pub enum Task {
    NewOrder(NewOrder),
    Payment(Payment),
    OrderStatus(OrderStatus),
    Delivery(Delivery),
    StockLevel(StockLevel),
}

/// Positions among [`Workload::KINDS`].
const NEW_ORDER: usize = 0;
const PAYMENT: usize = 1;

impl Tpcc {
    pub fn new(arguments: &Arguments) -> Self {
        Self {
            warehouses: arguments.warehouses,
            items: 100_000 / arguments.scale,
            customers: 3_000 / arguments.scale,
            hot: arguments.hot.clone(),
            rule: arguments.rule.clone(),
            constants: Constants::draw(),
        }
    }

    /// A warehouse other than this one, if there is another one.
    fn another_warehouse(&self, than: u32, random: &mut SmallRng) -> u32 {
        match self.warehouses {
            1 => than,
            count => (than - 1 + random.random_range(1..count)) % count + 1,
        }
    }
}

impl Workload for Tpcc {
    type Task = Task;

    const NAME: &'static str = "tpcc";

    const KINDS: &'static [&'static str] = &[
        "New-Order",
        "Payment",
        "Order-Status",
        "Delivery",
        "Stock-Level",
    ];

    const TABLES: &'static [(&'static str, &'static str)] = tables::TABLES;

    fn title(&self) -> String {
        let hot: Vec<_> = self.hot.iter().map(|hot| hot.name()).collect();
        format!(
            "TPC-C without keying and think times, warehouses: {}, each with {} districts of {} customers and as many \
             initial orders; {} items (the specification: 3000 and 100000)\nhot: {}, {}",
            self.warehouses,
            DISTRICTS,
            self.customers,
            self.items,
            hot.join(" and "),
            self.rule
        )
    }

    async fn load(&self, session: &mut Session) -> Result<(), Interrupted> {
        load::load(self, session).await
    }

    fn rules(&self, schema: &str) -> String {
        let options = &self.rule;
        let rule = |table: &str, column: &str| {
            format!("- {{table: {schema}.{table}, columns: [{column}], {options}}}\n")
        };
        let rules = self.hot.iter().map(|hot| match hot {
            Hot::WYtd => rule("warehouse", "w_ytd"),
            Hot::DYtd => rule("district", "d_ytd"),
            // A rules file has one rule at least.
            Hot::None => {
                format!("- {{table: {schema}.warehouse, columns: [w_ytd], mode: 'off'}}\n")
            }
        });
        rules.collect()
    }

    /// The mix: 45, 43, 4, 4 and 4 percent.
    fn draw(&self, client: usize, random: &mut SmallRng) -> Task {
        let client = u32::try_from(client).expect("a few clients");
        let home = client % self.warehouses + 1;
        match random.random_range(0..100) {
            0..45 => Task::NewOrder(NewOrder::draw(self, home, random)),
            45..88 => Task::Payment(Payment::draw(self, home, random)),
            88..92 => Task::OrderStatus(OrderStatus::draw(self, home, random)),
            92..96 => Task::Delivery(Delivery::draw(home, random)),
            _ => {
                let district = client / self.warehouses % DISTRICTS + 1;
                Task::StockLevel(StockLevel::draw(home, district, random))
            }
        }
    }

    fn kind(task: &Task) -> usize {
        match task {
            Task::NewOrder(_) => NEW_ORDER,
            Task::Payment(_) => PAYMENT,
            Task::OrderStatus(_) => 2,
            Task::Delivery(_) => 3,
            Task::StockLevel(_) => 4,
        }
    }

    /// What is counted are the cents of payments.
    async fn play(&self, task: &Task, session: &mut Session) -> Result<Done, Interrupted> {
        match task {
            Task::NewOrder(task) => task.play(session).await,
            Task::Payment(task) => task.play(session).await,
            Task::OrderStatus(task) => task.play(session).await,
            Task::Delivery(task) => task.play(session).await,
            Task::StockLevel(task) => task.play(session).await,
        }
    }

    fn checks(&self, acknowledged: &Acknowledged) -> Vec<Check> {
        checks::of(self, acknowledged)
    }
}

/// An amount of cents as SQL has it.
fn money(cents: i64) -> String {
    let sign = if cents < 0 { "-" } else { "" };
    let cents = cents.unsigned_abs();
    format!("{sign}{}.{:02}", cents / 100, cents % 100)
}
