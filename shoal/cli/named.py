"""Resolves a name to a workflow or run."""

from __future__ import annotations

from service.runs import answers, showing
from service.runs import requests as run_requests
from service.workflows import listing, requests
from shoal.clients.client import Client


async def workflow_named(client: Client, name: str, project: str) -> listing.WorkflowAnswer:
    """The workflow with this name or code. Raises `NotFound`."""
    return await client.ask(listing.find_workflow, requests.WorkflowReference.read(name=name, project=project))


async def run_named(client: Client, name: str, project: str | None) -> answers.RunAnswer:
    """The run with this id, a word such as `@last`, or the name of a workflow. Raises `NotFound`."""
    return await client.ask(showing.find_run, run_requests.RunReference.read(name=name, project=project))
