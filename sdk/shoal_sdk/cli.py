"""`shoal-sdk`: render flows as files, deploy them, and run one."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shoal_sdk.client import Client
from shoal_sdk.deploying import DEFAULT_PROJECT, Source, deployed, rendered
from shoal_sdk.discover import flows_of
from shoal_sdk.errors import RunFailed, SdkError, WrongFlow
from shoal_sdk.flows import Flow
from shoal_sdk.types_of_values import plain


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program; its exit code is 0 if all went well, 1 for an error, 2 for wrong options."""
    options = _parser().parse_args(arguments)
    try:
        code: int = options.act(options)
    except SdkError as error:
        sys.stderr.write(f"{error}\n")
        code = 1
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="shoal-sdk", description="Shoal workflows in Python.")
    verbs = parser.add_subparsers(required=True, metavar="VERB")
    render = verbs.add_parser("render", help="write flows as YAML files")
    render.add_argument("-o", "--out", type=Path, help="the folder; else they are printed")
    render.add_argument("--check", action="store_true", help="only say whether the files there are up to date")
    render.set_defaults(act=_render)
    deploy = verbs.add_parser("deploy", help="save flows on a server, all or none")
    deploy.add_argument("--origin", help="marks what is saved from here; else their project")
    deploy.add_argument("--dry-run", action="store_true", help="only check, and say what would be saved")
    deploy.add_argument("--prune", action="store_true", help="delete flows of this origin that are no longer here")
    deploy.add_argument("--force", action="store_true", help="replace also what others changed or made")
    deploy.set_defaults(act=_deploy)
    for verb in (render, deploy):
        verb.add_argument("paths", nargs="+", type=Path, metavar="FILE", help="files, or folders of them")
        verb.add_argument("--project", help=f"for flows that name none; else {DEFAULT_PROJECT}")
    run = verbs.add_parser("run", help="start a deployed flow of a file, wait for it and print its result")
    run.add_argument("file", type=Path, help="FILE")
    run.add_argument("flow", nargs="?", help="its name, if the file has several")
    run.add_argument("--param", action="append", default=[], metavar="NAME=VALUE", help="a parameter; JSON or text")
    run.add_argument("--key", help="within 24 hours, the same key starts the same run once")
    run.add_argument("--project", help="for a flow that names none")
    run.set_defaults(act=_run)
    return parser


def _render(options: argparse.Namespace) -> int:
    flows = flows_of(options.paths)
    texts = {f"{flow.name}.yaml": flow.yaml(options.project) for flow in flows}
    if len(texts) < len(flows):
        raise WrongFlow("two flows of different projects have one name; render them into different folders")
    if options.out is None:
        sys.stdout.write("---\n".join(texts.values()))
        return 0
    if options.check:
        stale = [name for name, text in texts.items() if _read(options.out / name) != text]
        for name in stale:
            sys.stderr.write(f"{options.out / name} is not up to date; shoal-sdk render -o {options.out}\n")
        return 1 if stale else 0
    options.out.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (options.out / name).write_text(text, "utf-8")
        sys.stdout.write(f"{options.out / name}\n")
    if any(flow.built(options.project).files for flow in flows):
        sys.stderr.write("Some flows need files of their project, which only shoal-sdk deploy saves.\n")
    return 0


def _deploy(options: argparse.Namespace) -> int:
    flows = [rendered(flow, options.project) for flow in flows_of(options.paths)]
    projects = sorted({flow.project for flow in flows})
    if options.origin is None and len(projects) > 1:
        raise WrongFlow(f"the flows are of several projects: {', '.join(projects)}; say where they come from: --origin")
    source = Source(options.origin or projects[0], _commit())
    with Client() as client:
        done = client.carry_out(
            deployed(flows, source, dry_run=options.dry_run, prune=options.prune, force=options.force)
        )
    for sentence in done.sentences:
        sys.stdout.write(f"{sentence}\n")
    if options.dry_run:
        sys.stdout.write("Nothing is saved: this was --dry-run.\n")
    return 0


def _run(options: argparse.Namespace) -> int:
    flow = _chosen(flows_of([options.file]), options.flow)
    params = {}
    for each in options.param:
        name, equals, text = each.partition("=")
        if not equals:
            raise WrongFlow(f'--param "{each}" has no value; write NAME=VALUE')
        params[name] = _value(text, flow.hints.get(name))
    with Client() as client:
        run = client.start(flow, key=options.key, project=options.project, **params)
        sys.stdout.write(f"run {run.id} of {flow.name}\n")
        try:
            result = run.result
        except RunFailed as failed:
            sys.stdout.write(f"{failed.state}\n")
            raise
    said = json.dumps(plain(result, "the result"), ensure_ascii=False)
    sys.stdout.write(f"SUCCESS{'' if result is None else f': {said}'}\n")
    return 0


def _chosen(flows: Sequence[Flow[..., Any]], name: str | None) -> Flow[..., Any]:
    if name is None and len(flows) == 1:
        return flows[0]
    names = ", ".join(flow.name for flow in flows)
    for flow in flows:
        if flow.name == name:
            return flow
    raise WrongFlow(f"name a flow of the file; there are {names}" if name is None else f'no flow "{name}", but {names}')


def _value(text: str, annotation: Any) -> Any:
    if annotation is str:
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def _read(path: Path) -> str | None:
    return path.read_text("utf-8") if path.is_file() else None


def _commit() -> str | None:
    """The commit of the working folder, with a + if it has changes; None outside of git."""
    try:
        head = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True)
        changes = subprocess.run(["git", "status", "--porcelain", "-uno"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return f"{head.stdout.strip()}{'+' if changes.stdout.strip() else ''}"


if __name__ == "__main__":
    main()
