//! Packages: what they are made of is there, and fits the program.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use countersink::config::Mode;
use serde_json::Value;

use super::{VERSION, read, rules, takes};

/// Where cargo-deb looks for what was built; the scripts put there what they make.
const BUILT: &str = "target/release/";

/// `[package.metadata.deb]` of the crate.
fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--no-deps",
            "--offline",
            "--format-version",
            "1",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let mut packages = packages.iter();
    let own = packages.find(|package| package["name"] == "countersink");
    own.expect("the crate")["metadata"]["deb"].clone()
}

/// Source and destination of each file in the package.
fn assets() -> Vec<(String, String)> {
    let metadata = metadata();
    let assets = metadata["assets"].as_array().expect("assets");
    let text = |value: &Value| value.as_str().expect("a path").to_owned();
    assets
        .iter()
        .map(|asset| (text(&asset[0]), text(&asset[1])))
        .collect()
}

/// Whether there is a file by that name, which may have a star in its last part.
fn is_there(path: &str) -> bool {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    let name = path.file_name().expect("a name").to_string_lossy();
    let Some((start, end)) = name.split_once('*') else {
        return path.is_file();
    };
    let entries = fs::read_dir(path.parent().expect("a folder")).expect("a folder");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let mut names = names.map(|name| name.to_string_lossy().into_owned());
    names.any(|name| name.starts_with(start) && name.ends_with(end))
}

#[test]
fn the_debian_package_names_files_that_are_there() {
    let script = read("docker/packages/generate.sh");
    let mut made = 0;
    for (source, _) in assets() {
        match source.strip_prefix(BUILT) {
            Some("countersink") => {}
            Some("packages/man/*.1.gz") => assert!(script.contains("man --directory")),
            Some(path) => {
                let name = path.rsplit('/').next().expect("a name");
                assert!(script.contains(&format!("/{name}\"")), "{source}");
                made += 1;
            }
            None => assert!(is_there(&source), "{source}"),
        }
    }
    assert!(made > 3);
    let metadata = metadata();
    let scripts = metadata["maintainer-scripts"].as_str().expect("a folder");
    for script in ["postinst", "prerm", "postrm"] {
        // Without it cargo-deb has no place for what systemd needs.
        assert!(read(&format!("{scripts}/{script}")).contains("\n#DEBHELPER#\n"));
    }
    let units = metadata["systemd-units"]["unit-scripts"].as_str();
    for unit in ["countersink.service", "countersink@.service"] {
        assert!(is_there(&format!("{}/{unit}", units.expect("a folder"))));
    }
}

#[test]
fn an_installed_package_rewrites_nothing_yet() {
    let rules = rules(&read("docker/packages/deb/rules.yaml"));
    assert!(rules.rules.iter().all(|rule| rule.mode == Mode::Observe));
    let http = rules.http.expect("a dashboard");
    for address in [rules.listen.to_string(), http.to_string()] {
        assert!(address.starts_with("127.0.0.1:"), "{address}");
    }
    // Nor does it start before somebody has looked at them.
    let units = &metadata()["systemd-units"];
    assert_eq!(
        (&units["enable"], &units["start"]),
        (&false.into(), &false.into())
    );
}

#[test]
fn the_unit_starts_what_the_package_has() {
    let unit = read("docker/systemd/countersink.service");
    let setting = |name: &str| {
        let line = unit.lines().find_map(|line| line.strip_prefix(name));
        line.unwrap_or_else(|| panic!("no {name}"))
    };
    let command: Vec<_> = setting("ExecStart=").split(' ').collect();
    let (program, arguments) = command.split_first().expect("a program");
    takes(arguments);
    let installed = |path: &str| {
        assets().iter().any(|(source, to)| {
            let name = source.rsplit('/').next().expect("a name");
            format!("/{to}").trim_end_matches(name).to_owned() + name == path
        })
    };
    assert!(installed(&format!("/usr/bin/{program}")));
    assert!(
        installed(arguments.last().expect("the rules")),
        "{arguments:?}"
    );
    // The account, and the file with the password, are made by the package.
    let script = read("docker/packages/deb/postinst");
    assert!(script.contains(&format!(" {}\n", setting("User="))));
    let environment = setting("EnvironmentFile=").trim_start_matches('-');
    assert!(script.contains(&format!("> {environment}\n")));
    assert!(read("docker/packages/deb/postrm").contains(environment));
}

#[test]
fn what_is_packed_has_the_version_of_the_crate() {
    let changelog = read("docker/packages/deb/changelog");
    assert!(changelog.starts_with(&format!("countersink ({VERSION}-1) ")));
    let chart: Value =
        serde_saphyr::from_str(&read("docker/kubernetes/chart/Chart.yaml")).expect("YAML");
    assert_eq!(chart["version"], VERSION);
    assert_eq!(chart["appVersion"], VERSION);
    for file in ["deployment.yaml", "sidecar.yaml"] {
        let manifest = read(&format!("docker/kubernetes/{file}"));
        assert!(
            manifest.contains(&format!("image: countersink:{VERSION}\n")),
            "{file}"
        );
    }
    let changes = read("CHANGELOG.md");
    assert!(changes.contains(&format!("\n## {VERSION}\n")), "{VERSION}");
}

/// Both images are used alike; they differ in how the program comes in.
#[test]
fn both_images_are_used_alike() {
    let settings = |path: &str| -> BTreeSet<String> {
        let kinds = [
            "USER",
            "EXPOSE",
            "STOPSIGNAL",
            "HEALTHCHECK",
            "CMD",
            "ENTRYPOINT",
            "LABEL",
        ];
        let text = read(path).replace("\\\n", " ");
        let (_, last) = text.rsplit_once("\nFROM ").expect("an image");
        let lines = last.lines().map(|line| line.split_whitespace());
        lines
            .map(|words| words.collect::<Vec<_>>().join(" "))
            .filter(|line| kinds.iter().any(|kind| line.starts_with(kind)))
            .collect()
    };
    let built = settings("docker/Dockerfile");
    assert!(built.len() > 5, "{built:?}");
    assert_eq!(built, settings("docker/static.Dockerfile"));
    takes(&["serve", "--rules", "/etc/countersink/rules.yaml"]);
    takes(&["health", "--rules", "/etc/countersink/rules.yaml"]);
}
