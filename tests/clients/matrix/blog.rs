//! The blog with mysql_async.

use std::fmt::Display;

use countersink_sandbox::Address;
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, OptsBuilder, Params, Row, TxOpts, Value, params};

/// Bytes of all values, more than a packet's length has bits for at one go.
const PICTURE: usize = 3 << 20;

type Error = mysql_async::Error;

/// The library's version.
pub fn version() -> String {
    let lock = include_str!("../../../Cargo.lock");
    let (_, entry) = lock
        .split_once("name = \"mysql_async\"\nversion = \"")
        .expect("it is a dependency");
    entry.split('"').next().unwrap_or_default().to_owned()
}

/// Plays it; what it said.
pub async fn play(server: &Address, schema: &str) -> Result<Vec<String>, Error> {
    let mut blog = Blog::connect(server, schema).await?;
    blog.increments().await?;
    blog.transactions().await?;
    blog.other_writes().await?;
    blog.reads().await?;
    blog.large().await?;
    blog.stream().await?;
    blog.errors().await?;
    blog.warnings().await?;
    blog.again(server, schema).await?;
    blog.crowd(server, schema).await?;
    blog.conn.disconnect().await?;
    Ok(blog.said)
}

struct Blog {
    conn: Conn,
    said: Vec<String>,
}

async fn connect(server: &Address, schema: &str) -> Result<Conn, Error> {
    let opts = OptsBuilder::default()
        .ip_or_hostname(server.host.clone())
        .tcp_port(server.port)
        .user(Some(server.user.clone()))
        .pass(Some(server.password.clone()))
        .db_name(Some(schema))
        .prefer_socket(false);
    Conn::new(opts).await
}

fn text_of(value: Value) -> String {
    match value {
        Value::NULL => "NULL".to_owned(),
        Value::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Value::Int(number) => number.to_string(),
        Value::UInt(number) => number.to_string(),
        other => other.as_sql(true),
    }
}

fn row_of(row: Row) -> String {
    let values: Vec<_> = row.unwrap().into_iter().map(text_of).collect();
    values.join("|")
}

fn rows_of(rows: Vec<Row>) -> String {
    let rows: Vec<_> = rows.into_iter().map(row_of).collect();
    rows.join(" ")
}

fn joined<T: Display>(values: &[T]) -> String {
    let values: Vec<_> = values.iter().map(T::to_string).collect();
    values.join(" ")
}

impl Blog {
    async fn connect(server: &Address, schema: &str) -> Result<Self, Error> {
        Ok(Self {
            conn: connect(server, schema).await?,
            said: Vec::new(),
        })
    }

    fn say(&mut self, step: &str, what: impl Display) {
        self.said.push(format!("{step}: {what}"));
    }

    /// How many rows a statement has affected.
    async fn run(&mut self, statement: &str) -> Result<u64, Error> {
        self.conn.query_drop(statement).await?;
        Ok(self.conn.affected_rows())
    }

    async fn execute(
        &mut self,
        statement: &str,
        values: impl Into<Params> + Send,
    ) -> Result<u64, Error> {
        self.conn.exec_drop(statement, values.into()).await?;
        Ok(self.conn.affected_rows())
    }

    async fn rows(&mut self, query: &str) -> Result<String, Error> {
        Ok(rows_of(self.conn.query(query).await?))
    }

    async fn increments(&mut self) -> Result<(), Error> {
        let mut affected = Vec::new();
        for _ in 0..10 {
            affected.push(
                self.run("UPDATE posts SET views = views + 1 WHERE id = 1")
                    .await?,
            );
        }
        self.say("text", joined(&affected));
        affected.clear();
        for _ in 0..5 {
            affected.push(
                self.execute("UPDATE posts SET views = views + 1 WHERE id = ?", (1,))
                    .await?,
            );
        }
        self.say("prepared", joined(&affected));
        affected.clear();
        for _ in 0..3 {
            let bound = "UPDATE posts SET likes = likes + :n WHERE id = :id";
            affected.push(self.execute(bound, params! { "n" => 2, "id" => 1 }).await?);
        }
        self.say("bound", joined(&affected));
        let rows = [(1, 5), (2, 6), (3, 5)];
        self.conn
            .exec_batch("UPDATE posts SET views = views + ? WHERE id = ?", rows)
            .await?;
        let sum = self
            .rows("SELECT SUM(views) FROM posts WHERE id IN (5, 6)")
            .await?;
        self.say("bulk", sum);
        Ok(())
    }

    async fn transactions(&mut self) -> Result<(), Error> {
        let mut transaction = self.conn.start_transaction(TxOpts::default()).await?;
        transaction
            .query_drop("UPDATE posts SET likes = likes + 10 WHERE id = 1")
            .await?;
        let committed = transaction.affected_rows();
        transaction.commit().await?;
        let mut transaction = self.conn.start_transaction(TxOpts::default()).await?;
        transaction
            .query_drop("UPDATE posts SET likes = likes + 100 WHERE id = 1")
            .await?;
        let rolled_back = transaction.affected_rows();
        transaction.rollback().await?;
        let likes = self.rows("SELECT likes FROM posts WHERE id = 1").await?;
        self.say("transactions", format!("{committed} {rolled_back} {likes}"));
        let mut transaction = self.conn.start_transaction(TxOpts::default()).await?;
        transaction
            .query_drop("UPDATE posts SET views = views + 1 WHERE id = 4")
            .await?;
        let within = rows_of(
            transaction
                .query("SELECT views FROM posts WHERE id = 4")
                .await?,
        );
        transaction.rollback().await?;
        let behind = self.rows("SELECT views FROM posts WHERE id = 4").await?;
        self.say("within", format!("{within} {behind}"));
        Ok(())
    }

    async fn other_writes(&mut self) -> Result<(), Error> {
        let mut affected = Vec::new();
        for _ in 0..8 {
            let guarded = "UPDATE posts SET stock = stock - 1 WHERE id = ? AND stock >= 1";
            affected.push(self.execute(guarded, (1,)).await?);
        }
        self.say("guarded", joined(&affected));
        affected.clear();
        for day in [
            "2026-11-22",
            "2026-11-22",
            "2026-11-22",
            "2026-11-23",
            "2026-11-23",
        ] {
            let upsert = "INSERT INTO sign_ups (day, hits) VALUES (?, 1) ON DUPLICATE KEY UPDATE hits = hits + 1";
            affected.push(self.execute(upsert, (day,)).await?);
        }
        self.say("upserts", joined(&affected));
        let added = self
            .run("UPDATE posts SET views = views + 1 WHERE id = 8")
            .await?;
        let set = "UPDATE posts SET body = ?, views = 5 WHERE id = ?";
        let changed = self.execute(set, (Value::NULL, 8)).await?;
        let views = self.rows("SELECT views FROM posts WHERE id = 8").await?;
        self.say("set", format!("{added} {changed} {views}"));
        let mut numbers = Vec::new();
        for _ in 0..3 {
            self.run("UPDATE seq SET id = LAST_INSERT_ID(id + 1)")
                .await?;
            numbers.extend(self.conn.last_insert_id());
        }
        self.say("sequence", joined(&numbers));
        Ok(())
    }

    async fn reads(&mut self) -> Result<(), Error> {
        let statement = "SELECT id, title, body, views, likes, stock, price FROM posts WHERE id = ";
        let row = self.rows(&format!("{statement}1")).await?;
        self.say("row", row);
        let row = self.conn.exec(format!("{statement}?"), (1,)).await?;
        self.say("prepared row", rows_of(row));
        for (step, query) in [
            (
                "list",
                "SELECT id, title, views FROM posts WHERE id <= 5 ORDER BY views DESC, id",
            ),
            ("sum", "SELECT COUNT(*), SUM(views), MAX(likes) FROM posts"),
            (
                "days",
                "SELECT CAST(day AS CHAR), hits FROM sign_ups ORDER BY day",
            ),
        ] {
            let rows = self.rows(query).await?;
            self.say(step, rows);
        }
        let result = self
            .conn
            .query_iter("SELECT * FROM posts WHERE id = 1")
            .await?;
        let columns = result
            .columns_ref()
            .iter()
            .map(|column| format!("{column:?}"));
        let columns: Vec<_> = columns.collect();
        result.drop_result().await?;
        self.say("columns", joined(&columns));
        let title = "Ångström’s 😀";
        let insert = "INSERT INTO posts (id, title, body) VALUES (20001, ?, ?)";
        let inserted = self.execute(insert, (title, Value::NULL)).await?;
        let select = "SELECT id, title, body, views FROM posts WHERE title = ?";
        let row = rows_of(self.conn.exec(select, (title,)).await?);
        let deleted = self
            .execute("DELETE FROM posts WHERE id = ?", (20001,))
            .await?;
        self.say("unicode", format!("{inserted} {row} {deleted}"));
        Ok(())
    }

    async fn large(&mut self) -> Result<(), Error> {
        let picture: Vec<u8> = (0..=u8::MAX).cycle().take(PICTURE).collect();
        let body = "Zeile 漢字 😀\n".repeat(50000);
        let update = "UPDATE posts SET picture = ?, body = ? WHERE id = 2";
        self.execute(update, (&picture, &body)).await?;
        let select = "SELECT picture, body, views FROM posts WHERE id = 2";
        let row: Option<(Vec<u8>, String, i32)> = self.conn.query_first(select).await?;
        let (came_picture, came_body, views) = row.expect("the row that was changed");
        let is_equal = came_picture == picture && came_body == body;
        let there = "SELECT SHA2(picture, 256), SHA2(body, 256) FROM posts WHERE id = 2";
        let there = self.rows(there).await?.replace('|', " ");
        let lengths = format!("{} {}", came_picture.len(), came_body.len());
        self.say("large", format!("{lengths} {views} {there}"));
        self.say("came back", is_equal);
        Ok(())
    }

    async fn stream(&mut self) -> Result<(), Error> {
        let query = "SELECT id, title, views FROM posts WHERE id > 10 ORDER BY id";
        let mut rows = self.conn.query_iter(query).await?;
        let (mut count, mut total, mut letters) = (0, 0, 0);
        while let Some(row) = rows.next().await? {
            let (id, title, views): (u64, String, u64) = mysql_async::from_row(row);
            count += 1;
            total += id * views;
            letters += title.len();
        }
        self.say("stream", format!("{count} {total} {letters}"));
        Ok(())
    }

    async fn errors(&mut self) -> Result<(), Error> {
        let mut codes = Vec::new();
        for statement in [
            "INSERT INTO posts (id, title) VALUES (1, 'again')",
            "UPDATE posts SET views = views + WHERE id = 1",
            "UPDATE posts SET views = views + 1, nothing = 1 WHERE id = 1",
            "SELECT views, nothing FROM posts",
            "UPDATE posts SET stock = stock - 1 WHERE id = 1",
        ] {
            match self.run(statement).await {
                Err(Error::Server(error)) => {
                    codes.push(error.code);
                    self.say("error", format!("{} {}", error.state, error));
                }
                other => self.say("no error", format!("{other:?}")),
            }
        }
        self.say("errors", joined(&codes));
        Ok(())
    }

    async fn warnings(&mut self) -> Result<(), Error> {
        let changed = self
            .run("UPDATE posts SET price = '1.239' WHERE id = 7")
            .await?;
        let told = format!(
            "{changed} {} {}",
            self.conn.get_warnings(),
            self.conn.info()
        );
        self.say("told", told);
        let cast = "SELECT CAST('12abc' AS SIGNED), views FROM posts WHERE id = 1";
        let row = self.rows(cast).await?;
        let warned = format!("{} {row}", self.conn.get_warnings());
        self.say("warned", warned);
        let told: Option<(String, u32, String)> = self.conn.query_first("SHOW WARNINGS").await?;
        let (_, code, message) = told.expect("a warning");
        self.say("warning", code);
        self.say("message", message);
        Ok(())
    }

    async fn again(&mut self, server: &Address, schema: &str) -> Result<(), Error> {
        self.run("SET @mine = 1").await?;
        let before = std::mem::replace(&mut self.conn, connect(server, schema).await?);
        before.disconnect().await?;
        let query = "SELECT views, @mine FROM posts WHERE id = 1";
        let row = self.rows(query).await?;
        self.say("again", row);
        self.run("SET @mine = 2").await?;
        let is_reset = self.conn.reset().await?;
        let row = self.rows(query).await?;
        self.say("afresh", format!("{is_reset} {row}"));
        Ok(())
    }

    async fn crowd(&mut self, server: &Address, schema: &str) -> Result<(), Error> {
        let increment = "UPDATE posts SET views = views + 1 WHERE id = ?";
        let crowd = together(server, schema, increment, 10).await?;
        let guarded = "UPDATE posts SET stock = stock - 1 WHERE id = ? AND stock >= 1";
        let sold = together(server, schema, guarded, 5).await?;
        let left = self
            .rows("SELECT views, stock FROM posts WHERE id = 3")
            .await?;
        self.say("crowd", format!("{crowd} and {sold} leave {left}"));
        Ok(())
    }
}

/// How many of the rows were affected when four connections run a statement so often each.
async fn together(
    server: &Address,
    schema: &str,
    statement: &'static str,
    times: u64,
) -> Result<String, Error> {
    let mut crowd = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let mut conn = connect(server, schema).await?;
        crowd.spawn(async move {
            let mut affected = 0;
            for _ in 0..times {
                conn.exec_drop(statement, (3,)).await?;
                affected += conn.affected_rows();
            }
            conn.disconnect().await?;
            Ok::<_, Error>(affected)
        });
    }
    let mut affected = 0;
    for done in crowd.join_all().await {
        affected += done?;
    }
    Ok(format!("{affected} of {}", 4 * times))
}
