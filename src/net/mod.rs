//! Bytes on sockets: one packet stream over plain TCP, TLS or a unix socket.

mod packet_stream;

pub use packet_stream::{PacketStream, ReadError, Transport};
