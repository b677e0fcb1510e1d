//! A server that hangs at the moment when it is asked something, to the byte.

use std::net::SocketAddr;

use countersink_sandbox::Address;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// An address that leads to a server, until a client says certain words: from then on nobody there is answered, and no
/// connection is closed.
pub struct Hanging {
    address: Address,
    hangs: watch::Receiver<bool>,
}

impl Hanging {
    /// Leads to this server until a client says `words`.
    pub async fn at(server: &Address, words: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let to = format!("{}:{}", server.host, server.port);
        let to: SocketAddr = to.parse().expect("an IP address and a port");
        let (hang, hangs) = watch::channel(false);
        tokio::spawn(async move {
            let mut ignored = Vec::new();
            while let Ok((client, _)) = listener.accept().await {
                if *hang.borrow() {
                    ignored.push(client);
                    continue;
                }
                let Ok(server) = TcpStream::connect(to).await else {
                    continue;
                };
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = server.into_split();
                tokio::spawn(carry(from_client, to_server, hang.clone(), words));
                tokio::spawn(carry(from_server, to_client, hang.clone(), ""));
            }
        });
        Self {
            address: Address {
                host: "127.0.0.1".to_owned(),
                port,
                ..server.clone()
            },
            hangs,
        }
    }

    /// The address, with the account of the server that it leads to.
    pub fn address(&self) -> Address {
        self.address.clone()
    }

    /// Waits until it hangs.
    pub async fn until_it_hangs(&mut self) {
        let hangs = self.hangs.wait_for(|hangs| *hangs);
        hangs.await.expect("somebody listens");
    }
}

/// Carries everything on until it hangs, and lets it hang at these words, if any.
async fn carry(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    hang: watch::Sender<bool>,
    words: &str,
) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        let text = String::from_utf8_lossy(&buffer[..length]);
        if !words.is_empty() && text.contains(words) {
            hang.send_replace(true);
        }
        if *hang.borrow() {
            std::future::pending::<()>().await;
        }
        if to.write_all(&buffer[..length]).await.is_err() {
            return;
        }
    }
}
