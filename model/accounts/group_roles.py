"""The roles that the groups of an identity provider give: `GROUP=PROJECT:ROLE`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from model.accounts.rights import Role

_ORDER = list(Role)


@dataclass(frozen=True, slots=True)
class GroupRole:
    """The members of a group have at least this role in a project."""

    group: str
    project: str
    role: Role

    @classmethod
    def parse(cls, text: str) -> GroupRole:
        """Read `GROUP=PROJECT:ROLE`; a group may contain `=`, as LDAP's names do. Raises `ValueError`."""
        before, _, role = text.rpartition(":")
        group, _, project = before.rpartition("=")
        if not group.strip() or not project.strip() or role not in _ORDER:
            raise ValueError(f'"{text}" is not GROUP=PROJECT:ROLE, with a role of {", ".join(_ORDER)}')
        return cls(group.strip(), project.strip(), Role(role))


def roles_of(groups: Collection[str], given: Iterable[GroupRole]) -> Mapping[str, Role | None]:
    """The highest role in each named project; None if none of these groups gives one."""
    found: dict[str, Role | None] = {}
    for each in given:
        before = found.setdefault(each.project, None)
        if each.group in groups and (before is None or _ORDER.index(before) < _ORDER.index(each.role)):
            found[each.project] = each.role
    return found
