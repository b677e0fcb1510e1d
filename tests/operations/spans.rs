//! Spans of OpenTelemetry, as a collector gets them.

use std::collections::HashMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use countersink::driver::Driver;
use countersink::wire::response::ResponseKind;
use countersink::wire::{capability, command};
use countersink_sandbox::{Address, Flavour};
use http_body_util::{BodyExt, Empty};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::support;
use crate::support::binary::PATIENCE;
use crate::support::client::{connect, connect_as, create_schema, number, run};
use crate::support::http::WithHttp;
use crate::support::twin::twin;

const POSTS: &str = "CREATE TABLE posts (id INT PRIMARY KEY, views BIGINT NOT NULL, title TEXT); INSERT INTO posts (id, views) VALUES (1, 0)";

/// What a collector has been sent.
#[derive(Clone, Default)]
struct Collector {
    spans: Arc<Mutex<Vec<Span>>>,
    services: Arc<Mutex<Vec<String>>>,
}

impl Collector {
    /// Listens until the test ends.
    async fn listen(&self) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("its address");
        let collector = self.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let collector = collector.clone();
                let service = service_fn(move |request| collector.clone().take(request));
                let served = hyper::server::conn::http1::Builder::new();
                tokio::spawn(served.serve_connection(TokioIo::new(stream), service));
            }
        });
        address
    }

    async fn take(self, request: Request<Incoming>) -> Result<Response<Empty<Bytes>>, Infallible> {
        let mut response = Response::new(Empty::new());
        if request.uri().path() != "/v1/traces" {
            *response.status_mut() = StatusCode::NOT_FOUND;
            return Ok(response);
        }
        let body = request.into_body().collect().await.expect("a whole body");
        let sent = ExportTraceServiceRequest::decode(body.to_bytes()).expect("OTLP");
        for of_resource in sent.resource_spans {
            let attributes = of_resource.resource.unwrap_or_default().attributes;
            let name = attributes.iter().find(|one| one.key == "service.name");
            let name = name.and_then(|one| one.value.clone()?.value);
            if let Some(any_value::Value::StringValue(name)) = name {
                self.services.lock().expect("no panic").push(name);
            }
            let spans = of_resource
                .scope_spans
                .into_iter()
                .flat_map(|scope| scope.spans);
            self.spans.lock().expect("no panic").extend(spans);
        }
        Ok(response)
    }

    /// The spans, once there are so many statements among them.
    async fn statements(&self, count: usize) -> Vec<Span> {
        let until = Instant::now() + PATIENCE;
        loop {
            let spans = self.spans.lock().expect("no panic").clone();
            let found = spans.iter().filter(|span| is_remote(span)).count();
            if found >= count {
                assert_eq!(found, count, "each is exported once");
                return spans;
            }
            assert!(Instant::now() < until, "{found} of {count}");
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    }
}

/// Whether a span's parent is the application's.
fn is_remote(span: &Span) -> bool {
    const SERVER: i32 = 2;
    span.kind == SERVER
}

fn text(span: &Span, key: &str) -> Option<String> {
    let attribute = span.attributes.iter().find(|one| one.key == key)?;
    match attribute.value.clone()?.value? {
        any_value::Value::StringValue(text) => Some(text),
        any_value::Value::IntValue(number) => Some(number.to_string()),
        any_value::Value::DoubleValue(number) => Some(number.to_string()),
        _ => None,
    }
}

async fn start(schema: &str, collector: &Collector) -> WithHttp {
    let upstream = &twin(Flavour::MySql).proxied;
    create_schema(upstream, schema, POSTS).await;
    let endpoint = format!("http://{}", collector.listen().await);
    let rules = format!("counters:\n- {{table: {schema}.posts, columns: [views]}}\n");
    WithHttp::in_environment(
        upstream,
        &rules,
        &[("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint)],
    )
}

fn parent(trace: usize, span: usize) -> String {
    format!("00-{trace:032x}-{span:016x}-01")
}

#[test]
fn statements_that_wait_for_each_other_show_it() {
    const CLIENTS: usize = 12;
    const EACH: usize = 25;
    support::block_on(async {
        let schema = "cs_spans";
        let collector = Collector::default();
        let serving = start(schema, &collector).await;
        let mut clients = JoinSet::new();
        for client in 1..=CLIENTS {
            let address = serving.clients.clone();
            clients.spawn(increments(address, client, EACH));
        }
        clients.join_all().await;
        let spans = collector.statements(CLIENTS * EACH).await;
        let by_id: HashMap<_, _> = spans.iter().map(|span| (&span.span_id, span)).collect();
        assert_eq!(by_id.len(), spans.len(), "no two have the same number");
        let mut largest = 0;
        let mut linked = 0;
        let mut waited = 0;
        let (mut batches, mut servers) = (0, 0);
        for span in &spans {
            assert!(span.start_time_unix_nano <= span.end_time_unix_nano);
            if is_remote(span) {
                assert_eq!(
                    text(span, "countersink.reason").as_deref(),
                    Some("combined")
                );
                let trace = u128::from_be_bytes(span.trace_id[..].try_into().expect("16 bytes"));
                let parent =
                    u64::from_be_bytes(span.parent_span_id[..].try_into().expect("8 bytes"));
                assert_eq!(
                    trace / 1000,
                    u128::from(parent),
                    "each in its client's trace"
                );
                continue;
            }
            let above = by_id[&span.parent_span_id];
            assert_eq!(above.trace_id, span.trace_id);
            assert!(
                above.start_time_unix_nano <= span.start_time_unix_nano,
                "{span:?} in {above:?}"
            );
            assert!(
                span.end_time_unix_nano <= above.end_time_unix_nano,
                "{span:?} in {above:?}"
            );
            match (&span.name[..], &above.name[..]) {
                ("wait", "increment") => waited += 1,
                ("batch", "increment") => {
                    let size = text(span, "db.operation.batch.size").expect("its size");
                    let size: usize = size.parse().expect("a number");
                    assert!(span.links.len() < size.max(1), "{span:?}");
                    largest = largest.max(size);
                    batches += 1;
                    for link in &span.links {
                        let other = by_id[&link.span_id];
                        assert_ne!(other.trace_id, span.trace_id);
                        assert!(
                            matches!(&other.name[..], "increment" | "batch"),
                            "{other:?}"
                        );
                        linked += 1;
                    }
                }
                ("server", "batch") => servers += 1,
                other => panic!("{other:?}"),
            }
        }
        assert!(
            largest > 2 && linked > 0 && waited > 0,
            "{largest} {linked} {waited}"
        );
        assert_eq!(servers, batches, "each batch was at the server");
        assert_eq!(
            collector.services.lock().expect("no panic")[0],
            "countersink"
        );
        // What was exported is counted when the collector has answered.
        let ended = serving.binary.id();
        let metrics = serving.metrics();
        assert_eq!(
            metrics["countersink_untraced_statements_total"], 0.0,
            "{ended}"
        );
    });
}

async fn increments(address: Address, client: usize, each: usize) {
    let mut driver = connect(&address, Some("cs_spans")).await;
    for number in 0..each {
        let parent = parent(client * 1000 + number, client);
        run(
            &mut driver,
            &format!("UPDATE posts SET views = views + 1 WHERE id = 1 /*traceparent='{parent}'*/"),
        )
        .await;
    }
    driver.quit().await.expect("a goodbye");
}

#[test]
fn other_statements_and_query_attributes_are_traced() {
    support::block_on(async {
        let schema = "cs_spans_attributes";
        let collector = Collector::default();
        let serving = start(schema, &collector).await;
        let wanted = Driver::CAPABILITIES | capability::QUERY_ATTRIBUTES;
        let client = connect_as(&serving.clients, Some(schema), wanted).await;
        let mut client = client.expect("a session");
        // One statement without a trace, one of a trace that nobody records.
        run(&mut client, "SELECT 1").await;
        let unrecorded = parent(1, 1).replace("-01", "-00");
        run(
            &mut client,
            &format!("SELECT 1 /*traceparent='{unrecorded}'*/"),
        )
        .await;
        for (trace, statement) in [
            (1, "SELECT views FROM posts WHERE id = 1"),
            (2, "SELECT nothing FROM posts"),
            (3, "UPDATE posts SET views = 5 WHERE id = 1"),
        ] {
            client
                .send(&with_attribute(statement, &parent(trace, 7)))
                .await
                .expect("it is sent");
            client
                .packets(ResponseKind::Results)
                .await
                .expect("a response");
        }
        let spans = collector.statements(3).await;
        let seen = |trace: usize| {
            let id = (trace as u128).to_be_bytes();
            let mut found = spans
                .iter()
                .filter(|span| span.trace_id == id && is_remote(span));
            found.next().unwrap_or_else(|| panic!("{trace}: {spans:?}"))
        };
        assert_eq!(seen(1).name, "forward");
        assert_eq!(text(seen(1), "db.response.status_code"), None);
        let server: f64 = text(seen(1), "countersink.server_seconds")
            .expect("it has one")
            .parse()
            .expect("a number");
        assert!(server > 0.0);
        assert_eq!(
            text(seen(2), "db.response.status_code").as_deref(),
            Some("1054")
        );
        const ERROR: i32 = 2;
        assert_eq!(
            seen(2).status.as_ref().map(|status| status.code),
            Some(ERROR)
        );
        assert_eq!(seen(3).name, "forward");
        assert_eq!(
            text(seen(3), "countersink.reason").as_deref(),
            Some("batched")
        );
        assert_eq!(
            number(&mut client, "SELECT views FROM posts WHERE id = 1").await,
            5
        );
    });
}

/// A COM_QUERY with the attribute `traceparent`.
fn with_attribute(statement: &str, traceparent: &str) -> Vec<u8> {
    const VAR_STRING: u8 = 253;
    let mut payload = vec![command::QUERY, 1, 1, 0, 1, VAR_STRING, 0];
    for text in ["traceparent", traceparent] {
        payload.push(u8::try_from(text.len()).expect("it is short"));
        payload.extend_from_slice(text.as_bytes());
    }
    payload.extend_from_slice(statement.as_bytes());
    payload
}

#[test]
fn a_collector_that_is_away_costs_nothing_but_spans() {
    support::block_on(async {
        let schema = "cs_spans_away";
        let upstream = &twin(Flavour::MySql).proxied;
        create_schema(upstream, schema, POSTS).await;
        let rules = format!("counters:\n- {{table: {schema}.posts, columns: [views]}}\n");
        let nobody = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let endpoint = format!("http://{}", nobody.local_addr().expect("its address"));
        drop(nobody);
        let environment = [("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint[..])];
        let mut serving = WithHttp::in_environment(upstream, &rules, &environment);
        let mut client = connect(&serving.clients, Some(schema)).await;
        for number in 1..=20 {
            let parent = parent(number, number);
            run(
                &mut client,
                &format!(
                    "UPDATE posts SET views = views + 1 WHERE id = 1 /*traceparent='{parent}'*/"
                ),
            )
            .await;
        }
        assert_eq!(
            number(&mut client, "SELECT views FROM posts WHERE id = 1").await,
            20
        );
        let said = serving
            .binary
            .wait_for("spans cannot be exported, and are dropped");
        assert!(said.is_some());
    });
}
