"""The `beamcrawl` command."""

import gc
import os
import sys

# A crawl multiplies no matrices; starting threads for it costs 0.1 s. Before numpy comes.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from pipeline.cli import main
from pipeline.lean import absent


def run() -> None:
    # Millions of small records and hardly a cycle: look for cycles a hundredth as often.
    gc.set_threshold(50_000, 20, 20)
    with absent("pandas"):
        sys.exit(main())


if __name__ == "__main__":
    run()
