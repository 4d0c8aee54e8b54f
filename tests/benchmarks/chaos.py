"""What it costs when things die: drivers, workers, disks, stores, at random moments.

    python -m tests.benchmarks.chaos                    # each once, with the seed 1
    python -m tests.benchmarks.chaos --seed 7 --strikes 5 --only "worker, processes"

After each the crawl goes on until it has ended. Then every page is there once, the sums
hold, and no file is left that counts for nothing; else this fails. The table tells the
fetches more than a calm crawl needs, in all and of the page that had most of them (at most
one a strike), and the least time between two requests to the host, whose delay is given.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from tests import chaos
from tests.tools import MissingError


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--strikes", type=int, default=3)
    parser.add_argument("--only", choices=chaos.CALAMITIES, action="append", help="default: all")
    options = parser.parse_args()
    print(f"seed {options.seed}, delay {chaos.DELAY} s\n{chaos.HEADING}")
    for calamity in options.only or chaos.CALAMITIES:
        with tempfile.TemporaryDirectory(prefix="beamcrawl-") as folder:
            try:
                told = chaos.survive(calamity, options.seed, Path(folder), options.strikes)
            except MissingError as missing:
                print(f"{calamity}: {missing}")
                continue
            print(told, flush=True)
            chaos.check(told)


if __name__ == "__main__":
    main()
