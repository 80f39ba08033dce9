from clusters.models.files import Fetch, OutputFile
from clusters.models.hosts import Chip, Cluster, EnrolmentToken, Host, Slice
from clusters.models.loops import Loop
from clusters.models.orders import Order
from clusters.models.runtimes import Runtime, Source
from clusters.models.workloads import Lease, Rank, Workload

__all__ = [
    "Chip",
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
    "Workload",
]
