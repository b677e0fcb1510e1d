//! Options of TCP sockets, on either side.

use std::io;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;

/// A peer that has been silent for so long is asked whether it is there,
const IDLE: Duration = Duration::from_secs(60);

/// and so often until it answers,
const INTERVAL: Duration = Duration::from_secs(15);

/// and is gone when it has not answered so many times.
#[cfg(target_os = "linux")]
const PROBES: u32 = 4;

/// Bytes that are not acknowledged for so long mean that the peer is gone; so do bytes for which it has no room. It is
/// long, for a client may take its time over a large result, and a third of what Linux waits otherwise.
#[cfg(target_os = "linux")]
const UNACKNOWLEDGED: Duration = Duration::from_secs(300);

/// Sends small packets at once, and finds out in the end when the peer has gone without a word: a machine that lost its
/// power, a firewall that forgot the connection. Its session would otherwise hold its locks for good (manual: tcp(7)).
pub fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let socket = SockRef::from(stream);
    let keepalive = TcpKeepalive::new().with_time(IDLE).with_interval(INTERVAL);
    #[cfg(target_os = "linux")]
    let keepalive = keepalive.with_retries(PROBES);
    socket.set_tcp_keepalive(&keepalive)?;
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(UNACKNOWLEDGED))?;
    Ok(())
}
