"""Scrapy once more, with the parser and the URL library that beamcrawl uses.

    scrapy runspider -L ERROR scrapy_lexbor.py -a seeds=SEEDS.txt -O pages.jsonl

What is left between the two is then not which library reads the page.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ada_url import join_url
from scrapy import Request, Spider
from scrapy.http import HtmlResponse, Response
from scrapy.linkextractors import IGNORED_EXTENSIONS
from scrapy_site import SETTINGS, row_of
from selectolax.lexbor import LexborHTMLParser

IGNORED = tuple(f".{ending}" for ending in IGNORED_EXTENSIONS)


class LexborSpider(Spider):
    name = "lexbor"
    custom_settings = SETTINGS

    def __init__(self, seeds: str, **kwargs: Any):
        self.start_urls = Path(seeds).read_text().split()
        one = len(self.start_urls) == 1
        self.only = urlsplit(self.start_urls[0]).netloc if one else None
        super().__init__(**kwargs)

    def parse(self, response: Response, **_: Any) -> Iterator[Any]:
        if not isinstance(response, HtmlResponse):
            yield row_of(response, None)
            return
        tree = LexborHTMLParser(response.body)
        title = tree.css_first("title")
        yield row_of(response, title.text() if title else None)
        hrefs = {node.attributes["href"] for node in tree.css("a[href],area[href]")}
        for target in {href.partition("#")[0] for href in hrefs if href}:
            try:
                url = join_url(response.url, target)
            except ValueError:
                continue
            if self.is_wanted(url):
                yield Request(url)

    def is_wanted(self, url: str) -> bool:
        if not url.startswith(("http://", "https://")) or url.lower().endswith(IGNORED):
            return False
        return self.only is None or url.split("/", 3)[2] == self.only
