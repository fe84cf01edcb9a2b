"""What a load balancer asks: whether the process lives, whether it can serve, and its version."""

from __future__ import annotations

from typing import Literal

from fastapi import FastAPI, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from dao.postgres import schema
from model.errors import ShoalError
from service.call import Backend


class Health(BaseModel):
    """Whether it works; `reasons` are why it does not."""

    status: Literal["ok", "not ready"]
    reasons: list[str] = []


class Version(BaseModel):
    """The version of Shoal that answers."""

    version: str


def add_health(app: FastAPI, backend: Backend, version: str, base: str) -> None:
    """Add `/healthz`, `/readyz` and the version. None of them needs a login, none says more than it must."""

    @app.get("/healthz", operation_id="get_health", tags=["health"], response_model=Health)
    async def healthz() -> Health:
        """Say that the process lives."""
        return Health(status="ok")

    @app.get(
        "/readyz",
        operation_id="get_readiness",
        tags=["health"],
        response_model=Health,
        responses={503: {"model": Health}},
    )
    async def readyz() -> Response:
        """Say whether it can serve: the database answers, and has a schema that fits."""
        try:
            await schema.check(backend.database)
        except ShoalError:
            reasons = ["the database cannot be used; the log of the API says why"]
            found, status = Health(status="not ready", reasons=reasons), 503
        else:
            found, status = Health(status="ok"), 200
        headers = {"Retry-After": "1"} if status != 200 else {}
        return JSONResponse(found.model_dump(), status_code=status, headers=headers)

    @app.get(f"{base}/version", operation_id="get_version", tags=["health"], response_model=Version)
    async def get_version() -> Version:
        """Say which version of Shoal answers."""
        return Version(version=version)
