//! TLS on both sides.

use super::settings::truth;
use super::{Check, Text};
use crate::config::error::{Error, Problem};
use crate::config::raw::{RawClientTls, RawUpstreamTls, Scalar};
use crate::config::{
    CertificateFiles, ClientCertificates, ClientTls, UpstreamTls, Upstreams, Verify,
};

const OVER_A_SOCKET: &str = "TLS over a unix socket protects nothing; leave upstream_tls out";

/// `tls.client`.
#[derive(PartialEq, Eq)]
enum Client {
    Disabled,
    Enabled,
    Required,
}

/// `upstream_tls.mode`.
enum Mode {
    Disabled,
    Preferred,
    AsClient,
    Required,
}

fn client(text: &Text) -> Result<Client, Problem> {
    match text.value.as_str() {
        "disabled" => Ok(Client::Disabled),
        "enabled" => Ok(Client::Enabled),
        "required" => Ok(Client::Required),
        _ => Err(Problem::Choice {
            value: text.to_string(),
            choices: "required or disabled, or leave it out",
        }),
    }
}

/// Whether a certificate is required.
fn client_certificate(text: &Text) -> Result<bool, Problem> {
    match text.value.as_str() {
        "optional" => Ok(false),
        "required" => Ok(true),
        _ => Err(Problem::Choice {
            value: text.to_string(),
            choices: "optional or required",
        }),
    }
}

impl Check<'_> {
    /// `None` if clients are offered no TLS.
    pub(super) fn client_tls(&self, raw: RawClientTls) -> Result<Option<ClientTls>, Error> {
        let client = self.field("tls.client", raw.client, client)?;
        let client = client.unwrap_or(Client::Enabled);
        let together = |field, text| Err(self.error(field, 0, Problem::Together(text)));
        if client == Client::Disabled {
            let shows = raw.certificate.is_some() || raw.key.is_some();
            let asks = [&raw.ca, &raw.crl, &raw.client_certificate];
            let asks = asks.iter().any(|key| key.is_some());
            return match (shows, asks) {
                (false, false) => Ok(None),
                (true, _) => together(
                    "tls.client",
                    "is disabled, but there is a certificate or a key; delete the one or the other",
                ),
                (false, true) => together(
                    "tls.client",
                    "is disabled, but certificates of clients are asked for; delete the one or the other",
                ),
            };
        }
        let fields = ["tls.certificate", "tls.key"];
        let certificate = self.certificate(fields, [raw.certificate, raw.key])?;
        let ca = self.path("tls.ca", raw.ca)?;
        let crl = self.path("tls.crl", raw.crl)?;
        let is_required = self.field(
            "tls.client_certificate",
            raw.client_certificate,
            client_certificate,
        )?;
        if is_required.is_some() && ca.is_none() {
            return together(
                "tls.client_certificate",
                "needs tls.ca, which says whose certificates clients may show; name the PEM file",
            );
        }
        if crl.is_some() && ca.is_none() {
            return together(
                "tls.crl",
                "needs tls.ca, whose authorities have revoked the certificates; name the PEM file",
            );
        }
        if is_required == Some(true) && client != Client::Required {
            return together(
                "tls.client_certificate",
                "is required, but clients without TLS, who show none, are let in; write client: required too",
            );
        }
        Ok(Some(ClientTls {
            is_required: client == Client::Required,
            certificate,
            clients: ca.map(|ca| ClientCertificates {
                ca,
                crl,
                is_required: is_required.unwrap_or(false),
            }),
        }))
    }

    /// What is named in the two fields: both files, or none.
    fn certificate(
        &self,
        [certificate_field, key_field]: [&str; 2],
        [certificate, key]: [Option<Scalar>; 2],
    ) -> Result<Option<CertificateFiles>, Error> {
        let certificate = self.path(certificate_field, certificate)?;
        let key = self.path(key_field, key)?;
        let missing = |field, text| Err(self.error(field, 0, Problem::Together(text)));
        match (certificate, key) {
            (Some(certificate), Some(key)) => Ok(Some(CertificateFiles { certificate, key })),
            (None, None) => Ok(None),
            (Some(_), None) => missing(key_field, "is missing; a certificate needs its key"),
            (None, Some(_)) => {
                missing(certificate_field, "is missing; a key needs its certificate")
            }
        }
    }

    /// With the proxy's own certificate, if it has one.
    pub(super) fn upstream_tls(
        &self,
        mut raw: RawUpstreamTls,
        upstream: &Upstreams,
    ) -> Result<(UpstreamTls, Option<CertificateFiles>), Error> {
        let fields = ["upstream_tls.certificate", "upstream_tls.key"];
        let files = self.certificate(fields, [raw.certificate.take(), raw.key.take()])?;
        let tls = self.toward_upstream(raw, upstream)?;
        let refuse = |text| Err(self.error(fields[0], 0, Problem::Together(text)));
        match files {
            Some(_) if upstream.is_local() => refuse(OVER_A_SOCKET),
            Some(_) if tls == UpstreamTls::Disabled => refuse(
                "is shown by TLS, and upstream_tls.mode is disabled; write another mode, or delete certificate and key",
            ),
            files => Ok((tls, files)),
        }
    }

    fn toward_upstream(
        &self,
        raw: RawUpstreamTls,
        upstream: &Upstreams,
    ) -> Result<UpstreamTls, Error> {
        let ca = self.path("upstream_tls.ca", raw.ca)?;
        let host = self.field("upstream_tls.verify_host", raw.verify_host, truth)?;
        let mode = self.field("upstream_tls.mode", raw.mode, |text| {
            match (text.value.as_str(), upstream.is_local()) {
                ("disabled", _) => Ok(Mode::Disabled),
                ("preferred", _) => Ok(Mode::Preferred),
                ("as_client", _) => Ok(Mode::AsClient),
                ("required", false) => Ok(Mode::Required),
                ("required", true) => Err(Problem::Together(OVER_A_SOCKET)),
                _ => Err(Problem::Choice {
                    value: text.to_string(),
                    choices: "disabled, preferred, as_client or required",
                }),
            }
        })?;
        let mode = mode.unwrap_or(match upstream.are_this_host() {
            true => Mode::AsClient,
            false => Mode::Preferred,
        });
        let together = |field, text| Err(self.error(field, 0, Problem::Together(text)));
        if host == Some(true) && ca.is_none() {
            return together(
                "upstream_tls.verify_host",
                "needs upstream_tls.ca, which says whose certificates are trusted; name the PEM file",
            );
        }
        let verify = ca.map(|ca| Verify {
            ca,
            host: host.unwrap_or(false),
        });
        match (mode, verify) {
            (Mode::Disabled, None) => Ok(UpstreamTls::Disabled),
            (Mode::Preferred, None) => Ok(UpstreamTls::Preferred),
            (Mode::AsClient, verify) => Ok(UpstreamTls::AsClient(verify)),
            (Mode::Required, Some(verify)) => Ok(UpstreamTls::Required(verify)),
            (Mode::Required, None) => together(
                "upstream_tls.ca",
                "is missing; name the PEM file that verifies the server",
            ),
            (Mode::Disabled | Mode::Preferred, Some(_)) => together(
                "upstream_tls.ca",
                "certificates are only verified in the modes required and as_client; write mode: required",
            ),
        }
    }
}
