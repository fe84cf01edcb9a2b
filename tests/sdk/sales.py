"""Flows of the tests, as a person writes them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Literal

from shoal_sdk import (
    TaskOptions,
    branch,
    cel,
    cron,
    day,
    depends_on,
    each,
    flow,
    http,
    pool,
    shell,
    sql,
    subflow,
    task,
    wait_for,
    wait_until,
    when_done,
)


@dataclass
class Loaded:
    rows: int
    bad: int
    files: list[str]


@task(requirements=["fish==1"])
def swim() -> int:
    """Has a library of its own."""
    return 1


@task(retries=2, retry_every="1s")
def extract(on: str) -> str:
    return f"/srv/in/{on}.csv\n" + "of ${on}"


@task
def load(source: str, table: str, since: date | None = None) -> Loaded:
    return Loaded(rows=len(source.splitlines()), bad=500 if table == "bad" else 0, files=[source, table, f"{since}"])


@task
def notify(bad: int, about: Loaded) -> str:
    return f"{bad} bad rows of {about.rows}"


@task
def measure(city: str, unit: str) -> str:
    return f"{city}: {len(city)} {unit}"


@task
def join(texts: list[str], rows: int) -> dict[str, int | str]:
    return {"rows": rows, "all": "; ".join(texts)}


@task
def clean_up() -> None:
    print("cleaned")  # noqa: T201


@flow(schedule=cron("0 5 * * *", zone="Europe/Berlin", missed="skip"), serial=True)
def daily_sales(
    on: str = day(-1),
    table: str = "sales",
    cities: list[str] = ["Lima", "Oslo"],  # noqa: B006 - it is only read
) -> dict[str, int | str]:
    """Loads the sales of a day."""
    loaded = load(extract(on), table, since=date(2026, 1, 1))
    publish = shell(
        "publish",
        'echo "#{setValue(line=${table} of ${on}: ${rows} ${first})}"',
        outputs={"line": str},
        rows=loaded.rows,
        first=loaded.files[1],
    )
    branch((loaded.bad > 100) & (loaded.files[1] == "bad"), then=notify(loaded.bad, loaded), otherwise=publish)
    joined = join(each(measure, city=cities, given={"unit": "letters"}, parallel=8), loaded.rows)
    when_done(joined, publish, do=clean_up())
    return joined


@flow
def weekly(on: str = "2026-01-31") -> str:
    found = subflow(daily_sales, on=on, table="weekly")
    return notify(found["rows"], Loaded(1, 2, []))


@task
def describe(status: int, file: str, cities: list[str]) -> str:
    return f"{status} {file} {sorted(cities)}"


@task
def upper(city: str) -> str:
    return city.upper()


@task(retries=1, pool=pool("proxies", 2))
def as_json(seen: dict[str, str | None], deep: list[Loaded]) -> list[str]:
    return [f"{seen}", *(each.files[0] for each in deep)]


@flow(defaults=TaskOptions(timeout="10m"))
def steps(url: str, folder: str, found: Literal["all", "some"] = "all") -> str:
    """A step of each kind that needs nothing but a file and an address."""
    answer = http("ask", "${url}/healthz", headers={"Accept": "application/json"})
    file = wait_until("file", every="1s", file="${folder}/*.txt")
    cities = shell("list", 'echo \'#{setValue(cities=["Lima", "Oslo"])}\'', outputs={"cities": list}, after=file)
    large = each(upper, city=cities.cities)
    described = describe(answer.status, file.file, large)
    branch((answer.status == 200) & ~cel('{found} == "some"', found=found), then=described)
    return described


@flow(fields={"worker_group": "etl"}, code="inline")
def everything(on: date = date(2026, 1, 31), limit: float = 1.5, sizes: list[int] = [1, 2]) -> list[str]:  # noqa: B006
    """Each kind of step and of parameter."""
    wait_for(daily_sales, cycle="today", timeout="2h")
    total = sql("total", "shop", "SELECT sum(price) AS total FROM sold WHERE day = ${on}", outputs={"total": float})
    same = load.with_options(name="load_eu", retries=0)("a", table="eu")
    said = as_json({"a": total.total, "b": None}, [same, Loaded(1, 2, ["x"])])
    depends_on(said, weekly_step := subflow(weekly, on="2026-02-01"))
    shell("report", 'echo "${text} ${limit}"', text=weekly_step, options=TaskOptions(skip_exit_codes=(99,)))
    return said


@task
def too_much(count: int) -> str:
    return "x" * count


@flow
def large(count: int = 70_000) -> str:
    return too_much(count)


if __name__ == "__main__":
    raise SystemExit("a task is not the main program")
