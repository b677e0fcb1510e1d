//! The ways to the server: directly, through HAProxy and through Countersink, each to a schema of its own.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use countersink_sandbox::Address;
use tempfile::TempDir;

use crate::support::binary::{Serving, countersink, rules_file};
use crate::support::proxy::rules_head;
use crate::target::{Haproxy, Target};

/// A way to the server.
pub struct Way {
    pub name: &'static str,
    pub address: Address,
    pub schema: String,
}

/// All ways, and the processes that they lead through.
pub struct Ways {
    /// The first is the direct one, the last that through Countersink.
    pub all: Vec<Way>,
    rules: PathBuf,
    _serving: Serving,
    _haproxy: Option<Target>,
    _folder: TempDir,
}

/// The names of the schemas, in the order of the ways.
pub fn schemas(workload: &str) -> Vec<String> {
    let mut ways = vec!["direct", "countersink"];
    match is_on_path("haproxy") {
        true => ways.insert(1, "haproxy"),
        false => println!("haproxy is not on PATH, and is left out"),
    }
    ways.iter()
        .map(|way| format!("cs_{workload}_{way}"))
        .collect()
}

impl Ways {
    /// Starts the proxies. `counters` gives the rules for tables in a schema.
    pub fn start(
        upstream: &Address,
        mut schemas: Vec<String>,
        counters: impl Fn(&str) -> String,
    ) -> Result<Self, String> {
        let last = schemas.pop().expect("there are two or three");
        // HAProxy's relay is not encrypted either.
        let encryption = "upstream_tls: {mode: disabled}\n";
        let (folder, rules) =
            rules_file(&(rules_head(upstream) + encryption + "counters:\n" + &counters(&last)));
        let serving = Serving::start(&rules)
            .map_err(|ended| format!("Countersink does not start:\n{}", ended.errors))?;
        let haproxy = (schemas.len() > 1).then(|| Target::haproxy(upstream, Haproxy::Default));
        let mut addresses = vec![("direct", upstream.clone())];
        addresses.extend(haproxy.iter().map(|it| ("HAProxy", it.address.clone())));
        let proxy = serving.in_front_of(upstream);
        addresses.push(("Countersink", proxy));
        schemas.push(last);
        let all = addresses.into_iter().zip(schemas);
        let all = all.map(|((name, address), schema)| Way {
            name,
            address,
            schema,
        });
        Ok(Self {
            all: all.collect(),
            rules,
            _serving: serving,
            _haproxy: haproxy,
            _folder: folder,
        })
    }

    pub fn names(&self) -> Vec<&'static str> {
        self.all.iter().map(|way| way.name).collect()
    }

    /// Takes the rules out of force, moves all slots into the rows, and returns what is said of that.
    pub fn drain(&self) -> Result<String, String> {
        match countersink(&["drain"], &self.rules) {
            (0, said, _) => Ok(said),
            (code, said, errors) => Err(format!("drain ended with {code}:\n{said}{errors}")),
        }
    }
}

fn is_on_path(program: &str) -> bool {
    let mut command = Command::new(program);
    command
        .arg("-v")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok()
}
