//! What the command prints.

use std::fmt;

use countersink_sandbox::Address;
use serde_json::Value;

use crate::support::binary::{Binary, Ended};

/// The JSON object.
pub struct Advice {
    pub value: Value,
}

impl fmt::Display for Advice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:#}", self.value)
    }
}

impl Advice {
    pub fn of(ended: &Ended) -> Self {
        assert_eq!(ended.code, Some(0), "{ended:?}");
        Self::read(&ended.output)
    }

    pub fn read(output: &str) -> Self {
        let value = serde_json::from_str(output);
        Self {
            value: value.unwrap_or_else(|error| panic!("{error}: {output}")),
        }
    }

    pub fn tables(&self) -> &[Value] {
        self.value["tables"].as_array().expect("a list")
    }

    pub fn table(&self, name: &str) -> &Value {
        let mut tables = self.tables().iter();
        let found = tables.find(|table| table["table"] == name);
        found.unwrap_or_else(|| panic!("no {name} in {self}"))
    }

    pub fn yaml(&self) -> Option<&str> {
        self.value["rules_yaml"].as_str()
    }
}

/// Watches the server as its owner.
pub async fn advise(server: &Address) -> Advice {
    let arguments = ["--json", "--for", "3s"];
    Advice::of(&advise_as(server, &server.user, &server.password, &arguments).await)
}

/// Runs the command as this user, with these arguments beside.
pub async fn advise_as(server: &Address, user: &str, password: &str, arguments: &[&str]) -> Ended {
    let upstream = format!("{}:{}", server.host, server.port);
    let all: Vec<String> = ["advise", "--upstream", &upstream, "--user", user]
        .into_iter()
        .chain(["--password-env", "ADVISE_PASSWORD"])
        .chain(arguments.iter().copied())
        .map(str::to_owned)
        .collect();
    let password = password.to_owned();
    let run = tokio::task::spawn_blocking(move || {
        Binary::start_with(&all, &[("ADVISE_PASSWORD", &password)]).wait()
    });
    run.await.expect("it runs")
}
