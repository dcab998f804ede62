//! Links the shim so that its constructor runs first: other libraries' constructors make calls too. And without
//! libgcc_s: the library unwinds nothing of its own, and one library less in the program is a tenth of a millisecond
//! less at start.

use std::path::PathBuf;

/// The layout decides what each process pays at its start, and so the linker is the same on every machine that has it.
fn lay_out() {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if !std::env::split_paths(&path).any(|folder| folder.join("ld.bfd").is_file()) {
        println!(
            "cargo:warning=no ld.bfd here (Debian's binutils): recorded processes start somewhat slower"
        );
        return;
    }
    println!("cargo:rustc-cdylib-link-arg=-fuse-ld=bfd");
    // Code and constants in one mapping: each further one costs some microseconds.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,noseparate-code");
    // What belongs together by its name lies together.
    println!("cargo:rustc-cdylib-link-arg=-Wl,--sort-section=name");
    println!("cargo:rerun-if-changed=layout.ld");
    let script =
        PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("layout.ld");
    println!("cargo:rustc-cdylib-link-arg=-T");
    println!("cargo:rustc-cdylib-link-arg={}", script.display());
    // As the script takes it to be: there is nothing to be filled in after the start.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,now");
    // Without the C compiler's crti.o and its kin, which start and end nothing here: constructors and destructors are in lists.
    println!("cargo:rustc-cdylib-link-arg=-nostartfiles");
    // What the library calls of its own need not be looked up.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-Bsymbolic-functions");
}

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,initfirst");
    // Processes know each other's library by it (`core/detour/shared.rs`).
    println!("cargo:rustc-cdylib-link-arg=-Wl,--build-id");
    let folder = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR for build scripts"));
    lay_out();
    // The standard library asks for the shared one by name; what the linker finds first is this script.
    std::fs::write(folder.join("libgcc_s.so"), "INPUT(-lgcc_eh)\n").expect("OUT_DIR is writable");
    println!("cargo:rustc-link-search=native={}", folder.display());
}
