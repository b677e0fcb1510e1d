//! Recorded loads, played with as many clients as they had.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use countersink_sandbox::Address;
use tokio::sync::Barrier;
use tokio::task::JoinHandle;

use crate::support::client::{connect, create_schema, run};

/// A load: a file of sections. `= tables` makes the tables; `= 8 clients` is what each of eight sends, over and over.
/// Each line is a statement.
pub struct Load {
    tables: Vec<&'static str>,
    clients: Vec<Vec<&'static str>>,
}

pub fn mixed() -> Load {
    Load::read(include_str!("mixed.load"))
}

pub fn cold() -> Load {
    Load::read(include_str!("cold.load"))
}

pub fn own() -> Load {
    Load::read(include_str!("own.load"))
}

pub fn simple() -> Load {
    Load::read(include_str!("simple.load"))
}

pub fn faults() -> Load {
    Load::read(include_str!("faults.load"))
}

pub fn keyless() -> Load {
    Load::read(include_str!("keyless.load"))
}

impl Load {
    fn read(text: &'static str) -> Self {
        let mut load = Self {
            tables: Vec::new(),
            clients: Vec::new(),
        };
        let sections = text.split("\n= ").skip(1);
        for section in sections {
            let mut lines = section.lines().filter(|line| !line.is_empty());
            let title = lines.next().expect("a title");
            let statements: Vec<_> = lines.collect();
            match title.strip_suffix(" clients") {
                Some(number) => {
                    let number: usize = number.parse().expect("a number of clients");
                    load.clients.extend(vec![statements; number]);
                }
                None => load.tables = statements,
            }
        }
        assert!(!load.tables.is_empty() && !load.clients.is_empty());
        load
    }

    /// Makes the schema anew.
    pub async fn make(&self, on: &Address, schema: &str) {
        create_schema(on, schema, &self.tables.join(";\n")).await;
    }

    /// Plays it until told to stop; every client has begun when this returns.
    pub async fn play(&self, at: &Address, schema: &str) -> Playing {
        let begun = Arc::new(Barrier::new(self.clients.len() + 1));
        let stop = Arc::new(AtomicBool::new(false));
        let mut clients = Vec::new();
        for statements in &self.clients {
            let mut driver = connect(at, Some(schema)).await;
            let (statements, begun, stop) =
                (statements.clone(), Arc::clone(&begun), Arc::clone(&stop));
            clients.push(tokio::spawn(async move {
                begun.wait().await;
                while !stop.load(Ordering::Relaxed) {
                    for statement in &statements {
                        run(&mut driver, statement).await;
                    }
                }
            }));
        }
        begun.wait().await;
        Playing { stop, clients }
    }
}

/// A load that is being played.
pub struct Playing {
    stop: Arc<AtomicBool>,
    clients: Vec<JoinHandle<()>>,
}

impl Playing {
    /// Every client ends at the end of its section.
    pub async fn stop(self) {
        self.stop.store(true, Ordering::Relaxed);
        for client in self.clients {
            client.await.expect("the load runs without an error");
        }
    }
}
