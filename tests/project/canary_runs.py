"""What the canary test runs in a process of its own, with every logger of ours wide open.

Each part says what it does and shows its error in full; the test looks through all of it.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import logging
import os
import sys
import traceback
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

SOURCE = sys.argv[1]
TOLD = Path(sys.argv[2])
CHAT, PARROT = (os.environ.pop(f"CANARY_{name}") for name in ("CHAT", "PARROT"))
MARKS: dict[str, str] = json.loads(os.environ.pop("CANARY_MARKS"))
SERVER_DATABASES: dict[str, str] = json.loads(os.environ.pop("CANARY_DATABASES"))
TOOLS = "whileai_core.simulation.demo:TOOLS"


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


def at_home(name: str, **more: str | None) -> Any:
    """A home of its own with no platform but the embedded gate."""
    home = f"{os.environ['WHILEAI_HOME']}-{name}"
    return environment(WHILEAI_API_URL=None, WHILEAI_API_KEY=None, WHILEAI_HOME=home, **more)


def say(*values: Any) -> None:
    sys.stdout.write(f"{values}\n")


async def must_fail(what: str, run: Callable[[], Awaitable[Any]]) -> None:
    try:
        await run()
    except Exception as error:
        traceback.print_exc()
        sys.stderr.write(f"{what} failed: {error!r} {error} {vars(error)}\n")
    else:
        sys.stderr.write(f"{what} should have failed\n")


def without_waiting() -> None:
    """Try again at once where a night would wait for a platform or a store to come back."""
    from tasks import _retry

    _retry.WHILE_AWAY[:] = [0.0 for _ in _retry.WHILE_AWAY]
    from prefect import Task

    from tasks import night as steps
    from whileai_core.platform import _retry as requests

    requests.BASE_SECONDS = 0.002
    for step in vars(steps).values():
        if isinstance(step, Task):
            step.retry_delay_seconds = 0


def night(**changes: Any) -> Awaitable[Any]:
    from flows.nightly import nightly

    parameters = {"paths": [SOURCE], "agent": "canary", "redact": True, "max_bad_share": 0.5}
    return nightly(**{**parameters, **changes})


def climb(name: str, agent: str, **changes: Any) -> Awaitable[Any]:
    from flows.hill_climb import hill_climb

    parameters = {"tools": TOOLS, "budget": 16, "holdout_tasks": 4, "rounds": 2, "concurrency": 4}
    return hill_climb(name=name, agent=agent, **{**parameters, **changes})


ROWS = [{"prompt": f"Ask {n * 7919}", "final_text": "Answer", "reward": n % 2} for n in range(12)]


async def good_runs() -> None:
    import whileai_core as core

    say(await night())
    pushed = await core.push_rows(ROWS, "plain")
    MARKS["dataset"] = pushed["datasetId"]
    say(pushed, await core.datasets(), await core.pull(pushed["datasetId"]))
    await blocks()
    await published(pushed["datasetId"])
    await models()
    if SERVER_DATABASES:
        shared = Path(os.environ["WHILEAI_HOME"], "with-server").as_uri()
        places = {"WHILEAI_STORE_URL": shared, "WHILEAI_GATE_BLOB_URL": f"{shared}/blobs"}
        with at_home("with-server", **places, **SERVER_DATABASES):
            say(await night())


async def blocks() -> None:
    from prefect import flow
    from prefect.blocks.system import Secret

    import tasks
    from tasks.credentials import WhileCredentials

    await Secret(value=MARKS["session"]).save("session")
    await Secret(value=MARKS["block endpoint"]).save("endpoint")
    await Secret(value=os.environ["HF_TOKEN"]).save("hub")
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
    import whileai_core as core
    from flows.hub_import import hub_import
    from flows.hub_publish import hub_publish

    say(await hub_publish(dataset_id=dataset_id))
    with at_home("hub", HF_TOKEN=None):
        made = await core.push_rows(ROWS, "embedded")
        there = await hub_publish(dataset_id=made["datasetId"], token_block="hub")
        say(there, await hub_import(repo=there["repo"], token_block="hub"))


async def models() -> None:
    """Agent, judge, writer and improver at an endpoint, with keys from environment and block."""
    import whileai_core as core
    from whileai_core.simulation import demo
    from whileai_core.simulation.references import resolve_agent

    agent, judge, improver = (f"vllm:{name}@{CHAT}" for name in ("agent", "judge", "improver"))
    for key in (None, "endpoint"):
        name = f"by-{key or 'environment'}"
        say(await climb(name, agent, judge=judge, improver=improver, endpoint_key=key))
        say(await night(agent=name, judge=judge, judge_key=key))
    writer = resolve_agent(f"vllm:writer@{CHAT}")
    options = {"tools": demo.TOOLS, "budget": 4, "simulator": writer}
    simulated = await core.simulate(resolve_agent(agent), **options)
    say(simulated.rows, simulated.report())


async def bad_runs() -> None:
    import whileai_core as core

    with environment(WHILEAI_API_KEY=MARKS["wrong key"]):
        await must_fail("a wrong key", core.datasets)
        await must_fail("a night with a wrong key", lambda: night(agent="wrong"))
    with environment(WHILEAI_API_URL="http://127.0.0.1:9"):
        await must_fail("a refused connection", core.datasets)
    with environment(WHILEAI_API_URL=MARKS["bad url"]):
        await must_fail("an address with a password", core.datasets)
    with environment(WHILEAI_API_URL=PARROT):
        await must_fail("a server that repeats all it hears", core.datasets)
        await must_fail("an upload that fails", lambda: night(agent="faulty"))
    for name in [name for name in MARKS if name.endswith("database url")]:
        shared = Path(os.environ["WHILEAI_HOME"], "shared").as_uri()
        with environment(WHILEAI_LEDGER_URL=MARKS[name], WHILEAI_STORE_URL=shared):
            await must_fail(f"a ledger at {name}", lambda: night(agent="ledger"))
        with at_home("fresh", WHILEAI_GATE_DATABASE_URL=MARKS[name]):
            await must_fail(f"a gate at {name}", core.datasets)
    await bad_addresses()
    await bad_models()


async def bad_addresses() -> None:
    import whileai_core as core
    from whileai_core.dialects.load import load_all

    for name in [name for name in MARKS if name.endswith("store url")]:
        with environment(WHILEAI_STORE_URL=MARKS[name]):
            await must_fail(f"a store at {name}", lambda: night(agent="store"))
        with at_home("blobs", WHILEAI_GATE_BLOB_URL=MARKS[name]):
            await must_fail(f"blobs at {name}", lambda: core.push_rows(ROWS, "blobs"))
    shared = Path(os.environ["WHILEAI_HOME"], "shared").as_uri()
    with environment(WHILEAI_DASK_SCHEDULER=MARKS["scheduler url"], WHILEAI_STORE_URL=shared):
        await must_fail(
            "a scheduler with a password", lambda: night(agent="dask", paths=[f"file://{SOURCE}"])
        )
    for name in [name for name in MARKS if name.endswith("traces url")]:
        read = functools.partial(asyncio.to_thread, load_all, [MARKS[name]])
        await must_fail(f"reading {name}", read)


async def bad_models() -> None:
    say(await climb("nobody", "openai:some-model"))
    repeating = f"vllm:some-model@{PARROT}"
    flawed = {"agent": "whileai_core.simulation.demo:flawed_agent", "budget": 32}
    for key, part in (("endpoint", "judge"), ("endpoint", "improver"), (None, "agent")):
        changes = {**flawed, part: repeating}
        say(await climb(f"repeated-{part}", **changes, endpoint_key=key))
    for key in (None, "endpoint"):
        judged = functools.partial(night, agent=f"repeated-{key}", judge=repeating, judge_key=key)
        await must_fail("a judge that repeats its key", judged)
    say(await climb("own-agent", "canary_agents:agent"))
    for part in ("judge", "improver"):
        say(await climb(f"own-{part}", **{**flawed, part: f"canary_agents:{part}"}))
    await must_fail("a judge that fails", lambda: night(agent="own", judge="canary_agents:judge"))


async def main() -> None:
    without_waiting()
    await good_runs()
    await bad_runs()


if __name__ == "__main__":
    logging.basicConfig(level=logging.DEBUG)
    for library in ("websockets", "fsspec"):  # these show, when told to, all that they send
        logging.getLogger(library).setLevel(logging.INFO)
    asyncio.run(main())
    TOLD.write_text(json.dumps({name: MARKS[name] for name in ("dataset", "delegated")}))
