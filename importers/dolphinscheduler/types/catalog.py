"""Which conversion each task type of DolphinScheduler has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from importers.dolphinscheduler.context import Context
from importers.dolphinscheduler.flow import Step
from importers.dolphinscheduler.types.dependent import dependent
from importers.dolphinscheduler.types.http import http
from importers.dolphinscheduler.types.kubernetes import kubernetes
from importers.dolphinscheduler.types.logic import conditions, dynamic, sub_process, switch
from importers.dolphinscheduler.types.scripts import python, remote_shell, shell
from importers.dolphinscheduler.types.spark import map_reduce, spark
from importers.dolphinscheduler.types.sql import procedure, sql
from importers.draft import Draft

CONVERSIONS: Mapping[str, Callable[[Step, Draft, Context], None]] = MappingProxyType(
    {
        "SHELL": shell,
        "PYTHON": python,
        "REMOTESHELL": remote_shell,
        "SQL": sql,
        "PROCEDURE": procedure,
        "HTTP": http,
        "SPARK": spark,
        "MR": map_reduce,
        "K8S": kubernetes,
        "DEPENDENT": dependent,
        "CONDITIONS": conditions,
        "SWITCH": switch,
        "SUB_PROCESS": sub_process,
        "SUB_WORKFLOW": sub_process,
        "DYNAMIC": dynamic,
    }
)

_SERVICE = "call {} by a SHELL or HTTP task"
NEVER: Mapping[str, str] = MappingProxyType(
    {
        "BLOCKING": "it blocks the workflow; give that an execution_type, such as SERIAL_WAIT",
        "CHECK": "it checks whether the workflow runs; give that an execution_type, such as SERIAL_WAIT",
        "DATA_QUALITY": "write its check as a SQL task",
        "JUPYTER": "call papermill by a SHELL task",
        "MLFLOW": "call mlflow by a SHELL task",
        "OPENMLDB": "call the client of OpenMLDB by a SHELL task",
        "DVC": "call dvc by a SHELL task",
        "PYTORCH": "call its script by a SHELL or PYTHON task",
        "CHUNJUN": "call chunjun by a SHELL task",
        "LINKIS": "call linkis-cli by a SHELL task",
        "GRPC": "call grpcurl by a SHELL task",
        "KUBEFLOW": "call kubectl by a SHELL task",
        **{
            name: _SERVICE.format(service)
            for name, service in (
                ("EMR", "the AWS command line"),
                ("EMR_SERVERLESS", "the AWS command line"),
                ("SAGEMAKER", "the AWS command line"),
                ("DATASYNC", "the AWS command line"),
                ("DMS", "the AWS command line"),
                ("DATA_FACTORY", "Azure's command line"),
                ("DINKY", "the API of Dinky"),
                ("ZEPPELIN", "the API of Zeppelin"),
                ("ALIYUN_SERVERLESS_SPARK", "Alibaba Cloud's command line"),
                ("ALIYUN_ADB_SPARK", "Alibaba Cloud's command line"),
            )
        },
    }
)
"""Types without a counterpart, and what to do instead."""
