"""What is said with a request about workflow definitions."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from model.fields import NAME_LENGTH_MAX
from service.fields import Asked, Text

Name = Annotated[Text, Field(max_length=NAME_LENGTH_MAX)]


class WorkflowReference(Asked):
    """How people name a workflow: by its name, or its code."""

    name: Name
    project: Name = "default"
