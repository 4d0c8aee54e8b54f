"""The trap web: some two thousand real pages, among traps that have no end.

A trap is a rule that makes ever new URLs. Most come in one mixed host, as they do in life;
two hosts put a session id of their own making into every link. `real` are the pages that a
crawl should have, `trap_of` says which trap a request fell into: what a server's log says
of a crawl is the proof. Everything is a function of the URL (and of how often it was asked
for), so two crawls meet one web.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache
from urllib.parse import parse_qsl, urlencode

from tests.webserver import Answer, Request, WebServer, serve

MIXED, SESSION, PATH_SESSION = HOSTS = ("127.0.0.81", "127.0.0.82", "127.0.0.83")
HOME = "/"

_SYLLABLES = (
    "ba",
    "ce",
    "di",
    "fo",
    "gu",
    "ha",
    "je",
    "ki",
    "lo",
    "mu",
    "na",
    "pe",
    "ri",
    "so",
    "tu",
    "va",
    "we",
    "xi",
    "yo",
    "zu",
)


def seeded(*key: object) -> random.Random:
    return random.Random(repr(key))


def word(rng: random.Random) -> str:
    return "".join(rng.choices(_SYLLABLES, k=rng.randint(2, 4)))


@cache
def prose(count: int, *key: object) -> str:
    rng = seeded(*key)
    return " ".join(word(rng) for _ in range(count))


def html(title: str, text: str, links: Iterable[str] = (), bare: bool = False) -> Answer:
    """A page; `bare` links are pictures, so that they leave no text."""
    items = "".join(
        f'<li><a href="{link}">{"<img src=/p.png>" if bare else "more"}</a></li>\n'
        for link in links
    )
    body = f"<!DOCTYPE html><title>{title}</title><h1>{title}</h1><p>{text}</p><ul>\n{items}</ul>"
    return Answer(body=body.encode())


# What is real on the mixed host: one table of pages, each a title, a text and links.

ARTICLES = [f"/articles/{'-'.join(prose(3, 'slug', n).split())}" for n in range(300)]
NUMBERED = [f"/news/story-{n}.html" for n in range(1, 201)]
THREADS = [f"/thread/{n * 7}" for n in range(1, 301)]
ITEMS = [f"/shop/item?id={n}" for n in range(1, 301)]
STUBS = [f"/glossary/{word(seeded('term', n))}{word(seeded('m', n))}" for n in range(150)]
PARTS = [f"/parts/view?part={n}" for n in range(1, 61)]  # stubs whose title alone tells them apart
BLOG = [f"/blog/{n}" for n in range(60, 0, -1)]  # each leads to the next alone
MONTHS = [f"/archive/{year}/{month:02}/" for year in (2022, 2023) for month in range(1, 13)]
POSTS = [f"{month}{word(seeded('post', month, n))}" for month in MONTHS for n in range(4)]
HELP = [f"/{tongue}/help/{word(seeded('help', n))}" for n in range(30) for tongue in ("en", "de")]


def listing(path: str, urls: list[str], each: int, name: str = "page") -> dict[str, list[str]]:
    """Pages of links alone, which lead to each other and to all `urls`."""
    cuts = range(0, len(urls), each)
    pages = [path if not cut else f"{path}?{name}={cut // each + 1}" for cut in cuts]
    return {
        page: [*urls[cut : cut + each], *pages[max(0, number - 2) : number + 3]]
        for number, (page, cut) in enumerate(zip(pages, cuts, strict=True))
    }


LISTINGS = {
    **listing("/articles/", ARTICLES, 8),
    **listing("/forum", THREADS, 15, "start"),
    **listing("/shop/", ITEMS, 20),
    **listing("/news/", NUMBERED, 25),
}


@cache
def docs() -> dict[str, list[str]]:
    """A tree of manuals, four levels deep: folders lead to what is in them."""
    tree: dict[str, list[str]] = {}
    rng = seeded("docs")

    def grow(folder: str, level: int) -> None:
        leaves = [f"{folder}{word(rng)}-{word(rng)}.html" for _ in range(6)]
        folders = [f"{folder}{word(rng)}/" for _ in range(4)] if level < 3 else []
        tree[folder] = [*leaves, *folders]
        tree.update({leaf: [folder] for leaf in leaves})
        for inner in folders:
            grow(inner, level + 1)

    grow("/docs/", 0)
    return tree


TREE = docs()
SITE = ["/member", *(f"/member/{name}" for name in prose(60, "members").split())]

ENTRANCES = (
    "/docs/all/", "/copy/docs/", "/mirror/", "/calendar/2026/11", "/events?year=2025&month=3",
    "/facets?sort=price", "/lost/start", "/nothing/start", "/counter?hit=1", "/clock/10-30-00",
    "/grow/seed", "/search?q=seed", "/filters?f1=on", "/hop/1", "/related/seed",
    "/diary/1990-01-01",
)  # fmt: skip


@cache
def mixed_real() -> dict[str, Answer]:
    pages: dict[str, Answer] = {}
    for url, links in LISTINGS.items():
        pages[url] = html("List", "What we have.", links, bare=True)
    for number, url in enumerate(ARTICLES):
        near = seeded("near", number).sample(ARTICLES, 3)
        click = f"/click/{seeded('click', number).getrandbits(64):016x}"
        pages[url] = html(prose(4, "t", url), prose(150, url), [*near, click, "/"])
    for url in [*NUMBERED, *THREADS, *POSTS, *HELP]:
        pages[url] = html(prose(3, "t", url), prose(80, url), ["/"])
    for number, url in enumerate(ITEMS):
        pages[url] = html(f"Item {number + 1}", prose(25, url), ["/shop/"])
    for url in STUBS:
        pages[url] = html(url[10:], f"{url[10:]}: to be written.", ["/glossary/"])
    for number, url in enumerate(PARTS):
        pages[url] = html(f"Part {number + 1}", f"In stock: {number % 7}.", ["/parts/"])
    for url, older in zip(BLOG, [*BLOG[1:], "/"], strict=True):
        pages[url] = html(prose(3, "t", url), prose(90, url), [older])
    for url in MONTHS:
        pages[url] = html(f"Archive {url[9:16]}", "Posts of this month.",
                          [post for post in POSTS if post.startswith(url)])  # fmt: skip
    for url, links in TREE.items():
        pages[url] = html(prose(3, "t", url), prose(70, url), links)
    pages["/glossary/"] = html("Glossary", prose(40, "glossary"), STUBS)
    pages["/parts/"] = html("Parts", prose(40, "parts"), PARTS)
    pages["/archive/"] = html("Archive", prose(40, "archive"), MONTHS)
    pages["/help"] = html("Help", prose(40, "help"), HELP)
    inner = ["/articles/", "/forum", "/shop/", "/news/", "/docs/", "/glossary/", "/parts/"]
    pages["/"] = html("Home", prose(60, "home"),
                      [*inner, "/archive/", "/help", BLOG[0], *ENTRANCES])  # fmt: skip
    return pages


def session_real(host: str, path: str, token: Callable[[], str]) -> Answer | None:
    """The members' pages, of a host that puts a token of its own into each link."""
    if path == "/":
        return html("Members", prose(50, host), [token() + SITE[0]])
    if path not in SITE:
        return None
    number = SITE.index(path)
    near = [SITE[(number * 5 + step) % len(SITE)] for step in range(1, 9)]
    return html(prose(2, host, path), prose(60, path, host), [token() + link for link in near])


# The traps. Each is a function of what follows its prefix, and of how often it was asked.


def _calendar(year: int, month: int, link: Callable[[int, int], str], days: bool) -> Answer:
    name = "January February March April May June July August September October November December"
    label = name.split()[month - 1]
    around = [(year + (month + step - 1) // 12, (month + step - 1) % 12 + 1) for step in (-1, 1)]
    links = [link(y, m) for y, m in around]
    if days:
        links += [f"{link(year, month)}/{day:02}" for day in range(1, 11)]
    return html(f"{label} {year}", f"Events in {label} {year}. Nothing is planned.", links)


def trap_calendar(rest: str, _: int) -> Answer:
    year, month, *day = [int(part) for part in rest.split("/")]
    if day:
        return html(
            f"{year}-{month}-{day[0]}",
            f"Nothing on day {day[0]}.",
            [f"/calendar/{year}/{month:02}"],
        )
    return _calendar(year, month, lambda y, m: f"/calendar/{y}/{m:02}", days=True)


def trap_events(query: str, _: int) -> Answer:
    given = dict(parse_qsl(query))
    year, month = int(given["year"]), int(given["month"])
    return _calendar(year, month, lambda y, m: f"/events?year={y}&month={m}", days=False)


def trap_diary(rest: str, _: int) -> Answer:
    ordinal = time.strptime(rest, "%Y-%m-%d")
    before = time.gmtime(time.mktime(ordinal) - 20 * 3600)
    return html(f"Diary of {rest}", "No entry.", [time.strftime("/diary/%Y-%m-%d", before)])


def trap_facets(query: str, _: int) -> Answer:
    """The same goods in ever new orders; each page leads to ten more."""
    rng = seeded("facets", query)
    goods = prose(40, "goods").split()
    rng.shuffle(goods)
    names = ("sort", "view", "color", "size", "brand", "per", "dir", "tag")
    links = []
    for _number in range(10):
        chosen = [(name, word(rng)) for name in rng.sample(names, rng.randint(1, 5))]
        links.append(f"/facets?{urlencode(chosen)}")
    return html("Goods", " ".join(goods), links)


def trap_lost(rest: str, _: int) -> Answer:
    rng = seeded("lost", rest)
    return html("Page not found", f"There is no {rest}. Try one of these.",
                [f"/lost/{word(rng)}{word(rng)}" for _ in range(10)])  # fmt: skip


def trap_nothing(rest: str, _: int) -> Answer:
    """A soft 404 that no list of phrases knows."""
    rng = seeded("nothing", rest)
    text = f"Alas, {rest} has left us. {prose(50, 'alas')}"
    return html("Alas", text, [f"/nothing/{word(rng)}{word(rng)}" for _ in range(10)])


def trap_related(rest: str, _: int) -> Answer:
    """New names in the root of the host, a page deep."""
    rng = seeded("related", rest)
    return html(
        "Related",
        prose(30, "related"),
        [f"/related/{word(rng)}/{word(rng)}-{word(rng)}" for _ in range(10)],
    )


def trap_counter(query: str, visit: int) -> Answer:
    rng = seeded("counter", query)
    text = f"{prose(200, 'counted')} You are visitor {rng.randrange(10**6)}, it is 12:30:{visit}."
    links = [f"/counter?hit={rng.randrange(10**7)}" for _ in range(10)]
    return html("Counted", text, links)


def trap_clock(rest: str, _: int) -> Answer:
    hours, minutes, seconds = (int(part) for part in rest.split("-"))
    then = (hours * 3600 + minutes * 60 + seconds + 7) % 86400
    link = f"/clock/{then // 3600:02}-{then // 60 % 60:02}-{then % 60:02}"
    return html(f"It is {rest}", f"The time is {rest}.", [link])


def trap_grow(rest: str, _: int) -> Answer:
    rng = seeded("grow", rest)
    return html(
        f"All of {rest}", f"More on {rest}:", [f"/grow/{rest}/{word(rng)}" for _ in range(3)]
    )


def trap_search(query: str, _: int) -> Answer:
    rng = seeded("search", query)
    words = dict(parse_qsl(query))["q"]
    links = ["/search?" + urlencode({"q": f"{words} {word(rng)}"}) for _ in range(3)]
    return html(f"Search: {words}", f"Nothing for {words}. Narrow it down:", links)


def trap_filters(query: str, _: int) -> Answer:
    number = len(parse_qsl(query)) + 1
    return html(
        "Filter",
        f"{prose(30, 'filter')}",
        [f"/filters?{query}&f{number}={way}" for way in ("on", "off")],
    )


def trap_hop(rest: str, _: int) -> Answer:
    return Answer(302, headers=(("Location", f"/hop/{int(rest) + 1}"),))


def trap_click(rest: str, _: int) -> Answer:
    return html("Thank you", prose(20, "click"), ["/"])


def trap_tree(prefix: str, root: str) -> Callable[[str, int], Answer | None]:
    """The manuals once more, under a prefix, with links that keep it."""

    def answer(rest: str, _: int) -> Answer | None:
        links = TREE.get(root + rest)
        if links is None:
            return None
        own = [prefix + link.removeprefix(root) for link in links]
        again = [f"{prefix}all/"] if root + rest == "/docs/" and prefix == "/docs/all/" else []
        url = root + rest
        return html(prose(3, "t", url), prose(70, url), [*own, *again])

    return answer


TRAPS: dict[str, tuple[str, Callable[[str, int], Answer | None]]] = {
    "symlink": ("/docs/all/", trap_tree("/docs/all/", "/docs/")),
    "copy": ("/copy/docs/", trap_tree("/copy/docs/", "/docs/")),
    "mirror": ("/mirror/", trap_tree("/mirror/", "/docs/")),
    "calendar": ("/calendar/", trap_calendar),
    "events": ("/events?", trap_events),
    "diary": ("/diary/", trap_diary),
    "facets": ("/facets?", trap_facets),
    "lost": ("/lost/", trap_lost),
    "nothing": ("/nothing/", trap_nothing),
    "related": ("/related/", trap_related),
    "counter": ("/counter?", trap_counter),
    "clock": ("/clock/", trap_clock),
    "grow": ("/grow/", trap_grow),
    "search": ("/search?", trap_search),
    "filters": ("/filters?", trap_filters),
    "hop": ("/hop/", trap_hop),
    "click": ("/click/", trap_click),
}


def _token(*key: object) -> str:
    return f"{seeded(*key).getrandbits(64):016x}"


def answer(request: Request) -> Answer:
    """The trap web: from a request to its response."""
    target, visit = request.target, request.visit
    if target == "/robots.txt":
        return Answer(404)
    found: Answer | None = None
    if request.host == MIXED:
        found = mixed_real().get(target)
        for prefix, trap in TRAPS.values():
            if found is None and target.startswith(prefix):
                with contextlib.suppress(ValueError, KeyError):
                    found = trap(target.removeprefix(prefix), visit)
    elif request.host == SESSION:
        old = session_real(SESSION, request.path, lambda: "#")
        if old is not None:
            found = _with_tokens(old, target, lambda url, token: f"{url}?zx={token}")
    elif request.host == PATH_SESSION:
        path = request.path
        if path.startswith("/v-"):
            path = "/" + path[1:].partition("/")[2]
        old = session_real(PATH_SESSION, path, lambda: "#")
        if old is not None:
            found = _with_tokens(old, target, lambda url, token: f"/v-{token}{url}")
    return found or Answer(404, b"Nothing here.", "text/plain")


def _with_tokens(page: Answer, target: str, form: Callable[[str, str], str]) -> Answer:
    """Each link with a token of its own, new on every page."""
    parts = page.body.decode().split('href="#')
    for number in range(1, len(parts)):
        url, quote, rest = parts[number].partition('"')
        parts[number] = form(url, _token(target, number)) + quote + rest
    return page._replace(body='href="'.join(parts).encode())


def page_of(host: str, target: str) -> str | None:
    """The real page that a request is for, under whatever name; None for a trap's own."""
    path = target.partition("?")[0]
    if host == MIXED:
        return target if target in mixed_real() else None
    if host == PATH_SESSION and path.startswith("/v-"):
        path = "/" + path[1:].partition("/")[2]
    return path if path == "/" or path in SITE else None


def trap_of(host: str, target: str) -> str:
    """The trap that a request which is no first visit of a real page fell into."""
    if host != MIXED:
        return {SESSION: "session", PATH_SESSION: "path session"}[host]
    return next((name for name, (prefix, _) in TRAPS.items() if target.startswith(prefix)), "other")


class Score:
    """What a server's log says of a crawl."""

    def __init__(self, web: WebServer) -> None:
        real = {(MIXED, url) for url in mixed_real()}
        real |= {(host, path) for host in (SESSION, PATH_SESSION) for path in ("/", *SITE)}
        self.real = len(real)
        self.had: set[tuple[str, str]] = set()
        self.wasted: Counter[str] = Counter()
        for hit in web.log:
            if hit.path == "/robots.txt":
                continue
            page = page_of(hit.host, hit.path)
            if page is None or (hit.host, page) in self.had:
                self.wasted[trap_of(hit.host, hit.path)] += 1
            else:
                self.had.add((hit.host, page))
        self.missed = sorted(real - self.had)

    def lines(self) -> list[str]:
        wasted = sum(self.wasted.values())
        return [
            f"real pages {len(self.had):,} of {self.real:,}; wasted {wasted:,} requests",
            *(f"  {name:<14}{count:>6,}" for name, count in self.wasted.most_common()),
        ]


def serve_traps(port: int = 0) -> WebServer:
    mixed_real()
    return serve(answer, HOSTS, port)


def main() -> None:
    parser = argparse.ArgumentParser(description="Serve the trap web until interrupted.")
    parser.add_argument("--port", type=int, default=0, help="default: any that is free")
    with serve_traps(parser.parse_args().port) as web, contextlib.suppress(KeyboardInterrupt):
        for host in HOSTS:
            print(web.url(host=host), flush=True)
        while True:
            time.sleep(3600)


if __name__ == "__main__":
    main()
