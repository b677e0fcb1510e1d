//! What is between the proxies and the server, and can break.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// What becomes of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weather {
    /// They pass.
    Fair,
    /// They pass later.
    Slow,
    /// They stay where they are, in both directions, and nobody is told.
    BlackHole,
    /// Now and then an answer does not arrive, and its connection is closed, while others go on.
    LosingAnswers,
    /// The server's side of each connection is closed for what the proxy sends; what the server says still passes.
    HalfClosed,
}

/// How much later.
const DELAY: Duration = Duration::from_millis(20);

/// Of so many pieces of answers one is lost.
const ONE_OF: u32 = 30;

/// Connects the proxies to the server.
pub struct Relay {
    pub address: SocketAddr,
    weather: Arc<watch::Sender<Weather>>,
    /// How often all connections have been cut.
    cuts: Arc<watch::Sender<u64>>,
}

impl Relay {
    pub async fn start(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let weather = Arc::new(watch::Sender::new(Weather::Fair));
        let cuts = Arc::new(watch::Sender::new(0));
        let of_connections = (Arc::clone(&weather), Arc::clone(&cuts));
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let (weather, mut cuts) =
                    (of_connections.0.subscribe(), of_connections.1.subscribe());
                tokio::spawn(async move {
                    tokio::select! {
                        () = connection(near, server, weather) => {}
                        _ = cuts.changed() => {}
                    }
                });
            }
        });
        Self {
            address,
            weather,
            cuts,
        }
    }

    pub fn turns(&self, weather: Weather) {
        self.weather.send_replace(weather);
    }

    /// Closes all connections that there are.
    pub fn cut(&self) {
        self.cuts.send_modify(|cuts| *cuts += 1);
    }
}

async fn connection(near: TcpStream, server: SocketAddr, weather: watch::Receiver<Weather>) {
    let Ok(far) = TcpStream::connect(server).await else {
        return;
    };
    near.set_nodelay(true).expect("an option");
    far.set_nodelay(true).expect("an option");
    let (from_near, to_near) = near.into_split();
    let (from_far, to_far) = far.into_split();
    // Whichever side ends, ends the connection.
    tokio::select! {
        () = pass(from_near, to_far, weather.clone(), true) => {}
        () = pass(from_far, to_near, weather, false) => {}
    }
}

/// Passes bytes on in one direction, until one side closes.
async fn pass(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut weather: watch::Receiver<Weather>,
    is_to_server: bool,
) {
    let mut bytes = vec![0; 16 * 1024];
    loop {
        let now = *weather.borrow_and_update();
        match now {
            Weather::HalfClosed if is_to_server => {
                to.shutdown().await.ok();
                // The other direction ends the connection.
                return std::future::pending().await;
            }
            Weather::BlackHole => {
                if weather.changed().await.is_err() {
                    return;
                }
                continue;
            }
            Weather::Fair | Weather::Slow | Weather::HalfClosed | Weather::LosingAnswers => {}
        }
        let length = tokio::select! {
            read = from.read(&mut bytes) => match read {
                Ok(length @ 1..) => length,
                Ok(0) | Err(_) => return,
            },
            changed = weather.changed() => match changed {
                Ok(()) => continue,
                Err(_) => return,
            },
        };
        let now = *weather.borrow();
        match now {
            Weather::Slow => tokio::time::sleep(DELAY).await,
            Weather::LosingAnswers if !is_to_server && rand::random_ratio(1, ONE_OF) => return,
            _ => {}
        }
        // What has been read while nothing passes waits for better weather.
        let fair = |now: &Weather| *now != Weather::BlackHole;
        if weather.wait_for(fair).await.is_err() {
            return;
        }
        if to.write_all(&bytes[..length]).await.is_err() {
            return;
        }
    }
}
