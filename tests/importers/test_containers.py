"""Containers of K8S tasks, which DolphinScheduler gives their parameters as variables."""

from importers.report import Grade
from tests.importers.exports import definition, export, imported, only, said, task, the_task


def test_a_container_gets_its_parameters_as_variables() -> None:
    local = [
        {"prop": "day", "direct": "IN", "type": "VARCHAR", "value": "$[yyyyMMdd]"},
        {"prop": "a.b", "direct": "IN", "type": "VARCHAR", "value": "1"},
    ]
    globals_ = [{"prop": "region", "direct": "IN", "type": "VARCHAR", "value": "north"}]
    given = export(task("a", "K8S", {"image": "x", "localParams": local}), head=definition(globalParams=globals_))
    assert the_task(imported(given)).params["env"] == {"region": "${region}", "day": "${day}"}


def test_a_password_of_a_container_is_a_secret_by_name() -> None:
    local = [{"prop": "db_password", "direct": "IN", "type": "VARCHAR", "value": "h1dden-word"}]
    names = {"passwords": {"daily/db_password": "the vault"}}
    found = imported(export(task("a", "K8S", {"image": "x", "localParams": local})), names=names)
    assert the_task(found).params["env"] == {"db_password": "${db_password}"}
    assert "db_password" in only(found).spec.secrets
    assert not said(found, Grade.TODO)
    assert "h1dden" not in "".join(found.files.values())
