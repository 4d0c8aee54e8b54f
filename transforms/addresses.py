"""Which addresses a crawler may connect to.

A link found on the web may name, or resolve to, an address inside the network that the
crawler itself runs in: a database, a router, the metadata service of a cloud, which hands
out credentials to whoever asks. Names lie and change, so the transports ask about the
address they really connect to.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

# Ordinary as addresses go, and yet answered from within a cloud's own network.
_CLOUD_SERVICES = (
    ip_network("192.0.0.0/24"),  # IETF protocol assignments; Oracle's metadata at .192
    ip_network("168.63.129.16/32"),  # Azure's WireServer
)
_GLOBAL_UNICAST = ip_network("2000::/3")  # RFC 4291 §2.4; all else in IPv6 is special
_NAT64 = ip_network("64:ff9b::/96")  # RFC 6052 §2.1


def is_public(address: str) -> bool:
    """Whether an IP address, as text, is one of the public internet.

    An IPv6 address that carries an IPv4 address is as public as that one.

    >>> is_public("192.0.43.8"), is_public("127.0.0.1"), is_public("::ffff:10.0.0.1")
    (True, False, False)
    """
    try:
        ip = ip_address(address.partition("%")[0])  # fe80::1%eth0
    except ValueError:
        return False
    if isinstance(ip, IPv6Address):
        inner = _embedded(ip)
        if inner is None:
            return ip in _GLOBAL_UNICAST and ip.is_global
        ip = inner
    return ip.is_global and not ip.is_multicast and not any(ip in net for net in _CLOUD_SERVICES)


def _embedded(ip: IPv6Address) -> IPv4Address | None:
    """The IPv4 address to which packets for this one really go: mapped, NAT64 or 6to4."""
    if ip in _NAT64:
        return IPv4Address(int(ip) & 0xFFFF_FFFF)
    return ip.ipv4_mapped or ip.sixtofour
