"""Real documentation, served by nginx on loopback: what the crawlers are compared on.

    with serve_sites() as sites:
        for site in sites:
            ...crawl site.seed...

The pages come from Debian packages, so that anyone can repeat the numbers. Every site has a
port of its own: hosts differ for the crawler, and no robots.txt stands in the way.
"""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

DOCS = {
    "postgresql": ("postgresql-doc-15", "/usr/share/doc/postgresql-doc-15/html"),
    "python": ("python3.11-doc", "/usr/share/doc/python3.11/html"),
}

# One process in the foreground, so that its pid is the one we started. The rest is what
# nginx does by itself: keep-alive, at most 1,000 requests a connection, sendfile off.
CONF = """
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    gzip {gzip};
    default_type application/octet-stream;
    types {{
        text/html html; text/css css; text/plain txt; text/xml xml; application/json json;
        application/javascript js; image/png png; image/svg+xml svg;
    }}
    client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
{servers}}}
"""
SERVER = "    server {{ listen 127.0.0.1:{port}; root {root}; }}\n"


class Site(NamedTuple):
    name: str
    seed: str
    root: Path


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def _needed(names: Sequence[str]) -> None:
    """Say at once what is missing, and how to get it."""
    lacking = [DOCS[name][0] for name in names if not Path(DOCS[name][1], "index.html").exists()]
    if not shutil.which("nginx"):
        lacking.insert(0, "nginx")
    if lacking:
        raise SystemExit(f"the benchmark needs: apt-get install {' '.join(lacking)}")


@contextlib.contextmanager
def serve_sites(names: Sequence[str] = tuple(DOCS), gzip: bool = False) -> Iterator[list[Site]]:
    """Serve the named sites; stop nginx on the way out, whatever happened."""
    _needed(names)
    ports = dict(zip(names, _free_ports(len(names)), strict=True))
    with tempfile.TemporaryDirectory(prefix="beamcrawl-nginx-") as folder:
        conf = Path(folder, "nginx.conf")
        servers = [SERVER.format(port=ports[name], root=DOCS[name][1]) for name in names]
        switch = "on" if gzip else "off"
        conf.write_text(CONF.format(folder=folder, gzip=switch, servers="".join(servers)))
        nginx = subprocess.Popen(
            ["nginx", "-p", folder, "-c", str(conf), "-e", f"{folder}/error.log"]
        )
        try:
            for port in ports.values():
                _wait_until_open(port, nginx, Path(folder, "error.log"))
            yield [
                Site(name, f"http://127.0.0.1:{ports[name]}/index.html", Path(DOCS[name][1]))
                for name in names
            ]
        finally:
            nginx.terminate()
            nginx.wait(timeout=10)


def _wait_until_open(port: int, nginx: subprocess.Popen[bytes], log: Path) -> None:
    give_up = time.monotonic() + 10
    while nginx.poll() is None and time.monotonic() < give_up:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.02)
    raise SystemExit(f"nginx does not answer on port {port}: {log.read_text()}")
