"""Below a share of free disk the inbox takes no more log bytes: hosts hold them, and ship on from the same place afterwards.

States, metrics and whatever else is small go on, so that nothing that runs is in doubt.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from django.conf import settings

from monitoring import conditions

logger = logging.getLogger(__name__)
MARGIN = 1.2  # resumes at so many times the share at which it began: no flutter


def free_share() -> float:
    """Of the disk that holds the logs and, on a laptop, the database: from 0 to 1."""
    usage = shutil.disk_usage(_existing(Path(settings.VAR_DIR)))
    return usage.free / usage.total


@dataclass
class DiskGuard:
    """`is_holding` is None until the first look: a former inbox may have held logs, so they are let pass once."""

    is_holding: bool | None = None
    measure: Callable[[], float] = free_share

    def look(self, *, now: datetime) -> bool:
        """Whether it has just begun to let logs pass."""
        share, wanted = self.measure(), settings.DISK_GUARD_SHARE
        was_holding, self.is_holding = self.is_holding, share < wanted * (MARGIN if self.is_holding else 1)
        if self.is_holding:
            conditions.begin(conditions.DISK_LOW, now=now, free=f"{share * 100:.1f}", wanted=f"{wanted * MARGIN * 100:.1f}")
            if not was_holding:
                logger.warning("disk low, logs are held free_share=%.4f", share)
            return False
        if was_holding is not False:
            conditions.end(conditions.DISK_LOW)
            logger.info("disk has room, logs pass free_share=%.4f", share)
            return True
        return False


def _existing(path: Path) -> Path:
    return next(folder for folder in (path, *path.parents) if folder.exists())
