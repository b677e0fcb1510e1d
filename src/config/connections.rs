//! How many clients there may be at the same time, and how long they may be idle.

use std::time::Duration;

/// The limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Connections {
    /// Clients that are logged in.
    pub most: usize,
    /// Those of one account name. `None` if there is no limit.
    pub most_of_user: Option<usize>,
    /// Clients from one address, with those that have not logged in yet. `None` if there is no limit.
    pub most_of_address: Option<usize>,
    /// Clients that have not logged in yet.
    pub most_logins: usize,
    /// Places among `most` that only some accounts get.
    pub reserved: Reserved,
    /// How long a client may send nothing between two commands. `None` if there is no limit but the server's.
    pub idle_timeout: Option<Duration>,
}

/// Places for operators.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reserved {
    /// How many.
    pub places: usize,
    /// Account names, compared as MySQL does: by letter case.
    pub users: Vec<String>,
}

impl Connections {
    /// The most clients that may be logged in for this one to be let in.
    pub fn most_for(&self, user: &[u8]) -> usize {
        let Reserved { places, users } = &self.reserved;
        match users.iter().any(|listed| listed.as_bytes() == user) {
            true => self.most,
            false => self.most.saturating_sub(*places),
        }
    }
}
