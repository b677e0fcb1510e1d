//! What the proxy's own work on one statement costs, without network and server: `cargo bench --bench micro`.
//!
//! | what | must | aim |
//! |---|---|---|
//! | prefilter miss on 200 bytes | 100 ns | 40 ns |
//! | plan found by its shape | 1 µs | 400 ns |
//! | plan made | 25 µs | 10 µs |

use std::sync::Arc;

use countersink::catalog::{Bounds, Catalog, Changers, Column, Counter, Domain, HotTable};
use countersink::net::PacketStream;
use countersink::session::{Hot, Known};
use countersink::sql::plan::SessionVariables;
use countersink::sql::{Prefilter, Shape};
use countersink::wire::response::{Next, ResponseKind, ResponseTracker};
use countersink::wire::result_set::TextResult;
use countersink::wire::status;
use divan::{Bencher, black_box};
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio::runtime::Builder;

/// As in the binary.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What is planned.
#[derive(Clone, Copy, Debug)]
enum Statement {
    /// The one of the aims.
    Increment,
    PointRead,
    /// As object-relational mappers write it.
    MappedRead,
}

const STATEMENTS: [Statement; 3] = [
    Statement::Increment,
    Statement::PointRead,
    Statement::MappedRead,
];

impl Statement {
    fn text(self) -> &'static [u8] {
        match self {
            Self::Increment => b"UPDATE posts SET views = views + 1 WHERE id = 42",
            Self::PointRead => b"SELECT id, title, views FROM posts WHERE id = 42",
            Self::MappedRead => {
                b"SELECT `posts`.`id`, `posts`.`title`, `posts`.`views` FROM `posts` INNER JOIN `authors` \
                ON `authors`.`id` = `posts`.`author_id` WHERE `posts`.`author_id` = 7 AND `posts`.`id` IN (1, 2, 3) \
                ORDER BY `posts`.`views` DESC LIMIT 10"
            }
        }
    }
}

/// 200 bytes without a hot table's name.
const COLD: &str = "SELECT o.id, o.placed_at, o.total, c.name, c.email FROM orders o INNER JOIN customers c ON c.id = \
    o.customer_id WHERE o.status = 'open' AND o.placed_at > '2026-01-01' ORDER BY o.placed_at DESC LIMIT 5";

fn main() {
    assert_eq!(COLD.len(), 200);
    divan::main();
}

/// posts(id, author_id, title, views), of which views are counted.
fn catalog() -> Catalog {
    let columns = [
        ("id", "int"),
        ("author_id", "int"),
        ("title", "varchar(100)"),
        ("views", "int"),
    ];
    let columns = columns.map(|(name, definition)| Column {
        name: name.to_owned(),
        definition: definition.to_owned(),
        ..Column::default()
    });
    let posts = HotTable {
        schema: "shop".to_owned(),
        name: "posts".to_owned(),
        slot_schema: "shop".to_owned(),
        slot_name: "posts_slots".to_owned(),
        columns: columns.to_vec(),
        primary_key: vec![0],
        counters: vec![Counter {
            column: 3,
            domain: Domain::Integer {
                bytes: 4,
                unsigned: false,
            },
            bounds: Some(Bounds {
                base_low: "-1000000000".to_owned(),
                base_high: "1000000000".to_owned(),
                slot: "4194303".to_owned(),
            }),
        }],
        touches: Vec::new(),
        unique_keys: Some(Vec::new()),
        changed_by: Changers::default(),
        cascades: Vec::new(),
        has_triggers: false,
        slots: 32,
        rollup: std::time::Duration::from_secs(1),
        may_rest: false,
        is_gated: false,
        adopted: None,
    };
    Catalog {
        tables: vec![Arc::new(posts)],
        ..Catalog::default()
    }
}

fn variables() -> SessionVariables {
    SessionVariables {
        schema: Some("shop".to_owned()),
        ..SessionVariables::default()
    }
}

/// An answer of 100 rows, as it comes from the server.
fn answer() -> Vec<u8> {
    let numbers: Vec<String> = (0..100).map(|number| number.to_string()).collect();
    let rows = numbers
        .iter()
        .map(|number| vec![number.as_str(), "a title of some length"]);
    let result = TextResult {
        columns: &["id", "title"],
        rows: rows.collect(),
    };
    let mut out = Vec::new();
    result.encode(&mut out, 1, status::AUTOCOMMIT, 0);
    out
}

fn walk(answer: &[u8]) -> usize {
    let mut tracker = ResponseTracker::new(ResponseKind::Results, 0);
    let mut at = 0;
    while !tracker.is_done() {
        match tracker.next(&answer[at..]) {
            Next::Packet { length, .. } => at += length,
            Next::Need(length) => panic!("{length} bytes are missing"),
        }
    }
    at
}

#[divan::bench]
fn prefilter_miss(bencher: Bencher<'_, '_>) {
    let prefilter = Prefilter::new(&catalog());
    assert!(!prefilter.may_concern(COLD.as_bytes()));
    bencher.bench(|| prefilter.may_concern(black_box(COLD.as_bytes())));
}

#[divan::bench(args = STATEMENTS)]
fn lift(bencher: Bencher<'_, '_>, statement: Statement) {
    let text = statement.text();
    let variables = variables();
    let mut shape = Shape::default();
    bencher.bench_local(|| shape.lift(black_box(text), &variables));
}

#[divan::bench(args = STATEMENTS)]
fn plan_by_shape(bencher: Bencher<'_, '_>, statement: Statement) {
    let text = statement.text();
    let (hot, variables) = (Hot::new(catalog()), variables());
    let mut shape = Shape::default();
    hot.known_or_planned(text, &variables, &mut shape);
    assert!(matches!(
        hot.known(text, &variables, &mut shape),
        Some(Known::Shape(_))
    ));
    bencher.bench_local(|| hot.known(black_box(text), &variables, &mut shape));
}

#[divan::bench(args = STATEMENTS)]
fn plan_made(bencher: Bencher<'_, '_>, statement: Statement) {
    let text = statement.text();
    let (catalog, variables) = (catalog(), variables());
    bencher.bench(|| countersink::sql::plan(black_box(text), &variables, &catalog));
}

#[divan::bench]
fn answer_walked(bencher: Bencher<'_, '_>) {
    let answer = answer();
    assert_eq!(walk(&answer), answer.len());
    bencher.bench(|| walk(black_box(&answer)));
}

/// The answer through a packet stream, from one end of a pipe in memory to that of another.
#[divan::bench]
fn answer_relayed(bencher: Bencher<'_, '_>) {
    const PIPE: usize = 64 * 1024;
    let runtime = Builder::new_current_thread()
        .build()
        .expect("a runtime of one thread");
    let answer = answer();
    let (mut server, upstream) = duplex(PIPE);
    let (client, mut application) = duplex(PIPE);
    let mut upstream = PacketStream::new(Box::new(upstream));
    let mut client = PacketStream::new(Box::new(client));
    let mut received = vec![0; answer.len()];
    bencher.bench_local(|| {
        runtime.block_on(async {
            server.write_all(&answer).await.expect("it fits the pipe");
            upstream.fill_to(answer.len()).await.expect("it is there");
            let length = walk(upstream.buffered());
            let passed = upstream.forward(length, &mut client).await;
            passed.expect("it fits the pipe");
            let read = application.read_exact(&mut received).await;
            read.expect("it is there")
        })
    });
}
