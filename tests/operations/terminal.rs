//! Terminal manners: completions, manual pages, health for containers.

use std::io::Write;
use std::process::{Command, Stdio};

use countersink_sandbox::Flavour;

use crate::support;
use crate::support::binary::{Binary, Ended, Serving, countersink, rules_file};
use crate::support::client::{connect, create_schema, run};
use crate::support::proxy::rules_head;
use crate::support::twin::twin;

const POSTS: &str = "CREATE TABLE posts (id INT PRIMARY KEY, views BIGINT NOT NULL DEFAULT 0)";

fn said(arguments: &[&str]) -> Ended {
    Binary::start(arguments).wait()
}

/// The commands that `--help` names.
fn commands() -> Vec<String> {
    let help = said(&["--help"]).output;
    let (_, rest) = help.split_once("Commands:\n").expect("commands");
    let lines = rest.lines().take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.split_whitespace().next());
    names
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

/// What a program says of a text, where the machine has the program.
fn judged(program: &str, arguments: &[&str], text: &str) -> Option<(bool, String)> {
    let child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = child.ok()?;
    let mut input = child.stdin.take().expect("piped");
    input.write_all(text.as_bytes()).expect("it reads");
    drop(input);
    let output = child.wait_with_output().expect("it ends");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    Some((output.status.success(), errors))
}

#[test]
fn completions_know_every_command() {
    let commands = commands();
    assert!(commands.iter().any(|name| name == "serve"), "{commands:?}");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ended = said(&["completions", shell]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        for command in &commands {
            assert!(
                ended.output.contains(command.as_str()),
                "{shell}: {command}"
            );
        }
        let fit = judged(shell, &["-n"], &ended.output);
        assert!(fit.is_none_or(|(fits, _)| fits), "{shell}");
    }
    assert_eq!(said(&["completions", "csh"]).code, Some(2));
}

#[test]
fn every_command_has_a_manual_page_without_a_fault() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_str().expect("UTF-8");
    let ended = said(&["man", "--directory", path]);
    assert_eq!(
        (ended.code, ended.output.as_str()),
        (Some(0), ""),
        "{ended:?}"
    );
    let main = said(&["man"]).output;
    for part in ["Exit codes", "Examples", "Environment", "Files"] {
        let heading = format!(".SH \"{}\"", part.to_uppercase());
        let bare = format!(".SH {}", part.to_uppercase());
        assert!(
            main.contains(&heading) || main.contains(&bare),
            "{part}: {main}"
        );
    }
    let commands = commands();
    let pages = std::fs::read_dir(folder.path()).expect("a folder").count();
    assert_eq!(pages, commands.len() + 1);
    let mut texts = vec![main];
    for command in commands {
        let page = said(&["man", &command]).output;
        let file = folder.path().join(format!("countersink-{command}.1"));
        assert_eq!(
            page,
            std::fs::read_to_string(file).expect("the same"),
            "{command}"
        );
        assert!(page.contains(&format!("countersink\\-{command}")), "{page}");
        texts.push(page);
    }
    for page in texts {
        if let Some((_, faults)) = judged("groff", &["-man", "-Tutf8", "-ww", "-z"], &page) {
            assert_eq!(faults, "", "{page}");
        }
    }
    let ended = said(&["man", "nothing"]);
    assert_eq!(ended.code, Some(2));
    assert!(
        ended.errors.contains("there is no command nothing"),
        "{ended:?}"
    );
}

/// As a container asks: alive until it ends, ready until it is told to stop.
#[test]
fn health_is_that_of_the_proxy_of_the_rules() {
    support::block_on(async {
        let upstream = &twin(Flavour::MySql).proxied;
        create_schema(upstream, "cs_health", POSTS).await;
        let rules = |http: &str| {
            let rules =
                "drain_timeout: 1m\ncounters:\n- {table: cs_health.posts, columns: [views]}\n";
            rules_head(upstream) + http + rules
        };
        let (_folder, serves) = rules_file(&rules("http: 127.0.0.1:0\n"));
        let (code, _, errors) = countersink(&["health"], &serves);
        assert_eq!(code, 2, "{errors}");
        assert!(errors.contains("http: port 0"), "{errors}");

        let mut serving = Serving::start(&serves).expect("it serves");
        let line = serving.binary.wait_for("http://").expect("its address");
        let (_, address) = line.split_once("http://").expect("it is in there");
        let address = address.split('/').next().expect("an address");
        let (_folder, asks) = rules_file(&rules(&format!("http: {address}\n")));
        let ask = |arguments: &[&str]| countersink(arguments, &asks);
        assert_eq!(ask(&["health"]), (0, "ok\n".into(), String::new()));
        assert_eq!(
            ask(&["health", "--ready"]),
            (0, "ready\n".into(), String::new())
        );

        let (_folder, without) =
            rules_file(&rules("").replacen("127.0.0.1:0", &serving.address.to_string(), 1));
        let (code, output, errors) = countersink(&["health"], &without);
        assert_eq!((code, output.as_str()), (0, "listening\n"), "{errors}");
        let (code, _, errors) = countersink(&["health", "--ready"], &without);
        assert_eq!(code, 2, "{errors}");
        assert!(errors.contains("--ready asks there"), "{errors}");

        let client = serving.in_front_of(upstream);
        let mut client = connect(&client, None).await;
        run(&mut client, "BEGIN").await;
        serving.binary.signal("TERM");
        let deadline = std::time::Instant::now() + support::binary::PATIENCE;
        let (code, errors) = loop {
            let (code, _, errors) = ask(&["health", "--ready"]);
            if code != 0 {
                break (code, errors);
            }
            assert!(
                std::time::Instant::now() < deadline,
                "it says that it stops"
            );
        };
        assert_eq!(code, 1, "{errors}");
        assert!(
            errors.contains("503") && errors.contains("stopping"),
            "{errors}"
        );
        assert_eq!(ask(&["health"]).0, 0);
        run(&mut client, "COMMIT").await;
        drop(client);
        assert_eq!(serving.binary.wait().code, Some(0));
        let (code, _, errors) = ask(&["health"]);
        assert_eq!(code, 1);
        assert!(errors.contains("; start the proxy"), "{errors}");
    });
}

#[test]
fn the_log_is_for_people_or_for_programs() {
    let schema = "cs_terminal_log";
    let upstream = &twin(Flavour::MySql).proxied;
    support::block_on(async {
        create_schema(upstream, schema, POSTS).await;
    });
    let rules = format!("counters:\n- {{table: {schema}.posts, columns: [views]}}\n");
    let (_folder, file) = rules_file(&(rules_head(upstream) + &rules));
    let path = file.to_string_lossy();
    let arguments = ["serve", "--rules", &*path];
    let mut json = Binary::start_with(&arguments, &[("COUNTERSINK_LOG_FORMAT", "json")]);
    json.wait_for("listening on ").expect("it serves");
    json.signal("TERM");
    let ended = json.wait();
    assert_eq!(ended.code, Some(0), "{}", ended.errors);
    let records: Vec<serde_json::Value> = ended
        .errors
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|why| panic!("{why}: {line}")))
        .collect();
    let is_last = |record: &serde_json::Value| {
        record["level"] == "INFO"
            && record["message"] == "stopped"
            && record["timestamp"].is_string()
    };
    assert!(records.last().is_some_and(is_last), "{records:?}");
    let wrong = Binary::start_with(&arguments, &[("COUNTERSINK_LOG_FORMAT", "xml")]).wait();
    assert_eq!(wrong.code, Some(2));
    assert!(
        wrong.errors.contains("write human or json"),
        "{}",
        wrong.errors
    );
}
