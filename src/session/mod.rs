//! One client, one upstream connection, from the greeting to the end.

pub mod connect;
