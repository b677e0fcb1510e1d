//! `countersink advise` on recorded loads: it names what was planted, and nothing where nothing is hot.

mod advice;
mod faults;
mod grants;
mod load;
mod passing;

use countersink::config::Config;
use countersink_sandbox::{Address, Flavour};

use crate::support;
use crate::support::binary::{Binary, rules_file};
use crate::support::twin::alone;
use advice::{Advice, advise, advise_as};
use load::Load;

const SCHEMA: &str = "cs_advise";

/// What is said of a load while it is played at the server itself: for programs, and for people.
async fn of(load: &Load, server: &Address) -> (Advice, String) {
    load.make(server, SCHEMA).await;
    let playing = load.play(server, SCHEMA).await;
    let advice = advise(server).await;
    let text = advise_as(server, &server.user, &server.password, &["--for", "3s"]).await;
    playing.stop().await;
    assert_eq!(text.code, Some(0), "{text:?}");
    (advice, text.output)
}

/// What was planted comes first, and what cannot be helped is told apart.
fn assert_planted(advice: &Advice) {
    let hot = &advice.tables()[0];
    assert_eq!(hot["table"], format!("{SCHEMA}.posts"), "{advice}");
    assert_eq!(hot["rows"][0]["row"], "id = 42", "{advice}");
    assert_eq!(hot["verdict"], "advised", "{advice}");
    assert_eq!(
        hot["rule"]["columns"],
        serde_json::json!(["views"]),
        "{advice}"
    );
    assert_eq!(
        hot["rule"]["touch"],
        serde_json::json!(["updated_at"]),
        "{advice}"
    );
    let authors = advice.table(&format!("{SCHEMA}.authors"));
    let waiting = |table: &serde_json::Value| table["waiting"].as_f64().expect("a number");
    assert_eq!(authors["verdict"], "advised", "{advice}");
    assert!(waiting(hot) > waiting(authors), "{advice}");
    let place = |name: &str| advice.yaml().and_then(|yaml| yaml.find(name));
    assert!(
        place(".posts").is_some() && place(".posts") < place(".authors"),
        "{advice}"
    );
    assert!(hot["gain"]["high"].as_f64() > Some(1.0), "{advice}");
    for (table, why) in [
        ("settings", "plus a constant"),
        ("sequences", "LAST_INSERT_ID"),
    ] {
        let table = advice.table(&format!("{SCHEMA}.{table}"));
        assert_eq!(table["verdict"], "passed-over", "{advice}");
        let said = table["why"].as_str().expect("a reason");
        assert!(said.contains(why), "{said}");
    }
}

/// What is printed is a file that `check` has nothing against.
async fn assert_accepted(advice: &Advice) {
    let yaml = advice.yaml().expect("rules");
    let password = |_: &str| Some(String::new());
    let config =
        Config::from_str(yaml, &password).unwrap_or_else(|error| panic!("{error}: {yaml}"));
    assert_eq!(config.rules[0].table.to_string(), format!("{SCHEMA}.posts"));
    let (_folder, file) = rules_file(yaml);
    let arguments = ["check", "--json", "--rules", file.to_str().expect("UTF-8")];
    let environment = [("COUNTERSINK_PASSWORD", "")];
    let ended = Binary::start_with(&arguments, &environment).wait();
    assert!(
        [Some(0), Some(3)].contains(&ended.code),
        "{ended:?}\n{yaml}"
    );
}

#[test]
fn the_planted_row_comes_first_on_mysql() {
    support::block_on(async {
        let (server, _alone) = alone(Flavour::MySql).await;
        let (advice, text) = of(&load::mixed(), server).await;
        assert_planted(&advice);
        assert_in_words(&text);
        assert_eq!(advice.value["source"], "performance_schema");
        assert_accepted(&advice).await;
        let hot = &advice.tables()[0];
        assert!(
            hot["increments_per_second"].as_f64() > Some(0.0),
            "{advice}"
        );
        assert!(hot["reads_per_increment"].as_f64() > Some(0.0), "{advice}");
        assert!(hot["in_transaction"].as_f64() > Some(0.5), "{advice}");
    });
}

#[test]
fn the_planted_row_comes_first_on_mariadb() {
    support::block_on(async {
        let (server, _alone) = alone(Flavour::MariaDb).await;
        let (advice, text) = of(&load::mixed(), server).await;
        assert_planted(&advice);
        assert_in_words(&text);
        assert_eq!(advice.value["source"], "information_schema.INNODB_TRX");
        assert_accepted(&advice).await;
        let unseen = advice.value["unseen"].to_string();
        assert!(unseen.contains("performance_schema is off"), "{advice}");
    });
}

#[test]
fn nothing_is_advised_where_nothing_is_hot() {
    support::block_on(async {
        for flavour in Flavour::ALL {
            let (server, _alone) = alone(flavour).await;
            let (advice, text) = of(&load::cold(), server).await;
            assert_eq!(advice.yaml(), None, "{advice}");
            let mut tables = advice.tables().iter();
            assert!(
                tables.all(|table| table["verdict"] != "advised"),
                "{advice}"
            );
            assert!(text.contains("No rule is advised"), "{text}");
        }
    });
}

/// Transactions that read the counter which they have incremented gain nothing.
fn assert_of_no_use(advice: &Advice) {
    let tickets = &advice.tables()[0];
    assert_eq!(tickets["table"], format!("{SCHEMA}.tickets"), "{advice}");
    assert_eq!(tickets["rows"][0]["row"], "name = 'queue'", "{advice}");
    assert_eq!(tickets["verdict"], "passed-over", "{advice}");
    let why = tickets["why"].as_str().expect("a reason");
    assert!(why.contains("read the counter behind it"), "{advice}");
}

#[test]
fn a_counter_that_is_read_behind_its_increment_is_passed_over() {
    support::block_on(async {
        let (server, _alone) = alone(Flavour::MySql).await;
        let (advice, _) = of(&load::own(), server).await;
        assert_of_no_use(&advice);
    });
}

/// The report has the hot row before all others, and the rules.
fn assert_in_words(text: &str) {
    let place = |part: &str| {
        text.find(part)
            .unwrap_or_else(|| panic!("no {part} in\n{text}"))
    };
    let hot = place(&format!("{SCHEMA}.posts: "));
    assert!(hot < place(&format!("{SCHEMA}.settings: ")), "{text}");
    let row = place("id = 42: ");
    assert!(hot < row && row < place("\ncounters:\n"), "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
}
