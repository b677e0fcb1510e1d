//! `countersink rollup`.

use std::fs::File;
use std::process::Command;

use countersink_sandbox::Flavour;

use crate::rollup::stage::{POSTS, Stage};
use crate::support::binary::rules_file;
use crate::support::client::{number, rows, run};
use crate::support::{block_on, countersink};

#[test]
fn says_what_slots_hold_and_moves_it_when_told_to() {
    block_on(async {
        let stage = Stage::new(Flavour::MySql, "cs_rollup_command", POSTS, "1h").await;
        let (_folder, file) = rules_file(&stage.rules);
        let table = "cs_rollup_command.posts";
        let run_with = |arguments: &[&str]| countersink(arguments, &file);
        let told = run_with(&["rollup"]);
        assert_eq!(
            (told.0, told.1),
            (0, format!("{table}: all slots are empty\n"))
        );

        let mut client = stage.client().await;
        for id in [1, 2] {
            run(
                &mut client,
                &format!("UPDATE posts SET views = views + {id} WHERE id = {id}"),
            )
            .await;
        }
        let told = run_with(&["rollup"]);
        assert_eq!(
            (told.0, told.1),
            (0, format!("{table}: 2 slot rows hold something\n"))
        );

        // A slot row that somebody has locked, and one whose base row is gone.
        let mut holder = stage.direct().await;
        run(&mut holder, "BEGIN").await;
        run(
            &mut holder,
            "SELECT views FROM posts_slots WHERE id = 1 FOR UPDATE",
        )
        .await;
        let mut direct = stage.direct().await;
        run(
            &mut direct,
            "INSERT INTO posts_slots (id, slot, views) VALUES (77, 0, 9)",
        )
        .await;
        let (code, output, errors) = run_with(&["rollup", "--now"]);
        let expected = format!(
            "{table}: 1 slot row rolled up, 1 slot row of rows that are no more deleted, 1 slot row left (locked by open \
             transactions, incremented meanwhile, or so near a limit of the type that the row has no room)\n"
        );
        assert_eq!((code, output, errors), (0, expected, String::new()));
        assert_eq!(
            number(&mut direct, "SELECT views FROM posts WHERE id = 2").await,
            2
        );
        run(&mut holder, "ROLLBACK").await;

        let told = run_with(&["rollup", "--now"]);
        assert_eq!(
            (told.0, told.1),
            (0, format!("{table}: 1 slot row rolled up\n"))
        );
        let base = rows(
            &mut direct,
            "SELECT views FROM posts WHERE id < 3 ORDER BY id",
        )
        .await;
        assert_eq!(base, [["1"], ["2"]]);

        run(&mut direct, "DROP TABLE posts_slots").await;
        for arguments in [&["rollup"][..], &["rollup", "--now"]] {
            let told = run_with(arguments);
            let expected = (0, format!("{table}: there is no slot table\n"));
            assert_eq!((told.0, told.1), expected, "{}", told.2);
        }
    });
}

#[test]
fn what_is_done_is_told_though_the_next_table_fails() {
    block_on(async {
        let stage = Stage::new(Flavour::MySql, "cs_rollup_next", POSTS, "1h").await;
        let mut direct = stage.direct().await;
        run(&mut direct, "CREATE TABLE bare LIKE posts").await;
        run(&mut direct, "CREATE TABLE bare_slots (id INT PRIMARY KEY)").await;
        let bare = "- {table: cs_rollup_next.bare, columns: [views]}\n";
        let (_folder, file) = rules_file(&(stage.rules.clone() + bare));
        for arguments in [&["rollup"][..], &["rollup", "--now"]] {
            let (code, output, errors) = countersink(arguments, &file);
            assert_eq!(code, 1, "{output}");
            assert!(output.starts_with("cs_rollup_next.posts: "), "{output}");
            assert!(
                errors.contains("roll-up of cs_rollup_next.bare"),
                "{errors}"
            );
        }
        // Nobody reads what it prints.
        let full = File::options().write(true).open("/dev/full");
        let ended = Command::new(env!("CARGO_BIN_EXE_countersink"))
            .args(["rollup", "--rules"])
            .arg(&file)
            .stdout(full.expect("Linux has it"))
            .output()
            .expect("it runs");
        let errors = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(1), "{errors}");
        assert!(
            errors.contains("cannot write to standard output"),
            "{errors}"
        );
    });
}
