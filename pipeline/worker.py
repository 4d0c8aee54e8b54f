"""A worker process of a local crawl: Beam's own, started as lean as the driver is."""

from __future__ import annotations

import ctypes
import os
import signal

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from pipeline.lean import absent, import_beam_lean

PR_SET_PDEATHSIG = 1  # prctl(2)


def die_with_parent() -> None:
    """Else it would go on fetching for a driver that is no more, beside the next one."""
    prctl = getattr(ctypes.CDLL(None), "prctl", None)  # Linux has it
    if prctl is not None:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    # Ctrl-C goes to the whole group of processes; how a round ends is the driver's to say.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    die_with_parent()
    import_beam_lean()
    from apache_beam.runners.worker import sdk_worker_main

    with absent("pandas"):
        sdk_worker_main.main(None)
