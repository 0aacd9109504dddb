"""The flows on a real Prefect server: registered, their forms explained, run by a worker."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import httpx
import pytest


def write_traces(folder: Path) -> str:
    path = folder / "a.jsonl"
    rows = [{"prompt": f"Ask {n * 7919}", "final_text": f"Answer {n}"} for n in range(10)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def deployments(served):
    return {found["name"]: found for found in served.post("deployments/filter")}


def automations(served):
    return {found["name"]: found for found in served.post("automations/filter")}


@pytest.fixture(scope="module", autouse=True)
def silent_runs(served):
    """Runs that begin, or say that they live, and then nothing; seconds stand for minutes."""
    flow = served.post("flows/", {"name": "nightly"})["id"]
    begins, lives = (served.post("flow_runs/", {"flow_id": flow})["id"] for _ in range(2))
    automation = automations(served)["whileai: a run that fell silent has crashed"]
    match = {"prefect.resource.id": [f"prefect.flow-run.{run}" for run in (begins, lives)]}
    trigger = automation["trigger"] | {"within": 10, "match": match}
    sooner = {"name": "sooner", "trigger": trigger, "actions": automation["actions"]}
    served.post("automations/", sooner)
    served.post(f"flow_runs/{begins}/set_state", {"state": {"type": "RUNNING"}, "force": True})
    heartbeat = {
        "id": str(uuid4()),
        "occurred": datetime.now(UTC).isoformat(),
        "event": "prefect.flow-run.heartbeat",
        "resource": {"prefect.resource.id": f"prefect.flow-run.{lives}"},
        "related": [
            {
                "prefect.resource.id": f"prefect.flow.{flow}",
                "prefect.resource.role": "flow",
                "prefect.resource.name": "nightly",
            }
        ],
    }
    served.ask("POST", "events", [heartbeat])
    return begins, lives


def test_prefects_data_are_under_our_home_whatever_prefect_there_is_beside_it(served):
    assert (served.home / "prefect" / "prefect.db").exists()
    assert not (served.home / "other.db").exists()
    assert not (served.home / ".prefect" / "prefect.db").exists()
    assert f"schedules {served.home / 'prefect'}\n" in served.said()


def test_runs_by_hand_are_for_any_agent_and_cancel_nobody(served):
    before = deployments(served)["nightly"]
    limited = {"concurrency_limit": 1, "concurrency_options": {"collision_strategy": "CANCEL_NEW"}}
    served.patch(f"deployments/{before['id']}", limited)  # as an earlier version registered it
    served.command("deploy")
    found = deployments(served)
    assert found["nightly"]["global_concurrency_limit"] is None
    assert found["hill-climb"]["global_concurrency_limit"] is None


def test_every_form_explains_every_parameter(served):
    from deployments.automations import FLOWS

    found = deployments(served)
    forms = {name: one["parameter_openapi_schema"] for name, one in found.items()}
    assert set(forms) == {"nightly", "hill-climb", "publish", "import"}
    flows = {flow["id"]: flow["name"] for flow in served.post("flows/filter")}
    assert {flows[one["flow_id"]] for one in found.values()} <= set(FLOWS)
    for name, form in forms.items():
        for field, about in form["properties"].items():
            assert about.get("description"), f"{name}: {field}"
    nightly = forms["nightly"]["properties"]
    assert nightly["gate"]["enum"] == ["report", "enforce", "off"]
    assert (nightly["max_bad_share"]["minimum"], nightly["max_bad_share"]["maximum"]) == (0, 1)
    assert set(forms["nightly"]["required"]) == {"paths", "agent"}


def test_a_worker_runs_a_night_that_says_whose_it_is_and_links_its_pages(served, tmp_path):
    run = served.run("nightly/nightly", {"paths": [write_traces(tmp_path)], "agent": "Served"})
    assert run["state"]["type"] == "COMPLETED", run["state"]["message"]
    day = run["expected_start_time"][:10]
    assert run["name"] == f"nightly-served-{day}"
    assert {"whileai", "nightly", "agent:served", f"night:{day}"} <= set(run["tags"])

    of_run = {"flow_run_id": {"any_": [run["id"]]}}
    pages = {page["key"]: page for page in served.post("artifacts/filter", {"artifacts": of_run})}
    summary = pages["night-summary"]["data"]
    for key in ("publish-gate", "trace-report", "where-it-went"):
        assert f"{served.ui}/artifacts/artifact/{pages[key]['id']}" in summary
    assert f"]({served.gate}/data/ds_" in summary

    lines = [line["message"] for line in served.post("logs/filter", {"logs": of_run})]
    assert "10 records = 10 rows + 0 duplicates + 0 quarantined + 0 ignored" in lines
    assert not any("Completed()" in line and "task" in line for line in lines)
    assert len(lines) < 30


def test_a_run_that_fell_silent_has_crashed(served, silent_runs):
    for run in silent_runs:
        state = served.wait(lambda run=run: served.ended(run))["state"]
        assert (state["type"], state["message"][:15]) == ("CRASHED", "No sign of life")


def test_a_night_of_an_agent_is_scheduled_and_what_people_set_outlives_registering(served):
    schedule = ["--cron", "15 3 * * *", "--timezone", "Europe/Paris"]
    said = served.command("deploy", "traces", "--agent", "Support", *schedule)
    assert "schedule nightly/support '15 3 * * *' Europe/Paris, next at 20" in said
    assert "T03:15+0" in said
    assert f"warning: {served.home / 'traces'} names nothing on this machine" in said
    night = deployments(served)["support"]
    assert night["parameters"] == {"agent": "support", "paths": [str(served.home / "traces")]}
    assert night["global_concurrency_limit"]["limit"] == 1
    assert night["concurrency_options"]["collision_strategy"] == "CANCEL_NEW"
    (planned,) = night["schedules"]
    assert planned["active"]
    assert planned["schedule"]["timezone"] == "Europe/Paris"

    before = automations(served)
    changed = {"parameters": {**night["parameters"], "holdout": 0.3}, "paused": True}
    served.patch(f"deployments/{night['id']}", changed)
    served.patch(f"deployments/{night['id']}/schedules/{planned['id']}", {"active": False})
    off = before["whileai: a run that fell silent has crashed"]["id"]
    served.patch(f"automations/{off}", {"enabled": False})

    done = json.loads(served.command("deploy", "--json"))
    assert set(done["deployments"].values()) == set(done["automations"].values()) == {"updated"}
    again = deployments(served)["support"]
    assert (again["id"], again["parameters"]["holdout"]) == (night["id"], 0.3)
    assert again["paused"]
    assert [(kept["id"], kept["active"]) for kept in again["schedules"]] == [(planned["id"], False)]
    after = automations(served)
    assert {name: found["id"] for name, found in after.items()} == {
        name: found["id"] for name, found in before.items()
    }
    assert not after["whileai: a run that fell silent has crashed"]["enabled"]

    (served.home / "elsewhere").mkdir()
    said = served.command("deploy", "elsewhere", "--agent", "support")
    assert "schedule nightly/support '15 3 * * *' Europe/Paris, paused: resume it in the UI" in said
    assert "warning" not in said
    replaced = deployments(served)["support"]
    assert replaced["parameters"]["paths"] == [str(served.home / "elsewhere")]
    assert replaced["parameters"]["holdout"] == 0.3
    assert [(kept["id"], kept["active"]) for kept in replaced["schedules"]] == [
        (planned["id"], False)
    ]


@pytest.mark.slow
def test_a_refused_gate_holds_publishing_until_a_person_resumes_it(served, tmp_path):
    served.command("deploy", "--publish")
    # Repeated tasks that all pass teach nothing: the gate has a refusal for them.
    rows = [
        {"prompt": f"Ask {n * 7919}", "final_text": f"Answer {n}, {trial}", "trial": trial}
        | {"scenario_id": f"task-{n}", "reward": 1}
        for n in range(12)
        for trial in range(3)
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    night = served.run("nightly/nightly", {"paths": [str(path)], "agent": "careless"})
    assert night["state"]["type"] == "COMPLETED", night["state"]["message"]
    pushed = {tag.removeprefix("dataset:") for tag in night["tags"] if tag.startswith("dataset:")}
    assert len(pushed) == 2

    def waiting():
        found = served.post("flow_runs/filter", {"flows": {"name": {"any_": ["hub-publish"]}}})
        return found if len(found) == 2 else None

    runs = served.wait(waiting)
    given = [run["parameters"] for run in runs]
    assert all(set(parameters) == {"dataset_id"} for parameters in given)
    assert {parameters["dataset_id"] for parameters in given} == pushed
    assert served.get("work_pools/local/queues/publish")["is_paused"]
    assert served.post("work_pools/local/get_scheduled_flow_runs") == []
    for run in runs:
        assert served.get(f"flow_runs/{run['id']}")["state"]["type"] == "SCHEDULED"

    served.patch("work_pools/local/queues/publish", {"is_paused": False})
    for run in runs:
        done = served.wait(lambda run=run: served.ended(run["id"]))
        assert "Hugging Face" in done["state"]["message"]  # nobody has connected an account

    trigger = automations(served)["whileai: publish every pushed dataset"]["id"]
    served.patch(f"automations/{trigger}", {"enabled": False})
    served.command("deploy")
    assert not automations(served)["whileai: publish every pushed dataset"]["enabled"]


@pytest.mark.slow
def test_notifications_are_there_once_a_block_is_named_and_none_twice(served):
    kinds = served.post("block_types/filter", {"block_types": {"name": {"like_": "Webhook"}}})
    kind = next(kind for kind in kinds if kind["slug"] == "slack-webhook")
    (schema, *_) = served.post(
        "block_schemas/filter", {"block_schemas": {"block_type_id": {"any_": [kind["id"]]}}}
    )
    served.post(
        "block_documents/",
        {
            "name": "team",
            "data": {"url": "https://hooks.slack.com/services/T0/B0/none"},
            "block_type_id": kind["id"],
            "block_schema_id": schema["id"],
        },
    )
    for _ in range(2):
        served.command("deploy", "--notify", "slack-webhook/team")
    names = [found["name"] for found in served.post("automations/filter")]
    assert len(names) == len(set(names))
    told = ("failed runs", "late runs", "missing workers", "refused gates")
    assert {f"whileai: tell of {what}" for what in told} <= set(names)


def test_what_a_stop_left_behind_is_crashed_at_the_next_start(served):
    deployment = served.get("deployments/name/hub-import/import")["id"]

    def left(kind, pid):
        body = {"parameters": {"repo": "a/b"}, "state": {"type": kind}}
        run = served.post(f"deployments/{deployment}/create_flow_run", body)["id"]
        served.patch(f"flow_runs/{run}", {"infrastructure_pid": pid})
        return run

    # One was killed at work, the other before its process began.
    runs = [left("RUNNING", str(2**30)), left("PENDING", None)]
    code = "from deployments.leftovers import main; main('local', 'serve')"
    environment = served.environment | {"PREFECT_API_URL": served.api}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True, timeout=100)
    for run in runs:
        state = served.ended(run)["state"]
        assert (state["type"], "Run it again" in state["message"]) == ("CRASHED", True)


def test_what_dies_is_started_again(served):
    listing = subprocess.run(["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True)
    (gate,) = [
        int(line.split()[0])
        for line in listing.stdout.splitlines()
        if "gate serve" in line and line.split()[1] == str(served.process.pid)
    ]
    os.kill(gate, signal.SIGKILL)
    served.wait(lambda: "the gate ended with code -9" in served.said())

    def answers():
        try:
            return httpx.get(f"{served.gate}/healthz").is_success
        except httpx.HTTPError:
            return False

    served.wait(answers)
