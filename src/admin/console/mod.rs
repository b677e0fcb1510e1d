//! The SQL console: an operator queries and controls a running proxy, with any MySQL client.
//!
//! - `login`: which clients may come in, and `arrivals`: those that are about to
//! - `fence`: which of a client's bytes reach opensrv-mysql, which writes the responses; `shim` is what it calls
//! - `visit`: a client that has logged in; each `statement` gets its response
//! - `show`: tables about the proxy, `filter`ed; `act`: what changes something; `orders`: what changes the rules
//! - `small_talk`: queries that clients send to every server; `set`: what they set there

mod act;
mod arrivals;
mod client_queries;
mod console_session;
mod cursor;
mod explain;
mod filter;
mod handles;
mod help;
mod login;
mod opensrv_fence;
mod orders;
mod set;
mod shim;
mod show;
mod statement;
mod table;

#[cfg(test)]
mod documented;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::port::Port;
use crate::config::Admin;
use crate::net::PacketStream;
use arrivals::{Arrival, Arrivals};
use console_session::Visit;
use login::{Door, LoggedIn};
use opensrv_fence::Fence;

pub use handles::Desk;

/// When a connection on which nothing comes is asked for a sign of life, and how often from then on.
const KEEP_ALIVE: TcpKeepalive = TcpKeepalive::new()
    .with_time(Duration::from_secs(60))
    .with_interval(Duration::from_secs(10));

/// The first connection id: far above what a server has given out, as KILL takes ids of sessions.
const FIRST_ID: u32 = 0x8000_0001;

/// How long to wait after an accept that failed for want of file descriptors or memory.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves clients on this port until it is dropped, which disconnects all of them.
pub async fn serve(port: Port, admin: Admin, desk: Arc<Desk>) {
    let listener = match port.listener().await {
        Ok(listener) => listener,
        Err(error) => return tracing::warn!("{error}"),
    };
    if let Ok(address) = listener.local_addr() {
        tracing::info!("console at {address}");
        if !address.ip().is_loopback() {
            tracing::warn!(
                "admin: other machines reach the console at {address}, which has no TLS; its statements and answers can \
                 be read on the way, and whoever has its password can stop the proxy: prefer 127.0.0.1"
            );
        }
    }
    let door = Arc::new(Door::new(admin, desk.config().handshake_timeout));
    let arrivals = Arc::new(Arrivals::default());
    let next_id = AtomicU32::new(FIRST_ID);
    let mut visits = JoinSet::new();
    loop {
        while visits.try_join_next().is_some() {}
        let Ok((stream, peer)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let (desk, door) = (Arc::clone(&desk), Arc::clone(&door));
        let id = next_id.fetch_add(1, Ordering::Relaxed).max(FIRST_ID);
        let arrival = arrivals.enter(id);
        visits.spawn(async move {
            if let Some(came) = receive(stream, peer, &door, arrival).await {
                serve_client(came, peer, id, desk).await;
            }
        });
    }
}

/// One client, from its connection until it is logged in, or is not.
async fn receive(
    stream: TcpStream,
    peer: SocketAddr,
    door: &Door,
    mut arrival: Arrival,
) -> Option<(PacketStream, LoggedIn)> {
    if let Err(error) = configure(&stream) {
        tracing::debug!(%peer, "cannot set TCP_NODELAY and SO_KEEPALIVE: {error}");
    }
    let mut client = PacketStream::new(Box::new(stream));
    let id = arrival.id();
    let admitted = tokio::select! {
        admitted = door.admit(&mut client, id) => admitted,
        () = arrival.makes_room() => {
            tracing::debug!(%peer, "console: made room for another login");
            return None;
        }
    };
    match admitted {
        Ok(login) => {
            tracing::info!(%peer, user = login.user, "console: login");
            Some((client, login))
        }
        // The log is short, and clients that only connect must not fill it.
        Err(error) if !error.is_told() => {
            tracing::debug!(%peer, "console: no login: {error}");
            None
        }
        Err(error) => {
            tracing::warn!(%peer, "console: no login: {error}");
            None
        }
    }
}

/// A client that has gone without a word, with its machine, is found out.
fn configure(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    SockRef::from(stream).set_tcp_keepalive(&KEEP_ALIVE)
}

/// One client that is logged in, to its close.
async fn serve_client(
    (mut client, login): (PacketStream, LoggedIn),
    peer: SocketAddr,
    id: u32,
    desk: Arc<Desk>,
) {
    let _place = login.place;
    let visit = Arc::new(Visit::new(desk, id, peer, login.user, login.schema));
    let served = match Fence::new(&mut client, login.capabilities, visit).await {
        Ok(mut fence) => fence.run().await,
        Err(error) => Err(error),
    };
    match served {
        Ok(()) => tracing::debug!(%peer, "console: left"),
        Err(error) => tracing::debug!(%peer, "console: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_client_is_asked_for_a_sign_of_life() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).await;
        let stream = stream.unwrap();
        configure(&stream).unwrap();
        assert!(SockRef::from(&stream).keepalive().unwrap());
        assert!(stream.nodelay().unwrap());
    }
}
