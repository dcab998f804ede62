//! Links the shim so that its constructor runs first: other libraries' constructors make calls too. And without
//! libgcc_s: the library unwinds nothing of its own, and one library less in the program is a tenth of a millisecond
//! less at start.

use std::path::PathBuf;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,initfirst");
    // One linker on every machine: the layout decides what each process pays at its start. Code and constants lie in one
    // mapping, of which each further one costs some microseconds.
    println!("cargo:rustc-cdylib-link-arg=-fuse-ld=bfd");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,noseparate-code");
    // What belongs together by its name lies together, and `.bss.tables` behind the other statics.
    println!("cargo:rustc-cdylib-link-arg=-Wl,--sort-section=name");
    let folder = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR for build scripts"));
    // The standard library asks for the shared one by name; what the linker finds first is this script.
    std::fs::write(folder.join("libgcc_s.so"), "INPUT(-lgcc_eh)\n").expect("OUT_DIR is writable");
    println!("cargo:rustc-link-search=native={}", folder.display());
}
