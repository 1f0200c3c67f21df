#![no_main]

use agcore::types::Api;

libfuzzer_sys::fuzz_target!(|data: &[u8]| agcore_fuzz::any_bytes(Api::Interactions, data));
