//! Rules against real servers: what `countersink provision` and `serve` refuse, make and leave alone.

mod support;

use support::{Sandbox, countersink, servers};

const POSTS: &str = "CREATE TABLE @.posts (id BIGINT UNSIGNED PRIMARY KEY AUTO_INCREMENT, title VARCHAR(40), \
                     views INT UNSIGNED NOT NULL DEFAULT 0, likes BIGINT DEFAULT 0, \
                     updated_at TIMESTAMP NULL ON UPDATE CURRENT_TIMESTAMP)";

/// On each server, the rule `rule` for the tables made by `tables` must be refused with exit code 2 and with
/// `expected` behind the file's name.
async fn refused(tables: &str, rule: &str, expected: &str) {
    for server in servers() {
        let sandbox = Sandbox::new(&server, tables).await;
        refused_in(&sandbox, rule, expected).await;
    }
}

async fn refused_in(sandbox: &Sandbox, rule: &str, expected: &str) {
    let rules = sandbox.rules(rule);
    let (code, output, errors) = countersink(&["provision"], &rules);
    let expected = format!(
        "countersink: {}: counters[0] ({}.posts): {}",
        rules.display(),
        sandbox.schema,
        expected.replace('@', &sandbox.schema)
    );
    assert!(errors.contains(&expected), "expected {expected}\n got {errors}{output}");
    assert_eq!(code, 2, "{errors}");
    assert_eq!(output, "");
}

/// Names of the tables in the schema that begin with `posts_`.
async fn slot_tables(sandbox: &Sandbox) -> Vec<String> {
    sandbox
        .ask("SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = '@' AND TABLE_NAME LIKE 'posts\\_%'")
        .await
}

#[tokio::test]
async fn a_table_that_is_not_there() {
    let tables = POSTS.replace("posts", "post");
    refused(
        &tables,
        "columns: [views]",
        "table: no table @.posts can be seen; did you mean `post`? If it exists, let the control account see it: GRANT SELECT, UPDATE, TRIGGER ON `@`.`posts` TO 'root'@'..' (line 4)",
    )
    .await;
}

#[tokio::test]
async fn a_table_that_differs_in_letter_case() {
    let tables = POSTS.replace("posts", "Posts");
    for server in servers() {
        let sandbox = Sandbox::new(&server, &tables).await;
        if sandbox.ask("SELECT @@lower_case_table_names".replace("@@", "@@").as_str()).await != ["0"] {
            continue;
        }
        refused_in(&sandbox, "columns: [views]", "table: no table @.posts can be seen; did you mean `Posts`?").await;
    }
}
