"""A worker process of a local crawl: Beam's own, started as lean as the driver is."""

from __future__ import annotations

import os
import signal

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from pipeline.lean import absent, import_beam_lean

if __name__ == "__main__":
    # Ctrl-C goes to the whole group of processes; how a round ends is the driver's to say.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    import_beam_lean()
    from apache_beam.runners.worker import sdk_worker_main

    with absent("pandas"):
        sdk_worker_main.main(None)
