//! What is between the proxy and the server, and lies to the sessions of hostile clients.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use countersink::wire::capability;
use countersink::wire::handshake::InitialHandshake;
use countersink::wire::packet::{HEADER_LENGTH, Header};
use countersink_sandbox::Address;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::lies::{Lie, tell};
use super::stage::USER;

/// Where the user name stands in a handshake response.
const USER_AT: usize = 32;

/// A liar closes when nothing has passed for this long, and what it has told takes no longer.
const IDLE: Duration = Duration::from_millis(300);

/// How long the last connections may take to go.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) struct Liar {
    pub(super) address: Address,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    seed: AtomicU64,
    /// Connections of hostile clients that there have been.
    connections: AtomicU64,
    /// Those that there are.
    open: AtomicUsize,
    told: Mutex<BTreeMap<Lie, u64>>,
}

impl Liar {
    pub(super) async fn start(server: &Address) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let shared = Arc::<Shared>::default();
        let (server, all) = (server.clone(), Arc::clone(&shared));
        let address = Address {
            host: "127.0.0.1".to_owned(),
            port,
            ..server.clone()
        };
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let (server, shared) = (server.clone(), Arc::clone(&all));
                tokio::spawn(async move {
                    // Whichever side closes, ends the connection.
                    connection(near, &server, &shared).await.ok();
                });
            }
        });
        Self { address, shared }
    }

    /// Lies from this seed on.
    pub(super) fn begin(&self, seed: u64) {
        self.shared.seed.store(seed, Ordering::Relaxed);
    }

    /// Waits until the proxy has no connection of a hostile client any more.
    pub(super) async fn wait_until_alone(&self) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let open = self.shared.open.load(Ordering::Relaxed);
            if open == 0 {
                return;
            }
            assert!(Instant::now() < deadline, "{open} connections are left");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// How often each lie was told.
    pub(super) fn told(&self) -> String {
        let told = self.shared.told.lock().expect("nobody panics");
        let each: Vec<_> = told
            .iter()
            .map(|(lie, count)| format!("{count} {lie:?}"))
            .collect();
        each.join(", ")
    }
}

/// Counts itself among the open ones.
struct Open<'a>(&'a AtomicUsize);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

async fn connection(mut near: TcpStream, server: &Address, shared: &Shared) -> std::io::Result<()> {
    let mut far = TcpStream::connect((server.host.as_str(), server.port)).await?;
    near.set_nodelay(true)?;
    far.set_nodelay(true)?;
    let mut greeting = packet(&mut far).await?;
    // Lies are told in what can be read.
    let payload = &mut greeting[HEADER_LENGTH..];
    if let Ok(initial) = InitialHandshake::decode(payload) {
        let unreadable = capability::SSL | capability::COMPRESS | capability::ZSTD_COMPRESSION;
        initial.put_capabilities(payload, initial.capabilities & !unreadable);
    }
    near.write_all(&greeting).await?;
    let response = packet(&mut near).await?;
    let user = response.get(HEADER_LENGTH + USER_AT..).unwrap_or_default();
    let is_hostile = user
        .strip_prefix(USER.as_bytes())
        .is_some_and(|rest| rest.first() == Some(&0));
    far.write_all(&response).await?;
    if !is_hostile {
        tokio::io::copy_bidirectional(&mut near, &mut far).await?;
        return Ok(());
    }
    let number = shared.connections.fetch_add(1, Ordering::Relaxed);
    let seed = shared.seed.load(Ordering::Relaxed).wrapping_add(number);
    shared.open.fetch_add(1, Ordering::Relaxed);
    let _open = Open(&shared.open);
    Lying::new(seed, near, far, shared).run().await
}

/// One packet, with its header.
async fn packet(from: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![0; HEADER_LENGTH];
    from.read_exact(&mut bytes).await?;
    let header = Header::decode(&bytes).expect("four bytes");
    bytes.resize(header.packet_length(), 0);
    from.read_exact(&mut bytes[HEADER_LENGTH..]).await?;
    Ok(bytes)
}

/// A connection on which lies are told.
struct Lying<'a> {
    near: TcpStream,
    far: TcpStream,
    shared: &'a Shared,
    dice: StdRng,
    /// One packet of so many is a lie, once the login is over.
    one_of: u32,
    /// How many packets are told truthfully first.
    true_ones: u32,
    has_lied: bool,
    is_silent: bool,
}

impl<'a> Lying<'a> {
    fn new(seed: u64, near: TcpStream, far: TcpStream, shared: &'a Shared) -> Self {
        let mut dice = StdRng::seed_from_u64(seed);
        // The answer to the login is the first packet: one of eight connections lies about that.
        let true_ones = match dice.random_range(0..8) {
            0 => 0,
            _ => dice.random_range(1..8),
        };
        Self {
            near,
            far,
            shared,
            one_of: dice.random_range(2..20),
            true_ones,
            dice,
            has_lied: false,
            is_silent: false,
        }
    }

    async fn run(&mut self) -> std::io::Result<()> {
        let mut from_near = vec![0; 16 * 1024];
        let mut buffer = Vec::new();
        let mut near_is_open = true;
        loop {
            tokio::select! {
                read = self.near.read(&mut from_near), if near_is_open => match read? {
                    0 => {
                        near_is_open = false;
                        self.far.shutdown().await?;
                    }
                    length => {
                        // Now and then it answers before it has been asked.
                        if self.true_ones == 0 && self.dice.random_ratio(1, 60) {
                            self.lie(Lie::Unasked, 1, &[]).await?;
                        }
                        self.far.write_all(&from_near[..length]).await?;
                    }
                },
                read = self.far.read_buf(&mut buffer) => {
                    let is_closed = read? == 0;
                    while let Some(header) = Header::decode(&buffer)
                        && buffer.len() >= header.packet_length()
                    {
                        let packet: Vec<_> = buffer.drain(..header.packet_length()).collect();
                        if self.pass(header.sequence_id, &packet).await? {
                            return Ok(());
                        }
                    }
                    if is_closed {
                        return Ok(());
                    }
                }
                // Nobody waits for what the server does not say.
                () = tokio::time::sleep(IDLE), if self.has_lied => return Ok(()),
            }
        }
    }

    /// Passes a packet on, or what it is replaced by. Returns whether the connection is over.
    async fn pass(&mut self, sequence_id: u8, packet: &[u8]) -> std::io::Result<bool> {
        if self.is_silent {
            return Ok(false);
        }
        if self.true_ones > 0 {
            self.true_ones -= 1;
            self.write(packet).await?;
            return Ok(false);
        }
        if !self.dice.random_ratio(1, self.one_of) {
            self.write(packet).await?;
            return Ok(false);
        }
        let lie = Lie::ALL[self.dice.random_range(0..Lie::ALL.len())];
        self.lie(lie, sequence_id, &packet[HEADER_LENGTH..]).await
    }

    async fn lie(&mut self, lie: Lie, sequence_id: u8, payload: &[u8]) -> std::io::Result<bool> {
        self.has_lied = true;
        *self
            .shared
            .told
            .lock()
            .expect("nobody panics")
            .entry(lie)
            .or_default() += 1;
        let told = tell(&mut self.dice, lie, sequence_id, payload);
        self.is_silent |= told.is_silent;
        self.write(&told.bytes).await?;
        Ok(told.is_last)
    }

    /// A proxy whose client does not read need not read either.
    async fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        let written = tokio::time::timeout(IDLE, self.near.write_all(bytes)).await;
        written.unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into()))
    }
}
