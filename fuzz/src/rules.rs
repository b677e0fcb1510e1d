//! Any bytes as rules.yaml.

use std::path::Path;

use countersink::config::{Address, Config, Listen};

/// What the environment puts into the file. It may be a password, so no error may show it.
const SECRET: &str = "hunter2-of-the-environment";

/// An input is the file.
///
/// # Panics
///
/// If an error says nothing, names a line that there is not, or shows what the environment holds; if the file is read
/// differently at a second time; if an address that is shown is another one when it is read again.
pub fn check(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let environment = |name: &str| (name != "UNSET").then(|| SECRET.to_owned());
    match Config::from_str(&text, &environment) {
        Ok(config) => {
            let again = Config::from_str(&text, &environment).expect("it was read before");
            assert_eq!(again, config, "read twice");
            survives(&config);
        }
        Err(error) => {
            let told = error.to_string();
            assert!(!told.trim().is_empty(), "an error without words");
            // A rule is called by its table's name, which is no secret wherever it comes from.
            let is_of_rule = error.place.rule.is_some();
            assert!(
                is_of_rule || !told.contains(SECRET),
                "a secret is shown: {told}"
            );
            let lines = lines(&text);
            assert!(
                error.place.line <= lines,
                "line {} of {lines}: {told}",
                error.place.line
            );
        }
    }
}

/// How many lines an editor shows. YAML ends lines with a carriage return as well.
fn lines(text: &str) -> u64 {
    let breaks = text.replace("\r\n", "\n");
    let breaks = breaks.chars().filter(|byte| matches!(byte, '\n' | '\r'));
    u64::try_from(breaks.count()).expect("it fits") + 1
}

/// What the program does with a configuration.
fn survives(config: &Config) {
    let listen = Listen::parse(&config.listen.to_string());
    assert_eq!(listen.ok().as_ref(), Some(&config.listen), "shown and read");
    for address in config.upstream.addresses() {
        let again = Address::parse(&address.to_string());
        assert_eq!(again.ok().as_ref(), Some(address), "shown and read");
    }
    let shown = format!("{:?}", config.control.password);
    assert!(!shown.contains(SECRET), "a password is shown");
    for (index, rule) in config.rules.iter().enumerate() {
        assert_eq!(rule.index, index, "rules keep their order");
        assert!(rule.slots <= 256, "slots in their range");
        assert!(!rule.columns.is_empty(), "a rule counts something");
        if rule.has_slots() {
            assert_ne!(rule.slot_table, rule.table, "slots of their own");
        }
    }
}

/// The example, and the pieces of it that the manual shows.
pub(crate) fn seeds(root: &Path) -> Vec<Vec<u8>> {
    let read = |path: &str| {
        let path = root.join(path);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"))
    };
    let mut seeds = vec![read("rules.yaml").into_bytes()];
    let manual = read("docs/rules.md");
    let blocks = manual.split("```").skip(1).step_by(2);
    let blocks = blocks.filter_map(|block| block.strip_prefix("yaml"));
    seeds.extend(blocks.map(|block| block.trim_start().as_bytes().to_vec()));
    let small = "upstream: db:3306\nadmin: 127.0.0.1:6034\ncounters:\n- {table: shop.posts, columns: [views]}\n";
    seeds.push(small.as_bytes().to_vec());
    let full = "listen: 127.0.0.1:6033, unix:/run/a.sock\nupstreams: [a:1, b:2]\nsingle_writer: yes\nhttp: '[::1]:80'\ncontrol: {user: cs, password: '${PW}'}\n\
                tls: {client: disabled}\nupstream_tls: {mode: preferred}\nproxy_protocol: {from: [10.0.0.0/8], send: true}\nslot_table: '{schema}.{table}_s'\n\
                handshake_timeout: 5s\ndrain_timeout: 1m\nmax_connections: 100\nmax_user_connections: 10\nmax_address_connections: 5\nmax_logins: 50\n\
                reserved_connections: {connections: 2, users: [root]}\nbypass: {users: [backup], programs: [mysqldump]}\n\
                counters:\n- {table: shop.posts, columns: [views, likes], touch: [changed_at], slots: 8, mode: observe, rollup: 2s, rest: never}\n\
                - {table: '`my.shop`.`hits`', columns: [n], slot_table: shop.hits_s, adopts: shop.hand, record_type: 5}\n";
    seeds.push(full.as_bytes().to_vec());
    seeds
}
