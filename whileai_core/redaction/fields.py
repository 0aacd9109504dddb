"""What the name of a field says about its value: a secret, a phone, an identifier …"""

from __future__ import annotations

import re
from enum import Enum
from functools import lru_cache
from typing import NamedTuple


class Field(Enum):
    """What a value is, as far as its key tells.

    Attributes:
        tells: Whether the key alone is enough to replace the value.
    """

    PLAIN = ("plain", False)
    SECRET = ("secret", True)
    PHONE = ("phone", True)
    NUMBER = ("number", True)  # account, social security, passport … numbers
    IDENTIFIER = ("identifier", False)  # ids, hashes, times, amounts: no cards, no phones
    VERSION = ("version", False)  # as an identifier; four dotted numbers are no address

    def __init__(self, _label: str, tells: bool) -> None:
        self.tells = tells


class Name(NamedTuple):
    """A key as the detectors see it.

    Attributes:
        field: What its value is.
        may_hold_data: Whether the key itself could be an address, a number or a token.
    """

    field: Field
    may_hold_data: bool


_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SECRET = re.compile(
    r"(?:^|_)(?:passwords?|passwd|pwd|pass|passphrases?|passcodes?|secrets?|secret_value|api_?keys?"
    r"|(?:access|secret|private|signing|encryption|auth|account|master|service|license)_?keys?"
    r"|(?:secret|private)_access_keys?|authorization|bearer|credentials?|(?:set_)?cookies?"
    r"|connection_string|token|(?:api|access|auth|refresh|bearer)_?tokens?)$"
)
_HARMLESS_TOKEN = re.compile(
    r"(?:^|_)(?:page|next|prev|previous|continuation|cursor|sync|max|min|total|num|count|prompt"
    r"|completion|input|output|stop|eos|bos|pad|unk|mask|first|last|per|public)_?tokens?$"
)
_PHONE = re.compile(
    r"(?:^|_)(?:phones?|tele?phone|tel|mobile|cell|cellphone|fax|whatsapp|msisdn|contact(?=_n))"
    r"(?:_(?:number|no|num|nr|home|work|mobile|primary|1|2))?$"
)
_NUMBER = re.compile(
    r"(?:^|_)(?:ssn|sin|nino|cpf|cnpj|bsn|pesel|dni|nif|cvv2?|cvc2?|aadhaar"
    r"|social_security(?:_(?:number|no))?"
    r"|(?:national|tax|citizen)_(?:id|number|identification_number)|national_insurance_number"
    r"|(?:bank_?)?account_(?:number|no)|routing_(?:number|no)|sort_code|passport(?:_(?:number|no))?"
    r"|(?:credit_?|debit_?|bank_?)?card_?(?:number|no|num)|credit_?card|cc_?(?:number|num)|iban"
    r"|(?:driving|drivers?)_licen[cs]e(?:_(?:number|no))?)$"
)
_VERSION = re.compile(r"(?:^|_)(?:version|build|release|user_agent)s?$")
_IDENTIFIER = re.compile(
    r"(?:^|_)(?:ids?|uuid|guid|hash|sha\d*|md5|digest|checksum|etag|fingerprint|ref|reference"
    r"|timestamp|ts|nanos?|micros|ms|millis|at|time|date|created|updated|modified|expires|expiry"
    r"|seq|sequence|revision|index|offset|seed|sku|ean|upc|gtin|isbn|barcode|imei"
    r"|price|amount|cost|total|balance|count|size|bytes|duration|quantity"
    r"|(?:order|invoice|tracking|ticket|case|booking|confirmation|serial|part|model|shipment"
    r"|transaction)(?:_(?:number|no|nr|code))?)(?:_\d+)?$"
)
_FIELDS = (
    (_HARMLESS_TOKEN, Field.PLAIN),
    (_SECRET, Field.SECRET),
    (_PHONE, Field.PHONE),
    (_NUMBER, Field.NUMBER),
    (_VERSION, Field.VERSION),
    (_IDENTIFIER, Field.IDENTIFIER),
)
_DATA_IN_KEY = re.compile(r"@|\d.*\d.*\d.*\d|::|[\w-]{20}", re.DOTALL)
_LONGEST_NAME = 64


@lru_cache(maxsize=8192)
def name(key: str) -> Name:
    """Read a key: `customerPhone`, `API-Key` and `db.password` are understood alike."""
    may_hold_data = _DATA_IN_KEY.search(key) is not None
    if len(key) > _LONGEST_NAME:
        return Name(Field.PLAIN, may_hold_data)
    words = "_".join(_WORD.findall(key)).lower()
    for pattern, field in _FIELDS:
        if pattern.search(words):
            return Name(field, may_hold_data)
    return Name(Field.PLAIN, may_hold_data)
