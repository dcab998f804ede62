//! `syn watchdog`: watches the board of this host while a job is throttled, and lets held calls go when every other node has exited
//! or is blocked. On several hosts one of them leads: it asks the others what they see, and decides for all.

mod lead;
mod learnt;
mod link;
mod local;
pub mod verdict;

use anyhow::{Context, bail};
use lead::Others;
use learnt::Learnt;
use link::{Link, Message};
pub use link::{SECRET_FILE, Secret};
use local::Local;
pub use local::holds;
use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use syn_trace::board::BoardFile;
use verdict::Verdict;

/// Watches the threads of a throttled job on this host, and decides how long calls are held; `syn record --throttle` starts it
#[derive(clap::Args)]
pub struct Args {
    /// The run folder, with this host's board in it.
    #[arg(long, value_name = "DIR")]
    run: PathBuf,
    /// A run of the same without throttling: what is usual there.
    #[arg(long, value_name = "RUN")]
    learn: Option<PathBuf>,
    /// Another name than this host's, for its board.
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
    /// Leads the watchdogs of these hosts, once they have come.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    hosts: Vec<String>,
    /// The address at which they come; the port is one that is free, and stands in DIR.
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    listen: IpAddr,
    /// Joins the one that leads.
    #[arg(long, conflicts_with = "hosts")]
    join: bool,
}

/// In the run folder: where the watchdog that leads listens.
pub const ADDRESS_FILE: &str = "watchdog-address";

/// Between two looks while somebody is held, and while nobody is.
const LOOK: Duration = Duration::from_micros(500);
const IDLE: Duration = Duration::from_millis(1);

/// Runs the subcommand: until standard input ends, or the watchdog that leads says so.
pub fn run(args: Args) -> anyhow::Result<u8> {
    let host = args.host.unwrap_or_else(host_name);
    let board = BoardFile::open(&args.run, &host)
        .with_context(|| format!("cannot use the board {}", BoardFile::path(&args.run, &host).display()))?;
    let learnt = match &args.learn {
        Some(run) => Learnt::of(run)?,
        None => Learnt::default(),
    };
    let mut local = Local::new(board, Verdict::new(learnt));
    let watched = match args.join {
        true => join(&args.run, &host).and_then(|mut link| follow(&mut local, &mut link)),
        false => {
            let over = standard_input_ends();
            let others = gather(&args.run, args.listen, &args.hosts)?;
            lead(&mut local, others, &over)
        }
    };
    if let Err(error) = watched {
        local.give_up();
        return Err(error.context(format!("{host}: nothing is held any more")));
    }
    Ok(crate::exit_code::DONE)
}

/// Set when whoever started us closes it, or has ended.
fn standard_input_ends() -> Arc<AtomicBool> {
    let over = Arc::new(AtomicBool::new(false));
    let told = over.clone();
    std::thread::spawn(move || {
        let mut rest = Vec::new();
        let _ = std::io::stdin().read_to_end(&mut rest);
        told.store(true, Ordering::Relaxed);
    });
    over
}

/// Listens until all of these hosts have come.
fn gather(run: &Path, listen: IpAddr, hosts: &[String]) -> anyhow::Result<Others> {
    if hosts.is_empty() {
        return Ok(Others::default());
    }
    let listener = TcpListener::bind((listen, 0)).with_context(|| format!("cannot listen at {listen}"))?;
    let secret = Secret::read(run)?;
    let draft = run.join(format!(".{ADDRESS_FILE}"));
    std::fs::write(&draft, listener.local_addr()?.to_string())
        .and_then(|()| std::fs::rename(&draft, run.join(ADDRESS_FILE)))
        .with_context(|| format!("cannot write to {}", run.display()))?;
    Others::gather(listener, secret, hosts)
}

/// Comes to the watchdog that leads.
fn join(run: &Path, host: &str) -> anyhow::Result<Link> {
    let path = run.join(ADDRESS_FILE);
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let address = text.trim().parse().with_context(|| format!("{} holds no address", path.display()))?;
    Link::connect(address, &Secret::read(run)?, host)
}

/// Decides for all hosts. Over a network all are blocked when they were so at two looks, with no progress in between: what one said
/// before another one's message came to it does not count.
fn lead(local: &mut Local, mut others: Others, over: &AtomicBool) -> anyhow::Result<()> {
    let mut held_elsewhere = false;
    let mut quiet_with = None;
    while !over.load(Ordering::Relaxed) {
        local.live();
        let mut seen = local.look(held_elsewhere);
        if !others.is_empty() {
            let theirs = others.look(seen.held || held_elsewhere)?;
            held_elsewhere = theirs.held;
            seen.held |= theirs.held;
            seen.quiet &= theirs.quiet;
            seen.progress = seen.progress.wrapping_add(theirs.progress);
        }
        let before = quiet_with.take();
        if seen.held && seen.quiet {
            if others.is_empty() || before == Some(seen.progress) {
                local.release();
                others.send(Message::Release)?;
                held_elsewhere = false;
            } else {
                quiet_with = Some(seen.progress);
            }
        }
        std::thread::sleep(if seen.held { LOOK } else { IDLE });
    }
    others.send(Message::Over)
}

/// Answers the one that leads.
fn follow(local: &mut Local, link: &mut Link) -> anyhow::Result<()> {
    loop {
        match link.receive().context("lost the watchdog that leads")? {
            Message::Look(held) => {
                local.live();
                let seen = local.look(held);
                link.send(Message::Seen(seen)).context("lost the watchdog that leads")?;
            }
            Message::Release => local.release(),
            Message::Over => return Ok(()),
            Message::Seen(_) => bail!("the watchdog that leads speaks out of turn"),
        }
    }
}

/// This host's name, as the recorder has it.
pub fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}
