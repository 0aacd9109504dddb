"""The night's lock: one holder at a time, given up by the dead, on one machine or several."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time

import pytest

from whileai_core.errors import StoreError
from whileai_core.ingest.ledger import Ledger
from whileai_core.ingest.lock import night_lock

HOLD = """
import sys, time
from pathlib import Path
from whileai_core.ingest.ledger import Ledger
from whileai_core.ingest.lock import night_lock
with night_lock(Path(sys.argv[1]), Ledger(sys.argv[2], "a")):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture(params=["sqlite", "postgresql"])
def machine(request, tmp_path):
    """Set up a machine: a ledger for all, a home of its own where the ledger is a server's."""
    if request.param == "postgresql":
        url = request.getfixturevalue("postgres").new_database()
        return lambda name: (tmp_path / name, Ledger(url, "a"), url)
    url = f"sqlite:///{tmp_path}/ledger.db"
    return lambda _: (tmp_path, Ledger(url, "a"), url)


def test_a_night_that_is_held_is_waited_for(machine):
    (home, ledger, _), (other_home, other, _) = machine("one"), machine("two")
    with night_lock(home, ledger):
        with (
            pytest.raises(StoreError, match="another run for 'a' has held"),
            night_lock(other_home, other, wait=0.3),
        ):
            pass
        order = []

        def second():
            with night_lock(other_home, other):
                order.append("second")

        thread = threading.Thread(target=second)
        thread.start()
        time.sleep(0.3)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]
    ledger.close()
    other.close()


def test_other_agents_do_not_wait(machine):
    home, ledger, url = machine("one")
    other = Ledger(url, "b")
    with night_lock(home, ledger), night_lock(home, other, wait=0):
        pass
    ledger.close()
    other.close()


def test_a_killed_run_gives_the_lock_up(machine):
    home, _, url = machine("one")
    holder = subprocess.Popen([sys.executable, "-c", HOLD, home, url], stdout=subprocess.PIPE)
    with holder:
        assert holder.stdout.readline() == b"held\n"
        other_home, other, _ = machine("two")
        with pytest.raises(StoreError), night_lock(other_home, other, wait=0):
            pass
        holder.send_signal(signal.SIGKILL)
        with night_lock(other_home, other, wait=20):
            pass
    other.close()


def test_a_run_that_lost_its_connection_writes_nothing_after_another_took_over(postgres, tmp_path):
    url = postgres.new_database()
    first, second = Ledger(url, "a"), Ledger(url, "a")
    with night_lock(tmp_path / "one", first):
        with second.session() as ask:
            ask(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        with night_lock(tmp_path / "two", second, wait=20):
            with pytest.raises(StoreError, match="another run has taken over"):
                first.begin_push({"night": "n"})
            second.begin_push({"night": "n"})
    assert second.pending() == {"night": "n"}
    first.close()
    second.close()


def test_machines_that_open_an_empty_ledger_at_once_all_succeed(postgres):
    url = postgres.new_database()
    ledgers = [Ledger(url, f"agent-{n}") for n in range(6)]
    failures = []

    def ask(ledger):
        try:
            ledger.pending()
        except StoreError as error:
            failures.append(error)
        ledger.close()

    threads = [threading.Thread(target=ask, args=(ledger,)) for ledger in ledgers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
