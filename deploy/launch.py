"""What a Flex Template's launcher runs: its parameters become the words of `beamcrawl crawl`.

The launcher must not wait for its job, and does not: Beam only writes the job's graph for
it. So a launch is one job of `--depths-per-job` depths; whoever schedules launches goes on
with the crawl by launching again.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from pipeline.cli import main
from pipeline.options import OPTIONS


def words_of(parameters: Sequence[str]) -> list[str]:
    """The words of the command. A template's parameters have `_` where our options have `-`.

    >>> words_of(["--depths_per_job=4", "--seeds=http://a/ http://b/", "--temp_location=x"])
    ['crawl', '--depths-per-job=4', 'http://a/', 'http://b/', '--temp_location=x']
    """
    ours = {option.name: option.flags.split()[-1] for option in OPTIONS}
    switches = {option.name for option in OPTIONS if option.parse is None}
    words = ["crawl"]
    for word in parameters:
        name, equals, value = word.removeprefix("--").partition("=")
        if name == "seeds":
            words += value.split()
        elif name in switches:
            is_on = value.lower() in ("", "true", "1", "yes")
            words.append(ours[name] if is_on else f"--no-{ours[name][2:]}")
        else:
            words.append(f"{ours[name]}{equals}{value}" if name in ours else word)
    return words


if __name__ == "__main__":
    sys.exit(main(words_of(sys.argv[1:])))
