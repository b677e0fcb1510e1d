//! Rules are switched on, off and over while clients work: no error, no increment lost, no value that was not so.

mod drain_command;
mod file;
mod load;
mod prepared;
mod rest;
mod sessions;
mod stage;
mod under_load;
