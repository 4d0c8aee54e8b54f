"""Attempts at a round: one is told apart from the first, and none comes after the commit."""

from __future__ import annotations

import pytest

from transforms import layout, storage
from transforms.attempts import RoundOverError, begin


@pytest.fixture(params=["local", "remote"])
def base(request, tmp_path):
    return str(tmp_path) if request.param == "local" else request.getfixturevalue("bucket").base


def test_begin_tells_the_first_attempt_from_another(base):
    assert not begin(base, 3, [0, 1], of=4)
    assert not begin(base, 3, [2], of=4)
    assert begin(base, 3, [0, 1], of=4)
    assert begin(base, 3, [2, 3], of=4)  # shards are dealt anew; one of them was begun
    assert not begin(base, 4, [0, 1, 2, 3], of=4)


def test_begin_of_a_committed_round_is_refused(base):
    storage.publish(layout.manifest_file(base, 3), b"{}")
    with pytest.raises(RoundOverError, match="round 3 has been committed already"):
        begin(base, 3, [0], of=4)
    assert storage.list_files(base) == [layout.manifest_file(base, 3)]
