"""Every option of a crawl, in one table: its effect, unit, default and reason.

`--help`, the parser, the settings object and a test that holds the README against them
are all made from this table.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from transforms.canonical import OPTIONAL
from transforms.shape import BY_SHAPE

VERSION = "0.1.0"
USER_AGENT = f"beamcrawl/{VERSION}"

IN_PROCESS = ("DirectRunner", "FnApiRunner")  # names of Beam's engine in this process

_DURATION = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_SIZE = {"": 1, "b": 1, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}


class UsageError(Exception):
    """What a person asked for can not be done; the text says what to do instead."""


class JobFailed(Exception):  # noqa: N818  (told in one line; no defect of ours)
    """A job failed on a runner elsewhere; the text is the reason that it gave."""


def duration(text: str) -> float:
    """Seconds from `90`, `1.5s`, `30m`, `2h`, `7d`.

    >>> duration("1.5m")
    90.0
    """
    return _quantity(text, _DURATION, "a duration such as 20s, 30m, 2h or 7d")


def some_time(text: str) -> float:
    """A duration of more than nothing."""
    seconds = duration(text)
    if seconds <= 0:
        raise ValueError(f"{text!r} is no time at all; expected a duration such as 20s or 1m")
    return seconds


def size(text: str) -> int:
    """Bytes from `4096`, `512KiB`, `5MiB`.

    >>> size("5MiB")
    5242880
    """
    return int(_quantity(text, _SIZE, "a size such as 512KiB or 5MiB"))


def _quantity(text: str, units: dict[str, int], expected: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([a-zA-Z]*)", text.strip())
    if match is None or match[2].lower() not in units:
        raise ValueError(f"{text!r} is not {expected}")
    return float(match[1]) * units[match[2].lower()]


def factor(text: str) -> float:
    """A number from 0 on."""
    if not re.fullmatch(r"\d+(\.\d+)?", text.strip()):
        raise ValueError(f"{text!r} is not a number of at least 0")
    return float(text)


def at_least(least: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not re.fullmatch(r"-?[0-9]+", text.strip()) or int(text) < least:
            raise ValueError(f"{text!r} is not a whole number of at least {least}")
        return int(text)

    return parse


def pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"{text!r} is not a regular expression: {error}") from None
    return text


def canonical_rule(text: str) -> str:
    """The name of a rule of canonical keys that can be turned off."""
    if text not in OPTIONAL:
        raise ValueError(f"{text!r} is not a rule that can be off: {', '.join(OPTIONAL)}")
    return text


def lifted_reason(text: str) -> str:
    """The reason of a filter that can be lifted."""
    if text not in BY_SHAPE:
        raise ValueError(f"{text!r} is not a filter that can be lifted: {', '.join(BY_SHAPE)}")
    return text


def header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name) or "\n" in value:
        raise ValueError(f"{text!r} is not a header such as 'Accept-Language: de'")
    return name, value.strip()


@dataclass(frozen=True)
class Option:
    flags: str  # as typed, separated by spaces
    default: Any
    parse: Callable[[str], Any] | None  # None: a switch
    metavar: str
    effect: str  # for --help and the README; says the unit, and what 0 means
    reason: str  # why this default
    choices: tuple[str, ...] = ()
    many: bool = False
    fixed: bool = False  # decided when a crawl starts; stands in crawl.json
    shown: str = ""  # the default as a person writes it

    @property
    def name(self) -> str:
        return self.flags.split()[-1].lstrip("-").replace("-", "_")


OPTIONS = (
    Option("-i --input-file", None, str, "FILE", "seeds, one a line; # begins a comment, - is "
           "standard input", "", ),
    Option("-o --out", "./crawl", str, "DIR", "the crawl's folder: a local path, or "
           "gs://BUCKET/FOLDER", ""),
    Option("-d --depth", None, at_least(0), "N", "stop after this depth, in links from a seed; "
           "0 fetches the seeds alone", "a site has no natural depth"),
    Option("--limit", None, at_least(1), "N", "stop after this many pages", ""),
    Option("--time-limit", None, duration, "TIME", "stop after this time; what was fetched is "
           "kept", ""),
    Option("--scope", "host", str, "SCOPE", "what belongs to the crawl: the seeds' page, prefix, "
           "host, domain, or any", "what a person means by 'this site'",
           choices=("page", "prefix", "host", "domain", "any"), fixed=True),
    Option("--include", (), pattern, "RE", "follow only URLs in which one of these is found", "",
           many=True, fixed=True),
    Option("--exclude", (), pattern, "RE", "follow no URL in which one of these is found", "",
           many=True, fixed=True),
    Option("--duplicates", "body", str, "BY", "what makes a page a duplicate, whose links are not "
           "followed: the body of another page, or its title and text but for numbers, dates and "
           "markup", "text may take pages for one that differ in a number or a link",
           choices=("body", "text"), fixed=True),
    Option("--near-duplicates", False, None, "", "say of each page which earlier one has nearly "
           "its text; nothing is dropped for it", "it takes a tenth of the CPU time", fixed=True,
           shown="off"),
    Option("--allow", (), lifted_reason, "REASON", "refuse no URL for this: "
           + ", ".join(BY_SHAPE), "these are files that are no pages, and traps", many=True,
           fixed=True),
    Option("--deny", "", str, "FILE", "refuse the hosts in this file, with all below them, and "
           "what its /regular expressions/ find, one a line; read anew for each job, which is a "
           "round or --depths-per-job of them", ""),
    Option("--lift", (), pattern, "RE", "set no URL aside in which one of these is found, from now "
           "on, and fetch those that were", "a pattern that brought nothing new is a trap",
           many=True),
    Option("--tell-apart", (), canonical_rule, "RULE", "let two URLs be two that differ in this "
           "alone: " + ", ".join(OPTIONAL), "one page has many spellings", many=True, fixed=True),
    Option("-c --concurrency", 64, at_least(1), "N", "connections open at once, per fetcher",
           "enough for 64 hosts at a time; more hosts take more"),
    Option("--delay", 1.0, duration, "TIME", "least gap between the end of a response and the "
           "next request to that host; 0 is no gap but the site's own Crawl-delay",
           "a person reading clicks no faster", shown="1s"),
    Option("--adaptive", 2.0, factor, "FACTOR", "that gap is at least FACTOR × the host's response "
           "time, up to 30s; 0 turns this off", "a slow host is a busy one"),
    Option("--max-crawl-delay", 60.0, duration, "TIME", "a host whose robots.txt asks for a longer "
           "Crawl-delay is put aside", "it would take for ever", shown="60s"),
    Option("--per-address", 8, at_least(0), "N", "hosts of one IP address asked at once; 0 is no "
           "limit", "many hosts share one machine"),
    Option("--host-limit", None, at_least(1), "N", "most URLs of one host to fetch in the crawl; "
           "the others wait", ""),
    Option("--host-round-limit", None, at_least(1), "N", "most URLs of one host to fetch in a "
           "round", ""),
    Option("--round-time", 600.0, duration, "TIME", "end and commit a round after this time; what "
           "it did not reach is first in the next; 0 is no limit",
           "what a crash can cost", shown="10m"),
    Option("--robots", True, None, "", "obey robots.txt (--no-robots: do not)", "RFC 9309"),
    Option("--robots-forbidden", "deny", str, "RULE", "what a robots.txt answered with 401 or 403 "
           "means: deny the whole site, or allow (RFC 9309)", "who shuts that door wants no visit",
           choices=("deny", "allow")),
    Option("--user-agent", USER_AGENT, str, "TEXT",
           "the User-Agent; its first word is the name that robots.txt rules are matched with",
           "names the project"),
    Option("--contact", "", str, "EMAIL", "an address for site owners, sent as From", ""),
    Option("--header", (), header, "'NAME: VALUE'", "one more request header", "", many=True),
    Option("--proxy", "", str, "URL", "send requests through this proxy", ""),
    Option("--timeout", 20.0, some_time, "TIME", "for a whole request, connecting included",
           "a slower answer holds a connection that others wait for", shown="20s"),
    Option("--retries", 2, at_least(0), "N", "more attempts at what may pass (no answer, 429, "
           "5xx)", "a passing fault seldom strikes three times"),
    Option("--max-body", 5 << 20, size, "SIZE", "cut a page at this size",
           "a page, not a download", shown="5MiB"),
    Option("--transport", "curl", str, "NAME", "the HTTP client: curl, or requests for its auth "
           "and adapters", "a small part of the CPU time", choices=("curl", "requests")),
    Option("--allow-private", False, None, "", "let URLs resolve to loopback and private "
           "addresses", "a link must not reach into your network", shown="off"),
    Option("--fetchers", None, at_least(1), "N", "fetch slots that work side by side",
           "the runner's workers", shown="from the runner"),
    Option("--shards", 16, at_least(1), "N", "shards of the state; a shard is fetched by one slot",
           "room for 16 fetchers",
           fixed=True),
    Option("--depths-per-job", None, at_least(1), "N", "depths chained in one Beam job",
           "a job of processes takes a second to start, one in a cloud minutes",
           shown="1; 4 with processes"),
    Option("--patience", 600.0, duration, "TIME", "do not wait longer than this for a host; stop "
           "with work left instead", "a schedule can come back", shown="10m"),
)  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """The options of one run, parsed. Durations in seconds, sizes in bytes."""

    seeds: tuple[str, ...]
    out: str
    depth: int | None
    limit: int | None
    time_limit: float | None
    scope: str
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    duplicates: str
    near_duplicates: bool
    allow: tuple[str, ...]
    deny: str
    lift: tuple[str, ...]
    tell_apart: tuple[str, ...]
    concurrency: int
    delay: float
    adaptive: float
    max_crawl_delay: float
    per_address: int
    host_limit: int | None
    host_round_limit: int | None
    round_time: float
    robots: bool
    robots_forbidden: str
    user_agent: str
    contact: str
    header: tuple[tuple[str, str], ...]
    proxy: str
    timeout: float
    retries: int
    max_body: int
    transport: str
    allow_private: bool
    fetchers: int | None
    shards: int
    depths_per_job: int | None
    patience: float
    input_file: str | None = None
    beam: tuple[str, ...] = ()  # what goes to Beam as it is

    @classmethod
    def of(cls, seeds: tuple[str, ...] = (), **given: Any) -> Settings:
        """Settings with defaults for all that is not given."""
        values = {option.name: option.default for option in OPTIONS}
        return cls(seeds=seeds, **{**values, **given})

    @property
    def is_remote(self) -> bool:
        """Whether the job goes to a runner in other processes."""
        return self._beam_option("--runner", IN_PROCESS[0]) not in IN_PROCESS

    @property
    def is_dry_run(self) -> bool:
        """Whether Beam was asked to check the graph and no more."""
        return self._beam_option("--dry_run", "False").lower() in ("true", "1", "")

    def _beam_option(self, flag: str, default: str) -> str:
        """What was said of one of Beam's options, without importing Beam."""
        for word, following in zip(self.beam, (*self.beam[1:], ""), strict=False):
            name, equals, value = word.partition("=")
            if name == flag:
                return value if equals else following
        return default


def options_table() -> str:
    """The options as the README has them."""
    lines = ["| option | effect | default | why |", "|---|---|---|---|"]
    for option in OPTIONS:
        flags = "/".join(option.flags.split())
        metavar = option.metavar.replace("|", "\\|")
        shown = option.shown or ("" if option.default in (None, (), "") else str(option.default))
        default = ("on" if option.default else "off") if option.parse is None else shown
        lines.append(
            f"| `{f'{flags} {metavar}'.strip()}` | {option.effect} | {default} | {option.reason} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    print(options_table())
