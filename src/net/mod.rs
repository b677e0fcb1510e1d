//! Bytes on sockets: packet streams over plain TCP, TLS or unix sockets, compressed or not.

mod buffer;
mod compressed;
mod cut;
mod dial;
mod options;
mod origin;
mod packet_stream;
pub mod proxy_protocol;
mod route;
pub mod tls;
mod transport;

pub use compressed::{Algorithm, Role};
pub use cut::{Cut, Cuttable};
pub use dial::dial;
pub use options::prepare;
pub use origin::Origin;
pub use packet_stream::{PacketStream, ReadError};
pub use route::Route;
pub use transport::Transport;
