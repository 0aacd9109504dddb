"""READMEs on the Hub: our part stands between two markers, everything else is theirs and stays."""

from __future__ import annotations

from typing import Any

from whileai_core.errors import InputError

NAME = "README.md"
_BEGIN, _END = "<!-- whileai:begin -->", "<!-- whileai:end -->"
_LONGEST = 2000


def parts_of(readme: bytes | None) -> tuple[dict[str, Any], str]:
    """Return the metadata and the text of a README.

    Raises:
        InputError: The metadata is no YAML, or no mapping.
    """
    import yaml
    from huggingface_hub import RepoCard

    text = (readme or b"").decode("utf-8-sig", "replace")
    if not text.startswith("---"):
        return {}, text
    try:
        card: Any = RepoCard(text, ignore_metadata_errors=True)
    except (yaml.YAMLError, ValueError):
        raise InputError(
            f"the metadata at the top of {NAME} cannot be read; mend it on the Hub, then run again"
        ) from None
    return card.data.to_dict(), card.text


def written(metadata: dict[str, Any], text: str, ours: str) -> bytes:
    """Return a README with our part in the place it had, or at the end."""
    from huggingface_hub import CardData

    block = f"{_BEGIN}\n{ours}\n{_END}"
    before, begin, rest = text.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if begin and end:
        body = f"{before}{block}{after}"
    else:
        body = f"{text.rstrip()}\n\n{block}\n" if text.strip() else f"{block}\n"
    return f"---\n{CardData(**metadata).to_yaml()}\n---\n{body}".encode()


def plain(text: object) -> str:
    """Return somebody's words so that they neither break a table nor open a tag."""
    line = " ".join(str(text).split())[:_LONGEST]
    return line.replace("|", "\\|").replace("<", "&lt;")
