//! Compression toward clients and toward the server: each as it is asked for, and one without the other.

use countersink::driver::{Driver, Reply};
use countersink::wire::capability::{COMPRESS, ZSTD_COMPRESSION};
use countersink_sandbox::Flavour;

use crate::support::client::{connect_as, create_schema, number, rows, run};
use crate::support::on_both;
use crate::support::proxy::Proxy;
use crate::support::twin::twin;

on_both![each_side_is_compressed_as_it_is_told];

const TABLE: &str =
    "CREATE TABLE posts (id INT PRIMARY KEY, views INT NOT NULL); INSERT INTO posts VALUES (1, 0)";

/// Its answer comes in many pieces.
const LONG: &str = "SELECT CONCAT(REPEAT('1234567', 2000000), RAND())";

async fn each_side_is_compressed_as_it_is_told(flavour: Flavour) {
    let schema = "cs_compression";
    let server = &twin(flavour).proxied;
    create_schema(server, schema, TABLE).await;
    let rules = format!("counters:\n- {{table: {schema}.posts, columns: [views]}}\n");
    let mut added = 0;
    for (setting, own) in [
        ("as_client", None),
        ("disabled", Some(0)),
        ("zlib", Some(COMPRESS)),
        ("zstd", Some(ZSTD_COMPRESSION)),
    ] {
        for tls in ["disabled", "preferred"] {
            let settings =
                format!("upstream_compression: {setting}\nupstream_tls: {{mode: {tls}}}\n");
            let proxy = Proxy::start(server, &(settings + &rules));
            for of_client in [0, COMPRESS, ZSTD_COMPRESSION] {
                let what = format!("{setting}, TLS {tls}, client {of_client:x}");
                let capabilities = Driver::CAPABILITIES & !(COMPRESS | ZSTD_COMPRESSION);
                let log_in = |to, more| connect_as(to, Some(schema), capabilities | more);
                let mut client = log_in(&proxy.address, of_client).await.expect(&what);
                let mut alike = log_in(server, own.unwrap_or(of_client)).await.expect(&what);
                let question = "SHOW SESSION STATUS LIKE 'Compression%'";
                let toward_server = rows(&mut client, question).await;
                assert_eq!(toward_server, rows(&mut alike, question).await, "{what}");
                run(
                    &mut client,
                    "UPDATE posts SET views = views + 1 WHERE id = 1",
                )
                .await;
                added += 1;
                let views = number(&mut client, "SELECT views FROM posts WHERE id = 1").await;
                assert_eq!(views, added, "{what}");
                let Reply::Rows(long) = run(&mut client, LONG).await else {
                    panic!("{what}: no rows");
                };
                let text = long[0][0].as_deref().expect("a text");
                assert!(
                    text.len() > 14_000_000 && text.starts_with(b"1234567"),
                    "{what}"
                );
            }
        }
    }
}
