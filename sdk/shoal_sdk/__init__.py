"""Shoal workflows in Python: typed, built on your machine, deployed as ordinary definitions.

`@task` and `@flow` make them, `Client` starts them, and `shoal-sdk deploy` saves them. See README.md.
"""

from shoal_sdk.async_client import AsyncClient
from shoal_sdk.client import Client
from shoal_sdk.code import bundle
from shoal_sdk.control import branch, depends_on, each, when_done
from shoal_sdk.errors import NotAValueYet, Refused, RunFailed, SdkError, Unavailable, WrongFlow
from shoal_sdk.files import File
from shoal_sdk.flows import Flow, flow
from shoal_sdk.in_task import current
from shoal_sdk.options import TaskOptions, pool
from shoal_sdk.refs import cel
from shoal_sdk.steps import http, shell, sql, subflow, wait_for, wait_until
from shoal_sdk.tasks import Task, task
from shoal_sdk.times import cron, day

__all__ = [
    "AsyncClient",
    "Client",
    "File",
    "Flow",
    "NotAValueYet",
    "Refused",
    "RunFailed",
    "SdkError",
    "Task",
    "TaskOptions",
    "Unavailable",
    "WrongFlow",
    "branch",
    "bundle",
    "cel",
    "cron",
    "current",
    "day",
    "depends_on",
    "each",
    "flow",
    "http",
    "pool",
    "shell",
    "sql",
    "subflow",
    "task",
    "wait_for",
    "wait_until",
    "when_done",
]
