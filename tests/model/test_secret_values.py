"""SECRET parameters in a definition: where one may be written, and where it would not stay secret."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dao.secrets.parameters import seal, sealed_spec
from dao.secrets.vault import Vault, new_key
from model.definitions.workflow import WorkflowSpec
from model.errors import Refused
from model.ids import CommandId
from model.parameters.secret_values import sealed_value, without_sealed
from model.runs.commands import CommandRow, scrubbed
from tests.every import every

VAULT = Vault([new_key()])
SECRET = {"password": {"type": "SECRET", "value": "hunter22"}}


def a_workflow(given: Any = SECRET, outputs: list[str] | None = None, **task: Any) -> dict[str, Any]:
    return {"params": given, "outputs": outputs or [], "tasks": [{"name": "a", "type": "FAKE", **task}]}


def test_a_secret_of_a_definition_is_stored_sealed_and_read_again() -> None:
    given = WorkflowSpec.parse(a_workflow(local_params={"pin": {"type": "SECRET", "value": "123456"}}))
    assert given.secret_names() == {"password", "pin"}
    sealed = sealed_spec(given, None, VAULT, "p")
    text = sealed.model_dump_json(exclude_defaults=True)
    assert "hunter22" not in text
    assert "123456" not in text
    assert WorkflowSpec.parse(json.loads(text)) == sealed
    assert sealed_spec(given, sealed, VAULT, "p") == sealed, "what is the same stays the same"
    with pytest.raises(Refused, match="a sealed value, which only Shoal writes"):
        sealed_spec(sealed, sealed, VAULT, "p")
    other = sealed_spec(given, sealed, Vault([new_key()]), "p")
    assert other != sealed, "another key seals it again"


def test_a_secret_without_a_value_is_left_to_the_start() -> None:
    spec = WorkflowSpec.parse(a_workflow({"password": {"type": "SECRET"}, "other": {"type": "x"}}))
    assert (spec.secrets, dict(spec.params)) == (("password",), {"other": '{"type": "x"}'})


@every(
    ("content", "part"),
    [
        (a_workflow({**SECRET, "url": "x${password}"}), 'parameter "url" names ${password}, which is SECRET'),
        (a_workflow(local_params={"url": "${password}"}), 'task "a": parameter "url" names ${password}'),
        (a_workflow(local_params={"x": {"type": "SECRET", "direct": "OUT"}}), "is SECRET and cannot be OUT"),
        (a_workflow(outputs=["password"]), 'the output "password" is SECRET'),
        (
            a_workflow({"password": {"type": "SECRET", "text": "hunter22"}}),
            'no field "text" of the parameter "password"',
        ),
        (a_workflow(type="SUB_PROCESS", params={"workflow": "${password}"}), "runs in the master, which opens no"),
    ],
)
def test_where_a_secret_would_not_stay_one_it_is_refused_without_its_value(content: Any, part: str) -> None:
    with pytest.raises(Refused) as refused:
        WorkflowSpec.parse(content)
    assert part in str(refused.value)
    assert "hunter22" not in str(refused.value)


def test_a_sealed_value_says_whose_it_is_and_is_shown_as_asterisks() -> None:
    sealed = seal("password", "hunter22", VAULT, "p")
    found = sealed_value(sealed)
    assert found is not None
    assert (found.name, found.key_id, str(found)) == ("password", VAULT.key_ids[0], sealed)
    assert sealed_value(f"x{sealed}") is sealed_value(f"{sealed} ") is sealed_value("sealed:v2:x") is None
    assert without_sealed(json.dumps({"a": sealed, "b": 1})) == '{"a": "******", "b": 1}'


def test_a_command_is_kept_without_the_secrets_that_it_gave_in_clear() -> None:
    sealed = seal("token", "hunter22", VAULT, "p")
    params = json.dumps({"password": "hunter22", "token": sealed, "x": "1"})
    row = CommandRow(CommandId(1), "START_PROCESS", "1", None, None, params, None, None, None, "", "")
    kept = scrubbed(row, {"password", "token"})
    assert json.loads(kept.params or "") == {"password": "******", "token": sealed, "x": "1"}
    assert scrubbed(row, ()) is row
