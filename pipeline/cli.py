"""The command line: what a person types becomes settings; what goes wrong becomes one line."""

from __future__ import annotations

import argparse
import errno
import sys
import textwrap
from collections.abc import Sequence
from typing import Any

from pipeline.lean import import_beam
from pipeline.options import OPTIONS, USER_AGENT, VERSION, JobFailed, Option, Settings, UsageError

FAILED, BAD_USAGE = 1, 2

EPILOG = """\
examples:
  beamcrawl crawl https://example.com/ -o example     one site, politely
  beamcrawl crawl -o example                          go on with it
  beamcrawl crawl -i seeds.txt --scope domain -d 3    several sites, three links deep
  beamcrawl status example
  beamcrawl explain example https://example.com/about

exit codes: 0 finished · 1 failed · 2 bad usage · 3 stopped with work left: run the
same command to go on. Any other option goes to Beam: --runner, --flink_master, …
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        raise UsageError(f"{message} (see beamcrawl --help)")


def build_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="beamcrawl",
        description="A polite, incremental web crawler that is an Apache Beam pipeline.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"beamcrawl {VERSION}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    crawl = commands.add_parser(
        "crawl",
        help="start a crawl, or continue the one in DIR",
        description="Start a crawl, or continue the one in DIR.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    crawl.add_argument("urls", nargs="*", metavar="URL", help="where the crawl begins (seeds)")
    for option in OPTIONS:
        _add(crawl, option)
    status = commands.add_parser(
        "status", help="what is there, from the manifests alone", allow_abbrev=False
    )
    status.add_argument("out", metavar="DIR", help="the crawl's folder")
    explain = commands.add_parser(
        "explain", help="why a URL is where it is: found, refused, fetched or waiting"
    )
    explain.add_argument("out", metavar="DIR", help="the crawl's folder")
    explain.add_argument("url", metavar="URL", help="as it stands in a page, or in `pages`")
    _add(explain, next(option for option in OPTIONS if option.name == "deny"))
    return parser


def _add(parser: argparse.ArgumentParser, option: Option) -> None:
    shown = option.shown or ("" if option.default in (None, (), "") else str(option.default))
    text = option.effect + (f" (default: {shown})" if shown and option.parse else "")
    kwargs: dict[str, Any] = {"dest": option.name, "default": None, "help": text.replace("%", "%%")}
    if option.parse is None:
        parser.add_argument(*option.flags.split(), action=argparse.BooleanOptionalAction, **kwargs)
        return
    parse = option.parse

    def checked(value: str) -> Any:
        try:
            return parse(value)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    parser.add_argument(
        *option.flags.split(),
        type=checked,
        metavar=option.metavar,
        choices=option.choices or None,
        action="append" if option.many else "store",
        **kwargs,
    )


def split_beam_options(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Our arguments and Beam's. Raises UsageError for an option that neither knows."""
    known = {flag for option in OPTIONS for flag in option.flags.split()}
    known |= {f"--no-{flag[2:]}" for flag in known if flag.startswith("--")}
    known |= {"--help", "--version"}
    if all(word.split("=")[0] in known for word in arguments if word.startswith("--")):
        return list(arguments), []
    import_beam(arguments)
    actions = _beam_actions()
    ours: list[str] = []
    beams: list[str] = []
    words = iter(arguments)
    for word in words:
        flag, equals, _ = word.partition("=")
        if not flag.startswith("--") or flag in known or flag == "--":
            ours.append(word)
            continue
        action = actions.get(flag)
        if action is None:
            raise UsageError(f"unknown option {flag} (neither beamcrawl's nor Beam's)")
        beams.append(word)
        if not equals and action.nargs != 0:
            value = next(words, None)
            if value is None:
                raise UsageError(f"{flag} wants a value")
            beams.append(value)
    return ours, beams


def _beam_actions() -> dict[str, argparse.Action]:
    """Beam's options by flag."""
    from apache_beam.options.pipeline_options import PipelineOptions

    parser = argparse.ArgumentParser(allow_abbrev=False)
    for cls in PipelineOptions.__subclasses__():
        try:
            cls._add_argparse_args(parser)
        except argparse.ArgumentError:
            continue  # two of Beam's classes name one option
    return dict(parser._option_string_actions)


def settings_of(
    arguments: argparse.Namespace, beam: Sequence[str]
) -> tuple[Settings, dict[str, Any]]:
    """The settings of a run, and which options were named."""
    from pipeline.deny import read_deny
    from pipeline.seeds import read_seeds
    from transforms.robots import product_token

    values = {option.name: getattr(arguments, option.name) for option in OPTIONS}
    given: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in values.items()
        if value is not None
    }
    given["out"] = given.get("out", Settings.of().out).rstrip("/") or "/"
    if not product_token(given.get("user_agent", USER_AGENT)):
        raise UsageError(
            f"--user-agent {given['user_agent']!r} has no name that robots.txt can address; "
            "begin it with letters, as in mycrawler/1.0"
        )
    read_deny(given.get("deny", ""))  # what is wrong with it is said before anything begins
    seeds = read_seeds(arguments.urls, given.get("input_file"))
    return Settings.of(seeds, **given, beam=tuple(beam)), given


def run_crawl(arguments: argparse.Namespace, beam: Sequence[str]) -> int:
    from pipeline.driver import crawl
    from pipeline.progress import Progress
    from pipeline.summary import print_end

    settings, given = settings_of(arguments, beam)
    ended = crawl(settings, given, Progress())
    return print_end(ended)


def run_status(arguments: argparse.Namespace) -> int:
    from pipeline.summary import print_status

    print_status(arguments.out.rstrip("/"))
    return 0


def run_explain(arguments: argparse.Namespace) -> int:
    from pipeline.explain import print_explanation

    print_explanation(arguments.out.rstrip("/"), arguments.url, arguments.deny or "")
    return 0


COMMANDS = {"status": run_status, "explain": run_explain}


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns its exit code. Only a defect of ours shows a traceback."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        ours, beam = split_beam_options(arguments)
        parsed = build_parser().parse_args(ours)
        if parsed.command == "crawl":
            return run_crawl(parsed, beam)
        return COMMANDS[parsed.command](parsed)
    except UsageError as error:
        return _fail(str(error), BAD_USAGE)
    except BrokenPipeError:
        return FAILED
    except Exception as error:
        line = explain_failure(error)
        if line is None:
            raise
        return _fail(line, FAILED)


def explain_failure(error: BaseException) -> str | None:
    """One line for a failure that is not a defect: of the disk, of storage, of a commit."""
    from pipeline.manifest import CommitError
    from transforms.stop import RoundOverError

    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError):
            full = cause.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
            what = "the disk is full" if full else f"cannot go on: {cause}"
            advice = "free some space and run" if full else "mend that and run"
            return f"{what}; nothing committed is lost: {advice} the same command to go on"
        if isinstance(cause, JobFailed):
            return (
                f"the job failed: {cause}; nothing committed is lost: mend that and run the "
                "same command to go on"
            )
        if isinstance(cause, CommitError | RoundOverError):
            return f"the round was not committed: {cause}"
        cause = cause.__cause__ or cause.__context__
    return None


def _fail(line: str, code: int) -> int:
    print(textwrap.shorten(f"beamcrawl: {line}", 2000, placeholder=" …"), file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
