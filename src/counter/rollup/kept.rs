//! A connection of the background's own, made when it is needed and kept for the next time.

use mysql_async::Conn;

use super::pass::Error;
use crate::counter::control::Control;
use crate::counter::server::{Server, is_read_only};

/// Takes connections, and keeps one that is given back.
#[derive(Debug)]
pub(super) struct Kept {
    conn: Option<Conn>,
    /// To which that leads.
    server: Server,
}

impl Kept {
    pub(super) fn new(control: &Control) -> Self {
        Self {
            conn: None,
            server: control.server(),
        }
    }

    /// The connection, and whether it is new. One that is not given back is closed, which rolls back.
    ///
    /// # Errors
    ///
    /// If there is none, or the server is read-only.
    pub(super) async fn take(&mut self, control: &Control) -> Result<(Conn, bool), Error> {
        // The address may lead to another server now.
        let server = control.server();
        let kept = self.conn.take().filter(|_| self.server == server);
        let is_new = kept.is_none();
        let mut conn = match kept {
            Some(conn) => conn,
            None => {
                self.server = server;
                control.roll_up_connection().await?
            }
        };
        match is_read_only(&mut conn).await? {
            true => Err(Error::ReadOnly),
            false => Ok((conn, is_new)),
        }
    }

    pub(super) fn give_back(&mut self, conn: Conn) {
        self.conn = Some(conn);
    }
}
