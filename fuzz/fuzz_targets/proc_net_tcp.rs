#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::proc_net_tcp::hold(bytes));
