//! The server, the relay before it, two proxies before that, and the ledger.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::{Arc, RwLock};
use std::time::Duration;

use countersink::driver::Driver;
use countersink_sandbox::{Address, Flavour, Options, Server};
use tempfile::TempDir;

use crate::clients::Load;
use crate::disk::Disk;
use crate::ledger::{KEYS, Ledger, STOCK};
use crate::relay::Relay;
use crate::support::binary::{Binary, PATIENCE, Serving, rules_file};
use crate::support::client::{connect, connect_as, number, run_all};
use crate::support::twin::{installation, options};

pub const SCHEMA: &str = "cs_faults";

/// The application's account, which may not write while the server is read-only.
const APP: &str = "app";

/// How long locks are waited for, in seconds: a fault may hold them for longer.
const LOCK_WAIT: u32 = 3;

pub struct Stage {
    pub server: Server,
    /// Where the server keeps its data; `None` where it has no disk of its own.
    pub disk: Option<Disk>,
    pub relay: Relay,
    pub ledger: Arc<Ledger>,
    /// By their place.
    proxies: Vec<Serving>,
    /// Where clients find them.
    addresses: Arc<RwLock<Vec<Address>>>,
    rules: PathBuf,
    _folder: TempDir,
    rest: &'static str,
}

impl Stage {
    pub async fn new(flavour: Flavour) -> Self {
        let disk = Disk::mount();
        let mut with_waits = Options {
            under: disk.as_ref().map(|disk| disk.folder().to_owned()),
            // A server that is killed has lost nothing that it said is done.
            durable: true,
            ..options()
        };
        let wait = format!("--innodb-lock-wait-timeout={LOCK_WAIT}");
        with_waits.extra.push(wait);
        let server = Server::start(&installation(flavour), &with_waits).expect("a server");
        let upstream = server.address();
        let mut direct = connect(&upstream, None).await;
        let rows: Vec<_> = (0..KEYS).map(|row| format!("({row}, {STOCK})")).collect();
        let script = format!(
            "CREATE DATABASE {SCHEMA}; USE {SCHEMA}; \
             CREATE TABLE posts (id INT PRIMARY KEY, views BIGINT NOT NULL DEFAULT 0, \
                stock INT UNSIGNED NOT NULL, seq BIGINT NOT NULL DEFAULT 0); \
             INSERT INTO posts (id, stock) VALUES {}; \
             CREATE USER {APP} IDENTIFIED BY ''; GRANT ALL ON {SCHEMA}.* TO {APP}",
            rows.join(", ")
        );
        run_all(&mut direct, &script).await;
        let socket = format!("{}:{}", upstream.host, upstream.port);
        let relay = Relay::start(socket.parse().expect("an address")).await;
        let (folder, rules) = rules_file("");
        let mut stage = Self {
            server,
            disk,
            relay,
            ledger: Arc::default(),
            proxies: Vec::new(),
            addresses: Arc::default(),
            rules,
            _folder: folder,
            rest: "auto",
        };
        stage.write_rules();
        for _ in 0..2 {
            stage.add_proxy();
        }
        stage
    }

    fn write_rules(&self) {
        let text = format!(
            "listen: 127.0.0.1:0\nupstream: {}\ncontrol: {{user: root}}\nhandshake_timeout: 5s\n\
             counters:\n- {{table: {SCHEMA}.posts, columns: [views, stock, seq], rest: {}, rollup: 100ms}}\n",
            self.relay.address, self.rest
        );
        std::fs::write(&self.rules, text).expect("written");
    }

    /// Has the tables rest, or not, and tells the proxies.
    pub fn change_rules(&mut self) {
        self.rest = match self.rest {
            "auto" => "never",
            _ => "auto",
        };
        self.write_rules();
        self.tell_proxies("HUP");
    }

    pub fn tell_proxies(&self, signal: &str) {
        for proxy in &self.proxies {
            proxy.binary.signal(signal);
        }
    }

    /// Another command with the same rules.
    pub fn command(&self, arguments: &[&str]) -> Binary {
        let mut arguments: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
        arguments.extend([OsStr::new("--rules"), self.rules.as_os_str()]);
        Binary::start(&arguments)
    }

    /// One more proxy, and where the application finds it.
    fn serve(&self) -> (Serving, Address) {
        let proxy = Serving::start(&self.rules).expect("it serves");
        let address = Address {
            user: APP.to_owned(),
            ..proxy.in_front_of(&self.server.address())
        };
        (proxy, address)
    }

    fn add_proxy(&mut self) {
        let (proxy, address) = self.serve();
        self.proxies.push(proxy);
        self.addresses.write().expect("nobody panics").push(address);
    }

    /// Sends clients to another proxy than this. Returns the old one.
    fn replace(&mut self, place: usize) -> Serving {
        let (proxy, address) = self.serve();
        self.addresses.write().expect("nobody panics")[place] = address;
        std::mem::replace(&mut self.proxies[place], proxy)
    }

    /// Kills a proxy and starts another in its place.
    pub fn replace_killed_proxy(&mut self, place: usize) {
        self.signal_proxy(place, "KILL");
        self.replace(place);
    }

    /// Starts another proxy in the place of one, which is then told to stop.
    pub fn replace_proxy(&mut self, place: usize) {
        let ended = self.replace(place).stop();
        assert_eq!(ended.code, Some(0), "{}", ended.errors);
    }

    pub fn signal_proxy(&self, place: usize, name: &str) {
        self.proxies[place].binary.signal(name);
    }

    /// How many proxies there are.
    pub fn proxies(&self) -> usize {
        self.proxies.len()
    }

    /// A session of root's on the server.
    pub async fn direct(&self) -> Driver {
        connect(&self.server.address(), Some(SCHEMA)).await
    }

    /// A session of the application's through any proxy.
    pub async fn client(&self, place: usize) -> Driver {
        let address = self.addresses.read().expect("nobody panics")[place].clone();
        let connected = async {
            loop {
                match connect_as(&address, Some(SCHEMA), Driver::CAPABILITIES).await {
                    Ok(driver) => return driver,
                    // It has not found the server again yet.
                    Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
                }
            }
        };
        let connected = tokio::time::timeout(PATIENCE, connected).await;
        connected.unwrap_or_else(|_| panic!("proxy {place} lets nobody in"))
    }

    /// Clients at work.
    pub fn load(&self, seed: u64) -> Load {
        Load::start(seed, &self.addresses, &self.ledger)
    }

    /// The verdict on each key, through each proxy and directly. No client is there any more.
    pub async fn check(&self, fault: &str) {
        let mut direct = self.direct().await;
        // What they have sent is done by the time that their sessions are gone.
        let theirs =
            format!("SELECT COUNT(*) FROM information_schema.processlist WHERE user = '{APP}'");
        let gone = async {
            while number(&mut direct, &theirs).await > 0 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let gone = tokio::time::timeout(PATIENCE, gone).await;
        assert!(
            gone.is_ok(),
            "{fault}: sessions of clients that have gone stay"
        );
        for place in 0..self.proxies() {
            let mut client = self.client(place).await;
            let what = format!("{fault}, through proxy {place}");
            self.check_values(&mut client, &what, |column, row| {
                format!("SELECT {column} FROM posts WHERE id = {row}")
            })
            .await;
        }
        // Where there are no slots yet, there is no table of them.
        let tables = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'cs_faults' AND table_name = 'posts_slots'";
        let has_slots = number(&mut direct, tables).await > 0;
        self.check_values(&mut direct, &format!("{fault}, directly"), |column, row| {
            let slots = match has_slots {
                true => format!(
                    " + COALESCE((SELECT SUM(s.{column}) FROM posts_slots s WHERE s.id = p.id), 0)"
                ),
                false => String::new(),
            };
            format!("SELECT CAST(p.{column} AS SIGNED){slots} FROM posts p WHERE p.id = {row}")
        })
        .await;
        for row in 0..KEYS {
            let now = |column| format!("SELECT {column} FROM posts WHERE id = {row}");
            let mut client = self.client(0).await;
            let views = number(&mut client, &now("views")).await;
            self.ledger.views[row].settle(views);
            let stock = number(&mut client, &now("stock")).await;
            self.ledger.sold[row].settle(STOCK - stock);
        }
    }

    async fn check_values(
        &self,
        client: &mut Driver,
        what: &str,
        query: impl Fn(&str, usize) -> String,
    ) {
        for row in 0..KEYS {
            let views = number(client, &query("views", row)).await;
            let (least, most) = self.ledger.views[row].bounds();
            assert!(
                (least..=most).contains(&views),
                "{what}: row {row} has {views} views, of {least} to {most}"
            );
            let stock = number(client, &query("stock", row)).await;
            let (least, most) = self.ledger.sold[row].bounds();
            let sold = STOCK - stock;
            assert!(
                (least..=most).contains(&sold),
                "{what}: {sold} were sold of row {row}, of {least} to {most}"
            );
            let (highest, drawn) = self.ledger.drawn(row);
            let seq = number(client, &query("seq", row)).await;
            assert!(
                seq >= highest && seq >= drawn,
                "{what}: row {row} is at {seq}, where {highest} and {drawn} numbers were drawn"
            );
        }
    }
}
