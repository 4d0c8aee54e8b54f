"""Doubt: which of the URLs that enter the frontier look like what a trap makes.

It is decided once, when a URL is admitted, by what is known then: the shapes that were
admitted before, the page where the URL was found, and what that page was worth.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from transforms.patterns import fingerprint_shape, is_kin, shape_of
from transforms.runs import seen_in
from transforms.traps import A_LIST, FOUND_ON_DULL, KIN, LISTED, NO_DOUBT, VARIANT


def doubts_of(
    admitted: pa.Table, hosts: list[str], visited: tuple[str, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """The doubt about each of the admitted CANDIDATES, and the fingerprints of their shapes that
    are new. The first URL of a shape is no variant; `visited` has the shapes known before.
    """
    urls, referrers = admitted["url"].to_pylist(), admitted["referrer"].to_pylist()
    pairs = zip(urls, referrers, strict=True)
    kin = np.fromiter((is_kin(url, referrer) for url, referrer in pairs), bool, len(urls))
    dull = admitted["dull"].fill_null(False).to_numpy()
    shapes = shapes_of(urls, hosts)
    sources = admitted["source_fingerprint"].to_numpy()
    is_variant, new = variants(shapes, visited)
    doubts = np.select(
        [
            admitted["seed"].to_numpy(),
            dull,
            is_variant & ~kin & is_listed(shapes, sources),
            is_variant,
            kin & (shapes == 0),
        ],
        [NO_DOUBT, FOUND_ON_DULL, LISTED, VARIANT, KIN],
        NO_DOUBT,
    )
    return doubts.astype(np.int8), new


def shapes_of(urls: list[str], hosts: list[str]) -> np.ndarray:
    """The fingerprint of each URL's shape; 0 for one that has none."""
    known_as = (
        fingerprint_shape(host, shape) if shape else 0
        for host, shape in zip(hosts, map(shape_of, urls), strict=True)
    )
    return np.fromiter(known_as, np.uint64, len(urls))


def variants(shapes: np.ndarray, visited: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Which URLs are not the first of their shape, and the shapes that are new."""
    distinct, first, places = np.unique(shapes, return_index=True, return_inverse=True)
    is_known = seen_in(distinct, visited)
    is_first = first[places] == np.arange(len(shapes))
    is_variant = (shapes != 0) & (is_known[places] | ~is_first)
    return is_variant, distinct[~is_known & (distinct != 0)]


def is_listed(shapes: np.ndarray, sources: np.ndarray) -> np.ndarray:
    """Which URLs are one of several of their shape on the page where they were found."""
    _, lists, lengths = np.unique(shapes ^ sources, return_inverse=True, return_counts=True)
    return np.asarray(lengths[lists] >= A_LIST)
