//! An address that leads to a server, and can lead elsewhere or nowhere.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use countersink_sandbox::Address;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// Connects each client to where it leads at the time.
pub struct Forwarder {
    upstream: Address,
    /// In turn, beginning with the last one.
    to: Arc<Mutex<Vec<SocketAddr>>>,
    accepting: JoinHandle<()>,
}

impl Forwarder {
    /// Leads to this server.
    pub async fn start(server: &Address) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let to = Arc::new(Mutex::new(vec![socket(server)]));
        let leads = Arc::clone(&to);
        let accepting = tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let to = {
                    let mut leads = leads.lock().expect("nobody panics");
                    leads.rotate_right(1);
                    leads[0]
                };
                tokio::spawn(async move {
                    let mut server = TcpStream::connect(to).await?;
                    client.set_nodelay(true)?;
                    server.set_nodelay(true)?;
                    tokio::io::copy_bidirectional(&mut client, &mut server).await
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

    /// Refuses new connections from now on. Those that there are go on.
    pub async fn close(self) {
        self.accepting.abort();
        self.accepting.await.ok();
    }
}

fn socket(server: &Address) -> SocketAddr {
    let address = format!("{}:{}", server.host, server.port);
    address.parse().expect("an IP address and a port")
}
