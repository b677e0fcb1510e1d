//! The SQL console: who comes in, what it answers, what it does, and that nothing a client sends brings it down.
//!
//! The drivers are fetched by pip and npm; where Python or Node.js is missing their tests say so and pass, except in
//! CI.

mod clients;
mod closing;
mod hostile;
mod logins;
mod stage;
mod statements;
