//! The pages say what is true of the program, as far as a program can tell: links lead somewhere; every key of
//! rules.yaml, every message and every switch of the tests has its place, and there are no others.

mod contributing;
mod links;
mod messages;
mod page;
mod rules;
