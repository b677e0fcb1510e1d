//! Tables that may be hot, and those that are refused.

use super::stage::{POSTS, provisioned, refused, refused_by_provision, refused_in};
use crate::support::{Sandbox, countersink, servers};

#[tokio::test]
async fn that_are_not_there() {
    for server in servers() {
        let sandbox = Sandbox::new(&server, &POSTS.replace("posts", "post")).await;
        let expected = "table: no table ~.posts can be seen; did you mean `post`? If it exists, let the control account \
             see it: GRANT SELECT, UPDATE, TRIGGER ON `~`.`posts` TO 'root'@'..' (line 4)";
        refused_by_provision(&sandbox, "columns: [views]", expected);
    }
}

#[tokio::test]
async fn that_differ_in_letter_case() {
    for server in servers() {
        let sandbox = Sandbox::new(&server, &POSTS.replace("posts", "Posts")).await;
        match sandbox.ask("SELECT @@lower_case_table_names").await[0].as_str() {
            "0" => {
                let expected = "table: no table ~.posts can be seen; did you mean `Posts`?";
                refused_by_provision(&sandbox, "columns: [views]", expected);
            }
            _ => provisioned(&sandbox, "columns: [views]", "created"),
        }
    }
}

#[tokio::test]
async fn that_are_views() {
    let tables = format!(
        "{}; CREATE VIEW ~.posts AS SELECT * FROM ~.real",
        POSTS.replace("posts", "real")
    );
    let expected = "table: ~.posts is a view, and only a plain table can be hot; name the table behind it (line 4)";
    refused(&tables, "columns: [views]", expected).await;
}

#[tokio::test]
async fn of_another_engine() {
    let expected = "table: ~.posts is stored in MyISAM, which has no row locks to spread; \
                    convert it: ALTER TABLE ~.posts ENGINE = InnoDB (line 4)";
    refused(
        &format!("{POSTS} ENGINE = MyISAM"),
        "columns: [views]",
        expected,
    )
    .await;
}

#[tokio::test]
async fn without_a_primary_key() {
    let expected = "table: ~.posts has no primary key, by which slots find their row; add one, or set slots: 0 if the table has one row only (line 4)";
    refused(
        "CREATE TABLE ~.posts (id INT, views INT)",
        "columns: [views]",
        expected,
    )
    .await;
}

#[tokio::test]
async fn with_a_key_over_a_prefix() {
    let expected = "table: the primary key of ~.posts holds only the beginning of `title`; make it hold the whole column (line 4)";
    let table = "CREATE TABLE ~.posts (title VARCHAR(40), views INT, PRIMARY KEY (title(10)))";
    refused(table, "columns: [views]", expected).await;
}

#[tokio::test]
async fn with_an_update_trigger() {
    let trigger =
        "CREATE TRIGGER ~.audit BEFORE UPDATE ON ~.posts FOR EACH ROW SET NEW.title = 'x'";
    let expected = "table: the trigger `audit` runs at every UPDATE of ~.posts, but an increment in a slot is none; \
                    drop it, or take the table out of the rules (line 4)";
    refused(&format!("{POSTS}; {trigger}"), "columns: [views]", expected).await;
}

#[tokio::test]
async fn with_an_insert_trigger_are_welcome() {
    let trigger =
        "CREATE TRIGGER ~.audit BEFORE INSERT ON ~.posts FOR EACH ROW SET NEW.title = 'x'";
    for server in servers() {
        let sandbox = Sandbox::new(&server, &format!("{POSTS}; {trigger}")).await;
        provisioned(&sandbox, "columns: [views]", "created");
    }
}

#[tokio::test]
async fn that_are_system_versioned_are_refused() {
    for server in servers() {
        let sandbox = Sandbox::new(&server, "").await;
        if sandbox.is_mariadb().await {
            sandbox
                .run(&format!("{POSTS} WITH SYSTEM VERSIONING"))
                .await;
            let expected = "table: ~.posts is a system versioned, and only a plain table"
                .replace("system versioned", "system-versioned table");
            refused_in(&sandbox, "columns: [views]", &expected).await;
        }
    }
}

#[tokio::test]
async fn that_cascade_are_served() {
    let child = "CREATE TABLE ~.posts (id INT PRIMARY KEY, parent INT, views INT, \
                 FOREIGN KEY (parent) REFERENCES ~.parents (id) ON DELETE CASCADE)";
    let tables = format!("CREATE TABLE ~.parents (id INT PRIMARY KEY); {child}");
    for server in servers() {
        let sandbox = Sandbox::new(&server, &tables).await;
        let (code, _, errors) = countersink(&["provision"], &sandbox.rules("columns: [views]"));
        assert_eq!(code, 0, "{errors}");
        assert!(!errors.contains("WARN"), "{errors}");
    }
}
