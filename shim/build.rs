//! Links the shim so that its constructor runs first: other libraries' constructors make calls too.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,initfirst");
}
