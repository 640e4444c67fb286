"""Which network addresses are public: none that a registry of special purposes says is not.

The tables are the IANA special-purpose registries for IPv4 and IPv6 (July 2026), kept here because
those of the standard library change with its version. An address in which another one is written
is as public as that one. Border: numbers only; names are looked up by ``http_fetch.py``.
"""

import ipaddress
import socket
import unicodedata

Number = ipaddress.IPv4Address | ipaddress.IPv6Address

_V4 = """
    0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24
    192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4
"""
"""This network, private, shared, loopback, link-local, assignments, documentation, relays, tests, multicast, reserved."""

_V6 = """
    2001::/23 2001:db8::/32 3fff::/20
"""
"""Assignments such as Teredo and benchmarks, and documentation; all else that is not public lies outside ``2000::/3``."""

NOT_PUBLIC_V4 = tuple(ipaddress.IPv4Network(one) for one in _V4.split())
NOT_PUBLIC_V6 = tuple(ipaddress.IPv6Network(one) for one in _V6.split())
UNICAST = ipaddress.IPv6Network("2000::/3")
"""The only part of IPv6 that is given out for public use; ``::/96``, ``64:ff9b:1::/48``, ``5f00::/16`` and
``fec0::/10`` are not in it."""
TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")
"""Addresses at whose end an IPv4 address is written, as in ``::ffff:0:0/96``; in ``2002::/16`` it comes second."""

LOCAL_ENDS = (
    ".localhost", ".local", ".localdomain", ".internal", ".intranet", ".private", ".corp", ".home", ".lan", ".home.arpa",
)  # fmt: skip


def is_public(number: Number) -> bool:
    """Tell whether an address is reached from everywhere, rather than from this machine or its network."""
    if isinstance(number, ipaddress.IPv6Address):
        inner = embedded(number)
        if inner is None:
            return number in UNICAST and not any(number in one for one in NOT_PUBLIC_V6)
        number = inner
    return not any(number in one for one in NOT_PUBLIC_V4)


def embedded(number: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """Return the IPv4 address for which an IPv6 one stands."""
    if number in TRANSLATED:
        return ipaddress.IPv4Address(int(number) & 0xFFFFFFFF)
    return number.ipv4_mapped or number.sixtofour


def number_of(host: str) -> Number | None:
    """Return the address that a host is written as, in any way a system reads one; None for a name."""
    plain = unicodedata.normalize("NFKC", host).partition("%")[0].rstrip(".")
    try:
        return ipaddress.ip_address(plain)
    except ValueError:
        pass
    try:
        # One number, octal and hexadecimal parts, and parts that are left out.
        return ipaddress.IPv4Address(socket.inet_aton(plain))
    except (OSError, ValueError):
        return None


def is_local_name(host: str) -> bool:
    """Tell whether a name looks as if only this machine or its network knew it."""
    plain = unicodedata.normalize("NFKC", host).rstrip(".").lower()
    return "." not in plain or plain.endswith(LOCAL_ENDS)
