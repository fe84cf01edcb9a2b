"""Where a SWITCH goes with sample values: by the rules of the masters, and what is wrong where it goes nowhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.api.serving import BASE, Serving, token_of

CASES = {
    "cases": [
        {"when": "${amount} <= 1000", "then": "pay"},
        {"when": 'size(${rows}) > 1 && "${c}" == "DE"', "then": "ask"},
    ],
    "default": ["bank", "note"],
}


async def test_the_first_true_case_is_named_with_what_the_conditions_use(api: Serving) -> None:
    async with api.client(await token_of(api.backend, "ada", is_admin=True)) as client:

        async def chosen(values: Mapping[str, str], params: Mapping[str, Any] = CASES) -> Mapping[str, Any]:
            body = {"project": "p", "params": params, "values": values}
            answer = await client.post(f"{BASE}/task-definitions:choose", json=body)
            assert answer.status_code == 200, answer.text
            found: Mapping[str, Any] = answer.json()
            return found

        names = ["amount", "rows", "c"]
        assert await chosen({"amount": "30"}) == {"names": names, "case": 1, "then": ["pay"]}
        large = {"amount": "5000", "rows": "[1, 2]", "c": "DE"}
        assert await chosen(large) == {"names": names, "case": 2, "then": ["ask"]}
        assert await chosen({**large, "rows": "[1]"}) == {"names": names, "then": ["bank", "note"]}
        missing = await chosen({"amount": "5000"})
        assert missing["then"] == []
        assert "there is no parameter rows" in missing["fault"]
        wrong = await chosen({}, {"cases": [{"when": "${a} >", "then": "b"}]})
        assert wrong["fault"].startswith("case 1, ${a} >: ")
        assert "case" not in wrong
