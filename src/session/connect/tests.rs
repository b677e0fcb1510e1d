//! The connection phase over in-memory streams, with a scripted upstream.
