//! MySQL Router as a plain relay in front of one server.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use countersink_sandbox::Address;
use tempfile::TempDir;

use crate::programs;

/// The Debian package that has it.
const PACKAGE: &str = "mysql-router";

/// How long it may take to listen.
const PATIENCE: Duration = Duration::from_secs(20);

/// Where the program is.
pub enum Router {
    /// On PATH, as the package installs it.
    Installed,
    /// In a folder into which the package and all that it depends on, the C library included, are unpacked
    /// (`dpkg-deb --extract`): it runs beside libraries of another release than the machine's.
    Unpacked(PathBuf),
}

/// A running router, killed when dropped.
pub struct Running {
    pub address: Address,
    child: Child,
    _folder: TempDir,
}

impl Router {
    /// What it says of its version.
    pub fn version(&self) -> Result<String, String> {
        programs::version(self.command()?.arg("--version"), PACKAGE)
    }

    /// Starts it in front of `upstream`, without TLS on either side.
    pub fn start(&self, upstream: &Address) -> Result<Running, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let port = free_port().map_err(|error| error.to_string())?;
        let file = folder.path().join("router.conf");
        fs::write(&file, self.configuration(folder.path(), port, upstream))
            .map_err(|error| error.to_string())?;
        let mut command = self.command()?;
        command.arg("--config").arg(&file).stdin(Stdio::null());
        let name = command.get_program().to_string_lossy().into_owned();
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let child = child.map_err(|error| programs::missing(&name, PACKAGE, &error))?;
        let mut running = Running {
            address: Address {
                host: "127.0.0.1".to_owned(),
                port,
                ..upstream.clone()
            },
            child,
            _folder: folder,
        };
        running.wait_until_it_listens()?;
        Ok(running)
    }

    fn configuration(&self, folder: &Path, port: u16, upstream: &Address) -> String {
        let plugins = match self {
            Self::Installed => String::new(),
            Self::Unpacked(root) => {
                format!(
                    "plugin_folder={}/usr/lib/mysqlrouter/plugin\n",
                    root.display()
                )
            }
        };
        format!(
            "[DEFAULT]\n{plugins}logging_folder=\nruntime_folder={0}\ndata_folder={0}\n\
             max_total_connections=10000\n\
             [logger]\nlevel=WARNING\n\
             [routing:server]\nbind_address=127.0.0.1\nbind_port={port}\ndestinations={1}:{2}\n\
             routing_strategy=first-available\nprotocol=classic\n\
             client_ssl_mode=DISABLED\nserver_ssl_mode=DISABLED\n",
            folder.display(),
            upstream.host,
            upstream.port
        )
    }

    fn command(&self) -> Result<Command, String> {
        let root = match self {
            Self::Installed => return Ok(Command::new("mysqlrouter")),
            Self::Unpacked(root) => root,
        };
        let libraries = format!("{}-linux-gnu", std::env::consts::ARCH);
        let libraries = root.join("usr/lib").join(libraries);
        let loader = fs::read_dir(&libraries).ok().and_then(|files| {
            let mut paths = files.filter_map(|file| Some(file.ok()?.path()));
            paths.find(|path| {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                name.starts_with("ld-linux")
            })
        });
        let loader = loader.ok_or_else(|| {
            format!(
                "{} has no C library: unpack the Debian package `{PACKAGE}` there, and `libc6` and the other \
                 packages that it depends on",
                libraries.display()
            )
        })?;
        let mut command = Command::new(loader);
        command.arg("--library-path").arg(format!(
            "{}:{}",
            libraries.display(),
            root.join("usr/lib/mysql-router").display()
        ));
        command.arg(root.join("usr/bin/mysqlrouter"));
        Ok(command)
    }
}

impl Running {
    fn wait_until_it_listens(&mut self) -> Result<(), String> {
        let deadline = Instant::now() + PATIENCE;
        while TcpStream::connect((self.address.host.as_str(), self.address.port)).is_err() {
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(format!("MySQL Router ended before it listened: {status}"));
            }
            if Instant::now() > deadline {
                return Err(format!("MySQL Router does not listen after {PATIENCE:?}"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// It cannot be told to take any free port, and says nowhere which one it took.
fn free_port() -> std::io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}
