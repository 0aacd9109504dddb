"""Whole conversations as one text, with the marks of a model's chat template between the turns."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from whileai_core.dialects.messages.roles import role_of


class _Template(NamedTuple):
    """How turns are marked: `mark` occurs in every such text; groups give role and content."""

    mark: str
    turn: re.Pattern[str]


_TEMPLATES = (
    _Template(  # ChatML, Qwen
        "<|im_start|>",
        re.compile(r"<\|im_start\|>(\w+)\n?(.*?)(?:<\|im_end\|>|(?=<\|im_start\|>)|\Z)", re.DOTALL),
    ),
    _Template(  # Llama 3
        "<|start_header_id|>",
        re.compile(
            r"<\|start_header_id\|>(\w+)<\|end_header_id\|>(.*?)"
            r"(?:<\|eot_id\|>|<\|eom_id\|>|(?=<\|start_header_id\|>)|\Z)",
            re.DOTALL,
        ),
    ),
    _Template(  # Gemma
        "<start_of_turn>",
        re.compile(
            r"<start_of_turn>(\w+)\n?(.*?)(?:<end_of_turn>|(?=<start_of_turn>)|\Z)", re.DOTALL
        ),
    ),
    _Template(  # Phi, Zephyr, GLM
        "<|user|>",
        re.compile(
            r"<\|(system|user|assistant|observation|tool)\|>(.*?)"
            r"(?:<\|end\|>|</s>|(?=<\|(?:system|user|assistant|observation|tool)\|>)|\Z)",
            re.DOTALL,
        ),
    ),
)
_START = re.compile(
    r"\s*(?:(?:<s>|<bos>|<\|begin_of_text\|>|<\|endoftext\|>|\[gMASK\]|<sop>)\s*)*"
    r"(?:<\|im_start\|>\w|<\|start_header_id\|>\w|<start_of_turn>\w|<\|(?:system|user)\|>|\[INST\])"
)
_INST = re.compile(r"\[INST\](.*?)\[/INST\](.*?)(?=(?:<s>)?\s*\[INST\]|</s>|\Z)", re.DOTALL)
_SYSTEM = re.compile(r"\s*<<SYS>>(.*?)<</SYS>>(.*)\Z", re.DOTALL)
_UNMARKED = re.compile(r"(?:\A|\n)(system|user|assistant|tool)\n")


def is_templated(text: str) -> bool:
    """Tell whether a text starts as a template makes it; marks further in may be talked about."""
    return _START.match(text) is not None


def messages_in(text: str) -> list[dict[str, Any]]:
    """Return the turns of a text with marks as messages; none when it has no marks."""
    for template in _TEMPLATES:
        if template.mark in text:
            turns = template.turn.findall(text)
            return [_message(role, said) for role, said in turns if role_of(role) and said.strip()]
    return _between_inst(text) if "[/INST]" in text else []


def unmarked_messages(text: str) -> list[dict[str, Any]]:
    """Return the turns of a text from which the marks were left out, so that roles stand alone.

    Read this way only what is known to come from a template.
    """
    pieces = _UNMARKED.split(text)[1:]
    turns = zip(pieces[::2], pieces[1::2], strict=True)
    return [_message(role, said) for role, said in turns if said.strip()]


def _message(role: str, said: str) -> dict[str, Any]:
    return {"role": role, "content": said.strip()}


def _between_inst(text: str) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    for asked, replied in _INST.findall(text):
        told = _SYSTEM.match(asked)
        if told is not None:
            messages.append(_message("system", told[1]))
        messages.append(_message("user", told[2] if told else asked))
        if replied.strip():
            messages.append(_message("assistant", replied))
    return messages
