"""Large workflows: ten thousand tasks in one of them, and a thousand workflows under another one.

Memory is the peak of each process while they ran, read from the kernel (`VmHWM`, which is reset for each part).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bench.cluster import Cluster, fake
from bench.figures import Figure
from bench.sizes import Sizes

PART = "Large workflows: one master, one worker"
_LAYERED, _PARENT, _CHILD = 1011, 1012, 1013

_TOOK = """
    SELECT i.state, extract(epoch FROM i.ended_at - (SELECT created_at FROM command_history
                                                     WHERE command_id = i.command_id))::float8,
           (SELECT count(*) FROM task_instance t WHERE t.workflow_instance_id = i.id AND t.state = 'SUCCESS')
    FROM workflow_instance i WHERE i.command_id = %(first)s
"""
_CHILDREN = "SELECT count(*) FROM workflow_instance WHERE workflow_code = %(code)s AND state = 'SUCCESS'"


def layered(cluster: Cluster, sizes: Sizes) -> list[Figure]:
    """One workflow of layers of FAKE tasks, each task after two of the previous layer: tasks a second, peak memory."""
    layers, width = sizes.large_layers, sizes.large_width
    cluster.define(_LAYERED, _layers(layers, width))
    _forget_peaks(cluster)
    first, _ = cluster.start(_LAYERED)
    cluster.wait_until_all_ended(300)
    _, took_s, tasks = cluster.row(_TOOK, first=first)
    how = f"{tasks:,} tasks in {took_s:.2f} s, in {layers} layers of {width}"
    return [
        Figure("large_tasks_per_s", PART, "tasks of one large workflow", tasks / took_s, "/s", None, how),
        *_peaks(cluster, "large", f"while {tasks:,} tasks of one workflow ran"),
    ]


def children(cluster: Cluster, sizes: Sizes) -> list[Figure]:
    """One DYNAMIC task that starts all of its children at once: children a second, peak memory."""
    count = sizes.sub_workflows
    cluster.define(_CHILD, [fake("a")])
    each = {"name": "n", "value": ",".join(map(str, range(count)))}
    params = {"workflow": _CHILD, "lists": [each], "parallelism": count, "max_instances": count}
    cluster.define(_PARENT, [{"name": "all", "type": "DYNAMIC", "params": params}])
    _forget_peaks(cluster)
    first, _ = cluster.start(_PARENT)
    cluster.wait_until_all_ended(300)
    state, took_s, _ = cluster.row(_TOOK, first=first)
    (ended,) = cluster.row(_CHILDREN, code=_CHILD)
    how = f"{ended:,} sub-workflows at once in {took_s:.2f} s, and the one above them ended as {state}"
    return [
        Figure("children_per_s", PART, "sub-workflows of one workflow", ended / took_s, "/s", None, how),
        *_peaks(cluster, "children", f"while {ended:,} sub-workflows ran"),
    ]


def _layers(layers: int, width: int) -> list[dict[str, object]]:
    def before(layer: int, place: int) -> Sequence[str]:
        return [f"t{layer - 1}_{place}", f"t{layer - 1}_{(place + 1) % width}"] if layer else []

    return [fake(f"t{layer}_{place}", *before(layer, place)) for layer in range(layers) for place in range(width)]


def _forget_peaks(cluster: Cluster) -> None:
    for node in cluster.nodes:
        Path(f"/proc/{node.pid}/clear_refs").write_text("5")


def _peaks(cluster: Cluster, key: str, when: str) -> list[Figure]:
    figures = []
    for node in cluster.nodes:
        status = Path(f"/proc/{node.pid}/status").read_text()
        (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
        mib = int(line.split()[1]) / 1024
        figures.append(
            Figure(f"{key}_{node.role}_peak_mib", PART, f"peak memory of the {node.role} {when}", mib, "MiB")
        )
    return figures
