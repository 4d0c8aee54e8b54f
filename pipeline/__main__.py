"""The `beamcrawl` command."""

import gc
import os
import sys

# A crawl multiplies no matrices; starting threads for it costs 0.1 s. Before numpy comes.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from pipeline.cli import main
from pipeline.lean import absent


def run() -> None:
    gc.disable()  # until Beam is imported; what ends before that leaves little behind
    with absent("pandas"):
        sys.exit(main())


if __name__ == "__main__":
    run()
