//! The dashboard in a headless Chromium, in front of a proxy under load.
//!
//! `cargo test --test operations dashboard -- --ignored` takes the pictures of it anew that are in docs/images.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use countersink::driver::Driver;
use serde_json::Value;
use tokio::task::JoinHandle;

use crate::support;
use crate::support::browser::{Browser, Page};
use crate::support::client::{connect, number, run};
use crate::support::http::WithHttp;

const TABLES: &str =
    "CREATE TABLE posts (id INT PRIMARY KEY, title VARCHAR(40) NOT NULL DEFAULT '', views BIGINT NOT NULL DEFAULT 0);
    CREATE TABLE tallies (id INT PRIMARY KEY, hits BIGINT NOT NULL DEFAULT 0);
    CREATE TABLE stocks (id INT PRIMARY KEY, sold INT NOT NULL DEFAULT 0, amount INT UNSIGNED NOT NULL DEFAULT 1000000);
    CREATE TABLE likes (id INT PRIMARY KEY, given BIGINT NOT NULL DEFAULT 0);
    CREATE TABLE users (id INT PRIMARY KEY, name VARCHAR(40) NOT NULL DEFAULT '');
    INSERT INTO posts (id) VALUES (1), (2), (3); INSERT INTO tallies (id) VALUES (1);
    INSERT INTO stocks (id) VALUES (1), (2), (3), (4); INSERT INTO likes (id) VALUES (1);
    INSERT INTO users (id) VALUES (1)";

async fn start(schema: &str) -> WithHttp {
    let rules = format!(
        "counters:
- {{table: {schema}.posts, columns: [views], slots: 8, rest: never}}
- {{table: {schema}.stocks, columns: [sold, amount], slots: 16, rest: never}}
- {{table: {schema}.tallies, columns: [hits], slots: 0}}
- {{table: {schema}.likes, columns: [given], mode: observe}}
"
    );
    WithHttp::start(schema, TABLES, &rules).await
}

#[test]
fn it_shows_what_was_acknowledged() {
    const SCHEMA: &str = "cs_dashboard";
    support::block_on(async {
        let serving = start(SCHEMA).await;
        let mut page = open(&serving);
        let load = Load::start(&serving, SCHEMA, 12).await;
        let total = cell(SCHEMA, "posts", "Increments");
        page.wait_for(&format!("Number({total}) > 0"));
        // The numbers move while nobody touches the page.
        let first = page.text(&total);
        page.wait_for(&format!("{total} !== '{first}'"));
        page.wait_for(&format!(
            "Number({}) > 0",
            cell(SCHEMA, "posts", "Per second")
        ));
        page.wait_for("document.querySelectorAll('.spark .line[d^=M]').length === 3");
        let sessions = glance("Sessions");
        page.wait_for(&format!("{sessions} === '12'"));
        let done = load.stop().await;

        for (table, increments) in [
            ("posts", done.posts),
            ("tallies", done.tallies),
            ("stocks", done.sold),
        ] {
            let shown = cell(SCHEMA, table, "Increments");
            page.wait_for(&format!("Number({shown}) === {increments}"));
        }
        for (list, reason, count) in [
            ("reasons", "slotted", done.posts + done.sold),
            ("reasons", "combined", done.tallies),
            ("reasons", "summed", done.read),
            ("reasons", "folded:unsigned-decrement", done.taken),
            ("reasons", "forwarded:no-counter", done.titled),
            ("reasons", "forwarded:observed", done.given),
            ("would", "combined", done.given),
        ] {
            let row = format!(
                "[...document.querySelectorAll('#{list} li')].find(row => row.dataset.name === '{reason}')?.querySelector('.rate').title"
            );
            page.wait_for(&format!(
                "{row}?.replaceAll(',', '') === '{count} since the start'"
            ));
        }
        page.wait_for(&format!("{sessions} === '0'"));
        page.evaluate("document.querySelector('input[value=start]').click()");
        let told = serving.metrics();
        let of_posts =
            |name: &str| told[&format!("countersink_{name}_total{{table=\"{SCHEMA}.posts\"}}")];
        let batch = of_posts("combined_increments") / of_posts("batches");
        let shown = cell(SCHEMA, "posts", "Batch");
        page.wait_for(&format!("Math.abs(Number({shown}) - {batch}) < 0.051"));
        let cells = page.evaluate("document.querySelectorAll('#tables .heat g').length");
        // So few that each of the proxies of all tests at this time has a range of them.
        assert_eq!(cells, 8 + 16);
        page.wait_for(
            "Number(document.querySelector('#tables .glow').getAttribute('opacity')) > 0",
        );
        // And the page is no liar, for the tables say the same.
        let mut client = connect(&serving.clients, Some(SCHEMA)).await;
        let views = number(&mut client, "SELECT SUM(views) FROM posts").await;
        assert_eq!(u64::try_from(views), Ok(done.posts));
        assert_eq!(page.complaints(), [""; 0]);
    });
}

#[test]
fn rates_and_times_are_those_of_the_chosen_window() {
    const SCHEMA: &str = "cs_dashboard_rates";
    support::block_on(async {
        let serving = start(SCHEMA).await;
        let mut page = open(&serving);
        let mut client = connect(&serving.clients, Some(SCHEMA)).await;
        for _ in 0..40 {
            run(
                &mut client,
                "UPDATE posts SET views = views + 1 WHERE id = 1",
            )
            .await;
        }
        run(&mut client, "DO SLEEP(0.3)").await;
        page.evaluate("document.querySelector('input[value=start]').click()");
        let total = cell(SCHEMA, "posts", "Increments");
        page.wait_for(&format!("{total} === '40'"));
        let slept = latency("forward", "Server p99");
        page.wait_for(&format!("{slept} !== '–'"));
        page.evaluate("document.querySelector('#pause').click()");
        // What it has just read is a little younger than what it shows, and no second.
        let seconds = seconds(&page.text("document.querySelector('#uptime').textContent"));
        let shown: f64 = page
            .text(&cell(SCHEMA, "posts", "Per second"))
            .parse()
            .expect("a rate");
        let (least, most) = (40.0 / (seconds + 1.0), 40.0 / seconds.max(0.1));
        assert!(
            (least - 0.1..=most + 0.1).contains(&shown),
            "{shown} is not between {least} and {most}"
        );
        // What the server sleeps is the server's.
        let slept = page.text(&slept);
        assert!(
            slept.ends_with(" ms") && number_in(&slept) >= 200.0,
            "{slept}"
        );
        let added = page.text(&latency("forward", "Proxy p99"));
        assert!(!added.ends_with(" s") && added != "–", "{added}");
    });
}

#[test]
fn quantiles_are_found_in_the_buckets() {
    support::block_on(async {
        let serving = start("cs_dashboard_quantiles").await;
        let mut page = open(&serving);
        let mut quantile = |counts: &str, part: f64| {
            let bounds = "[0.001, 0.01, 0.1]";
            let asked = format!(
                "import('/dashboard/figures.js').then(figures => String(figures.quantile({{bounds: {bounds}, counts: {counts}, sum: 0}}, {part})))"
            );
            page.text(&asked)
        };
        assert_eq!(quantile("[0, 0, 0, 0]", 0.5), "null");
        assert_eq!(quantile("[0, 0, 0, 3]", 0.5), "Infinity");
        let middle: f64 = quantile("[0, 10, 0, 0]", 0.5).parse().expect("a number");
        assert!((0.003..0.0033).contains(&middle), "{middle}");
        let high: f64 = quantile("[0, 90, 10, 0]", 0.95).parse().expect("a number");
        assert!((0.03..0.033).contains(&high), "{high}");
        let end: f64 = quantile("[50, 50, 0, 0]", 0.5).parse().expect("a number");
        assert!((end - 0.001).abs() < 1e-9, "{end}");
    });
}

#[test]
fn it_can_be_read_at_any_width_in_light_and_dark_and_used_by_keys() {
    const SCHEMA: &str = "cs_dashboard_page";
    support::block_on(async {
        let serving = start(SCHEMA).await;
        let mut client = connect(&serving.clients, Some(SCHEMA)).await;
        run(
            &mut client,
            "UPDATE posts SET views = views + 1 WHERE id = 1",
        )
        .await;
        let mut page = open(&serving);
        for width in [1280, 900, 400] {
            page.resize(width, 900);
            page.wait_for("document.querySelector('#reasons li') !== null");
            let wide = page.evaluate("document.documentElement.scrollWidth");
            assert!(
                wide.as_u64() <= Some(u64::from(width)),
                "{wide} of {width} pixels"
            );
        }
        page.resize(1280, 900);
        let ground = "getComputedStyle(document.body).backgroundColor";
        page.prefer("light");
        let light = page.text(ground);
        page.prefer("dark");
        let dark = page.text(ground);
        assert_ne!(light, dark);
        // By keys: the window, the pause, the theme, each with the outline that tells where one is.
        let focus = "document.activeElement.id || document.activeElement.value";
        page.press("Tab");
        assert_eq!(page.text(focus), "10");
        page.press("ArrowRight");
        let chosen = "document.querySelector('input[name=over]:checked').value";
        assert_eq!(page.text(chosen), "60");
        page.press("Tab");
        assert_eq!(page.text(focus), "pause");
        assert_ne!(
            page.text("getComputedStyle(document.activeElement).outlineStyle"),
            "none"
        );
        page.press("Tab");
        page.press("Enter");
        assert_eq!(page.text("document.documentElement.dataset.theme"), "light");
        assert_eq!(page.text(ground), light);
        page.press("Enter");
        page.prefer("light");
        assert_eq!(page.text(ground), dark);
        assert_eq!(page.complaints(), [""; 0]);
    });
}

#[test]
fn a_proxy_that_is_gone_is_told_of() {
    support::block_on(async {
        let serving = start("cs_dashboard_gone").await;
        let mut page = open(&serving);
        page.wait_for("document.body.dataset.state === 'serving'");
        let address = serving.http;
        drop(serving);
        page.wait_for("document.body.dataset.state === 'lost'");
        let told = page.text("document.querySelector('[role=alert]:not([hidden])').textContent");
        assert!(
            told.contains("has not answered since") && told.contains(&address.to_string()),
            "{told}"
        );
        // The figures stay, to be read.
        assert_eq!(
            page.text(&cell("cs_dashboard_gone", "posts", "Increments")),
            "0"
        );
    });
}

#[test]
fn browsers_are_led_there_and_it_may_load_nothing_from_elsewhere() {
    support::block_on(async {
        let serving = start("cs_dashboard_http").await;
        let html = "Accept: text/html,application/xhtml+xml;q=0.9\r\n";
        let led = serving.ask_with("GET / HTTP/1.1", html);
        assert_eq!(
            (led.status, led.header("Location")),
            (303, Some("/dashboard"))
        );
        let told = serving.ask_with("GET / HTTP/1.1", "Accept: */*\r\n");
        assert!(
            told.status == 200 && told.body.contains("/dashboard"),
            "{told:?}"
        );
        let page = serving.ask("GET /dashboard HTTP/1.1");
        let policy = page.header("Content-Security-Policy").expect("a policy");
        assert!(policy.starts_with("default-src 'none'; ") && !policy.contains("unsafe"));
        assert!(!page.body.contains("http://") && !page.body.contains("https://"));
        let status: Value =
            serde_json::from_str(&serving.get("/status.json").1).expect("it is JSON");
        assert_eq!(status["state"], "serving");
        assert_eq!(
            status["tables"][0]["slots_busy_seconds"]
                .as_array()
                .map(Vec::len),
            Some(8)
        );
    });
}

/// The pictures in docs/images.
#[test]
#[ignore = "writes to docs/images"]
fn pictures_for_the_docs() {
    const SCHEMA: &str = "shop";
    const SECONDS: u64 = 125;
    support::block_on(async {
        let serving = start(SCHEMA).await;
        let mut page = open(&serving);
        let load = Load::start(&serving, SCHEMA, 24).await;
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/images");
        fs::create_dir_all(&folder).expect("a folder");
        // A sparkline needs its time.
        tokio::time::sleep(std::time::Duration::from_secs(SECONDS)).await;
        for (name, scheme, width) in [
            ("dashboard.png", "light", 1280),
            ("dashboard-dark.png", "dark", 1280),
            ("dashboard-narrow.png", "light", 400),
        ] {
            page.prefer(scheme);
            page.resize(width, 700);
            let tall = page.evaluate("document.documentElement.scrollHeight");
            let tall = u32::try_from(tall.as_u64().expect("a height")).expect("small");
            // As much as a telephone shows, of the narrow one.
            page.resize(width, if width < 1000 { 1000 } else { tall });
            let moved = page.text(&cell(SCHEMA, "posts", "Increments"));
            let total = cell(SCHEMA, "posts", "Increments");
            page.wait_for(&format!("{total} !== '{moved}'"));
            page.capture(&folder.join(name));
        }
        load.stop().await;
    });
}

/// The dashboard in a browser of its own.
fn open(serving: &WithHttp) -> Page {
    let mut page = Browser::start().page();
    page.resize(1280, 900);
    page.open(&format!("http://{}/", serving.http));
    assert!(page.text("location.pathname").ends_with("/dashboard"));
    page
}

/// What stands in a column of a hot table's row, without the marks between thousands; an expression.
fn cell(schema: &str, table: &str, column: &str) -> String {
    in_row("#tables", &format!("{schema}.{table}"), column)
}

fn latency(plan: &str, column: &str) -> String {
    in_row("#latency", plan, column)
}

fn in_row(table: &str, name: &str, column: &str) -> String {
    format!(
        "([...document.querySelectorAll('{table} tbody tr')].find(row => row.dataset.name === '{name}')\
         ?.querySelector('td[data-column=\"{column}\"]').textContent ?? '').replaceAll(',', '')"
    )
}

/// What stands below a term at the page's top.
fn glance(term: &str) -> String {
    format!(
        "[...document.querySelectorAll('#glance div')].find(pair => pair.children[0].textContent === '{term}')?.children[1].textContent"
    )
}

/// The number that a text begins with.
fn number_in(text: &str) -> f64 {
    let number = text.split(' ').next().expect("a word");
    number
        .parse()
        .unwrap_or_else(|_| panic!("no number: {text}"))
}

/// `0.1.0 on .., up 3 s`
fn seconds(uptime: &str) -> f64 {
    let (_, up) = uptime.split_once("up ").expect("an age");
    assert!(up.ends_with(" s") && !up.contains("min"), "{up}");
    number_in(up)
}

/// Clients that do this and that until told to stop.
struct Load {
    stop: Arc<AtomicBool>,
    done: Arc<Acknowledged>,
    clients: Vec<JoinHandle<()>>,
}

/// What they have an OK for.
#[derive(Debug, Default)]
struct Acknowledged {
    posts: AtomicU64,
    tallies: AtomicU64,
    sold: AtomicU64,
    read: AtomicU64,
    taken: AtomicU64,
    titled: AtomicU64,
    given: AtomicU64,
}

#[derive(Debug)]
struct Done {
    posts: u64,
    tallies: u64,
    sold: u64,
    read: u64,
    taken: u64,
    titled: u64,
    given: u64,
}

impl Load {
    async fn start(serving: &WithHttp, schema: &str, clients: usize) -> Self {
        let (stop, done) = (Arc::<AtomicBool>::default(), Arc::<Acknowledged>::default());
        let mut running = Vec::new();
        for client in 0..clients {
            let driver = connect(&serving.clients, Some(schema)).await;
            running.push(tokio::spawn(work(
                driver,
                client,
                Arc::clone(&stop),
                Arc::clone(&done),
            )));
        }
        Self {
            stop,
            done,
            clients: running,
        }
    }

    async fn stop(self) -> Done {
        self.stop.store(true, Ordering::Relaxed);
        for client in self.clients {
            client.await.expect("it does its work");
        }
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Done {
            posts: read(&self.done.posts),
            tallies: read(&self.done.tallies),
            sold: read(&self.done.sold),
            read: read(&self.done.read),
            taken: read(&self.done.taken),
            titled: read(&self.done.titled),
            given: read(&self.done.given),
        }
    }
}

/// What one client does: most of it increments of one post, and of each other kind a little.
async fn work(mut driver: Driver, client: usize, stop: Arc<AtomicBool>, done: Arc<Acknowledged>) {
    let mut turn = client;
    while !stop.load(Ordering::Relaxed) {
        turn += 1;
        let (text, count) = match turn % 16 {
            0 => (
                "SELECT views FROM posts WHERE id = 1".to_owned(),
                Some(&done.read),
            ),
            1 => (
                "UPDATE tallies SET hits = hits + 1 WHERE id = 1".to_owned(),
                Some(&done.tallies),
            ),
            2 | 3 => (
                format!(
                    "UPDATE stocks SET sold = sold + 1 WHERE id = {}",
                    1 + client % 4
                ),
                Some(&done.sold),
            ),
            4 => (
                format!(
                    "UPDATE posts SET title = 't{turn}' WHERE id = {}",
                    2 + client % 2
                ),
                Some(&done.titled),
            ),
            5 if turn % 64 == 5 => (
                format!(
                    "UPDATE stocks SET amount = amount - 1 WHERE id = {}",
                    1 + client % 4
                ),
                Some(&done.taken),
            ),
            6 => (
                "UPDATE likes SET given = given + 1 WHERE id = 1".to_owned(),
                Some(&done.given),
            ),
            5..=8 => ("SELECT name FROM users WHERE id = 1".to_owned(), None),
            _ => (
                format!(
                    "UPDATE posts SET views = views + 1 WHERE id = {}",
                    1 + turn / 16 % 3
                ),
                Some(&done.posts),
            ),
        };
        run(&mut driver, &text).await;
        if let Some(count) = count {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }
}
