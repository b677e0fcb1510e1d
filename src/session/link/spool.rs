//! A response that is held back until the proxy's own transaction around its statement has ended. So locks are held
//! for as long as the server takes, and not for as long as the client takes to read.

use std::io;

use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};

use super::Link;
use crate::session::error::Error;

/// How much of a response is held in memory, in bytes.
const IN_MEMORY: usize = 256 * 1024;

/// How much of it is held in a file, in bytes.
const IN_FILE: u64 = 1024 * 1024 * 1024;

/// Packets that have not been sent to the client yet: in memory first, then in a file without a name.
#[derive(Debug, Default)]
pub struct Spool {
    /// What follows the bytes in the file.
    memory: Vec<u8>,
    file: Option<File>,
    /// Bytes in the file.
    written: u64,
}

impl Spool {
    /// Takes these bytes, and leaves the vector empty. On an error the bytes are kept as well, but no more should
    /// come.
    pub async fn take(&mut self, bytes: &mut Vec<u8>) -> io::Result<()> {
        if self.memory.is_empty() {
            std::mem::swap(&mut self.memory, bytes);
        } else {
            self.memory.append(bytes);
        }
        match self.memory.len() > IN_MEMORY {
            true => self.write_out().await,
            false => Ok(()),
        }
    }

    async fn write_out(&mut self) -> io::Result<()> {
        if self.written >= IN_FILE {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(File::from_std(tempfile::tempfile()?)),
        };
        // This overwrites what a failed write has left there.
        file.seek(io::SeekFrom::Start(self.written)).await?;
        file.write_all(&self.memory).await?;
        file.flush().await?;
        self.written += self.memory.len() as u64;
        self.memory.clear();
        Ok(())
    }
}

impl Link {
    /// Sends the client all that has been held back for it.
    pub async fn send_spooled(&mut self, spool: Option<Spool>) -> Result<(), Error> {
        let Some(mut spool) = spool else {
            return Ok(());
        };
        if let Some(file) = &mut spool.file {
            file.rewind().await.map_err(Error::Spool)?;
            let mut left = spool.written;
            let mut part = vec![0; IN_MEMORY];
            while left > 0 {
                let length = usize::try_from(left).map_or(IN_MEMORY, |left| left.min(IN_MEMORY));
                let part = &mut part[..length];
                file.read_exact(part).await.map_err(Error::Spool)?;
                self.client.write(part).await.map_err(Error::client)?;
                left -= length as u64;
            }
        }
        match spool.memory.is_empty() {
            true => Ok(()),
            false => self
                .client
                .write(&spool.memory)
                .await
                .map_err(Error::client),
        }
    }
}
