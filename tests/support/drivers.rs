//! PyMySQL and the Node.js drivers, fetched by pip and npm into target/clients when they are first used.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the session scripts are.
pub const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients");

const CACHE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/target/clients");

/// The interpreter that has PyMySQL; or why there is none.
pub fn python() -> Result<PathBuf, String> {
    python_with("python", "requirements.txt")
}

/// The interpreter that has the packages of a list in [`SCRIPTS`]; or why there is none.
pub fn python_with(name: &str, list: &str) -> Result<PathBuf, String> {
    needs("python3")?;
    let folder = once(name, list, |folder, wanted| {
        run(Command::new("python3").args(["-m", "venv"]).arg(folder));
        run(Command::new(folder.join("bin/python"))
            .args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                "-r",
            ])
            .arg(wanted));
    });
    Ok(folder.join("bin/python"))
}

/// The folder of mysql2 and mariadb, for NODE_PATH; or why there is none.
pub fn node_modules() -> Result<PathBuf, String> {
    node_modules_with("node", "package.json")
}

/// The folder of the packages of a list in [`SCRIPTS`], for NODE_PATH; or why there is none.
pub fn node_modules_with(name: &str, list: &str) -> Result<PathBuf, String> {
    needs("node")?;
    needs("npm")?;
    let folder = once(name, list, |folder, wanted| {
        fs::create_dir_all(folder).expect("a folder in target");
        fs::copy(wanted, folder.join("package.json")).expect("a copy of package.json");
        run(Command::new("npm").current_dir(folder).args([
            "install",
            "--silent",
            "--no-audit",
            "--no-fund",
            "--no-package-lock",
        ]));
    });
    Ok(folder.join("node_modules"))
}

/// What a program compiles to, made anew when its source has changed since.
pub fn compiled(name: &str, source: &str, compile: impl FnOnce(&Path, &Path)) -> PathBuf {
    once(name, source, |folder, source| {
        fs::create_dir_all(folder).expect("a folder in target");
        compile(folder, source);
    })
}

/// Why a program cannot be run, unless it says its version.
pub fn needs(program: &str) -> Result<(), String> {
    match Command::new(program).arg("--version").output() {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => Err(format!(
            "{program} does not run: {}",
            String::from_utf8_lossy(&output.stderr)
        )),
        Err(error) => Err(format!("{program} is not on the PATH: {error}")),
    }
}

/// The folder `name`, made anew when the list of what is wanted has changed since; by one process at a time.
fn once(name: &str, list: &str, make: impl FnOnce(&Path, &Path)) -> PathBuf {
    let cache = Path::new(CACHE);
    fs::create_dir_all(cache).expect("a folder in target");
    let lock = File::create(cache.join(format!("{name}.lock"))).expect("a lock file");
    lock.lock().expect("the lock");
    let (folder, wanted) = (cache.join(name), Path::new(SCRIPTS).join(list));
    let text = fs::read_to_string(&wanted).expect("the list of packages");
    let stamp = folder.join("complete");
    if fs::read_to_string(&stamp).is_ok_and(|made| made == text) {
        return folder;
    }
    let _ = fs::remove_dir_all(&folder); // absent at first
    make(&folder, &wanted);
    fs::write(&stamp, text).expect("the stamp");
    folder
}

/// Runs a program that must not fail.
pub fn run(command: &mut Command) {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}
