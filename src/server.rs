//! Accepts clients, gives each a session, and closes them when told to stop.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc, oneshot, watch};
use tokio::task::JoinSet;

use crate::catalog::Catalog;
use crate::config::{ClientTls, Config};
use crate::counter::Control;
use crate::net::tls;
use crate::session::connect::{ConnectSetup, PasswordKey, UpstreamTls, connect};
use crate::session::{Session, Shared};

/// How long sessions may take to finish their transactions after the signal to stop.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// How long to wait after an accept that failed for want of file descriptors or memory.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
