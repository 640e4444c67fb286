"""No special-purpose address counts as public, including the newest entries of the registries."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.tools.web.public_addresses import is_local_name, is_public, parse_address

IPV4_REGISTRY = """
    0.0.0.0/8 0.0.0.0/32 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.0.0/29
    192.0.0.8/32 192.0.0.9/32 192.0.0.10/32 192.0.0.170/32 192.0.0.171/32 192.0.2.0/24 192.88.99.0/24 192.88.99.2/32
    192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 240.0.0.0/4 255.255.255.255/32 224.0.0.0/4
"""
"""All of the registry but 192.31.196.0/24, 192.52.193.0/24 and 192.175.48.0/24, which it calls public; and multicast."""

IPV6_REGISTRY = """
    ::1/128 ::/128 64:ff9b:1::/48 100::/64 100:0:0:1::/64 2001::/23 2001::/32 2001:1::1/128 2001:1::2/128 2001:1::3/128
    2001:2::/48 2001:3::/32 2001:4:112::/48 2001:10::/28 2001:20::/28 2001:30::/28 2001:db8::/32 3fff::/20 5f00::/16
    fc00::/7 fe80::/10 fec0::/10 ff00::/8 ::/96 ::ffff:0:0:0/96 4000::/3 8000::/1
"""
"""All of the registry but those in which another address is written and 2620:4f:8000::/48, which it calls
public; and what was given up or never given out."""

PUBLIC = """
    1.1.1.1 8.8.8.8 93.184.215.14 100.63.255.255 100.128.0.0 172.15.255.255 172.32.0.0 192.0.1.0 192.31.196.1 192.52.193.1
    192.88.98.255 192.175.48.1 198.17.255.255 198.20.0.0 223.255.255.255 2606:4700::1111 2001:200::1 2620:4f:8000::1
    2a00:1450::1 3ffe::1 ::ffff:8.8.8.8 64:ff9b::8.8.8.8 2002:808:808::1
"""


def ends(network: str) -> "list[ipaddress.IPv4Address | ipaddress.IPv6Address]":
    ip_range = ipaddress.ip_network(network)
    return [ip_range[0], ip_range[ip_range.num_addresses // 2], ip_range[-1]]


@pytest.mark.parametrize("network", [*IPV4_REGISTRY.split(), *IPV6_REGISTRY.split()])
def test_no_range_of_a_special_purpose_is_public(network: str) -> None:
    assert [end for end in ends(network) if is_public(end)] == []


@pytest.mark.parametrize("network", IPV4_REGISTRY.split())
def test_what_stands_for_such_an_address_is_not_public_either(network: str) -> None:
    for end in ends(network):
        mapped = ipaddress.IPv6Address(f"::ffff:{end}")
        translated = ipaddress.IPv6Address(f"64:ff9b::{end}")
        sixtofour = ipaddress.IPv6Address((0x2002 << 112) | (int(end) << 80) | 1)
        assert not any(map(is_public, (mapped, translated, sixtofour)))


@pytest.mark.parametrize("address", PUBLIC.split())
def test_others_are_public(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


@given(st.ip_addresses())
def test_nothing_is_public_that_the_standard_library_calls_private(
    address: "ipaddress.IPv4Address | ipaddress.IPv6Address",
) -> None:
    if address.is_private and not getattr(address, "sixtofour", None):
        inner = getattr(address, "ipv4_mapped", None)
        assert not is_public(address) or (inner is not None and not inner.is_private)


@pytest.mark.parametrize(
    "host",
    ["127.1", "2130706433", "0x7f.1", "0177.0.0.1", "127.0.0.1.", "\uff11\u2461\u2466.0.0.1", "::1", "fe80::1%eth0", "::ffff:127.0.0.1%1"],
)  # fmt: skip
def test_an_address_is_known_in_every_spelling(host: str) -> None:
    number = parse_address(host)

    assert number is not None
    assert not is_public(number)


@pytest.mark.parametrize(
    "host", ["localhost", "localhost.", "a.LOCAL", "wiki.corp", "nas.home.arpa", "a.internal."]
)
def test_names_of_this_network_are_known(host: str) -> None:
    assert parse_address(host) is None
    assert is_local_name(host)


def test_other_names_are_not() -> None:
    assert not is_local_name("example.org")
    assert parse_address("example.org") is None
