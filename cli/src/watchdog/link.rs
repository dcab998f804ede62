//! A connection between the watchdogs of two hosts. Both sides prove that they know the job's secret before anything else is said,
//! and every message carries a code that only who knows it can make, over a number that counts on: none can be forged, repeated
//! or left out. Codes are two of SipHash-2-4, which is made for short messages (Aumasson and Bernstein, INDOCRYPT'12).

use anyhow::{Context, anyhow, bail, ensure};
use std::fs::OpenOptions;
use std::hash::Hasher;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

/// In the run folder, for its owner alone.
pub const SECRET_FILE: &str = "watchdog-secret";
const SECRET_BYTES: usize = 16;
/// What a connection begins with; of another version it is another.
const GREETING: &[u8; 8] = b"synwtch1";
const HOST_BYTES: usize = 64;
const CODE_BYTES: usize = 16;
const MESSAGE_BYTES: usize = 24;
const FRAME_BYTES: usize = MESSAGE_BYTES + CODE_BYTES;
/// One look for a message; silence counts in looks, so that a machine that stood still as a whole has not been silent.
const LOOK: Duration = Duration::from_millis(50);
/// So many looks without a message, and the other side is lost.
const LOOKS: u32 = 20;
/// How long who has connected may take for each part of its proof.
const PROOF_TIME: Duration = Duration::from_secs(2);

/// What the watchdogs of one throttled run know, and nobody else.
#[derive(Clone, Copy)]
pub struct Secret([u8; SECRET_BYTES]);

impl Secret {
    /// A new one, into the run folder.
    pub fn make(run: &Path) -> anyhow::Result<()> {
        let path = run.join(SECRET_FILE);
        let doing = || format!("cannot make {}", path.display());
        let mut file =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).with_context(doing)?;
        file.write_all(&random()?).with_context(doing)
    }

    /// That of a run folder.
    pub fn read(run: &Path) -> anyhow::Result<Secret> {
        let path = run.join(SECRET_FILE);
        let bytes = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let found = bytes.try_into().ok().with_context(|| format!("{} holds no secret", path.display()))?;
        Ok(Secret(found))
    }

    /// The code of these parts, all of which have a fixed length.
    fn code(&self, parts: &[&[u8]]) -> [u8; CODE_BYTES] {
        let [one, other] =
            [0, 8].map(|at: usize| u64::from_le_bytes(self.0[at..][..8].try_into().unwrap_or([0; 8])));
        let mut code = [0; CODE_BYTES];
        for (half, to) in code.chunks_mut(8).enumerate() {
            // The standard library has no other keyed hash, and means tables when it says that this one is deprecated.
            #[allow(deprecated)]
            let mut hasher = std::hash::SipHasher::new_with_keys(one, other);
            hasher.write(&[half as u8]);
            parts.iter().for_each(|part| hasher.write(part));
            to.copy_from_slice(&hasher.finish().to_le_bytes());
        }
        code
    }

    /// Takes as long wherever the first wrong byte is.
    fn verify(&self, parts: &[&[u8]], code: &[u8]) -> bool {
        let expected = self.code(parts);
        code.len() == CODE_BYTES
            && expected.iter().zip(code).fold(0, |wrong, (one, other)| wrong | one ^ other) == 0
    }
}

fn random() -> anyhow::Result<[u8; SECRET_BYTES]> {
    let mut bytes = [0; SECRET_BYTES];
    let filled = rustix::rand::getrandom(&mut bytes[..], rustix::rand::GetRandomFlags::empty());
    ensure!(filled.context("no random numbers")? == SECRET_BYTES, "no random numbers");
    Ok(bytes)
}

/// What a host's watchdog has seen on its board.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Somebody is held there.
    pub held: bool,
    /// Everybody of another node has exited or is blocked.
    pub quiet: bool,
    /// How many calls have got those somewhere, all together.
    pub progress: u64,
}

/// What watchdogs say to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// To look, and whether somebody is held anywhere.
    Look(bool),
    /// The answer.
    Seen(Seen),
    /// Who is held may go on.
    Release,
    /// The run is over.
    Over,
}

impl Message {
    fn encode(self) -> [u8; MESSAGE_BYTES] {
        let mut bytes = [0; MESSAGE_BYTES];
        bytes[0] = match self {
            Message::Look(_) => 1,
            Message::Seen(_) => 2,
            Message::Release => 3,
            Message::Over => 4,
        };
        match self {
            Message::Look(held) => bytes[1] = held.into(),
            Message::Seen(seen) => {
                (bytes[1], bytes[2]) = (seen.held.into(), seen.quiet.into());
                bytes[8..16].copy_from_slice(&seen.progress.to_le_bytes());
            }
            Message::Release | Message::Over => {}
        }
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Message> {
        let progress = u64::from_le_bytes(bytes[8..16].try_into().ok()?);
        Some(match bytes[0] {
            1 => Message::Look(bytes[1] != 0),
            2 => Message::Seen(Seen { held: bytes[1] != 0, quiet: bytes[2] != 0, progress }),
            3 => Message::Release,
            4 => Message::Over,
            _ => return None,
        })
    }
}

/// A connection whose other side knows the secret.
pub struct Link {
    stream: TcpStream,
    session: Secret,
    accepted: bool,
    sent: u64,
    received: u64,
    frame: [u8; FRAME_BYTES],
    filled: usize,
}

impl Link {
    /// To the watchdog that listens there.
    pub fn connect(address: SocketAddr, secret: &Secret, host: &str) -> anyhow::Result<Link> {
        let stream = TcpStream::connect_timeout(&address, PROOF_TIME)
            .with_context(|| format!("cannot reach the watchdog at {address}"))?;
        Link::prove(&stream, secret, host)
            .map(|session| Link::new(stream, session, false))
            .with_context(|| format!("the watchdog at {address} does not share the secret of this run"))
    }

    fn prove(mut stream: &TcpStream, secret: &Secret, host: &str) -> anyhow::Result<Secret> {
        prepare(stream)?;
        let mut first = [0; GREETING.len() + SECRET_BYTES];
        stream.read_exact(&mut first)?;
        ensure!(first.starts_with(GREETING), "it speaks another language");
        let (theirs, ours, host) = (&first[GREETING.len()..], random()?, padded(host)?);
        let all = [theirs, &ours, &host];
        let proof = secret.code(&[b"joins", all[0], all[1], all[2]]);
        stream.write_all(&[&ours[..], &host, &proof].concat())?;
        let mut answer = [0; CODE_BYTES];
        stream.read_exact(&mut answer)?;
        ensure!(secret.verify(&[b"leads", all[0], all[1], all[2]], &answer), "it has another secret");
        Ok(Secret(secret.code(&[b"talks", all[0], all[1], all[2]])))
    }

    /// With whoever has connected: its host, too.
    pub fn accept(stream: TcpStream, secret: &Secret) -> anyhow::Result<(String, Link)> {
        let (session, host) = Link::demand(&stream, secret)?;
        Ok((host, Link::new(stream, session, true)))
    }

    fn demand(mut stream: &TcpStream, secret: &Secret) -> anyhow::Result<(Secret, String)> {
        prepare(stream)?;
        let ours = random()?;
        stream.write_all(&[&GREETING[..], &ours].concat())?;
        let mut first = [0; SECRET_BYTES + HOST_BYTES + CODE_BYTES];
        stream.read_exact(&mut first)?;
        let (theirs, rest) = first.split_at(SECRET_BYTES);
        let (host, proof) = rest.split_at(HOST_BYTES);
        ensure!(secret.verify(&[b"joins", &ours, theirs, host], proof), "it has another secret");
        stream.write_all(&secret.code(&[b"leads", &ours, theirs, host]))?;
        let name = String::from_utf8_lossy(host).trim_end_matches('\0').to_owned();
        Ok((Secret(secret.code(&[b"talks", &ours, theirs, host])), name))
    }

    fn new(stream: TcpStream, session: Secret, accepted: bool) -> Link {
        Link { stream, session, accepted, sent: 0, received: 0, frame: [0; FRAME_BYTES], filled: 0 }
    }

    /// Says something.
    pub fn send(&mut self, message: Message) -> anyhow::Result<()> {
        let message = message.encode();
        let code = self.session.code(&[&[self.accepted.into()], &self.sent.to_le_bytes(), &message]);
        self.sent += 1;
        // In words: a closed pipe as the cause would be taken for that of standard output, about which nothing is said.
        self.stream.write_all(&[&message[..], &code].concat()).map_err(|error| anyhow!("{error}"))
    }

    /// Waits for what the other side says.
    pub fn receive(&mut self) -> anyhow::Result<Message> {
        self.stream.set_read_timeout(Some(LOOK))?;
        let mut looks = 0;
        while self.filled < FRAME_BYTES {
            match self.stream.read(&mut self.frame[self.filled..]) {
                Ok(0) => bail!("it has ended"),
                Ok(bytes) => self.filled += bytes,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    looks += 1;
                    ensure!(looks < LOOKS, "nothing has been heard of it for {:?}", LOOK * LOOKS);
                }
                Err(error) => return Err(error.into()),
            }
        }
        self.filled = 0;
        let (message, code) = self.frame.split_at(MESSAGE_BYTES);
        let parts = [&[(!self.accepted).into()], &self.received.to_le_bytes()[..], message];
        ensure!(self.session.verify(&parts, code), "a message is not its own");
        self.received += 1;
        Message::decode(message).context("it speaks another language")
    }
}

fn prepare(stream: &TcpStream) -> anyhow::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PROOF_TIME))?;
    stream.set_write_timeout(Some(PROOF_TIME))?;
    Ok(())
}

fn padded(host: &str) -> anyhow::Result<[u8; HOST_BYTES]> {
    let mut bytes = [0; HOST_BYTES];
    let room = bytes.get_mut(..host.len()).context("the host's name is too long")?;
    room.copy_from_slice(host.as_bytes());
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// Both ends of a connection between watchdogs with these secrets.
    fn linked(one: Secret, other: Secret) -> (anyhow::Result<(String, Link)>, anyhow::Result<Link>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its number");
        let joins = std::thread::spawn(move || Link::connect(address, &other, "two"));
        let accepted = Link::accept(listener.accept().expect("a connection").0, &one);
        (accepted, joins.join().expect("no panic"))
    }

    #[test]
    fn who_knows_the_secret_is_believed() {
        let (accepted, joined) = linked(Secret([1; SECRET_BYTES]), Secret([1; SECRET_BYTES]));
        let ((host, mut leader), mut joined) = (accepted.expect("the proof"), joined.expect("the proof"));
        assert_eq!(host, "two");
        let seen = Message::Seen(Seen { held: true, quiet: false, progress: 1 << 40 });
        for message in [Message::Look(true), seen, Message::Release, Message::Over] {
            leader.send(message).expect("sent");
            assert_eq!(joined.receive().expect("received"), message);
            joined.send(message).expect("sent");
            assert_eq!(leader.receive().expect("received"), message);
        }
        drop(leader);
        assert!(joined.receive().expect_err("closed").to_string().contains("has ended"));
    }

    #[test]
    fn who_does_not_is_not() {
        let (accepted, joined) = linked(Secret([1; SECRET_BYTES]), Secret([2; SECRET_BYTES]));
        assert!(accepted.err().expect("refused").to_string().contains("another secret"));
        assert!(joined.err().expect("refused").to_string().contains("does not share the secret"));
    }

    #[test]
    fn what_was_said_is_not_believed_again() {
        let (accepted, joined) = linked(Secret([1; SECRET_BYTES]), Secret([1; SECRET_BYTES]));
        let ((_, mut leader), mut joined) = (accepted.expect("the proof"), joined.expect("the proof"));
        leader.send(Message::Release).expect("sent");
        leader.sent = 0;
        leader.send(Message::Release).expect("sent");
        assert_eq!(joined.receive().expect("received"), Message::Release);
        assert!(joined.receive().expect_err("repeated").to_string().contains("not its own"));
    }
}
