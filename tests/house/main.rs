//! The house's own rules and its pages: no test needs a server.

mod docs;
mod floors;
mod layers;
mod sources;
mod structs;
