//! Writes the seeds of each target into a folder of its name, for libFuzzer to begin with: see README.md.

use std::fs;
use std::path::PathBuf;

use countersink_fuzz::{TARGETS, corpus};

fn main() -> std::io::Result<()> {
    let folder = std::env::args_os().nth(1).map(PathBuf::from);
    let folder = folder.expect("the folder to write into is the argument");
    for target in &TARGETS {
        let folder = folder.join(target.name);
        fs::create_dir_all(&folder)?;
        for entry in corpus::seeds(target) {
            fs::write(folder.join(entry.name), entry.data)?;
        }
        let words = target.words.iter().map(|word| {
            let bytes = word.bytes().map(|byte| format!("\\x{byte:02x}"));
            format!("\"{}\"\n", bytes.collect::<String>())
        });
        let dictionary = folder.with_extension("words");
        fs::write(dictionary, words.collect::<String>())?;
    }
    Ok(())
}
