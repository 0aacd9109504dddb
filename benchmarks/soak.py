"""Many nights of generated traffic with faults thrown in, and nothing lost, doubled or leaked.

    python -m benchmarks.soak [--nights 200] [--seed 0] [--keep FOLDER]

Nights are only dates, so they follow one another at once. Every night brings rows, chats and
spans, some of them late, delivered again, copied, cut off or unreadable. Nights fail in the
middle, are killed, meet a gate that answers 5xx and 429, resets connections, loses answers, is
away, or dies. At the end every planted record must be in exactly one dataset (a late span makes
the next revision of its row) or in quarantine, every account must add up, and open files,
threads, memory and databases must not have grown beyond the data. Linux only.
"""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import gzip
import json
import logging
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from benchmarks import armed, flaky

ROOT = Path(__file__).parents[1]
AGENT = "soak"
FIRST_NIGHT = date(2026, 1, 1)
KEPT_NIGHTS = 4  # files older than that are rotated away
TRIES = 6
MARK = re.compile(r"\bmark[0-9a-f]{12}\b")
# What a night may stumble over: a function that fails once, at one of its first calls.
STUMBLES = (
    "whileai_core.rowset:RowSetWriter.close",
    "whileai_core.ingest.workspace:Workspace.discover",
    "whileai_core.ingest.workspace:Workspace.merge",
    "whileai_core.ingest.workspace:Workspace.split",
    "whileai_core.ingest.ledger:Ledger.begin_push",
    "whileai_core.ingest.ledger:Ledger.commit",
    "whileai_core.platform.transport:Transport.post",
    "whileai_core.platform.transport:Transport.upload",
)


# -- traffic


@dataclass
class Traffic:
    """Writes the files of each night and remembers what they held.

    Attributes:
        rows: Marks that must end in exactly one dataset.
        broken: Marks that must end in quarantine.
        late: Marks whose row gets a further span, with the text it must show in the end.
        written: Bytes written so far.
    """

    folder: Path
    rng: random.Random
    nights: int
    rows: set[str] = field(default_factory=set)
    broken: set[str] = field(default_factory=set)
    late: dict[str, str] = field(default_factory=dict)
    written: int = 0
    _waiting: dict[int, list[tuple[str, str]]] = field(default_factory=lambda: defaultdict(list))
    _again: dict[int, list[bytes]] = field(default_factory=lambda: defaultdict(list))

    def write(self, number: int) -> None:
        """Write what arrives in the night of that number; old files are rotated away."""
        for path in sorted(self.folder.glob("*")):
            if int(path.name[:4]) < number - KEPT_NIGHTS:
                path.unlink()
        rows = [self._row() for _ in range(self.rng.randint(8, 16))]
        chats = [self._chat() for _ in range(self.rng.randint(4, 8))]
        self._file(number, "rows.jsonl", [*rows, *self._unreadable(0.4)])
        cut = self.rng.random() < 0.1 and number < self.nights - 3  # the rest is to come
        self._file(number, "chats.jsonl.gz", chats, cut=cut)
        self._file(number, "spans.jsonl", self._spans(number))
        if self.rng.random() < 0.3:  # the same bytes under another name
            shutil.copy(
                self.folder / f"{number:04}-rows.jsonl", self.folder / f"{number:04}-c.jsonl"
            )
        if self.rng.random() < 0.3:  # the same rows among others
            self._file(number, "mixed.jsonl", [*rows[:5], self._row()])
        for place, data in enumerate(self._again.pop(number, ())):
            self._store(f"{number:04}-again{place}.jsonl.gz", data)

    def write_garbage(self, number: int) -> Path:
        """Write a file no night can accept."""
        path = self.folder / f"{number:04}-garbage.jsonl"
        path.write_text("no trace at all\n" * 200, encoding="utf-8")
        return path

    def _file(self, number: int, name: str, values: list[Any], *, cut: bool = False) -> None:
        lines = [value if isinstance(value, str) else json.dumps(value) for value in values]
        data = "".join(line + "\n" for line in lines).encode()
        if name.endswith(".gz"):
            data = gzip.compress(data, mtime=0)
        if cut:  # the whole file comes some nights later
            self._again[number + self.rng.randint(1, 3)].append(data)
            data = data[: int(len(data) * self.rng.uniform(0.3, 0.9))]
        self._store(f"{number:04}-{name}", data)

    def _store(self, name: str, data: bytes) -> None:
        (self.folder / name).write_bytes(data)
        self.written += len(data)

    def _mark(self) -> str:
        mark = f"mark{self.rng.getrandbits(48):012x}"
        self.rows.add(mark)
        return mark

    def _ask(self) -> str:
        """An ask unlike any other, so that none is a near copy."""
        words = (f"{self.rng.getrandbits(32):08x}" for _ in range(10))
        return f"{self._mark()} {' '.join(words)}"

    def _row(self) -> dict[str, Any]:
        return {
            "prompt": self._ask(),
            "steps": [{"tool": "track", "arguments": {"id": 7}, "result": {"status": "ok"}}],
            "final_text": f"Done {self.rng.getrandbits(32):08x}.",
            "reward": self.rng.randint(0, 1),
        }

    def _chat(self) -> dict[str, Any]:
        answer = {"role": "assistant", "content": f"Done {self.rng.getrandbits(32):08x}."}
        return {"messages": [{"role": "user", "content": self._ask()}, answer]}

    def _unreadable(self, chance: float) -> Iterator[str]:
        """Two lines at most: a night with more is refused, which is another fault."""
        for _ in range(2):
            if self.rng.random() > chance:
                continue
            mark = f"mark{self.rng.getrandbits(48):012x}"
            self.broken.add(mark)
            yield f'{{"prompt": "{mark} was cut off he'

    def _spans(self, number: int) -> list[Any]:
        batches = []
        for _ in range(self.rng.randint(3, 6)):
            ask = self._ask()
            trace = f"{self.rng.getrandbits(128):032x}"
            batch = _batch(trace, 1, ask, "First answer.")
            batches.append(batch)
            chance = self.rng.random()
            if chance < 0.3:  # a later span of the same conversation comes another night
                self._waiting[number + self.rng.randint(1, 6)].append((trace, ask))
            elif chance < 0.5:  # the exporter sends the batch again
                batches.append(batch)
        for trace, ask in self._waiting.pop(number, ()):
            reply = f"Late answer {self.rng.getrandbits(32):08x}."
            self.late[ask.split()[0]] = reply
            batches.append(_batch(trace, 2, ask, reply, earlier="First answer."))
        self.rng.shuffle(batches)
        return batches


def _batch(trace: str, turn: int, ask: str, reply: str, earlier: str | None = None) -> Any:
    """One OTLP batch with one chat span; a second turn has the first in its history."""
    asked = [_message("user", ask)]
    if earlier is not None:
        asked += [_message("assistant", earlier), _message("user", "And then?")]
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": json.dumps(asked),
        "gen_ai.output.messages": json.dumps([_message("assistant", reply)]),
    }
    start = 1_700_000_000_000_000_000 + turn * 10**9
    span = {
        "traceId": trace,
        "spanId": f"{trace[:15]}{turn}",
        "name": "chat",
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + 10**6),
        "attributes": [{"key": k, "value": {"stringValue": v}} for k, v in attributes.items()],
    }
    return {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}


def _message(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


# -- faults


class Stumble(Exception):
    """The failure that a soak throws into a night."""


@contextmanager
def stumbling(rng: random.Random) -> Iterator[str]:
    """Make one of `STUMBLES` fail once within the block; gives its name."""
    name = rng.choice(STUMBLES)
    place, _, function = name.rpartition(".")
    owner = resolve_name(place)
    original = getattr(owner, function)
    call = rng.randint(1, 3)

    def strike() -> None:
        raise Stumble(name)

    armed.arm(armed.Moment(place, function, call, rng.choice(("before", "after"))), strike)
    try:
        yield function
    finally:
        setattr(owner, function, original)


def run_killed(parameters: dict[str, Any], moment: str, folder: Path) -> None:
    """Run the night in a process that is killed at a moment, if the night gets that far."""
    order = folder / "order.json"
    order.write_text(json.dumps({"flow": "nightly", "blows": [[moment, None]]}))
    code = (
        "import asyncio, json, sys, warnings\n"
        "warnings.simplefilter('ignore')\n"
        "from benchmarks.armed import nightly\n"
        "asyncio.run(nightly(**json.loads(sys.argv[1])))"
    )
    from prefect.settings import PREFECT_API_URL

    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "RECOVERY_ORDER": str(order),
        "PREFECT_API_URL": str(PREFECT_API_URL.value()),
        "PREFECT_LOGGING_LEVEL": "CRITICAL",
    }
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(parameters)],
        env=environment,
        check=False,
        capture_output=True,
        timeout=180,
    )
    if order.exists():  # the night had less to do than the moment needs, or a fault came first
        order.unlink()
    elif done.returncode != -signal.SIGKILL:
        raise SystemExit(f"killed at {moment!r}, yet it ended with {done.stderr.decode()}")


# -- measures


@dataclass
class Series:
    """What was measured after each night, by name."""

    values: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def add(self, home: Path, gate_pid: int, prefect_home: Path, traffic: Traffic) -> None:
        """Measure this process, the gate and what lies on disk."""
        now: dict[str, float] = {"data": traffic.written / 1024}
        # What is freed but not given back is no leak: untrimmed, it grows by 280 KiB a night.
        ctypes.CDLL(None).malloc_trim(0)
        for name, pid in (("own", os.getpid()), ("gate", gate_pid)):
            now[f"{name} open files"] = len(list(Path(f"/proc/{pid}/fd").iterdir()))
            now[f"{name} threads"] = len(list(Path(f"/proc/{pid}/task").iterdir()))
            now[f"{name} memory"] = _resident(pid)
        now["ledger"] = _used(home / "ledger.db")
        now["gate database"] = sum(map(_used, (home / "gate").glob("*.db")))
        now["prefect database"] = _used(prefect_home / "prefect.db")
        now["store"] = _size(home / "store", "**/*")
        now["blobs"] = _size(home / "gate" / "blobs", "**/*")
        for name, value in now.items():
            self.values[name].append(value)

    def slope(self, name: str, start: float, end: float = 1.0) -> float:
        """Return the growth per night over a part of the nights (by robust halves: medians)."""
        values = self.values[name][int(start * len(self.values[name])) :]
        values = values[: max(2, int((end - start) / (1 - start) * len(values)))]
        slopes = [
            (later - earlier) / (there - here)
            for here, earlier in enumerate(values)
            for there, later in enumerate(values)
            if there - here >= max(1, len(values) // 4)
        ]
        return sorted(slopes)[len(slopes) // 2]


def _resident(pid: int) -> float:
    """Resident memory in KiB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return float(line.split()[1])
    return 0.0


def _used(database: Path) -> float:
    """Size in KiB of what an SQLite database holds, free pages aside."""
    if not database.exists():  # kept in memory, or elsewhere
        return 0.0
    with closing(sqlite3.connect(database, timeout=30)) as connection:
        asked = ("page_count", "freelist_count", "page_size")
        pages, free, size = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in asked)
    return float((pages - free) * size / 1024)


def _size(folder: Path, pattern: str) -> float:
    """Size of files in KiB."""
    total = 0
    for path in folder.glob(pattern):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except FileNotFoundError:
            continue
    return total / 1024


# -- the soak


@dataclass
class Report:
    """What came of a soak: `wrong` is empty when all is well."""

    faults: Counter[str] = field(default_factory=Counter)
    account: Counter[str] = field(default_factory=Counter)
    datasets: int = 0
    wrong: list[str] = field(default_factory=list)
    series: Series = field(default_factory=Series)


def soak(folder: Path, *, nights: int, seed: int, say: Callable[[str], None] = print) -> Report:
    """Run the nights against a gate of its own; a Prefect API must be there."""
    rng = random.Random(seed)
    inbox = folder / "in"
    inbox.mkdir(parents=True)
    traffic = Traffic(inbox, random.Random(seed + 1), nights)
    report = Report()
    home = folder / "home"
    prefect_home = Path(os.environ.get("PREFECT_HOME", folder))
    with flaky.gate(home, folder, seed=seed) as gate, _environment(home, gate):
        for number in range(nights):
            began = time.monotonic()
            traffic.write(number)
            calm = number >= nights // 2  # the gate's memory is measured while it lives
            _night(number, traffic, gate, rng, report, calm=calm, folder=folder)
            report.series.add(home, gate.pid, prefect_home, traffic)
            if number % 10 == 0:
                say(f"night {number}: {time.monotonic() - began:.1f} s, {_now(report.series)}")
        gate.set_faults(0.0)
        _check_accounts(home, report)
        _check_records(home, traffic, report)
    return report


def _night(
    number: int,
    traffic: Traffic,
    gate: flaky.Gate,
    rng: random.Random,
    report: Report,
    *,
    calm: bool,
    folder: Path,
) -> None:
    """Run one night with its faults, again and again until it ends well."""
    from flows.nightly import nightly
    from whileai_core.errors import BadShareExceeded, PlatformError

    parameters = {
        "paths": [str(traffic.folder)],
        "agent": AGENT,
        "night": (FIRST_NIGHT + timedelta(days=number)).isoformat(),
        "max_bad_share": 0.4,
    }
    garbage = traffic.write_garbage(number) if rng.random() < 0.03 else None
    gate.set_faults(rng.choice((0.0, 0.05, 0.15)))
    what = rng.choices(
        ("calm", "stumble", "killed", "gate away", "gate killed"), (60, 20, 8, 4, 0 if calm else 4)
    )[0]
    report.faults[what] += 1
    if what == "killed":
        run_killed(parameters, rng.choice(list(armed.NIGHTLY)), folder)
    if what == "gate away":
        gate.set_faults(1.0)
    for _ in range(TRIES):
        try:
            with _disturbed(what, gate, rng):
                asyncio.run(nightly(**parameters))
            return
        except BadShareExceeded:
            report.faults["bad night"] += 1
            if garbage is None:
                raise
            garbage.unlink()
            garbage = None
        except (Stumble, PlatformError) as error:
            report.faults[type(error).__name__] += 1
        gate.set_faults(0.05)
        what = "calm"
    raise SystemExit(f"night {number} does not end well in {TRIES} tries")


@contextmanager
def _disturbed(what: str, gate: flaky.Gate, rng: random.Random) -> Iterator[None]:
    """Disturb the night within the block in that way."""
    if what == "stumble":
        with stumbling(rng):
            yield
        return
    if what == "gate killed":
        _kill_gate_once(gate, rng)
    yield


def _kill_gate_once(gate: flaky.Gate, rng: random.Random) -> None:
    place, name = "whileai_core.platform.transport:Transport", rng.choice(("post", "upload"))
    owner = resolve_name(place)
    original = getattr(owner, name)

    def strike() -> None:
        setattr(owner, name, original)
        os.kill(gate.pid, signal.SIGKILL)

    armed.arm(armed.Moment(place, name, 1, rng.choice(("before", "after"))), strike)


def _check_accounts(home: Path, report: Report) -> None:
    """Every night's account adds up, and what it says was pushed was."""
    with closing(sqlite3.connect(home / "ledger.db")) as ledger:
        states = ledger.execute("SELECT state, result FROM nights ORDER BY number").fetchall()
    for state, text in states:
        result = json.loads(text)
        account = result["account"]
        night = result["night"]
        places = ("rows", "duplicates", "quarantined", "ignored")
        if state != "done" or account["records"] != sum(account[name] for name in places):
            report.wrong.append(f"{night}: the account does not add up: {account}")
        if account["rows"] != account["train"] + account["holdout"] + account["leaky"]:
            report.wrong.append(f"{night}: rows are not train + holdout + leaky")
        if sum(entry["rows"] for entry in result["datasets"]) != account["rows"] - account["leaky"]:
            report.wrong.append(f"{night}: other rows were pushed than were made")
        kept = ("records", *places, "revisions", "leaky", "spans", "spans_repeated")
        report.account.update({name: account[name] for name in kept})
        report.account["nights"] += 1


def _check_records(home: Path, traffic: Traffic, report: Report) -> None:
    """Every planted record is in exactly one dataset or in quarantine."""
    from whileai_core import sync

    listing = sync.datasets()["datasets"]
    report.datasets = len(listing)
    seen: dict[str, list[tuple[int, str]]] = defaultdict(list)
    sides: dict[str, set[str]] = defaultdict(set)
    parents = [entry["parentDatasetId"] for entry in listing if entry["purpose"] == "train"]
    if len(set(parents)) != len(parents):
        report.wrong.append("two training sets have one parent")
    for entry in listing:
        if entry["status"] != "ready":
            report.wrong.append(f"{entry['name']} is {entry['status']}")
            continue
        for row in sync.pull(entry["datasetId"]):
            mark = MARK.search(str(row["prompt"]))
            if mark is None:
                report.wrong.append(f"{entry['name']} holds a row nobody planted")
                continue
            seen[mark[0]].append((row.get("revision", 1), json.dumps(row)))
            sides[mark[0]].add(entry["purpose"])
    kept = "".join(path.read_text("utf-8") for path in (home / "quarantine").rglob("*.jsonl"))
    quarantined = set(MARK.findall(kept))
    lost = traffic.rows - seen.keys()
    if len(lost) != report.account["leaky"]:
        report.wrong.append(f"{len(lost)} records are in no dataset: {sorted(lost)[:3]}")
    if traffic.broken - quarantined:
        report.wrong.append(f"not in quarantine: {sorted(traffic.broken - quarantined)[:3]}")
    if traffic.broken & seen.keys():
        report.wrong.append("an unreadable record is in a dataset")
    for mark, rows in seen.items():
        _check_revisions(mark, rows, sides[mark], traffic.late.get(mark), report)


def _check_revisions(
    mark: str, rows: list[tuple[int, str]], sides: set[str], late: str | None, report: Report
) -> None:
    """One row, or the revisions of one, all on one side, the last with everything in it."""
    revisions = sorted(revision for revision, _ in rows)
    if revisions != list(range(1, len(rows) + 1)) or len(sides) != 1:
        report.wrong.append(f"{mark}: revisions {revisions} on {sorted(sides)}")
    if late is not None and late not in max(rows)[1]:
        report.wrong.append(f"{mark}: its last revision lacks the late span")


# What may grow, per night, over the second half; memory in KiB.
CEILINGS = {
    "own open files": 0.05,
    "gate open files": 0.05,
    "own threads": 0.05,
    "gate threads": 0.05,
    "own memory": 150.0,  # of a process that runs hundreds of nights; a worker starts one a run
    "gate memory": 100.0,
}
# What grows with the data: as fast in the second half as in the first, give or take.
WITH_THE_DATA = ("ledger", "gate database", "prefect database", "store", "blobs")
TOLERANCE = 1.35


def growth(series: Series) -> list[str]:
    """Return what grew beyond the data."""
    wrong = []
    for name, ceiling in CEILINGS.items():
        slope = series.slope(name, 0.5)
        if slope > ceiling:
            wrong.append(f"{name} grow by {slope:.2f} a night")
    data = series.slope("data", 0.05, 0.5), series.slope("data", 0.5)
    for name in WITH_THE_DATA:
        early, late = series.slope(name, 0.05, 0.5) / data[0], series.slope(name, 0.5) / data[1]
        if late > early * TOLERANCE + 0.05:
            wrong.append(f"{name}: {late:.2f} bytes per byte of data, {early:.2f} before")
    return wrong


def _now(series: Series) -> str:
    shown = ("own open files", "own threads", "own memory", "gate open files", "gate memory")
    return ", ".join(f"{name} {series.values[name][-1]:.0f}" for name in shown)


@contextmanager
def _environment(home: Path, gate: flaky.Gate) -> Iterator[None]:
    values = {"WHILEAI_HOME": str(home), "WHILEAI_API_URL": gate.url, "WHILEAI_API_KEY": gate.key}
    earlier = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            yield
    finally:
        for name, value in earlier.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def main() -> None:
    """Soak, print the account of it, and exit with 1 when anything is wrong."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--nights", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path)
    options = parser.parse_args()
    folder = options.keep or Path(tempfile.mkdtemp())
    os.environ["PREFECT_HOME"] = str(folder / "prefect")
    os.environ.pop("PREFECT_API_URL", None)
    (folder / "prefect").mkdir(parents=True)
    from flows._server import prefect_api

    for name in ("prefect", "whileai_core"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    with prefect_api():
        report = soak(
            folder,
            nights=options.nights,
            seed=options.seed,
            say=lambda line: print(line, flush=True),
        )
    wrong = [*report.wrong, *growth(report.series)]
    print("faults   ", dict(report.faults))
    print("account  ", dict(report.account))
    print("datasets ", report.datasets)
    for name in report.series.values:
        values = report.series.values[name]
        print(
            f"{name:18} {values[0]:10.0f} -> {values[-1]:10.0f}, a night: "
            f"{report.series.slope(name, 0.05, 0.5):8.2f} early, "
            f"{report.series.slope(name, 0.5):8.2f} late"
        )
    for line in wrong:
        print("WRONG:", line)
    print("all is well" if not wrong else f"{len(wrong)} things are wrong")
    if options.keep is None:
        shutil.rmtree(folder)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
