//! Two hosts on one machine: network namespaces with host names of their own, joined by a cable. On the other one a process
//! runs what is written into the named pipe `requests`.

use crate::Job;
use std::path::Path;

/// Makes the other host, and runs its arguments here.
const TWO_HOSTS: &str = r#"
set -e
echo one >/proc/sys/kernel/hostname
mkfifo requests answers
unshare --uts --net --mount $OTHER_CLOCKS sh -c '
    [ -z "$OTHER_CLOCKS" ] || mount --bind other-boot-id /proc/sys/kernel/random/boot_id
    echo two >/proc/sys/kernel/hostname
    exec 3<>requests
    while read -r line <&3; do sh -c "$line" & done' &
export PEER=$!
trap 'kill $PEER' EXIT
until [ "$(nsenter --target $PEER --uts uname -n)" = two ]; do sleep 0.01; done
ip link set lo up
ip link add name to-two type veth peer name to-one
ip link set to-one netns $PEER
ip address add 10.77.0.1/24 dev to-two
ip link set to-two up
nsenter --target $PEER --net sh -c 'ip link set lo up; ip address add 10.77.0.2/24 dev to-one; ip link set to-one up'
"$@"
"#;

/// Whether there may be namespaces here.
pub fn are_allowed() -> bool {
    let probe =
        ["--user", "--map-root-user", "--uts", "--net", "--mount", "ip", "link", "add", "type", "veth"];
    let outcome = Job::new("unshare").args(probe).run_in(Path::new("/"));
    if !outcome.status.success() {
        eprintln!("left out: namespaces are not allowed here: {}", outcome.stderr.trim());
    }
    outcome.status.success()
}

/// What follows runs on host one, in `folder`, with these options of unshare(1) for host two: none, or those of a machine with a
/// clock of its own.
pub fn on_two(folder: &Path, other_clocks: &[&str]) -> Job {
    std::fs::write(folder.join("two-hosts"), TWO_HOSTS).expect("a script");
    std::fs::write(folder.join("other-boot-id"), "0f0e0d0c-0b0a-0908-0706-050403020100\n").expect("a file");
    let own = ["--user", "--map-root-user", "--uts", "--net", "--mount", "sh", "two-hosts"];
    Job::new("unshare").args(own).env("OTHER_CLOCKS", other_clocks.join(" "))
}
