//! The store, as users meet it.

use super::House;

#[test]
fn profiles_go_out_and_come_back_whole() {
    let house = House::new();
    assert!(
        house
            .profile(
                &["--tag", "size=1", "--tag", "kind=a"],
                &["sh", "-c", "dd if=/dev/zero of=f bs=4k count=500 2>/dev/null"]
            )
            .success()
    );
    let show = |id: u32| {
        let mut shown = house.shown(id);
        shown["id"] = 0.into();
        shown
    };
    for (place, kind) in ["json", "csv", "parquet"].into_iter().enumerate() {
        let file = format!("out.{kind}");
        house.done(&["profiles", "export", "-o", &file, "1"]);
        let id = house.done(&["profiles", "import", &file]);
        assert_eq!(id.trim(), (place + 2).to_string());
        assert_eq!(show(place as u32 + 2), show(1), "{kind}");
        house.done(&["profiles", "export", "-o", "again.csv", id.trim()]);
        house.done(&["profiles", "export", "-o", "first.csv", "1"]);
        let lines = |name: &str| -> Vec<String> {
            let text = std::fs::read_to_string(house.path().join(name)).expect("written");
            text.lines().skip(1).map(str::to_owned).collect()
        };
        assert_eq!(lines("again.csv"), lines("first.csv"), "samples through {kind}");
    }
    let list = house.done(&["profiles", "list", "--tag", "size=1", "--tag", "kind=a"]);
    assert_eq!(list.lines().count(), 5, "{list}");
    assert_eq!(house.done(&["profiles", "list", "--tag", "size=2"]).lines().count(), 1);
    let removed = house.done(&["profiles", "rm", "2"]);
    assert!(
        removed.starts_with("profile 2 (sh -c ") && removed.ends_with("\nremoved 1 of them\n"),
        "{removed}"
    );
    assert_eq!(house.done(&["profiles", "list"]).lines().count(), 4);
    let stats = house.done(&["profiles", "stats", "--tag", "size=1"]);
    assert!(stats.contains("3 profiles") && stats.contains("write_bytes"), "{stats}");
    let page = house.path().join("page.html");
    house.done(&["profiles", "show", "--html", "page.html", "--tag", "size=1"]);
    let page = std::fs::read_to_string(page).expect("written");
    assert!(
        page.contains("<svg") && page.contains("Repeats") && !page.contains("http://127"),
        "a page with charts"
    );
    assert!(!page.contains("<script") && !page.contains("<link"), "it needs nothing else");
}

#[test]
fn tags_are_one_line_and_no_commands_to_a_terminal() {
    let house = House::new();
    let tag = "kind=\u{1b}]0;owned\u{7}red\nSECOND LINE";
    assert!(house.profile(&["--tag", tag, "--tag", "a=b"], &["true"]).success());
    let (list, shown) = (house.done(&["profiles", "list"]), house.done(&["profiles", "show", "1"]));
    assert_eq!(list.lines().count(), 2, "{list:?}");
    assert!(list.contains("  a=b  kind=\"\\u{1b}]0;owned"), "{list:?}");
    assert!(![list, shown].concat().contains('\u{1b}'));
    assert_eq!(house.done(&["profiles", "list", "--tag", tag]).lines().count(), 2, "found as it is");
}

#[test]
fn files_that_are_cut_are_not_imported() {
    let house = House::new();
    assert!(house.profile(&["--rate", "100"], &["sleep", "0.1"]).success());
    house.done(&["profiles", "export", "-o", "whole.json", "1"]);
    house.done(&["profiles", "export", "-o", "whole.csv", "1"]);
    let text = std::fs::read_to_string(house.path().join("whole.json")).expect("written");
    let lines: Vec<&str> = text.lines().collect();
    let mut head: serde_json::Value = serde_json::from_str(lines[0]).expect("an object");
    let mut sample: serde_json::Value = serde_json::from_str(lines[1]).expect("a list");
    sample[0].as_array_mut().expect("a list").truncate(5);
    let refused = |name: &str, text: &str, why: &str| {
        std::fs::write(house.path().join(name), text).expect("a file");
        let output = house.syn(&["profiles", "import", name]);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(1) && told.contains(why), "{name}: {told}");
    };
    refused(
        "sample.json",
        &format!("{}\n{sample}\n", lines[0]),
        "sample 1 is not well-formed: it has 5 numbers",
    );
    head["tail"]["totals"].as_array_mut().expect("a list").truncate(3);
    refused("totals.json", &format!("{head}\n{}\n", lines[1]), "invalid length 3");
    refused("kind.csv", &text, "does not begin with `# syn-profile 3`");
    refused("word.json", &format!("{}\n[1, x]\n", lines[0]), "sample 1 is not well-formed: invalid type");
    let csv = std::fs::read_to_string(house.path().join("whole.csv")).expect("written");
    let (begin, last) = csv.trim_end().rsplit_once('\n').expect("lines");
    let shorter = last.split_once(',').expect("cells").1;
    refused("short.csv", &format!("{begin}\n{shorter}\n"), "numbers, and not ");
    refused("wrong.csv", &format!("{begin}\nx,{shorter}\n"), "\"x\" is no number");
    assert_eq!(house.done(&["profiles", "list"]).lines().count(), 2, "nothing of them is left");
}

#[test]
fn options_that_make_no_sense_are_refused() {
    let house = House::new();
    assert!(house.profile(&[], &["true"]).success());
    let refused = |words: &[&str], code: i32, why: &str| {
        let output = house.syn(words);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(code) && told.contains(why), "{words:?}: {told}");
    };
    refused(&["emulate", "--rate", "0", "1"], 2, "more than 0");
    refused(&["profile", "--tag", "=x", "--", "true"], 2, "it is KEY=VALUE");
    refused(&["profile", "--tag", "a=1", "--tag", "a=2", "--", "true"], 1, "--tag a is given twice");
    refused(&["profiles", "list", "--tag", "a=1", "--tag", "a=2"], 1, "--tag a is given twice");
    refused(&["replay", "--storage", ".", "."], 1, "merge it first (`syn-merge`)");
}

#[test]
fn what_is_no_store_is_told_apart() {
    let house = House::new();
    let list = |name: &str| {
        let output = house.syn(&["profiles", "list", "--store", name]);
        assert_eq!(output.status.code(), Some(1), "{name}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    std::fs::write(house.path().join("text"), "not a database, and long enough to be looked at. ".repeat(30))
        .expect("a file");
    assert!(list("text").contains("is not a store"), "{}", list("text"));
    assert!(list("missing").contains("there is no store"));
    assert!(house.profile(&[], &["true"]).success());
    let late = house.syn(&["emulate", "true", "--rate", "5"]);
    assert!(String::from_utf8_lossy(&late.stderr).contains("options of syn come first"), "{late:?}");
    assert!(house.profile(&["--store", "newer"], &["true"]).success());
    let done = std::process::Command::new("sqlite3")
        .args(["newer", "PRAGMA user_version = 9"])
        .current_dir(house.path())
        .status();
    assert!(done.expect("sqlite3 is installed").success());
    assert!(list("newer").contains("has version 9"), "{}", list("newer"));
    let other = std::process::Command::new("sqlite3")
        .args(["other", "CREATE TABLE t (x)"])
        .current_dir(house.path())
        .status();
    assert!(other.expect("sqlite3 is installed").success());
    assert!(list("other").contains("is not a store"));
}

#[test]
fn a_damaged_store_is_told_and_named() {
    let house = House::new();
    assert!(house.profile(&["--store", "s"], &["true"]).success());
    let path = house.path().join("s");
    let mut bytes = std::fs::read(&path).expect("a store");
    assert!(bytes.len() > 8192);
    bytes[4096..].fill(0xa5);
    std::fs::write(&path, bytes).expect("a file");
    let output = house.syn(&["profiles", "check", "--store", "s"]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && error.contains("damaged"), "{error}");
}

#[test]
fn several_writers_wait_for_each_other() {
    let house = House::new();
    let words = ["profile", "--no-probe", "--rate", "1000", "--", "sleep", "0.3"];
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..6).map(|_| scope.spawn(|| house.done(&words))).collect();
        all.into_iter().for_each(|one| drop(one.join().expect("it went well")));
    });
    let list = house.done(&["profiles", "list"]);
    assert_eq!(list.matches("exit 0").count(), 6, "{list}");
    house.done(&["profiles", "check"]);
}

#[test]
fn a_profiler_that_is_killed_leaves_an_unfinished_profile() {
    let house = House::new();
    let mut profiler = std::process::Command::new(super::program())
        .args(["profile", "--no-probe", "--rate", "1000", "--", "sh", "-c", "touch begun; exec sleep 5"])
        .current_dir(house.path())
        .env("SYN_PROFILES", house.path().join("profiles.db"))
        .spawn()
        .expect("syn can be started");
    let stored = |house: &House| {
        house.done(&["profiles", "list"]).lines().nth(1).is_some_and(|line| !line.contains(" 0 unfinished"))
    };
    let begun = std::time::Instant::now();
    while !(house.path().join("begun").exists() && stored(&house)) {
        assert!(begun.elapsed().as_secs() < 60, "samples reach the store while the command runs");
        std::thread::yield_now();
    }
    profiler.kill().expect("it is ours");
    profiler.wait().expect("it is ours");
    house.done(&["profiles", "check"]);
    let list = house.done(&["profiles", "list"]);
    assert!(list.contains("unfinished"), "{list}");
    let stats = house.done(&["profiles", "stats"]);
    assert!(stats.contains("never ended: 1") && !stats.contains("run_time_s"), "{stats}");
}
