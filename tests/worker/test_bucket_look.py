"""A WAIT task looks for an object in S3-compatible storage, which a real server has."""

from __future__ import annotations

import json
from dataclasses import replace

import obstore
import pytest

from dao.secrets.data_source_url import parse_data_source_url, secrets_of, shown_url
from model.errors import Refused
from model.runs.states import TaskState as T
from tests.every import every
from tests.servers.s3 import KEY, SECRET, S3Server
from tests.worker.scene import Scene
from tests.worker.test_tasks import context
from worker.tasks.catalog import TaskCatalog
from worker.tasks.plugin import TaskResult

NOT_YET = T.DELAY_EXECUTION


class Storage:
    """Looks into one bucket."""

    def __init__(self, scene: Scene, server: S3Server, bucket: str) -> None:
        self.scene, self.server, self.bucket = scene, server, bucket
        self.url = f"s3://{KEY}:{SECRET}@127.0.0.1:{server.port}/{bucket}?tls=off"

    def put(self, *keys: str) -> None:
        for key in keys:
            obstore.put(self.server.store(self.bucket), key, b"x")

    async def look(self, key: str, **values: str) -> TaskResult:
        asked = []

        async def data_source(name: str) -> str:
            asked.append(name)
            return self.url

        thing = {"for": {"s3": {"datasource": "${lake}", "key": key}}}
        task = TaskCatalog().make("WAIT", json.dumps(thing), {"lake": "lake", **values})
        assert task.data_source({}) == "lake"
        result = await task.run(replace(context(self.scene, values=values), data_source=data_source))
        assert asked == ["lake"]
        return result


@pytest.fixture
def storage(scene: Scene, s3_server: S3Server, bucket: str) -> Storage:
    return Storage(scene, s3_server, bucket)


@pytest.mark.parametrize(
    ("key", "found"),
    [
        *(("in/orders_2.csv", "in/orders_2.csv"), ("in/*.csv", "in/orders_1.csv"), ("*/b/*", "in/b/ä b+c")),
        *(
            ("in/orders_[2-9].csv", "in/orders_2.csv"),
            ("in/b/ä b+c", "in/b/ä b+c"),
            ("i?/orders_1.csv", "in/orders_1.csv"),
        ),
        *(("in/*.txt", None), ("in", None), ("in/", None), ("in/orders", None), ("*.csv", None), ("other/*", None)),
        *(("in/orders_${n}.csv", None), ("in/orders_${n}.cs?", None), ("in/orders_${two}.*", "in/orders_2.csv")),
    ],
)
async def test_an_object_is_there_by_its_key_or_a_pattern(storage: Storage, key: str, found: str | None) -> None:
    storage.put("in/orders_2.csv", "in/orders_1.csv", "in/b/ä b+c")
    result = await storage.look(key, n="*", two="2")
    if found is None:
        shown = key.replace("${n}", "*")
        assert (result.state, result.reason) == (NOT_YET, f"s3://{storage.bucket}/{shown}: no such object")
    else:
        assert (result.state, result.outputs) == (T.SUCCESS, {"file": f"s3://{storage.bucket}/{found}"})


async def test_a_pattern_reads_more_objects_than_one_answer_has(storage: Storage) -> None:
    storage.put(*(f"many/{number:04}" for number in range(1_005)), "many/z.csv")
    assert (await storage.look("many/*.csv")).outputs == {"file": f"s3://{storage.bucket}/many/z.csv"}


async def test_storage_that_does_not_answer_is_not_there_yet(storage: Storage) -> None:
    storage.url = f"s3://{KEY}:{SECRET}@127.0.0.1:9/{storage.bucket}?tls=off"
    result = await storage.look("in/a")
    assert (result.state, result.reason) == (NOT_YET, "data source lake does not answer")


async def test_a_bucket_or_a_data_source_that_cannot_be_one_is_a_failure(storage: Storage) -> None:
    with pytest.raises(Refused, match="the key /in/a must not begin with /"):
        await storage.look("${folder}/a", folder="/in")
    storage.url = storage.url.replace(storage.bucket, "nobody-has-it")
    with pytest.raises(Refused, match="data source lake has no bucket nobody-has-it; make it"):
        await storage.look("in/*")
    storage.url = "sqlite:////a.db"
    with pytest.raises(Refused, match="data source lake is no S3-compatible storage"):
        await storage.look("in/a")


def test_the_url_of_storage_shows_no_secret() -> None:
    url = parse_data_source_url("s3://id:of%2Fme@s3.example/lake?region=eu-central-1")
    assert shown_url(url) == "s3://id:***@s3.example/lake?region=eu-central-1"
    assert secrets_of(url) == ["of/me"]


@every(
    "url",
    [
        *("s3://bucket", "s3://s3.example/lake", "s3://id@s3.example/lake", "s3://id:key@s3.example"),
        *("s3://id:key@s3.example/lake/in", "s3://id:key@s3.example/lake?tls=no", "s3://id:key@s3.example/lake?x=1"),
    ],
)
def test_a_url_that_names_no_bucket_is_refused(url: str) -> None:
    with pytest.raises(Refused, match="s3://KEY:SECRET@HOST/BUCKET"):
        parse_data_source_url(url)
