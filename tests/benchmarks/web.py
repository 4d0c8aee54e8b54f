"""A generated web: the same from the same seed, with sizes and links drawn as the real one has.

    python -m tests.benchmarks.web --pages 2000      # generate it, and say what it is like

Page sizes and links a page are log-normal, the sizes of hosts follow Zipf's law. Each page
can be reached from its host's seed within the host; one link in five leads to another
host, and none out of the web. The pages lie under .bench/, a folder a host.
"""

from __future__ import annotations

import argparse
import random
import shutil
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

CACHE = Path(__file__).resolve().parents[2] / ".bench"
PORT = 18765  # of every host; it stands in the links between hosts
PAGES_A_HOST = 100  # on average: 50,000 pages on 500 hosts
MEDIAN_BYTES, SIGMA_BYTES = 16_000, 1.0
MEDIAN_LINKS, SIGMA_LINKS = 50, 1.0
MOST_BYTES, MOST_LINKS = 1_000_000, 2_000
CHILDREN = 10  # each page links to so many that no page before it does: that makes all reachable
ABROAD = 0.2  # of the links, to other hosts
NAVIGATION = 20  # pages of a host that half of its other links lead to
BLOCKS = 2_000  # different pieces of text; a page is made of some of them
ROBOTS = "User-agent: *\nDisallow: /private/\n"

HEAD = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="description" content="{title}"></head>
<body><h1>{title}</h1>
"""


class Web(NamedTuple):
    """The plan of a web: who has how many pages, and how large they are to be."""

    number: int  # the seed of everything random
    hosts: tuple[int, ...]  # pages of each
    sizes: np.ndarray  # bytes, by page; the pages of the first host come first
    links: np.ndarray  # links, by page

    @property
    def pages(self) -> int:
        return len(self.sizes)

    @property
    def seeds(self) -> tuple[str, ...]:
        return tuple(url_of(host, 0) for host in range(len(self.hosts)))


def plan_web(pages: int, number: int = 1) -> Web:
    """The plan of a web of so many pages."""
    draw = np.random.default_rng(number)
    count = max(1, pages // PAGES_A_HOST)
    shares = 1 / np.arange(1, count + 1)
    hosts = np.maximum(1, np.floor(pages * shares / shares.sum())).astype(int)
    hosts[0] += pages - hosts.sum()
    sizes = draw.lognormal(np.log(MEDIAN_BYTES), SIGMA_BYTES, pages)
    links = draw.lognormal(np.log(MEDIAN_LINKS), SIGMA_LINKS, pages)
    return Web(
        number,
        tuple(hosts.tolist()),
        np.minimum(sizes, MOST_BYTES).astype(int),
        np.minimum(links, MOST_LINKS).astype(int),
    )


def address_of(host: int) -> str:
    """
    >>> address_of(0), address_of(499)
    ('127.1.0.1', '127.1.1.250')
    """
    return f"127.1.{host // 250}.{host % 250 + 1}"


def path_of(page: int) -> str:
    """
    >>> path_of(0), path_of(1234)
    ('/', '/part-12/page-1234.html')
    """
    return f"/part-{page // 100}/page-{page}.html" if page else "/"


def url_of(host: int, page: int) -> str:
    return f"http://{address_of(host)}:{PORT}{path_of(page)}"


def targets_of(web: Web, host: int, page: int) -> list[tuple[int, int]]:
    """The links of a page, as (host, page of it), in the order they stand in."""
    draw = _random(web, host, page)
    here = web.hosts[host]
    first = page * CHILDREN + 1
    targets = [(host, child) for child in range(first, min(first + CHILDREN, here))]
    wanted = int(web.links[_index(web, host, page)])
    while len(targets) < wanted:
        if draw.random() < ABROAD:
            other = draw.randrange(len(web.hosts))
            targets.append((other, draw.randrange(min(web.hosts[other], NAVIGATION))))
        else:
            some = min(here, NAVIGATION) if draw.random() < 0.5 else here
            targets.append((host, draw.randrange(some)))
    draw.shuffle(targets)
    return targets


def page_html(web: Web, host: int, page: int) -> str:
    """A page: its links between pieces of text, of the size that the plan wants.

    A page whose links alone are longer is as long as they are.
    """
    draw = _random(web, host, page + 1_000_000_000)
    links = [
        _anchor(web, host, page, target, draw.random()) for target in targets_of(web, host, page)
    ]
    head = HEAD.format(title=f"Page {page} of {address_of(host)}")
    tail = "</body></html>\n"
    room = int(web.sizes[_index(web, host, page)]) - len(head) - len(tail) - sum(map(len, links))
    text: list[str] = []
    while room > 0:
        block = draw.choice(_blocks(web.number))
        text.append(block if len(block) <= room else f"<!--{block[4 : max(4, room - 3)]}-->\n")
        room -= len(block)
    parts = text + links
    draw.shuffle(parts)
    return head + "".join(parts) + tail


def make_web(web: Web) -> Path:
    """The folder of this web's pages, written unless they are there already."""
    folder = CACHE / f"web-{web.number}-{web.pages}"
    if folder.exists():
        return folder
    print(f"generating {web.pages:,} pages in {folder}", flush=True)
    CACHE.mkdir(exist_ok=True)
    (CACHE / ".gitignore").write_text("*\n")
    half_done = folder.with_suffix(".part")
    shutil.rmtree(half_done, ignore_errors=True)
    for host, pages in enumerate(web.hosts):
        root = half_done / address_of(host)
        for page in range(pages):
            path = path_of(page)
            file = root / ("index.html" if path == "/" else path[1:])
            if page % 100 == 0:
                file.parent.mkdir(parents=True, exist_ok=True)
                (root / f"part-{page // 100}").mkdir(exist_ok=True)
            file.write_text(page_html(web, host, page))
        (root / "robots.txt").write_text(ROBOTS)
    half_done.rename(folder)
    return folder


def _index(web: Web, host: int, page: int) -> int:
    return _starts(web.hosts)[host] + page


@cache
def _starts(hosts: tuple[int, ...]) -> list[int]:
    return [0, *np.cumsum(hosts).tolist()]


def _random(web: Web, host: int, page: int) -> random.Random:
    return random.Random(f"{web.number} {web.pages} {host} {page}")


def _anchor(web: Web, host: int, page: int, target: tuple[int, int], form: float) -> str:
    """A link in one of the forms that pages have them in: mostly from the root."""
    other, number = target
    href = path_of(number)
    if other != host or form < 0.1:
        href = url_of(other, number)
    elif form < 0.3 and page and number:
        href = f"..{href}"
    if form > 0.95:
        href += "#top"
    return f'<li class="item"><a href="{href}" class="link">Page {number}</a></li>\n'


@cache
def _blocks(number: int) -> list[str]:
    """Pieces of text with the tags that text is wrapped in, about 700 bytes each."""
    draw = random.Random(f"{number} text")
    letters = "etaoinshrdlu"
    words = ["".join(draw.choices(letters, k=draw.randint(2, 9))) for _ in range(3_000)]
    often = [1 / rank for rank in range(1, len(words) + 1)]
    blocks = []
    for _ in range(BLOCKS):
        text = draw.choices(words, often, k=draw.randint(40, 120))
        middle = len(text) // 2
        blocks.append(
            f'<div class="box {draw.choice(words)}" id="{draw.choice(words)}"><h2>{text[0]}</h2>'
            f"<p>{' '.join(text[:middle])} <em>{text[-1]}</em></p>\n"
            f'<p class="small">{" ".join(text[middle:])}.</p></div>\n'
        )
    return blocks


def main() -> None:
    parser = argparse.ArgumentParser(description="Generate a web, and say what it is like.")
    parser.add_argument("--pages", type=int, default=50_000)
    web = plan_web(parser.parse_args().pages)
    folder = make_web(web)
    sizes = [file.stat().st_size for file in folder.rglob("*.html")]
    print(f"{len(sizes):,} pages on {len(web.hosts)} hosts, {sum(sizes) / 1e6:,.0f} MB")
    print(f"median page {np.median(sizes):,.0f} bytes, median links {np.median(web.links):.0f}")
    print(f"largest host {web.hosts[0]:,} pages, median host {np.median(web.hosts):.0f}")


if __name__ == "__main__":
    main()
