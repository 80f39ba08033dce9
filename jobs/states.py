"""States of a job and of a notice, and the moves between them. docs/states.md is drawn from MOVES."""

from __future__ import annotations

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _


class JobState(TextChoices):
    # in: services.launch, attempts.follow; out: attempts.follow, services.cancel; rescue: its workload says why, or retry_at
    QUEUED = "queued", _("queued")
    # in and out: attempts.follow; rescue: the workload's deadlines (clusters/sweep.py)
    STARTING = "starting", _("starting")
    # in and out: attempts.follow; rescue: the spec's timeout, the cluster's lost_after_s
    RUNNING = "running", _("running")
    # in: services.cancel, attempts.follow; out: attempts.follow; rescue: the host's KILL, then an admin
    STOPPING = "stopping", _("stopping")
    # in: attempts.follow
    SUCCEEDED = "succeeded", _("succeeded")
    # in: attempts.follow
    FAILED = "failed", _("failed")
    # in: attempts.follow
    CANCELED = "canceled", _("canceled")


S = JobState
ENDED = frozenset({S.SUCCEEDED, S.FAILED, S.CANCELED})
MOVES: dict[str, frozenset[str]] = {
    S.QUEUED: frozenset({S.STARTING, S.RUNNING, S.STOPPING, *ENDED}),
    S.STARTING: frozenset({S.QUEUED, S.RUNNING, S.STOPPING, *ENDED}),
    S.RUNNING: frozenset({S.QUEUED, S.STOPPING, *ENDED}),
    S.STOPPING: frozenset({S.QUEUED, *ENDED}),  # queued: a gang that failed, to try again; never when it was canceled
    S.SUCCEEDED: frozenset(),
    S.FAILED: frozenset(),
    S.CANCELED: frozenset(),
}


class NoticeState(TextChoices):
    # in: notices.tell, notice_sending (to try again at `due_at`); out: notice_moves.claim; rescue: notices.tick, at `give_up_at`
    PENDING = "pending", _("pending")
    # in: notice_moves.claim; out: notice_sending; rescue: notices.tick, at `due_at`: a webhook goes again, a mail never
    SENDING = "sending", _("sending")
    # in: notice_sending; forgotten after NOTICE_KEEP_DAYS
    SENT = "sent", _("sent")
    # in: notice_sending, notices.tick; forgotten as the sent ones
    FAILED = "failed", _("failed")
    # in: notice_sending, when nobody is to be told any more: who left the team, or switched it off; forgotten as the sent ones
    DROPPED = "dropped", _("not sent")


N = NoticeState
NOTICE_OPEN = frozenset({N.PENDING, N.SENDING})
NOTICE_MOVES: dict[str, frozenset[str]] = {
    N.PENDING: frozenset({N.SENDING, N.FAILED, N.DROPPED}),
    N.SENDING: frozenset({N.PENDING, N.SENT, N.FAILED, N.DROPPED}),
    N.SENT: frozenset(),
    N.FAILED: frozenset(),
    N.DROPPED: frozenset(),
}
