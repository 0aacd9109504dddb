"""Agents, judges, improvers and tools by name, since parameters of a flow are JSON.

A name is an endpoint (`openai:<model>`, `vllm:<model>@<address>`, `ollama:<model>`) or
`module:attribute`. Only modules that the settings allow are imported, and only functions and
classes that live in them are given out.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whileai_core.errors import InputError, SettingsError
from whileai_core.settings import get_settings
from whileai_core.simulation.agents import AgentSpec, code_version
from whileai_core.simulation.endpoint import ChatEndpoint
from whileai_core.simulation.improve import PromptImprover, as_improver
from whileai_core.simulation.shown import shown_error

if TYPE_CHECKING:
    from collections.abc import Sequence

    from whileai_core.simulation.improve import Improver
    from whileai_core.simulation.spend import Spend

__all__ = [
    "AgentSpec",
    "load_reference",
    "reference_version",
    "resolve_agent",
    "resolve_improver",
    "resolve_judge",
    "resolve_tools",
]

_REFERENCE = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):([A-Za-z_]\w*)")
_PROMPT_IMPROVER = "prompt@"
_OURS = ("whileai_core.simulation.demo", "whileai_core.simulation.outcome")
_SHORT = {"outcome": "whileai_core.simulation.outcome:outcome_judge"}


def resolve_agent(
    reference: AgentSpec | str, *, api_key: str | None = None
) -> Callable[..., Any] | ChatEndpoint:
    """Return the agent a reference names; its system prompt is the caller's to pass on.

    Args:
        reference: `module:attribute`, an endpoint, or a spec with one of them.
        api_key: Key of the endpoint; default from the settings.

    Raises:
        SettingsError: The module is not allowed, or the endpoint's key is not set.
        InputError: The reference is malformed, or names nothing that can be called.
    """
    text = reference.agent if isinstance(reference, AgentSpec) else reference
    return _callable_or_endpoint(text, "agent", api_key)


def resolve_judge(
    reference: str, *, api_key: str | None = None
) -> Callable[..., Any] | ChatEndpoint:
    """Return the judge a reference names; `outcome` is the built-in `outcome_judge`.

    Raises:
        SettingsError: The module is not allowed, or the endpoint's key is not set.
        InputError: The reference is malformed, or names nothing that can be called.
    """
    return _callable_or_endpoint(_SHORT.get(reference.strip(), reference), "judge", api_key)


def resolve_improver(
    reference: str, *, spend: Spend | None = None, api_key: str | None = None
) -> Improver:
    """Return the improver a reference names: an async callable of an `AgentSpec` and failures.

    An endpoint, also as `prompt@<endpoint>`, is one that rewrites the system prompt.

    Raises:
        SettingsError: The module is not allowed, or the endpoint's key is not set.
        InputError: The reference is malformed, or names nothing that can be called.
    """
    text = reference.strip().removeprefix(_PROMPT_IMPROVER)
    found = _callable_or_endpoint(text, "improver", api_key)
    if isinstance(found, ChatEndpoint):
        return PromptImprover(found, spend)
    return as_improver(found)


def reference_version(reference: str) -> str | None:
    """Return the version of the code a reference names; None of an endpoint.

    Raises:
        SettingsError: The module is not allowed.
        InputError: The reference is malformed, or names nothing.
    """
    text = reference.strip().removeprefix(_PROMPT_IMPROVER)
    if ChatEndpoint.is_reference(text):
        return None
    return code_version(load_reference(_SHORT.get(text, text)))


def resolve_tools(tools: Sequence[Any] | str | None) -> list[Any]:
    """Return a list of tools as it is, or the one that `module:attribute` names.

    Raises:
        SettingsError: The module is not allowed.
        InputError: The reference is malformed, or names no list of tools.
    """
    if tools is None:
        return []
    if not isinstance(tools, str):
        return list(tools)
    found = load_reference(tools)
    if not isinstance(found, list | tuple):
        raise InputError(f"{tools} is {type(found).__name__}; expected a list of tools")
    return list(found)


def load_reference(reference: str) -> Any:
    """Return what `module:attribute` names.

    A module beside the current folder is found too, as web servers find theirs.

    Raises:
        SettingsError: The module is not allowed.
        InputError: The reference is malformed, or the module or attribute does not exist.
    """
    match = _REFERENCE.fullmatch(reference.strip())
    if match is None:
        raise InputError(
            f"{reference!r} is no reference; expected module:attribute, or an endpoint such as "
            "openai:<model>"
        )
    name, attribute = match[1], match[2]
    allowed = _allowed()
    if not _within(name, allowed):
        raise SettingsError(
            f"{name} is not among the modules that may be imported "
            f"({', '.join(allowed)}); add it to WHILEAI_ALLOWED_IMPORTS if it is trusted"
        )
    module = _imported(name)
    try:
        found = getattr(module, attribute)
    except AttributeError:
        raise InputError(f"{name} has no {attribute}") from None
    home = getattr(found, "__module__", None)
    if (inspect.isroutine(found) or inspect.isclass(found)) and not _within(str(home), allowed):
        raise SettingsError(
            f"{reference} lives in {home}, which is not among the modules that may be imported; "
            "name it there and add that to WHILEAI_ALLOWED_IMPORTS if it is trusted"
        )
    return found


def _callable_or_endpoint(
    reference: str, kind: str, api_key: str | None
) -> Callable[..., Any] | ChatEndpoint:
    if ChatEndpoint.is_reference(reference):
        return ChatEndpoint.parse(reference, api_key=api_key)
    found = load_reference(reference)
    if inspect.isclass(found) or not callable(found):
        raise InputError(
            f"{reference} is {'a class' if inspect.isclass(found) else type(found).__name__}; "
            f"expected a function or an object that can be called as {kind}"
        )
    function: Callable[..., Any] = found
    return function


def _allowed() -> list[str]:
    named = get_settings().allowed_imports.split(",")
    return [*(name.strip() for name in named if name.strip()), *_OURS]


def _within(name: str, allowed: Sequence[str]) -> bool:
    return any(name == entry or name.startswith(f"{entry}.") for entry in allowed)


def _imported(name: str) -> Any:
    here = str(Path.cwd())
    if here not in sys.path:  # at the end: nothing there can stand in for an installed module
        sys.path.append(here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise InputError(
            f"cannot import {name}: there is no module {error.name}; install it, or run where it is"
        ) from error
    except Exception as error:
        raise InputError(f"cannot import {name}: {shown_error(error)}") from None
