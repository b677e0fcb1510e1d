//! The `countersink` command: arguments in, exit code out.

fn main() -> std::process::ExitCode {
    countersink::cli::run()
}
