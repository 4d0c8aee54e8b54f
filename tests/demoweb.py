"""The demo web: four small hosts with everything a crawler meets, and what it must make of it.

One table says both what a server answers and what a crawl should find, so the two cannot
drift apart. `answer` turns a request into a response; `truth` walks the table as a perfect
crawler would. Play with it by hand:

    python -m tests.demoweb --port 8000
    beamcrawl crawl http://127.0.0.11:8000/ -o /tmp/demo --delay 0 --allow-private
"""

from __future__ import annotations

import argparse
import contextlib
import re
import time
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit

from tests.webserver import Answer, Request, WebServer, serve
from transforms import records

LIBRARY, ARCHIVE, GALLERY, CLOSED = HOSTS = ("127.0.0.11", "127.0.0.12", "127.0.0.13", "127.0.0.14")


class Place(NamedTuple):
    """One URL of the demo web. Addresses in the table have no port; `answer` puts it in."""

    answer: Answer
    outcome: str = records.PAGE  # how its fetch should end
    leads_to: tuple[str, ...] = ()  # what a crawler should find here, from the host's root
    first: Answer | None = None  # for the first visit only


class Expected(NamedTuple):
    """What a crawl should know of a URL when it is over."""

    outcome: str
    status: int  # 0: never asked for
    depth: int


def page(
    title: str,
    text: str,
    *links: str,
    html: str = "",
    head: str = "",
    leads_to: tuple[str, ...] = (),
    encoding: str = "utf-8",
    content_type: str = "text/html; charset=utf-8",
    delay: float = 0.0,
    outcome: str = records.PAGE,
) -> Place:
    """A page that leads to its `links`; `html` and `head` are more markup, to `leads_to`."""
    items = "".join(f'<li><a href="{link}">{link}</a></li>\n' for link in links)
    markup = (
        f"<!DOCTYPE html>\n<html><head><title>{title}</title>{head}</head>\n"
        f"<body><h1>{title}</h1>\n<p>{text}</p>\n{html}\n<ul>\n{items}</ul></body></html>\n"
    )
    body = markup.encode(encoding)
    return Place(Answer(200, body, content_type, delay=delay), outcome, (*links, *leads_to))


def redirect(status: int, location: str, leads_to: str) -> Place:
    answer = Answer(status, headers=(("Location", location),))
    return Place(answer, records.REDIRECT, (leads_to,))


def document(body: bytes, content_type: str, outcome: str, *leads_to: str) -> Place:
    return Place(Answer(200, body, content_type), outcome, leads_to)


def failure(status: int) -> Place:
    return Place(Answer(status, b"Not today.\n", "text/plain"), records.HTTP_ERROR)


def counted(visit: str) -> Place:
    """A page that is the same at every visit, but for a number."""
    return page(
        "Counted",
        "Some pages count their readers. " * 10 + f"You are number {visit}.",
        head='<link rel="canonical" href="/counted">',
        leads_to=("/counted",),
    )


ROBOTS = b"User-agent: *\nDisallow: /private/\nAllow: /private/open\n"

# Two URLs, one text. The links are the same too, since both stand in one folder.
TALE = page("A tale told twice", "Some pages can be had under two addresses.", "/tale/end")

BROKEN = b"""<title>Broken, but well meant</title><p>Browsers forgive nearly everything.
<a href=/found/unquoted class=x>an attribute without quotes<p><b><a HREF='/found/unclosed'>and
<div><a
 href="/found/\nsplit">a line break within a URL is dropped</b></table></a>
<!-- <a href="/lost/comment"></a> --><script>"<a href='/lost/script'></a>"</script>
<a>without an address</a><a href="http://[">without a host</a><img src="/lost/image.png">
<a href="/found/last">the last one; the next is cut off</a><a href="/lost/cut"""

FRAMES = b"""<html><head><title>Frames</title></head><frameset cols="20%,80%">
<frame src="/frames/menu"><frame src="/frames/text"></frameset></html>"""

MAP = '<map name="m"><area href="/map/north" alt="North"><area href="/map/south" alt="S"></map>'

SITES: dict[str, dict[str, Place]] = {
    LIBRARY: {
        "/robots.txt": document(ROBOTS, "text/plain", records.PAGE),
        "/": page(
            "A walk through the web",
            "A page is a place. Its links are doors, and most of them are open.",
            *("/topics/", "/tale", "/loop/a", "/list?page=1", "/private/", "/private/open"),
            *("/moved", "/elsewhere", "/chain/1", "/ring/1", "/missing", "/failing", "/busy"),
            *("/slow", "/empty", "/big", "/picture", "/paper", "/korean", "/japanese"),
            *("/broken", "/base/", "/refresh", "/frames", "/inline", "/map", "/book/1"),
            *("/counted?visit=9", "/counted?visit=10", "/gone"),
            *(f"http://{ARCHIVE}/", "http://out-of-scope.invalid/lost"),
            html='<a href="mailto:reader@example.org">write</a> <a href="tel:+100">call</a>'
            '<a href="javascript:history.back()">back</a> <a href="#top">top</a>'
            '<a href="data:text/plain,hello">hello</a> <a href="">here</a>',
        ),
        "/topics/": page(
            "Topics",
            "One page may be reached by many ways: each is fetched once.",
            *("/topics/links", "/tale/again", "/"),
            html='<a href="links#a">1</a><a href="../topics/./links">2</a><a href=" links\n">3</a>',
        ),
        "/topics/links": page("Links", "A link says: this belongs together.", "/topics/"),
        "/tale": TALE,
        "/tale/again": TALE._replace(outcome=records.DUPLICATE),
        "/tale/end": page("The end of the tale", "Whoever read it twice is none the wiser."),
        "/loop/a": page("Round", "This page points to the next.", "/loop/b"),
        "/loop/b": page("And round", "This page points to the one before.", "/loop/a"),
        "/list?page=1": page("List, page 1", "A query makes a page of its own.", "/list?page=2"),
        "/list?page=2": page(
            "List, page 2",
            "A link that is a query alone keeps the path.",
            html='<a href="?page=3&amp;sort=up">next</a>',
            leads_to=("/list?page=3&sort=up",),
        ),
        "/list?page=3&sort=up": page("List, page 3", "The last page of three.", "/list?page=1"),
        "/private/": page("Private", "Nobody asked.", "/lost", outcome=records.ROBOTS_DENIED),
        "/private/open": page("Open", "An exception in robots.txt."),
        "/moved": redirect(301, "topics/moved", "/topics/moved"),
        "/topics/moved": page("Moved", "Good addresses last; the others leave a note."),
        "/elsewhere": redirect(302, f"http://{ARCHIVE}/years/1989", f"http://{ARCHIVE}/years/1989"),
        "/chain/1": redirect(301, "/chain/2", "/chain/2"),
        "/chain/2": redirect(307, "3", "/chain/3"),
        "/chain/3": redirect(308, "//127.0.0.11/chain/end#here", "/chain/end"),
        "/chain/end": page("The end of the chain", "Three steps, and here it is."),
        "/ring/1": redirect(302, "/ring/2", "/ring/2"),
        "/ring/2": redirect(302, "/ring/1", "/ring/1"),
        "/slow": page("Slow", "This page takes its time.", delay=1.0),
        "/missing": failure(404),
        "/failing": failure(500),
        "/busy": page("Busy", "The first visitor was asked to come back.")._replace(
            first=Answer(503, b"", headers=(("Retry-After", "1"),))
        ),
        "/empty": document(b"", "text/html", records.PAGE),
        "/big": document(b"A line among many.\n" * 300_000, "text/html", records.TOO_LARGE),
        "/picture": document(b"\x89PNG\r\n\x1a\n", "image/png", records.UNSUPPORTED_TYPE),
        "/paper": document(b"%PDF-1.7\n", "application/pdf", records.UNSUPPORTED_TYPE),
        # WHATWG URL: a path is UTF-8 always, a query is in the encoding of its page.
        "/korean": page(
            "한글",
            "웹은 모두의 것입니다.",
            html='<a href="/글?q=한글">찾기</a>',
            leads_to=("/%EA%B8%80?q=%C7%D1%B1%DB",),
            encoding="euc-kr",
            content_type="text/html; charset=EUC-KR",
        ),
        "/%EA%B8%80?q=%C7%D1%B1%DB": page("글", "찾았습니다."),
        "/japanese": page(
            "日本語",
            "ウェブはみんなのもの。",
            head='<meta charset="Shift_JIS">',
            html='<a href="/find?q=文字">検索</a>',
            leads_to=("/find?q=%95%B6%8E%9A",),
            encoding="shift_jis",
            content_type="text/html",
        ),
        "/find?q=%95%B6%8E%9A": page("検索", "見つかりました。"),
        "/broken": document(
            BROKEN,
            "text/html",
            records.PAGE,
            *("/found/unquoted", "/found/unclosed", "/found/split", "/found/last"),
        ),
        "/found/unquoted": page("Found without quotes", "As every browser does."),
        "/found/unclosed": page("Found though nothing was closed", "Mind the gap."),
        "/found/last": page("Found at the very end", "Half a tag is no tag."),
        "/found/split": page("Found across a line break", "Line breaks in a URL do not count."),
        "/base/": page(
            "Base",
            "Links start where the base says.",
            head='<base href="/shelf/"><base href="/lost/">',
            html='<a href="book">the book on the shelf</a>',
            leads_to=("/shelf/book",),
        ),
        "/shelf/book": page("A book on a shelf", "Found, although its link stood elsewhere."),
        "/refresh": page(
            "Please wait",
            "You will be taken on.",
            head='<meta http-equiv="Refresh" content="0; URL=\'/refreshed\'">',
            leads_to=("/refreshed",),
        ),
        "/refreshed": page("Taken on", "A page can send its reader away without a redirect."),
        "/frames": document(FRAMES, "text/html", records.PAGE, "/frames/menu", "/frames/text"),
        "/frames/menu": page("Menu", "The narrow frame."),
        "/frames/text": page("Text", "The wide frame."),
        "/inline": page(
            "A window in a page",
            "An inline frame shows one page in another.",
            html='<iframe src="/frames/note"></iframe>',
            leads_to=("/frames/note",),
        ),
        "/frames/note": page("Note", "Seen through a window."),
        "/map": page("A map", "Doors.", html=MAP, leads_to=("/map/north", "/map/south")),
        "/map/north": page("North", "Up."),
        "/map/south": page("South", "Down."),
        "/book/1": page(
            "Chapter 1",
            "Only the head of this page knows the next.",
            head='<link rel="next" href="2"><link rel="stylesheet" href="/lost/style.css">',
            leads_to=("/book/2",),
        ),
        "/book/2": page("Chapter 2", "The end."),
        "/counted?visit=9": counted("9"),
        "/counted?visit=10": counted("10"),
        "/counted": page("Counted", "Where all those visits belong."),
        "/gone": page("Page not found", "This answer says 200 all the same.", "/"),
    },
    ARCHIVE: {  # without a robots.txt: everything is allowed
        "/": page(
            "Archive",
            "What was online yesterday is worth keeping.",
            *("/years/1991", "/years/1993", f"http://{LIBRARY}/", f"http://{GALLERY}/"),
        ),
        "/years/1989": page("1989", "The web is an idea, written down."),
        "/years/1991": page("1991", "The first pages about hypertext go online."),
        "/years/1993": page("1993", "The web becomes free for everyone.", "/years/1991"),
    },
    GALLERY: {
        "/robots.txt": document(b"User-agent: *\nDisallow: /*.cgi$\n", "text/plain", records.PAGE),
        "/": page(
            "Gallery",
            "Pictures of pages, pages of pictures.",
            *("/room/1", "/draw.cgi", "/exit", f"http://{CLOSED}/"),
        ),
        "/room/1": page("Room 1", "A quiet place.", "/"),
        "/draw.cgi": page("Draw", "Nobody asked.", "/lost", outcome=records.ROBOTS_DENIED),
        "/exit": redirect(303, f"http://{LIBRARY}/", f"http://{LIBRARY}/"),
    },
    CLOSED: {
        "/robots.txt": document(b"User-agent: *\nDisallow: /\n", "text/plain", records.PAGE),
        "/": page("Closed", "Nobody asked.", "/lost", outcome=records.ROBOTS_DENIED),
    },
}


def answer(request: Request) -> Answer:
    """The demo web: from a request to its response."""
    place = SITES[request.host].get(request.target)
    if place is None:
        return failure(404).answer
    reply = place.first if place.first and request.visit == 1 else place.answer
    headers = tuple((name, _with_port(value, request.port)) for name, value in reply.headers)
    body = _with_port(reply.body.decode("latin-1"), request.port).encode("latin-1")
    return reply._replace(headers=headers, body=body)


def _with_port(text: str, port: int) -> str:
    return re.sub(r"//(127\.0\.0\.\d+)/", rf"//\1:{port}/", text)


def truth(port: int, scope: str = "host") -> dict[str, Expected]:
    """What a crawl from the first host's / must end with: every URL it meets, and its fate.

    Scope "host" stays on the first host; "any" takes all hosts of the demo web. A URL
    that was asked for more than once counts as it ended.
    """
    hosts = HOSTS[:1] if scope == "host" else HOSTS
    found: dict[str, Expected] = {}
    waiting = [(f"http://{LIBRARY}/", 0)]
    for url, depth in waiting:  # grows as it goes: breadth first
        host, target = urlsplit(url).hostname or "", url.split("/", 3)[3]
        address = _with_port(url, port)
        if host not in hosts or address in found:
            continue
        place = SITES[host]["/" + target]
        denied = place.outcome == records.ROBOTS_DENIED
        found[address] = Expected(place.outcome, 0 if denied else place.answer.status, depth)
        if not denied:
            further = depth + (place.outcome != records.REDIRECT)
            waiting += [(urljoin(url, link), further) for link in place.leads_to]
    return found


def serve_demo(port: int = 0) -> WebServer:
    return serve(answer, HOSTS, port)


def main() -> None:
    parser = argparse.ArgumentParser(description="Serve the demo web until interrupted.")
    parser.add_argument("--port", type=int, default=0, help="default: any that is free")
    with serve_demo(parser.parse_args().port) as web, contextlib.suppress(KeyboardInterrupt):
        for host in HOSTS:
            print(web.url(host=host), flush=True)
        while True:
            time.sleep(3600)


if __name__ == "__main__":
    main()
