//! The `countersink` command: arguments in, exit code out.

use mimalloc::MiMalloc;

/// A statement allocates some dozens of small things and frees them at once: a third of its time in the C library's
/// allocator.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> std::process::ExitCode {
    countersink::cli::run()
}
