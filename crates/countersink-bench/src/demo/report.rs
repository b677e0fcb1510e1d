//! The report as text: on standard output, in 80 columns and on one screen.

use std::io;
use std::net::SocketAddr;

use countersink_terminal::chart::{self, Bar};
use countersink_terminal::{Paint, number};

use super::proof::Proof;
use super::rounds::Compared;
use super::rules::rules;
use super::sample::{HOT, INCREMENT, SCHEMA};
use super::upstream::Upstream;
use crate::clients::Measured;

/// Says what will be compared, before the load.
pub(super) fn heading(upstream: &Upstream, clients: u16) -> Vec<String> {
    let sync = match upstream.disk_sync {
        Some(time) => format!(" (a disk sync takes {} here)", number::time(time)),
        None => String::new(),
    };
    let mut lines = vec![
        Paint::Strong.on(&format!(
            "{clients} clients, one row: {} directly, and through Countersink",
            upstream.name()
        )),
        format!("  {}", Paint::Proxy.on(INCREMENT)),
        format!("  Answered when the commit is on disk{sync}."),
    ];
    if cfg!(debug_assertions) {
        let note = "  A debug build of the proxy: build it with --release for its real figures.";
        lines.push(Paint::Bad.on(note));
    }
    lines.push(String::new());
    lines
}

/// The charts.
pub(super) fn charts(compared: &Compared) -> Vec<String> {
    let (direct, proxy) = (&compared.direct, &compared.proxy);
    let rate = |measured: &Measured| {
        let rate = number::rate(measured.within, measured.elapsed);
        (measured.rate(), number::grouped(rate))
    };
    let latency = |measured: &Measured| {
        let p99 = measured.increments.within(0.99);
        (p99.as_secs_f64(), number::time(p99))
    };
    let mut lines = vec![Paint::Strong.on("Increments per second")];
    lines.extend(pair(rate(direct), rate(proxy)));
    lines.push(String::new());
    lines.push(Paint::Strong.on("Latency that 99 of 100 increments stay within"));
    lines.extend(pair(latency(direct), latency(proxy)));
    let again = direct.again() + proxy.again();
    if again > 0 {
        let again = number::grouped(again);
        lines.push(format!(
            "  {again} statements failed at first and were sent again"
        ));
    }
    lines.push(String::new());
    lines
}

fn pair(direct: (f64, String), proxy: (f64, String)) -> Vec<String> {
    let note = number::ratio(direct.0, proxy.0);
    chart::lines(&[
        Bar {
            label: "direct".to_owned(),
            value: direct.0,
            figure: direct.1,
            paint: Paint::Direct,
            note: String::new(),
        },
        Bar {
            label: "countersink".to_owned(),
            value: proxy.0,
            figure: proxy.1,
            paint: Paint::Proxy,
            note,
        },
    ])
}

/// The equation, and the rows that support it.
pub(super) fn proof(proof: &Proof) -> Vec<String> {
    let mut lines = proof.equation();
    lines.push(String::new());
    lines.extend(proof.tables.rows(HOT));
    lines
}

/// How to continue by hand.
pub(super) fn invitation(upstream: &Upstream, proxy: SocketAddr) -> io::Result<Vec<String>> {
    let program = upstream.client_program()?;
    let command = |address: SocketAddr| {
        let (host, port) = (address.ip(), address.port());
        format!("{program} -h {host} -P {port} -u root {SCHEMA}")
    };
    let mut lines = vec![
        String::new(),
        Paint::Strong.on("Running until Ctrl-C"),
        format!("  proxy   {}", command(proxy)),
        format!("  direct  {}", command(upstream.address())),
        String::new(),
        Paint::Strong.on("The rules of this proxy (rules.yaml)"),
    ];
    let rules = rules(&proxy.to_string(), upstream.address());
    lines.extend(rules.lines().map(|line| format!("  {line}")));
    Ok(lines)
}
