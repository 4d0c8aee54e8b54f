"""What the fetch slots of this process are doing right now, for a person who watches.

Only the in-process runner shares it with the driver; figures that matter travel as
data and stand in the manifest.
"""

from __future__ import annotations

from copy import copy


class Live:
    """Counts since the process began."""

    def __init__(self) -> None:
        self.pages = 0
        self.bytes = 0
        self.errors = 0
        self.waiting = 0  # URLs that the slots at work have taken and not yet ended
        self.depth = 0  # of the URL that ended last

    def copy(self) -> Live:
        return copy(self)


LIVE = Live()
