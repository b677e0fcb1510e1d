//! The clients of the demo and the benchmark: implements their crate's traits with [`Driver`].

use std::net::SocketAddr;

use countersink_bench::lent::{self, Answer, Connection, Lost, ServerError};

use crate::config::{Address, HostPort, Secret};
use crate::driver::{self, Driver, Login, Reply};
use crate::net::dial;
use crate::wire::command;
use crate::wire::packet::{HEADER_LENGTH, Header};
use crate::wire::response::ResponseKind;

/// An address and a login.
#[derive(Clone, Debug)]
pub(super) struct Account {
    pub address: Address,
    pub user: String,
    pub password: Secret,
    /// The default schema.
    pub schema: Option<String>,
}

/// A connected client.
pub(super) struct Client {
    driver: Driver,
    /// The packet of a statement. Its memory is reused.
    packet: Vec<u8>,
}

impl lent::Account for Account {
    type Connection = Client;

    fn address(&self) -> String {
        self.address.to_string()
    }

    fn at(&self, address: SocketAddr) -> Self {
        let address = Address::Tcp(HostPort::from(address));
        Self {
            address,
            ..self.clone()
        }
    }

    fn in_schema(&self, schema: &str) -> Self {
        Self {
            schema: Some(schema.to_owned()),
            ..self.clone()
        }
    }

    async fn connect(&self) -> Result<Client, Lost> {
        let transport = dial(&self.address).await.map_err(Lost::Write)?;
        let login = Login {
            schema: self.schema.as_deref(),
            is_local: self.address.is_local(),
            ..Login::new(&self.user, self.password.reveal())
        };
        Ok(Client {
            driver: Driver::connect(transport, &login).await.map_err(lost)?,
            packet: Vec::new(),
        })
    }
}

impl Connection for Client {
    async fn run(&mut self, statement: &[u8]) -> Result<Option<ServerError>, Lost> {
        write_packet(statement, &mut self.packet);
        let refusal = self
            .driver
            .refusal(&self.packet, ResponseKind::Results)
            .await;
        Ok(refusal.map_err(lost)?.map(server_error))
    }

    async fn query(&mut self, statement: &str) -> Result<Answer, Lost> {
        Ok(match self.driver.query(statement).await.map_err(lost)? {
            Reply::Ok(_) => Answer::Rows(Vec::new()),
            Reply::Rows(rows) => Answer::Rows(rows),
            Reply::Err(error) => Answer::Refused(server_error(error)),
        })
    }

    async fn quit(self) {
        // Nothing follows, so it does not matter whether this succeeds.
        self.driver.quit().await.ok();
    }
}

/// The packet of a COM_QUERY.
fn write_packet(statement: &[u8], packet: &mut Vec<u8>) {
    let header = Header {
        length: 1 + statement.len(),
        sequence_id: 0,
    };
    packet.clear();
    packet.reserve(HEADER_LENGTH + header.length);
    packet.extend_from_slice(&header.encode());
    packet.push(command::QUERY);
    packet.extend_from_slice(statement);
}

fn lost(error: driver::Error) -> Lost {
    match error {
        driver::Error::Login(error) => Lost::Login(server_error(error)),
        driver::Error::Unsupported(what) => Lost::Unsupported(what),
        driver::Error::Write(error) => Lost::Write(error),
        error @ (driver::Error::Read(_) | driver::Error::Malformed(_)) => Lost::Read(error.into()),
    }
}

fn server_error(error: driver::ServerError) -> ServerError {
    ServerError {
        code: error.code,
        message: error.message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::query_packet;

    #[test]
    fn a_packet_is_the_driver_s_own() {
        let mut packet = b"what was there before".to_vec();
        for statement in ["DO 0", "UPDATE t SET c = c + 1 WHERE id = 42"] {
            write_packet(statement.as_bytes(), &mut packet);
            assert_eq!(packet, query_packet(statement));
        }
    }

    #[test]
    fn the_same_login_goes_to_another_address_and_schema() {
        use lent::Account as _;
        let account = Account {
            address: Address::parse("unix:/run/my sql/a.sock").expect("an address"),
            user: "root".to_owned(),
            password: Secret::new("x".to_owned()),
            schema: None,
        };
        let there = account.in_schema("shop").at(([127, 0, 0, 1], 6033).into());
        assert_eq!(there.address(), "127.0.0.1:6033");
        assert_eq!(there.schema.as_deref(), Some("shop"));
        assert_eq!(
            (there.user, there.password.reveal()),
            ("root".to_owned(), "x")
        );
    }
}
