"""The panel's Celery app: publishes orders (clusters/dispatch.py) and runs the panel's own chores (queue `panel`)."""

from __future__ import annotations

import ctypes
import os
import signal
from typing import Any

from celery import Celery
from celery.schedules import crontab
from celery.signals import beat_embedded_init

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlpanel.settings")

from django.conf import settings  # noqa: E402  needs the variable above

PR_SET_PDEATHSIG = 1  # linux/prctl.h

app = Celery("controlpanel", broker=settings.REDIS_URL, set_as_current=True)
app.conf.update(
    task_default_queue="panel",
    task_ignore_result=True,
    task_acks_late=True,  # chores are safe twice
    task_time_limit=3600,  # seconds
    accept_content=["json"],
    worker_prefetch_multiplier=1,
    worker_enable_remote_control=False,
    worker_cancel_long_running_tasks_on_connection_loss=False,
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,
    broker_transport_options={
        "visibility_timeout": 7200,
        "max_retries": 0,  # of publishing: the scheduler tries again at its next tick, and 6 s here would hold up its sweep
        "socket_connect_timeout": 1,
        "socket_timeout": 5,  # a BRPOP waits for one; without it the scheduler would wait for a dead connection
        "socket_keepalive": True,
        "health_check_interval": 25,
    },
    imports=["controlpanel.tasks"],
    beat_schedule={
        "forget what has expired": {"task": "controlpanel.tasks.forget_expired", "schedule": crontab(minute=17)},
        "forget old logs and metrics": {"task": "controlpanel.tasks.forget_old", "schedule": crontab(hour=3, minute=47)},
        "drop fetched files": {"task": "controlpanel.tasks.drop_fetched_files", "schedule": crontab(minute=57)},
        "sweep the log store": {"task": "controlpanel.tasks.sweep_log_store", "schedule": crontab(minute=37)},
    },
    beat_schedule_filename=str(settings.VAR_DIR / "beat"),
)


@beat_embedded_init.connect
def end_with_the_worker(**_: Any) -> None:
    """Else a worker that was killed leaves its planner behind, and the next one starts a second."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
