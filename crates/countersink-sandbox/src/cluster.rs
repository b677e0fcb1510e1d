//! Clusters: servers on this machine that hold the same tables.

use std::thread;
use std::time::{Duration, Instant};

use crate::program::output_of;
use crate::start::{Ground, free_port};
use crate::{Error, Flavour, Installation, Options, Server, galera};

/// How often a member is asked whether it has joined.
const GLANCE: Duration = Duration::from_millis(50);

/// How the members of a cluster are kept equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replication {
    /// Galera, of MariaDB: all members take writes.
    Galera,
    /// Group Replication, of MySQL.
    Group {
        /// The first member alone takes writes.
        single_primary: bool,
    },
}

impl Replication {
    /// The family of servers that has it.
    pub fn flavour(self) -> Flavour {
        match self {
            Self::Galera => Flavour::MariaDb,
            Self::Group { .. } => Flavour::MySql,
        }
    }
}

/// Starts a cluster of so many members, and waits until all of them have joined. The first one was there first.
///
/// A member that was [crashed](Server::crash) cannot be started again: it would have to be told who is left.
///
/// # Errors
/// As [`Server::start`], with the log of the member that does not join.
pub fn start_cluster(
    installation: &Installation,
    replication: Replication,
    members: usize,
    options: &Options,
) -> Result<Vec<Server>, Error> {
    assert_eq!(installation.flavour, replication.flavour());
    match replication {
        Replication::Galera => start_galera(installation, members, options),
        Replication::Group { single_primary } => {
            start_group(installation, members, single_primary, options)
        }
    }
}

fn start_galera(
    installation: &Installation,
    members: usize,
    options: &Options,
) -> Result<Vec<Server>, Error> {
    let seed = galera::seed(installation)?;
    let ports = ports(members)?;
    let everyone: Vec<_> = ports
        .iter()
        .map(|port| format!("127.0.0.1:{port}"))
        .collect();
    let mut cluster: Vec<Server> = Vec::new();
    for (number, port) in ports.iter().enumerate() {
        let mut options = with_id(options, number);
        let everyone = match number {
            0 => {
                options.extra.push("--wsrep-new-cluster".into());
                String::new()
            }
            _ => everyone.join(","),
        };
        let transfer = free_port()?;
        options.extra.extend(seed.options());
        options.extra.extend([
            format!("--wsrep-cluster-address=gcomm://{everyone}"),
            format!("--wsrep-node-name=member{number}"),
            format!("--wsrep-node-address=127.0.0.1:{port}"),
            format!(
                "--wsrep-provider-options=base_port={port};gmcast.listen_addr=tcp://127.0.0.1:{port};\
                 ist.recv_addr=127.0.0.1:{transfer};gcache.size=32M"
            ),
        ]);
        let member = Server::start_on(installation, &options, &seed.ground())?;
        let state = "SHOW STATUS LIKE 'wsrep_local_state_comment'";
        wait_for(installation, &member, state, "Synced", options.patience)?;
        cluster.push(member);
    }
    Ok(cluster)
}

fn start_group(
    installation: &Installation,
    members: usize,
    single_primary: bool,
    options: &Options,
) -> Result<Vec<Server>, Error> {
    let ports = ports(members)?;
    let everyone: Vec<_> = ports
        .iter()
        .map(|port| format!("127.0.0.1:{port}"))
        .collect();
    let everyone = everyone.join(",");
    let mut cluster: Vec<Server> = Vec::new();
    for (number, port) in ports.iter().enumerate() {
        let mut options = with_id(options, number);
        let switch = |on| if on { "ON" } else { "OFF" };
        options.extra.extend([
            "--gtid-mode=ON".into(),
            "--enforce-gtid-consistency=ON".into(),
            "--report-host=127.0.0.1".into(),
            "--plugin-load-add=group_replication.so".into(),
            "--loose-group-replication-start-on-boot=OFF".into(),
            "--loose-group-replication-group-name=aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa".into(),
            format!("--loose-group-replication-local-address=127.0.0.1:{port}"),
            format!("--loose-group-replication-group-seeds={everyone}"),
            format!(
                "--loose-group-replication-bootstrap-group={}",
                switch(number == 0)
            ),
            format!(
                "--loose-group-replication-single-primary-mode={}",
                switch(single_primary)
            ),
            format!(
                "--loose-group-replication-enforce-update-everywhere-checks={}",
                switch(!single_primary)
            ),
        ]);
        let ground = Ground::fresh(installation)?;
        let member = Server::start_on(installation, &options, &ground)?;
        let join = "CHANGE REPLICATION SOURCE TO SOURCE_USER = 'root' FOR CHANNEL 'group_replication_recovery'; \
                    START GROUP_REPLICATION; SET GLOBAL group_replication_bootstrap_group = OFF";
        run(installation, &member, join)?;
        let state = "SELECT MEMBER_STATE FROM performance_schema.replication_group_members \
                     WHERE MEMBER_ID = @@server_uuid";
        wait_for(installation, &member, state, "ONLINE", options.patience)?;
        cluster.push(member);
    }
    Ok(cluster)
}

/// A port for each member, on which the others reach it.
fn ports(members: usize) -> Result<Vec<u16>, Error> {
    (0..members).map(|_| free_port()).collect()
}

/// With a server id of its own.
fn with_id(options: &Options, number: usize) -> Options {
    let mut options = options.clone();
    options.extra.push(format!("--server-id={}", number + 1));
    options
}

/// What the server answers to these statements.
fn run(installation: &Installation, server: &Server, statements: &str) -> Result<String, Error> {
    let mut client = installation.client()?;
    client.args(server.client_options());
    client.args(["--skip-column-names", "--batch", "--execute", statements]);
    output_of(&mut client)
}

/// Waits until the answer has this word. A server that is about to join refuses most statements.
fn wait_for(
    installation: &Installation,
    server: &Server,
    question: &str,
    word: &str,
    patience: Duration,
) -> Result<(), Error> {
    let deadline = Instant::now() + patience;
    loop {
        let answer = run(installation, server, question);
        if answer.is_ok_and(|answer| answer.contains(word)) {
            return Ok(());
        }
        if Instant::now() >= deadline {
            return Err(server.start_error(format!("it has not joined within {patience:?}")));
        }
        thread::sleep(GLANCE);
    }
}
