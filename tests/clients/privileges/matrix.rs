//! Accounts by statements.

use std::io::Write;

use countersink_sandbox::Flavour;

use crate::privileges::account::{self, Account};
use crate::privileges::stage::{Outcome, Stage};
use crate::privileges::statement::{ALL, Statement};
use crate::support::on_both;
use crate::support::thorough::every_nth;

/// The most differences that are shown.
const MOST_SHOWN: usize = 20;

/// Where not everything is asked for, one account in so many is played.
const EACH: usize = 4;

/// What a cell of the matrix says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cell {
    /// Both do it.
    Done,
    /// Both refuse it.
    Refused,
    /// The proxy's statements need rights that this account has not, and nothing is done.
    Limit,
    Different,
}

impl Cell {
    fn of(outcome: &Outcome, account: &Account, statement: &Statement) -> Self {
        match (&outcome.difference, outcome.refused) {
            (None, false) => Self::Done,
            (None, true) => Self::Refused,
            (Some(_), _) if outcome.lacks_right && !account.may(statement.needs) => Self::Limit,
            (Some(_), _) => Self::Different,
        }
    }

    fn letter(self) -> char {
        match self {
            Self::Done => '=',
            Self::Refused => '-',
            Self::Limit => 'L',
            Self::Different => 'D',
        }
    }
}

async fn every_account_may_do_what_it_may_directly(flavour: Flavour) {
    let mut stage = Stage::new(flavour, "cs_privileges").await;
    let wanted = std::env::var("COUNTERSINK_ACCOUNT").unwrap_or_default();
    let accounts = account::all(flavour);
    let accounts = match wanted.as_str() {
        "" => every_nth(
            &format!("privileges on {flavour}, accounts"),
            EACH,
            accounts,
        ),
        name => accounts
            .into_iter()
            .filter(|one| one.name.contains(name))
            .collect(),
    };
    let mut matrix = String::new();
    let mut found = Vec::new();
    let mut cells = Vec::new();
    for account in &accounts {
        stage.make_account().await;
        stage.past(&account.grants.join("; ")).await;
        stage.behind(&account.on_slots.join("; ")).await;
        let mut pair = stage.login().await;
        let mut line = String::new();
        for statement in ALL {
            let outcome = stage
                .run(&mut pair, statement.texts, statement.binary)
                .await;
            let cell = Cell::of(&outcome, account, statement);
            line.push(cell.letter());
            cells.push(cell);
            if let (Cell::Different, Some(difference)) = (cell, outcome.difference) {
                found.push(format!("{}\n  {difference}", account.name));
            }
        }
        matrix += &format!("{line}  {}\n", account.name);
    }
    stage.remove_account().await;
    let count = |wanted| cells.iter().filter(|cell| **cell == wanted).count();
    let report = format!(
        "{flavour}: {} cells: {} done (=), {} refused (-), {} known limits (L), {} different (D)\n{matrix}",
        cells.len(),
        count(Cell::Done),
        count(Cell::Refused),
        count(Cell::Limit),
        count(Cell::Different),
    );
    let file = crate::support::twin::folder().join(format!("privileges-{flavour}.txt"));
    std::fs::write(&file, format!("{report}\n{}", found.join("\n"))).expect("a report");
    // Past the harness, which keeps what a passing test prints.
    std::io::stderr().write_all(report.as_bytes()).ok();
    found.truncate(MOST_SHOWN);
    let all = file.display();
    assert!(found.is_empty(), "{}\nall: {all}", found.join("\n"));
    assert!(count(Cell::Done) > 0, "no account's name contains {wanted}");
}

on_both![every_account_may_do_what_it_may_directly];
