"""A file system that is a while away: sshfs, whose messages to a server of files on this machine take their time."""

import os
import pathlib
import queue
import socket
import subprocess
import sys
import threading
import time

SERVERS = ("/usr/lib/openssh/sftp-server", "/usr/libexec/openssh/sftp-server")


def server():
    """The program that serves files over its standard input and output; None if it is not installed."""
    return next((name for name in SERVERS if os.access(name, os.X_OK)), None)


def carry(read, write, delay):
    """Hands on what `read` gives, each piece `delay` seconds after it came, until there is no more."""
    pieces = queue.Queue()

    def late():
        while True:
            due, piece = pieces.get()
            time.sleep(max(0.0, due - time.monotonic()))
            if not piece:
                return
            write(piece)

    sender = threading.Thread(target=late)
    sender.start()
    while True:
        try:
            piece = read(1 << 18)
        except OSError:
            piece = b""
        pieces.put((time.monotonic() + delay, piece))
        if not piece:
            break
    sender.join()


def serve(listener, delay):
    """One connection: what a process of its own does until the other end has gone."""
    connection, _ = listener.accept()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    files = subprocess.Popen([server()], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)

    def write_all(piece):
        rest = memoryview(piece)
        while rest:
            rest = rest[files.stdin.write(rest):]

    def answer():
        carry(lambda most: os.read(files.stdout.fileno(), most), connection.sendall, delay)
        # Whoever waits for an answer is told that there will be none.
        connection.shutdown(socket.SHUT_RDWR)

    answers = threading.Thread(target=answer, daemon=True)
    answers.start()
    carry(connection.recv, write_all, delay)
    files.stdin.close()
    files.wait()


class Far:
    """`behind`, mounted at `at`, with so many milliseconds to the server and back."""

    def __init__(self, behind, at, milliseconds):
        self.at = pathlib.Path(at)
        listener = socket.create_server(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        # Its own process: this one has other things to do.
        words = [sys.executable, "-B", __file__, str(listener.fileno()), str(milliseconds / 2000)]
        self.server = subprocess.Popen(words, pass_fds=[listener.fileno()], start_new_session=True)
        listener.close()
        try:
            subprocess.run(["sshfs", "-o", f"directport={port}", f"localhost:{behind}", self.at], check=True)
        except BaseException:
            self.server.kill()
            self.server.wait()
            raise

    def close(self):
        subprocess.run(["fusermount3", "-u", "-z", self.at], check=False)
        try:
            self.server.wait(10)
        except subprocess.TimeoutExpired:
            self.server.kill()
            self.server.wait()


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])), float(sys.argv[2]))
