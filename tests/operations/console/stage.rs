//! A proxy with a console, in a process of its own.

use std::collections::BTreeMap;
use std::path::PathBuf;

use countersink::driver::{Driver, Reply};
use countersink_sandbox::{Address, Flavour};
use tempfile::TempDir;

use crate::support::binary::{Binary, rules_file};
use crate::support::client::{connect, connect_as, create_schema, run_all};
use crate::support::proxy::rules_head;
use crate::support::twin::twin;

/// The console's password.
pub const PASSWORD: &str = "s3cret-of-the-console";

const POSTS: &str = "CREATE TABLE posts (id INT PRIMARY KEY, views BIGINT NOT NULL DEFAULT 0, likes INT NOT NULL DEFAULT 0);
    INSERT INTO posts (id) VALUES (1), (2)";

pub struct Stage {
    pub binary: Binary,
    /// Where the application's clients connect.
    pub clients: Address,
    /// Where the console is, and its account.
    pub console: Address,
    pub schema: String,
    /// rules.yaml.
    pub rules: PathBuf,
    _folder: TempDir,
}

impl Stage {
    /// A proxy in front of this server, with one hot table; `settings` are more lines of rules.yaml.
    pub async fn new(flavour: Flavour, schema: &str, settings: &str) -> Self {
        let upstream = &twin(flavour).proxied;
        create_schema(upstream, schema, POSTS).await;
        Self::controlled_by(upstream, upstream, schema, settings)
    }

    /// The same with another hot table, whose name differs in letter case alone.
    pub async fn with_two_tables(flavour: Flavour, schema: &str) -> Self {
        let upstream = &twin(flavour).proxied;
        let tables = format!("{POSTS}; {}", POSTS.replace("posts", "Posts"));
        create_schema(upstream, schema, &tables).await;
        let rule = format!(
            "- {{table: {schema}.Posts, columns: [views], rollup: 1h, rest: never, slot_table: other_slots}}\n"
        );
        Self::with_rules(upstream, upstream, schema, ("", &rule))
    }

    /// The same by a control account that has but its schema.
    pub async fn with_poor_control(flavour: Flavour, schema: &str) -> Self {
        let upstream = &twin(flavour).proxied;
        let mut direct = create_schema(upstream, schema, POSTS).await;
        let grants = format!(
            "DROP USER IF EXISTS {schema}; CREATE USER {schema} IDENTIFIED BY '{PASSWORD}'; \
             GRANT ALL ON {schema}.* TO {schema}"
        );
        run_all(&mut direct, &grants).await;
        let control = Address {
            user: schema.to_owned(),
            password: PASSWORD.to_owned(),
            ..upstream.clone()
        };
        Self::controlled_by(upstream, &control, schema, "")
    }

    fn controlled_by(upstream: &Address, control: &Address, schema: &str, settings: &str) -> Self {
        Self::with_rules(upstream, control, schema, (settings, ""))
    }

    fn with_rules(
        upstream: &Address,
        control: &Address,
        schema: &str,
        (settings, more): (&str, &str),
    ) -> Self {
        let rules = format!(
            "admin: 127.0.0.1:0\nadmin_account: {{password: {PASSWORD}}}\n{settings}\
             counters:\n- {{table: {schema}.posts, columns: [views, likes], rollup: 1h, rest: never}}\n{more}"
        );
        let (folder, file) = rules_file(&(rules_head(control) + &rules));
        let arguments = ["serve", "--rules", file.to_str().expect("UTF-8")];
        let mut binary = Binary::start(&arguments);
        let listening = binary.address_behind("listening on ");
        let (Some(listening), Some(console)) = (listening, binary.address_behind("console at "))
        else {
            panic!("it does not serve: {}", binary.wait().errors);
        };
        Self {
            binary,
            clients: Address {
                host: listening.ip().to_string(),
                port: listening.port(),
                ..upstream.clone()
            },
            console: Address {
                host: console.ip().to_string(),
                port: console.port(),
                user: "admin".to_owned(),
                password: PASSWORD.to_owned(),
            },
            schema: schema.to_owned(),
            rules: file,
            _folder: folder,
        }
    }

    /// A client of the application.
    pub async fn client(&self) -> Driver {
        connect(&self.clients, Some(&self.schema)).await
    }

    /// A client of the console.
    pub async fn operator(&self) -> Driver {
        let connected = connect_as(&self.console, Some(&self.schema), Driver::CAPABILITIES).await;
        connected.unwrap_or_else(|error| panic!("the console: {error}"))
    }
}

/// The rows of a statement by the names of their columns; NULL is `NULL`.
pub async fn table(driver: &mut Driver, text: &str) -> Vec<BTreeMap<String, String>> {
    columns_and_rows(driver, text).await.1
}

/// The same, behind the names of the columns, which are there without rows as well.
pub async fn columns_and_rows(
    driver: &mut Driver,
    text: &str,
) -> (Vec<String>, Vec<BTreeMap<String, String>>) {
    use countersink::wire::column::text_row;
    use countersink::wire::reader::Reader;
    use countersink::wire::response::{PacketKind, ResponseKind};

    driver
        .send(&driver.query_payload(text))
        .await
        .expect("sent");
    let packets = driver
        .packets(ResponseKind::Results)
        .await
        .expect("an answer");
    let mut names = Vec::new();
    let mut rows = Vec::new();
    for packet in packets {
        match packet.packet_kind {
            PacketKind::Column => {
                // Catalog, schema, table and original table stand before it.
                let mut fields = Reader::new(&packet.payload);
                let name = (0..5)
                    .map(|_| fields.lenenc_bytes().expect("a field"))
                    .last();
                let name = name.expect("five fields").to_vec();
                names.push(String::from_utf8_lossy(&name).into_owned());
            }
            PacketKind::Row => {
                let values = text_row(&packet.payload).expect("a row");
                let values = values.into_iter().map(|value| match value {
                    Some(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                    None => "NULL".to_owned(),
                });
                rows.push(names.iter().cloned().zip(values).collect());
            }
            PacketKind::Err => panic!("{text}: {}", String::from_utf8_lossy(&packet.payload)),
            _ => {}
        }
    }
    assert!(!names.is_empty(), "{text} has no columns");
    (names, rows)
}

/// The error that a statement is refused with.
pub async fn refused(driver: &mut Driver, text: &str) -> (u16, String) {
    match driver.query(text).await.expect("an answer") {
        Reply::Err(error) => (error.code, error.message),
        other => panic!("{text}: {other:?}"),
    }
}

/// The value of SHOW STATS.
pub async fn stat(operator: &mut Driver, name: &str) -> u64 {
    let rows = table(operator, &format!("SHOW STATS WHERE name = '{name}'")).await;
    let [row] = &rows[..] else {
        panic!("{name}: {rows:?}");
    };
    row["value"].parse().expect("a number")
}
