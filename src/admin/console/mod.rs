//! The SQL console: what an operator asks and tells a running proxy, with any MySQL client.
//!
//! - `login`: who comes in
//! - `fence`: what of a client's bytes reaches opensrv-mysql, which writes the answers; `shim` is what it calls
//! - `visit`: a client that has come in; each `statement` finds its answer
//! - `show`: tables about the proxy, `filter`ed; `act`: what changes something; `orders`: what changes the rules
//! - `small_talk`: what clients ask every server; `set`: what they tell it

mod act;
mod cursor;
mod desk;
mod explain;
mod fence;
mod filter;
mod login;
mod orders;
mod set;
mod shim;
mod show;
mod small_talk;
mod statement;
mod table;
mod visit;

#[cfg(test)]
mod documented;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::port::Port;
use crate::config::Admin;
use crate::net::PacketStream;
use crate::wire::packet::encode_packet;
use fence::Fence;
use login::Door;
use visit::Visit;

pub use desk::Desk;

/// Clients at the same time; who comes then is told so.
const MOST_CLIENTS: usize = 32;

/// The first connection id: far above what a server has given out, as KILL takes ids of sessions.
const FIRST_ID: u32 = 0x8000_0001;

/// How long to wait after an accept that failed for want of file descriptors or memory.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves clients for good, on this port; when it is dropped, all are gone.
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
    let places = Arc::new(Semaphore::new(MOST_CLIENTS));
    let next_id = AtomicU32::new(FIRST_ID);
    let mut visits = JoinSet::new();
    loop {
        while visits.try_join_next().is_some() {}
        let Ok((stream, peer)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
            refuse(&stream);
            continue;
        };
        let (desk, door) = (Arc::clone(&desk), Arc::clone(&door));
        let id = next_id.fetch_add(1, Ordering::Relaxed).max(FIRST_ID);
        visits.spawn(async move {
            receive(stream, peer, id, &door, desk).await;
            drop(place);
        });
    }
}

/// Says that there are too many, as far as that can be said at once.
fn refuse(stream: &TcpStream) {
    let told = login::err(1040, b"08004", "Too many connections to the console");
    let mut packet = Vec::new();
    encode_packet(&mut packet, 0, &told);
    // Who does not hear it finds the connection closed.
    stream.try_write(&packet).ok();
}

/// One client, from its connection to its close.
async fn receive(stream: TcpStream, peer: SocketAddr, id: u32, door: &Door, desk: Arc<Desk>) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%peer, "cannot set TCP_NODELAY: {error}");
    }
    let mut client = PacketStream::new(Box::new(stream));
    let login = match door.admit(&mut client, id).await {
        Ok(login) => login,
        Err(error) => {
            tracing::warn!(%peer, "console: no login: {error}");
            return;
        }
    };
    tracing::info!(%peer, user = login.user, "console: login");
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
