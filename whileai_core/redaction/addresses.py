"""Addresses: e-mail, IPv4 and IPv6."""

from __future__ import annotations

import re
from ipaddress import ip_address, ip_network
from itertools import chain
from typing import TYPE_CHECKING

from whileai_core.redaction.hits import FIRST, Hit, Shape
from whileai_core.redaction.surrogates import is_documentation

if TYPE_CHECKING:
    from collections.abc import Iterator

_DOMAINS = tuple(
    re.compile(sign + r"(?:[\w-]{1,63}\.){1,8}(?!\d+(?!\w))[^\W_]{2,24}(?![\w@])")
    for sign in ("@", "%40")
)
_LOCAL_PART_BACKWARDS = re.compile(r"[\w+-][\w.+'-]{0,63}")
_LOCAL_LENGTH = 64
_SSH_USER = "git"  # git@host:path is an address of a repository
_LEADING_PUNCTUATION = "'.-"
_IPV4 = re.compile(
    rf"[0-9]{FIRST}(?<!\w\..)\d?\d?"
    r"(?:\.(?:25[0-5]|2[0-4]\d|1?\d?\d)){3}(?![\w%]|\.\d|-\w)"
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
_IPV6_COLONS = 7
_IPV6_HOSTS = tuple(ip_network(block) for block in ("2000::/3", "fc00::/7", "fe80::/10"))


def find_emails(text: str, _: Shape) -> Iterator[Hit]:
    """Report e-mail addresses, in URLs too."""
    for match in chain.from_iterable(pattern.finditer(text) for pattern in _DOMAINS):
        begin = max(0, match.start() - _LOCAL_LENGTH)
        local = _LOCAL_PART_BACKWARDS.match(text[begin : match.start()][::-1])
        if local is None:
            continue
        name = local[0][::-1].lstrip(_LEADING_PUNCTUATION)
        start = match.start() - len(name)
        if text[start - 1 : start] == "\\" and name[0] in "nrtbf":
            start += 1  # the letter of an escape in raw JSON
        if start < match.start() and text[start : match.start()] != _SSH_USER:
            yield Hit(start, match.end(), "email", text[start : match.end()])


def find_ips(text: str, shape: Shape) -> Iterator[Hit]:
    """Report addresses of hosts; loopback, masks and documentation ranges are nobody's."""
    if b"0.0" in shape.digits:
        for match in _IPV4.finditer(text):
            before = text[max(0, match.start() - _LOOK_BACK) : match.start()]
            if _is_host(match[0]) and not _VERSION_BEFORE.search(before):
                yield Hit(*match.span(), "ip", match[0])
    if "::" in text or text.count(":") >= _IPV6_COLONS:
        for match in _IPV6.finditer(text):
            if _is_host(match[0]):
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
