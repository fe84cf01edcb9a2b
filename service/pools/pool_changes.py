"""The operations that change resource pools: saved, deleted, and resources of them set aside or taken back."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from dao.accounts import audit
from dao.pools import resource_changes, saved_pools
from model.accounts.rights import Right
from model.definitions.problems import Problem
from model.errors import Refused
from model.pools.spec import InvalidPool, PoolSpec, fault_of_pool_name
from service.call import ANY_VERSION, Call, Subject
from service.operation import operation
from service.pools.answers import AppliedPools, ResourceChange, SavedPool
from service.pools.pool_file import PoolDocument
from service.pools.requests import ApplyPools, DeletePool, Name, PutPool, SetAsideResource, TakeBackResource
from service.pools.saving import KIND, PoolSaved, save_pools
from service.workflows.definition_files import parse_files

if TYPE_CHECKING:
    from dao.postgres.pool import AsyncConnection
    from service.call import Change

TAG, BODY_FILE = "resource-pools", "yaml"
NO_REASON = "no reason was given"


@operation("PUT", "/resource-pools/{name}", Right.ADMINISTER, TAG, has_secret=True)
async def put_pool(call: Call, name: Name, body: PutPool) -> SavedPool:
    """Save a pool. To change one needs `If-Match` with the version read.

    Resources that stay keep their holders; those that are gone leave the pool when they are given back; new ones can be
    had at once.
    """
    call.permit(None)
    if (body.yaml is None) == (body.spec is None):
        raise Refused("give the content either as `yaml` or as `spec`")
    document = await asyncio.to_thread(_document, call, name, body)
    async with call.changing(Subject(KIND, name, name=name)) as change:
        held = await saved_pools.hold(change.connection, [name])
        if (before := held.get(name)) is not None:
            call.expect(before.version, f", saved by {before.changed_by} at {before.changed_at:%F %T %Z}")
        elif call.if_match not in (None, ANY_VERSION):
            call.expect("none", ": it was deleted")
        put = await saved_pools.put(change.connection, held, {name: document.spec}, call.caller.name)
        saved = PoolSaved(document, put[name])
        change.before, change.after, change.answer = saved.before, saved.after, saved.answer()
    return change.answered(SavedPool)


@operation("POST", "/resource-pools:apply", Right.ADMINISTER, TAG, has_secret=True)
async def apply_pools(call: Call, body: ApplyPools) -> AppliedPools:
    """Save the pools of YAML files, all or none. Unchanged ones get no new version."""
    call.permit(None)
    documents = await _documents(call, body)
    if body.version is not None and len(documents) > 1:
        raise Refused(f"a version belongs to one pool, and the files have {len(documents)}; apply them one by one")
    if body.dry_run:
        return AppliedPools(pools=await _rehearsed(call, documents, body.version, are_new=body.are_new), dry_run=True)
    async with call.changing(Subject(KIND, documents[0].name, name=documents[0].name)) as change:
        saved = await save_pools(change.connection, documents, call.caller.name, body.version, are_new=body.are_new)
        first, *further = saved
        change.before, change.after = first.before, first.after
        await audit.insert(change.connection, [each.entry(call.caller, call.operation.name) for each in further])
        change.answer = AppliedPools(pools=[each.answer() for each in (first, *further)], dry_run=False)
    return change.answered(AppliedPools)


@operation("DELETE", "/resource-pools/{name}", Right.ADMINISTER, TAG, status=204)
async def delete_pool(call: Call, name: Name, query: DeletePool) -> None:
    """Delete a pool of which nobody holds a resource; with `force` though tasks wait for it."""
    async with call.changing(Subject(KIND, name, name=name)) as change:
        pool = await _held(call, change, name)
        waiting = await saved_pools.delete(change.connection, pool, despite_line=query.force)
        change.before, change.after = {"version": pool.version}, {"waiting": waiting} if waiting else None


@operation("POST", "/resource-pools/{name}/set-aside", Right.ADMINISTER, TAG)
async def set_aside_resource(call: Call, name: Name, body: SetAsideResource) -> ResourceChange:
    """Let nobody get a resource, whatever its check finds, until it is taken back. A task that holds it goes on."""
    why = body.reason.strip() or NO_REASON
    await _check_resource(call, name, body.resource)
    async with call.changing(Subject(KIND, name, name=name)) as change:
        pool = await _held(call, change, name)
        before = await resource_changes.read(change.connection, pool, body.resource)
        is_new = await resource_changes.set_aside(change.connection, pool, body.resource, why, call.caller.name)
        answer = await _changed(change.connection, pool, body.resource, is_new=is_new)
        change.before = {"set_aside": before.at is not None, **_by_whom(before.at, before.why, before.by)}
        after = _by_whom(answer.set_aside_at, answer.set_aside_why, answer.set_aside_by)
        change.after = {"resource": body.resource, "set_aside": True, **after}
        change.answer = answer
    return answer


@operation("POST", "/resource-pools/{name}/take-back", Right.ADMINISTER, TAG)
async def take_resource_back(call: Call, name: Name, body: TakeBackResource) -> ResourceChange:
    """Let a resource that is set aside, by a person or its check, be given again.

    One that a person set aside after its check had failed stays set aside by its check.
    """
    await _check_resource(call, name, body.resource)
    async with call.changing(Subject(KIND, name, name=name)) as change:
        pool = await _held(call, change, name)
        before = await resource_changes.take_back(change.connection, pool, body.resource)
        change.before = {"set_aside": True, "by": before.by or "its check"}
        change.answer = now = await _changed(change.connection, pool, body.resource, is_new=True)
        after = _by_whom(now.set_aside_at, now.set_aside_why, now.set_aside_by)
        change.after = {"resource": body.resource, "set_aside": now.set_aside_at is not None, **after}
    return change.answered(ResourceChange)


def _by_whom(at: datetime | None, why: str | None, by: str | None) -> Mapping[str, str | None]:
    """Why a resource is set aside, and by whom, for the audit; nothing if it is not."""
    return {} if at is None else {"why": why, "by": by or "its check"}


async def _check_resource(call: Call, pool: str, resource: str) -> None:
    """Raises `NotFound`, with the name that is near, while nobody waits for the pool: finding it takes a while."""
    call.require(Subject(KIND, pool, name=pool))
    async with call.reading() as connection:
        await resource_changes.read(connection, await saved_pools.head(connection, pool), resource)


async def _held(call: Call, change: Change, name: str) -> saved_pools.PoolHead:
    """The pool, which nobody else changes until this transaction ends. Raises `NotFound`, `Changed`."""
    pool = (await saved_pools.hold(change.connection, [name])).get(name)
    if pool is None:
        raise await saved_pools.not_found(change.connection, name)
    if call.if_match is not None:
        call.expect(pool.version, f", saved by {pool.changed_by} at {pool.changed_at:%F %T %Z}")
    return pool


async def _changed(
    connection: AsyncConnection, pool: saved_pools.PoolHead, resource: str, *, is_new: bool
) -> ResourceChange:
    now = await resource_changes.read(connection, pool, resource)
    return ResourceChange(
        pool=pool.name,
        resource=resource,
        is_new=is_new,
        is_held=now.held,
        set_aside_at=now.at,
        set_aside_why=now.why,
        set_aside_by=now.by,
    )


def _document(call: Call, name: str, body: PutPool) -> PoolDocument:
    if (fault := fault_of_pool_name(name)) is not None:
        raise Refused(fault)
    if body.spec is not None:
        try:
            return PoolDocument(name, PoolSpec.parse(body.spec))
        except InvalidPool as error:
            problems = [Problem(where=("spec", *each.where), sentence=each.sentence) for each in error.problems]
            raise InvalidPool(problems) from None
    assert body.yaml is not None
    found = parse_files([(BODY_FILE, body.yaml.encode())], call.backend.task_types)
    if found.workflows or [each.name for each in found.pools] != [name]:
        names = ", ".join(
            [f'workflow "{each.name}"' for each in found.workflows[:3]] + [*(each.name for each in found.pools)]
        )
        raise Refused(f'the file must have the pool "{name}" and nothing else; it has {names}')
    return found.pools[0]


async def _documents(call: Call, body: ApplyPools) -> list[PoolDocument]:
    contents = [(each.name, each.content.encode()) for each in body.files]
    found = await asyncio.to_thread(parse_files, contents, call.backend.task_types)
    if found.workflows:
        first = found.workflows[0]
        raise Refused(
            f'{first.file} has the workflow "{first.name}", and only pools are saved here; '
            f"say `shoal workflow apply`, which saves both"
        )
    return list(found.pools)


class _Undone(Exception):
    """Ends the transaction of a rehearsal."""


async def _rehearsed(
    call: Call, documents: list[PoolDocument], version: int | None, *, are_new: bool
) -> list[SavedPool]:
    answers: list[SavedPool] = []
    try:
        async with call.database.writing() as connection:
            saved = await save_pools(connection, documents, call.caller.name, version, are_new=are_new)
            answers = [each.answer() for each in saved]
            raise _Undone
    except _Undone:
        return answers
