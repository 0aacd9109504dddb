"""`hf …`: Hugging Face at the prompt, through the platform or straight."""

from __future__ import annotations

import getpass
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whileai_core.cli import arguments
from whileai_core.cli.output import FAILED, checked_output, emit
from whileai_core.errors import InputError, NotAuthenticated
from whileai_core.sources.discovery import shown

if TYPE_CHECKING:
    import argparse

    from whileai_core.hub.client import Hub

JOB_KEPT = "what was begun may go on as a job; run the same command again to wait for it"
_DIRECT = "directly, with your own token; the platform is not asked"


def add_commands(commands: Any) -> None:
    """Add this module's commands."""
    parser = commands.add_parser("hf", help="Hugging Face: connect, publish, import")
    parts = parser.add_subparsers(dest="hf_command", metavar="COMMAND", required=True)

    connect = parts.add_parser(
        "connect",
        help="keep a token for the gate on this machine",
        description="Ask for a Hugging Face token (or read it from standard input), check it, and "
        "keep it in WHILEAI_HOME, readable by you only. HF_TOKEN, where set, comes first.",
    )
    connect.add_argument("--forget", action="store_true", help="delete the stored token instead")
    arguments.add_json(connect)
    connect.set_defaults(run=_connect)

    status = parts.add_parser("status", help="which account the platform is connected to")
    arguments.add_json(status)
    status.set_defaults(run=_status)

    push = parts.add_parser(
        "push",
        help="publish a file of traces or rows straight to a repository",
        description=f"Read FILE (any supported format) and publish its rows as a split of REPO, "
        f"{_DIRECT}.",
    )
    push.add_argument("file", metavar="FILE", help="traces or rows")
    push.add_argument("repo", metavar="REPO", help="namespace/name, or a name of your own")
    push.add_argument("--split", default="train", help="split to write (%(default)s)")
    add_visibility(push)
    push.add_argument("--agent", type=arguments.agent, help="agent the rows come from")
    push.add_argument("--description", help="a sentence about them")
    arguments.add_json(push)
    push.set_defaults(
        run=_push, kept="a commit is made whole or not at all; run the same command again"
    )

    publish = parts.add_parser("publish", help="publish a dataset of the platform")
    publish.add_argument("dataset_id", metavar="ID", help="dataset id, as `datasets` lists it")
    add_target(publish)
    add_visibility(publish)
    publish.set_defaults(run=_publish, kept=JOB_KEPT)

    take = parts.add_parser(
        "import",
        help="import a split of a repository as a dataset, or into a file",
        description=f"Import REPO as a dataset of the platform, or with --out into a file, "
        f"{_DIRECT}.",
    )
    take.add_argument("repo", metavar="REPO", help="namespace/name")
    take.add_argument("--split", default="train", help="split to read (%(default)s)")
    take.add_argument("--config", help="configuration, where there are several")
    take.add_argument("--revision", help="branch, tag or commit")
    take.add_argument(
        "--max-rows", type=arguments.count, default=100_000, help="rows at most (%(default)s)"
    )
    take.add_argument("--name", help="name of the dataset (default: the repository's)")
    take.add_argument(
        "--purpose", choices=["train", "holdout", "eval"], default="train", help="what it is for"
    )
    take.add_argument("--agent", type=arguments.agent, help="agent the rows belong to")
    take.add_argument("--out", metavar="FILE", help="write the rows here (JSONL)")
    arguments.add_json(take)
    take.set_defaults(run=_import, kept=JOB_KEPT)


def add_target(parser: argparse.ArgumentParser) -> None:
    """Give a command the options of where and how long."""
    parser.add_argument("--namespace", help="user or organisation (default: the connected user)")
    parser.add_argument("--repo", help="repository (default: the one it or its parent has)")
    parser.add_argument("--no-wait", action="store_true", help="do not wait until it is there")
    arguments.add_json(parser)


def add_visibility(parser: argparse.ArgumentParser) -> None:
    """Give a command the choice of who sees the repository: what comes of traces is private."""
    choice = parser.add_mutually_exclusive_group()
    choice.add_argument("--public", action="store_true", help="let everybody see it")
    choice.add_argument(
        "--private", action="store_true", help="the repository must be private (the default)"
    )


def _connect(args: argparse.Namespace) -> None:
    from whileai_core.hub import account

    if args.forget:
        there = account.forget()
        text = "the stored token is deleted" if there else "there was no stored token"
        emit({"connected": False, "forgotten": there}, text, as_json=args.json)
        return
    token = account.checked_token(
        getpass.getpass("Hugging Face token: ") if sys.stdin.isatty() else sys.stdin.readline()
    )
    with account.handed_over(token):
        me = _hub().me()
    path = account.store(token)
    writable = ", ".join(sorted(me.writable)) or "nothing: give the token write access"
    emit(
        {"connected": True, "username": me.name, "namespaces": me.namespaces, "scopes": me.scopes},
        f"connected as {me.name}, may write to {writable}; kept in {path}",
        as_json=args.json,
    )


def _status(args: argparse.Namespace) -> int | None:
    from whileai_core import sync

    status = sync.hf_status()
    if status.get("connected"):
        text = f"connected as {status['username']}: {', '.join(status['namespaces'])}"
    else:
        why = (
            status.get("error") or "no account; set HF_TOKEN or run `whileai-pipelines hf connect`"
        )
        text = f"not connected: {why}"
    emit(status, text, as_json=args.json)
    return None if status.get("connected") else FAILED


def _push(args: argparse.Namespace) -> None:
    from whileai_core import jsonio
    from whileai_core.dialects.load import load_all
    from whileai_core.hub.publish import Publication, content_hash, publish
    from whileai_core.hub.targets import checked_names, full_name

    namespace, repo = checked_names(None, args.repo)
    if repo is None or not args.split.replace(".", "_").isidentifier():
        raise InputError("name a repository, and a split made of letters and digits")
    rows = load_all([args.file])
    if not rows:
        raise InputError(f"{args.file} holds no rows; nothing was published")
    texts = [jsonio.dumps_line(jsonio.strict(row)).decode().rstrip("\n") for row in rows]
    hub = _hub()
    publication = Publication(
        f"sha-{content_hash(texts)[:24]}",
        shown(Path(args.file).name),
        args.split,
        lambda: iter(texts),
        agent=args.agent,
        description=args.description,
    )
    repo_id = full_name(hub.me(), namespace, repo)
    made = publish(hub, publication, repo_id, private=not args.public)
    _show_published(vars(made) | {"rows": len(rows)}, args)


def _publish(args: argparse.Namespace) -> None:
    from whileai_core import sync

    hf = sync.hf_publish(
        args.dataset_id,
        namespace=args.namespace,
        repo=args.repo,
        private=not args.public,
        wait=not args.no_wait,
    )
    _show_published(hf, args)


def _show_published(hf: dict[str, Any], args: argparse.Namespace) -> None:
    emit(hf, published_text(hf, public=args.public), as_json=args.json)


def published_text(hf: dict[str, Any], *, public: bool) -> str:
    """Say where something is now and who sees it, or that it is on its way.

    Args:
        hf: What came of it.
        public: Whether it was asked to be public.
    """
    if "url" not in hf:
        return f"being published to {hf.get('repo')}; run the same command again to wait for it"
    new = "" if hf.get("new", True) else "; it was there already"
    text = f"{hf['url']} has it as commit {hf['commit'][:10]}, tag {hf['tag']}{new}"
    if "private" in hf:
        text += f"\nthe repository is {'private' if hf['private'] else 'public'}"
        if public and hf["private"]:
            text += " and stays so; to make it public, change its visibility on its settings page"
    return text


def _import(args: argparse.Namespace) -> None:
    if args.out is not None:
        _import_file(args)
        return
    from whileai_core import sync

    row = sync.import_hf(
        args.repo,
        split=args.split,
        config=args.config,
        revision=args.revision,
        max_rows=args.max_rows,
        name=args.name,
        purpose=args.purpose,
        agent=args.agent,
    )
    made = row["datasetId"]
    text = f"{made} has {row.get('rows')} rows of {args.repo}, split {args.split}\n"
    text += f"next: whileai-pipelines pull {made} --out {made}.jsonl"
    emit(row, text, as_json=args.json)


def _import_file(args: argparse.Namespace) -> None:
    from whileai_core.atomic import atomic_file
    from whileai_core.hub.importing import Wanted, import_rows

    wanted = Wanted(args.repo, args.split, args.config, args.revision, args.max_rows)
    with atomic_file(checked_output(args.out)) as file:
        done = import_rows(_hub(), wanted, file.write)
    left = f"; {done.rejected} records are no conversation, first {done.reason}"
    text = f"wrote {done.rows} rows to {args.out}{left if done.rejected else ''}"
    result = {"path": args.out, "rows": done.rows, "rejected": done.rejected}
    emit(result | {"commit": done.revision}, text, as_json=args.json)


def _hub() -> Hub:
    from whileai_core.hub.account import NOT_CONNECTED, find_account
    from whileai_core.hub.client import Hub

    account = find_account()
    if account is None:
        raise NotAuthenticated(NOT_CONNECTED)
    return Hub(account)
