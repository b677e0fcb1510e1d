//! Writes the captured responses of both servers into the corpus.

#[path = "../../src/wire/response/tests/case.rs"]
#[allow(dead_code, reason = "the tests of the tracker take the other parts")]
mod case;
#[path = "../input.rs"]
mod input;
#[path = "../../src/wire/response/tests/replay.rs"]
#[allow(dead_code, reason = "the target takes the other parts")]
mod replay;
#[path = "../../src/wire/mod.rs"]
#[allow(dead_code, unused_imports, reason = "the tracker is all that is used")]
mod wire;

use std::fs;
use std::path::Path;

use input::Input;

fn main() -> std::io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let corpus = root.join("corpus/response_tracker");
    fs::create_dir_all(&corpus)?;
    for case in case::cases_in(&root.join("../tests/cases/responses")) {
        let streams = case
            .responses
            .iter()
            .map(|response| (response, response.stream()));
        for (number, (response, stream)) in streams.enumerate() {
            let input = Input {
                form: case.form(),
                capabilities: response.capabilities[0],
                lengths: &[6, 0, 19],
                stream: &stream,
            };
            let name = format!("{}_{number}", case.name());
            fs::write(corpus.join(name), input.encode())?;
        }
    }
    Ok(())
}
