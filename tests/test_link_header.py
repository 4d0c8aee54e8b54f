"""The Link header: which URL a response calls its canonical one."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.link_header import canonical_of


@pytest.mark.parametrize(
    ("value", "target"),
    [
        ("", ""),
        ("</a>", ""),
        ("</a>; rel=canonical", "/a"),
        ('</a>; rel="canonical"', "/a"),
        ("</a>; REL=Canonical", "/a"),
        ("</a> ; rel = canonical ; type=text/html", "/a"),
        ('</a>; rel="alternate canonical"', "/a"),
        ("</a>; rel=next, </b>; rel=canonical", "/b"),
        ("</a>; rel=canonical, </b>; rel=canonical", "/a"),
        ('</a>; title="x, <no>; rel=canonical"; rel=next, </b>; rel=canonical', "/b"),
        ('</a,b>; title="\\"; rel=next"; rel=canonical', "/a,b"),
        ("</a>; rel=next; rel=canonical", ""),  # RFC 8288 §3.3: the first counts
        ("</a>; rel=canonicals", ""),
        ("</a>; xrel=canonical", ""),
        ("< /a >; rel=canonical", "/a"),
        ("/a; rel=canonical", ""),
        ("</a; rel=canonical", ""),
    ],
)
def test_canonical_of_a_header(value, target):
    assert canonical_of([value]) == target


def test_canonical_of_several_headers_is_the_first():
    assert canonical_of(["</a>; rel=next", "</b>; rel=canonical"]) == "/b"
    assert canonical_of([]) == ""


@given(st.text('<>;,="\\ relcanonical/', max_size=100))
def test_canonical_of_anything_is_a_target_of_it_or_nothing(value):
    assert canonical_of([value]) in ["", *(part.strip() for part in re.split("[<>]", value))]


@pytest.mark.parametrize("part", ["<", "<a>", '<a>;"', "<a>;rel=", '<a>;"\\', "<a>; "])
def test_canonical_of_takes_linear_time(part):
    began = time.process_time()
    canonical_of([part * (256_000 // len(part))])
    assert time.process_time() - began < 2
