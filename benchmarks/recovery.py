"""SIGKILL of each program at each moment of a run, and what is left when it has run again.

    python -m benchmarks.recovery [--flow hill-climb] [--victims flow gate …] [--moments 0 4 …]

A Prefect server, a worker and a gate run as they do in production, and a deployment of the flow.
Per case: a run is begun, the victim is killed at the moment, started again, and where the run did
not end well, the deployment is run once more, which is the one command a person would give. The
machine is all of them at once. What
the platform and the home folder hold then must equal an undisturbed run. Linux only.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from benchmarks import armed

ROOT = Path(__file__).parents[1]
VICTIMS = ("flow", "worker", "gate", "server", "machine")
PROGRAMS = ("server", "gate", "worker")
MACHINE = {"machine": (*PROGRAMS, "flow")}  # a power cut
ENDED = {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}
PATIENCE = 120.0  # seconds for anything to happen
DOWN = 1.0  # seconds a killed program stays away
_POOL = "recovery"
_LISTENER = "listener"
_SCORED_BY = "scoring_run_id"
_SPEED = {
    "PREFECT_WORKER_QUERY_SECONDS": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "DO_NOT_TRACK": "1",
}


@dataclass(frozen=True)
class Scenario:
    """A flow to disturb.

    Attributes:
        flow: Its name in `benchmarks.armed`, which has the moments.
        prepare: Writes the inputs into a folder and returns the run's parameters.
        announces: Whether it announces its datasets.
        environment: What the run needs beside home and platform.
    """

    flow: str
    prepare: Callable[[Path], dict[str, Any]]
    announces: bool = True
    environment: dict[str, str] = field(default_factory=dict)


def _nightly(folder: Path) -> dict[str, Any]:
    """Two files that share rows, and a line that cannot be read."""
    source = folder / "in"
    source.mkdir()
    for name, numbers in (("a", range(25)), ("b", range(20, 40))):
        rows = [
            {"prompt": f"Ask {n * 7919} about {n}", "final_text": f"Answer {n}", "reward": n % 2}
            for n in numbers
        ]
        lines = [json.dumps(row) + "\n" for row in rows]
        (source / f"{name}.jsonl").write_text("".join(lines) + "broken\n", encoding="utf-8")
    return {
        "paths": [str(source)],
        "agent": "support",
        "night": "2026-11-28",
        "max_bad_share": 0.1,
    }


def _hill_climb(_folder: Path) -> dict[str, Any]:
    """The demo: an agent with a flaw, which is found, aimed at and mended; no model is asked."""
    demo = "whileai_core.simulation.demo"
    return {
        "name": "shop",
        "agent": f"{demo}:flawed_agent",
        "tools": f"{demo}:TOOLS",
        "improver": f"{demo}:improver",
        "budget": 64,
        "holdout_tasks": 12,
    }


SCENARIOS = {
    "nightly": Scenario("nightly", _nightly),
    "hill-climb": Scenario("hill-climb", _hill_climb, announces=False),
}


class Stage:
    """Server, gate and worker on this machine, each in a session of its own.

    Args:
        folder: Where they keep everything. Made, and not taken over: programs that outlived an
            earlier stage would share its databases and take its runs.
        programs: Which of them are needed, in the order of their start.
    """

    def __init__(
        self, folder: Path, programs: Sequence[str] = ("server", "gate", "worker")
    ) -> None:
        self.folder = folder
        self._programs = programs
        self.ports = {"server": _free_port(), "gate": _free_port()}
        self.api = f"http://127.0.0.1:{self.ports['server']}/api"
        self.gate = f"http://127.0.0.1:{self.ports['gate']}"
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        folder.mkdir(parents=True)
        import flows  # noqa: F401 - sets Prefect up as a served installation does

        self._environment = {
            **os.environ,
            **_SPEED,
            "PYTHONPATH": str(ROOT),
            "PREFECT_HOME": str(folder / "prefect"),
            "PREFECT_API_URL": self.api,
            "WHILEAI_HOME": str(folder / "served"),
        }

    def __enter__(self) -> Stage:
        try:
            for name in self._programs:
                self.start(name)
                if name == "server":
                    self._post("/work_pools/", {"name": _POOL, "type": "process"})
                    self._listen()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self._processes.values()):
            _end(process)

    def pid(self, name: str) -> int:
        """Return the process id of a program."""
        return self._processes[name].pid

    def start(self, name: str) -> None:
        """Start a program and wait until it answers."""
        prefect = [sys.executable, "-m", "prefect", "--no-prompt"]
        at = ["--host", "127.0.0.1", "--port"]
        ours = [sys.executable, "-m", "whileai_core.cli"]
        commands = {
            "server": [*prefect, "server", "start", *at, str(self.ports["server"]), "--no-ui"],
            "gate": [*ours, "gate", "serve", *at, str(self.ports["gate"])],
            "worker": [*prefect, "worker", "start", "--pool", _POOL, "--type", "process"],
        }
        with (self.folder / f"{name}.log").open("ab") as log:
            self._processes[name] = subprocess.Popen(
                commands[name],
                cwd=self.folder,
                env=self._environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        health = {"server": f"{self.api}/health", "gate": f"{self.gate}/healthz"}.get(name)
        if health:
            _wait(lambda: _answers(health), f"{name} to answer")

    def bring_back(self, name: str, moment: str) -> None:
        """Wait until a program has been killed, with what it had started, and start it again."""
        what = f"{name} to die at {moment!r}, see {self.folder}"
        _wait(lambda: self._processes[name].poll() is not None, what)
        if name == "server":
            _end(self._processes[name])
        time.sleep(DOWN)
        self.start(name)

    def account(self, name: str) -> str:
        """Make an account on the gate and return its key."""
        from whileai_core.gate.admin import create_key
        from whileai_core.gate.settings import GateSettings
        from whileai_core.settings import Settings

        settings = GateSettings.from_settings(Settings(home=self.folder / "served"))
        return asyncio.run(create_key(name, settings=settings))

    def deploy(self, flow: str) -> str:
        """Register the armed flow as a deployment like that of production; return its id."""
        made = self._post("/flows/", {"name": flow})
        known = httpx.get(f"{self.api}/deployments/name/{flow}/recovery", timeout=30)
        if known.is_success:
            return str(known.json()["id"])
        directory = "prefect.deployments.steps.set_working_directory"
        body = {
            "name": "recovery",
            "flow_id": made["id"],
            "entrypoint": f"benchmarks/armed.py:{flow.replace('-', '_')}",
            "pull_steps": [{directory: {"directory": str(ROOT)}}],
            "work_pool_name": _POOL,
            "concurrency_limit": 1,
            "concurrency_options": {"collision_strategy": "CANCEL_NEW"},
            "enforce_parameter_schema": False,
        }
        return str(self._post("/deployments/", body)["id"])

    def begin(self, deployment: str, parameters: dict[str, Any], env: dict[str, str]) -> str:
        """Begin a run; this is what `prefect deployment run` does."""
        body = {"parameters": parameters, "job_variables": {"env": env}}
        return str(self._post(f"/deployments/{deployment}/create_flow_run", body)["id"])

    def declare_dead(self, run: str) -> None:
        """Set a run whose process is gone to Crashed."""
        state = {"state": {"type": "CRASHED"}, "force": True}
        self._post(f"/flow_runs/{run}/set_state", state)

    def run_state(self, run: str) -> dict[str, Any]:
        """Return the state of a run."""
        while True:
            with suppress(httpx.TransportError):
                reply = httpx.get(f"{self.api}/flow_runs/{run}", timeout=30)
                if reply.is_success:
                    return dict(reply.json()["state"])
            time.sleep(0.5)

    def announced(self, wanted: set[str]) -> set[str]:
        """Return which of these datasets set off a run, as publishing would be."""
        query = {"deployments": {"name": {"any_": [_LISTENER]}}, "limit": 200}
        found: set[str] = set()
        for _ in range(40):
            runs: Any = self._post("/flow_runs/filter", query)
            found = wanted & {run["parameters"].get("dataset_id") for run in runs}
            if found == wanted:
                break
            time.sleep(0.2)
        return found

    def _listen(self) -> None:
        """Have every announced dataset set off a run, which nobody carries out."""
        flow = self._post("/flows/", {"name": _LISTENER})
        body = {"name": _LISTENER, "flow_id": flow["id"], "enforce_parameter_schema": False}
        deployment = self._post("/deployments/", body)
        trigger = {
            "type": "event",
            "posture": "Reactive",
            "expect": ["whileai.dataset.pushed"],
            "for_each": ["prefect.resource.id"],
            "threshold": 1,
            "within": 0,
        }
        action = {
            "type": "run-deployment",
            "deployment_id": deployment["id"],
            "parameters": {"dataset_id": "{{ event.payload.dataset_id }}"},
        }
        self._post("/automations/", {"name": _LISTENER, "trigger": trigger, "actions": [action]})

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        for _ in range(10):
            reply = httpx.post(f"{self.api}{path}", json=body, timeout=30)
            if reply.status_code != 503:  # SQLite is busy; Prefect's own client waits like this
                break
            time.sleep(1)
        if reply.is_error:
            raise SystemExit(f"{path}: {reply.status_code} {reply.text}")
        answer: dict[str, Any] = reply.json()
        return answer


@dataclass(frozen=True)
class Outcome:
    """What came of a case.

    Attributes:
        state: What platform and home hold in the end, comparable between cases.
        first: How the disturbed run ended; `STUCK` when its process is gone and nobody said so.
        commands: How many more runs it took.
        left: Files that should not be there.
    """

    state: Any
    first: str
    commands: int
    left: list[str]


def run_case(
    stage: Stage, scenario: Scenario, folder: Path, blows: Sequence[tuple[str, str]] = ()
) -> Outcome:
    """Run one case in a folder of its own.

    Args:
        stage: Where it runs.
        scenario: What runs.
        folder: Made for the case.
        blows: (victim, moment) in the order of the moments; none is the undisturbed run.
    """
    folder.mkdir(parents=True)
    key = stage.account(folder.name)
    order = folder / "order.json"
    env = {
        "WHILEAI_HOME": str(folder / "home"),
        "WHILEAI_API_URL": stage.gate,
        "WHILEAI_API_KEY": key,
        "RECOVERY_ORDER": str(order),
        **scenario.environment,
    }
    parameters = scenario.prepare(folder)
    deployment = stage.deploy(scenario.flow)
    if blows:
        dealt = [[moment, None if name == "flow" else stage.pid(name)] for name, moment in blows]
        order.write_text(json.dumps({"flow": scenario.flow, "blows": dealt}))
    run = stage.begin(deployment, parameters, env)
    for name, moment in blows:
        if name != "flow":
            stage.bring_back(name, moment)
    _wait(lambda: not order.exists(), f"all of {blows}")
    first = last = _wait_for_end(stage, run, folder)
    if last == "STUCK":  # after nine minutes an automation of `deploy` does this
        stage.declare_dead(run)
    commands = 0
    while last != "COMPLETED":
        if commands == 3:
            raise SystemExit(f"{blows}: runs end with {last}, see {stage.folder}")
        commands += 1
        last = _wait_for_end(stage, stage.begin(deployment, parameters, env), folder)
    state = held(stage, folder, key, announced=scenario.announces)
    return Outcome(state, first, commands, left(folder))


def _wait_for_end(stage: Stage, run: str, folder: Path) -> str:
    """Wait for a run's last state; a run whose process is gone gets half a minute to say so."""
    told = folder / "order.pid"
    gone_since: float | None = None
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        state = stage.run_state(run)["type"]
        if state in ENDED:
            told.unlink(missing_ok=True)
            return str(state)
        if told.exists() and not _lives(int(told.read_text() or "0")):
            gone_since = gone_since or time.monotonic()
            if time.monotonic() - gone_since > 20:
                told.unlink(missing_ok=True)
                return "STUCK"
        time.sleep(0.2)
    raise SystemExit(f"run {run} does not end, see {stage.folder}")


def held(stage: Stage, folder: Path, key: str, *, announced: bool = True) -> dict[str, Any]:
    """Describe what the account and the home folder hold; ids and times aside."""
    from whileai_core import sync

    with _environment(WHILEAI_API_URL=stage.gate, WHILEAI_HOME=str(folder / "home")):
        listing = sync.datasets(api_key=key)["datasets"]
        names = {entry["datasetId"]: entry["name"] for entry in listing}
        datasets = sorted(
            (
                entry["name"],
                str(entry["purpose"]),
                entry["status"],
                names.get(entry["parentDatasetId"] or ""),
                [_timeless(row) for row in sync.pull(entry["datasetId"], api_key=key)],
            )
            for entry in listing
        )
    quarantine = [
        (Path(entry["source"]).name, entry["position"], entry["reason"], entry["raw"])
        for path in sorted((folder / "home" / "quarantine").rglob("*.jsonl"))
        for entry in map(json.loads, path.read_text("utf-8").splitlines())
    ]
    state: dict[str, Any] = {"datasets": datasets, "quarantine": quarantine}
    if announced:
        state["announced"] = sorted(names[identity] for identity in stage.announced(set(names)))
    return state


def _timeless(row: dict[str, Any]) -> str:
    """Return a row as text, without when it was made and by which run it was graded."""
    lineage = {key: row["lineage"][key] for key in row.get("lineage", ()) if key != _SCORED_BY}
    return json.dumps({**row, "ts": None, "lineage": lineage}, sort_keys=True)


def _difference(expected: Outcome, found: Outcome) -> str:
    parts = [part for part in expected.state if expected.state[part] != found.state[part]]
    return ", ".join([*parts, *found.left])


def left(folder: Path) -> list[str]:
    """List what a finished run must not leave behind."""
    home = folder / "home"
    found = [*home.rglob("*.tmp"), *(home / "work").glob("*"), *(home / "pushes").glob("*")]
    return [str(path.relative_to(home)) for path in found]


@contextmanager
def _environment(**values: str) -> Iterator[None]:
    earlier = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in earlier.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _end(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _lives(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


def _answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=5).is_success
    except httpx.HTTPError:
        return False


def _wait(ready: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not ready():
        if time.monotonic() > deadline:
            raise SystemExit(f"waited {PATIENCE:.0f} s for {what}")
        time.sleep(0.1)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main() -> None:
    """Run the matrix and print a line per case."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--flow", choices=list(SCENARIOS), default="nightly")
    parser.add_argument("--victims", nargs="+", choices=VICTIMS, default=list(VICTIMS))
    parser.add_argument("--moments", nargs="+", type=int, default=range(10), help="by number")
    parser.add_argument("--keep", type=Path, help="new folder, to keep logs and homes in")
    options = parser.parse_args()
    if options.keep and options.keep.exists():
        parser.error(f"{options.keep} is there already; name a new folder")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("told to stop"))  # ends the programs too
    scenario = SCENARIOS[options.flow]
    every = list(armed.MOMENTS[scenario.flow])
    moments = [every[number] for number in options.moments]
    root = options.keep or Path(tempfile.mkdtemp())
    wrong = 0
    with Stage(root / "stage") as stage:
        expected = run_case(stage, scenario, root / "undisturbed")
        print(f"undisturbed: {len(expected.state['datasets'])} datasets", flush=True)
        for victim in options.victims:
            for number, moment in zip(options.moments, moments, strict=True):
                blows = [(name, moment) for name in MACHINE.get(victim, (victim,))]
                found = run_case(stage, scenario, root / f"{victim}-{number}", blows)
                same = found.state == expected.state and not found.left
                wrong += not same
                how = "by itself" if not found.commands else f"{found.commands} more run(s)"
                verdict = "equal" if same else f"DIFFERENT: {_difference(expected, found)}"
                print(f"{victim:8} {moment:32} {found.first:10} {how:14} {verdict}", flush=True)
    cases = len(options.victims) * len(moments)
    print(f"{cases - wrong} of {cases} equal an undisturbed run")
    if options.keep is None:
        shutil.rmtree(root)
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
