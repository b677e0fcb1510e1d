//! Rights that change while sessions are open. Each session may do what the server makes of it: at once where a session
//! of the proxy has changed them, within moments where somebody else has.

use countersink_sandbox::Flavour;

use crate::privileges::stage::{Pair, Stage};
use crate::support::on_both;

const VIEW: &str = "UPDATE posts SET views = views + 1 WHERE id = 1";
const LIKE: &str = "UPDATE posts SET likes = likes + 1 WHERE id = 1";

/// A stage with an account that has these rights on the hot table, and all on the slot table.
async fn stage(flavour: Flavour, schema: &'static str, grants: &str) -> Stage {
    let mut stage = Stage::new(flavour, schema).await;
    stage.make_account().await;
    stage.past(grants).await;
    stage
        .behind("GRANT SELECT, INSERT, UPDATE, DELETE ON ~.posts_slots TO @app")
        .await;
    stage
}

/// What is to come of a statement on both sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Both {
    Do,
    Refuse,
}

impl Stage {
    /// Runs texts on both sides, which do the same.
    async fn both(&mut self, both: Both, pair: &mut Pair, texts: &[&str]) {
        let outcome = self.run(pair, texts, false).await;
        if let Some(difference) = outcome.difference {
            panic!("{difference}");
        }
        assert_eq!(outcome.refused, both == Both::Refuse, "{texts:?}");
    }
}

async fn a_right_that_another_session_takes_is_gone_at_once(flavour: Flavour) {
    let grants = "GRANT SELECT, UPDATE ON ~.posts TO @app";
    let mut stage = stage(flavour, "cs_rights_taken", grants).await;
    let mut app = stage.login().await;
    stage.both(Both::Do, &mut app, &[VIEW, VIEW, LIKE]).await;
    stage.through("REVOKE UPDATE ON ~.posts FROM @app").await;
    stage.both(Both::Refuse, &mut app, &[VIEW]).await;
    stage.both(Both::Refuse, &mut app, &[LIKE]).await;
    let grant = "GRANT UPDATE (likes) ON ~.posts TO @app";
    stage.through(grant).await;
    stage.both(Both::Refuse, &mut app, &[VIEW]).await;
    stage.both(Both::Do, &mut app, &[LIKE, LIKE]).await;
    // What its words hide is a statement all the same.
    stage.through("SET @sql = 'REVOKE UPDATE (likes) ON ~.posts FROM @app'; PREPARE s FROM @sql; EXECUTE s").await;
    stage.both(Both::Refuse, &mut app, &[LIKE]).await;
    stage.through(grant).await;
    stage.both(Both::Do, &mut app, &["BEGIN", LIKE, LIKE]).await;
    stage
        .through("REVOKE UPDATE (likes) ON ~.posts FROM @app")
        .await;
    stage
        .both(Both::Refuse, &mut app, &[LIKE, "ROLLBACK"])
        .await;
    stage.through(grant).await;
    stage.through("DROP USER @app").await;
    stage.both(Both::Refuse, &mut app, &[LIKE]).await;
    stage.remove_account().await;
}

async fn a_right_that_is_taken_past_the_proxy_is_gone_within_moments(flavour: Flavour) {
    let grants = "GRANT SELECT, UPDATE ON ~.posts TO @app; GRANT @role TO @app";
    let mut stage = stage(flavour, "cs_rights_past", grants).await;
    let mut app = stage.login().await;
    for (change, undo) in [
        (
            "REVOKE UPDATE ON ~.posts FROM @app",
            "GRANT UPDATE ON ~.posts TO @app",
        ),
        (
            "REVOKE SELECT ON ~.posts FROM @app",
            "GRANT SELECT ON ~.posts TO @app",
        ),
        (
            "DROP PROCEDURE IF EXISTS ~.revoke_it; \
             CREATE PROCEDURE ~.revoke_it() REVOKE UPDATE ON ~.posts FROM @app; CALL ~.revoke_it()",
            "GRANT UPDATE ON ~.posts TO @app",
        ),
        (
            "REVOKE ALL PRIVILEGES, GRANT OPTION FROM @app",
            "GRANT SELECT, UPDATE ON ~.posts TO @app",
        ),
    ] {
        stage.both(Both::Do, &mut app, &[VIEW, VIEW]).await;
        stage.past(change).await;
        stage.run_until_same(&mut app, VIEW).await;
        stage.both(Both::Refuse, &mut app, &[VIEW]).await;
        stage.past(undo).await;
        stage.run_until_same(&mut app, VIEW).await;
    }
    stage.past("DROP USER @app").await;
    stage.run_until_same(&mut app, VIEW).await;
    stage.both(Both::Refuse, &mut app, &[VIEW]).await;
    stage.remove_account().await;
}

async fn rights_are_those_of_the_roles_in_force(flavour: Flavour) {
    let grants =
        "GRANT SELECT ON ~.posts TO @app; GRANT UPDATE ON ~.posts TO @role; GRANT @role TO @app";
    let mut stage = stage(flavour, "cs_rights_roles", grants).await;
    let mut app = stage.login().await;
    stage.both(Both::Refuse, &mut app, &[VIEW]).await;
    stage
        .both(Both::Do, &mut app, &["SET ROLE @role", VIEW, VIEW])
        .await;
    stage
        .both(Both::Refuse, &mut app, &["SET ROLE NONE", VIEW])
        .await;
    stage
        .both(Both::Do, &mut app, &["SET ROLE @role", VIEW])
        .await;
    stage.through("REVOKE UPDATE ON ~.posts FROM @role").await;
    stage.both(Both::Refuse, &mut app, &[VIEW]).await;
    stage.through("GRANT UPDATE ON ~.posts TO @role").await;
    stage.both(Both::Do, &mut app, &[VIEW]).await;
    stage.through("DROP ROLE @role").await;
    stage.both(Both::Refuse, &mut app, &[VIEW]).await;
    stage.remove_account().await;
}

async fn global_and_schema_rights_are_those_of_the_login_and_of_use(flavour: Flavour) {
    let grants = "GRANT SELECT, UPDATE ON *.* TO @app";
    let mut stage = stage(flavour, "cs_rights_global", grants).await;
    let mut old = stage.login().await;
    stage.both(Both::Do, &mut old, &[VIEW, VIEW]).await;
    stage.through("REVOKE UPDATE ON *.* FROM @app").await;
    let mut new = stage.login().await;
    stage.both(Both::Do, &mut old, &[VIEW, VIEW]).await;
    stage.both(Both::Refuse, &mut new, &[VIEW]).await;
    stage.both(Both::Do, &mut old, &[VIEW, VIEW]).await;
    stage.both(Both::Refuse, &mut new, &[VIEW]).await;
    stage.through("GRANT UPDATE ON ~.* TO @app").await;
    stage.both(Both::Do, &mut new, &["USE ~", VIEW]).await;
    stage.through("REVOKE UPDATE ON ~.* FROM @app").await;
    // The schema is its current one still.
    let before = stage.run(&mut new, &[VIEW], false).await;
    assert_eq!(before.difference, None);
    stage.both(Both::Refuse, &mut new, &["USE ~", VIEW]).await;
    stage.both(Both::Do, &mut old, &[VIEW]).await;
    stage.remove_account().await;
}

async fn no_session_rides_on_the_rights_of_another(flavour: Flavour) {
    let grants = "GRANT SELECT, UPDATE ON *.* TO @app";
    let mut stage = stage(flavour, "cs_rights_ride", grants).await;
    let mut old = stage.login().await;
    stage.both(Both::Do, &mut old, &[VIEW, VIEW]).await;
    stage.past("REVOKE UPDATE ON *.* FROM @app").await;
    let mut new = stage.login().await;
    let (done, refused) = stage.race(&mut old, &mut new, VIEW).await;
    assert_eq!(refused, done, "each of the new session's is refused");
    stage.remove_account().await;
}

async fn grants_on_columns_suffice_for_slots_and_widen_nothing(flavour: Flavour) {
    let grants = "GRANT SELECT (id, views), UPDATE (views) ON ~.posts TO @app";
    let mut stage = Stage::new(flavour, "cs_rights_columns").await;
    stage.make_account().await;
    stage.past(grants).await;
    // As `check` has them.
    stage
        .behind(
            "GRANT SELECT (id, slot, views), INSERT (id, slot, views), UPDATE (open, views) \
             ON ~.posts_slots TO @app",
        )
        .await;
    let mut app = stage.login().await;
    // A row without slots, so that its slot row is made.
    let third = VIEW.replace("id = 1", "id = 3");
    let before = stage.in_slots().await;
    stage
        .increment_behind(&mut app, &[VIEW, VIEW, &third, &third])
        .await;
    let in_slots = match flavour {
        Flavour::MySql => 4,
        // Its upserts need rights on all columns, so all go to the row.
        Flavour::MariaDb => 0,
    };
    assert_eq!(stage.in_slots().await, before + in_slots);
    stage.fill().await;
    stage.both(Both::Refuse, &mut app, &[LIKE]).await;
    stage.both(Both::Do, &mut app, &[VIEW]).await;
    stage.remove_account().await;
}

on_both![
    grants_on_columns_suffice_for_slots_and_widen_nothing,
    a_right_that_another_session_takes_is_gone_at_once,
    a_right_that_is_taken_past_the_proxy_is_gone_within_moments,
    rights_are_those_of_the_roles_in_force,
    global_and_schema_rights_are_those_of_the_login_and_of_use,
    no_session_rides_on_the_rights_of_another,
];
