//! The network atom: a partner, a thread here or another machine, takes and gives as many bytes as it is asked for.

use anyhow::Context;
use rustix::io::{read, write};
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::io::Write;
use std::net::{TcpListener, TcpStream, ToSocketAddrs};

/// Bytes of one call, where no sizes are known.
const BLOCK: usize = 1 << 16;

/// By which calls bytes move: those that files have too, which the kernel counts as reading and writing, or those of sockets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Calls {
    /// write(2), not send(2).
    pub write: bool,
    /// read(2), not recv(2).
    pub read: bool,
}

impl Calls {
    // The standard library's own way to write to a connection is send(2).
    fn out(self, stream: &TcpStream, bytes: &[u8]) -> std::io::Result<usize> {
        Ok(if self.write { write(stream, bytes)? } else { send(stream, bytes, SendFlags::NOSIGNAL)? })
    }

    fn take(self, stream: &TcpStream, bytes: &mut [u8]) -> std::io::Result<usize> {
        Ok(if self.read { read(stream, bytes)? } else { recv(stream, bytes, RecvFlags::empty())?.0 })
    }

    fn send(self, stream: &TcpStream, mut bytes: &[u8]) -> std::io::Result<()> {
        while !bytes.is_empty() {
            let done = again(|| self.out(stream, bytes))?;
            bytes = &bytes[done..];
        }
        Ok(())
    }

    /// False when the other side is gone before the first byte.
    fn receive(self, stream: &TcpStream, bytes: &mut [u8]) -> std::io::Result<bool> {
        let mut got = 0;
        while got < bytes.len() {
            match again(|| self.take(stream, &mut bytes[got..]))? {
                0 if got == 0 => return Ok(false),
                0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
                more => got += more,
            }
        }
        Ok(true)
    }
}

/// Until no signal comes in between.
fn again(mut call: impl FnMut() -> std::io::Result<usize>) -> std::io::Result<usize> {
    loop {
        match call() {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

/// Says in front of each exchange: bytes that follow, bytes that are wanted.
type Request = [u8; 16];

/// Answers until the other side is gone.
///
/// # Errors
/// When the connection breaks.
pub fn serve(stream: TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = vec![0; BLOCK];
    let mut request: Request = [0; 16];
    // What the partner moves is not what the program did: none of it counts as reading and writing.
    let by = Calls::default();
    loop {
        if !by.receive(&stream, &mut request)? {
            return Ok(());
        }
        let number =
            |at: usize| request[at..at + 8].iter().rev().fold(0_u64, |sum, &byte| sum << 8 | u64::from(byte));
        let (mut coming, mut wanted) = (number(0), number(8));
        while coming > 0 {
            let now = coming.min(BLOCK as u64);
            by.receive(&stream, &mut buffer[..now as usize])?;
            coming -= now;
        }
        while wanted > 0 {
            let now = wanted.min(BLOCK as u64);
            by.send(&stream, &buffer[..now as usize])?;
            wanted -= now;
        }
    }
}

/// Serves everyone who comes, a thread each.
///
/// # Errors
/// When the address cannot be used.
pub fn serve_all(address: &str) -> anyhow::Result<()> {
    let listener = TcpListener::bind(address).with_context(|| format!("cannot listen at {address}"))?;
    // It serves as well where nobody can be told.
    let _ = writeln!(std::io::stderr(), "syn: partner of emulations at {}", listener.local_addr()?);
    for stream in listener.incoming() {
        let stream = stream.context("cannot take a connection")?;
        std::thread::Builder::new().spawn(move || serve(stream))?;
    }
    Ok(())
}

/// See the module.
#[derive(Debug)]
pub struct Network {
    partner: Option<TcpStream>,
    inner: Option<(TcpStream, TcpStream)>,
    buffer: Vec<u8>,
    /// How.
    pub calls: Calls,
    /// Bytes sent, received, sent to ourselves.
    pub moved: [u64; 3],
}

impl Network {
    /// With a partner if one is needed: at `peer`, else a thread that ends with the connection. With both ends of a
    /// connection, if something goes from us to us.
    ///
    /// # Errors
    /// When the partner is not there.
    pub fn new(needed: bool, peer: Option<&str>, inner: bool) -> anyhow::Result<Network> {
        let partner = match (needed, peer) {
            (false, _) => None,
            (true, Some(address)) => {
                Some(connect(address).with_context(|| format!("cannot reach the partner at {address}"))?)
            }
            (true, None) => Some(thread().context("cannot talk to a thread of this process")?),
        };
        let inner = if inner { Some(pair().context("cannot connect to ourselves")?) } else { None };
        Ok(Network { partner, inner, buffer: vec![0; BLOCK], calls: Calls::default(), moved: [0; 3] })
    }

    /// Sends so many bytes to the partner and receives so many, `block` at a time (0: 64 KiB).
    ///
    /// # Errors
    /// When the connection breaks.
    pub fn exchange(&mut self, sent: u64, received: u64, block: u64) -> anyhow::Result<()> {
        let Some(stream) = self.partner.as_ref().filter(|_| sent > 0 || received > 0) else { return Ok(()) };
        let by = self.calls;
        let mut request: Request = [0; 16];
        request[..8].copy_from_slice(&sent.to_le_bytes());
        request[8..].copy_from_slice(&received.to_le_bytes());
        Calls::default().send(stream, &request)?;
        let block = size(block, BLOCK);
        let mut left = sent;
        while left > 0 {
            let now = left.min(block);
            by.send(stream, &self.buffer[..now as usize])?;
            left -= now;
        }
        let mut left = received;
        while left > 0 {
            let now = left.min(block);
            anyhow::ensure!(by.receive(stream, &mut self.buffer[..now as usize])?, "the partner is gone");
            left -= now;
        }
        self.moved[0] += sent;
        self.moved[1] += received;
        Ok(())
    }

    /// Moves bytes from ourselves to ourselves, `block` at a time (0, and more: 16 KiB).
    ///
    /// # Errors
    /// When the connection breaks.
    pub fn within(&mut self, bytes: u64, block: u64) -> anyhow::Result<()> {
        let Some((to, from)) = &self.inner else { return Ok(()) };
        // What is sent at once fits the kernel's buffers, so nobody has to read meanwhile.
        let block = size(block, 16 << 10);
        let mut left = bytes;
        while left > 0 {
            let mut out = again(|| self.calls.out(to, &self.buffer[..left.min(block) as usize]))?;
            left -= out as u64;
            self.moved[2] += out as u64;
            while out > 0 {
                let got = again(|| self.calls.take(from, &mut self.buffer[..out]))?;
                anyhow::ensure!(got > 0, "our own connection is closed");
                out -= got;
            }
        }
        Ok(())
    }
}

/// Bytes of a call: as asked for, where that is something and not more than `most`.
fn size(block: u64, most: usize) -> u64 {
    if block == 0 { most as u64 } else { block.min(most as u64) }
}

fn connect(address: &str) -> anyhow::Result<TcpStream> {
    let found = address.to_socket_addrs()?.next().context("it has no address")?;
    let stream = TcpStream::connect(found)?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// One end of a connection; the other is served by a thread that ends with it.
fn thread() -> anyhow::Result<TcpStream> {
    let (ours, theirs) = pair()?;
    std::thread::Builder::new().spawn(move || serve(theirs))?;
    Ok(ours)
}

fn pair() -> std::io::Result<(TcpStream, TcpStream)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let to = TcpStream::connect(listener.local_addr()?)?;
    to.set_nodelay(true)?;
    Ok((to, listener.accept()?.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partner_takes_and_gives_what_it_is_asked_for() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("bound").to_string();
        let partner = std::thread::spawn(move || serve(listener.accept().expect("a connection").0));
        let mut network = Network::new(true, Some(&address), true).expect("a partner");
        network.exchange(300_000, 70_000, 1000).expect("loopback");
        network.within(500_000, 0).expect("loopback");
        network.calls = Calls { write: true, read: true };
        network.within(500_000, 0).expect("loopback");
        network.exchange(0, 1, 0).expect("loopback");
        assert_eq!(network.moved, [300_000, 70_001, 1_000_000]);
        drop(network);
        partner.join().expect("no panic").expect("it ends in an orderly way");
        let mut alone = Network::new(true, None, false).expect("a thread");
        alone.exchange(5, 1 << 20, 0).expect("loopback");
        assert_eq!(alone.moved, [5, 1 << 20, 0]);
    }
}
