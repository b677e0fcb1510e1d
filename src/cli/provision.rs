//! `countersink provision`: creates the slot tables, or prints the statements for it.

use super::Error;
use crate::catalog;
use crate::config::Config;
use crate::counter::control::Control;
use crate::counter::provision;
use crate::counter::server::is_read_only;

/// The text to print: the report, or the statements.
pub(super) async fn provision(config: &Config, print: bool) -> Result<String, Error> {
    let control = Control::open(config).await?;
    let text = text(&control, config, print).await;
    control.close().await;
    text
}

async fn text(control: &Control, config: &Config, print: bool) -> Result<String, Error> {
    let mut conn = control.connect().await?;
    let catalog = catalog::load(&mut conn, config).await?;
    if print {
        let mut text = provision::print(config, &catalog);
        if control.has_several_writers() {
            text.push_str(&provision::print_for_cluster(config));
        }
        return Ok(text);
    }
    if is_read_only(&mut conn).await.map_err(Error::ReadOnly)? {
        return Err(Error::Replica);
    }
    control.agreement().provide(control).await?;
    let report = provision::provide(control, &mut conn, &catalog).await;
    report
        .map(|report| report.to_string())
        .map_err(|error| Error::provision(error, config))
}
