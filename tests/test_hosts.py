"""What is known of a host between rounds: the last that was written counts."""

from __future__ import annotations

from typing import get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transforms.hosts import HOSTS, HostRecord, merge_host_runs, read_hosts, write_hosts
from transforms.robots_cache import RobotsRecord
from transforms.storage import read_bytes

ROBOTS = RobotsRecord(
    "https://a.example", body=b"User-agent: *\nDisallow: \xff\x00", expires_at=1e9 + 0.25
)
FULL = HostRecord(
    "a.example",
    ready_at=1e9 + 0.5,
    failures=2,
    reason="HTTP 503",
    address="2001:db8::1",
    robots=(ROBOTS, RobotsRecord("http://a.example:81")),
)


def test_host_record_has_a_column_for_each_field():
    assert tuple(HOSTS.names) == HostRecord._fields
    kinds = {str: "string", int: "int64", float: "double"}
    for name, kind in get_type_hints(HostRecord).items():
        if kind in kinds:
            assert str(HOSTS.field(name).type) == kinds[kind], name


def test_read_hosts_gives_back_what_was_written(tmp_path):
    path = write_hosts(f"{tmp_path}/run.parquet", [FULL, HostRecord("b.example")])
    assert read_hosts([path], ["a.example", "b.example"]) == {
        "a.example": FULL,
        "b.example": HostRecord("b.example"),
    }


@pytest.mark.parametrize("wanted", [[], ["absent.example"]])
def test_read_hosts_of_unknown_hosts_is_nothing(tmp_path, wanted):
    path = write_hosts(f"{tmp_path}/run.parquet", [FULL])
    assert read_hosts([path], wanted) == {}
    assert read_hosts([], wanted) == {}


def test_write_hosts_does_not_depend_on_the_order(tmp_path):
    records = [HostRecord(name) for name in ("c", "a", "b")]
    one = write_hosts(f"{tmp_path}/one.parquet", records)
    two = write_hosts(f"{tmp_path}/two.parquet", reversed(records))
    assert read_bytes(one) == read_bytes(two)


RUN = st.dictionaries(st.sampled_from("abcd"), st.floats(0, 1e9))


@settings(max_examples=30, deadline=None)
@given(st.lists(RUN, max_size=4))
def test_last_record_of_a_host_counts_merged_or_not(tmp_path_factory, runs):
    folder = tmp_path_factory.mktemp("hosts")
    paths, expected = [], {}
    for number, run in enumerate(runs):
        records = [HostRecord(name, ready_at=ready_at) for name, ready_at in run.items()]
        paths.append(write_hosts(f"{folder}/{number}.parquet", records))
        expected.update({record.host: record for record in records})
    assert read_hosts(paths, "abcd") == expected
    merged = merge_host_runs(f"{folder}/merged.parquet", paths)
    assert read_hosts([merged], "abcd") == expected


def test_merge_keeps_robots_txt(tmp_path):
    old = write_hosts(f"{tmp_path}/0.parquet", [FULL._replace(robots=())])
    new = write_hosts(f"{tmp_path}/1.parquet", [FULL])
    merged = merge_host_runs(f"{tmp_path}/merged.parquet", [old, new])
    assert read_hosts([merged], ["a.example"]) == {"a.example": FULL}
