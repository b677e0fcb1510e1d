//! Bytes on sockets: one packet stream over plain TCP, TLS or a unix socket.

mod buffer;
mod cut;
mod dial;
mod options;
mod packet_stream;
pub mod tls;

pub use cut::{Cut, Cuttable};
pub use dial::dial;
pub use options::prepare;
pub use packet_stream::{PacketStream, ReadError, Transport};
