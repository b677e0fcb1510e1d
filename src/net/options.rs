//! Options of TCP sockets, on both sides.

use std::io;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;

/// How long a peer may be silent before the first keepalive probe.
const IDLE: Duration = Duration::from_secs(60);

/// The interval between keepalive probes that are not acknowledged.
const INTERVAL: Duration = Duration::from_secs(15);

/// The number of unacknowledged probes after which the peer counts as gone.
#[cfg(target_os = "linux")]
const PROBES: u32 = 4;

/// How long sent data may stay unacknowledged, or wait for room in the peer's window, before the peer counts as gone.
/// It is long because a client may take its time over a large result. Without it, Linux waits about three times as
/// long.
#[cfg(target_os = "linux")]
const UNACKNOWLEDGED: Duration = Duration::from_secs(300);

/// Disables Nagle's algorithm, and sets timeouts that eventually detect a peer that vanished without closing: a machine
/// that lost power, or a firewall that forgot the connection. Its session would otherwise hold its locks forever
/// (manual: tcp(7)).
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
