from clusters.models.chores import Chore
from clusters.models.files import Fetch, OutputFile
from clusters.models.hosts import AgentReport, Chip, Cluster, EnrolmentToken, Host, Slice
from clusters.models.loops import Loop
from clusters.models.orders import Order
from clusters.models.runtimes import Runtime, Source, Upload
from clusters.models.workloads import Lease, Rank, Workload

__all__ = [
    "AgentReport",
    "Chip",
    "Chore",
    "Cluster",
    "EnrolmentToken",
    "Fetch",
    "Host",
    "Lease",
    "Loop",
    "Order",
    "OutputFile",
    "Rank",
    "Runtime",
    "Slice",
    "Source",
    "Upload",
    "Workload",
]
