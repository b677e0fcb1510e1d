//! A proxy inside the test's process, on threads of its own.

use std::net::SocketAddr;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use countersink::catalog::Catalog;
use countersink::cli::prepare_with;
use countersink::config::{Config, Rest};
use countersink::counter::control::Control;
use countersink::counter::rollup::{Error, RollUp};
use countersink::server::{Rules, Server};
use countersink::session::Shared;
use countersink_sandbox::Address;
use tokio::sync::{Mutex, oneshot};

use super::binary::PATIENCE;

/// How long it waits before it prepares again.
const PAUSE: Duration = Duration::from_millis(100);

/// How often it is looked at what it waits for.
const GLANCE: Duration = Duration::from_millis(2);

/// A running proxy; it stops when dropped.
pub struct Proxy {
    /// Where it listens, with the account of the server behind it.
    pub address: Address,
    /// What its sessions share: the metrics.
    pub shared: Arc<Shared>,
    /// Changes its rules.
    pub rules: Rules,
    /// Its rules.yaml.
    config: String,
    /// What rolls up when a test says so, with its connection.
    roll_up: Mutex<Option<RollUp>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// The upper part of rules.yaml for a proxy in front of `upstream`; `counters:` is to follow.
pub fn rules_head(upstream: &Address) -> String {
    format!(
        "listen: 127.0.0.1:0\nupstream: {}:{}\ncontrol: {{user: '{}', password: '{}'}}\n",
        upstream.host, upstream.port, upstream.user, upstream.password
    )
}

impl Proxy {
    /// Starts a proxy in front of `upstream`; `rules` is what follows [`rules_head`].
    pub fn start(upstream: &Address, rules: &str) -> Self {
        Self::start_by(upstream, rules_head(upstream) + rules)
    }

    /// Starts a proxy in front of the first of these servers that takes writes; they have the same account.
    pub fn start_before(upstreams: &[&Address], rules: &str) -> Self {
        let first = upstreams[0];
        let several: Vec<_> = upstreams
            .iter()
            .map(|upstream| format!("'{}:{}'", upstream.host, upstream.port))
            .collect();
        let one = format!("upstream: {}:{}\n", first.host, first.port);
        let several = format!("upstreams: [{}]\n", several.join(", "));
        let head = rules_head(first).replace(&one, &several);
        Self::start_by(first, head + rules)
    }

    fn start_by(upstream: &Address, text: String) -> Self {
        let config = config_of(&text);
        let (stop, stopped) = oneshot::channel();
        let (ready, readiness) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .thread_name("proxy")
                .enable_all()
                .build()
                .expect("a runtime");
            runtime.block_on(serve(config, ready, stopped));
        });
        let (listens, shared, rules) = match readiness.recv() {
            Ok(ready) => ready,
            Err(_) => std::panic::resume_unwind(thread.join().expect_err("the proxy is not ready")),
        };
        Self {
            address: Address {
                host: listens.ip().to_string(),
                port: listens.port(),
                ..upstream.clone()
            },
            shared,
            rules,
            config: text,
            roll_up: Mutex::new(None),
            stop: Some(stop),
            thread: Some(thread),
        }
    }
}

impl Proxy {
    /// Waits until all rules are at this stage.
    pub async fn arrives(&self, stage: &str) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let rules = self.rules.show();
            if rules.iter().all(|rule| rule.stage == stage) {
                return;
            }
            assert!(Instant::now() < deadline, "not {stage}: {rules:?}");
            tokio::time::sleep(GLANCE).await;
        }
    }

    /// Its rules.yaml.
    pub fn config(&self) -> &str {
        &self.config
    }

    /// How many statements have had this reason.
    pub fn counted(&self, code: &str) -> u64 {
        let counted = self.shared.metrics.statements();
        let of_code = counted.iter().filter(|(reason, _)| reason.code() == code);
        of_code.map(|(_, count)| *count).sum()
    }

    /// Rolls up all of its slot tables that are chosen by the hot table's name. What somebody has locked stays where it
    /// is, as does what is in a table that DDL has changed.
    pub async fn roll_up(&self, is_chosen: impl Fn(&str) -> bool) {
        let mut kept = self.roll_up.lock().await;
        if kept.is_none() {
            let config = config_of(&self.config);
            let control = Control::open(&config).await.expect("the control account");
            *kept = Some(RollUp::new(control, Arc::clone(&self.shared.metrics)));
        }
        let roll_up = kept.as_mut().expect("it has just been made");
        let tables = &self.shared.hot().catalog.tables;
        for table in tables.iter().filter(|table| is_chosen(&table.name)) {
            match roll_up.now(table).await {
                Ok(_) | Err(Error::Unnamed | Error::Server(_)) => {}
                Err(error) => panic!("roll-up of {}: {error}", table.name),
            }
        }
    }
}

/// The rules in `text`. Tables do not rest unless it says how: most tests are of slots, which are to be in use then.
pub fn config_of(text: &str) -> Config {
    let config = Config::from_str(text, &|_| None);
    let mut config = config.unwrap_or_else(|error| panic!("{error} in:\n{text}"));
    if !text.contains("rest:") {
        for rule in &mut config.rules {
            rule.rest = Rest::Never;
        }
    }
    config
}

impl Proxy {
    /// Stops it, and waits until it has.
    pub fn stop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take()
            && let Err(panic) = thread.join()
            && !std::thread::panicking()
        {
            std::panic::resume_unwind(panic);
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.stop();
    }
}

/// What the proxy serves by, as soon as it can be had: sessions of the one before may have slot tables in use still.
async fn prepared(control: &Control, config: &Config) -> Catalog {
    let begun = Instant::now();
    loop {
        match prepare_with(control, config).await {
            Ok(catalog) => return catalog,
            Err(error) if error.may_pass() && begun.elapsed() < PATIENCE => {}
            Err(error) => panic!("the proxy is not ready: {error}"),
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn serve(
    config: Config,
    ready: mpsc::Sender<(SocketAddr, Arc<Shared>, Rules)>,
    stopped: oneshot::Receiver<()>,
) {
    let control = Control::open(&config).await.expect("the control account");
    let catalog = prepared(&control, &config).await;
    let server = Server::bind(config, None, (catalog, control), false)
        .await
        .expect("a free port");
    let address = server.address().expect("an address");
    ready
        .send((address, server.shared(), server.rules()))
        .expect("the test waits");
    server
        .run(async {
            stopped.await.ok();
        })
        .await;
}
