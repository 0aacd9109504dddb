"""Numbers of persons: cards, IBANs, phones, national numbers; each with its check."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from whileai_core.errors import MissingExtra
from whileai_core.redaction.hits import START, Hit
from whileai_core.redaction.surrogates import is_synthetic, luhn

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

_END = r"(?!\w|[-.]\w)"
_FREE = START + r"(?<![\d][-. ])(?<!\w[-.])"  # not the tail of a longer code
_CARD = re.compile(
    _FREE + r"(?:[2-6]\d{3}(?:(?P<gap>[ -])\d{4}(?P=gap)\d{4}(?P=gap)\d{4}(?:(?P=gap)\d{1,3})?"
    r"|\d{10,12}|\d{15})|3[0-9]{3}(?P<dash>[ -])\d{6}(?P=dash)\d{4,5})" + _END
)
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
_IBAN_START = re.compile(START + r"[A-Za-z]{2}\d{2}[ -]?(?=[A-Za-z0-9]{3})")
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
_INTERNATIONAL = re.compile(
    rf"(?:(?<![\w+])|(?<=\\[nrt]))(?:\+|00)[1-9](?:{_GAP}{{0,2}}\d){{6,14}}(?!\w)"
)
_NORTH_AMERICAN = re.compile(
    START + r"(?<![\w.+-][-.])(?<!\+)(?:1[-. ])?"
    r"(?:\([2-9]\d\d\) ?\d{3}[-. ]\d{4}|[2-9]\d\d(?P<gap>[-.])\d{3}(?P=gap)\d{4})" + _END
)
_AFTER_A_WORD = re.compile(
    r"\b(?:phone|telephone|tel|mobile|cell|call|fax|whatsapp|sms)\b"
    r"(?:[\s:=#\"'.,]|\b(?:is|number|no|nr|at|on|me|us|him|her|them|back|to|my|your|under|new)\b)"
    rf"{{1,8}}(?P<number>\(?\d(?:{_GAP}{{0,2}}\d){{6,13}})(?![\w:]|-\w)",
    re.IGNORECASE,
)
_PHONE_WORDS = ("phone", "tel", "mobile", "cell", "call", "fax", "whatsapp", "sms")
_DATE = re.compile(r"(?:19|20)\d\d[-/.][01]\d[-/.][0-3]\d|[0-3]?\d[-/.][0-3]?\d[-/.](?:19|20)\d\d")
_FIELD_PHONE = re.compile(rf"\+?\(?\d(?:{_GAP}{{0,2}}\d){{5,14}}")
_FIELD_NUMBER = re.compile(r"(?=.*\d)[A-Za-z0-9](?:[ ./-]?[A-Za-z0-9]){2,33}")
_NORTH_AMERICA = 1
_NORTH_AMERICAN_DIGITS = 10


def find_cards(text: str) -> Iterator[Hit]:
    """Report card numbers: the issuer's range, the length and the Luhn digit fit."""
    for match in _CARD.finditer(text):
        digits = _digits(match[0])
        issuer = _ISSUERS.get(len(digits))
        if issuer is not None and issuer.match(digits) and luhn(digits) == 0:
            yield Hit(*match.span(), "card", digits)


def find_ibans(text: str) -> Iterator[Hit]:
    """Report IBANs: the country's length and the mod 97 check fit."""
    for match in _IBAN_START.finditer(text):
        length = _IBAN_LENGTHS.get(match[0][:2].upper())
        end = length and _end_of_run(text, match.start(), length)
        if end and is_iban(text[match.start() : end]):
            yield Hit(match.start(), end, "iban", text[match.start() : end])


def is_iban(text: str) -> bool:
    """Check the digits of an IBAN; small letters only where nothing else is a letter."""
    characters = "".join(filter(str.isalnum, text))
    if not characters.isupper() and not characters[2:].isdigit():
        return False
    rearranged = (characters[4:] + characters[:4]).upper()
    number = int("".join(str(int(character, 36)) for character in rearranged))
    return number % 97 == 1 and 2 <= int(characters[2:4]) <= 98


def find_phones(text: str) -> Iterator[Hit]:
    """Report phone numbers: international, North American, or after a word such as `call`."""
    if "+" in text or "00" in text:
        for match in _INTERNATIONAL.finditer(text):
            hit = _international(match.start(), match[0])
            if hit is not None:
                yield hit
    for match in _NORTH_AMERICAN.finditer(text):
        yield Hit(*match.span(), "phone", match[0], country_digits=int(match[0][0] == "1"))
    lowered = text.lower()
    if any(word in lowered for word in _PHONE_WORDS):
        for match in _AFTER_A_WORD.finditer(text):
            hit = field_phone(match.start("number"), match["number"], is_number=False)
            if hit is not None and not _DATE.match(match["number"]):
                yield hit


def field_phone(start: int, text: str, *, is_number: bool) -> Hit | None:
    """Read a text that is known to be a phone number, in whatever notation."""
    if not _FIELD_PHONE.fullmatch(text):
        return None
    digits = _digits(text)
    abroad = text.startswith(("+", "00"))
    if is_synthetic(digits, is_number=is_number) or digits.startswith("1000"):
        return None
    if abroad and any(digits.removeprefix("00")[n : n + 3] == "000" for n in (1, 2, 3)):
        return None
    hit = _international(start, text) if abroad else None
    if hit is not None and hit.end == start + len(text):
        return hit
    country = int(_NORTH_AMERICAN.fullmatch(text) is not None and digits[0] == "1")
    return Hit(start, start + len(text), "phone", text, country_digits=country)


def field_number(start: int, text: str, *, is_number: bool) -> Hit | None:
    """Read the value of a field for account, passport, social security … numbers."""
    characters = "".join(filter(str.isalnum, text))
    if not _FIELD_NUMBER.fullmatch(text) or is_synthetic(characters, is_number=is_number):
        return None
    return Hit(start, start + len(text), "national-id", characters)


def find_national_ids(text: str) -> Iterator[Hit]:
    """Report national numbers in their usual notation."""
    for pattern, check in _NATIONAL:
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
    # United States (no check digit, but areas that do not exist)
    (re.compile(_FREE + r"(?!000|666|9)\d{3}-(?!00)\d\d-(?!0000)\d{4}" + _END), _any),
    (re.compile(_FREE + r"\d{3}\.\d{3}\.\d{3}-\d\d" + _END), _is_cpf),
    (re.compile(_FREE + r"756\.\d{4}\.\d{4}\.\d\d" + _END), _is_ahv),
    (re.compile(_FREE + r"[12] \d\d (?:0[1-9]|1[0-2]) \d\d \d{3} \d{3} \d\d" + _END), _is_nir),
    # United Kingdom, spaced
    (re.compile(START + r"[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] \d\d \d\d \d\d [A-D]" + _END), _any),
)


def _international(start: int, text: str) -> Hit | None:
    """Read a number with its country code, less the digits that follow it by accident."""
    phonenumbers = _phonenumbers()
    while text:
        digits = _digits(text).removeprefix("00")
        try:
            number = phonenumbers.parse(f"+{digits}", None)
        except phonenumbers.NumberParseException:
            return None
        country = str(number.country_code)
        if digits[len(country) :].startswith("000"):
            return None
        # Ranges for examples are no valid numbers; they have the right length.
        spoken = text[0] == "+" and number.country_code == _NORTH_AMERICA
        right_length = len(digits) == _NORTH_AMERICAN_DIGITS + 1
        if phonenumbers.is_valid_number(number) or (spoken and right_length):
            prefix = len(country) + (0 if text[0] == "+" else 2)
            return Hit(start, start + len(text), "phone", text, country_digits=prefix)
        text = re.sub(rf"{_GAP}*\d+$", "", text) if re.search(_GAP, text) else ""
    return None


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


def _phonenumbers() -> ModuleType:
    try:
        import phonenumbers
    except ImportError as error:
        raise MissingExtra(
            "redaction needs the package phonenumbers; "
            "install it with: pip install 'whileai-pipelines[redaction]'"
        ) from error
    return phonenumbers


def _digits(text: str) -> str:
    return "".join(c for c in text if c.isdigit())
