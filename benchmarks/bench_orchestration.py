"""What orchestration costs a night, and how its time falls with workers.

    python -m benchmarks.bench_orchestration FOLDER [--rounds 1] [--workers 1 2] [--parts scale]

cost    The nightly flow over FOLDER against a standing Prefect server, in a process of its own.
        Prefect's share is the part of the time, from the start of the process to its end, in
        which no step of the night is at work: its import, its bookkeeping before, between and
        after the steps, and the steps that only show or announce something.
scale   The same night with its shards on a Dask cluster of each number of workers on this
        machine, a process with one thread each, as a ratio to the first number. Every other round
        takes the numbers in the other order. Then once more with a new ledger and the same store:
        the workers find every shard made, so that nothing but handles travels; that time is the
        cost of the cluster itself.

Files are read once before anything is timed, so that no night has the disk to itself. Medians
over the rounds, with their range. A file is never divided: give FOLDER several files per worker,
of some ten megabytes each. On a machine that does other things, or with fewer cores than workers,
the ratios of `scale` say little.
"""

from __future__ import annotations

import argparse
import asyncio
import functools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import date
from pathlib import Path
from typing import Any

from whileai_core.settings import get_settings

ROOT = Path(__file__).parents[1]
# The first three serve Prefect's pages and events alone; shards may be made on other machines.
NOT_TIMED = {"show", "announce", "announce_refusal", "normalise_shard"}


# -- one night, in a process of its own


class Clock:
    """Adds up the time during which at least one of several things is under way."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._under_way = 0
        self._began = 0.0

    def __enter__(self) -> None:
        if not self._under_way:
            self._began = time.monotonic()
        self._under_way += 1

    def __exit__(self, *_: object) -> None:
        self._under_way -= 1
        if not self._under_way:
            self.seconds += time.monotonic() - self._began


def night(path: str) -> dict[str, Any]:
    """Run a night; say how long its steps were at work, and how long it read."""
    import prefect

    from flows import nightly as module
    from tasks import night as steps

    work, reading = Clock(), Clock()
    for step in [*vars(steps).values(), *vars(module).values()]:
        if isinstance(step, prefect.Task) and step.fn.__name__ not in NOT_TIMED:
            step.fn = timed(step.fn, work)
    shards: list[int] = []
    make_shards = timed(module.make_shards, reading)

    async def counted(workspace: Any, plans: Sequence[Any]) -> Any:
        shards.append(len(plans))
        return await make_shards(workspace, plans)

    module.make_shards = counted
    if not get_settings().dask_scheduler:
        steps.normalise_shard.fn = timed(steps.normalise_shard.fn, work)
    result = asyncio.run(
        module.nightly(paths=[path], agent="bench", night=date(2026, 11, 28), max_bad_share=1)
    )
    return {
        "work": work.seconds,
        "reading": reading.seconds,
        "shards": sum(shards),
        "account": {name: result["account"][name] for name in ("records", "rows", "duplicates")},
        "datasets": [entry["rows"] for entry in result["datasets"]],
    }


def timed(function: Any, clock: Clock) -> Any:
    """Let a clock run while an async function does."""

    @functools.wraps(function)
    async def on_the_clock(*args: Any, **kwargs: Any) -> Any:
        with clock:
            return await function(*args, **kwargs)

    return on_the_clock


# -- many nights


def run(path: str, home: Path, **settings: str) -> dict[str, Any]:
    """Run a night in a process of its own; adds the seconds from its start to its end."""
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.bench_orchestration"]
    environment = {**os.environ, "WHILEAI_HOME": str(home), "PYTHONPATH": str(ROOT), **settings}
    began = time.monotonic()
    done = subprocess.run(
        [*command, path, "--one"], env=environment, cwd=ROOT, stdout=subprocess.PIPE, check=True
    )
    seconds = time.monotonic() - began
    return {**json.loads(done.stdout.splitlines()[-1]), "seconds": seconds}


def cost(folder: Path, rounds: int, api: str) -> None:
    """Print Prefect's share of a night."""
    shares = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as home:
            found = run(str(folder), Path(home), PREFECT_API_URL=api)
        shares.append(1 - found["work"] / found["seconds"])
    print(f"cost: Prefect has {_spread(shares, '.1%')} of the night's time", flush=True)


def scale(folder: Path, counts: Sequence[int], rounds: int, api: str) -> None:
    """Print how a night's time falls with the number of workers."""
    times: dict[int, list[dict[str, Any]]] = {count: [] for count in counts}
    handles: list[float] = []
    for turn in range(rounds):
        for count in counts[:: -1 if turn % 2 else 1]:
            with tempfile.TemporaryDirectory() as home, cluster(count) as address:
                settings = {
                    "PREFECT_API_URL": api,
                    "WHILEAI_DASK_SCHEDULER": address,
                    "WHILEAI_STORE_URL": f"file://{home}/shared",
                }
                found = run(f"file://{folder}", Path(home, "first"), **settings)
                again = run(f"file://{folder}", Path(home, "again"), **settings)
            _same(found, again)
            _same(next((kept[0] for kept in times.values() if kept), found), found)
            times[count].append(found)
            handles.append(again["reading"] / again["shards"])
    print(f"scale: {found['shards']} shards; handles alone {_spread(handles, '.3f')} s each")
    for count in counts:
        pairs = list(zip(times[counts[0]], times[count], strict=True))
        reading = [first["reading"] / found["reading"] for first, found in pairs]
        whole = [first["seconds"] / found["seconds"] for first, found in pairs]
        share = [found["reading"] / found["seconds"] for found in times[count]]
        print(
            f"scale: {count} worker(s): the shards take {_spread(share, '.0%')} of the night; "
            f"as fast as with {counts[0]}: shards {_spread(reading, '.2f')}, "
            f"night {_spread(whole, '.2f')}",
            flush=True,
        )


@contextmanager
def cluster(workers: int) -> Iterator[str]:
    """Run a Dask scheduler and workers, each in a process and home of its own, warmed up."""
    from distributed import Client

    from flows._server import _free_port

    dask = [str(Path(sys.executable).with_name("dask"))]
    address = f"tcp://127.0.0.1:{_free_port()}"
    commands = [[*dask, "scheduler", "--host", address, "--no-dashboard", "--no-show"]]
    worker = [*dask, "worker", address, "--no-nanny", "--no-dashboard", "--nthreads", "1"]
    commands += [worker] * workers
    with ExitStack() as stack:
        for command in commands:
            home = stack.enter_context(tempfile.TemporaryDirectory())
            process = subprocess.Popen(
                command,
                cwd=home,
                env={**os.environ, "WHILEAI_HOME": home, "PYTHONPATH": str(ROOT)},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            stack.callback(process.wait)
            stack.callback(process.terminate)
        with Client(address, set_as_default=False) as client:
            client.wait_for_workers(workers, timeout=60)
            client.run(_warm_up)
        yield address


def _warm_up() -> None:
    import flows.nightly
    import whileai_core

    whileai_core.load_traces([])
    del flows


def _same(one: dict[str, Any], other: dict[str, Any]) -> None:
    for part in ("account", "datasets"):
        if one[part] != other[part]:
            raise SystemExit(f"the nights differ in {part}: {one[part]} and {other[part]}")


def _read_once(folder: Path) -> None:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            with path.open("rb") as file:
                while file.read(1 << 20):
                    pass


def _spread(values: Sequence[float], form: str) -> str:
    middle = format(statistics.median(values), form)
    return f"{middle} ({min(values):{form}} to {max(values):{form}}, n = {len(values)})"


def main() -> None:
    """Compare, or run the one night of a comparison."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=str)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--parts", nargs="*", choices=["cost", "scale"], default=["cost", "scale"])
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(night(options.folder)))
        return
    folder = Path(options.folder).resolve()
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6
    _read_once(folder)
    print(f"{size:.0f} MB, {os.cpu_count()} cores", flush=True)
    with tempfile.TemporaryDirectory() as home:
        os.environ["WHILEAI_HOME"] = home
        from flows._server import prefect_api

        with prefect_api():
            from prefect.settings import PREFECT_API_URL

            api = PREFECT_API_URL.value()
            if "cost" in options.parts:
                cost(folder, options.rounds, api)
            if "scale" in options.parts:
                scale(folder, options.workers, options.rounds, api)


if __name__ == "__main__":
    main()
