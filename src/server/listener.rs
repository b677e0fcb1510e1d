//! Where clients connect: TCP ports and unix sockets. A new process may take them over from a running one.

use std::fs;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::task::{Context, Poll};

#[cfg(target_os = "linux")]
use socket2::{SockFilter, SockRef};
use tokio::net::{TcpListener, TcpSocket, TcpStream, UnixListener, UnixStream, lookup_host};

use crate::config::{Address, HostPort};
use crate::net::{Cut, Cuttable, Origin, Transport, prepare};

/// Connections that wait to be accepted; the system has a limit of its own (net.core.somaxconn).
const BACKLOG: u32 = 4096;

/// A connection as it is accepted.
#[derive(Debug)]
pub(super) enum Accepted {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Accepted {
    /// The connection on the thread that calls this, where it stays, until it is cut.
    pub(super) fn on_this_thread(self, cut: &Arc<Cut>) -> io::Result<Box<dyn Transport>> {
        let cut = Arc::clone(cut);
        Ok(match self {
            Self::Tcp(stream) => {
                let stream = TcpStream::from_std(stream.into_std()?)?;
                if let Err(error) = prepare(&stream) {
                    tracing::debug!("cannot set socket options: {error}");
                }
                Box::new(Cuttable::new(stream, cut))
            }
            Self::Unix(stream) => {
                let stream = UnixStream::from_std(stream.into_std()?)?;
                Box::new(Cuttable::new(stream, cut))
            }
        })
    }
}

/// An address that is listened on.
#[derive(Debug)]
pub(super) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener, SocketFile),
}

impl Listener {
    /// Listens. `take_over` says that another process may have the address, which is to end.
    pub(super) async fn open(address: &Address, take_over: bool) -> io::Result<Self> {
        match address {
            Address::Tcp(address) => listen(address, take_over).await.map(Self::Tcp),
            Address::Unix(path) => {
                let (listener, file) = listen_at(path, take_over).await?;
                Ok(Self::Unix(listener, file))
            }
        }
    }

    /// The address as it is now: a port that the system has chosen is in it.
    pub(super) fn address(&self) -> io::Result<Address> {
        Ok(match self {
            Self::Tcp(listener) => Address::Tcp(listener.local_addr()?.into()),
            Self::Unix(_, file) => Address::Unix(file.path.clone()),
        })
    }

    /// The port, if it is one.
    pub(super) fn port(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(listener) => listener.local_addr().ok(),
            Self::Unix(..) => None,
        }
    }

    /// Lets no more clients begin to connect, while those that have begun may be accepted. The system closes a
    /// connection that waits in a socket which is closed, and goes on to put some there as long as it is open: with
    /// two processes at a port, each gets a share. What it drops, the client sends again after a second, and by then
    /// the other process gets it.
    pub(super) fn takes_no_more(&self) {
        #[cfg(target_os = "linux")]
        if let Self::Tcp(listener) = self
            && !hands_over()
            && let Err(error) = SockRef::from(listener).attach_filter(&first_packets())
        {
            tracing::debug!("cannot filter packets: {error}");
        }
    }

    fn poll_accept(&self, context: &mut Context<'_>) -> Poll<io::Result<(Accepted, Origin)>> {
        match self {
            Self::Tcp(listener) => listener.poll_accept(context).map(|accepted| {
                let (stream, from) = accepted?;
                let to = stream.local_addr()?;
                Ok((Accepted::Tcp(stream), Origin::Tcp { from, to }))
            }),
            Self::Unix(listener, _) => listener
                .poll_accept(context)
                .map_ok(|(stream, _)| (Accepted::Unix(stream), Origin::Unix)),
        }
    }
}

/// Whether the system gives connections that wait in a socket which is closed to another one at the port.
#[cfg(target_os = "linux")]
fn hands_over() -> bool {
    let setting = fs::read("/proc/sys/net/ipv4/tcp_migrate_req");
    setting.is_ok_and(|setting| setting.trim_ascii() == b"1")
}

/// Drops packets with SYN, by which connections begin (manual: bpf(4), `struct sock_filter`). To a filter the packet
/// begins with the header of TCP.
#[cfg(target_os = "linux")]
fn first_packets() -> [SockFilter; 4] {
    const LOAD_BYTE: u16 = 0x30;
    const JUMP_IF_ANY_BIT: u16 = 0x45;
    const RETURN: u16 = 0x06;
    const FLAGS: u32 = 13;
    const SYN: u32 = 0x02;
    [
        SockFilter::new(LOAD_BYTE, 0, 0, FLAGS),
        SockFilter::new(JUMP_IF_ANY_BIT, 0, 1, SYN),
        SockFilter::new(RETURN, 0, 0, 0),
        SockFilter::new(RETURN, 0, 0, u32::MAX),
    ]
}

/// Accepts the next connection of any of them, which come first by turns. Cancel safe.
pub(super) async fn accept(
    listeners: &[Listener],
    turn: &mut usize,
) -> io::Result<(Accepted, Origin)> {
    poll_fn(|context| {
        for _ in 0..listeners.len() {
            *turn = (*turn + 1) % listeners.len();
            if let Poll::Ready(accepted) = listeners[*turn].poll_accept(context) {
                return Poll::Ready(accepted);
            }
        }
        Poll::Pending
    })
    .await
}

/// Listens at the first address of the host that is available. All processes that share a port must say so
/// (SO_REUSEPORT, manual: socket(7)), so each does. But unless it is to `take_over` the port, a port in use is refused,
/// because a second proxy on the same port is usually a mistake.
async fn listen(address: &HostPort, take_over: bool) -> io::Result<TcpListener> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
    for address in lookup_host((address.host.as_str(), address.port)).await? {
        match at(address, take_over) {
            Ok(listener) => return Ok(listener),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn at(address: SocketAddr, take_over: bool) -> io::Result<TcpListener> {
    if !take_over && address.port() != 0 {
        bound(address, false)?;
    }
    bound(address, true)?.listen(BACKLOG)
}

fn bound(address: SocketAddr, shared: bool) -> io::Result<TcpSocket> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // Connections of an earlier process may linger.
    socket.set_reuseaddr(true)?;
    socket.set_reuseport(shared)?;
    socket.bind(address)?;
    Ok(socket)
}

/// The file of a unix socket. It is removed when this is dropped, unless another process has taken it over by then.
#[derive(Debug)]
pub(super) struct SocketFile {
    path: PathBuf,
    /// Device and inode.
    id: (u64, u64),
}

impl SocketFile {
    fn of(path: &Path) -> io::Result<Self> {
        Ok(Self {
            path: path.to_owned(),
            id: id(path)?,
        })
    }
}

fn id(path: &Path) -> io::Result<(u64, u64)> {
    let found = fs::symlink_metadata(path)?;
    Ok((found.dev(), found.ino()))
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if id(&self.path).is_ok_and(|now| now == self.id) {
            fs::remove_file(&self.path).ok();
        }
    }
}

/// Listens at a unix socket. Everybody may connect to it, as to the server's own: who comes in is for the server to
/// say.
async fn listen_at(path: &Path, take_over: bool) -> io::Result<(UnixListener, SocketFile)> {
    match fs::symlink_metadata(path) {
        Ok(found) if !found.file_type().is_socket() => {
            let why = "a file that is no socket has this name";
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, why));
        }
        Ok(_) if !take_over && !is_left_behind(path).await => {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        Ok(_) | Err(_) => {}
    }
    // It gets its name when it can be connected to: who has the name before is replaced without a moment in between.
    let mut before = path.as_os_str().to_owned();
    before.push(format!(".{}", std::process::id()));
    let before = PathBuf::from(before);
    fs::remove_file(&before).ok();
    let listener = UnixListener::bind(&before)?;
    let named = fs::set_permissions(&before, fs::Permissions::from_mode(0o777))
        .and_then(|()| fs::rename(&before, path))
        .and_then(|()| SocketFile::of(path));
    match named {
        Ok(file) => Ok((listener, file)),
        Err(error) => {
            fs::remove_file(&before).ok();
            Err(error)
        }
    }
}

/// Whether nobody listens at this socket any more. Who does not let this process in, or has too many that wait, does.
async fn is_left_behind(path: &Path) -> bool {
    let connected = UnixStream::connect(path).await;
    connected.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream as StdUnixStream;

    use super::*;

    #[tokio::test]
    async fn a_port_is_shared_with_whoever_takes_it_over() {
        let any = HostPort {
            host: "127.0.0.1".to_owned(),
            port: 0,
        };
        let first = listen(&any, false).await.unwrap();
        let same = HostPort {
            port: first.local_addr().unwrap().port(),
            ..any
        };
        let refused = listen(&same, false).await.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AddrInUse);
        let second = listen(&same, true).await.unwrap();
        assert_eq!(second.local_addr().unwrap(), first.local_addr().unwrap());
        drop(first);
        drop(second);
        listen(&same, false).await.unwrap();
    }

    #[tokio::test]
    async fn a_socket_is_left_to_whoever_takes_it_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mysqld.sock");
        let (first, first_file) = listen_at(&path, false).await.unwrap();
        let refused = listen_at(&path, false).await.unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AddrInUse);
        let (second, second_file) = listen_at(&path, true).await.unwrap();
        drop((first, first_file));
        assert!(path.exists(), "it is the second one's");
        let client = StdUnixStream::connect(&path).unwrap();
        second.accept().await.unwrap();
        drop((client, second, second_file));
        assert!(!path.exists(), "it goes with who listened there");
    }

    #[tokio::test]
    async fn a_socket_of_a_process_that_was_killed_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mysqld.sock");
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(path.exists(), "it is left behind");
        let (listener, file) = listen_at(&path, false).await.unwrap();
        let client = StdUnixStream::connect(&path).unwrap();
        listener.accept().await.unwrap();
        drop((client, listener, file));
    }

    #[tokio::test]
    async fn a_file_of_another_kind_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rules.yaml");
        fs::write(&path, "counters: []").unwrap();
        for take_over in [false, true] {
            let refused = listen_at(&path, take_over).await.unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
        }
        assert_eq!(fs::read_to_string(&path).unwrap(), "counters: []");
        let names = fs::read_dir(folder.path()).unwrap();
        assert_eq!(names.count(), 1, "nothing else is left there");
    }
}
