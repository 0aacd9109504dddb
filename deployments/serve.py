"""Everything on one machine: a Prefect server, the gate and a worker, with the flows registered."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from deployments.supervisor import Program, Supervisor, say
from flows import _prefect_defaults
from whileai_core.errors import SettingsError
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
# A database somebody chose for the server; the second name is Prefect's older one.
_DATABASE = ("PREFECT_SERVER_DATABASE_CONNECTION_URL", "PREFECT_API_DATABASE_CONNECTION_URL")


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

    Prefect's data are under `WHILEAI_HOME`, whatever Prefect server or profile the environment
    names, unless it names a `PREFECT_HOME` or a database for a server.

    Raises:
        SettingsError: A port is taken.
        StoreError: One of them does not start, or the flows cannot be registered.
    """
    _check_ports(addresses)
    environment = environment_of(addresses)
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
    leftovers = [sys.executable, "-c", _LEFTOVERS]
    worker = Program(
        "the worker",
        [*prefect, "worker", "start", "--pool", _POOL, "--type", "process", "--name", _WORKER],
        logs / "worker.log",
        before=leftovers,
    )
    supervisor = Supervisor(environment)
    with _alone(get_settings().home), supervisor.running():
        say("starting; the first time takes half a minute")
        supervisor.start(server)
        supervisor.start(gate)
        supervisor.run([*ours, "deploy"], "registering the flows")
        supervisor.run(leftovers, "ending what an earlier stop left")
        supervisor.start(worker)
        supervisor.check()
        say(f"runs      {addresses.prefect}")
        say(f"datasets  {addresses.gate}")
        say("          (sign in with a key: whileai-pipelines gate key create local)")
        say(f"schedules {where_kept(environment)}")
        say(f"logs      {logs}")
        say(
            f"a night every night: PREFECT_API_URL={addresses.prefect}/api "
            "whileai-pipelines deploy PATH... --agent NAME"
        )
        supervisor.watch()
        say("stopping")


def environment_of(addresses: Addresses) -> dict[str, str]:
    """What the programs see: this machine's server, and where its datasets have pages."""
    environment = _UNLESS_SET | os.environ
    # The console level that suits a prompt would leave a service's logs empty.
    environment.pop("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", None)
    if not environment.get("PREFECT_HOME"):
        home = _prefect_defaults.own_home()
        environment.pop("PREFECT_PROFILE", None)  # of another Prefect
        environment["PREFECT_HOME"] = str(home)
        environment["PREFECT_PROFILES_PATH"] = str(home / "profiles.toml")
    return environment | {
        "WHILEAI_HOME": str(get_settings().home.absolute()),  # runs have another working folder
        "PREFECT_API_URL": f"{addresses.prefect}/api",
        "WHILEAI_PAGES_URL": addresses.gate,
        "WHILEAI_RUNS_URL": f"{addresses.prefect}/v2/runs",
    }


def where_kept(environment: Mapping[str, str]) -> str:
    """Say where the server keeps schedules, parameters and runs."""
    for name in _DATABASE:
        if environment.get(name):
            return f"in the database of {name}"  # a URL may hold a password
    home = environment["PREFECT_HOME"]
    own = str(get_settings().home.absolute() / "prefect")
    return home if home == own else f"{home} (as PREFECT_HOME says)"


@contextmanager
def _alone(home: Path) -> Iterator[None]:
    """Hold the home: a second set of servers over the same data would end the runs of the first."""
    home.mkdir(parents=True, exist_ok=True)
    with (home / "serve.lock").open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SettingsError(
                f"{home} is served already; stop that one, or name another home in WHILEAI_HOME"
            ) from None
        yield


def _check_ports(addresses: Addresses) -> None:
    """See that both servers can listen, before anything is started."""
    ports = {"--prefect-port": addresses.prefect_port, "--gate-port": addresses.gate_port}
    if len(set(ports.values())) < len(ports):
        raise SettingsError(
            f"port {addresses.gate_port} is for Prefect already; choose another with --gate-port"
        )
    for option, port in ports.items():
        if not port:
            raise SettingsError(f"{option} 0 would be any port; name one that people can find")
        try:
            kind = socket.SOCK_STREAM
            family, *_, address = socket.getaddrinfo(addresses.host, port, type=kind)[0]
            socket.create_server((str(address[0]), port), family=family).close()
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise SettingsError(
                    f"port {port} is taken; choose another with {option}"
                ) from error
            raise SettingsError(
                f"cannot listen on {addresses.host} port {port}: {error.strerror}; "
                f"choose others with --host and {option}"
            ) from error


def _in_url(host: str) -> str:
    """Spell a host as it stands in a URL; an address of all interfaces becomes the loopback."""
    if host in ("", "0.0.0.0", "::"):  # noqa: S104  compared, not listened on
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host
