"""What the Link header of a response says (RFC 8288 §3): here, which URL is the canonical one."""

from __future__ import annotations

import re
from collections.abc import Iterable

# A target and its parameters, up to the comma before the next target. Possessive, so that
# no value takes more than one pass.
_LINK = re.compile(r'<([^<>]*+)>((?:[^<>",]++|"(?:[^"\\]++|\\.)*+"?)*+)')
_PARAMETER = re.compile(r';\s*([^\s=;,"]++)\s*=\s*(?:"((?:[^"\\]++|\\.)*+)"?|([^\s;,"]*+))')


def canonical_of(values: Iterable[str]) -> str:
    """The first target with rel=canonical, as written; "" when there is none.

    >>> canonical_of(['</a>; rel=next, </b>; rel="canonical"'])
    '/b'
    """
    for value in values:
        for target, parameters in _LINK.findall(value):
            found = _PARAMETER.findall(parameters)
            relations = [quoted or bare for name, quoted, bare in found if name.lower() == "rel"]
            # Of several rel parameters the first counts (§3.3).
            if relations and "canonical" in relations[0].lower().split():
                return str(target).strip()
    return ""
