//! The pages say what is true of the program, as far as a program can tell: links lead somewhere, every key of
//! rules.yaml and every message has its place, and there are no others.

mod links;
mod messages;
mod page;
mod rules;
