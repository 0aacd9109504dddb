"""What orchestration costs a night, and how its time falls with workers.

    python -m benchmarks.bench_orchestration FOLDER [--pairs 3] [--workers 1 2]

cost    The nightly flow over FOLDER against a standing Prefect server, and the same code with
        every task called as the plain function it covers and nothing shown or announced. Each in
        a process of its own, from its start to its end, interleaved. Prefect's share is what the
        first takes longer, the import of Prefect included.
scale   The same night with its shards on a Dask cluster of each number of workers on this
        machine, one thread each, as a ratio to the first number.

Shares and ratios are medians over the pairs, with their range. On a machine that does other
things, or with fewer cores than workers and flow need, they say little.
"""

from __future__ import annotations

import argparse
import asyncio
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
from uuid import uuid4

ROOT = Path(__file__).parents[1]
# What these do is for Prefect's pages and events alone.
TELLING = {"show", "announce", "announce_refusal"}


# -- one night, in a process of its own


def night(paths: Sequence[str], *, plain: bool) -> dict[str, Any]:
    """Run a night and say how long its parts took."""
    began = time.monotonic()
    import prefect

    imported = time.monotonic() - began
    from flows import nightly as module

    if plain:
        _without_prefect()
    reading = _timed_reading(module)
    flow = module.nightly.fn if plain else module.nightly
    result = asyncio.run(
        flow(paths=list(paths), agent="bench", night=date(2026, 11, 28), max_bad_share=1)
    )
    return {
        "import": imported,
        "reading": reading["seconds"],
        "version": prefect.__version__,
        "account": {name: result["account"][name] for name in ("records", "rows", "duplicates")},
        "datasets": [entry["rows"] for entry in result["datasets"]],
    }


def _without_prefect() -> None:
    from prefect import Task

    from tasks._progress import Progress

    async def nothing(*_: Any, **__: Any) -> Any:
        return uuid4()  # for the name of a page

    def call(task: Any, *args: Any, **kwargs: Any) -> Any:
        return (nothing if task.fn.__name__ in TELLING else task.fn)(*args, **kwargs)

    Task.__call__ = call  # type: ignore[method-assign]  # that is the point
    Progress.begin = Progress.advance = nothing  # type: ignore[method-assign]


def _timed_reading(module: Any) -> dict[str, float]:
    make_shards, spent = module.make_shards, {"seconds": 0.0}

    async def timed(*args: Any) -> Any:
        began = time.monotonic()
        shards = await make_shards(*args)
        spent["seconds"] = time.monotonic() - began
        return shards

    module.make_shards = timed
    return spent


# -- many nights


def run(paths: Sequence[str], how: str, home: Path, **settings: str) -> dict[str, Any]:
    """Run a night in a process of its own; adds the seconds from its start to its end."""
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-m",
        "benchmarks.bench_orchestration",
        *paths,
        "--one",
        how,
    ]
    environment = {**os.environ, "WHILEAI_HOME": str(home), "PYTHONPATH": str(ROOT), **settings}
    began = time.monotonic()
    done = subprocess.run(
        command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, check=True, timeout=3600
    )
    seconds = time.monotonic() - began
    return {**json.loads(done.stdout.splitlines()[-1]), "seconds": seconds}


def cost(folder: Path, pairs: int, api: str) -> None:
    """Print Prefect's share of a night."""
    shares = []
    for _ in range(pairs):
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
            plain = run([str(folder)], "plain", Path(one))
            flow = run([str(folder)], "flow", Path(other), PREFECT_API_URL=api)
        _same(plain, flow)
        own_work = plain["seconds"] - plain["import"]
        shares.append(1 - own_work / flow["seconds"])
        print(f"  a pair: {shares[-1]:.1%} of the flow's time is Prefect's", flush=True)
    rows, version = flow["account"]["rows"], flow["version"]
    print(f"cost: Prefect {version} takes {_spread(shares, '.1%')} of a night of {rows} rows")


def scale(folder: Path, counts: Sequence[int], pairs: int, api: str) -> None:
    """Print how a night's time falls with the number of workers."""
    ratios: dict[int, dict[str, list[float]]] = {
        count: {"reading": [], "seconds": []} for count in counts
    }
    for _ in range(pairs):
        first: dict[str, Any] | None = None
        for count in counts:
            with tempfile.TemporaryDirectory() as home, cluster(count) as address:
                settings = {
                    "PREFECT_API_URL": api,
                    "WHILEAI_DASK_SCHEDULER": address,
                    "WHILEAI_STORE_URL": f"file://{home}/shared",
                }
                found = run([f"file://{folder}"], "flow", Path(home), **settings)
            first = first or found
            _same(first, found)
            for part, values in ratios[count].items():
                values.append(first[part] / found[part])
            share = found["reading"] / found["seconds"]
            print(f"  {count} worker(s): reading is {share:.0%} of the night", flush=True)
    for count, parts in ratios.items():
        print(
            f"scale: {count} worker(s): reading {_spread(parts['reading'], '.2f')} times as fast "
            f"as with {counts[0]}, the night {_spread(parts['seconds'], '.2f')} times"
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


def _spread(values: Sequence[float], form: str) -> str:
    middle = format(statistics.median(values), form)
    return f"{middle} ({min(values):{form}} to {max(values):{form}}, n = {len(values)})"


def main() -> None:
    """Compare, or run the one night of a comparison."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=str)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--one", choices=["plain", "flow"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(night([options.folder], plain=options.one == "plain")))
        return
    folder = Path(options.folder).resolve()
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6
    print(f"{size:.0f} MB, {os.cpu_count()} cores", flush=True)
    with tempfile.TemporaryDirectory() as home:
        os.environ["WHILEAI_HOME"] = home
        from flows._server import prefect_api

        with prefect_api():
            from prefect.settings import PREFECT_API_URL

            api = PREFECT_API_URL.value()
            if options.pairs:
                cost(folder, options.pairs, api)
            if options.workers:
                scale(folder, options.workers, max(options.pairs, 1), api)


if __name__ == "__main__":
    main()
