//! The schema that sessions are played in: hot tables of all kinds, cold ones beside them, and what they hold.

mod comparison;
mod tables;
mod values;

use std::time::{Duration, Instant};

use countersink::driver::{Driver, Packet, Reply};
use countersink::wire::response::{PacketKind, ResponseKind};
use countersink_sandbox::{Address, Flavour};

use crate::case::Session;
use crate::difference::Exchange;
use crate::random::OBSERVED;
use crate::support::client::{connect, rows, run, run_all};
use tables::{COLD, CREATE, CREATE_RELATED, HOT, Hot, RELATED};
use values::{FILL, FILL_RELATED, INTO_SLOTS, RELATED_INTO_SLOTS, REWIND};

/// Topics whose world has [`RELATED`], as the prover's has: what it prints is played as any other file.
const TOPICS: &[&str] = &["out_of_sight", "any_file"];

/// The schema of a topic.
pub struct World {
    pub schema: String,
    /// With [`RELATED`], and rolled up when a step says so alone.
    has_related: bool,
    /// Its tables go to slots and to rest while sequences are played: `COUNTERSINK_REST=1`.
    rests: bool,
    flavour: Flavour,
}

impl World {
    pub fn new(flavour: Flavour, topic: &str) -> Self {
        Self {
            schema: format!("cs_{topic}"),
            has_related: TOPICS.contains(&topic),
            rests: false,
            flavour,
        }
    }

    /// The prover's, of this lane.
    pub fn of_the_prover(flavour: Flavour, lane: usize) -> Self {
        Self {
            has_related: true,
            rests: std::env::var("COUNTERSINK_REST").is_ok_and(|rest| rest == "1"),
            ..Self::new(flavour, &format!("random_{lane}"))
        }
    }

    fn hot(&self) -> impl Iterator<Item = &'static Hot> + use<> {
        let related = if self.has_related { RELATED } else { &[] };
        HOT.iter().chain(related)
    }

    /// All tables, those first that refer to others.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        let boards: &[&str] = if self.has_related { &["boards"] } else { &[] };
        let cold = COLD.iter().chain(boards).copied();
        self.hot().map(|hot| hot.name).chain(cold)
    }

    /// Those that a session names, or changes out of sight.
    pub fn names_in(&self, session: &Session) -> Vec<&'static str> {
        /// Words, and the tables that foreign keys, triggers and routines change for them.
        const OUT_OF_SIGHT: &[(&str, &str)] = &[
            ("boards", "threads"),
            ("boards", "medals"),
            ("retitle", "posts"),
            ("logged", "tallies"),
            ("logs", "tallies"),
            ("CALL", "authors"),
        ];
        let text = session.to_string();
        let is_changed = |name: &str| {
            let mut words = OUT_OF_SIGHT.iter().filter(|(_, table)| *table == name);
            text.contains(name) || words.any(|(word, _)| text.contains(word))
        };
        self.names().filter(|name| is_changed(name)).collect()
    }

    /// Whether its tables go to slots and to rest.
    pub fn rests(&self) -> bool {
        self.rests
    }

    pub fn flavour(&self) -> Flavour {
        self.flavour
    }

    /// The rules of the proxy.
    pub fn rules(&self) -> String {
        let mut text = "counters:\n".to_owned();
        let interval = if self.has_related { "1h" } else { "10ms" };
        let rest = if self.rests { "auto" } else { "never" };
        for hot in self.hot() {
            let (columns, touch) = (hot.counters.join(", "), hot.touch.join(", "));
            text += &format!(
                "  - {{table: {}.{}, columns: [{columns}], touch: [{touch}], rollup: {interval}, rest: {rest}}}\n",
                self.schema, hot.name
            );
        }
        text
    }

    /// Fills in `{schema}` and `{x:100}`.
    pub fn expand(&self, text: &str) -> String {
        let text = text.replace("{schema}", &self.schema);
        let Some((before, rest)) = text.split_once("{x:") else {
            return text;
        };
        let (length, after) = rest.split_once('}').expect("a brace that closes");
        let length = length.parse().expect("a length");
        [before, &"x".repeat(length), after].concat()
    }

    /// Makes the schema anew, its tables empty.
    pub async fn create(&self, server: &Address) {
        let mut driver = connect(server, None).await;
        let schema = &self.schema;
        run(&mut driver, &format!("DROP DATABASE IF EXISTS {schema}")).await;
        run(
            &mut driver,
            &format!("CREATE DATABASE {schema} DEFAULT CHARACTER SET utf8mb4"),
        )
        .await;
        run(&mut driver, &format!("USE {schema}")).await;
        run_all(&mut driver, CREATE).await;
        if self.has_related {
            for create in CREATE_RELATED {
                run(&mut driver, create).await;
            }
        }
    }

    /// Puts the rows into the tables of the plain server; `rewind` sets AUTO_INCREMENT back as well.
    pub async fn fill(&self, server: &Address, rewind: bool) {
        let filled = self.fill_and("", server, rewind).await;
        filled.expect("tables to be filled");
    }

    /// Puts the same values into the tables of the server behind the proxy, a part of them into slots.
    pub async fn fill_with_slots(&self, server: &Address, rewind: bool) {
        let names: Vec<_> = self
            .hot()
            .map(|hot| format!("{}_slots", hot.name))
            .collect();
        let mut into_slots = String::new();
        // At rest, nobody reads them.
        if !self.rests {
            into_slots += INTO_SLOTS;
        }
        if !self.rests && self.has_related {
            into_slots += RELATED_INTO_SLOTS;
        }
        const ATTEMPTS: usize = 10;
        for _ in 0..ATTEMPTS {
            let there = self.slots_that_are_there(server, &names).await;
            let empty = there.iter().map(|name| format!("DELETE FROM {name};\n"));
            let script = empty.collect::<String>() + &into_slots;
            match self.fill_and(&script, server, rewind).await {
                Ok(()) => return,
                // The proxy has only now seen the DDL that the sequence before ended with.
                Err(error) if error.contains("1146") => {}
                Err(error) => panic!("{error}"),
            }
        }
        panic!("slot tables come and go");
    }

    /// DDL takes slot tables away. They are made anew when all proxies have seen what has become of the table; at rest,
    /// when slots are needed again.
    async fn slots_that_are_there(&self, server: &Address, names: &[String]) -> Vec<String> {
        let mut driver = connect(server, Some(&self.schema)).await;
        let quoted: Vec<_> = names.iter().map(|name| format!("'{name}'")).collect();
        let question = format!(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name IN ({})",
            quoted.join(", ")
        );
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            let there = rows(&mut driver, &question).await;
            if self.rests || there.len() == names.len() {
                return there.into_iter().flatten().collect();
            }
            assert!(Instant::now() < deadline, "a slot table has not come back");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// In one transaction, for slots may be rolled up at any time.
    async fn fill_and(&self, script: &str, server: &Address, rewind: bool) -> Result<(), String> {
        let mut driver = connect(server, Some(&self.schema)).await;
        let empty = self.names().map(|name| format!("DELETE FROM {name};\n"));
        let empty: String = empty.collect();
        let related = if self.has_related { FILL_RELATED } else { "" };
        let script = format!("SET NAMES utf8mb4;\nBEGIN;\n{empty}{FILL}{related}{script}COMMIT");
        match driver.query(&script).await {
            Ok(Reply::Err(error)) => return Err(format!("{error} in: {script}")),
            Ok(_) => {}
            Err(error) => return Err(format!("{error} in: {script}")),
        }
        if rewind {
            run_all(&mut driver, REWIND).await;
        }
        Ok(())
    }

    /// A session that reads what all tables hold, for [`World::observe`].
    pub async fn observer(&self, server: &Address) -> Driver {
        let mut driver = connect(server, Some(&self.schema)).await;
        run(
            &mut driver,
            "SET NAMES utf8mb4, lock_wait_timeout = 5, innodb_lock_wait_timeout = 5",
        )
        .await;
        driver
    }

    /// All rows of these tables, as an exchange.
    pub async fn observe(&self, observer: &mut Driver, names: &[&str], label: &str) -> Exchange {
        let reads = names
            .iter()
            .map(|name| format!("SELECT * FROM {name} ORDER BY 1, 2"));
        let text = reads.collect::<Vec<_>>().join(";");
        let payload = observer.query_payload(&text);
        let sent = observer.send(&payload).await;
        let packets = match sent {
            Ok(()) => observer.packets(ResponseKind::Results).await,
            Err(error) => Err(error),
        };
        let is_told =
            |packet: &Packet| matches!(packet.packet_kind, PacketKind::Row | PacketKind::Err);
        Exchange {
            label: label.to_owned(),
            request: OBSERVED,
            answer: packets
                .map(|packets| packets.into_iter().filter(is_told).collect())
                .map_err(|error| error.to_string()),
            masked: false,
            binary: Vec::new(),
            statement_id: None,
        }
    }
}
