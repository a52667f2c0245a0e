fn main() {
    // Without this, any file of the package that changes (index.js with each build) has everything compiled again.
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var_os("CARGO_FEATURE_NODE").is_some() {
        napi_build::setup();
    }
}
