"""The settings of a sender of alerts."""

from __future__ import annotations

from datetime import timedelta

from pydantic import BaseModel, ConfigDict, Field

from model.cluster.timing import Duration
from model.listed import Names


class AlertSettings(BaseModel):
    """The pace and the limits of sending alerts."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    reach: Names = Field(
        ("*",),
        description="inside hosts and networks, such as mail.example.org or 10.1.0.0/16, to which channels may lead "
        "besides public addresses; * = all but those where clouds answer with credentials",
    )
    page_url: str | None = Field(
        None,
        pattern="^https?://[^ ]+$",
        description="the page as people open it, such as https://shoal.example.org/ui, for links in alerts",
    )
    timeout: Duration = Field(timedelta(seconds=30), description="time that a channel gets for one message")
    at_once: int = Field(
        8,
        ge=2,
        le=200,
        description="channels to which it sends at once, at most half of them ones that just failed",
    )
    look_every: Duration = Field(timedelta(seconds=2), description="how often it polls for alerts when nobody wakes it")
    retry_first: Duration = Field(
        timedelta(seconds=10), description="pause of a channel after its first failure; each further one doubles it"
    )
    retry_max: Duration = Field(timedelta(minutes=10), description="longest of these pauses")
    retry_for: Duration = Field(
        timedelta(days=1), description="how long an alert is tried on a channel; then it is FAILED"
    )
    group_from: int = Field(5, ge=2, description="so many alerts that wait for one channel are sent as one message")
    group_max: int = Field(100, ge=2, le=1_000, description="most alerts in one message")
