"""The large values of attempts: kept in the log store, and read for attempts that name them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import replace
from functools import partial

from dao.tasks.task_claims import ClaimedTask
from logstore import value_files
from logstore.calls import THREADS_MAX, StoreCalls
from logstore.protocol import Advanced, LogStore
from model.choices import ParameterType
from model.errors import Refused, Unavailable
from model.parameters.large_values import (
    ELEMENT_BYTES_MAX,
    INLINE_BYTES_MAX,
    Content,
    LargeValue,
    ValuesMissing,
    content_of,
    expanded,
    is_named,
    large_in,
    parts_of,
    put_together,
    remember,
)
from model.parameters.outputs import is_text
from model.runs.elements import is_element
from worker.results.recorded_ends import log_name
from worker.tasks.plugin import TaskResult
from worker.tasks.set_value_lines import VALUES_BYTES_MAX

VARIABLE = "SHOAL_VALUE_BYTES_MAX"
VERIFIED_S = 5.0


class ValueFiles:
    """The large values of one worker's attempts.

    Args:
        calls: of the log store; None: there is none.
        verify: raises `Unavailable` if the store is not this cluster's.
        bytes_max: per attempt.
    """

    def __init__(
        self,
        calls: StoreCalls | None = None,
        verify: Callable[[], Awaitable[None]] | None = None,
        bytes_max: int = INLINE_BYTES_MAX,
    ) -> None:
        self.calls = calls
        self._verify = verify
        self._verify_again_s = 0.0
        self.bytes_max = bytes_max if calls is not None else INLINE_BYTES_MAX

    @property
    def variables(self) -> Mapping[str, str]:
        """The variables that tell a task that it may give large values."""
        return {} if self.calls is None else {VARIABLE: str(self.bytes_max)}

    async def kept(self, result: TaskResult, task: ClaimedTask, types: Mapping[str, ParameterType]) -> TaskResult:
        """Replace each large value of the result; a failure if they cannot be kept."""
        one_max, all_max = INLINE_BYTES_MAX, VALUES_BYTES_MAX
        if is_element(task.code):
            one_max = all_max = ELEMENT_BYTES_MAX
        sizes = {name: len(value.encode(errors="replace")) for name, value in result.outputs.items()}
        large = [name for name, size in sizes.items() if size > one_max]
        small = sorted(sizes.keys() - large, key=lambda name: sizes[name])
        while sum(sizes[name] for name in small) > all_max:
            large.append(small.pop())
        if self.calls is None or not large:
            return result
        if (total := sum(sizes.values())) > self.bytes_max:
            said = f"{total:,} bytes of values, more than worker.value_bytes_max ({self.bytes_max:,}) allows"
            return TaskResult.failure(f"it gave {said}; give less, or a file's name")
        outputs, log = dict(result.outputs), log_name(task)

        def put(number: int, name: str, store: LogStore, advanced: Advanced) -> LargeValue:
            key, text = log.value_key(number), outputs[name]
            is_one = is_text(types.get(name), text)
            return value_files.put(store, advanced, key, task.name, name, text, is_text=is_one)

        name = large[0]
        try:
            await self.verified()
            for number, name in enumerate(large):
                outputs[name] = (await self.calls.run(partial(put, number, name))).written
        except Unavailable as error:
            return TaskResult.failure(f'its value "{name}" ({sizes[name]:,} bytes) could not be kept: {error}')
        return replace(result, outputs=outputs)

    async def verified(self) -> None:
        """Check that the store is this cluster's, unless it was checked a moment ago."""
        now_s = asyncio.get_running_loop().time()
        if self._verify is not None and now_s >= self._verify_again_s:
            await self._verify()
            self._verify_again_s = now_s + VERIFIED_S

    async def read(self, values: Mapping[str, str], params: str, declared: Collection[str]) -> dict[str, str]:
        """Insert those large values that the task's parameters name or that are `declared`; others are left out. Raises
        `Refused` for one that cannot be read."""
        found = {}
        for name, value in values.items():
            if not large_in(value):
                found[name] = value
            elif name in declared or is_named(name, params):
                found[name] = await self._expanded(value)
        return found

    async def _expanded(self, value: str) -> str:
        found = {each: await self._whole(each) for each in large_in(value)}
        return expanded(value, lambda each: found[each])

    async def _whole(self, value: LargeValue) -> str:
        if value.in_parts:
            return await self._put_together(value)
        try:
            return content_of(value).text
        except ValuesMissing:
            text = await self._text(value)
            remember(value, Content(text))
            return text

    async def _put_together(self, value: LargeValue) -> str:
        """Read a value in parts, which are not cached: they may be many."""
        text = await self._text(value)
        parts, found = parts_of(value, text, self.bytes_max), dict[LargeValue, str]()
        for first in range(0, len(parts), THREADS_MAX):
            some = parts[first : first + THREADS_MAX]
            found |= zip(some, await asyncio.gather(*map(self._part, some)), strict=True)
        return put_together(text, lambda part: found[part])

    async def _part(self, value: LargeValue) -> str:
        return await (self._put_together(value) if value.in_parts else self._text(value))

    async def _text(self, value: LargeValue) -> str:
        if self.calls is None:
            raise value_files.not_set(value)
        try:
            return await self.calls.run(lambda store, advanced: value_files.read(store, advanced, value))
        except Unavailable as error:
            raise Refused(f"{value.said} cannot be read: {error}") from None
