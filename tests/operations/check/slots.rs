//! Slot tables that are not what is needed.

use countersink::check::Code;

use crate::check::found::{Found, run_all};
use crate::check::{POSTS, RULE};
use crate::support::{Sandbox, countersink, servers};

#[tokio::test]
async fn slot_tables_that_drifted() {
    for server in servers() {
        let sandbox = Sandbox::new(&server, POSTS).await;
        let rules = sandbox.rules(RULE);
        assert_eq!(countersink(&["provision"], &rules).0, 0);
        sandbox
            .run("ALTER TABLE ~.posts MODIFY id INT NOT NULL")
            .await;
        let outdated = Found::of(&rules);
        assert_eq!(outdated.codes(), ["slot-table-outdated"]);
        assert_eq!(outdated.exit, 0);
        sandbox
            .run("INSERT INTO ~.posts_slots (id, slot, views) VALUES (1, 0, 1)")
            .await;
        let drifted = Found::of(&rules);
        assert_eq!(
            drifted.codes(),
            ["slot-table-drift"],
            "`serve` refuses what would be lost"
        );
        assert_eq!(drifted.exit, 2);
        let (code, _, errors) = countersink(&["provision"], &rules);
        assert_eq!(code, 2);
        let reason = drifted.findings()[0]["reason"].as_str().expect("a text");
        assert!(errors.contains(reason), "{errors}");
        sandbox.run("UPDATE ~.posts_slots SET views = 0").await;
        assert_eq!(Found::of(&rules).codes(), ["slot-table-outdated"]);
        assert_eq!(countersink(&["provision"], &rules).0, 0);
        assert_eq!(Found::of(&rules).codes(), [""; 0]);
        sandbox
            .run("ALTER TABLE ~.posts MODIFY id BIGINT NOT NULL")
            .await;
        run_all(
            &sandbox,
            &Found::of(&rules).statements(Code::SlotTableOutdated),
        )
        .await;
        assert_eq!(Found::of(&rules).codes(), [""; 0]);
    }
}

#[tokio::test]
async fn slot_tables_in_a_schema_of_their_own() {
    for server in servers() {
        let sandbox = Sandbox::new(&server, POSTS).await;
        let rules = sandbox.rules(&format!("{RULE}\nslot_table: '~_slots.{{table}}'"));
        let missing = Found::of(&rules);
        assert_eq!(missing.codes(), ["no-slot-schema"]);
        assert_eq!(missing.exit, 2);
        assert_eq!(
            countersink(&["provision"], &rules).0,
            1,
            "`serve` fails of it"
        );
        run_all(&sandbox, &missing.statements(Code::NoSlotSchema)).await;
        let there = Found::of(&rules);
        sandbox.run("DROP DATABASE ~_slots").await;
        assert_eq!(there.codes(), ["slot-table-missing"]);
    }
}

#[tokio::test]
async fn slot_tables_that_lack_columns() {
    for server in servers() {
        let sandbox = Sandbox::new(&server, POSTS).await;
        assert_eq!(countersink(&["provision"], &sandbox.rules(RULE)).0, 0);
        let both = sandbox.rules("columns: [views, likes]");
        let lacks = Found::of(&both);
        assert_eq!(lacks.codes(), ["slot-table-lacks-columns"]);
        run_all(&sandbox, &lacks.statements(Code::SlotTableLacks)).await;
        assert_eq!(Found::of(&both).codes(), [""; 0]);
        sandbox
            .run("INSERT INTO ~.posts_slots (id, slot, likes) VALUES (1, 0, 5)")
            .await;
        let forgotten = Found::of(&sandbox.rules(RULE));
        assert_eq!(forgotten.codes(), ["forgotten-counter"]);
        assert_eq!(forgotten.exit, 2);
        sandbox.run("UPDATE ~.posts_slots SET likes = 0").await;
        assert_eq!(Found::of(&sandbox.rules(RULE)).codes(), [""; 0]);
    }
}

#[tokio::test]
async fn values_of_rules_that_are_off() {
    for server in servers() {
        let sandbox = Sandbox::new(&server, POSTS).await;
        assert_eq!(countersink(&["provision"], &sandbox.rules(RULE)).0, 0);
        sandbox
            .run("INSERT INTO ~.posts_slots (id, slot, views) VALUES (1, 0, 5)")
            .await;
        let without = Found::of(&sandbox.rules("columns: [views]\nslots: 0"));
        assert_eq!(without.codes(), ["unserved-values"]);
        assert_eq!(without.exit, 2);
        let off = Found::of(&sandbox.rules("columns: [views]\nmode: off"));
        assert_eq!(off.codes(), ["slots-to-empty"]);
        assert_eq!(off.exit, 0);
        let observed = Found::of(&sandbox.rules("columns: [views]\nmode: observe"));
        assert_eq!(observed.codes(), ["mode-observe", "slots-to-empty"]);
        assert_eq!(Found::of(&sandbox.rules(RULE)).codes(), [""; 0]);
        sandbox.run("UPDATE ~.posts_slots SET views = 0").await;
        let off = sandbox.rules("columns: [views]\nmode: off");
        assert_eq!(Found::of(&off).codes(), [""; 0]);
    }
}
