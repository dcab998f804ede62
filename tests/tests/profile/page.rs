//! Pages about profiles and replays, as a browser shows them.

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
    if tests::is_missing("BROWSER") {
        return;
    }
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

/// Two processes, of which the one waits for the other; a name that a page has to escape.
const PAIR: &str = r#"
import os, time
for number in range(2):
    child = os.fork()
    if child == 0:
        with open(f"part <b>{number}&", "wb", buffering=0) as file:
            for _ in range(20): file.write(b"x" * 5000)
        while time.process_time() < 0.05: pass
        os._exit(0)
    os.waitpid(child, 0)
"#;

#[test]
fn a_browser_shows_where_the_time_of_a_replay_goes() {
    if tests::is_missing("BROWSER") {
        return;
    }
    let house = House::new();
    std::fs::create_dir(house.path().join("storage")).expect("made");
    std::fs::write(house.path().join("<i>pair.py"), PAIR).expect("written");
    house.done(&["record", "-o", "runs", "--", "python3", "-S", "-E", "<i>pair.py"]);
    house.done(&["merge", "runs/1", "-o", "app.syn"]);
    let replay = ["replay", "app.syn", "--storage", "storage", "--repeat", "2"];
    let told = house.done(&[&replay[..], &["--report", "report.json", "--html", "page.html"]].concat());
    assert!(told.contains("came out as recorded"), "{told}");
    let dom = chromium(&house, &["--dump-dom"], "page.html");
    let section = |name: &str| {
        let (_, behind) = dom.split_once(&format!("<h2>{name}</h2>")).unwrap_or_else(|| panic!("no {name}"));
        behind.split("<h2>").next().expect("its text")
    };
    assert!(dom.contains("&lt;i&gt;pair.py") && !dom.contains("<i>pair.py"), "the command is text");
    for replayed in ["recorded", "replayed 1", "replayed 2"] {
        assert!(section("How long it takes").contains(&format!(">{replayed}</span>")), "{replayed}");
    }
    // A bar says of each part how long it is; these are the balance of the report.
    let report: serde_json::Value =
        serde_json::from_slice(&std::fs::read(house.path().join("report.json")).expect("a report"))
            .expect("JSON");
    let bars = section("Where the time of all threads went");
    for (place, side) in ["recorded", "replayed"].into_iter().enumerate() {
        let bar = bars.split("<div class=\"row\">").nth(1 + place).expect("a bar");
        let parts = bar.split("title=\"").skip(1).map(|part| {
            let title = part.split('"').next().expect("its end");
            let (_, seconds) = title.trim_end_matches(" s").rsplit_once(": ").expect("a name");
            seconds.parse::<f64>().expect("a number")
        });
        let sum: f64 = parts.sum();
        let wall = report["balance"][side]["wall_s"].as_f64().expect("a number");
        assert!((sum - wall).abs() < 0.0001 + wall / 1000.0, "{side}: {sum} of {wall} s in {bar}");
    }
    assert!(section("By process").matches("title=\"work: ").count() >= 4, "two processes, twice each");
    assert!(section("Calls").contains("<td>write</td>"), "calls are listed");
}
