//! libFuzzer's binary of this target: see ../README.md.
#![no_main]

use countersink_fuzz::compressed::check;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| check(data));
