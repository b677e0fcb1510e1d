//! Columns that are counted in, and those that are refused.

use super::stage::{POSTS, refused, refused_in};
use crate::support::{Sandbox, servers};

/// `definitions` of columns beside `id`; the rule names `c`.
async fn refused_column(definitions: &str, expected: &str) {
    let table = format!("CREATE TABLE ~.posts (id INT PRIMARY KEY, {definitions})");
    refused(&table, "columns: [c]", expected).await;
}

#[tokio::test]
async fn that_are_not_there() {
    let expected = "columns: ~.posts has no column `veiws`; did you mean `views`? (line 4)";
    refused(POSTS, "columns: [veiws]", expected).await;
    let expected =
        "columns: ~.posts has no column `xyz`; it has id, title, views, likes, updated_at (line 4)";
    refused(POSTS, "columns: [xyz]", expected).await;
    let expected = "touch: ~.posts has no column `update_at`; did you mean `updated_at`? (line 4)";
    refused(POSTS, "columns: [views]\ntouch: [update_at]", expected).await;
}

#[tokio::test]
async fn that_are_not_exact_numbers() {
    refused_column(
        "c VARCHAR(9)",
        "columns: `c` is VARCHAR(9), which cannot be counted in",
    )
    .await;
    refused_column(
        "c BIT(8)",
        "columns: `c` is BIT(8), which cannot be counted in",
    )
    .await;
    refused_column("c YEAR", "columns: `c` is YEAR").await;
    let rounded =
        "whose sums depend on the order in which they are rounded; make it DECIMAL or BIGINT";
    refused_column("c FLOAT", &format!("columns: `c` is FLOAT, {rounded}")).await;
    refused_column("c DOUBLE", &format!("columns: `c` is DOUBLE, {rounded}")).await;
    refused_column("c INT(5) ZEROFILL", "columns: `c` is ZEROFILL").await;
}

#[tokio::test]
async fn that_something_depends_on() {
    refused_column(
        "n INT, c INT AS (n + 1) STORED",
        "columns: `c` is a generated column",
    )
    .await;
    refused_column(
        "c INT, twice INT AS (c * 2)",
        "columns: the generated column `twice` is computed from `c`",
    )
    .await;
    refused_column(
        "c INT, UNIQUE once (c)",
        "columns: `c` is in the unique index `once`",
    )
    .await;
    refused_column(
        "c INT AUTO_INCREMENT, KEY (c)",
        "columns: `c` is AUTO_INCREMENT",
    )
    .await;
    refused(
        "CREATE TABLE ~.posts (id INT PRIMARY KEY)",
        "columns: [ID]",
        "columns: `id` is part of the primary key",
    )
    .await;
    let child = "CREATE TABLE ~.parents (id INT PRIMARY KEY); \
                 CREATE TABLE ~.posts (id INT PRIMARY KEY, c INT, FOREIGN KEY fk (c) REFERENCES ~.parents (id))";
    refused(
        child,
        "columns: [c]",
        "columns: `c` is in the foreign key `",
    )
    .await;
}

#[tokio::test]
async fn in_an_index_over_an_expression() {
    for server in servers() {
        let sandbox = Sandbox::new(&server, "").await;
        if !sandbox.is_mariadb().await {
            sandbox
                .run("CREATE TABLE ~.posts (id INT PRIMARY KEY, c INT, KEY f ((c + 1)))")
                .await;
            refused_in(
                &sandbox,
                "columns: [c]",
                "columns: the index `f` is computed from `c`",
            )
            .await;
        }
    }
}
