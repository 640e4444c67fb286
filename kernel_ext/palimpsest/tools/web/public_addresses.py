"""Determine whether an IP address is public, by the IANA special-purpose registries.

The tables are those registries for IPv4 and IPv6 (July 2026), kept here because those of the standard
library change with its version. An address that contains an IPv4 address is public if that IPv4 address is public.
Border: addresses only; names are resolved by ``http_fetch.py``.
"""

import ipaddress
import socket
import unicodedata

IPAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

_V4_NETWORKS = """
    0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24
    192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4
"""
"""Networks that are not public: this network, private, shared, loopback, link-local, assignments, documentation,
relays, tests, multicast, reserved."""

_V6_NETWORKS = """
    2001::/23 2001:db8::/32 3fff::/20
"""
"""Networks in ``2000::/3`` that are not public: assignments such as Teredo and benchmarks, and documentation."""

NOT_PUBLIC_V4 = tuple(ipaddress.IPv4Network(network) for network in _V4_NETWORKS.split())
NOT_PUBLIC_V6 = tuple(ipaddress.IPv6Network(network) for network in _V6_NETWORKS.split())
PUBLIC_UNICAST = ipaddress.IPv6Network("2000::/3")
"""The only part of IPv6 that is assigned for public use; ``::/96``, ``64:ff9b:1::/48``, ``5f00::/16`` and
``fec0::/10`` are not in it."""
IPV4_TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")
"""IPv6 addresses whose last 32 bits are an IPv4 address; ``::ffff:0:0/96`` and ``2002::/16`` also contain one."""

LOCAL_SUFFIXES = (
    ".localhost", ".local", ".localdomain", ".internal", ".intranet", ".private", ".corp", ".home", ".lan", ".home.arpa",
)  # fmt: skip


def is_public(address: IPAddress) -> bool:
    """Return whether an address is public, and not of this machine, its network or a special use."""
    if isinstance(address, ipaddress.IPv6Address):
        embedded_address = embedded_ipv4(address)
        if embedded_address is None:
            is_special = any(address in network for network in NOT_PUBLIC_V6)
            return address in PUBLIC_UNICAST and not is_special
        address = embedded_address
    return not any(address in network for network in NOT_PUBLIC_V4)


def embedded_ipv4(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """Return the IPv4 address embedded in an IPv6 one, or None."""
    if address in IPV4_TRANSLATED:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour


def parse_address(host: str) -> IPAddress | None:
    """Return the IP address of a host in any numeric notation; None for a name."""
    normalized = unicodedata.normalize("NFKC", host).partition("%")[0].rstrip(".")
    try:
        return ipaddress.ip_address(normalized)
    except ValueError:
        pass
    try:
        # Accepts one number, octal and hexadecimal parts, and omitted parts.
        return ipaddress.IPv4Address(socket.inet_aton(normalized))
    except (OSError, ValueError):
        return None


def is_local_name(host: str) -> bool:
    """Return whether only this machine or its network is likely to resolve a name."""
    normalized = unicodedata.normalize("NFKC", host).rstrip(".").lower()
    return "." not in normalized or normalized.endswith(LOCAL_SUFFIXES)
