//! Arguments of `countersink advise`.

use std::time::Duration;

use clap::Args;

use super::proxy::Url;
use crate::cli::target::TargetArguments;
use crate::config::DurationRange;

pub(in crate::cli) const EXAMPLES: &str = "\
Examples:
  ADVISE_PASSWORD=.. countersink advise --upstream db.test:3306 --user advisor --password-env ADVISE_PASSWORD
  countersink advise --for 1m                       upstream and control account of ./rules.yaml
  countersink advise --proxy http://127.0.0.1:9090  by what passes a running proxy, at the `http` of its rules.yaml
  countersink advise --json > advice.json           for programs; docs/advise.md has the fields

It reads alone, from any MySQL or MariaDB server, with or without the proxy in front. Run it while the load is what it is
when it hurts; Ctrl-C ends the time early. The account needs one of
  GRANT SELECT ON performance_schema.* TO ..;       MySQL: rows, statements, how often they run
  GRANT PROCESS ON *.* TO ..;                       MariaDB; MySQL with less to see
and SELECT, UPDATE, TRIGGER on the tables, to see whether they can be hot; what it could not see is said.

Exit codes:
  0  the server was watched, whether or not a rule is advised
  1  the server or the proxy cannot be reached, or does not answer
  2  wrong usage, the server refuses the account, or lets it see no lock waits";

/// The range of `--for`.
const WINDOW: DurationRange = DurationRange {
    low: (Duration::from_secs(1), "1s"),
    high: (Duration::from_secs(3600), "1h"),
};

/// Arguments of `countersink advise`.
#[derive(Debug, Args)]
pub(in crate::cli) struct AdviseArguments {
    #[command(flatten)]
    pub(super) target: TargetArguments,
    /// How long to watch, as in 10s or 5m.
    #[arg(long = "for", value_name = "TIME", default_value = "10s", value_parser = |text: &str| WINDOW.parse(text))]
    pub(super) window: Duration,
    /// Watch the statements that pass this proxy, rather than the server: http://HOST:PORT, the `http` of its
    /// rules.yaml.
    #[arg(long, value_name = "URL", value_parser = Url::parse)]
    pub(super) proxy: Option<Url>,
    /// Print one JSON object.
    #[arg(long)]
    pub(super) json: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        advise: AdviseArguments,
    }

    fn parse(words: &str) -> Result<AdviseArguments, String> {
        let words = std::iter::once("advise").chain(words.split_whitespace());
        let line = Line::try_parse_from(words);
        line.map(|line| line.advise)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn nothing_has_to_be_said() {
        let advise = parse("").unwrap();
        assert_eq!(advise.window, Duration::from_secs(10));
        assert!(advise.proxy.is_none() && !advise.json);
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_what_would() {
        for (words, remedy) in [
            ("--for 5", "with its unit"),
            ("--for 2h", "from 1s to 1h"),
            ("--upstream db", "the port is missing"),
            ("--password-env X", "--user"),
            ("--proxy 127.0.0.1:9090", "http://HOST:PORT"),
            ("--proxy https://a:1", "http://HOST:PORT"),
        ] {
            let error = parse(words).unwrap_err();
            assert!(error.contains(remedy), "{words}: {error}");
        }
    }
}
