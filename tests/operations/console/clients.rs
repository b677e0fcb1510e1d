//! The command line programs of MySQL and MariaDB, PyMySQL, mysql2.

use std::path::Path;
use std::process::Command;

use countersink_sandbox::{Address, Flavour};
use serde_json::{Value, json};

use crate::console::stage::{PASSWORD, Stage};
use crate::support;
use crate::support::client::run;
use crate::support::drivers;
use crate::support::twin::installation;

/// Before and behind a program's own statements at connect.
const STATEMENTS: &str =
    "USE shop; SELECT DATABASE(), 7; SHOW COUNTERS; show reasons like 'slotted';
    SHOW SESSIONS WHERE command = 'Query'; SHOW SLOTS; SHOW WARNINGS; \\s";

#[test]
fn mysql_asks_it() {
    command_line(
        Flavour::MySql,
        &["--ssl-mode=PREFERRED", "--loose-commands=ON"],
    );
}

#[test]
fn mariadb_asks_it() {
    // Since 11.4 it wants TLS by itself.
    command_line(Flavour::MariaDb, &["--skip-ssl"]);
}

fn command_line(flavour: Flavour, options: &[&str]) {
    support::block_on(async {
        let schema = format!("cs_console_{}", format!("{flavour:?}").to_lowercase());
        let stage = Stage::new(flavour, &schema, "").await;
        let mut client = stage.client().await;
        run(
            &mut client,
            "UPDATE posts SET views = views + 1 WHERE id = 1",
        )
        .await;
        run(&mut client, "SELECT views FROM posts WHERE id = 1").await;
        let ask = |password: &str, schema: &[&str], statements: &str| {
            let mut command = installation(flavour).client().expect("a client program");
            command
                .args([
                    "--protocol=TCP",
                    "--host=127.0.0.1",
                    "--user=admin",
                    "--batch",
                ])
                .arg(format!("--port={}", stage.console.port))
                .args(options)
                .args(["-e", statements])
                .args(schema)
                .env("MYSQL_PWD", password);
            let output = command.output().expect("it runs");
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            (text(&output.stdout), text(&output.stderr))
        };
        let (told, errors) = ask(PASSWORD, &[&schema], STATEMENTS);
        assert_eq!(errors, "", "{told}");
        let expected = format!("{schema}\tposts\tviews,likes\t1\t1\t0\t0\t");
        assert!(told.contains(&expected), "{told}");
        assert!(told.contains("DATABASE()\t7\nshop\t7\n"), "{told}");
        assert!(told.contains("slotted\t1\tEvery counter"), "{told}");
        assert!(
            told.contains("Uptime:\t") && told.contains("Sessions: 1"),
            "\\s shows statistics: {told}"
        );
        assert!(
            told.contains("admin@127.0.0.1"),
            "\\s shows the user: {told}"
        );
        // One that would rather log in otherwise is switched to what it has.
        let other: &[&str] = match flavour {
            // Nor has it the old plugin, which is a file of its own since MySQL 9.
            Flavour::MySql => &["--default-auth=sha256_password", "--plugin-dir=/nowhere"],
            Flavour::MariaDb => &["--default-auth=mysql_clear_password"],
        };
        let (told, errors) = ask(PASSWORD, &[other, &[&schema]].concat(), "SELECT 7");
        assert_eq!((&*told, &*errors), ("7\n7\n", ""), "{flavour}");
        // Names to complete are read where a schema is named.
        let (told, errors) = ask(PASSWORD, &["--auto-rehash", &schema], "SHOW TABLES");
        assert_eq!(
            (&*told, &*errors),
            (&*format!("Tables_in_{schema}\nposts\n"), "")
        );
        let (told, errors) = ask("wrong", &[], "SHOW STATS");
        assert!(
            told.is_empty() && errors.contains("ERROR 1045 (28000): Access denied"),
            "{errors}"
        );
        let (_, errors) = ask(PASSWORD, &[], "SHOW COUNTRES");
        assert!(
            errors.contains("ERROR 1064 (42000)") && errors.contains("did you mean `COUNTERS`?"),
            "{errors}"
        );
    });
}

#[test]
fn pymysql_asks_it() {
    let python = match drivers::python() {
        Ok(python) => python,
        Err(why) => return missing(&why),
    };
    driver(
        || {
            let mut command = Command::new(&python);
            command.arg(Path::new(drivers::SCRIPTS).join("pymysql_console.py"));
            command
        },
        "cs_console_pymysql",
        |said| {
            assert_eq!(said.get("prepared"), None);
        },
    );
}

#[test]
fn mysql2_asks_it() {
    let modules = match drivers::node_modules() {
        Ok(modules) => modules,
        Err(why) => return missing(&why),
    };
    driver(
        || {
            let mut command = Command::new("node");
            command.arg(Path::new(drivers::SCRIPTS).join("mysql2_console.js"));
            command.env("NODE_PATH", &modules);
            command
        },
        "cs_console_mysql2",
        |said| {
            assert_eq!(said["prepared"], 1295);
        },
    );
}

fn driver(command: impl Fn() -> Command, schema: &str, more: impl Fn(&Value)) {
    support::block_on(async {
        let stage = Stage::new(Flavour::MySql, schema, "").await;
        let mut client = stage.client().await;
        run(
            &mut client,
            "UPDATE posts SET views = views + 1 WHERE id = 1",
        )
        .await;
        let ask = |console: &Address, password: &str, statements: &[&str]| {
            let mut command = command();
            command.args([
                &*console.host,
                &console.port.to_string(),
                "admin",
                password,
                schema,
            ]);
            let output = command.args(statements).output().expect("it runs");
            let told = String::from_utf8_lossy(&output.stdout);
            let errors = String::from_utf8_lossy(&output.stderr);
            serde_json::from_str::<Value>(&told).unwrap_or_else(|_| panic!("{told}{errors}"))
        };
        let said = ask(
            &stage.console,
            PASSWORD,
            &[
                "SELECT DATABASE(), @@max_allowed_packet",
                "SHOW COUNTERS",
                "SHOW SESSIONS",
                "SET autocommit = 0",
                "SHOW ROLLUP",
            ],
        );
        assert_eq!(said["ok"], true, "{said}");
        assert_eq!(said["rows"][0], json!([[schema, 65_536]]));
        let counters = &said["rows"][1][0];
        assert_eq!(counters[3], 1, "an integer is one: {said}");
        assert!(counters[7].is_f64(), "a time is a number: {said}");
        let session = &said["rows"][2][0];
        assert_eq!(session[0], client.thread_id(), "{said}");
        assert_eq!(session[5], 0, "{said}");
        assert_eq!(said["rows"][3], json!([]), "{said}");
        more(&said);
        let said = ask(&stage.console, "wrong", &["SHOW STATS"]);
        assert_eq!(
            (&said["ok"], &said["code"]),
            (&json!(false), &json!(1045)),
            "{said}"
        );
        let said = ask(&stage.console, PASSWORD, &["SHOW NOTHING"]);
        assert_eq!(said["code"], 1064, "{said}");
    });
}

/// A driver that cannot be had is no failure of the console's, but in CI it is one of the machine's.
fn missing(why: &str) {
    assert!(std::env::var_os("CI").is_none(), "{why}");
    eprintln!("not tested: {why}");
}
