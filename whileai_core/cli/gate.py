"""`gate serve`, `gate key create`, `gate session create`: the embedded platform as a server."""

from __future__ import annotations

import logging
import signal
from typing import TYPE_CHECKING, Any

from whileai_core.cli import arguments
from whileai_core.cli.output import emit

if TYPE_CHECKING:
    import argparse


def add_commands(commands: Any) -> None:
    """Add this module's commands."""
    gate = commands.add_parser("gate", help="run the embedded platform as a server, make keys")
    parts = gate.add_subparsers(dest="gate_command", metavar="COMMAND", required=True)

    serve = parts.add_parser("serve", help="serve the platform over HTTP until interrupted")
    serve.add_argument("--host", default="127.0.0.1", help="address to listen on (%(default)s)")
    serve.add_argument(
        "--port", type=arguments.port, default=8321, help="port to listen on (%(default)s)"
    )
    serve.set_defaults(run=_serve)

    key = parts.add_parser("key", help="account keys")
    key_parts = key.add_subparsers(dest="key_command", metavar="COMMAND", required=True)
    create = key_parts.add_parser(
        "create",
        help="make a key for an account; printed once, on the last line",
        description="Make a key for the account NAME, which is created if it is new. The account "
        "`local` is the one that runs without a server push to.",
    )
    create.add_argument("name", metavar="NAME", help="account the key belongs to")
    arguments.add_json(create)
    create.set_defaults(run=_create_key)

    session = parts.add_parser("session", help="session tokens")
    session_parts = session.add_subparsers(dest="session_command", metavar="COMMAND", required=True)
    begin = session_parts.add_parser(
        "create",
        help="make a session token for an account; printed once, on the last line",
        description="Make a session token for the account NAME, which is created if it is new. "
        "For 30 days it makes, refreshes and revokes delegated credentials; it is no key itself.",
    )
    begin.add_argument("name", metavar="NAME", help="account the token belongs to")
    arguments.add_json(begin)
    begin.set_defaults(run=_create_session)


def _serve(args: argparse.Namespace) -> None:
    from whileai_core.gate.server import serve

    logging.getLogger("whileai_core").setLevel(logging.INFO)  # a server tells what it does
    signal.signal(signal.SIGTERM, lambda *_: None)  # told to stop, it ends in order: exit code 0
    serve(args.host, args.port)


def _create_key(args: argparse.Namespace) -> None:
    import anyio

    from whileai_core.gate.admin import create_key

    key = anyio.run(create_key, args.name)
    text = f"A key for account {args.name}. It is shown once; keep it safe.\n{key}"
    emit({"account": args.name, "key": key}, text, as_json=args.json)


def _create_session(args: argparse.Namespace) -> None:
    import anyio

    from whileai_core.gate.admin import create_session

    token = anyio.run(create_session, args.name)
    text = f"A session token for account {args.name}. It is shown once; keep it safe.\n{token}"
    emit({"account": args.name, "token": token}, text, as_json=args.json)
