"""A loopback server that says exactly what a test tells it to, byte for byte.

    def script(peer):
        while peer.hear():
            peer.say(b"HTTP/1.1 204 No Content\\r\\n\\r\\n")

    with RawServer(script) as server:
        ...

The script runs once per connection, on a thread of its own; the connection closes when it
returns. `webserver` is for well-formed sites, this is for all the rest.
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable


class Peer:
    """The server's end of one connection."""

    def __init__(self, server: RawServer, sock: socket.socket):
        self.sock = sock
        self.sent = 0
        self._server = server

    def hear(self) -> bytes:
        """The next request up to its empty line; b"" when the client has hung up."""
        heard = b""
        while not heard.endswith(b"\r\n\r\n"):
            byte = self.sock.recv(1)
            if not byte:
                return b""
            heard += byte
        self._server.heard.append(heard)
        return heard

    def say(self, data: bytes) -> None:
        self.sock.sendall(data)
        self.sent += len(data)
        self._server.sent += len(data)

    def wait_for_hangup(self) -> None:
        with contextlib.suppress(OSError):
            while self.sock.recv(4096):
                pass
        self._server.hung_up.set()


class RawServer:
    def __init__(
        self,
        script: Callable[[Peer], None],
        tls: ssl.SSLContext | None = None,
        family: socket.AddressFamily = socket.AF_INET,
    ):
        self.heard: list[bytes] = []  # requests, in the order received
        self.connections = 0
        self.sent = 0  # bytes
        self.hung_up = threading.Event()  # a client went away before the script was done
        self._script = script
        self._tls = tls
        self._listener = socket.create_server(
            ("::1" if family == socket.AF_INET6 else "127.0.0.1", 0), family=family
        )
        self.port = self._listener.getsockname()[1]
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self.port}/"

    def __enter__(self) -> RawServer:
        threading.Thread(target=self._listen, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes accept
        self._listener.close()

    def _listen(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                sock, _ = self._listener.accept()
                self.connections += 1
                threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        sock.settimeout(10)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            if self._tls:
                sock = self._tls.wrap_socket(sock, server_side=True)
            self._script(Peer(self, sock))
        except OSError:
            self.hung_up.set()
        finally:
            sock.close()


def always(answer: bytes) -> Callable[[Peer], None]:
    """A script: the same answer to every request, on one connection."""

    def script(peer: Peer) -> None:
        while peer.hear():
            peer.say(answer)

    return script


def once(answer: bytes) -> Callable[[Peer], None]:
    """A script: one answer, and the connection closes."""

    def script(peer: Peer) -> None:
        if peer.hear():
            peer.say(answer)

    return script


def page(body: bytes = b"<p>hello", headers: bytes = b"", status: bytes = b"200 OK") -> bytes:
    """A whole answer. `headers` are lines, each with its end."""
    return (
        b"HTTP/1.1 %s\r\nContent-Type: text/html\r\nContent-Length: %d\r\n%s\r\n%s"
        % (status, len(body), headers, body)
    )  # fmt: skip
