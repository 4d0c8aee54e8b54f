"""Sites, crawled by Scrapy: the other side of the comparison. Runs in a venv of its own.

    scrapy runspider -L ERROR scrapy_site.py -a seeds=SEEDS.txt -O pages.jsonl

As it stands it is Scrapy as its manual shows it: a CrawlSpider whose LinkExtractor skips
links to pictures, archives and the like. With `-a everything=1 -s HTTPERROR_ALLOW_ALL=1`
no link is skipped and no answer dropped: what a site has, rather than how fast it is got.
With one seed it stays on its host; a web of many has no link that leads out of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from scrapy.http import HtmlResponse, Response
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule

SETTINGS = {
    "CONCURRENT_REQUESTS": 64,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 64,
    "DOWNLOAD_DELAY": 0,
    "ROBOTSTXT_OBEY": True,
    "LOG_LEVEL": "ERROR",
    "TELNETCONSOLE_ENABLED": False,
}


def row_of(response: Response, title: str | None) -> dict[str, Any]:
    return {
        "url": response.url,
        "status": response.status,
        "content_type": response.headers.get("Content-Type", b"").decode("latin-1"),
        "bytes": len(response.body),
        "title": title,
    }


class SiteSpider(CrawlSpider):
    name = "site"
    custom_settings = SETTINGS

    def __init__(self, seeds: str, everything: str = "", **kwargs: Any):
        self.start_urls = Path(seeds).read_text().split()
        deny = [] if everything else None  # None: the list that Scrapy ships
        only = [urlsplit(url).netloc for url in self.start_urls]
        if len(only) > 1:
            only = []
        self.allowed_domains = [netloc.partition(":")[0] for netloc in only]
        links = LinkExtractor(allow_domains=only, deny_extensions=deny)
        self.rules = (Rule(links, callback="keep", follow=True),)
        super().__init__(**kwargs)

    def parse_start_url(self, response: Response, **_: Any) -> Any:
        return self.keep(response)

    def keep(self, response: Response) -> Iterator[dict[str, Any]]:
        title = response.css("title::text").get() if isinstance(response, HtmlResponse) else None
        yield row_of(response, title)
