//! The command: arguments, files, exit codes.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::explain::{INCREMENT, RULE, TABLES};
use crate::support::binary::{Binary, Serving};
use crate::support::{Sandbox, countersink, servers};

/// Runs `countersink explain` with these rules and arguments: exit code, standard output and standard error.
fn explain(rules: &Path, arguments: &[&str]) -> (i32, String, String) {
    countersink(&[&["explain"], arguments].concat(), rules)
}

fn path(sandbox: &Sandbox, name: &str) -> PathBuf {
    sandbox.folder.path().join(name)
}

#[tokio::test]
async fn a_server_is_asked_and_left_as_it_is() {
    for server in servers() {
        let sandbox = Sandbox::new(&server, TABLES).await;
        let (code, output, errors) = explain(&sandbox.rules(RULE), &[INCREMENT]);
        assert_eq!(code, 0, "{errors}");
        assert!(output.starts_with("plan:   slotted\n"), "{output}");
        let slots = format!("UPDATE `{}`.`posts_slots` AS `posts`", sandbox.schema);
        assert!(output.contains(&slots), "{output}");
        assert_eq!(errors, "");
        let tables = "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = '~'";
        assert_eq!(sandbox.ask(tables).await, ["posts"]);
        assert_eq!(sandbox.ask("SELECT SUM(views) FROM ~.posts").await, ["110"]);
    }
}

#[tokio::test]
async fn a_table_that_may_rest_is_explained_as_it_rests() {
    let statements = format!("{INCREMENT}; SELECT views FROM posts");
    for server in servers() {
        let sandbox = Sandbox::new(&server, TABLES).await;
        let rules = sandbox.rules("columns: [views]");
        for (arguments, plans) in [
            (&[&*statements][..], ["combined", "forwarded:on-base"]),
            (&["--in-motion", &statements], ["slotted", "summed"]),
            (
                &["--transaction", &statements],
                ["combined", "forwarded:on-base"],
            ),
        ] {
            let (code, output, errors) = explain(&rules, arguments);
            assert_eq!(code, 0, "{errors}");
            let named: Vec<_> = output
                .lines()
                .filter_map(|line| line.strip_prefix("plan:   "))
                .collect();
            assert_eq!(named, plans, "{arguments:?}: {output}");
        }
    }
}

#[tokio::test]
async fn a_catalog_in_a_file_says_the_same_without_a_server() {
    for server in servers() {
        let sandbox = Sandbox::new(&server, TABLES).await;
        let rules = sandbox.rules(RULE);
        let catalog = path(&sandbox, "catalog.yaml").display().to_string();
        let statements = format!("{INCREMENT}; SELECT * FROM posts; DROP TABLE posts");
        let saved = explain(&rules, &["--save-catalog", &catalog, &statements]);
        assert_eq!(saved.0, 0, "{}", saved.2);
        for part in ["plan:   slotted", "plan:   summed", "plan:   folded:ddl"] {
            assert!(saved.1.contains(part), "{}", saved.1);
        }
        // Nobody listens there, there is no such file, and nobody has set that variable.
        let text = std::fs::read_to_string(&rules).expect("rules");
        let port = server.tcp_port();
        let text = text.replace(&format!(":{port}\n"), ":1\n");
        let tls = "tls: {certificate: /nowhere/a.pem, key: /nowhere/b.pem}\n";
        let text = format!("{tls}{text}").replace("password: '", "password: '${NOT_SET_ANYWHERE}");
        std::fs::write(&rules, text).expect("rules can be written");
        assert_eq!(
            explain(&rules, &["--catalog", &catalog, &statements]),
            saved
        );
        assert_eq!(
            explain(&rules, &[&statements]).0,
            2,
            "it needs a server or a catalog"
        );
    }
}

#[tokio::test]
async fn a_wrong_catalog_is_told_from_a_right_one() {
    let server = &servers()[0];
    let sandbox = Sandbox::new(server, TABLES).await;
    let rules = sandbox.rules(RULE);
    let file = path(&sandbox, "catalog.yaml");
    let name = file.display().to_string();
    let (code, output, errors) = explain(&rules, &["--save-catalog", &name]);
    assert_eq!((code, output.as_str()), (0, ""), "{errors}");
    let right = std::fs::read_to_string(&file).expect("a catalog");
    let schema = &sandbox.schema;
    for (text, expected) in [
        ("[1, 2]".to_owned(), "is no catalog: ".to_owned()),
        (
            right.replace("countersink_catalog: 1", "countersink_catalog: 2"),
            "is a catalog of format 2, and this version reads 1".to_owned(),
        ),
        (
            right.replace("engine:", "motor:"),
            "is no catalog: ".to_owned(),
        ),
        (
            right.replace("name: posts", "name: pages"),
            format!(
                "counters[0] ({schema}.posts): table: {schema}.posts is not in the catalog file, which has {schema}.pages"
            ),
        ),
        (
            right.replace("name: views", "name: visits"),
            format!("{schema}.posts has no column `views`"),
        ),
    ] {
        assert_ne!(text, right, "{expected}");
        std::fs::write(&file, text).expect("a catalog can be written");
        let (code, output, errors) = explain(&rules, &["--catalog", &name, INCREMENT]);
        assert_eq!((code, output.as_str()), (2, ""), "{errors}");
        assert!(
            errors.contains(&expected),
            "expected {expected}\ngot {errors}"
        );
    }
    let (code, _, errors) = explain(&rules, &["--catalog", "/nowhere.yaml", INCREMENT]);
    assert_eq!(code, 2);
    assert!(
        errors.contains("/nowhere.yaml: cannot be read: "),
        "{errors}"
    );
}

#[tokio::test]
async fn the_session_is_described_on_the_command_line() {
    let sandbox = Sandbox::new(&servers()[0], TABLES).await;
    let rules = sandbox.rules(RULE);
    let plan = |arguments: &[&str]| {
        let (code, output, errors) = explain(&rules, arguments);
        assert_eq!(code, 0, "{errors}");
        output
    };
    let set = "UPDATE posts SET views = 0";
    assert!(plan(&[set]).contains("START TRANSACTION"));
    assert!(!plan(&["--transaction", set]).contains("START TRANSACTION"));
    assert!(plan(&["--schema", "elsewhere", set]).starts_with("plan:   forwarded:not-hot"));
    let quoted = "UPDATE \"posts\" SET \"views\" = \"views\" + 1";
    assert!(plan(&[quoted]).starts_with("plan:   folded:"));
    for modes in ["ANSI_QUOTES", "ansi", "STRICT_ALL_TABLES,ANSI_QUOTES"] {
        assert!(plan(&["--sql-mode", modes, quoted]).starts_with("plan:   slotted"));
    }
    let (code, _, errors) = explain(&rules, &["--sql-mode", "'; DROP", set]);
    assert_eq!(code, 2, "{errors}");
}

#[tokio::test]
async fn a_rule_that_is_not_served_is_said() {
    let sandbox = Sandbox::new(&servers()[0], TABLES).await;
    let (code, output, errors) =
        explain(&sandbox.rules("columns: [views]\nmode: off"), &[INCREMENT]);
    assert_eq!(code, 0, "{errors}");
    let note = format!(
        "note:   {}.posts has mode: off, so it is no hot table.",
        sandbox.schema
    );
    assert!(
        output.starts_with("plan:   forwarded:not-hot") && output.contains(&note),
        "{output}"
    );
}

#[tokio::test]
async fn statements_come_from_standard_input() {
    let sandbox = Sandbox::new(&servers()[0], TABLES).await;
    let rules = sandbox.rules(RULE);
    let run = |input: &str| {
        let mut child = Command::new(env!("CARGO_BIN_EXE_countersink"))
            .args([
                OsStr::new("explain"),
                OsStr::new("--rules"),
                rules.as_os_str(),
            ])
            .arg("-")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        let mut stdin = child.stdin.take().expect("piped");
        stdin.write_all(input.as_bytes()).expect("it reads");
        drop(stdin);
        let ended = child.wait_with_output().expect("it ends");
        let text = |bytes| String::from_utf8(bytes).expect("text");
        (ended.status.code(), text(ended.stdout), text(ended.stderr))
    };
    let (code, output, errors) = run("SELECT 1; -- done\nDELETE FROM posts;\n");
    assert_eq!(code, Some(0), "{errors}");
    let plans: Vec<_> = output
        .lines()
        .filter(|line| line.starts_with("plan:"))
        .collect();
    assert_eq!(
        plans,
        ["plan:   forwarded:not-hot", "plan:   folded:delete"]
    );
    assert!(output.starts_with("SELECT 1;\n\nplan:"), "{output}");
    let (code, _, errors) = run(" ; -- nothing");
    assert_eq!(code, Some(2));
    assert!(
        errors.contains("there is no statement to explain"),
        "{errors}"
    );
}

#[tokio::test]
async fn a_running_proxy_is_asked() {
    for server in servers() {
        let sandbox = Sandbox::new(&server, TABLES).await;
        let serving =
            Serving::start(&sandbox.rules(RULE)).unwrap_or_else(|ended| panic!("{ended:?}"));
        let ask = |address: &str, more: &[&str]| {
            let user = server.user().unwrap_or_default();
            let arguments = ["explain", "--proxy", address, "--user", user];
            let environment = [("SECRET", server.pass().unwrap_or_default())];
            let arguments = [&arguments, more].concat();
            let ended = Binary::start_with(&arguments, &environment).wait();
            (ended.code.expect("no signal"), ended.output, ended.errors)
        };
        let proxy = serving.address.to_string();
        let schema = ["--schema", &sandbox.schema, "--password-env", "SECRET"];
        let (code, output, errors) = ask(&proxy, &[&schema[..], &[INCREMENT]].concat());
        assert_eq!(code, 0, "{errors}");
        let offline = explain(&sandbox.rules(RULE), &[INCREMENT]);
        assert_eq!(output, offline.1);
        let more = [
            "--transaction",
            "--sql-mode",
            "ANSI_QUOTES",
            "DELETE FROM \"posts\"",
        ];
        let (code, output, errors) = ask(&proxy, &[&schema[..], &more].concat());
        assert_eq!(code, 0, "{errors}");
        assert!(output.starts_with("plan:   folded:delete"), "{output}");
        assert!(!output.contains("START TRANSACTION"), "{output}");

        let direct = format!("{}:{}", server.ip_or_hostname(), server.tcp_port());
        let (code, _, errors) = ask(&direct, &[&schema[..], &[INCREMENT]].concat());
        assert_eq!(code, 2, "{errors}");
        assert!(
            errors.contains("is no Countersink that explains, but a server"),
            "{errors}"
        );
        let (code, _, errors) = ask(
            &proxy,
            &["--schema", "nowhere", "--password-env", "SECRET", INCREMENT],
        );
        assert_eq!(code, 2, "{errors}");
        let (code, _, errors) = ask(&proxy, &["--password-env", "NOT_SET_ANYWHERE", INCREMENT]);
        assert_eq!(code, 2);
        assert!(
            errors.contains("the environment has no NOT_SET_ANYWHERE"),
            "{errors}"
        );
        let (code, _, errors) = ask("127.0.0.1:1", &[INCREMENT]);
        assert_eq!(code, 1, "{errors}");
        let views = format!("SELECT SUM(views) FROM {}.posts", sandbox.schema);
        assert_eq!(sandbox.ask(&views).await, ["110"]);
    }
}
