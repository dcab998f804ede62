"""asyncio: a server and its clients over TCP and over a Unix socket, datagrams, a child process, a timer, a signal."""
import asyncio, os, signal, socket, sys


async def echo(reader, writer):
    while data := await reader.read(1000):
        writer.write(data)
        await writer.drain()
    writer.close()


async def ask(connection, count):
    reader, writer = await connection
    for number in range(count):
        writer.write(bytes([number]) * 3000)
        await writer.drain()
        assert await reader.readexactly(3000) == bytes([number]) * 3000
    writer.close()
    await writer.wait_closed()


class Datagrams(asyncio.DatagramProtocol):
    def __init__(self, received):
        self.received = received

    def datagram_received(self, data, address):
        self.received.set_result(data)


async def main():
    loop = asyncio.get_running_loop()
    over_tcp = await asyncio.start_server(echo, "127.0.0.1", 0)
    port = over_tcp.sockets[0].getsockname()[1]
    over_unix = await asyncio.start_unix_server(echo, "socket")
    await asyncio.gather(
        ask(asyncio.open_connection("127.0.0.1", port), 20), ask(asyncio.open_unix_connection("socket"), 20)
    )
    for server in (over_tcp, over_unix):
        server.close()
        await server.wait_closed()
    received = loop.create_future()
    at, _ = await loop.create_datagram_endpoint(lambda: Datagrams(received), local_addr=("127.0.0.1", 0))
    to, _ = await loop.create_datagram_endpoint(asyncio.DatagramProtocol, remote_addr=at.get_extra_info("sockname"))
    to.sendto(b"datagram")
    assert await received == b"datagram"
    at.close()
    to.close()
    child = await asyncio.create_subprocess_exec(
        "cat", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    said, _ = await child.communicate(b"through a child" * 1000)
    assert said == b"through a child" * 1000 and child.returncode == 0
    signalled = loop.create_future()
    loop.add_signal_handler(signal.SIGUSR1, signalled.set_result, "signalled")
    os.kill(os.getpid(), signal.SIGUSR1)
    print(await signalled)
    await asyncio.sleep(0.01)
    print(await loop.run_in_executor(None, lambda: len(open(__file__).read()) > 0))


asyncio.run(main())
one, other = socket.socketpair()
with one, other:
    socket.send_fds(one, [b"take these"], [0, 1])
    data, descriptors, _, _ = socket.recv_fds(other, 100, 2)
    assert data == b"take these" and len(descriptors) == 2
    for descriptor in descriptors:
        os.close(descriptor)
# Since Python 3.13 the server does that itself.
if os.path.exists("socket"):
    os.unlink("socket")
