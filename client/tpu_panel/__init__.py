"""Jobs on a TPU control panel, from Python.

from tpu_panel import Panel

panel = Panel()  # as `tpu-panel login` has it, or PANEL_URL and PANEL_TOKEN
job = panel.launch(project="first-project", definition="command", parameters={"command": "echo hello"})
for line in job.logs():
    print(line)
print(job.wait().state)
"""

from tpu_panel.errors import (
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
    NotSignedIn,
    PanelError,
    TooManyRequests,
    Unreachable,
    WaitTimeout,
)
from tpu_panel.following import Gap, Piece
from tpu_panel.job import Job
from tpu_panel.panel import Host, Panel
from tpu_panel.version import VERSION as __version__

__all__ = [
    "Conflict",
    "Forbidden",
    "Gap",
    "Host",
    "Invalid",
    "Job",
    "NotFound",
    "NotSignedIn",
    "Panel",
    "PanelError",
    "Piece",
    "TooManyRequests",
    "Unreachable",
    "WaitTimeout",
    "__version__",
]
