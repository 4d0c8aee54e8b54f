"""What the crawlers are compared on, served by nginx on loopback.

    with serve_sites(("python", "web"), pages=2000) as server:
        for site in server.sites:
            ...crawl site.seeds...

Real documentation comes from Debian packages, so that anyone can repeat the numbers; each of
these sites has a port of its own. The generated web (see `web`) has a host an address. A site
of one page shows what a crawler costs before it does anything.
"""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.benchmarks import web

DOCS = {
    "postgresql": ("postgresql-doc-15", "/usr/share/doc/postgresql-doc-15/html"),
    "python": ("python3.11-doc", "/usr/share/doc/python3.11/html"),
}
WEB = "web"
ONE = "one page"
SITES = (*DOCS, WEB)

# One process in the foreground, so that its pid is the one we started. The rest is what
# nginx does by itself: keep-alive, at most 1,000 requests a connection, sendfile off.
# Each listening address takes a connection of worker_connections, too.
CONF = """
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log {folder}/error.log warn;
events {{ worker_connections 8192; }}
http {{
    access_log off;
    log_not_found off;
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
SERVER = "    server {{ {listen} root {root}; }}\n"
ONE_PAGE = "<!DOCTYPE html><title>One page</title><p>It leads nowhere.\n"
FILES = 16_384  # file descriptors: 8192 connections, and a file for each


class Site(NamedTuple):
    name: str
    seeds: tuple[str, ...]
    root: Path


class Server(NamedTuple):
    """A running nginx."""

    sites: list[Site]
    pid: int

    def cpu(self) -> float:
        """Seconds of CPU that it has used."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def _needed(names: Sequence[str]) -> None:
    """Say at once what is missing, and how to get it."""
    docs = [DOCS[name] for name in names if name in DOCS]
    lacking = [package for package, root in docs if not Path(root, "index.html").exists()]
    lacking += [command for command in ("nginx", "wget") if not shutil.which(command)]
    if lacking:
        raise SystemExit(f"the benchmark needs: apt-get install {' '.join(lacking)}")


def _allow_many_files() -> None:
    """Let this process and its children open enough files; says so where it may not."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < FILES:
        raise SystemExit(f"the benchmark needs: ulimit -Hn {FILES} (it is {hard})")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, FILES), hard))


def _one_server(name: str, root: Path, port: int) -> tuple[Site, str]:
    site = Site(name, (f"http://127.0.0.1:{port}/index.html",), root)
    return site, SERVER.format(listen=f"listen 127.0.0.1:{port};", root=root)


def _one_page(folder: Path) -> Path:
    root = folder / "one"
    root.mkdir()
    (root / "index.html").write_text(ONE_PAGE)
    return root


def _generated(pages: int) -> tuple[Site, str]:
    plan = web.plan_web(pages)
    root = web.make_web(plan)
    hosts = [web.address_of(host) for host in range(len(plan.hosts))]
    listen = " ".join(f"listen {host}:{web.PORT};" for host in hosts)
    return Site(WEB, plan.seeds, root), SERVER.format(listen=listen, root=f"{root}/$server_addr")


@contextlib.contextmanager
def serve_sites(
    names: Sequence[str] = tuple(DOCS), gzip: bool = False, pages: int = 50_000
) -> Iterator[Server]:
    """Serve the named sites; stop nginx on the way out, whatever happened.

    What nginx had to complain of would be in the numbers: then there are none.
    """
    _needed(names)
    _allow_many_files()
    with tempfile.TemporaryDirectory(prefix="beamcrawl-nginx-") as folder:
        made = []
        for name, port in zip(names, _free_ports(len(names)), strict=True):
            if name == WEB:
                made.append(_generated(pages))
            else:
                root = Path(DOCS[name][1]) if name in DOCS else _one_page(Path(folder))
                made.append(_one_server(name, root, port))
        conf, log = Path(folder, "nginx.conf"), Path(folder, "error.log")
        switch, servers = "on" if gzip else "off", "".join(server for _, server in made)
        conf.write_text(CONF.format(folder=folder, gzip=switch, servers=servers))
        nginx = subprocess.Popen(["nginx", "-p", folder, "-c", str(conf), "-e", str(log)])
        try:
            for site, _ in made:
                _wait_until_open(site.seeds[-1], nginx, log)
            yield Server([site for site, _ in made], nginx.pid)
        finally:
            nginx.terminate()
            nginx.wait(timeout=10)
        if log.exists() and log.read_text():
            raise SystemExit(f"nginx had errors:\n{log.read_text()[:2000]}")


def _wait_until_open(url: str, nginx: subprocess.Popen[bytes], log: Path) -> None:
    host, _, port = url.split("/")[2].partition(":")
    give_up = time.monotonic() + 10
    while nginx.poll() is None and time.monotonic() < give_up:
        with contextlib.suppress(OSError), socket.create_connection((host, int(port)), 1):
            return
        time.sleep(0.02)
    raise SystemExit(f"nginx does not answer at {url}: {log.read_text()}")
