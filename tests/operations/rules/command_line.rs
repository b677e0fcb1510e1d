//! Help, exit codes, and errors that name their file.

use std::process::Command;

use crate::support::countersink;

fn run(arguments: &[&str]) -> (i32, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_countersink"))
        .args(arguments)
        .output()
        .unwrap();
    let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    (output.status.code().unwrap(), text)
}

#[test]
fn help_has_examples_and_exit_codes() {
    let (code, text) = run(&["--help"]);
    assert_eq!(code, 0);
    for part in ["Examples:", "Exit codes:", "serve", "provision"] {
        assert!(text.contains(part), "{text}");
    }
    assert_eq!(
        run(&["--version"]),
        (0, format!("countersink {}\n", env!("CARGO_PKG_VERSION")))
    );
    assert!(
        run(&["serve", "--help"])
            .1
            .contains("countersink serve --rules rules.yaml")
    );
}

#[test]
fn wrong_usage_is_exit_code_2() {
    for arguments in [
        &["sreve"][..],
        &[],
        &["serve", "--listen", "6033"],
        &["serve", "--what"],
    ] {
        assert_eq!(run(arguments).0, 2, "{arguments:?}");
    }
}

#[test]
fn errors_name_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let rules = folder.path().join("rules.yaml");
    std::fs::write(&rules, "upstream: db\n").unwrap();
    let (code, output, errors) = countersink(&["serve"], &rules);
    let expected = format!(
        "countersink: {}: upstream: `db` is not an address: the port is missing; ",
        rules.display()
    );
    assert!(errors.starts_with(&expected), "{errors}");
    assert_eq!((code, output.as_str()), (2, ""));
    let none = folder.path().join("none.yaml");
    let (code, _, errors) = countersink(&["serve"], &none);
    assert!(
        errors.starts_with(&format!(
            "countersink: {}: cannot be read: ",
            none.display()
        )),
        "{errors}"
    );
    assert_eq!(code, 2);
}
