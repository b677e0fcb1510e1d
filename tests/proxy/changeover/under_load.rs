//! In and out while clients work: by mode, by the rules file, by `countersink drain`, on one proxy and on two.

use countersink::config::Mode;
use countersink_sandbox::Flavour;

use crate::changeover::load::Load;
use crate::changeover::stage::{Stage, arrives, switch};
use crate::support::binary::{Serving, countersink, rules_file};
use crate::support::block_on;
use crate::support::client::number;
use crate::support::proxy::rules_head;
use crate::support::thorough::of_all;

const READ: &str = "SELECT views FROM posts WHERE id = 1";

#[test]
fn modes_on_mysql() {
    block_on(modes(Flavour::MySql));
}

#[test]
fn modes_on_mariadb() {
    block_on(modes(Flavour::MariaDb));
}

#[test]
fn drained_on_mysql() {
    block_on(drained(Flavour::MySql));
}

#[test]
fn drained_on_mariadb() {
    block_on(drained(Flavour::MariaDb));
}

/// Two proxies change their modes, one after the other, again and again.
async fn modes(flavour: Flavour) {
    let mut stage = Stage::new(flavour, "cs_over_modes").await;
    let table = stage.table();
    let proxies = [(); 2].map(|()| stage.proxy("columns: [views], rollup: 20ms, mode: observe"));
    let mut load = Load::start(
        &proxies.each_ref().map(|proxy| proxy.address.clone()),
        stage.schema,
        2,
    );
    let rounds = of_all(&format!("changeover on {flavour}, rounds of modes"), 1, 3);
    for _ in 0..rounds {
        for (mode, name) in [
            (Mode::Enforce, "enforced"),
            (Mode::Off, "off"),
            (Mode::Observe, "observed"),
        ] {
            load.goes_on(50, &mut stage.direct).await;
            for proxy in &proxies {
                proxy
                    .rules
                    .set_mode(&table, mode)
                    .await
                    .expect("there is such a rule");
                load.goes_on(50, &mut stage.direct).await;
            }
            for proxy in &proxies {
                arrives(proxy, name).await;
            }
        }
    }
    let expected = load.end().await;
    assert_eq!(number(&mut stage.direct, READ).await, expected);
    switch(&proxies[0], &table, Mode::Off, "off").await;
    assert_eq!(
        number(
            &mut stage.direct,
            "SELECT COALESCE(SUM(views), 0) FROM posts_slots"
        )
        .await,
        0
    );
}

/// Observed, in force by the rules file, drained by the command, and plain: two processes.
async fn drained(flavour: Flavour) {
    let mut stage = Stage::new(flavour, "cs_over_drained").await;
    let head = rules_head(&stage.upstream);
    let observe = head.clone() + &stage.rule("columns: [views], rollup: 20ms, mode: observe");
    let enforce = head.clone() + &stage.rule("columns: [views], rollup: 20ms");
    let (_folder, file) = rules_file(&observe);
    let mut servings = [(); 2].map(|()| Serving::start(&file).expect("it serves"));
    let addresses = servings
        .each_ref()
        .map(|serving| serving.in_front_of(&stage.upstream));
    let mut load = Load::start(&addresses, stage.schema, 2);
    load.goes_on(100, &mut stage.direct).await;
    assert!(!stage.has_slot_table().await);

    std::fs::write(&file, "counters: [{table: nonsense}]").expect("written");
    for serving in &mut servings {
        serving.binary.signal("HUP");
        serving
            .binary
            .wait_for("the rules stay as they are")
            .expect("it goes on");
    }
    load.goes_on(100, &mut stage.direct).await;
    std::fs::write(&file, &enforce).expect("written");
    // The second one finds it by itself.
    servings[0].binary.signal("HUP");
    for serving in &mut servings {
        serving.binary.wait_for(": in force").expect("it goes on");
    }
    load.goes_on(300, &mut stage.direct).await;
    assert!(stage.slot_rows().await > 0);

    let (code, output, errors) = countersink(&["drain"], &file);
    assert_eq!(code, 0, "{output}{errors}");
    assert!(output.contains("drained; "), "{output}");
    assert!(!stage.has_slot_table().await);
    load.goes_on(100, &mut stage.direct).await;
    let expected = load.end().await;
    assert_eq!(number(&mut stage.direct, READ).await, expected);
    let (code, output, errors) = countersink(&["drain"], &file);
    assert_eq!(code, 0, "{output}{errors}");
    assert!(output.contains("there was no "), "{output}");
    for serving in servings {
        let ended = serving.stop();
        assert_eq!(ended.code, Some(0), "{}", ended.errors);
        assert!(!ended.errors.contains("session lost"), "{}", ended.errors);
    }
}
