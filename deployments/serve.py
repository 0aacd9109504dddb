"""Everything on one machine: a Prefect server, the gate and a worker, with the flows registered."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass

from deployments.supervisor import Program, Supervisor, say
from flows import _prefect_defaults
from whileai_core.settings import get_settings

_POOL = "local"
_WORKER = "serve"
_LEFTOVERS = f"""
from whileai_core.cli.source_root import load_module
load_module("deployments.leftovers").main({_POOL!r}, {_WORKER!r})
"""
_UNLESS_SET = {
    "PREFECT_WORKER_QUERY_SECONDS": "5",  # so that a run starts soon after it is due
    "PREFECT_SERVER_SERVICES_DB_VACUUM_ENABLED": "events,flow_runs",  # those of 90 days ago
    "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
}


@dataclass(frozen=True)
class Addresses:
    """Where people and exporters reach the two servers."""

    host: str
    prefect_port: int
    gate_port: int

    @property
    def prefect(self) -> str:
        """URL of Prefect's UI."""
        return f"http://{_in_url(self.host)}:{self.prefect_port}"

    @property
    def gate(self) -> str:
        """URL of the gate and its pages."""
        return f"http://{_in_url(self.host)}:{self.gate_port}"


def serve(addresses: Addresses) -> None:
    """Run server, gate and worker until SIGINT or SIGTERM, restarting what dies.

    Raises:
        StoreError: One of them does not start, or the flows cannot be registered.
    """
    _prefect_defaults.apply()
    logs = get_settings().home / "logs"
    prefect = [sys.executable, "-m", "prefect", "--no-prompt"]
    ours = [sys.executable, "-m", "whileai_core.cli"]
    at = ["--host", addresses.host, "--port"]
    server = Program(
        "the Prefect server",
        [*prefect, "server", "start", *at, str(addresses.prefect_port)],
        logs / "prefect.log",
        health=f"{addresses.prefect}/api/health",
    )
    gate = Program(
        "the gate",
        [*ours, "gate", "serve", *at, str(addresses.gate_port)],
        logs / "gate.log",
        health=f"{addresses.gate}/healthz",
    )
    worker = Program(
        "the worker",
        [*prefect, "worker", "start", "--pool", _POOL, "--type", "process", "--name", _WORKER],
        logs / "worker.log",
    )
    supervisor = Supervisor(_environment(addresses))
    with supervisor.running():
        say("starting; the first time takes half a minute")
        supervisor.start(server)
        supervisor.start(gate)
        supervisor.run([*ours, "deploy"], "registering the flows")
        supervisor.run([sys.executable, "-c", _LEFTOVERS], "ending what an earlier stop left")
        supervisor.start(worker)
        say(f"runs      {addresses.prefect}")
        say(f"datasets  {addresses.gate}")
        say("          (sign in with a key: whileai-pipelines gate key create local)")
        say(f"logs      {logs}")
        say(
            f"a night every night: PREFECT_API_URL={addresses.prefect}/api "
            "whileai-pipelines deploy PATH... --agent NAME"
        )
        supervisor.watch()
        say("stopping")


def _environment(addresses: Addresses) -> dict[str, str]:
    """What the programs see: this machine's server, and where its datasets have pages."""
    environment = _UNLESS_SET | os.environ
    # The console level that suits a prompt would leave a service's logs empty.
    environment.pop("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", None)
    return environment | {
        "PREFECT_API_URL": f"{addresses.prefect}/api",
        "WHILEAI_PAGES_URL": addresses.gate,
        "WHILEAI_RUNS_URL": f"{addresses.prefect}/v2/runs",
    }


def _in_url(host: str) -> str:
    """Spell a host as it stands in a URL; an address of all interfaces becomes the loopback."""
    if host in ("", "0.0.0.0", "::"):  # noqa: S104  compared, not listened on
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host
