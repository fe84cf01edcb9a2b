"""Two task types as a plug-in: WORDCOUNT works by itself, SORTWORDS by a process. Guide: docs/guides/plugins.md."""

from __future__ import annotations

import asyncio

from pydantic import Field

from shoal.plugin import Task, TaskContext, TaskParams, TaskResult, run_process


class WordCountTask(Task):
    """Counts the words of a text; gives `words`, and `most` for the one that it holds most often."""

    class Params(TaskParams):
        """`text` is what to count in; a text of more than `words_max` words is too long."""

        text: str
        words_max: int = Field(default=1000, ge=1)

    params: Params
    starts_processes = False

    async def run(self, context: TaskContext) -> TaskResult:
        """Count, a hundred words at a time: between them other tasks of the worker have their turn."""
        words = self.params.text.split()
        if not words:
            return TaskResult.failure("there is no word to count; give a text")
        if len(words) > self.params.words_max:
            return TaskResult.failure(f"the text has more than {self.params.words_max} words; shorten it")
        counts: dict[str, int] = {}
        for number, word in enumerate(words):
            counts[word] = counts.get(word, 0) + 1
            if number % 100 == 99:
                await asyncio.sleep(0)
        most = max(counts, key=lambda word: counts[word])
        context.log.write(f'{len(words)} words, most often "{most}"\n')
        return TaskResult.success({"words": str(len(words)), "most": most})


class SortWordsTask(Task):
    """Sorts the words of a text by the machine's `sort`; gives `first`."""

    class Params(TaskParams):
        """`text` is what to sort."""

        text: str

    params: Params

    async def run(self, context: TaskContext) -> TaskResult:
        """Written to a file before the process starts; the folder may become another user's then."""
        words = context.folder / "words"
        words.write_text("\n".join(self.params.text.split()) + "\n", encoding="utf-8")
        script = 'sort words > sorted && cat sorted && echo "#{setValue(first=$(head -n 1 sorted))}"'
        return await run_process(["sh", "-c", script], context, {"LC_ALL": "C"})
