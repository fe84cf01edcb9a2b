"""What a K8S task mounts, and which nodes it may run on. Pure; the structures are those of the API's `v1` Pod."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, model_validator

from worker.tasks.inserted import plain
from worker.tasks.kubernetes_api import Json


class Volume(BaseModel):
    """One source of files: a claim, config map or secret, or an empty folder of this size. `sub_path` selects a
    part."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    claim: str | None = None
    config_map: str | None = None
    secret: str | None = None
    empty: str | None = None
    sub_path: str | None = None
    read_only: bool = False

    @model_validator(mode="after")
    def _has_one_source(self) -> Self:
        if [self.claim, self.config_map, self.secret, self.empty].count(None) != 3:
            raise ValueError("a volume has one source; write claim, config_map, secret or empty, such as empty: 1Gi")
        return self

    @property
    def source(self) -> Json:
        if self.claim is not None:
            return {"persistentVolumeClaim": {"claimName": plain(self.claim)}}
        if self.config_map is not None:
            return {"configMap": {"name": plain(self.config_map)}}
        if self.secret is not None:
            return {"secret": {"secretName": plain(self.secret)}}
        assert self.empty is not None, "it has one source"
        return {"emptyDir": {"sizeLimit": plain(self.empty)}}


class Toleration(BaseModel):
    """A taint of nodes that the pod accepts; without a key all of them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    key: str | None = None
    operator: Literal["Exists", "Equal"] = "Exists"
    value: str | None = None
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = None

    @model_validator(mode="after")
    def _value_is_compared(self) -> Self:
        if (self.operator == "Equal") != (self.value is not None):
            raise ValueError("a value goes with operator: Equal; write both, or neither")
        if self.key is None and self.operator == "Equal":
            raise ValueError("operator: Equal compares the value of a key; write key")
        return self

    @property
    def written(self) -> Json:
        said = self.model_dump(exclude_none=True)
        return {name: plain(value) for name, value in said.items()}


MountPath = str
Volumes = dict[MountPath, Volume]
"""Path in the container -> source."""


def mounted(volumes: Mapping[MountPath, Volume]) -> tuple[list[Json], list[Json]]:
    """The volumes of the pod, and the mounts of its container. A source that is mounted twice is one volume."""
    sources: list[Json] = []
    mounts = []
    for path, volume in volumes.items():
        # An empty folder is a new one each time.
        if volume.empty is not None or volume.source not in sources:
            sources.append(volume.source)
        place = len(sources) - 1 if volume.empty is not None else sources.index(volume.source)
        mount: Json = {"name": f"volume-{place}", "mountPath": plain(path), "readOnly": volume.read_only}
        mounts.append(mount if volume.sub_path is None else {**mount, "subPath": plain(volume.sub_path)})
    return [{"name": f"volume-{place}", **source} for place, source in enumerate(sources)], mounts
