//! An address that leads to a server, and can lead elsewhere or nowhere.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use countersink_sandbox::Address;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

/// Connects each client to where it leads at the time.
pub struct Forwarder {
    upstream: Address,
    /// In turn, beginning with the last one.
    to: Arc<Mutex<Vec<SocketAddr>>>,
    connections: Arc<Mutex<JoinSet<std::io::Result<()>>>>,
    accepting: JoinHandle<()>,
}

impl Forwarder {
    /// Leads to this server.
    pub async fn start(server: &Address) -> Self {
        Self::start_far_from(server, Duration::ZERO).await
    }

    /// Leads to this server, whose answers take this long to arrive.
    pub async fn start_far_from(server: &Address, delay: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let to = Arc::new(Mutex::new(vec![socket(server)]));
        let leads = Arc::clone(&to);
        let connections = Arc::<Mutex<JoinSet<_>>>::default();
        let accepted = Arc::clone(&connections);
        let accepting = tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let to = {
                    let mut leads = leads.lock().expect("nobody panics");
                    leads.rotate_right(1);
                    leads[0]
                };
                accepted.lock().expect("nobody panics").spawn(async move {
                    let mut server = TcpStream::connect(to).await?;
                    client.set_nodelay(true)?;
                    server.set_nodelay(true)?;
                    let (near_read, mut near) = client.split();
                    let (far_read, mut far) = server.split();
                    tokio::try_join!(
                        pass_on(near_read, &mut far, Duration::ZERO),
                        pass_on(far_read, &mut near, delay)
                    )?;
                    Ok(())
                });
            }
        });
        Self {
            upstream: Address {
                host: address.ip().to_string(),
                port: address.port(),
                ..server.clone()
            },
            to,
            connections,
            accepting,
        }
    }

    /// The address, with the account of the server that it leads to.
    pub fn upstream(&self) -> Address {
        self.upstream.clone()
    }

    /// Leads new connections to another server.
    pub fn lead_to(&self, server: &Address) {
        self.balance(&[server]);
    }

    /// Leads new connections to these servers in turn, as a load balancer does.
    pub fn balance(&self, servers: &[&Address]) {
        let servers = servers.iter().map(|server| socket(server));
        *self.to.lock().expect("nobody panics") = servers.collect();
    }

    /// Closes the connections that there are.
    pub fn cut(&self) {
        self.connections.lock().expect("nobody panics").abort_all();
    }

    /// Refuses new connections from now on. Those that there are go on.
    pub async fn close(self) {
        self.accepting.abort();
        self.accepting.await.ok();
    }
}

/// Passes on what comes, each piece this much later, until it ends.
async fn pass_on(
    mut from: ReadHalf<'_>,
    to: &mut WriteHalf<'_>,
    delay: Duration,
) -> std::io::Result<()> {
    let mut piece = vec![0; 16 * 1024];
    loop {
        let length = from.read(&mut piece).await?;
        if length == 0 {
            return to.shutdown().await;
        }
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        to.write_all(&piece[..length]).await?;
    }
}

fn socket(server: &Address) -> SocketAddr {
    let address = format!("{}:{}", server.host, server.port);
    address.parse().expect("an IP address and a port")
}
