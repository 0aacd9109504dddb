"""Templates to responses: every value is escaped, and a policy says what a browser may load."""

from __future__ import annotations

import base64
import functools
import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.responses import HTMLResponse

from whileai_core.gate.pages import words

if TYPE_CHECKING:
    from jinja2 import Environment
    from starlette.responses import Response

_TEMPLATES = Path(__file__).parent / "templates"
# Chromium shows SVG and text; nothing else is ever loaded, from here or elsewhere.
_POLICY = (
    "default-src 'none'; style-src 'sha256-{style}'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'"
)


def page(template: str, *, status: int = 200, **values: Any) -> Response:
    """Render a template as a response that is neither cached nor framed nor scripted."""
    html = _environment().get_template(template).render(style=_style(), **values)
    return HTMLResponse(html.encode("utf-8", "replace"), status_code=status, headers=_headers())


@functools.cache
def _headers() -> dict[str, str]:
    style = base64.b64encode(hashlib.sha256(_style().encode()).digest()).decode()
    return {
        "Content-Security-Policy": _POLICY.format(style=style),
        "Cache-Control": "no-store",
        # Not `no-referrer`: with that, browsers hide also from us which page sent a form.
        "Referrer-Policy": "same-origin",
        "X-Content-Type-Options": "nosniff",
    }


@functools.cache
def _style() -> str:
    return (_TEMPLATES / "style.css").read_text("utf-8")


@functools.cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "bytes": words.size,
        "count": words.count,
        "cut": words.cut,
        "day": words.day,
        "json": words.readable,
        "rate": words.rate,
    }
    return environment
