//! What packets travel on.

use tokio::io::{AsyncRead, AsyncWrite};

/// The byte stream below a packet stream: a socket, or TLS on one.
pub trait Transport: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Transport for T {}
