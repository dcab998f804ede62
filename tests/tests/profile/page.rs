//! The page about a profile, as a browser shows it.

use super::House;
use std::process::Command;

const WORK: &str = r#"
import time
held = bytearray(8 << 20)
with open("out", "wb", buffering=0) as file:
    for _ in range(200): file.write(b"x" * 20000)
while time.process_time() < 0.4: pass
"#;

/// Chromium on a page, without a display; what it wrote to its standard output.
fn chromium(house: &House, options: &[&str], page: &str) -> String {
    let mut command = Command::new("timeout");
    command.args(["300", "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]);
    command.args(["--disable-dev-shm-usage", "--window-size=1000,3200", "--virtual-time-budget=2000"]);
    // Whatever the page might want to load does not come from anywhere.
    command.args(["--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr", "--v=0"]);
    command.arg(format!("--user-data-dir={}", house.path().join("browser").display()));
    command.args(options).arg(format!("file://{}", house.path().join(page).display()));
    let output = command.output().expect("chromium is installed by scripts/setup");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    assert!(!told.contains("CONSOLE"), "the page complains: {told}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Width, height and number of different bytes in the compressed data of a PNG.
fn size_of(png: &[u8]) -> (u32, u32) {
    assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"), "a picture");
    let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().expect("four bytes"));
    (number(16), number(20))
}

#[test]
fn a_browser_shows_all_charts_without_a_network() {
    let house = House::new();
    for _ in 0..3 {
        let options = ["--rate", "100", "--shim", "--tag", "kind=page"];
        assert!(house.profile(&options, &["python3", "-c", WORK]).success());
    }
    let syn = super::program();
    let emulate = [syn.to_str().expect("a name that is text"), "emulate", "1"];
    assert!(house.profile(&["--rate", "100"], &emulate).success());
    house.done(&["profiles", "show", "--html", "page.html", "--over", "4", "--tag", "kind=page"]);
    std::fs::write(house.path().join("empty.html"), "<!doctype html><title>nothing</title>").expect("a file");
    let dom = chromium(&house, &["--dump-dom"], "page.html");
    for chart in
        ["Processors in use", "Resident memory", "Written", "Processes over time", "Sizes: write", "Repeats"]
    {
        let (_, behind) =
            dom.split_once(&format!("<h2>{chart}</h2>")).unwrap_or_else(|| panic!("no {chart}"));
        assert!(behind.starts_with("<svg"), "{chart} is a chart");
        let chart = behind.split("</svg>").next().expect("its text");
        assert!(chart.contains("<polyline") || chart.contains("<rect") || chart.contains("<circle"));
    }
    assert!(dom.contains("emulate 1"), "the emulation is laid over the profile");
    let picture = |page: &str, name: &str| {
        let path = house.path().join(name);
        chromium(&house, &[&format!("--screenshot={}", path.display())], page);
        std::fs::read(path).expect("a picture")
    };
    let (shown, empty) = (picture("page.html", "page.png"), picture("empty.html", "empty.png"));
    assert_eq!(size_of(&shown), size_of(&empty));
    // How much depends on the fonts that there are.
    assert!(shown.len() > 5 * empty.len(), "{} bytes, an empty page has {}", shown.len(), empty.len());
}
