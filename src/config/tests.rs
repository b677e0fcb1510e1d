//! rules.yaml as an operator may write it.

use super::*;

const RULE: &str = "counters:\n- {table: shop.posts, columns: [views]}\n";

fn parse(text: &str) -> Result<Config, String> {
    Config::from_str(text, &|name| match name {
        "PASSWORD" => Some("hunter2".to_owned()),
        "SLOTS" => Some("16".to_owned()),
        "INJECTED" => Some("x\nlisten: 0.0.0.0:1".to_owned()),
        _ => None,
    })
    .map_err(|error| error.to_string())
}

/// The error of `text`.
fn refused(text: &str) -> String {
    parse(text).expect_err(text)
}

/// With the required settings, `more` outside the rules.
fn with(more: &str) -> String {
    format!("upstream: db:3306\n{more}\n{RULE}")
}

/// With one rule, `more` inside it, on line 4.
fn with_rule(more: &str) -> String {
    format!("upstream: db:3306\ncounters:\n- table: shop.posts\n  {more}\n")
}

#[test]
fn only_upstream_and_counters_are_required() {
    let config = parse(&with("")).unwrap();
    assert_eq!(config.listen.to_string(), "127.0.0.1:6033");
    assert_eq!(config.upstream.to_string(), "db:3306");
    assert_eq!(config.admin, None);
    assert_eq!(config.control.user, "countersink");
    assert_eq!(config.control.password.reveal(), "");
    assert_eq!(config.tls, Some(ClientTls::default()));
    assert_eq!(config.upstream_certificate, None);
    assert_eq!(config.upstream_tls, UpstreamTls::Preferred);
    for host in ["127.0.0.1", "localhost", "[::1]"] {
        let local = with("").replace("db:3306", &format!("'{host}:3306'"));
        let config = parse(&local).unwrap();
        assert_eq!(config.upstream_tls, UpstreamTls::AsClient(None), "{host}");
    }
    assert_eq!(config.handshake_timeout, Duration::from_secs(10));
    assert_eq!(config.drain_timeout, Duration::from_secs(10));
    assert_eq!(config.upstream_compression, UpstreamCompression::AsClient);
    assert_eq!(config.connections.most, 10_000);
    assert_eq!(config.connections.most_logins, 10_000);
    assert_eq!(config.connections.most_of_user, None);
    assert_eq!(config.connections.most_of_address, None);
    assert_eq!(config.connections.idle_timeout, None);
    assert_eq!(config.memory, Memory::default());
    assert_eq!(config.connections.most_for(b"anna"), 10_000);
    assert!(config.bypass.covers("anna", Some("/usr/bin/mysqldump")));
    let [rule] = &config.rules[..] else {
        panic!("one rule");
    };
    assert_eq!(rule.slot_table.to_string(), "shop.posts_slots");
    assert_eq!((rule.slots, rule.mode), (64, Mode::Enforce));
    assert_eq!(rule.rollup, Duration::from_secs(1));
    assert_eq!(rule.rest, Rest::Auto);
    assert!(rule.acts());
}

#[test]
fn several_servers_may_be_named() {
    let several = |list: &str| format!("upstreams: {list}\n{RULE}");
    let config = parse(&several("['db1:3306', db2:3306]")).unwrap();
    assert_eq!(config.upstream.to_string(), "db1:3306, db2:3306");
    assert_eq!(config.upstream.only(), None);
    assert_eq!(config.upstream_tls, UpstreamTls::Preferred);
    let config = parse(&several("['127.0.0.1:1', localhost:2]")).unwrap();
    assert_eq!(config.upstream_tls, UpstreamTls::AsClient(None));
    let config = parse(&several("[db1:3306]")).unwrap();
    assert_eq!(config.upstream.only(), Some(config.upstream.first()));
    for (list, error) in [
        (
            "[]",
            "upstreams: is empty; name the servers, as in upstreams: [db1:3306, db2:3306]",
        ),
        (
            "[db1:3306, unix:/run/mysqld.sock]",
            "upstreams: `unix:/run/mysqld.sock` is not an address: several servers are reached over TCP; write host:port, \
             as in db1:3306 or [::1]:3306 (line 1)",
        ),
        (
            "[db1:3306, db1:3306]",
            "upstreams: `db1:3306` is not an address: it stands there twice; write host:port, as in db1:3306 or \
             [::1]:3306 (line 1)",
        ),
        (
            "[db1:3306]\nupstream: db1:3306",
            "upstreams: stands beside upstream; name one server by upstream, or several by upstreams (line 1)",
        ),
    ] {
        assert_eq!(refused(&several(list)), error);
    }
}

#[test]
fn everything_can_be_said() {
    let config = parse(
        "listen: '[::1]:7000'\nupstream: unix:/run/mysqld.sock\nadmin: 127.0.0.1:6032\n\
         admin_account: {user: ops, password: '${PASSWORD}'}\ncontrol: {user: proxy, password: '${PASSWORD}'}\ntls: {certificate: c.pem, key: k.pem, ca: ca.pem, crl: crl.pem, client_certificate: required, client: required}\n\
         upstream_tls: {mode: disabled}\nupstream_compression: zstd\nslot_table: '{table}_s'\nhandshake_timeout: 500ms\ndrain_timeout: 0s\nidle_timeout: 15m\nmax_connections: 5\n\
         max_user_connections: 3\nmax_address_connections: 4\nmax_logins: 2\n\
         reserved_connections: {connections: 1, users: [dba]}\n\
         memory: {statement: 1MiB, prepared_statements: 64KiB, prepared_queries: 1GiB, plan_cache: 2MiB}\n\
         bypass: {users: [backup], programs: [my-tool]}\n\
         counters:\n- table: shop.posts\n  columns: [views, likes]\n  touch: [updated_at]\n  slots: ${SLOTS}\n  \
         mode: observe\n  rollup: 2m\n- table: shop.hits\n  columns: [n]\n  slot_table: side.hits_n\n",
    )
    .unwrap();
    assert_eq!(config.listen.to_string(), "[::1]:7000");
    assert_eq!(
        config.upstream.only(),
        Some(&Address::Unix("/run/mysqld.sock".into()))
    );
    assert_eq!(config.control.password.reveal(), "hunter2");
    let admin = config.admin.expect("a console");
    assert_eq!(admin.address.to_string(), "127.0.0.1:6032");
    assert_eq!(admin.user, "ops");
    assert_eq!(admin.password, PasswordHashes::new("hunter2"));
    let tls = ClientTls {
        is_required: true,
        certificate: Some(files("c.pem", "k.pem")),
        clients: Some(ClientCertificates {
            ca: "ca.pem".into(),
            crl: Some("crl.pem".into()),
            is_required: true,
        }),
    };
    assert_eq!(config.tls, Some(tls));
    assert_eq!(config.upstream_compression, UpstreamCompression::Zstd);
    assert_eq!(
        config.connections,
        Connections {
            most: 5,
            most_of_user: Some(3),
            most_of_address: Some(4),
            most_logins: 2,
            reserved: Reserved {
                places: 1,
                users: vec!["dba".to_owned()],
            },
            idle_timeout: Some(Duration::from_secs(900)),
        }
    );
    assert_eq!(config.connections.most_for(b"anna"), 4);
    assert_eq!(config.connections.most_for(b"dba"), 5);
    assert_eq!(
        config.memory,
        Memory {
            statement: 1 << 20,
            prepared_statements: 64 << 10,
            prepared_queries: 1 << 30,
            plan_cache: 2 << 20,
        }
    );
    assert_eq!(config.bypass.users, ["backup"]);
    assert_eq!(config.bypass.programs, ["my-tool"]);
    let [posts, hits] = &config.rules[..] else {
        panic!("two rules");
    };
    assert_eq!(posts.touch, ["updated_at"]);
    assert_eq!((posts.slots, posts.mode), (16, Mode::Observe));
    assert_eq!(posts.slot_table.to_string(), "shop.posts_s");
    assert!(!posts.acts());
    assert_eq!(hits.slot_table.to_string(), "side.hits_n");
    assert_eq!(
        hits.place("columns").to_string(),
        "counters[1] (shop.hits): columns: "
    );
}

fn files(certificate: &str, key: &str) -> CertificateFiles {
    CertificateFiles {
        certificate: certificate.into(),
        key: key.into(),
    }
}

#[test]
fn the_proxy_may_have_a_certificate_of_its_own_where_there_is_tls() {
    for (more, mode) in [
        ("", UpstreamTls::Preferred),
        ("mode: preferred, ", UpstreamTls::Preferred),
        ("mode: as_client, ", UpstreamTls::AsClient(None)),
    ] {
        let config = with(&format!(
            "upstream_tls: {{{more}certificate: p.pem, key: q.pem}}"
        ));
        let config = parse(&config).unwrap();
        assert_eq!(config.upstream_certificate, Some(files("p.pem", "q.pem")));
        assert_eq!(config.upstream_tls, mode);
    }
}

#[test]
fn clients_may_show_certificates_and_need_not() {
    let config = parse(&with("tls: {ca: ca.pem}")).unwrap();
    let clients = ClientCertificates {
        ca: "ca.pem".into(),
        crl: None,
        is_required: false,
    };
    let tls = config.tls.unwrap();
    assert_eq!((tls.clients, tls.is_required), (Some(clients), false));
    let disabled = parse(&with("tls: {client: disabled}")).unwrap();
    assert_eq!(disabled.tls, None);
}

#[test]
fn the_example_at_top_level_is_valid() {
    let config = parse(include_str!("../../rules.yaml")).unwrap();
    assert_eq!(config.upstream.to_string(), "127.0.0.1:3306");
    assert_eq!(config.rules[0].table.to_string(), "shop.posts");
    assert_eq!(config.rules[0].columns, ["views", "likes"]);
    let defaults = parse(
        &with("")
            .replace("[views]", "[views, likes]")
            .replace("db", "127.0.0.1"),
    );
    let defaults = defaults.unwrap();
    let unplaced = |mut config: Config| {
        config.rules.iter_mut().for_each(|rule| rule.line = 0);
        config
    };
    assert_eq!(
        unplaced(config),
        unplaced(defaults),
        "the example shows the defaults"
    );
}

const NO_PASSWORD: &str = "the console (admin) lets nobody in without one; write admin_account: {user: admin, password: \"${COUNTERSINK_ADMIN_PASSWORD}\"}, or delete admin";

#[test]
fn a_console_whose_password_is_empty_does_not_start() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rules.yaml");
    let text = with("admin: 127.0.0.1:0\nadmin_account: {password: ''}");
    std::fs::write(&file, text).unwrap();
    let error = Config::load(&file).unwrap_err().to_string();
    assert_eq!(
        error,
        format!("admin_account.password: is empty; {NO_PASSWORD}")
    );
    // `explain` needs neither.
    assert!(Config::load_offline(&file).is_ok());
}

#[test]
fn errors_name_rule_field_line_and_remedy() {
    for (text, expected) in [
        ("", "upstream: is missing; name the MySQL server, as in upstream: 127.0.0.1:3306".to_owned()),
        ("upstream: db:1\n", "counters: is missing; list at least one table with its columns".to_owned()),
        ("upstream: db:1\ncounters: []\n", "counters: is empty; list at least one table with its columns".to_owned()),
        (&with_rule("columns: []"), "counters[0] (shop.posts): columns: is empty; name the counter columns, as in columns: [views, likes] (line 3)".to_owned()),
        (&with_rule("slots: 1"), "counters[0] (shop.posts): columns: is missing; name the counter columns, as in columns: [views, likes] (line 3)".to_owned()),
        ("upstream: db:1\ncounters:\n- columns: [views]\n", "counters[0]: table: is missing; name the hot table, as in table: shop.posts (line 3)".to_owned()),
        (&with_rule("columns: [views, Views]"), "counters[0] (shop.posts): columns: `Views` is named twice; delete one of them (line 4)".to_owned()),
        (&with_rule("columns: [views]\n  slots: 257"), "counters[0] (shop.posts): slots: `257` is not a whole number from 0 to 256; the default, 64, suits most (line 5)".to_owned()),
        (&with_rule("columns: [views]\n  mode: on"), "counters[0] (shop.posts): mode: `on` is not known here; write off, observe or enforce (line 5)".to_owned()),
        (&with_rule("columns: [views]\n  rollup: 1"), "counters[0] (shop.posts): rollup: `1` is not a duration; write a whole number with its unit: 500ms, 1s, 2m or 1h (line 5)".to_owned()),
        (&with_rule("columns: [views]\n  rest: sometimes"), "counters[0] (shop.posts): rest: `sometimes` is not known here; write auto or never (line 5)".to_owned()),
        (&with_rule("columns: [views]\n  rollup: 0s"), "counters[0] (shop.posts): rollup: `0s` is too short; choose a duration from 10ms to 24h (line 5)".to_owned()),
        (&with_rule("columns: [views]\n  touch: [VIEWS]"), "counters[0] (shop.posts): touch: `VIEWS` is also one of the columns; a column either counts or is touched (line 3)".to_owned()),
        (&with("listen: 6033"), "listen: `6033` is not an address: the port is missing; write host:port, as in 127.0.0.1:6033 or [::1]:6033, or unix:/path/to/mysqld.sock (line 2)".to_owned()),
        (&with("handshake_timeout: 20m"), "handshake_timeout: `20m` is too long; choose a duration from 100ms to 10m (line 2)".to_owned()),
        (&with("max_user_connections: 0"), "max_user_connections: `0` is not a whole number from 1 to 1000000; leave it out for no limit (line 2)".to_owned()),
        (&with("reserved_connections: {users: [dba]}"), "reserved_connections: has no connections; write how many, as in connections: 3".to_owned()),
        (&with("reserved_connections: {connections: 3}"), "reserved_connections: has no users; name the accounts that get them, as in users: [dba]".to_owned()),
        (&with("max_connections: 3\nreserved_connections: {connections: 3, users: [dba]}"), "reserved_connections.connections: leaves nobody else a place; reserve fewer than max_connections (line 3)".to_owned()),
        (&with("max_connections: 0"), "max_connections: `0` is not a whole number from 1 to 1000000; the default is 10000 (line 2)".to_owned()),
        (&with("tls: {certificate: c.pem}"), "tls.key: is missing; a certificate needs its key".to_owned()),
        (&with("tls: {key: c.pem}"), "tls.certificate: is missing; a key needs its certificate".to_owned()),
        (&with("tls: {client: disabled, key: k}"), "tls.client: is disabled, but there is a certificate or a key; delete the one or the other".to_owned()),
        (&with("tls: {client: disabled, ca: ca.pem}"), "tls.client: is disabled, but certificates of clients are asked for; delete the one or the other".to_owned()),
        (&with("tls: {client: optional}"), "tls.client: `optional` is not known here; write required or disabled, or leave it out (line 2)".to_owned()),
        (&with("tls: {client_certificate: required}"), "tls.client_certificate: needs tls.ca, which says whose certificates clients may show; name the PEM file".to_owned()),
        (&with("tls: {crl: c}"), "tls.crl: needs tls.ca, whose authorities have revoked the certificates; name the PEM file".to_owned()),
        (&with("tls: {ca: c, client_certificate: required}"), "tls.client_certificate: is required, but clients without TLS, who show none, are let in; write client: required too".to_owned()),
        (&with("tls: {ca: c, client_certificate: yes}"), "tls.client_certificate: `yes` is not known here; write optional or required (line 2)".to_owned()),
        (&with("upstream_tls: {certificate: c}"), "upstream_tls.key: is missing; a certificate needs its key".to_owned()),
        (&with("upstream_tls: {key: k}"), "upstream_tls.certificate: is missing; a key needs its certificate".to_owned()),
        (&with("upstream_tls: {mode: disabled, certificate: c, key: k}"), "upstream_tls.certificate: is shown by TLS, and upstream_tls.mode is disabled; write another mode, or delete certificate and key".to_owned()),
        (&with("upstream_tls: {certificate: c, key: k}").replace("db:3306", "unix:/s"), "upstream_tls.certificate: TLS over a unix socket protects nothing; leave upstream_tls out".to_owned()),
        (&with("upstream_tls: {mode: required}"), "upstream_tls.ca: is missing; name the PEM file that verifies the server".to_owned()),
        (&with("upstream_tls: {ca: ca.pem}"), "upstream_tls.ca: certificates are only verified in the modes required and as_client; write mode: required".to_owned()),
        (&with("slot_table: slots"), "slot_table: `slots` would give every slot table the same name; put {table} into it, as in {table}_slots (line 2)".to_owned()),
        (&with("control:\n  user: ''"), "control.user: is empty; name the proxy's own account, or leave user out for countersink (line 3)".to_owned()),
        (&with("admin: 127.0.0.1:6032"), format!("admin_account.password: is missing; {NO_PASSWORD}")),
        (&with("admin: 127.0.0.1:6032\nadmin_account: {user: ''}"), "admin_account.user: is empty; name the console's user, or leave user out for admin (line 3)".to_owned()),
        (&with("admin_account: {password: x}"), "admin_account: is of a console that listens nowhere; write admin: 127.0.0.1:6032, or delete the account".to_owned()),
        (&with("admin: ${ADMIN}"), "admin: the environment variable ADMIN is not set; set it, or write ${ADMIN:-default} (line 2)".to_owned()),
        (&format!("{}- {{table: shop.posts, columns: [likes]}}\n", with("")), "counters[1] (shop.posts): table: counters[0] is a rule for the same table; put the columns of both into one rule (line 5)".to_owned()),
        (&format!("{}- {{table: shop.posts_slots, columns: [n]}}\n", with("")), "counters[0] (shop.posts): slot_table: the slot table shop.posts_slots is also the hot table of counters[1]; give this rule a slot_table of its own (line 4)".to_owned()),
        ("upstream: db:1\ncounters:\n- {table: mysql.user, columns: [n]}\n", "counters[0]: table: mysql belongs to the server itself; only tables of your own schemas can be hot (line 3)".to_owned()),
    ] {
        assert_eq!(refused(text), expected, "{text}");
    }
}

#[test]
fn what_is_not_the_expected_yaml_is_explained() {
    for (text, expected) in [
        (
            with("lisen: a:1"),
            "`lisen` is not a setting here; did you mean `listen`? (line 2)",
        ),
        (
            with_rule("colums: [views]"),
            "`colums` is not a setting here; did you mean `columns`? (line 4)",
        ),
        (
            with("tls: {zzz: 1}"),
            "`zzz` is not a setting here; write one of client, certificate, key, ca, crl, client_certificate (line 2)",
        ),
        (
            with("upstream: db:2"),
            "`upstream` stands twice in the same place; delete one of them (line 2)",
        ),
        (
            with_rule("columns: views"),
            "a list is expected here; write it as [a, b] (line 4)",
        ),
        (
            "[]".to_owned(),
            "settings are expected here; write them as `name: value` (line 1)",
        ),
        (
            with_rule("columns: [null]"),
            "a value is missing here; write it, or quote it if it is the word null (line 4)",
        ),
        (
            with("---\nadmin: a:1"),
            "a second YAML document begins here; keep everything in one (line 3)",
        ),
    ] {
        assert_eq!(refused(&text), expected, "{text}");
    }
    let unquoted = refused(&with("control: {password: ${PASSWORD}}"));
    assert!(
        unquoted.contains("needs quotes inside braces (line 2)"),
        "{unquoted}"
    );
}

#[test]
fn a_value_from_the_environment_cannot_inject_settings() {
    let config = parse(&with("control: {user: '${INJECTED}'}")).unwrap();
    assert_eq!(config.control.user, "x\nlisten: 0.0.0.0:1");
    assert_eq!(config.listen.to_string(), "127.0.0.1:6033");
}

#[test]
fn passwords_are_never_printed() {
    let config = parse(&with("control: {password: hunter2}")).unwrap();
    assert_eq!(config.control.password.reveal(), "hunter2");
    let shown = format!("{config:?}");
    assert!(
        !shown.contains("hunter2") && shown.contains("***"),
        "{shown}"
    );
    for text in [
        with("control: hunter2"),
        with("control:\n  password: [hunter2]"),
        with("control:\n  password: {a: hunter2}"),
        with("control:\n  password: \"hunter2"),
        with("control: {password: hunter2"),
        with("control:\n  password: *hunter2"),
        with("control:\n  password: hunter2\n  usr: x"),
        with("control:\n  password: hunter2: x"),
        with("control:\n  password: !!int hunter2\n  user: ''"),
        with("listen: ${PASSWORD}"),
        with("max_connections: ${PASSWORD}"),
        with("control:\n  password: 'hunter2${'"),
    ] {
        let error = refused(&text);
        assert!(!error.contains("hunter2"), "{text}\n{error}");
    }
}

#[test]
fn passwords_keep_their_letters() {
    for (text, expected) in [
        ("0123", "0123"),
        ("1e3", "1e3"),
        ("true", "true"),
        ("a$b", "a$b"),
        ("", ""),
    ] {
        let config = parse(&with(&format!("control:\n  password: {text}"))).unwrap();
        assert_eq!(config.control.password.reveal(), expected);
    }
}

#[test]
fn files_are_looked_at_when_the_rules_are_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let rules = folder.path().join("rules.yaml");
    let load_with = |more: &str| {
        std::fs::write(&rules, with(more)).unwrap();
        Config::load(&rules).map_err(|error| error.to_string())
    };
    let load = |tls: &str| load_with(&format!("tls: {tls}"));
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let path = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let certificate = path("c.pem", &made.cert.pem());
    let key = path("k.pem", &made.signing_key.serialize_pem());
    assert!(load(&format!("{{certificate: {certificate}, key: {key}}}")).is_ok());
    let swapped = load(&format!("{{certificate: {key}, key: {certificate}}}")).unwrap_err();
    assert!(
        swapped.contains("tls.certificate: ") && swapped.contains("holds no certificate"),
        "{swapped}"
    );
    let missing = load(&format!("{{certificate: {certificate}, key: /none.pem}}")).unwrap_err();
    assert!(
        missing.starts_with("tls.key: /none.pem cannot be read: "),
        "{missing}"
    );
    let no_authority = load(&format!("{{ca: {key}}}")).unwrap_err();
    assert!(
        no_authority.starts_with("tls.ca: ") && no_authority.contains("holds no certificate"),
        "{no_authority}"
    );
    let pair = |certificate, key| {
        let own = format!("{{certificate: {certificate}, key: {key}}}");
        load_with(&format!("upstream_tls: {own}"))
    };
    assert!(pair(&certificate, &key).is_ok());
    let error = pair(&certificate, &certificate).unwrap_err();
    assert!(
        error.starts_with("upstream_tls.key: ") && error.contains("holds no private key"),
        "{error}"
    );
    assert!(
        Config::load(&folder.path().join("none"))
            .unwrap_err()
            .to_string()
            .starts_with("cannot be read")
    );
}

#[test]
fn bypass_knows_users_and_programs() {
    let bypass = Bypass {
        users: vec!["backup".to_owned()],
        programs: vec!["gh-ost".to_owned()],
    };
    assert!(bypass.covers("backup", None));
    assert!(bypass.covers("app", Some("GH-OST")));
    assert!(bypass.covers("app", Some("/opt/gh-ost")));
    assert!(!bypass.covers("Backup", Some("my-gh-ost")));
    assert!(!bypass.covers("app", None));
}
