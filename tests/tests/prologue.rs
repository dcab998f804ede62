//! The instructions that the shim knows by itself are what the decoder library says they are, at the entry of every
//! function of libc.

#[path = "../../shim/src/core/prologue.rs"]
mod prologue;

use iced_x86::{Code, Decoder, DecoderOptions, FlowControl};
use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};
use std::collections::BTreeMap;

/// Bytes at an entry that are looked at, as many as the shim does.
const WINDOW: usize = 32;

/// The first bytes of every function that libc exports.
fn entries() -> BTreeMap<String, [u8; WINDOW]> {
    let maps = std::fs::read_to_string("/proc/self/maps").expect("the mappings of this process");
    let libc =
        maps.lines().find_map(|line| line.split_once('/').filter(|pair| pair.1.ends_with("/libc.so.6")));
    let bytes =
        std::fs::read(format!("/{}", libc.expect("this test is linked against libc.so.6").1)).expect("libc");
    let file = object::File::parse(&*bytes).expect("libc is an ELF file");
    let text = file.section_by_name(".text").expect("libc has code");
    let (start, code) = (text.address(), text.data().expect("the code is in the file"));
    let mut found = BTreeMap::new();
    for symbol in file.dynamic_symbols().filter(|symbol| symbol.kind() == SymbolKind::Text) {
        let window =
            symbol.address().checked_sub(start).and_then(|at| code.get(at as usize..)?.first_chunk());
        if let Some(window) = window {
            found.insert(symbol.name().expect("a name").to_owned(), *window);
        }
    }
    found
}

#[test]
fn known_instructions_are_what_the_decoder_says() {
    let entries = entries();
    assert!(entries.len() > 1500, "{} functions", entries.len());
    let (mut known, mut unknown) = (0, 0);
    for (name, window) in &entries {
        let mut decoder = Decoder::with_ip(64, window, 1 << 32, DecoderOptions::NONE);
        let mut taken = 0;
        while taken < 5 {
            let Some(step) = prologue::first(&window[taken..]) else {
                unknown += 1;
                break;
            };
            let instruction = decoder.decode();
            let place = decoder.get_constant_offsets(&instruction).displacement_offset();
            let expected = prologue::Step {
                length: instruction.len(),
                distance_at: instruction.is_ip_rel_memory_operand().then_some(place),
            };
            assert_eq!(step, expected, "{name}: {instruction:?} at {taken} of {window:02x?}");
            let straight =
                instruction.flow_control() == FlowControl::Next || instruction.code() == Code::Syscall;
            assert!(straight, "{name}: {instruction:?} at {taken} is no straight-line code");
            taken += step.length;
            known += 1;
        }
        if taken >= 5 && prologue::is_left_alone(window, taken) {
            let mut decoder = Decoder::with_ip(64, window, 1 << 32, DecoderOptions::NONE);
            while decoder.can_decode() {
                let target = decoder.decode().near_branch_target().wrapping_sub(1 << 32);
                assert!(
                    target == 0 || target >= taken as u64,
                    "{name}: a branch to {target} of {window:02x?}"
                );
            }
        }
    }
    assert!(known > 2 * unknown, "{known} instructions known, {unknown} entries with another one");
}

/// What stdio reads and writes through is detoured in every process: the decoder's tables are not wanted for it.
#[test]
fn the_usual_entries_need_no_decoder() {
    let entries = entries();
    const USUAL: [&str; 23] = [
        "_exit",
        "bind",
        "close",
        "connect",
        "getdents64",
        "lseek64",
        "mkdir",
        "open64",
        "openat64",
        "poll",
        "posix_spawn",
        "pread64",
        "pwrite64",
        "read",
        "readv",
        "recvfrom",
        "recvmsg",
        "sendmmsg",
        "sendto",
        "socket",
        "unlink",
        "write",
        "writev",
    ];
    for name in USUAL {
        let (window, mut taken) = (&entries[name], 0);
        while taken < 5 {
            let step = prologue::first(&window[taken..]);
            taken += step.unwrap_or_else(|| panic!("{name} at {taken}: {window:02x?}")).length;
        }
        assert!(prologue::is_left_alone(window, taken), "{name}: {window:02x?}");
    }
}
