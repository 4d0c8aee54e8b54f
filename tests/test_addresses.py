import pytest

from transforms.addresses import is_public


@pytest.mark.parametrize(
    "address",
    [
        "8.8.8.8",
        "192.0.43.8",
        "100.63.255.255",  # just below the carriers' block
        "172.32.0.1",  # just above RFC 1918's
        "2606:2800:220:1:248:1893:25c8:1946",
        "::ffff:8.8.8.8",
        "64:ff9b::808:808",  # 8.8.8.8 behind NAT64
        "2002:808:808::1",  # 8.8.8.8 over 6to4
    ],
)
def test_is_public_of_the_internet(address):
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0",
        "10.0.0.1",
        "100.64.0.1",  # carrier-grade NAT; Alibaba's metadata is in there
        "127.0.0.1",
        "127.255.255.254",
        "168.63.129.16",  # Azure's WireServer
        "169.254.169.254",  # metadata of most clouds
        "172.16.0.1",
        "192.0.0.192",  # Oracle's metadata
        "192.0.2.1",
        "192.168.0.1",
        "198.18.0.1",
        "224.0.0.1",
        "239.1.2.3",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::1",  # NAT64 for local use
        "2001:db8::1",
        "2002:7f00:1::",
        "fc00::1",
        "fd00:ec2::254",  # Amazon's metadata
        "fe80::1",
        "fe80::1%eth0",
        "fec0::1",
        "ff02::1",
        "",
        "example.com",
    ],
)
def test_is_public_of_anything_else(address):
    assert not is_public(address)
