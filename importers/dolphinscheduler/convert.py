"""The whole import: files in, files and a report out. Nothing of it reads or writes a disk, a clock or a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from importers import documents
from importers.catalog import Names
from importers.dolphinscheduler import decoding, forms, parameters, schedules, semantics, tasks, workflows
from importers.dolphinscheduler.context import DEFAULTS, Context, Index, Options
from importers.dolphinscheduler.flow import Flow
from importers.dolphinscheduler.names import task_names, workflow_name
from importers.draft import Draft
from importers.imported import Imported, Origin, finished
from importers.ledger import Ledger, Mark, Path, short, shown
from importers.passwords import Hidden, Passwords
from importers.report import About, Report
from model.errors import Refused
from service.workflows.workflow_file import TaskTypes


class _Import:
    """One import on its way."""

    def __init__(self, given: Mapping[str, Mapping[str, str]], types: TaskTypes, options: Options) -> None:
        self.report = Report()
        self.names = Names(given)
        self.passwords = Passwords()
        self.report.mask = self.passwords.masked
        self.index = Index()
        self.types = types
        self.options = options
        self.flows: list[Flow] = []
        self.ledgers: dict[str, Ledger] = {}
        self.habits: dict[str, set[str]] = {}
        self.pools: dict[str, int] = {}

    def read(self, file: str, data: bytes) -> None:
        about = self.report.about(file)
        try:
            read = decoding.read_input(data)
        except Refused as error:
            about.refuse(str(error))
            self.report.forms[file] = "none"
            return
        for note in read.notes:
            about.changed("", note)
        self.passwords.learn(read.tree)
        ledger = self.ledgers[file] = Ledger(read.tree)
        found = list(forms.flows_of(read.tree, ledger, file, about, lenient=self.options.lenient))
        self.report.forms[file] = ", ".join(dict.fromkeys(flow.form for flow in found)) or "none"
        self.flows += found

    def projects(self) -> list[str]:
        """The project of each workflow. That of a single unknown code is the default one, which is said."""
        unknown = {flow.project_code for flow in self.flows if not flow.project and flow.project_code}
        found = []
        for flow in self.flows:
            about = self.report.about(flow.file)
            name: str | None = flow.project
            if not name and flow.project_code:
                name = self.names.find("projects", flow.project_code, f'of "{flow.name}"')
                if name is None and len(unknown) > 1:
                    own = self.report.about(flow.file, flow.name)
                    own.todo("projectCode", f"name the project {flow.project_code} in catalog.yaml")
                elif name is None:
                    sentence = (
                        f"the project {flow.project_code} has no name in it; its workflows go to {self.options.project}"
                    )
                    about.changed("projectCode", sentence)
            found.append(name or self.options.project)
        return found

    def context(self, flow: Flow, project: str, name: str) -> Context:
        """The workspace of one workflow."""
        about = self.report.about(flow.file, flow.name)
        flow = _with_own_keys(flow, about)
        named = task_names(((step.key, step.name) for step in flow.steps), about)
        context = Context(
            flow,
            name,
            about,
            self.names,
            self.index,
            self.passwords,
            self.options,
            project,
            Hidden(self.passwords),
            named,
        )
        for step in flow.steps:
            task = named[step.key]
            context.drafts[task] = Draft(task, about.of_task(task), self.passwords)
        for before, after in flow.edges:
            draft = context.drafts[named[after]]
            if before == after:
                draft.about.changed("after", "it comes after itself there, which no task can; the arrow is left out")
            elif named[before] not in draft.after:
                draft.after.append(named[before])
        if name != flow.name:
            about.changed("name", f'it is called "{name}" here: no workflow may be called "{flow.name}"')
        return context

    def convert(self, context: Context) -> dict[str, object]:
        """The content of a workflow's file."""
        workflows.convert(context)
        for step in context.flow.steps:
            tasks.convert(step, context)
        if context.flow.schedule is not None:
            schedules.convert(context.flow.schedule, context)
        self.habits.setdefault(context.flow.file, set()).update(context.habits)
        self.pools.update(context.pools)
        made = context.fields
        listed = [context.hidden.without(draft.content()) for draft in context.drafts.values()]
        params = {**context.hidden.without(made.get("params", {})), **dict(parameters.secret_params(context))}
        layout = made.pop("layout", None)
        made.pop("params", None)
        return {
            **documents.head_of(context.name, context.project),
            "release_state": made.pop("release_state"),
            **made,
            **({"params": params} if params else {}),
            "tasks": listed,
            **({"layout": layout} if layout else {}),
        }

    def checked(self, context: Context, content: dict[str, object]) -> documents.Checked:
        """The workflow as Shoal's readers understand it; what they do not is reported."""
        found = documents.reported(content, self.types, context.about)
        if found.document is not None:
            semantics.of_workflow(found.document.spec, context)
            self.habits[context.flow.file].update(context.habits)
        return found

    def leftovers(self, contexts: Sequence[Context]) -> None:
        """Report what nobody asked for: a field that no version of this import knows."""
        abouts: dict[tuple[str, Path], About] = {}
        for context in contexts:
            flow = context.flow
            if flow.schedule is not None:
                abouts[flow.file, flow.schedule.path] = context.about.of_task(schedules.SCHEDULE)
            if flow.fields.path and isinstance(flow.fields.path[-1], str):
                abouts[flow.file, flow.fields.path[:-1]] = context.about
            abouts[flow.file, flow.fields.path] = context.about
            for step in flow.steps:
                abouts[flow.file, step.fields.path] = context.drafts[context.task_names[step.key]].about
        for file, ledger in self.ledgers.items():
            for path, value in list(ledger.unread()):
                around = (abouts.get((file, path[:length])) for length in range(len(path), -1, -1))
                about = next(filter(None, around), self.report.about(file))
                sentence = f"{shown(path)} = {short(value)}: nobody knows this field"
                about.lost(str(path[-1]) if path else "", sentence)
                ledger.mark(path, Mark.REPORTED)
            self.report.counts += ledger.counts()


def import_files(
    files: Sequence[tuple[str, bytes]],
    given: Mapping[str, Mapping[str, str]],
    types: TaskTypes,
    options: Options = DEFAULTS,
) -> Imported:
    """Import definitions of DolphinScheduler.

    Args:
        files: name and content of each input.
        given: the names behind ids, of a catalog that people filled in.
        types: the task types that there are.
        options: what a person asked for.
    """
    work = _Import(given, types, options)
    for file, data in files:
        work.read(file, data)
    projects = work.projects()
    called = [workflow_name(flow.name) for flow in work.flows]
    for flow, project, name in zip(work.flows, projects, called, strict=True):
        work.index.workflows.update(dict.fromkeys(flow.ids, (project, name)))
    contexts = [work.context(*each) for each in zip(work.flows, projects, called, strict=True)]
    for context in contexts:
        work.index.tasks.update(context.task_names)
    contents = [work.convert(context) for context in contexts]
    for twice in semantics.same_names(contexts):
        twice.about.todo("name", f'another workflow of the project "{twice.project}" has its name; rename one of them')
    checks = [work.checked(context, content) for context, content in zip(contexts, contents, strict=True)]
    work.leftovers(contexts)
    for file, habits in work.habits.items():
        semantics.of_file(habits, work.report.about(file))
    written = {}
    paths = documents.file_names(map(work.passwords.masked, called))
    for name, context, content, check in zip(paths, contexts, contents, checks, strict=True):
        text = documents.written(content, check, work.report.todos(context.flow.file, context.flow.name))
        written[name] = work.passwords.masked(text) if work.passwords.has(text) else text
    if work.pools:
        written[documents.POOLS] = documents.pools_file(work.pools)
    origins = {
        path: Origin(each.project, each.name, each.flow.file, each.flow.name)
        for path, each in zip(paths, contexts, strict=True)
    }
    return finished(written, work.report, work.names, origins)


def _with_own_keys(flow: Flow, about: About) -> Flow:
    """The same, in which no two tasks have one key. An export with two such was put together by hand."""
    taken: set[str] = set()
    steps = []
    for step in flow.steps:
        key, number = step.key, 2
        while key in taken:
            key, number = f"{step.key} {number}", number + 1
        taken.add(key)
        if key != step.key:
            sentence = f'more than one task has the name or code "{step.key}"; all arrows are those of the first'
            about.todo("name", sentence)
        steps.append(step if key == step.key else replace(step, key=key))
    return replace(flow, steps=steps)
