//! Bytes on sockets: one packet stream over plain TCP, TLS or a unix socket.

mod address;
mod packet_stream;
pub mod tls;

pub use address::{Address, InvalidAddress};
pub use packet_stream::{PacketStream, ReadError, Transport};
