"""Serve the demo web on loopback and crawl it: a real crawl within seconds of the install.

What `./run_local.sh` does without arguments. The crawl goes to ./crawl-demo, anew each time.
"""

from __future__ import annotations

import shutil
import sys

from pipeline.cli import main
from tests import demoweb

FOLDER = "crawl-demo"


def run() -> int:
    shutil.rmtree(FOLDER, ignore_errors=True)
    with demoweb.serve_demo() as web:
        options = ["-o", FOLDER, "--scope", "any", "--exclude", r"\.invalid/"]
        pace = ["--delay", "0.05", "--adaptive", "0", "--retries", "1", "--allow-private"]
        print(f"crawling the demo web at {web.url()} (it lives as long as this command)\n")
        code = main(["crawl", web.url(), *options, *pace])
    print(f"\nThe same again:  .venv/bin/beamcrawl status {FOLDER}")
    print(
        f"In DuckDB:       SELECT outcome, count(*) FROM '{FOLDER}/pages/**/*.parquet' GROUP BY 1"
    )
    return 0 if code == 3 else code


if __name__ == "__main__":
    sys.exit(run())
