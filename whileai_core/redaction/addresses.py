"""Addresses: e-mail, IPv4 and IPv6."""

from __future__ import annotations

import re
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING

from whileai_core.redaction.hits import START, Hit
from whileai_core.redaction.surrogates import is_documentation

if TYPE_CHECKING:
    from collections.abc import Iterator

_EMAIL = re.compile(
    r"(?<![\w.+%-])(?:\\[nrtbf])?"  # an escape in raw JSON is no part of the name
    r"(?P<address>[\w.!#$%&'*+/=?^`{|}~-]{0,63}[\w+%-]@(?:[\w-]{1,63}\.){1,8}(?!\d+(?!\w))[^\W_]{2,24})"
    r"(?![\w@])"
)
_LEADING_PUNCTUATION = "'`!#$%&*/=?^{|}~.-"
_IPV4 = re.compile(
    START + r"(?<![\d\w]\.)(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)"
    r"(?![\w%]|\.\d|-\w)"
)
_IPV6 = re.compile(
    r"(?:(?<![\w:.])|(?<=\\[nrt]))(?:[0-9A-Fa-f]{1,4}:){1,7}(?::|(?::?[0-9A-Fa-f]{1,4}){1,7})"
    r"(?:[0-9A-Fa-f:]*)(?![\w:.])"
)
# What stands before four numbers that are a version or a section.
_VERSION_BEFORE = re.compile(
    r"(?:\bv|\bver\.?|version|versions|release|build|section|chapter|clause|step|rev\.?|§|[=<>~^!]="
    r"|[~^]|[A-Za-z](?:/|-)|@)[\s:\"'=]*$",
    re.IGNORECASE,
)
_LOOK_BACK = 16
_IPV6_HOSTS = tuple(ip_network(block) for block in ("2000::/3", "fc00::/7", "fe80::/10"))


def find_emails(text: str) -> Iterator[Hit]:
    """Report e-mail addresses."""
    if "@" not in text:
        return
    for match in _EMAIL.finditer(text):
        address = match["address"].lstrip(_LEADING_PUNCTUATION)
        if address[0] != "@":
            yield Hit(match.end() - len(address), match.end(), "email", address)


def find_ips(text: str) -> Iterator[Hit]:
    """Report addresses of hosts; loopback, masks and documentation ranges are nobody's."""
    if text.count(".") >= 3:
        for match in _IPV4.finditer(text):
            before = text[max(0, match.start() - _LOOK_BACK) : match.start()]
            if _is_host(match[0]) and not _VERSION_BEFORE.search(before):
                yield Hit(*match.span(), "ip", match[0])
    if text.count(":") >= 2:
        for match in _IPV6.finditer(text):
            if match[0].count(":") >= 2 and _is_host(match[0]):
                yield Hit(*match.span(), "ip", match[0])


def _is_host(text: str) -> bool:
    try:
        address = ip_address(text)
    except ValueError:
        return False
    if is_documentation(address) or address.is_loopback or address.is_unspecified:
        return False
    if address.version == 6:  # `ab::cd` may be a name in C++: only ranges that hosts have
        return any(address in block for block in _IPV6_HOSTS)
    return not (address.is_multicast or address.is_reserved or text.startswith(("0.", "255.")))
