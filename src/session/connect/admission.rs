//! Which clients are let in: no more than there may be, of an account, from an address, or in all.
//!
//! A client beyond a limit is told so at once, as by MySQL, before the server behind the proxy hears of it. An account
//! counts once it has logged in, so that nobody can take the places of one whose password they do not know.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;

use crate::config::{Config, Memory};
use crate::net::Origin;

/// Why a client is not let in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Full {
    /// There are as many clients as there may be, but for reserved places.
    #[error("Too many connections: countersink has {most}, its max_connections")]
    Connections {
        /// How many this client could have been among.
        most: usize,
    },
    /// The account has as many as it may have.
    #[error(
        "User {user} already has more than 'max_user_connections' active connections: countersink lets it have {most}"
    )]
    User {
        /// Its name.
        user: String,
        /// How many.
        most: usize,
    },
    /// As many have come from this address as may.
    #[error(
        "Too many connections: countersink has {most} from {address}, its max_address_connections"
    )]
    Address {
        /// The address.
        address: IpAddr,
        /// How many.
        most: usize,
    },
    /// Too many clients have connected and not logged in.
    #[error("Too many connections: {most} log in to countersink already, its max_logins")]
    Logins {
        /// How many.
        most: usize,
    },
}

/// The clients that are there.
#[derive(Debug)]
pub struct Admission {
    config: Arc<ArcSwap<Config>>,
    clients: Mutex<Clients>,
}

#[derive(Debug, Default)]
struct Clients {
    /// Those that have not logged in yet.
    logins: usize,
    /// Those that have.
    sessions: usize,
    users: HashMap<Vec<u8>, usize>,
    addresses: HashMap<IpAddr, usize>,
    /// Those that are being told that they are not let in.
    farewells: usize,
}

/// A client's place, which is free again when this is dropped.
#[derive(Debug)]
pub struct Place {
    admission: Arc<Admission>,
    address: Option<IpAddr>,
    /// The account, once it is logged in.
    user: Option<Vec<u8>>,
}

/// The time of somebody who tells a client that it is not let in.
#[derive(Debug)]
pub(super) struct Farewell<'a>(&'a Admission);

/// How many clients at a time are told that they are not let in; further ones are cut off, so that a flood of them
/// cannot hold more descriptors.
const MOST_FAREWELLS: usize = 256;

impl Admission {
    /// Nobody is there. The limits are those that `config` has at the moment.
    pub fn new(config: Arc<ArcSwap<Config>>) -> Self {
        Self {
            config,
            clients: Mutex::default(),
        }
    }

    /// A place for a client that has connected.
    ///
    /// # Errors
    ///
    /// If it would find none, whoever it is.
    pub fn arrive(self: &Arc<Self>) -> Result<Place, Full> {
        let limits = &self.config.load().connections;
        let mut clients = self.clients();
        if clients.sessions >= limits.most {
            return Err(Full::Connections { most: limits.most });
        }
        if clients.logins >= limits.most_logins {
            let most = limits.most_logins;
            return Err(Full::Logins { most });
        }
        clients.logins += 1;
        Ok(Place {
            admission: Arc::clone(self),
            address: None,
            user: None,
        })
    }

    /// Whether there is time to tell a client why it is not let in.
    pub(super) fn farewell(&self) -> Option<Farewell<'_>> {
        let mut clients = self.clients();
        if clients.farewells >= MOST_FAREWELLS {
            return None;
        }
        clients.farewells += 1;
        Some(Farewell(self))
    }

    /// Whether nobody is there, and nothing is remembered of those that were.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        let clients = self.clients();
        let names = (clients.users.len(), clients.addresses.len());
        (clients.logins, clients.sessions, clients.farewells, names) == (0, 0, 0, (0, 0))
    }

    fn clients(&self) -> MutexGuard<'_, Clients> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// Takes in where the client has connected from, once that is known.
    ///
    /// # Errors
    ///
    /// If there are as many from there as may be.
    pub(super) fn comes_from(&mut self, origin: Origin) -> Result<(), Full> {
        let Origin::Tcp { from, .. } = origin else {
            return Ok(());
        };
        let address = from.ip().to_canonical();
        let most = self.admission.config.load().connections.most_of_address;
        let most = most.unwrap_or(usize::MAX);
        if !takes(&mut self.admission.clients().addresses, address, most) {
            return Err(Full::Address { address, most });
        }
        self.address = Some(address);
        Ok(())
    }

    /// Takes in that the client has logged in, or has become another account. After an error it must go, and until
    /// then has the place that it had.
    pub(super) fn log_in(&mut self, user: &[u8]) -> Result<(), Full> {
        let limits = &self.admission.config.load().connections;
        let mut clients = self.admission.clients();
        if self.user.as_deref() == Some(user) {
            return Ok(());
        }
        let most = limits.most_for(user);
        if self.user.is_none() && clients.sessions >= most {
            return Err(Full::Connections { most });
        }
        let most = limits.most_of_user.unwrap_or(usize::MAX);
        if !takes(&mut clients.users, user.to_vec(), most) {
            return Err(Full::User {
                user: String::from_utf8_lossy(user).into_owned(),
                most,
            });
        }
        match self.user.replace(user.to_vec()) {
            Some(before) => leaves(&mut clients.users, before),
            None => {
                clients.logins -= 1;
                clients.sessions += 1;
            }
        }
        Ok(())
    }

    /// How long the client may send nothing between two commands, as the rules file has it at the moment.
    pub fn idle_timeout(&self) -> Option<Duration> {
        self.admission.config.load().connections.idle_timeout
    }

    /// How much the session may hold, as the rules file has it at the moment.
    pub fn memory(&self) -> Memory {
        self.admission.config.load().memory
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut clients = self.admission.clients();
        if let Some(address) = self.address {
            leaves(&mut clients.addresses, address);
        }
        match self.user.take() {
            Some(user) => {
                clients.sessions -= 1;
                leaves(&mut clients.users, user);
            }
            None => clients.logins -= 1,
        }
    }
}

impl Drop for Farewell<'_> {
    fn drop(&mut self) {
        self.0.clients().farewells -= 1;
    }
}

/// Counts one more under this name, unless there are `most`.
fn takes<K: Eq + Hash>(counts: &mut HashMap<K, usize>, name: K, most: usize) -> bool {
    match counts.entry(name) {
        Entry::Occupied(mut count) if *count.get() < most => {
            *count.get_mut() += 1;
            true
        }
        Entry::Vacant(none) if most > 0 => {
            none.insert(1);
            true
        }
        _ => false,
    }
}

/// Counts one less; a name that nobody has any more is forgotten.
fn leaves<K: Eq + Hash>(counts: &mut HashMap<K, usize>, name: K) {
    if let Entry::Occupied(mut count) = counts.entry(name) {
        *count.get_mut() -= 1;
        if *count.get() == 0 {
            count.remove();
        }
    }
}
