//! The dashboard: one page, and what it is made of. It asks for `/status.json` and for nothing else, and needs no other
//! host.

/// A file of the page.
#[derive(Debug)]
pub(super) struct Asset {
    pub path: &'static str,
    pub content_type: &'static str,
    pub text: &'static str,
}

/// Where browsers go.
pub(super) const PAGE: &str = "/dashboard";

/// What the page may do: load its own files, and ask the proxy.
pub(super) const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
     img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const SCRIPT: &str = "text/javascript; charset=utf-8";

const ASSETS: [Asset; 6] = [
    Asset {
        path: PAGE,
        content_type: "text/html; charset=utf-8",
        text: include_str!("dashboard/index.html"),
    },
    Asset {
        path: "/dashboard/style.css",
        content_type: "text/css; charset=utf-8",
        text: include_str!("dashboard/style.css"),
    },
    Asset {
        path: "/dashboard/script.js",
        content_type: SCRIPT,
        text: include_str!("dashboard/script.js"),
    },
    Asset {
        path: "/dashboard/figures.js",
        content_type: SCRIPT,
        text: include_str!("dashboard/figures.js"),
    },
    Asset {
        path: "/dashboard/draw.js",
        content_type: SCRIPT,
        text: include_str!("dashboard/draw.js"),
    },
    Asset {
        path: "/dashboard/icon.svg",
        content_type: "image/svg+xml",
        text: include_str!("dashboard/icon.svg"),
    },
];

/// The file at this path.
pub(super) fn asset(path: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.path == path)
}
