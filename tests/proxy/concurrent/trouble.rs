//! What befalls sessions while they work: KILL, KILL QUERY, and rules that go out of force and come back.

use std::sync::Arc;
use std::time::Duration;

use countersink::config::Mode;
use countersink::driver::Reply;
use countersink::server::Rules;
use countersink_sandbox::Address;

use crate::concurrent::chance::Chance;
use crate::concurrent::stage::Shared;
use crate::support::client::connect;

/// How long the sessions are left alone at most.
const PAUSE: Duration = Duration::from_millis(20);

/// Kills sessions and statements, directly or through a proxy, until the round is over.
pub async fn kill(mut chance: Chance, address: Address, shared: Arc<Shared>) {
    /// ER_NO_SUCH_THREAD: it has gone by itself.
    const NO_SUCH_THREAD: u16 = 1094;
    let mut killer = connect(&address, None).await;
    while !shared.stops() {
        shared.wait_for_more(chance.below(8), PAUSE).await;
        let Some(id) = shared.one_of_them(&mut chance) else {
            continue;
        };
        let what = if chance.once_in(4) { "" } else { "QUERY " };
        match killer.query(&format!("KILL {what}{id}")).await {
            Ok(Reply::Err(error)) => assert_eq!(error.code, NO_SUCH_THREAD, "{error}"),
            Ok(_) => {}
            Err(error) => panic!("{error} in KILL"),
        }
    }
}

/// Takes a rule out of force and puts it back, until the round is over.
pub async fn switch(mut chance: Chance, rules: Rules, table: String, shared: Arc<Shared>) {
    while !shared.stops() {
        shared
            .wait_for_more(20 + chance.below(40), 10 * PAUSE)
            .await;
        let mode = *chance.pick(&[Mode::Off, Mode::Observe]);
        // While DDL has the table away, no rule fits it.
        rules.set_mode(&table, mode).await.ok();
        shared.wait_for_more(chance.below(40), 10 * PAUSE).await;
        rules.set_mode(&table, Mode::Enforce).await.ok();
    }
}
