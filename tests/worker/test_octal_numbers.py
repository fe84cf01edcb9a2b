"""A number with a leading zero is never evaluated by bash as an octal one: real bash shows what it takes."""

from __future__ import annotations

import os
import subprocess

import pytest

from model.choices import ParameterType
from model.errors import Refused
from tests.every import every
from tests.worker.test_values_as_code import rendered

OCTAL = r'"v" begins with 0, and bash reads it there as an octal number; write 10#\$\{v\}, or give it without'


@every(
    ("place", "value"),
    [
        ("echo $(( @ + 1 ))", "010"),
        ("echo $(( @ + 1 ))", "08"),
        ("[[ @ -gt 3 ]] && echo", "-0010"),
        ("a[@]=1", "09"),
        ("(( @30 > 1200 ))", "07"),
        ("(( @@ > 12 ))", "01"),
    ],
)
@every("type_", [None, ParameterType.INTEGER, ParameterType.VARCHAR])
def test_a_number_that_bash_would_read_as_octal_is_refused(place: str, value: str, type_: ParameterType | None) -> None:
    with pytest.raises(Refused, match=OCTAL):
        rendered(place, value, {}, {} if type_ is None else {"v": type_})


@pytest.mark.parametrize(
    ("place", "value", "printed"),
    [
        ("echo $(( 10#@ + 1 ))", "08", "9"),
        ("echo $(( 20@ + 1 ))", "08", "2009"),
        ("echo $(( @ + 1 ))", "07", "8"),
        ("echo $(( @ + 1 ))", "0", "1"),
        ("declare -A a; a[@]=x; echo ${!a[*]}", "08", "08"),
        ("[ @ -gt 9 ] && echo yes", "010", "yes"),
    ],
)
def test_a_number_with_a_leading_zero_is_taken_where_it_means_the_same(place: str, value: str, printed: str) -> None:
    script, environment = rendered(place, value, {}), {**os.environ, "SHOAL_PARAM_v": value}
    ran = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, check=True)
    assert ran.stdout.decode().strip() == printed
