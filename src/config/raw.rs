//! rules.yaml as it is written: names of keys are checked here, values later.
//!
//! Every scalar is taken as the text in the file, so that `slots: ${SLOTS}` works, and each error about a value has the
//! words of this room, and a line.

use serde::Deserialize;
use serde_saphyr::Spanned;

use super::error::{Error, Place, Problem};
use super::near::did_you_mean;

/// A scalar with its line.
pub(super) type Scalar = Spanned<String>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a mapping of settings")]
pub(super) struct RawConfig {
    pub(super) listen: Option<Scalar>,
    pub(super) upstream: Option<Scalar>,
    pub(super) upstreams: Option<Vec<Scalar>>,
    pub(super) single_writer: Option<Scalar>,
    pub(super) admin: Option<Scalar>,
    pub(super) admin_account: Option<RawAccount>,
    pub(super) http: Option<Scalar>,
    pub(super) control: Option<RawAccount>,
    pub(super) tls: Option<RawClientTls>,
    pub(super) upstream_tls: Option<RawUpstreamTls>,
    pub(super) sentinel: Option<RawSentinel>,
    pub(super) proxy_protocol: Option<RawProxyProtocol>,
    pub(super) slot_table: Option<Scalar>,
    pub(super) upstream_compression: Option<Scalar>,
    pub(super) handshake_timeout: Option<Scalar>,
    pub(super) drain_timeout: Option<Scalar>,
    pub(super) idle_timeout: Option<Scalar>,
    pub(super) max_connections: Option<Scalar>,
    pub(super) max_user_connections: Option<Scalar>,
    pub(super) max_address_connections: Option<Scalar>,
    pub(super) max_logins: Option<Scalar>,
    pub(super) reserved_connections: Option<RawReserved>,
    pub(super) memory: Option<RawMemory>,
    pub(super) bypass: Option<RawBypass>,
    pub(super) counters: Option<Vec<Spanned<RawRule>>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a mapping with user and password")]
pub(super) struct RawAccount {
    pub(super) user: Option<Scalar>,
    pub(super) password: Option<Scalar>,
}

impl std::fmt::Debug for RawAccount {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("RawAccount")
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a mapping with certificate and key, or client: disabled or required"
)]
pub(super) struct RawClientTls {
    pub(super) client: Option<Scalar>,
    pub(super) certificate: Option<Scalar>,
    pub(super) key: Option<Scalar>,
    pub(super) ca: Option<Scalar>,
    pub(super) crl: Option<Scalar>,
    pub(super) client_certificate: Option<Scalar>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a mapping with mode and ca")]
pub(super) struct RawUpstreamTls {
    pub(super) mode: Option<Scalar>,
    pub(super) ca: Option<Scalar>,
    pub(super) verify_host: Option<Scalar>,
    pub(super) certificate: Option<Scalar>,
    pub(super) key: Option<Scalar>,
    pub(super) public_key: Option<Scalar>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a mapping with server_id")]
pub(super) struct RawSentinel {
    pub(super) server_id: Option<Scalar>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a mapping with from and send")]
pub(super) struct RawProxyProtocol {
    pub(super) from: Option<Vec<Scalar>>,
    pub(super) send: Option<Scalar>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a mapping with connections and users"
)]
pub(super) struct RawReserved {
    pub(super) connections: Option<Scalar>,
    pub(super) users: Option<Vec<Scalar>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a mapping of sizes")]
pub(super) struct RawMemory {
    pub(super) statement: Option<Scalar>,
    pub(super) prepared_statements: Option<Scalar>,
    pub(super) prepared_queries: Option<Scalar>,
    pub(super) plan_cache: Option<Scalar>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a mapping with users and programs")]
pub(super) struct RawBypass {
    pub(super) users: Option<Vec<Scalar>>,
    pub(super) programs: Option<Vec<Scalar>>,
}

#[derive(Debug, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a mapping with at least table and columns"
)]
pub(super) struct RawRule {
    pub(super) table: Option<Scalar>,
    pub(super) columns: Option<Vec<Scalar>>,
    pub(super) touch: Option<Vec<Scalar>>,
    pub(super) slots: Option<Scalar>,
    pub(super) mode: Option<Scalar>,
    pub(super) rollup: Option<Scalar>,
    pub(super) rest: Option<Scalar>,
    pub(super) slot_table: Option<Scalar>,
    pub(super) adopts: Option<Scalar>,
    pub(super) record_type: Option<Scalar>,
}

/// Parses the YAML.
///
/// # Errors
///
/// [`Problem::Yaml`] with its line, but without the lines of the file around it: they may hold a password.
pub(super) fn parse(text: &str) -> Result<RawConfig, Error> {
    let options = serde_saphyr::options! { with_snippet: false };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let line = error.location().map_or(0, |location| location.line());
        let here = usize::try_from(line.saturating_sub(1))
            .ok()
            .and_then(|index| text.lines().nth(index));
        Error {
            place: Box::new(Place::default().at(line)),
            problem: Problem::Yaml {
                message: message(&error, here.unwrap_or_default()),
            },
        }
    })
}

/// What is wrong, in the words of someone who writes YAML rather than parses it; `here` is the line.
fn message(error: &serde_saphyr::Error, here: &str) -> String {
    use serde_saphyr::Error as Yaml;
    match error.without_snippet() {
        Yaml::SerdeUnknownField { field, expected, .. } => {
            let near = did_you_mean(field, expected.iter().copied());
            match near.is_empty() {
                true => format!("`{field}` is not a setting here; write one of {}", expected.join(", ")),
                false => format!("`{field}` is not a setting here{near}"),
            }
        }
        Yaml::DuplicateMappingKey { key, .. } => format!(
            "`{}` stands twice in the same place; delete one of them",
            key.as_deref().unwrap_or("a key")
        ),
        Yaml::Unexpected { expected, .. } => match *expected {
            "mapping start" => "settings are expected here; write them as `name: value`".to_owned(),
            "sequence start" => "a list is expected here; write it as [a, b]".to_owned(),
            "string scalar" => "a single value is expected here, no list and no settings; quote a value that begins with a bracket or brace".to_owned(),
            other => format!("{other} is expected here"),
        },
        Yaml::NullIntoString { .. } => {
            "a value is missing here; write it, or quote it if it is the word null".to_owned()
        }
        Yaml::MultipleDocuments { .. } => {
            "a second YAML document begins here; keep everything in one".to_owned()
        }
        other => {
            // The crate's message repeats the place, which the error shows in its own way.
            let text = other.to_string();
            let plain = text.split(" at line ").next().unwrap_or_default();
            let quotes = match here.contains("${") && here.contains('{') {
                true => "; a value with ${..} in it needs quotes inside braces",
                false => "",
            };
            format!("not YAML: {plain}{quotes}")
        }
    }
}
