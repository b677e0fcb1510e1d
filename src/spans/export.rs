//! To the collector, by OTLP over HTTP.

use std::env;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use opentelemetry::trace::{Link, SpanKind, Status, TraceFlags, TraceState};
use opentelemetry::{InstrumentationScope, KeyValue, trace};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanExporter as _, SpanLinks};
use tokio::sync::{mpsc, oneshot};

use super::{SpanContext, Statement};
use crate::metrics::Metrics;

/// How many statements wait at most.
const MOST_WAITING: usize = 4096;

/// How many messages are taken at a time.
const MOST_AT_ONCE: usize = 512;

/// What is sent to the task that exports.
#[derive(Debug)]
enum Message {
    Statement(Box<Statement>),
    /// Says when everything before it has been exported.
    Flush(oneshot::Sender<()>),
}

/// Leads to the task that exports.
#[derive(Debug)]
pub(super) struct Exporter {
    messages: mpsc::Sender<Message>,
}

impl Exporter {
    /// Starts it, if the environment names a collector that can be spoken to.
    pub(super) fn start(metrics: &Arc<Metrics>) -> Option<Self> {
        let exporter = exporter()?;
        let (messages, receiver) = mpsc::channel(MOST_WAITING);
        tokio::spawn(keep(exporter, receiver, Arc::clone(metrics)));
        Some(Self { messages })
    }

    /// Takes a statement, unless too many wait.
    pub(super) fn takes(&self, statement: Statement) -> bool {
        let message = Message::Statement(Box::new(statement));
        self.messages.try_send(message).is_ok()
    }

    /// Waits until everything before it has been exported.
    pub(super) async fn flush(&self) {
        let (done, is_done) = oneshot::channel();
        self.messages.send(Message::Flush(done)).await.ok();
        is_done.await.ok();
    }
}

/// The way to the collector that the environment names.
fn exporter() -> Option<SpanExporter> {
    let named = |name: &str| {
        env::var(name)
            .ok()
            .filter(|value: &String| !value.is_empty())
    };
    let of_traces = |rest: &str| {
        named(&format!("OTEL_EXPORTER_OTLP_TRACES_{rest}"))
            .or_else(|| named(&format!("OTEL_EXPORTER_OTLP_{rest}")))
    };
    let endpoint = of_traces("ENDPOINT")?;
    let is_off =
        |name, word: &str| named(name).is_some_and(|value| value.eq_ignore_ascii_case(word));
    if is_off("OTEL_SDK_DISABLED", "true") || is_off("OTEL_TRACES_EXPORTER", "none") {
        return None;
    }
    let protocol = of_traces("PROTOCOL").filter(|protocol| protocol != "http/protobuf");
    let why = match (&protocol, endpoint.starts_with("https:")) {
        (Some(protocol), _) => Some(format!(
            "the protocol is {protocol}; set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf, and name the collector's port for that, which usually is 4318"
        )),
        (None, true) => Some(format!(
            "{endpoint} asks for TLS; name a collector near by, which speaks it to the outside, by http"
        )),
        (None, false) => None,
    };
    let built = match why {
        Some(why) => Err(why),
        None => {
            let builder = SpanExporter::builder().with_http();
            let builder = builder.with_protocol(Protocol::HttpBinary);
            builder.build().map_err(|error| error.to_string())
        }
    };
    let mut exporter = match built {
        Ok(exporter) => exporter,
        Err(why) => {
            tracing::warn!("no spans are exported: {why}");
            return None;
        }
    };
    let resource = Resource::builder();
    let resource = match named("OTEL_SERVICE_NAME") {
        Some(_) => resource,
        None => resource.with_service_name(env!("CARGO_PKG_NAME")),
    };
    exporter.set_resource(&resource.build());
    Some(exporter)
}

/// Exports what comes. Ends when nobody can send any more.
async fn keep(
    exporter: SpanExporter,
    mut messages: mpsc::Receiver<Message>,
    metrics: Arc<Metrics>,
) {
    let mut taken = Vec::new();
    let mut complaint = None;
    while messages.recv_many(&mut taken, MOST_AT_ONCE).await > 0 {
        let mut flushed = Vec::new();
        let mut spans = Vec::new();
        let mut statements = 0;
        for message in taken.drain(..) {
            match message {
                Message::Statement(statement) => {
                    statements += 1;
                    spans.extend(spans_of(&statement));
                }
                Message::Flush(done) => flushed.push(done),
            }
        }
        if !spans.is_empty() {
            match exporter.export(spans).await {
                Ok(()) => {
                    metrics.count_traced(statements);
                    if complaint.take().is_some() {
                        tracing::info!("spans are exported again");
                    }
                }
                Err(error) => {
                    metrics.count_untraced(statements);
                    let error = error.to_string();
                    if complaint.as_ref() != Some(&error) {
                        tracing::warn!("spans cannot be exported, and are dropped: {error}");
                        complaint = Some(error);
                    }
                }
            }
        }
        for done in flushed {
            done.send(()).ok();
        }
    }
}

/// A statement's spans.
fn spans_of(statement: &Statement) -> Vec<SpanData> {
    let clock = Clock::now();
    let own = statement.own;
    let mut attributes = vec![
        KeyValue::new("db.system.name", "mysql"),
        KeyValue::new(
            "countersink.server_seconds",
            statement.upstream.as_secs_f64(),
        ),
        KeyValue::new("countersink.added_seconds", statement.added.as_secs_f64()),
    ];
    attributes.extend(
        statement
            .reason
            .map(|reason| KeyValue::new("countersink.reason", reason)),
    );
    if let Some(error) = statement.error {
        let error = error.to_string();
        attributes.push(KeyValue::new("db.response.status_code", error.clone()));
        attributes.push(KeyValue::new("error.type", error));
    }
    let name = statement.plan.unwrap_or("command");
    let times = (statement.began, statement.ended);
    let mut whole = clock.span(name, own, statement.parent, times);
    whole.parent_span_is_remote = true;
    whole.span_kind = SpanKind::Server;
    whole.attributes = attributes;
    if statement.error.is_some() {
        whole.status = Status::error("");
    }
    let mut spans = vec![whole];
    let traced = statement.traced.as_deref();
    if let Some(since) = statement.waited_since {
        let until = traced.map_or(statement.ended, |traced| traced.began);
        spans.push(clock.span("wait", own.child(), own, (since, until.max(since))));
    }
    let Some(traced) = traced else {
        return spans;
    };
    let leads = traced
        .leader
        .filter(|leader| leader.trace_id == own.trace_id);
    let batch = leads.unwrap_or_else(|| own.child());
    let at_server = traced.at_server();
    let until = at_server.map_or(statement.ended, |(_, until)| until);
    let mut span = clock.span("batch", batch, own, (traced.began, until));
    let size = i64::try_from(traced.statements).unwrap_or(i64::MAX);
    span.attributes = vec![KeyValue::new("db.operation.batch.size", size)];
    // The leader's is linked with all statements in it, and each of the others' with the leader's.
    let linked = match leads {
        Some(_) => traced.others.clone(),
        None => traced.leader.into_iter().collect(),
    };
    let linked = linked
        .into_iter()
        .map(|other| Link::with_context(context(other, true)));
    span.links = links(linked.collect());
    spans.push(span);
    if let Some(times) = at_server {
        let mut span = clock.span("server", batch.child(), batch, times);
        span.span_kind = SpanKind::Client;
        spans.push(span);
    }
    spans
}

fn links(links: Vec<Link>) -> SpanLinks {
    let mut all = SpanLinks::default();
    all.links = links;
    all
}

fn context(context: SpanContext, is_remote: bool) -> trace::SpanContext {
    trace::SpanContext::new(
        trace::TraceId::from_bytes(context.trace_id),
        trace::SpanId::from_bytes(context.span_id),
        TraceFlags::SAMPLED,
        is_remote,
        TraceState::NONE,
    )
}

/// What the steady clock showed at a time of the other one.
struct Clock {
    steady: Instant,
    time: SystemTime,
}

impl Clock {
    fn now() -> Self {
        Self {
            steady: Instant::now(),
            time: SystemTime::now(),
        }
    }

    fn time(&self, at: Instant) -> SystemTime {
        self.time - self.steady.saturating_duration_since(at)
    }

    fn span(
        &self,
        name: &'static str,
        own: SpanContext,
        parent: SpanContext,
        (began, ended): (Instant, Instant),
    ) -> SpanData {
        SpanData {
            span_context: context(own, false),
            parent_span_id: trace::SpanId::from_bytes(parent.span_id),
            parent_span_is_remote: false,
            span_kind: SpanKind::Internal,
            name: name.into(),
            start_time: self.time(began),
            end_time: self.time(ended),
            attributes: Vec::new(),
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status: Status::Unset,
            instrumentation_scope: InstrumentationScope::builder(env!("CARGO_PKG_NAME"))
                .with_version(env!("CARGO_PKG_VERSION"))
                .build(),
        }
    }
}
