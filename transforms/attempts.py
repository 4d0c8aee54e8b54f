"""How often what failed was tried, and when that was often enough.

A failure is the host's fault, or the URL's. A host that answers nothing well is left to
`pace`, and its URLs lose nothing by it; a URL that fails while its host answers others
has failed for good after the retries.
"""

from __future__ import annotations

from typing import NamedTuple

from transforms.exchange import Errand
from transforms.pace import is_suspect, is_unanswered
from transforms.scheduler import Host
from transforms.transport import Response

WELL = 4  # answers for each failure at other URLs, of a host that is not itself at fault


class _Tries(NamedTuple):
    made: int
    successes: int  # of the host, before the first
    failures: int


class Attempts:
    """The failed attempts of one slot."""

    def __init__(self, retries: int) -> None:
        self.retries = retries
        self.rows: dict[int, _Tries] = {}
        self.origins: dict[str, _Tries] = {}

    def of_row(self, row: int) -> int:
        return self.rows[row].made

    def is_last(self, host: Host, row: int, response: Response) -> bool:
        """Count a failed attempt at a URL: has it failed for good?

        `host` has counted this failure. One that fails others now and then is at fault.
        """
        tries = self.rows.get(row) or _Tries(0, host.successes, host.failures - 1)
        tries = self.rows[row] = tries._replace(made=tries.made + 1)
        if tries.made <= self.retries:
            return False
        if not is_suspect(response):
            return True
        failures_of_others = host.failures - tries.failures - tries.made
        return host.successes - tries.successes > WELL * failures_of_others

    def is_dead(self, errand: Errand, response: Response) -> bool:
        """Count an answer, or none, to a request for robots.txt: is its origin gone?

        It is when it does not answer while its host does, on another port.
        """
        if not is_unanswered(response):
            return False
        host = errand.host
        tries = self.origins.get(errand.origin) or _Tries(0, host.successes, 0)
        tries = self.origins[errand.origin] = tries._replace(made=tries.made + 1)
        return tries.made > self.retries and host.successes > tries.successes
