#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| pausegate_fuzz::targets::url_normal_form::target(bytes));
