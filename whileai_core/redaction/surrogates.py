"""Keyed stand-ins: the same value gets the same one, and each is known for what it is.

No stand-in is a value someone could own: cards start with 9999, IBANs have the check digits 00,
subscriber and personal numbers start with 000, addresses lie in the ranges and domains set
aside for documentation. That is also how a second scan passes them by.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import string
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

SURROGATE = re.compile(r"<secret:[a-z-]+:[0-9a-f]{8}>|user-[0-9a-f]{10}(?:@|%40)redacted\.example")

_IPV4_BLOCKS = ("192.0.2.0", "198.51.100.0", "203.0.113.0")
_DOCUMENTATION = tuple(
    ip_network(block)
    for block in (*(f"{block}/24" for block in _IPV4_BLOCKS), "2001:db8::/32", "3fff::/20")
)
_HOSTS = 254
_ZEROS = "000"
_CARD_START = "9999"
_SHORTEST_CARD = 14
_SHORTEST_IBAN = 15
# Notations of one phone number differ in front: trunk zero, country code. The end is common.
_PHONE_TAIL = 7
_PHONE_DIGITS = 6


def is_documentation(address: IPv4Address | IPv6Address) -> bool:
    """Tell whether an address belongs to nobody."""
    return any(address in block for block in _DOCUMENTATION)


def is_synthetic(characters: str, *, is_number: bool) -> bool:
    """Tell whether a number is one of ours; whole numbers cannot start with a zero."""
    start = characters[1:4] if is_number else characters[:3]
    return start == _ZEROS[: max(0, len(characters) - is_number)]


def is_synthetic_card_or_iban(characters: str) -> bool:
    """Tell whether a number is one of our cards or IBANs."""
    if characters.isdigit():
        is_long = len(characters) >= _SHORTEST_CARD
        return is_long and characters.startswith(_CARD_START) and luhn(characters) == 0
    is_long = len(characters) >= _SHORTEST_IBAN
    return is_long and characters[:2].isalpha() and characters[2:4] == "00"


def luhn(digits: str) -> int:
    """Return the Luhn sum modulo ten; zero for a number whose last digit checks."""
    doubled = (int(d) * 2 for d in digits[-2::-2])
    return (sum(map(int, digits[-1::-2])) + sum(d - 9 if d > 9 else d for d in doubled)) % 10


class Surrogates:
    """Makes the stand-ins under one key."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def secret(self, form: str, value: str) -> str:
        """`<secret:api-key:ab12cd34>`."""
        return f"<secret:{form}:{self._digest('secret', value).hex()[:8]}>"

    def email(self, text: str) -> str:
        """An address at a domain that cannot exist."""
        sign = "@" if "@" in text else "%40"
        value = text.lower().replace("%40", "@")
        return f"user-{self._digest('email', value).hex()[:10]}{sign}redacted.example"

    def card(self, text: str) -> str:
        """As many digits in the same groups; the check digit is right, the issuer is none."""
        digits = _digits(text)
        body = _CARD_START + self._decimal("card", digits, len(digits) - 5)
        check = -luhn(body + "0") % 10
        return _fill(text, f"{body}{check}")

    def iban(self, text: str) -> str:
        """Country, length and groups stay; the check digits 00 are never valid."""
        characters = "".join(filter(str.isalnum, text)).upper()
        body = self._alike("iban", characters, characters[4:])
        return _fill(text, f"{characters[:2]}00{body}")

    def phone(self, text: str, country_digits: int, *, is_number: bool) -> str:
        """Country code, length and groups stay; the last digits agree over all notations."""
        digits = _digits(text)
        kept = digits[:country_digits] if country_digits else digits[: int(is_number)]
        room = max(0, len(digits) - len(kept) - len(_ZEROS))
        tail = self._decimal("phone", digits[-_PHONE_TAIL:], _PHONE_DIGITS).zfill(room)
        new = kept + _ZEROS + (tail[-room:] if room else "")
        return _fill(text, new[: len(digits)])

    def number(self, text: str, *, is_number: bool) -> str:
        """Letters stay letters and digits digits, behind three zeros."""
        characters = "".join(filter(str.isalnum, text)).upper()
        new = characters[: int(is_number)] + _ZEROS
        new += self._alike("number", characters, characters[len(new) :])
        return _fill(text, new[: len(characters)])

    def address(self, text: str) -> str:
        """An address of a documentation range; of version 4 there are only 762."""
        address = ip_address(text)
        number = int.from_bytes(self._digest("ip", str(address))[:8])
        if address.version == 6:
            return str(IPv6Address((0x2001_0DB8 << 96) | number))
        block, host = divmod(number % (_HOSTS * len(_IPV4_BLOCKS)), _HOSTS)
        return str(IPv4Address(_IPV4_BLOCKS[block]) + host + 1)

    def _digest(self, purpose: str, value: str) -> bytes:
        message = f"{purpose}\0{value}".encode("utf-8", "surrogatepass")
        return hmac.digest(self._key, message, hashlib.sha256)

    def _decimal(self, purpose: str, value: str, count: int) -> str:
        number = int.from_bytes(self._digest(purpose, value))
        return str(number).zfill(count)[-count:] if count > 0 else ""

    def _alike(self, purpose: str, value: str, pattern: str) -> str:
        """Random characters of the kinds in the pattern; the stream runs from the end."""
        stream = int.from_bytes(hashlib.sha512(self._digest(purpose, value)).digest())
        characters = []
        for sample in reversed(pattern):
            alphabet = string.digits if sample.isdigit() else string.ascii_uppercase
            stream, position = divmod(stream, len(alphabet))
            characters.append(alphabet[position])
        return "".join(reversed(characters))


def _digits(text: str) -> str:
    return "".join(filter(str.isdigit, text))


def _fill(text: str, characters: str) -> str:
    """Put characters into the places of the letters and digits of a text, in order."""
    source: Iterator[str] = iter(characters)
    return "".join(next(source) if c.isalnum() else c for c in text)
