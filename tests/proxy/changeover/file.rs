//! The rules file changes: every kind of change to a rule, with a client that must not notice.

use std::path::Path;

use countersink_sandbox::Flavour;

use crate::changeover::stage::Stage;
use crate::support::binary::{Serving, rules_file};
use crate::support::block_on;
use crate::support::client::{connect, number, run};
use crate::support::proxy::rules_head;

#[test]
fn on_mysql() {
    block_on(changes(Flavour::MySql));
}

#[test]
fn on_mariadb() {
    block_on(changes(Flavour::MariaDb));
}

/// A rules file, and what the proxy says when it has come to be in force.
const CHANGES: &[(&str, &str)] = &[
    // More columns.
    (
        "columns: [views, likes], rollup: 1h, rest: never",
        ": in force",
    ),
    // What takes effect in place.
    (
        "columns: [likes, views], rollup: 20ms, slots: 8, rest: never",
        "read, and in force",
    ),
    // Fewer columns, and more slots; then none.
    (
        "columns: [likes], rollup: 1h, slots: 64, rest: never",
        ": in force",
    ),
    (
        "columns: [likes, views], slots: 0",
        "slots are empty and not used any more",
    ),
    ("columns: [views], rollup: 1h, rest: never", ": in force"),
    (
        "columns: [views], mode: off",
        "slots are empty and not used any more",
    ),
];

async fn changes(flavour: Flavour) {
    let mut stage = Stage::new(flavour, "cs_over_file").await;
    let head = rules_head(&stage.upstream);
    let (_folder, file) =
        rules_file(&(head.clone() + &stage.rule("columns: [views], rollup: 1h, rest: never")));
    let mut serving = Serving::start(&file).expect("it serves");
    let address = serving.in_front_of(&stage.upstream);
    let mut client = connect(&address, Some(stage.schema)).await;
    let both = "SELECT views + 1000 * likes FROM posts WHERE id = 1";
    let mut expected = 0;
    let add = "UPDATE posts SET views = views + 1, likes = likes + 1 WHERE id = 1";
    for (settings, said) in CHANGES {
        run(&mut client, add).await;
        expected += 1001;
        assert_eq!(
            number(&mut client, both).await,
            expected,
            "before {settings}"
        );
        reload(&mut serving, &file, &(head.clone() + &stage.rule(settings)));
        serving.binary.wait_for(said).expect("it goes on");
        run(&mut client, add).await;
        expected += 1001;
        assert_eq!(number(&mut client, both).await, expected, "{settings}");
        run(&mut client, "UPDATE posts SET views = 5 WHERE id = 2").await;
    }
    assert_eq!(number(&mut stage.direct, both).await, expected);

    // The rule goes, and another comes, for a table that is not there.
    let none = head.clone() + "counters: []\n";
    let wrong = head.clone() + &stage.rule("columns: [nothing]");
    for (text, said) in [
        (none, "the rules stay as they are"),
        (wrong, "has no column `nothing`"),
    ] {
        reload(&mut serving, &file, &text);
        serving.binary.wait_for(said).expect("it goes on");
    }
    run(&mut client, add).await;
    assert_eq!(number(&mut client, both).await, expected + 1001);
    assert_eq!(serving.stop().code, Some(0));
}

fn reload(serving: &mut Serving, file: &Path, rules: &str) {
    std::fs::write(file, rules).expect("written");
    serving.binary.signal("HUP");
}
