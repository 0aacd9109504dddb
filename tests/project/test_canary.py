"""Marked secrets in every place a secret can be, and afterwards nowhere else."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import gzip
import json
import re
import sqlite3
import subprocess
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, quote_plus, urlsplit

import httpx
import pytest
import zstandard

ROOT = Path(__file__).parents[2]
for folder in ("project", "hub", "simulation"):  # helpers that are programs, or of other folders
    sys.path.append(str(ROOT / "tests" / folder))

from canary_places import (  # noqa: E402
    GIVEN,
    IN_TRACES,
    Evidence,
    parrot,
    processes_watched,
    write_traces,
)
from canary_search import contents, leak  # noqa: E402
from chat_server import REPEAT, ChatServer  # noqa: E402
from local_hub import LocalHub  # noqa: E402
from postgres_kit import find_programs, running_cluster  # noqa: E402

pytestmark = pytest.mark.timeout(1200)  # the first test waits for all that is run
MARK = 'zp_0123/abc+"def&0123456789'


@pytest.mark.parametrize(
    "spelled",
    [
        MARK,
        f"x{MARK[:12]}",
        f"{MARK[-12:]}…",
        quote(MARK, safe=""),
        quote_plus(MARK),
        json.dumps({"key": MARK}),
        base64.b64encode(f"user:{MARK}".encode()).decode(),
        base64.urlsafe_b64encode(f"  {MARK} ".encode()).decode(),
        json.dumps(base64.encodebytes(f"{'x' * 40}{MARK}{'x' * 40}".encode()).decode()),
        MARK.encode().hex(),
    ],
)
@pytest.mark.parametrize("kind", ["log", "log.gz", "rows.zst", "database"])
def test_a_secret_is_found_in_any_spelling_and_any_file(
    tmp_path: Path, spelled: str, kind: str
) -> None:
    path = tmp_path / kind
    if kind == "database":
        with contextlib.closing(sqlite3.connect(path)) as database, database:
            database.execute("CREATE TABLE logs (line TEXT)")
            database.execute("INSERT INTO logs VALUES (?)", [f"said {spelled}"])
    else:
        pack = {"log.gz": gzip.compress, "rows.zst": zstandard.ZstdCompressor().compress}
        path.write_bytes(pack.get(kind, bytes)(f"said {spelled}".encode()))
    assert leak(contents(path), MARK)
    assert leak(contents(path), MARK.swapcase()) is None


def test_what_a_message_masks_is_not_told_by_its_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from whileai_core.errors import InputError
    from whileai_core.simulation.references import load_reference

    key = GIVEN["chat endpoint"]
    (tmp_path / "canary_fails.py").write_text(f"raise RuntimeError('no access with ' + {key!r})")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("WHILEAI_ALLOWED_IMPORTS", "canary_fails")
    with pytest.raises(InputError, match=r"no access with \*\*\*") as caught:
        load_reference("canary_fails:agent")
    assert key not in "".join(traceback.format_exception(caught.value))


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> Evidence:
    """Run everything once: good runs, bad runs, the gate as a server, the command line."""
    from flows import _server
    from whileai_core.gate.admin import create_key, create_session
    from whileai_core.gate.settings import GateSettings
    from whileai_core.settings import Settings

    folder = tmp_path_factory.mktemp("canary")
    settings = GateSettings.from_settings(Settings(home=folder / "gate-home"))
    found = Evidence(folder)
    found.marks["key"] = asyncio.run(create_key("team", settings=settings))
    found.marks["session"] = asyncio.run(create_session("team", settings=settings))
    write_traces(folder / "in")
    (folder / "home").mkdir()
    stored = {"api_key": found.marks["stored key"], "api_url": "http://127.0.0.1:9"}
    (folder / "home" / "credentials.json").write_text(json.dumps(stored))
    with contextlib.ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setenv("PREFECT_HOME", str(folder / "prefect"))
        patch.setenv("PREFECT_SERVER_API_AUTH_STRING", found.marks["prefect"])
        patch.setenv("PREFECT_API_AUTH_STRING", found.marks["prefect"])
        (folder / "prefect").mkdir()
        patch.delenv("PREFECT_API_URL", raising=False)
        patch.setattr(_server, "_PATIENCE", 600.0)
        stack.enter_context(processes_watched(found.said))
        server, api = _server._start(folder / "server.log")
        stack.callback(_server._stop, server)
        _server._wait(server, api, folder / "server.log")
        hub = LocalHub()
        stack.callback(hub.close)
        chat = ChatServer()
        stack.callback(chat.close)
        chat.script("agent", {"brain": "agent"}, REPEAT)
        chat.script("writer", {"brain": "writer"}, REPEAT)
        chat.script("judge", '{"reward": 0, "reason": "no"}', REPEAT)
        chat.script("improver", "Be careful with every order.", REPEAT)
        repeating = stack.enter_context(parrot())
        gate = stack.enter_context(served_gate(found, HF_ENDPOINT=hub.url))
        databases = stack.enter_context(server_databases(found))
        platform = {
            "PREFECT_API_URL": api,
            "WHILEAI_API_URL": gate,
            "WHILEAI_API_KEY": found.marks["key"],
            "HF_ENDPOINT": hub.url,
        }
        urls = bad_urls(databases)
        done = found.run(
            "runs",
            str(ROOT / "tests" / "project" / "canary_runs.py"),
            str(folder / "in"),
            str(folder / "told.json"),
            CANARY_MARKS=json.dumps(found.marks | urls),
            CANARY_DATABASES=json.dumps(databases),
            CANARY_PARROT=repeating,
            CANARY_CHAT=chat.url,
            **platform,
        )
        lines = (
            line for line in done.stderr.splitlines() if not line.startswith(("DEBUG", "INFO"))
        )
        assert done.returncode == 0, "\n".join([*lines][-12:])
        told = json.loads((folder / "told.json").read_text())
        found.marks["delegated"] = told["delegated"]
        (folder / "told.json").unlink()
        at_the_prompt(found, platform, told["dataset"])
        wrong_at_the_prompt(found, platform, urls, repeating)
        found.keys_used = {entry["key"] for entry in chat.seen}
        headers = {"Authorization": f"Bearer {found.marks['key']}"}
        for path in ("metrics", "healthz", "openapi.json", "datasets"):
            found.said[path] = httpx.get(f"{gate}/{path}", headers=headers).text
    return found


@contextlib.contextmanager
def served_gate(found: Evidence, **environment: str) -> Iterator[str]:
    """Serve the gate whose keys the marks are; give its address."""
    log = found.folder / "gate.log"
    with log.open("w+") as output:
        gate = subprocess.Popen(
            [sys.executable, "-m", "whileai_core.cli", "gate", "serve", "--port", "0"],
            env={
                **found.environment(),
                "WHILEAI_HOME": str(found.folder / "gate-home"),
                **environment,
            },
            stderr=output,
            stdout=output,
        )
        try:
            while not (at := re.search(r"listens on (\S+)", log.read_text())):
                assert gate.poll() is None, log.read_text()
            yield at[1]
        finally:
            gate.terminate()
            gate.wait()


@contextlib.contextmanager
def server_databases(found: Evidence) -> Iterator[dict[str, str]]:
    """Give settings that name databases with passwords; afterwards read all there is in them."""
    programs = find_programs()
    if programs is None:
        yield {}
        return
    with running_cluster(programs) as cluster:
        plain = {use: cluster.new_database() for use in ("LEDGER_URL", "GATE_DATABASE_URL")}
        secret = quote(GIVEN["database password"], safe="")
        yield {
            f"WHILEAI_{use}": url.replace("gate@", f"gate:{secret}@") for use, url in plain.items()
        }
        for use, url in plain.items():
            found.said[f"PostgreSQL, {use}"] = asyncio.run(all_rows(url))


async def all_rows(url: str) -> str:
    """Every row of every table of a PostgreSQL database, as text."""
    import asyncpg

    connection = await asyncpg.connect(url)
    try:
        tables = await connection.fetch("SELECT relname FROM pg_stat_user_tables ORDER BY relname")
        lines = []
        for (table,) in tables:
            rows = await connection.fetch(f'SELECT t::text FROM "{table}" t')
            lines += [f"{table}: {text}" for (text,) in rows]
        return "\n".join(lines)
    finally:
        await connection.close()


def bad_urls(databases: dict[str, str]) -> dict[str, str]:
    """Addresses with secrets in them, none of which can be used."""
    password = GIVEN["password"]
    secret = quote(GIVEN["database password"], safe="")
    urls = {
        "bad url": f"https://kim:{password}@127.0.0.1:9",
        "database url": f"postgresql://kim:{password}@127.0.0.1:9/traces",
        "quoted database url": f"postgresql://kim:{secret}@127.0.0.1:9/traces",
        "odd database url": f"postgresql://kim:x@{password}@127.0.0.1:9/traces",
        "mangled database url": f"postgresql://kim:x@y:{password}@127.0.0.1/traces",
        "unknown database url": f"oracle://kim:{password}@127.0.0.1/traces",
        "store url": f"s3://kim:{password}@bucket/folder",
        "ftp store url": f"ftp://kim:{password}@127.0.0.1:9/folder",
        "chained store url": f"simplecache::s3://kim:{password}@bucket/folder",
        "slashed store url": f"s3://kim:x/{password}@bucket/folder",
        "signed store url": f"https://127.0.0.1:9/folder?X-Amz-Signature={GIVEN['signature']}",
        "unknown store url": f"nothing://kim:{password}@bucket/folder",
        "scheduler url": f"tcp://kim:{password}@127.0.0.1:9",
        "ftp traces url": f"ftp://kim:{password}@127.0.0.1:9/a.jsonl",
        "signed traces url": f"http://127.0.0.1:9/a.jsonl?X-Amz-Signature={GIVEN['signature']}",
        "chained traces url": f"simplecache::ftp://kim:{password}@127.0.0.1:9/a.jsonl",
    }
    if databases:
        url = urlsplit(databases["WHILEAI_LEDGER_URL"])
        urls["missing database url"] = url._replace(path="/nowhere").geturl()
    return urls


def at_the_prompt(found: Evidence, platform: dict[str, str], dataset: str) -> None:
    """Everything a person does, with keys from the environment, from a file, and typed."""
    rows = str(found.folder / "plain.jsonl")
    Path(rows).write_text('{"prompt": "Q", "final_text": "A"}\n' * 4)
    home = found.folder / "home-stored"
    home.mkdir()
    kept = {"api_key": found.marks["key"], "api_url": platform["WHILEAI_API_URL"]}
    (home / "credentials.json").write_text(json.dumps(kept))
    from_file = {**platform, "WHILEAI_API_KEY": "", "HF_TOKEN": "", "WHILEAI_HOME": str(home)}
    token, asked = found.marks["hugging face"], "Hugging Face token: "
    found.typed("connect", asked, token, "hf", "connect", **from_file)
    found.expected["connect"] = "connected as kim"
    commands = []
    for where, given in (("environment", platform), ("file", from_file)):
        out = str(found.folder / f"pulled-{where}.jsonl")
        for name, arguments, answer in [
            ("list", ["datasets", "--json"], dataset),
            ("push", ["push", rows, "--name", where], f"({where})"),
            ("pull", ["pull", dataset, "--out", out], "wrote 12 rows"),
            ("publish", ["hf", "publish", dataset], "datasets/kim/plain"),
            ("import", ["hf", "import", "kim/plain"], "has 12 rows"),
            ("status", ["hf", "status"], "connected as kim"),
            ("straight", ["hf", "push", rows, f"by-{where}"], "commit"),
            ("straight import", ["hf", "import", "kim/plain", "--out", out], "wrote 12 rows"),
        ]:
            found.expected[f"{name} by {where}"] = answer
            commands.append((f"{name} by {where}", arguments, given))
    found.prompt(*commands)


def wrong_at_the_prompt(
    found: Evidence, platform: dict[str, str], urls: dict[str, str], repeating: str
) -> None:
    """The same with keys that are refused, and with servers that repeat what they are told."""
    rows = str(found.folder / "plain.jsonl")
    wrong = {**platform, "WHILEAI_API_KEY": found.marks["wrong key"]}
    repeated = {**platform, "WHILEAI_API_URL": repeating, "HF_ENDPOINT": repeating}
    bad_token = {**platform, "HF_TOKEN": found.marks["wrong hugging face"]}
    commands = [("stored key", ["datasets", "--json"], {})]
    for where, given in (("wrong", wrong), ("repeated", repeated), ("bad token", bad_token)):
        commands += [
            (f"{where} list", ["datasets", "--json"], given),
            (f"{where} push", ["push", rows], given),
            (f"{where} pull", ["pull", "ds_1", "--out", f"{rows}.out"], given),
            (f"{where} publish", ["hf", "publish", "ds_1"], given),
            (f"{where} import", ["hf", "import", "kim/set"], given),
            (f"{where} straight", ["hf", "push", rows, "straight"], given),
        ]
    for name, url in urls.items():
        if name.endswith("database url"):
            bad = {"WHILEAI_GATE_DATABASE_URL": url}
            commands.append((f"gate at {name}", ["gate", "serve", "--port", "0"], bad))
        elif name.endswith("traces url"):
            commands += [
                (f"explain {name}", ["ingest", "--explain", url], platform),
                (f"night of {name}", ["nightly", url, "--agent", "url"], platform),
                (f"deploy {name}", ["deploy", url, "--agent", "url"], platform),
                (f"climb {name}", ["climb", url, "--name", "url", "--agent", "a:b"], platform),
            ]
    found.prompt(*commands)
    token, asked = found.marks["wrong hugging face"], "Hugging Face token: "
    home = {"WHILEAI_HOME": str(found.folder / "home-refused"), "HF_TOKEN": ""}
    for where, given in (("refused", platform), ("repeated", repeated)):
        found.typed(f"connect {where}", asked, token, "hf", "connect", **{**given, **home})
    for name, settings in prefects(found, platform["PREFECT_API_URL"], repeating).items():
        found.run(f"deploy {name}", "-m", "whileai_core.cli", "deploy", **settings)
        found.expected[f"deploy {name}"] = "whileai-pipelines: "


def prefects(found: Evidence, api: str, repeating: str) -> dict[str, dict[str, str]]:
    """Prefect servers that do not let us in."""
    password = found.marks["password"]
    bad = {"PREFECT_API_AUTH_STRING": f"kim:{password}"}
    key = {"PREFECT_API_AUTH_STRING": "", "PREFECT_API_KEY": found.marks["prefect cloud"]}
    return {
        "with a key that is repeated": {**key, "PREFECT_API_URL": f"{repeating}/api"},
        "with a bad password": {**bad, "PREFECT_API_URL": api},
        "by a URL": {**bad, "PREFECT_API_URL": api.replace("://", f"://kim:{password}@")},
    }


@pytest.mark.slow
def test_everything_that_could_show_a_secret_was_done(evidence: Evidence) -> None:
    refused = "failed: SettingsError"
    for name, answer in evidence.expected.items():
        assert answer in evidence.said[name], f"{name}: {evidence.said[name]}"
    for what in ("a ledger at odd database url", "a gate at mangled database url"):
        assert f"{what} {refused}" in evidence.said["runs"]
    endpoints = {f"Bearer {evidence.marks[f'{name} endpoint']}" for name in ("other", "block")}
    assert evidence.keys_used == endpoints
    assert "should have failed" not in evidence.said["runs"]
    assert "-> 401" in (evidence.folder / "gate.log").read_text("utf-8")
    assert all(evidence.said.values())


@pytest.mark.slow
def test_no_secret_is_in_what_was_said(evidence: Evidence) -> None:
    logs = {path.name: path.read_text("utf-8") for path in evidence.folder.glob("*.log")}
    found = [
        f"{kind} in {where}: {shown}"
        for where, text in {**evidence.said, **logs}.items()
        for kind, mark in {**evidence.marks, **IN_TRACES}.items()
        if (shown := leak(text.encode(), mark))
    ]
    assert not found, f"{len(found)} leaks\n" + "\n\n".join(found)


@pytest.mark.slow
def test_no_secret_is_in_what_was_left(evidence: Evidence) -> None:
    kept_for_it = {"credentials.json", "huggingface.json"}
    looked, found = 0, []
    for path in sorted(evidence.folder.rglob("*")):
        if path.is_dir() or path.parent.name == "in" or path.name in kept_for_it:
            continue
        looked += 1
        data = contents(path)
        for kind, mark in {**evidence.marks, **IN_TRACES}.items():
            if kind == "signature" and path.parent.name == "pushes":
                assert path.stat().st_mode & 0o077 == 0  # an unfinished push needs its address
            elif shown := leak(data, mark):
                found.append(f"{kind} in {path.relative_to(evidence.folder)}: {shown}")
    assert not found, f"{len(found)} leaks\n" + "\n\n".join(found)
    assert looked > 20
    assert (evidence.folder / "prefect" / "prefect.db").exists()
    assert list((evidence.folder / "home").rglob("quarantine/*/*.jsonl"))


@pytest.mark.slow
def test_files_with_secrets_are_for_their_owner_alone(evidence: Evidence) -> None:
    secret = ("huggingface.json", "redaction.key", "gate.db")
    found = {path for name in secret for path in evidence.folder.glob(f"home*/**/{name}")}
    assert {path.name for path in found} >= {"huggingface.json", "redaction.key"}
    for path in found:
        open_to_others = path.stat().st_mode & 0o077 and path.parent.stat().st_mode & 0o077
        assert not open_to_others, path
