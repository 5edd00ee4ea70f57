//! x
/// x
pub fn generated() -> String {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).expect("cfg");
    let bindings = cbindgen::Builder::new().with_crate(&root).with_config(config).generate().expect("gen");
    let mut out = Vec::new();
    bindings.write(&mut out);
    String::from_utf8(out).unwrap()
}
#[test]
fn gen_header() {
    std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/../include/kal.h"), generated()).unwrap();
}
