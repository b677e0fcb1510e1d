//! Bytes on sockets: one packet stream over plain TCP, TLS or a unix socket.

mod buffer;
mod dial;
mod packet_stream;
pub mod tls;

pub use dial::dial;
pub use packet_stream::{PacketStream, ReadError, Transport};
