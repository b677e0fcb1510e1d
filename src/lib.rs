//! Countersink: a MySQL proxy that makes hot counter rows fast without changing the application.
//!
//! Thousands of clients that run `UPDATE posts SET views = views + 1 WHERE id = 42` wait for each other's row lock.
//! Through Countersink those that wait for a row are written by one of them, in one transaction. While transactions
//! hold the row, increments go to rows of a slot table that no other client holds, and reads add the slots up again.
//! For every counter `c` of a row with key `k`
//!
//! ```text
//! value(k, c) = base.c + SUM(slots.c where key = k)
//! ```
//!
//! and every statement through the proxy reads and writes *value*. `docs/design.md` says why that is correct, and
//! `docs/design/session.md` which file does what to a command.
//!
//! # Layout
//!
//! A room may use the floors below its own, never those above; `tests/house/layers.rs` enforces it.
//!
//! | floor | rooms |
//! |---|---|
//! | 9 | [`cli`]: arguments in, exit code out; the demo, explain, check, advise, bench |
//! | 8 | [`admin`]: the SQL console; metrics, dashboard and health over HTTP |
//! | 7 | [`server`]: accept, the threads of sessions, stop; rules that change; failover |
//! | 6 | [`session`]: one client, one upstream connection · [`driver`]: a MySQL client, for demo, bench and tests · [`advise`]: which counters are hot |
//! | 5 | [`explain`]: what is done with a statement, for people, pure · [`check`]: what is wrong between rules and server · [`sentinel`]: who writes past the proxy |
//! | 4 | [`counter`]: the control account, slot tables, slots, folds, combining, roll-up · [`traffic`]: what passes, in bounded memory |
//! | 3 | [`net`]: packet streams over TCP, TLS, unix sockets, compressed or not · [`sql`]: text to plan, pure |
//! | 2 | [`wire`]: bytes to packets, pure · [`catalog`]: what the hot tables look like · [`spans`]: OpenTelemetry |
//! | 1 | [`config`]: rules.yaml · [`reason`]: why a statement got its plan · [`metrics`] |
//!
//! What is not the proxy are crates beside it, which know nothing of it: `countersink_sandbox`, throwaway servers for
//! the demo and the tests; `countersink_terminal`, what commands show; `countersink_bench`, load clients and what the
//! demo and the benchmark measure with them. The last one is lent a client and the proxy by [`cli`], for the binary,
//! which has its commands, is a part of this package.
//!
//! # Life of a statement
//!
//! [`server`] accepts a client. [`session::connect`] turns it away where there are as many as may be, or else relays
//! its handshake, so that MySQL itself authenticates it. Then, command by command:
//!
//! 1. the packet is looked at where it lies; a statement that names no hot table (a byte search, [`sql::Prefilter`])
//!    is passed on as it came, and its response is followed by packet headers alone ([`wire::response`]);
//! 2. otherwise [`sql::plan()`] makes its [`sql::plan::Plan`], once for each shape or text;
//! 3. [`sql::decide`] says what the session's locks and variables make of the plan, and the session acts on that. While
//!    the table rests, a write of one row in autocommit is written together with those that wait for the row
//!    ([`counter::combine`]), and all else passes. While slots are in use, an increment goes to a slot, together with
//!    other waiting ones (in a transaction: once such transactions are known to do nothing else). In a cluster with
//!    several writers slots are always in use, and what another member was first to change is run again. A read is
//!    sent as base + SUM(slots). Any other write moves the slots into base first (fold) and then runs as it came, in
//!    one transaction. Only a write of another table, where a fold would show in the client's snapshot, reads counters
//!    as sums;
//! 4. the client gets the response that MySQL would have given: row counts, info text, column definitions and status
//!    flags are those of its own statement;
//! 5. later, in the background, [`counter::rollup`] moves the values in slots into base.

pub mod admin;
pub mod advise;
pub mod catalog;
pub mod check;
pub mod cli;
pub mod config;
pub mod counter;
pub mod driver;
pub mod explain;
pub mod metrics;
pub mod net;
pub mod reason;
pub mod sentinel;
pub mod server;
pub mod session;
pub mod spans;
pub mod sql;
pub mod traffic;
pub mod wire;
