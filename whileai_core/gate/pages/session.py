"""Who looks at a page: a key once, then a cookie that stands for it until it ends.

The cookie is a random token of which the database keeps the hash. It opens pages only, never the
API, and is no longer good than the credential it was made with. A form is taken only from a page
of this origin, with the token of its session where there is one.
"""

from __future__ import annotations

import functools
import hmac
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qs

from starlette.exceptions import HTTPException

from whileai_core.gate.accounts import BROWSER, end_browsing
from whileai_core.gate.http import gate_of, identify, read_body
from whileai_core.gate.pages.html import page
from whileai_core.gate.permits import digest

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request
    from starlette.responses import Response

COOKIE = "whileai_gate"
_LONGEST_FORM = 10_000


class Viewer(NamedTuple):
    """Somebody who has signed in.

    Attributes:
        form_token: What a form must carry to act for them.
    """

    account: str
    form_token: str


def for_people(
    endpoint: Callable[[Request], Awaitable[Response]],
) -> Callable[[Request], Awaitable[Response]]:
    """Show what an endpoint refuses as a page."""

    @functools.wraps(endpoint)
    async def shown(request: Request) -> Response:
        try:
            return await endpoint(request)
        except HTTPException as error:
            refused = {"viewer": None, "reason": error.detail}
            refusal = page("refused.html", status=error.status_code, **refused)
            refusal.headers.update(error.headers or {})
            return refusal

    return shown


async def viewer_of(request: Request) -> Viewer | None:
    """Return who has signed in; None when nobody has, or not any more."""
    token = request.cookies.get(COOKIE, "")
    account = await identify(request, token, [BROWSER]) if token else None
    return Viewer(account, digest(f"form:{token}")) if account else None


def sign_in(request: Request, response: Response, token: str, seconds: int) -> None:
    """Let a response carry the cookie of a session."""
    origin = gate_of(request).settings.origin or str(request.base_url)
    response.set_cookie(
        COOKIE,
        token,
        max_age=seconds,
        secure=origin.startswith("https:"),
        httponly=True,
        samesite="lax",
    )


async def sign_out(request: Request, response: Response) -> None:
    """End the session of a request, here and in the browser."""
    await end_browsing(gate_of(request).database, request.cookies.get(COOKIE, ""))
    response.delete_cookie(COOKIE, httponly=True, samesite="lax")


async def read_form(request: Request, viewer: Viewer | None = None) -> dict[str, str]:
    """Return the fields of a form that one of our own pages has sent.

    Raises:
        HTTPException: 400 when it is no form, 403 when another site sent it.
    """
    if not _is_from_here(request):
        raise HTTPException(403, "this form was sent from another site")
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media != "application/x-www-form-urlencoded":
        raise HTTPException(400, "the request body is not a form")
    body = await read_body(request, _LONGEST_FORM)
    try:
        fields = parse_qs(body.decode("ascii"), keep_blank_values=True, max_num_fields=20)
    except ValueError:
        raise HTTPException(400, "the request body is not a form") from None
    form = {name: values[-1] for name, values in fields.items()}
    sent = form.get("form_token", "").encode("utf-8", "surrogatepass")
    if viewer is not None and not hmac.compare_digest(sent, viewer.form_token.encode()):
        raise HTTPException(403, "this form is from an earlier session; go back and reload")
    return form


def _is_from_here(request: Request) -> bool:
    """Tell whether a browser says that one of our pages sent this; other programs say nothing.

    Over plain http to other machines browsers name the origin only.
    """
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site in {"same-origin", "none"}
    origin = request.headers.get("origin")
    own = gate_of(request).settings.origin
    ours = {own, *(f"{scheme}://{request.headers.get('host')}" for scheme in ("http", "https"))}
    return origin is None or origin in ours
