"""What the canary test runs in a process of its own, with every logger wide open.

Each part says what it does and shows its error in full; the test looks through all of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import sys
import traceback
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

SOURCE = sys.argv[1]
MARKS: dict[str, str] = json.loads(os.environ.pop("CANARY_MARKS"))


@contextlib.contextmanager
def environment(**values: str | None) -> Iterator[None]:
    earlier = {name: os.environ.pop(name, None) for name in values}
    os.environ.update({name: value for name, value in values.items() if value is not None})
    try:
        yield
    finally:
        for name, value in earlier.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def say(*values: Any) -> None:
    sys.stdout.write(f"{values}\n")


async def must_fail(what: str, run: Callable[[], Awaitable[Any]]) -> None:
    try:
        await run()
    except Exception as error:
        traceback.print_exc()
        sys.stderr.write(f"{what} failed: {error!r} {error} {vars(error)}\n")
    else:
        raise SystemExit(f"{what} was expected to fail")


def night(**changes: Any) -> Awaitable[Any]:
    from flows.nightly import nightly

    parameters = {"paths": [SOURCE], "agent": "canary", "redact": True, "max_bad_share": 0.5}
    return nightly(**{**parameters, **changes})


ROWS = [{"prompt": f"Ask {n * 7919}", "final_text": "Answer", "reward": n % 2} for n in range(12)]


async def good_runs() -> None:
    import whileai_core as core

    say(await night())
    pushed = await core.push_rows(ROWS, "plain")
    say(pushed, await core.datasets(), await core.pull(pushed["datasetId"]))
    await blocks()
    await published(pushed["datasetId"])


async def blocks() -> None:
    from prefect import flow
    from prefect.blocks.system import Secret

    import tasks
    from tasks.credentials import WhileCredentials

    await Secret(value=MARKS["session"]).save("session")
    await WhileCredentials(api_key=MARKS["key"]).save("while-account")

    @flow
    async def with_blocks() -> Any:
        made = await tasks.issue_delegated_credential("session", "delegated")
        entry = await tasks.push_rows(ROWS[:3], "by-block", credentials="while-account")
        return [made, entry]

    say(await with_blocks())
    delegated: Any = await Secret.aload("delegated")
    MARKS["delegated"] = delegated.get()
    with environment(WHILEAI_API_KEY=None, WHILEAI_DELEGATED_CREDENTIAL=delegated.get()):
        import whileai_core as core

        say(await core.datasets())


async def published(dataset_id: str) -> None:
    from flows.hub_publish import hub_publish

    say(await hub_publish(dataset_id=dataset_id))


async def bad_runs() -> None:
    import whileai_core as core
    from flows.hill_climb import hill_climb

    with environment(WHILEAI_API_KEY=MARKS["wrong key"]):
        await must_fail("a wrong key", core.datasets)
        await must_fail("a night with a wrong key", lambda: night(agent="wrong"))
    with environment(WHILEAI_API_URL="http://127.0.0.1:9"):
        await must_fail("a refused connection", core.datasets)
    with environment(WHILEAI_API_URL=MARKS["bad url"]):
        await must_fail("an address with a password", core.datasets)
    with environment(WHILEAI_API_URL=os.environ["CANARY_FAULTS"]):
        await must_fail("a server that repeats all it hears", core.datasets)
        await must_fail("an upload that fails", lambda: night(agent="faulty"))
    for name in ("database", "odd database", "mangled database"):
        url = MARKS[f"{name} url"]
        shared = Path(os.environ["WHILEAI_HOME"], "shared").as_uri()
        with environment(WHILEAI_LEDGER_URL=url, WHILEAI_STORE_URL=shared):
            await must_fail(f"a ledger at {name}", lambda: night(agent="ledger"))
        fresh = f"{os.environ['WHILEAI_HOME']}-fresh"  # no stored key, so the embedded gate
        away = {"WHILEAI_API_URL": None, "WHILEAI_API_KEY": None, "WHILEAI_HOME": fresh}
        with environment(**away, WHILEAI_GATE_DATABASE_URL=url):
            await must_fail(f"a gate at {name}", core.datasets)
    climb = {"name": "canary", "tools": "whileai_core.simulation.demo:TOOLS", "budget": 4}
    say(await hill_climb(agent="openai:some-model", **climb))
    say(await hill_climb(agent="vllm:some-model@http://127.0.0.1:9", **climb))


async def main() -> None:
    await good_runs()
    await bad_runs()


if __name__ == "__main__":
    logging.basicConfig(level=logging.DEBUG)
    asyncio.run(main())
    Path(sys.argv[2]).write_text(json.dumps({"delegated": MARKS["delegated"]}))
