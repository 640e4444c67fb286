"""Determine whether an IP address is public, by the IANA special-purpose registries.

The tables are those registries for IPv4 and IPv6 (July 2026), kept here because those of the standard
library change with its version. An address that embeds another one is as public as that one.
Border: addresses only; names are resolved by ``http_fetch.py``.
"""

import ipaddress
import socket
import unicodedata

Number = ipaddress.IPv4Address | ipaddress.IPv6Address

_V4 = """
    0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24
    192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4
"""
"""This network, private, shared, loopback, link-local, assignments, documentation, relays, tests, multicast,
reserved."""

_V6 = """
    2001::/23 2001:db8::/32 3fff::/20
"""
"""Assignments such as Teredo and benchmarks, and documentation; other non-public ones are not in ``2000::/3``."""

NOT_PUBLIC_V4 = tuple(ipaddress.IPv4Network(one) for one in _V4.split())
NOT_PUBLIC_V6 = tuple(ipaddress.IPv6Network(one) for one in _V6.split())
UNICAST = ipaddress.IPv6Network("2000::/3")
"""The only part of IPv6 that is assigned for public use; ``::/96``, ``64:ff9b:1::/48``, ``5f00::/16`` and
``fec0::/10`` are not in it."""
TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")
"""Addresses that end with an IPv4 address, as those of ``::ffff:0:0/96``; ``2002::/16`` has it in the middle."""

LOCAL_ENDS = (
    ".localhost", ".local", ".localdomain", ".internal", ".intranet", ".private", ".corp", ".home", ".lan", ".home.arpa",
)  # fmt: skip


def is_public(number: Number) -> bool:
    """Return whether an address is public, rather than one of this machine, its network or a special use."""
    if isinstance(number, ipaddress.IPv6Address):
        inner = embedded(number)
        if inner is None:
            return number in UNICAST and not any(number in one for one in NOT_PUBLIC_V6)
        number = inner
    return not any(number in one for one in NOT_PUBLIC_V4)


def embedded(number: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """Return the IPv4 address embedded in an IPv6 one, or None."""
    if number in TRANSLATED:
        return ipaddress.IPv4Address(int(number) & 0xFFFFFFFF)
    return number.ipv4_mapped or number.sixtofour


def number_of(host: str) -> Number | None:
    """Return the IP address of a host written as a number, in any notation; None for a name."""
    plain = unicodedata.normalize("NFKC", host).partition("%")[0].rstrip(".")
    try:
        return ipaddress.ip_address(plain)
    except ValueError:
        pass
    try:
        # Accepts one number, octal and hexadecimal parts, and omitted parts.
        return ipaddress.IPv4Address(socket.inet_aton(plain))
    except (OSError, ValueError):
        return None


def is_local_name(host: str) -> bool:
    """Return whether a name looks like one that only this machine or its network can resolve."""
    plain = unicodedata.normalize("NFKC", host).rstrip(".").lower()
    return "." not in plain or plain.endswith(LOCAL_ENDS)
