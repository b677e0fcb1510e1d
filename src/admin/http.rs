//! The HTTP port: `/dashboard`, `/status.json`, `/traffic.json`, `/metrics`, `/healthz`, `/readyz`.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    ACCEPT, ALLOW, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, HeaderValue,
    LOCATION, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS,
};
use hyper::http::uri::Authority;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::sync::SetOnce;
use tokio::task::AbortHandle;

use super::port::Port;
use super::status::Status;
use super::{dashboard, exposition};
use crate::counter::control::Control;
use crate::counter::unpoisoned;
use crate::session::Shared;
use crate::traffic::Keys;

/// Maximum concurrent HTTP connections. A further one takes the place of the oldest: those that stay long are browsers
/// and scrapers, which connect again, or clients that do nothing, and neither may keep a probe waiting.
const MOST_CONNECTIONS: usize = 64;

/// How long a connection may last. A client that does not read its answer holds one until then.
const MOST_TIME: Duration = Duration::from_secs(60);

/// How long a client may take for the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// How long the upstream may take to show that it is there.
const READY_TIMEOUT: Duration = Duration::from_secs(2);

const PLAIN: &str = "text/plain; charset=utf-8";

const HELP: &str = "\
Countersink
  /dashboard    for people with a browser
  /status.json  what the dashboard shows
  /metrics      for Prometheus
  /healthz      200 while the process runs
  /readyz       200 while clients are served and the upstream lets them in
  /traffic.json  what passes, for `countersink advise --proxy`; the proxy looks for half a minute after each request
";

/// The response to a page of another site.
const FOREIGN: &str = "this port is for this machine: ask for it by its address, or as localhost\n";

/// What is shown.
#[derive(Debug)]
pub struct State {
    serving: SetOnce<Serving>,
    /// Why the proxy does not serve yet.
    waits_for: Mutex<String>,
    stopping: AtomicBool,
    started: Instant,
    /// The same by the clock, in seconds since 1970.
    started_at: f64,
    /// The request comes from this machine, because the port listens on a loopback address.
    is_local: AtomicBool,
    /// How keys of users' rows are shown to all others.
    hashed: Keys,
}

/// A proxy that serves.
#[derive(Debug)]
struct Serving {
    shared: Arc<Shared>,
    control: Control,
}

impl State {
    /// Of a proxy that does not serve yet.
    pub fn starting() -> Self {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            serving: SetOnce::new(),
            waits_for: Mutex::new("starting".to_owned()),
            stopping: AtomicBool::new(false),
            started: Instant::now(),
            started_at: since_1970.map_or(0.0, |since| since.as_secs_f64()),
            is_local: AtomicBool::new(false),
            hashed: Keys::hashed(),
        }
    }

    /// The proxy does not serve yet, because of this.
    pub fn waits_for(&self, why: &str) {
        why.clone_into(&mut unpoisoned(&self.waits_for));
    }

    /// The proxy serves from now on.
    pub fn serves(&self, shared: Arc<Shared>, control: Control) {
        let serving = Serving { shared, control };
        self.serving.set(serving).expect("it starts once");
    }

    /// The error is why it does not serve yet.
    fn serving(&self) -> Result<&Serving, String> {
        let serving = self.serving.get();
        serving.ok_or_else(|| format!("not serving yet: {}", unpoisoned(&self.waits_for)))
    }

    /// The proxy was told to stop, and is no longer ready for clients.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }
}

/// Serves requests on this port until it is dropped.
pub async fn serve(port: Port, state: Arc<State>) {
    let listener = match port.listener().await {
        Ok(listener) => listener,
        Err(error) => return tracing::warn!("{error}"),
    };
    if let Ok(address) = listener.local_addr() {
        let is_local = address.ip().is_loopback();
        state.is_local.store(is_local, Ordering::Relaxed);
        let state = Arc::clone(&state);
        tokio::spawn(async move {
            state.serving.wait().await;
            tracing::info!(
                "dashboard at http://{address}/dashboard, metrics at http://{address}/metrics"
            );
        });
    }
    let mut connections = VecDeque::new();
    loop {
        let Ok((stream, peer)) = listener.accept().await else {
            // Usually out of file descriptors.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let state = Arc::clone(&state);
        let connection = tokio::spawn(async move {
            let answer = |request| {
                let state = Arc::clone(&state);
                async move { Ok::<_, Infallible>(answer(&request, &state).await) }
            };
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_TIMEOUT)
                .serve_connection(TokioIo::new(stream), service_fn(answer));
            match tokio::time::timeout(MOST_TIME, connection).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::debug!(%peer, "http: {error}"),
                Err(_) => tracing::debug!(%peer, "http: closed after {MOST_TIME:?}"),
            }
        });
        make_room(&mut connections);
        connections.push_back(connection.abort_handle());
    }
}

/// Closes the oldest connection if there are as many as there may be.
fn make_room(connections: &mut VecDeque<AbortHandle>) {
    if connections.len() >= MOST_CONNECTIONS {
        connections.retain(|connection| !connection.is_finished());
    }
    if connections.len() >= MOST_CONNECTIONS
        && let Some(oldest) = connections.pop_front()
    {
        oldest.abort();
    }
}

async fn answer(request: &Request<Incoming>, state: &State) -> Response<Full<Bytes>> {
    if ![Method::GET, Method::HEAD].contains(request.method()) {
        let mut refused = plain(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD\n");
        let headers = refused.headers_mut();
        headers.insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return refused;
    }
    let is_local = state.is_local.load(Ordering::Relaxed);
    if is_local && !names_this_machine(request) {
        return plain(StatusCode::FORBIDDEN, FOREIGN);
    }
    let answered = match request.uri().path() {
        "/metrics" => state.serving().map(metrics),
        "/status.json" => state.serving().map(|serving| status(state, serving)),
        "/traffic.json" if is_of_another_site(request) => Ok(plain(StatusCode::FORBIDDEN, FOREIGN)),
        "/traffic.json" => state
            .serving()
            .map(|serving| traffic(state, serving, is_local)),
        "/healthz" => Ok(plain(StatusCode::OK, "ok\n")),
        "/readyz" => ready(state)
            .await
            .map(|()| plain(StatusCode::OK, "ready\n")),
        "/" => Ok(entrance(request)),
        path => Ok(match dashboard::asset(path) {
            Some(asset) => of_type(StatusCode::OK, asset.content_type, asset.text),
            None => plain(StatusCode::NOT_FOUND, HELP),
        }),
    };
    answered.unwrap_or_else(|why| plain(StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")))
}

/// Browsers get the page; other clients get the list of paths.
fn entrance(request: &Request<Incoming>) -> Response<Full<Bytes>> {
    let accepted = request.headers().get(ACCEPT);
    let is_browser = accepted
        .and_then(|accepted| accepted.to_str().ok())
        .is_some_and(|accepted| accepted.contains("text/html"));
    let mut response = match is_browser {
        true => plain(StatusCode::SEE_OTHER, ""),
        false => plain(StatusCode::OK, HELP),
    };
    let headers = response.headers_mut();
    headers.insert(VARY, HeaderValue::from_static("Accept"));
    if is_browser {
        headers.insert(LOCATION, HeaderValue::from_static(dashboard::PAGE));
    }
    response
}

fn status(state: &State, serving: &Serving) -> Response<Full<Bytes>> {
    let status = Status::now(
        &serving.shared,
        (state.started, state.started_at),
        state.is_stopping(),
    );
    match serde_json::to_string(&status) {
        Ok(text) => of_type(StatusCode::OK, "application/json", text),
        Err(error) => plain(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")),
    }
}

fn metrics(serving: &Serving) -> Response<Full<Bytes>> {
    match exposition::text(&serving.shared) {
        Ok(text) => of_type(StatusCode::OK, exposition::CONTENT_TYPE, text),
        Err(error) => plain(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")),
    }
}

/// What passes. Keys are users' data, and shown only to requests from this machine.
fn traffic(state: &State, serving: &Serving, is_local: bool) -> Response<Full<Bytes>> {
    let keys = match is_local {
        true => &Keys::Shown,
        false => &state.hashed,
    };
    let report = serving.shared.traffic.look(keys);
    let text = serde_json::to_string(&report).expect("plain data can be written");
    of_type(StatusCode::OK, "application/json", text)
}

/// Whether a request is for this machine by an address of its own, or without a name. A page of the web in a browser on
/// this machine can have its own name resolved to a loopback address, and read what is answered there.
fn names_this_machine(request: &Request<Incoming>) -> bool {
    let Some(host) = request.headers().get(HOST) else {
        return true;
    };
    let Ok(authority) = Authority::try_from(host.as_bytes()) else {
        return false;
    };
    let host = authority.host();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    let is_loopback = address.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback());
    is_loopback || host.eq_ignore_ascii_case("localhost")
}

/// Whether a browser asks for a page of another site, which cannot read the answer but has the proxy look at what
/// passes.
fn is_of_another_site(request: &Request<Incoming>) -> bool {
    let site = request.headers().get("sec-fetch-site");
    site.is_some_and(|site| site == "cross-site" || site == "same-site")
}

/// Why no client should be sent here, if there is a reason.
async fn ready(state: &State) -> Result<(), String> {
    if state.is_stopping() {
        return Err("stopping".to_owned());
    }
    let serving = state.serving()?;
    if serving.shared.sessions.is_paused() {
        return Err("paused".to_owned());
    }
    let look = serving.control.log_in_anew();
    match tokio::time::timeout(READY_TIMEOUT, look).await {
        Ok(looked) => looked.map_err(|error| error.to_string()),
        Err(_) => Err(format!("upstream: no answer within {READY_TIMEOUT:?}")),
    }
}

fn plain(status: StatusCode, text: impl Into<Bytes>) -> Response<Full<Bytes>> {
    of_type(status, PLAIN, text)
}

fn of_type(
    status: StatusCode,
    content_type: &'static str,
    text: impl Into<Bytes>,
) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(text.into()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    for (name, value) in [
        (CACHE_CONTROL, "no-store"),
        (CONTENT_SECURITY_POLICY, dashboard::CONTENT_SECURITY_POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (REFERRER_POLICY, "no-referrer"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
