//! The programs that are compiled, in target/, each anew when its source has changed.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::drivers::{self, needs, run};
use crate::support::process::Process;

/// Where Debian keeps the sources of Go's libraries, and the classes of Java's.
const GO_PATH: &str = "/usr/share/gocode";
const JAVA_DRIVER: &str = "/usr/share/java/mariadb-java-client.jar";

/// With the flags that libmariadb tells.
pub fn c() -> Result<Process, String> {
    needs("cc")?;
    needs("mariadb_config")?;
    let folder = drivers::compiled("matrix-c", "matrix/blog.c", |folder, source| {
        let told = Command::new("mariadb_config")
            .args(["--cflags", "--libs"])
            .output();
        let told = told.expect("it says its version").stdout;
        let flags = String::from_utf8(told).expect("UTF-8");
        let mut command = Command::new("cc");
        command.args(["-O1", "-Wall", "-Werror", "-o"]);
        command.arg(folder.join("blog")).arg(source);
        run(command.args(flags.split_whitespace()));
    });
    Ok(Process {
        program: folder.join("blog"),
        ..Process::default()
    })
}

/// Without modules: the library is a package of Debian.
pub fn go() -> Result<Process, String> {
    if Command::new("go").arg("version").output().is_err() {
        return Err("go is not on the PATH".to_owned());
    }
    there(
        "github.com/go-sql-driver/mysql",
        &format!("{GO_PATH}/src/github.com/go-sql-driver/mysql"),
    )?;
    let folder = drivers::compiled("matrix-go", "matrix/blog.go", |folder, source| {
        let mut command = Command::new("go");
        command.args(["build", "-o"]).arg(folder.join("blog"));
        command.arg(source);
        command.env("GO111MODULE", "off").env("GOPATH", GO_PATH);
        command.env("GOCACHE", folder.join("cache"));
        run(&mut command);
    });
    Ok(Process {
        program: folder.join("blog"),
        ..Process::default()
    })
}

/// With the driver as a JAR.
pub fn java() -> Result<Process, String> {
    needs("javac")?;
    needs("java")?;
    there("MariaDB Connector/J", JAVA_DRIVER)?;
    let folder = drivers::compiled("matrix-java", "matrix/Blog.java", |folder, source| {
        let mut command = Command::new("javac");
        command.args(["-encoding", "UTF-8", "-d"]).arg(folder);
        run(command.args(["-cp", JAVA_DRIVER]).arg(source));
    });
    let classes = format!("{}:{JAVA_DRIVER}", folder.display());
    let arguments = [
        "-XX:TieredStopAtLevel=1",
        "-XX:+UseSerialGC",
        "-Dfile.encoding=UTF-8",
        "-Dsun.stdout.encoding=UTF-8",
        "-cp",
        &classes,
        "Blog",
    ];
    Ok(Process {
        program: PathBuf::from("java"),
        arguments: arguments.map(Into::into).to_vec(),
        ..Process::default()
    })
}

fn there(what: &str, path: &str) -> Result<(), String> {
    match Path::new(path).exists() {
        true => Ok(()),
        false => Err(format!("{what} is not installed")),
    }
}
