"""The host's Celery worker: takes orders off this host's queue, notes them in the state folder, wakes the agent.

Runs as the agent's one child (agent/worker_process.py). A task lasts a millisecond and may come twice: what it does is on
the disk or not. Orders that are lost between queue and disk are sent again by the panel: nothing is acknowledged late.
"""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import UUID

from celery import Celery

from agent import protocol
from agent.folders import WorkloadFolder
from agent.home import Home

PR_SET_PDEATHSIG = 1  # linux/prctl.h
WOKEN_BY_ORDER = b"!"

app = Celery("agent")
_waker = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
_waker.setblocking(False)


class Place:
    """Where this worker's host keeps its state; set once, before the first task."""

    home: Home
    wake: str


def configure(place: Home) -> None:
    """Raises RuntimeError when the host is not enrolled."""
    identity = place.identity()
    if identity is None:
        raise RuntimeError("this host is not enrolled")
    Place.home, Place.wake = place, place.wake_address()
    app.conf.update(
        broker_url=identity.redis_url,
        task_default_queue="orders",
        task_ignore_result=True,
        task_acks_late=False,
        task_time_limit=60,  # seconds
        accept_content=["json"],
        worker_prefetch_multiplier=1,
        worker_enable_remote_control=False,
        worker_cancel_long_running_tasks_on_connection_loss=False,
        worker_hijack_root_logger=False,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_transport_options={
            "global_keyprefix": protocol.key_prefix(identity.host_id),
            # The restore of unacknowledged messages needs scripting, which a host may not do, and restores to a wrong name.
            "ack_emulation": False,
            "socket_timeout": None,
            "socket_connect_timeout": 5,
            "socket_keepalive": True,
            "health_check_interval": 25,
            "retry_on_timeout": True,
        },
    )


@app.task(name=protocol.ORDER_TASK)
def take_order(order_id: int, kind: str, workload_id: str, data: dict[str, Any]) -> None:
    """Note one order. An unknown kind is of a newer panel: it stays unconfirmed and the panel says so."""
    folder = WorkloadFolder(Place.home.workloads / str(UUID(workload_id)))
    if kind == protocol.ORDER_START:
        folder.note_start(int(data["rank"]))
    elif kind == protocol.ORDER_STOP:
        folder.note_stop(float(data["grace_s"]))
    elif kind == protocol.ORDER_FETCH_FILE:  # the workload's folder may be gone
        Place.home.note_fetch(int(data["fetch"]), {name: str(data[name]) for name in ("files_root", "folder", "path")})
    with suppress(OSError):  # the agent looks each second anyway
        _waker.sendto(WOKEN_BY_ORDER, Place.wake)


def run(state: Path) -> None:
    """Take orders until the agent that started this process ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() == 1:
        sys.exit("the agent has ended")
    configure(Home(state))
    without = ["--without-mingle", "--without-gossip", "--without-heartbeat"]
    app.worker_main(["-q", "worker", "--pool=solo", "--queues=orders", "--loglevel=WARNING", *without])
