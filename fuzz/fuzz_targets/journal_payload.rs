#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| pausegate_fuzz::targets::journal_payload::target(bytes));
