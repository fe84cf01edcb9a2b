"""Scripts from an editor of Windows."""

from __future__ import annotations

import pytest

from model.scripts import changed_script, plain_script


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("cd /tmp\r\npwd\r\n", "cd /tmp\npwd\n"),
        ("\ufeffcd /tmp\npwd", "cd /tmp\npwd"),
        ("\ufeffa\r\r\n\ufeffb\r", "a\nb"),
        ("printf '50%%\r100%%'\n", "printf '50%%\r100%%'\n"),
        ("echo \ufeff\n", "echo \ufeff\n"),
        ("", ""),
    ],
)
def test_a_script_has_no_byte_order_mark_and_no_carriage_return_at_the_end_of_a_line(text: str, plain: str) -> None:
    assert plain_script(text) == plain
    assert (changed_script(text, "it") is None) == (text == plain)
