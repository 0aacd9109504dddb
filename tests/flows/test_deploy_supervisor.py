"""The supervisor of `serve` on small programs: start, restart, order of ending, last words."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from deployments.supervisor import Program, Supervisor
from whileai_core.errors import StoreError

ROOT = Path(__file__).parents[2]
FOREVER = "import time; time.sleep(600)"


def program(folder, name, code, **more):
    return Program(name, [sys.executable, "-c", code], folder / f"{name}.log", **more)


def supervisor():
    return Supervisor(dict(os.environ))


def wait(ask):
    for _ in range(300):
        answer = ask()
        if answer:
            return answer
        time.sleep(0.05)
    raise AssertionError("waited in vain")


def test_what_does_not_start_is_told_with_its_last_words(tmp_path):
    broken = program(
        tmp_path, "broken", "import sys; sys.exit('no such port')", health="http://127.0.0.1:9/"
    )
    runs = supervisor()
    with runs.running(), pytest.raises(StoreError, match=r"broken did not start: no such port"):
        runs.start(broken)


def test_a_command_that_fails_is_told_with_what_it_said():
    runs = supervisor()
    failing = [sys.executable, "-c", "import sys; sys.exit('refused')"]
    with runs.running(), pytest.raises(StoreError, match="registering failed: refused"):
        runs.run(failing, "registering")
    with runs.running():
        runs.run([sys.executable, "-c", ""], "registering")


def test_what_dies_starts_again_after_a_pause_that_grows(tmp_path, capsys):
    count = tmp_path / "count"
    dying = program(tmp_path, "dying", f"open({str(count)!r}, 'a').write('x')")
    runs = supervisor()
    with runs.running():
        runs.start(dying)

        def thrice():
            dying.tend(dict(os.environ))
            return count.exists() and len(count.read_text()) == 3

        wait(thrice)
    said = capsys.readouterr().err
    assert "dying ended with code 0; again in 1 s" in said
    assert "dying ended with code 0; again in 2 s" in said


def test_what_was_never_well_and_keeps_ending_ends_everything(tmp_path, monkeypatch):
    monkeypatch.setattr("deployments.supervisor._LONGEST_PAUSE", 0.0)
    hopeless = program(tmp_path, "hopeless", "import sys; sys.exit('no such pool')")
    runs = supervisor()
    with runs.running():
        runs.start(hopeless)
        with pytest.raises(StoreError, match=r"ended 5 times at the start: .*no such pool"):
            runs.watch()


def test_what_is_killed_again_and_again_starts_again(tmp_path, monkeypatch):
    monkeypatch.setattr("deployments.supervisor._LONGEST_PAUSE", 0.0)
    count = tmp_path / "count"
    code = (
        f"import os; open({str(count)!r}, 'a').write('x'); "
        "os.kill(os.getpid(), 9 if os.path.getsize({0!r}) < 8 else 0); {1}"
    ).format(str(count), FOREVER)
    killed = program(tmp_path, "killed", code)
    runs = supervisor()
    with runs.running():
        runs.start(killed)

        def survives():
            killed.tend(dict(os.environ))
            return count.exists() and len(count.read_text()) == 8

        wait(survives)
        assert killed.exit_code is None


def test_what_has_gone_after_its_start_is_told_before_anything_is_called_up(tmp_path):
    early = program(tmp_path, "early", "import sys; sys.exit('taken')")
    runs = supervisor()
    with runs.running():
        runs.start(early)
        wait(lambda: early.exit_code is not None)
        with pytest.raises(StoreError, match="early did not stay up: taken"):
            runs.check()


def test_everything_ends_with_the_block_the_last_started_first_and_its_children_too(tmp_path):
    order = tmp_path / "order"
    code = (
        "import signal, subprocess, sys, time\n"
        f"def end(*_): open({str(order)!r}, 'a').write(sys.argv[1]); sys.exit()\n"
        "signal.signal(signal.SIGTERM, end)\n"
        f"child = subprocess.Popen([sys.executable, '-c', {FOREVER!r}])\n"
        "print(child.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    programs = [program(tmp_path, name, code) for name in "ab"]
    runs = supervisor()
    with runs.running():
        for each in programs:
            each.command.append(each.name)
            runs.start(each)
        children = [int(wait(each.log.read_text)) for each in programs]
    assert order.read_text() == "ba"
    for child in children:
        wait(lambda child=child: not is_alive(child))


def test_what_does_not_end_is_killed(tmp_path, capsys):
    code = (
        "import signal, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "print('deaf', flush=True)\n"
        "time.sleep(600)"
    )
    deaf = program(tmp_path, "deaf", code, grace=0.2)
    runs = supervisor()
    with runs.running():
        runs.start(deaf)
        wait(deaf.log.read_text)
    assert deaf.exit_code == -signal.SIGKILL
    assert "deaf does not end; it is killed" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel ends programs with their parent")
def test_nothing_outlives_a_supervisor_that_is_killed(tmp_path):
    code = (
        "import os, pathlib, sys\n"
        "from deployments.supervisor import Program, Supervisor\n"
        "runs = Supervisor(dict(os.environ))\n"
        f"each = Program('each', [sys.executable, '-c', {FOREVER!r}], pathlib.Path('each.log'))\n"
        "with runs.running():\n"
        "    runs.start(each)\n"
        "    print(each._process.pid, flush=True)\n"
        "    runs.watch()\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    with parent:
        child = int(parent.stdout.readline())
        assert is_alive(child)
        parent.kill()
    wait(lambda: not is_alive(child))


def is_alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_what_a_restart_needs_is_done_before_it(tmp_path):
    done, ran = tmp_path / "done", tmp_path / "ran"
    code = f"import os; open({str(ran)!r}, 'w').write(str(os.path.exists({str(done)!r})))"
    before = [sys.executable, "-c", f"open({str(done)!r}, 'w').close()"]
    restarted = program(tmp_path, "restarted", code, before=before)
    runs = supervisor()
    with runs.running():
        runs.start(restarted)
        wait(lambda: restarted.exit_code is not None)
        assert ran.read_text() == "False"
        ran.unlink()

        def tended():
            restarted.tend(os.environ)
            return ran.exists() and ran.read_text()

        assert wait(tended) == "True"
