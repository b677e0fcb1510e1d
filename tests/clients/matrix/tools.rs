//! The command line programs of both families.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use countersink_sandbox::{Address, Flavour};

use crate::matrix::counted::Mode;
use crate::matrix::run::TABLES;
use crate::support::client::create_schema;
use crate::support::proxy::Proxy;
use crate::support::thorough::say;
use crate::support::twin::{Twin, installation, twin};

/// What `mysql` and `mariadb` are given.
const SCRIPT: &str = include_str!("script.sql");

/// `mysql` and `mariadb`: results with their columns' types, affected rows, warnings, errors.
pub async fn a_script_is_told_the_same(flavour: Flavour) {
    let twin = twin(flavour);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("posts.tsv");
    fs::write(&file, "30001\tloaded\t5\n30002\t\\N\t6\n").expect("a file");
    let script = SCRIPT.replace("@FILE@", file.to_str().expect("UTF-8"));
    for client in clients(flavour) {
        let (of, compression) = client;
        let schema = "matrix_script";
        let mut told = Vec::new();
        create_schema(&twin.plain, schema, TABLES).await;
        told.push(run_script(client, &twin.plain, schema, &script));
        for mode in Mode::ALL {
            create_schema(&twin.proxied, schema, TABLES).await;
            let proxy = Proxy::start(&twin.proxied, &mode.rules(schema));
            told.push(run_script(client, &proxy.address, schema, &script));
            drop(proxy);
        }
        let direct = told.remove(0);
        let has = |text: &str| direct.contains(text);
        let is_whole = has("loaded") && has("post 9999") && has("1690") && has("ERROR 1062");
        assert!(is_whole, "{of}'s client said directly:\n{direct}");
        for (through, mode) in told.iter().zip(Mode::ALL) {
            let lines = through.lines().zip(direct.lines());
            let other: Vec<_> = lines
                .filter(|(through, direct)| through != direct)
                .take(6)
                .collect();
            let is_equal = other.is_empty() && through.lines().count() == direct.lines().count();
            assert!(
                is_equal,
                "{flavour}, {of}'s client, {compression:?}, {mode}, through and directly: {other:#?}"
            );
        }
        let options = compression.join(" ");
        say(&format!(
            "{flavour:<8} {of}'s command line client {options}: equal"
        ));
    }
}

/// A command line client, and how it asks for compression.
type Client = (Flavour, &'static [&'static str]);

/// Those that a server of this family is tried with.
fn clients(flavour: Flavour) -> Vec<Client> {
    let mut clients: Vec<Client> = vec![
        (Flavour::MySql, &["--compression-algorithms=uncompressed"]),
        (Flavour::MySql, &["--compression-algorithms=zlib"]),
        (
            Flavour::MySql,
            &["--compression-algorithms=zstd,zlib,uncompressed"],
        ),
        (Flavour::MariaDb, &["--skip-compress"]),
        (Flavour::MariaDb, &["--compress"]),
    ];
    if flavour == Flavour::MySql {
        clients.push((
            Flavour::MySql,
            &[
                "--compression-algorithms=zstd",
                "--zstd-compression-level=9",
            ],
        ));
    }
    clients
}

/// Both streams of a client that goes on where there is an error; the times that statements took are left out.
fn run_script((of, compression): Client, server: &Address, schema: &str, script: &str) -> String {
    let mut client = installation(of).client().expect("the sandbox's own");
    client.args(server.client_options());
    client.args([
        "--default-character-set=utf8mb4",
        "--local-infile=1",
        "--force",
    ]);
    client.args([
        "--verbose",
        "--verbose",
        "--show-warnings",
        "--column-type-info",
    ]);
    client.args(compression);
    client.arg(schema);
    let output = fed(&mut client, script);
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    said.lines()
        .chain(errors.lines())
        .map(|line| format!("{}\n", without_times(line)))
        .collect()
}

/// `Query OK, 1 row affected (0.01 sec)` without its end.
fn without_times(line: &str) -> &str {
    match line.rsplit_once(" (") {
        Some((before, time)) if time.ends_with(" sec)") => before,
        _ => line,
    }
}

/// `mysqldump` and `mariadb-dump` of tables at rest; and what is loaded from it is as before.
pub async fn a_dump_is_the_same(flavour: Flavour) {
    let twin = twin(flavour);
    let schema = "matrix_dump";
    for server in [&twin.plain, &twin.proxied] {
        create_schema(server, schema, TABLES).await;
    }
    let proxy = Proxy::start(&twin.proxied, &Mode::AtRest.rules(schema));
    for of in Flavour::ALL {
        match dump_program(of) {
            Ok(program) => compare_dumps(of, &program, twin, &proxy.address, schema),
            Err(reason) => say(&format!("{flavour:<8} skipped: {reason}")),
        }
    }
}

fn compare_dumps(of: Flavour, program: &[OsString], twin: &Twin, proxy: &Address, schema: &str) {
    let flavour = twin.flavour;
    for (options, is_loaded) in [
        (&["--hex-blob"][..], true),
        // Row by row, which would take long to load.
        (
            &[
                "--single-transaction",
                "--skip-extended-insert",
                "--order-by-primary",
            ],
            false,
        ),
    ] {
        let dump = |server: &Address| {
            let mut command = Command::new(&program[0]);
            command.args(&program[1..]);
            command.args(server.client_options()).args(options);
            if of == Flavour::MySql {
                // What the server has run before is no matter of the tables.
                command.arg("--loose-set-gtid-purged=OFF");
            }
            command.args([schema, "posts", "sign_ups", "seq"]);
            fed(&mut command, "")
        };
        let direct = dump(&twin.plain);
        let errors = String::from_utf8_lossy(&direct.stderr);
        if !direct.status.success() {
            // A program of the other family may ask for what the server does not have.
            assert_ne!(of, flavour, "{errors}");
            say(&format!(
                "{flavour:<8} skipped: {of}'s dump does not run directly: {}",
                errors.trim()
            ));
            return;
        }
        let through = dump(proxy);
        let [direct, through] = [&direct, &through].map(|output| undated(&output.stdout));
        assert!(
            direct.contains("post 9999") && direct.contains("sign_ups"),
            "{direct}"
        );
        let what = format!("{flavour}, {of}'s dump {options:?}");
        assert_equal(&what, &direct, &through);
        if !is_loaded {
            continue;
        }
        // Whatever is loaded through the proxy is there.
        let mut client = installation(flavour).client().expect("the sandbox's own");
        client.args(proxy.client_options());
        client.args(["--default-character-set=utf8mb4", schema]);
        let loaded = fed(
            &mut client,
            &format!("DROP TABLE posts, sign_ups, seq;\n{through}"),
        );
        assert!(
            loaded.status.success(),
            "{}",
            String::from_utf8_lossy(&loaded.stderr)
        );
        let again = dump(proxy);
        assert_equal(&format!("{what}, loaded"), &direct, &undated(&again.stdout));
    }
    say(&format!(
        "{flavour:<8} {of}'s dump: equal, and loaded again"
    ));
}

/// They are long, so what differs is shown alone.
fn assert_equal(what: &str, expected: &str, found: &str) {
    let lines = expected.lines().zip(found.lines());
    let other = lines.filter(|(expected, found)| expected != found).take(6);
    let other: Vec<_> = other
        .map(|(expected, found)| (start(expected), start(found)))
        .collect();
    let lengths = (expected.lines().count(), found.lines().count());
    assert!(expected == found, "{what}: {lengths:?} lines; {other:#?}");
}

fn start(line: &str) -> String {
    line.chars().take(200).collect()
}

/// A dump without the line that has its date.
fn undated(dump: &[u8]) -> String {
    let text = String::from_utf8_lossy(dump);
    let lines = text
        .lines()
        .filter(|line| !line.starts_with("-- Dump completed on"));
    lines.map(|line| format!("{line}\n")).collect()
}

/// The family's dump program, beside its client or on the PATH; or why there is none.
fn dump_program(of: Flavour) -> Result<Vec<OsString>, String> {
    let name = match of {
        Flavour::MySql => "mysqldump",
        Flavour::MariaDb => "mariadb-dump",
    };
    let client = installation(of).client().expect("the sandbox's own");
    let beside = |word: &OsStr| {
        let folder = Path::new(word)
            .parent()
            .filter(|folder| folder.ends_with("bin"));
        folder
            .map(|folder| folder.join(name))
            .filter(|path| path.is_file())
    };
    let words = [client.get_program()].into_iter().chain(client.get_args());
    let mut has_found = false;
    let words: Vec<_> = words
        .map(|word| match beside(word) {
            Some(program) => {
                has_found = true;
                program.into()
            }
            None => word.to_owned(),
        })
        .collect();
    if has_found {
        return Ok(words);
    }
    match Command::new(name).arg("--version").output() {
        Ok(_) => Ok(vec![name.into(), "--no-defaults".into()]),
        Err(_) => Err(format!("{name} is not installed")),
    }
}

/// Runs a program that reads this.
fn fed(command: &mut Command, input: &str) -> Output {
    use std::io::Write;

    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(input.as_bytes()).expect("written");
    std::io::Seek::rewind(&mut file).expect("a file");
    command.stdin(Stdio::from(file));
    command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"))
}
