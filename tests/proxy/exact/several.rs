//! Several proxies before one server: each has a number, and the range of slots that goes with it.

use std::time::{Duration, Instant};

use countersink::counter::agreement::Own;
use countersink::counter::control::Control;
use countersink::counter::node::Node;
use countersink_sandbox::Flavour;

use super::stage::{Stage, increment};
use crate::support::client::{connect, number, rows, run};
use crate::support::on_both;
use crate::support::proxy::{Proxy, config_of, rules_head};
use crate::support::twin::alone;

on_both![
    several_proxies,
    a_number_that_was_lost_is_anothers,
    who_comes_cannot_hear_who_has_lost_its_number,
    more_proxies_than_ranges_of_64_slots,
];

/// Each proxy has slots of its own, by a lock on the server. While one has lost that lock to another, unknowing, both
/// write to the same slots, and nothing is lost.
async fn several_proxies(flavour: Flavour) {
    /// So few that each of the proxies of all tests at this time has a range.
    const SLOTS: u16 = 8;
    let stage = Stage::with_slots(flavour, "cs_exact_proxies", SLOTS).await;
    stage.show_that_transactions_only_increment().await;
    let other = Proxy::start(&stage.twin.proxied, &stage.rules);
    stage.show_to(&other).await;
    assert_ne!(first_slot(&stage.proxy), first_slot(&other));
    let mut expected = stage.work_through(&[&stage.proxy, &other]).await;
    let mut direct = connect(&stage.twin.proxied, Some(&stage.schema)).await;
    let used = rows(
        &mut direct,
        "SELECT DISTINCT slot DIV 8 * 8 FROM posts_slots WHERE id = 1 ORDER BY 1",
    )
    .await;
    let mut ranges =
        [first_slot(&stage.proxy), first_slot(&other)].map(|slot| vec![slot.to_string()]);
    ranges.sort_by_key(|range| range[0].parse::<u16>().unwrap());
    assert_eq!(used, ranges);

    let range = first_slot(&stage.proxy);
    let holder = format!("SELECT IS_USED_LOCK('countersink.node.{}')", range / SLOTS);
    let killed = number(&mut direct, &holder).await;
    run(&mut direct, &format!("KILL {killed}")).await;
    // Proxies of other tests may be faster.
    let third = Proxy::start(&stage.twin.proxied, &stage.rules);
    stage.show_to(&third).await;
    eprintln!(
        "{flavour}: range {range} was lost, and went to {}",
        match first_slot(&third) == range {
            true => "the third proxy",
            false => "another",
        }
    );
    expected += stage.work_through(&[&stage.proxy, &other, &third]).await;
    stage.expect_value(1, expected).await;

    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let ours = first_slot(&stage.proxy);
        if ours != range && ours != first_slot(&third) {
            break;
        }
        // NULL: nobody has claimed it yet.
        let holder = rows(&mut direct, &holder).await[0][0].parse::<i64>();
        let is_again = ours == range && holder.is_ok_and(|holder| holder != killed);
        if is_again && first_slot(&third) != range {
            break;
        }
        assert!(Instant::now() < deadline, "it claims another number");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    expected += stage.work_through(&[&stage.proxy, &other, &third]).await;
    stage.expect_value(1, expected).await;
}

/// A proxy whose number has gone to another, and which has not noticed, hears what that one says.
async fn a_number_that_was_lost_is_anothers(flavour: Flavour) {
    let (server, _turn) = alone(flavour).await;
    let config = config_of(
        &(rules_head(server) + "counters:\n- {table: cs_exact.none, columns: [views]}\n"),
    );
    let control = Control::open(&config).await.expect("a control account");
    let agreement = control.agreement();
    let own = Node::claim(&control).await.expect("a number").own();
    // The first has ended with its connection.
    let mut direct = connect(server, None).await;
    let say = |claim: &str| format!("DO GET_LOCK('countersink.{claim}.{}', 60)", own.number);
    for claim in ["node", "here", "slots.some"] {
        run(&mut direct, &say(claim)).await;
    }
    let number = usize::from(own.number);
    let said = "countersink.slots.some";
    let others = agreement.others(&control, said, Some(own)).await;
    assert_eq!(others.expect("an answer"), [number]);
    let here = agreement.here(&control, Some(own)).await;
    assert!(here.expect("an answer").contains_key(&number));
    assert!(!agreement.is_heard(&control, own).await.expect("an answer"));

    // What it says itself it does not hear, and knows to be heard.
    let own = Own {
        connection: Some(direct.thread_id().into()),
        ..own
    };
    let others = agreement.others(&control, said, Some(own)).await;
    assert_eq!(others.expect("an answer"), [] as [usize; 0]);
    assert!(agreement.is_heard(&control, own).await.expect("an answer"));
    control.close().await;
}

/// One that comes finds nobody, and could take base alone for the value, while another goes on in slots until it
/// notices that its locks are gone.
async fn who_comes_cannot_hear_who_has_lost_its_number(flavour: Flavour) {
    const SLOTS: u16 = 8;
    let stage = Stage::with_slots(flavour, "cs_exact_comes", SLOTS).await;
    stage.show_that_transactions_only_increment().await;
    let resting = stage.rules.replace("rollup:", "rest: auto, rollup:");
    let mut writer = connect(&stage.proxy.address, Some(&stage.schema)).await;
    let value = "SELECT views FROM posts WHERE id = 1";
    let mut expected = number(&mut writer, value).await;
    let mut direct = connect(&stage.twin.proxied, None).await;
    let node = first_slot(&stage.proxy) / SLOTS;
    let holder = format!("SELECT IS_USED_LOCK('countersink.node.{node}')");
    let holder = number(&mut direct, &holder).await;
    run(&mut direct, &format!("KILL {holder}")).await;
    let other = Proxy::start(&stage.twin.proxied, &resting);
    let mut reader = connect(&other.address, Some(&stage.schema)).await;
    let until = Instant::now() + Duration::from_secs(3);
    while Instant::now() < until {
        run(&mut writer, "BEGIN").await;
        increment(&mut writer, 1, 1).await.expect("an increment");
        run(&mut writer, "COMMIT").await;
        expected += 1;
        assert_eq!(number(&mut reader, value).await, expected);
    }
}

/// Of 256 slots, four proxies can have 64 each. For more of them, ranges are halved.
async fn more_proxies_than_ranges_of_64_slots(flavour: Flavour) {
    let stage = Stage::new(flavour, "cs_exact_many_proxies").await;
    let start = |_| Proxy::start(&stage.twin.proxied, &stage.rules);
    let others: Vec<_> = (0..5).map(start).collect();
    let all: Vec<_> = others.iter().chain([&stage.proxy]).collect();
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let mut slots: Vec<_> = all.iter().flat_map(|proxy| slots_of(proxy)).collect();
        let count = slots.len();
        slots.sort_unstable();
        slots.dedup();
        if slots.len() == count {
            break;
        }
        assert!(Instant::now() < deadline, "their ranges overlap");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    for proxy in &all {
        stage.show_to(proxy).await;
    }
    let expected = stage.work_through(&all).await;
    stage.expect_value(1, expected).await;
}

/// Those of its range.
fn slots_of(proxy: &Proxy) -> Vec<u16> {
    let hot = proxy.shared.hot();
    let used = proxy.shared.slots.in_use(&hot.catalog.tables[0]);
    used.into_iter().map(|used| used.slot).collect()
}

/// The first slot of its range.
fn first_slot(proxy: &Proxy) -> u16 {
    let hot = proxy.shared.hot();
    proxy.shared.slots.first(&hot.catalog.tables[0])
}
