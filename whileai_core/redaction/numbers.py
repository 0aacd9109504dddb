"""Numbers of persons: cards, IBANs, phones, national numbers; each with its check."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from whileai_core.errors import MissingExtra
from whileai_core.redaction.hits import FIRST, Hit, Shape
from whileai_core.redaction.surrogates import is_synthetic, is_synthetic_card_or_iban, luhn

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

_END = r"(?!\w|[-.]\w)"
_FREE = FIRST + r"(?<!\d[-. ].)(?<!\w[-.].)"  # not the tail of a longer code
_CARD = re.compile(
    rf"[2-6]{_FREE}[0-9]{{3}}(?:[0-9]{{10,12}}|[0-9]{{15}}"
    r"|(?P<gap>[ -])(?:\d{4}(?P=gap)\d{4}(?P=gap)\d{4}(?:(?P=gap)\d{1,3})?"
    rf"|\d{{6}}(?P=gap)\d{{4,5}})){_END}"
)
_CARD_SHAPES = (b"0" * 14, b"0000 0000 ", b"0000-0000-", b"0000 000000 ", b"0000-000000-")
_ISSUERS = {  # number of digits -> how such a number starts
    14: re.compile(r"30[0-5]|3[689]"),
    15: re.compile(r"3[47]"),
    16: re.compile(
        r"4|5[0-8]|6011|6[245]|63|67|35(?:2[89]|[3-8])|2(?:22[1-9]|2[3-9]|[3-6]|7[01]|720)"
    ),
    17: re.compile(r"5018|5020|5038|6304|6759|676[1-3]|62"),
    18: re.compile(r"5018|5020|5038|6304|6759|676[1-3]|62"),
    19: re.compile(r"4|5018|5020|5038|6304|6759|676[1-3]|62"),
}
_IBAN_START = re.compile(
    r"[0-9][0-9](?<=[A-Za-z]{2}..)(?:(?<!\w....)|(?<=\\[nrtbf]....))[ -]?(?=[A-Za-z0-9]{3})"
)
_IBAN_LENGTHS = {
    code[:2]: int(code[2:])
    for code in re.findall(
        r"[A-Z]{2}\d\d",
        "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 "
        "DK18 DO28 EE20 EG29 ES24 FI18 FK18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 "
        "IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 "
        "MK19 MN20 MR27 MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24 "
        "SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30",
    )
}
_GAP = "[ ().\\-/\u00a0\u2010-\u2013]"
_INTERNATIONAL = tuple(
    re.compile(rf"{prefix}(?:{_GAP}{{0,2}}[0-9]){{6,14}}(?!\w)")
    for prefix in (
        r"\+(?:(?<![\w+].)|(?<=\\[nrtbf].))[1-9]",
        r"00(?:(?<!\w..)|(?<=\\[nrtbf]..))(?<![.,+-]..)[1-9]",
    )
)
_NORTH_AMERICAN = re.compile(
    rf"[1-9(]{FIRST}(?<![\w.+-][-.].)(?<![+].)"
    r"(?:(?<=1)[-. ]?\(?[2-9]|(?<=\()[2-9]|(?<=[2-9]))\d\d"
    r"(?:\) ?\d{3}[-. ]|(?P<gap>[-.])\d{3}(?P=gap))\d{4}" + _END
)
_NORTH_AMERICAN_SHAPES = (b"000-0000", b"000.0000", b"000 0000")
_NUMBER = re.compile(rf"[0-9(]{FIRST}(?:{_GAP}{{0,2}}[0-9]){{6,14}}(?![\w:]|-\w)")
_PHONE_BEFORE = re.compile(
    r"\b(?:phone|telephone|tel|mobile|cell|call|fax|whatsapp|sms)\b"
    r"(?:[\s:=#\"'.,]|\b(?:is|number|no|nr|at|on|me|us|him|her|them|back|to|my|your|under|new)\b)"
    r"{1,8}\Z",
    re.IGNORECASE,
)
_LOOK_BACK = 40
_DATE = re.compile(r"(?:19|20)\d\d[-/.][01]\d[-/.][0-3]\d|[0-3]?\d[-/.][0-3]?\d[-/.](?:19|20)\d\d")
_FIELD_PHONE = re.compile(rf"\+?\(?\d(?:{_GAP}{{0,2}}\d){{5,14}}")
_FIELD_NUMBER = re.compile(r"(?=.*\d)[A-Za-z0-9](?:[ ./-]?[A-Za-z0-9]){2,33}")
_LAST_GROUP = re.compile(rf"(?:{_GAP}+|^.)[0-9]+$")
_NORTH_AMERICAN_DIGITS = 11
_SHORTEST_ABROAD = 7


def find_cards(text: str, shape: Shape) -> Iterator[Hit]:
    """Report card numbers: the issuer's range, the length and the Luhn digit fit."""
    if not any(sample in shape.digits for sample in _CARD_SHAPES):
        return
    for match in _CARD.finditer(text):
        if is_card(_digits(match[0])):
            yield Hit(*match.span(), "card", match[0])


def is_card(digits: str) -> bool:
    """Check the issuer's range, the length and the last digit."""
    issuer = _ISSUERS.get(len(digits))
    return issuer is not None and issuer.match(digits) is not None and luhn(digits) == 0


def find_ibans(text: str, _: Shape) -> Iterator[Hit]:
    """Report IBANs: the country's length and the mod 97 check fit."""
    for match in _IBAN_START.finditer(text):
        start = match.start() - 2
        length = _IBAN_LENGTHS.get(text[start : start + 2].upper())
        end = length and _end_of_run(text, start, length)
        if end and is_iban(text[start:end]):
            yield Hit(start, end, "iban", text[start:end])


def is_iban(text: str) -> bool:
    """Check the digits of an IBAN; small letters only where nothing else is a letter."""
    characters = "".join(filter(str.isalnum, text))
    if _IBAN_LENGTHS.get(characters[:2].upper()) != len(characters):
        return False
    if not characters.isupper() and not characters[2:].isdigit():
        return False
    rearranged = (characters[4:] + characters[:4]).upper()
    number = int("".join(str(int(character, 36)) for character in rearranged))
    return number % 97 == 1 and 2 <= int(characters[2:4]) <= 98


def find_phones(text: str, shape: Shape) -> Iterator[Hit]:
    """Report phone numbers: international, North American, or after a word such as `call`."""
    for pattern in _INTERNATIONAL:
        for match in pattern.finditer(text):
            hit = _international(match.start(), match[0])
            if hit is not None:
                yield hit
    if any(sample in shape.digits for sample in _NORTH_AMERICAN_SHAPES):
        for match in _NORTH_AMERICAN.finditer(text):
            yield Hit(*match.span(), "phone", match[0], country_digits=int(match[0][0] == "1"))
    for match in _NUMBER.finditer(text):
        if text[match.start() - 1 : match.start()] == "\n":
            continue
        before = text[max(0, match.start() - _LOOK_BACK) : match.start()]
        if _PHONE_BEFORE.search(before) and not _DATE.match(match[0]):
            hit = field_phone(match.start(), match[0], is_number=False)
            if hit is not None:
                yield hit


def field_phone(start: int, text: str, *, is_number: bool) -> Hit | None:
    """Read a text that is known to be a phone number, in whatever notation."""
    if not _FIELD_PHONE.fullmatch(text):
        return None
    digits = _digits(text)
    abroad = text.startswith(("+", "00"))
    is_ours_dialled = len(digits) == _NORTH_AMERICAN_DIGITS and digits.startswith("1000")
    if is_synthetic(digits, is_number=is_number) or is_ours_dialled:
        return None
    if abroad and _is_synthetic_abroad(digits.removeprefix("00")):
        return None
    hit = _international(start, text) if abroad else None
    if hit is not None and hit.end == start + len(text):
        return hit
    country = int(_NORTH_AMERICAN.fullmatch(text) is not None and digits[0] == "1")
    return Hit(start, start + len(text), "phone", text, country_digits=country)


def field_number(start: int, text: str, *, is_number: bool) -> Hit | None:
    """Read the value of a field for account, passport, social security … numbers.

    Cards and IBANs are left to their own detectors: they get the same stand-in everywhere.
    """
    characters = "".join(filter(str.isalnum, text))
    if not _FIELD_NUMBER.fullmatch(text) or is_synthetic(characters, is_number=is_number):
        return None
    if is_card(characters) or is_iban(characters) or is_synthetic_card_or_iban(characters):
        return None
    return Hit(start, start + len(text), "national-id", characters)


def phone_library() -> ModuleType:
    """Return the library that knows the world's numbering plans.

    Raises:
        MissingExtra: `phonenumbers` is not installed.
    """
    try:
        import phonenumbers
    except ImportError as error:
        raise MissingExtra.named("redaction", "redaction needs the package phonenumbers") from error
    return phonenumbers


def find_national_ids(text: str, shape: Shape) -> Iterator[Hit]:
    """Report national numbers in their usual notation."""
    for sample, pattern, check in _NATIONAL:
        if sample not in shape.digits:
            continue
        for match in pattern.finditer(text):
            digits = _digits(match[0])
            if not is_synthetic(digits, is_number=False) and check(digits):
                yield Hit(*match.span(), "national-id", match[0])


def _is_cpf(digits: str) -> bool:
    """Brazil: two check digits, mod 11."""
    for count in (9, 10):
        total = sum(
            int(d) * weight for d, weight in zip(digits, range(count + 1, 1, -1), strict=False)
        )
        if total * 10 % 11 % 10 != int(digits[count]):
            return False
    return len(set(digits)) > 1


def _is_ahv(digits: str) -> bool:
    """Switzerland: an EAN-13 check digit."""
    return (sum(map(int, digits[::2])) + 3 * sum(map(int, digits[1::2]))) % 10 == 0


def _is_nir(digits: str) -> bool:
    """France: the last two digits are 97 less the rest."""
    return 97 - int(digits[:13]) % 97 == int(digits[13:])


def _any(_digits: str) -> bool:
    return True


_NATIONAL = (
    # United States: no check digit, but areas that do not exist
    (
        b"000-00-0000",
        re.compile(rf"[0-8]{_FREE}\d\d(?<!000)(?<!666)-(?!00)\d\d-(?!0000)\d{{4}}{_END}"),
        _any,
    ),
    (
        b"000.000.000-00",
        re.compile(rf"[0-9]{_FREE}\d\d\.\d{{3}}\.\d{{3}}-\d\d{_END}"),
        _is_cpf,
    ),
    (b"000.0000.0000.00", re.compile(rf"7{_FREE}56\.\d{{4}}\.\d{{4}}\.\d\d{_END}"), _is_ahv),
    (
        b"0 00 00 00 000 000 00",
        re.compile(rf"[12]{_FREE} \d\d (?:0[1-9]|1[0-2]) \d\d \d{{3}} \d{{3}} \d\d{_END}"),
        _is_nir,
    ),
    # United Kingdom, as it is written with spaces: no check digit
    (
        b" 00 00 00 ",
        re.compile(rf"[A-CEGHJ-PR-TW-Z]{FIRST}[A-CEGHJ-NPR-TW-Z] \d\d \d\d \d\d [A-D]{_END}"),
        _any,
    ),
)


def _international(start: int, text: str) -> Hit | None:
    """Read a number with its country code, less the digits that follow it by accident."""
    number = _dialled(text)
    if number is None:
        return None
    text, country_digits = number
    return Hit(start, start + len(text), "phone", text, country_digits=country_digits)


@lru_cache(maxsize=4096)
def _dialled(text: str) -> tuple[str, int] | None:
    """Return as much of a text as is a phone number and how many digits its country code has."""
    phonenumbers = phone_library()
    prefix = "" if text[0] == "+" else "00"
    if _is_synthetic_abroad(_digits(text).removeprefix(prefix)):
        return None
    while len(digits := _digits(text).removeprefix(prefix)) >= _SHORTEST_ABROAD:
        if prefix == "" and digits[0] == "1" and len(digits) == _NORTH_AMERICAN_DIGITS:
            # Numbers made up for examples are not assigned, but have the right length.
            return text, 1
        try:
            number = phonenumbers.parse(f"+{digits}", None)
        except phonenumbers.NumberParseException:
            return None
        if phonenumbers.is_valid_number(number):
            return text, len(prefix) + len(str(number.country_code))
        text = _LAST_GROUP.sub("", text)
    return None


def _is_synthetic_abroad(digits: str) -> bool:
    """Tell whether three zeros follow a country code, which has one to three digits."""
    return "000" in (digits[1:4], digits[2:5], digits[3:6])


def _end_of_run(text: str, start: int, length: int) -> int | None:
    """Return where `length` letters and digits end, gaps of one allowed; None if they do not."""
    position = start
    seen = 0
    while seen < length and position < len(text):
        character = text[position]
        if character.isascii() and character.isalnum():
            seen += 1
        elif character not in " -" or text[position - 1] in " -":
            return None
        position += 1
    if seen < length or text[position : position + 1].isalnum():
        return None
    return position


def _digits(text: str) -> str:
    return "".join(c for c in text if c.isdigit())
