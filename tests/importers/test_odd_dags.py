"""DAG files with odd values in them: each is imported, or said to be left to do, and none raises."""

from __future__ import annotations

import ast
import random

from importers.airflow.convert import Options, import_dags
from tests.every import every
from tests.importers.exports import TYPES
from tests.importers.test_airflow import HEAD
from tests.scenarios.test_imports import DAG

OTHER = (
    HEAD
    + """
class Kind(str):
    A = "a"

def choose(ti, **context):
    return ["a", "b"] if ti.xcom_pull(task_ids="a") else context["ds"]

with DAG("d", schedule=timedelta(hours=6), start_date=datetime(2026, 1, 1), params={"n": Param(5, type="integer")},
         default_args={"retries": 2, "retry_delay": timedelta(minutes=1)}, tags=["x"], max_active_runs=1) as dag:
    with TaskGroup("g") as g:
        for name in ["a", "b"]:
            PostgresOperator(task_id=name, postgres_conn_id="c", sql=f"select {name}", parameters={"x": 1}, pool="p")
    sensor = ExternalTaskSensor(task_id="there", external_dag_id="o", execution_delta=timedelta(hours=1), timeout=60)
    pod = KubernetesPodOperator(task_id="pod", image="i", cmds=["a"], env_vars={"A": "1"}, namespace="n")
    file = FileSensor(task_id="file", filepath="x", poke_interval=5)
    branch = BranchPythonOperator(task_id="branch", python_callable=choose, op_kwargs={"a": "{{ ds }}"})
    mapped = BashOperator.partial(task_id="mapped", retries=1).expand(bash_command=["a", "b"])
    sensor >> g >> branch >> [pod, file] >> mapped
"""
)
ODD = (
    *("None", "5", "-1", "''", "[]", "{}", "secret()", "['a', 1]", "{'a': None}", "1.5", "True", "(1, 2)", "lambda: 1"),
    *("x.y.z", "f'{a}{b}'", "'{{ ds'", "'{{ }}'", "timedelta(0)", "datetime(1, 1, 1)", "[secret(), 'a']", "..."),
    *("{secret(): 1}", "b'x'", "'\\x00'", "10 ** 30", "'{% for x in [1] %}'", "Dataset('x')", "TriggerRule.ONE_DONE"),
)


class Changed(ast.NodeTransformer):
    """The same file with odd values in place of some arguments and constants."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance

    def visit_keyword(self, node: ast.keyword) -> ast.keyword:
        self.generic_visit(node)
        if self.chance.random() < 0.06:
            node.value = self.odd()
        return node

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        if node.args and self.chance.random() < 0.04:
            node.args[0] = self.odd()
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        self.generic_visit(node)
        if self.chance.random() < 0.04:
            node.value = self.odd()
        return node

    def odd(self) -> ast.expr:
        return ast.parse(self.chance.choice(ODD), mode="eval").body


@every("first", range(0, 200, 25))
def test_no_odd_value_makes_an_import_fail(first: int) -> None:
    for seed in range(first, first + 25):
        chance = random.Random(seed)
        tree = Changed(chance).visit(ast.parse(chance.choice((DAG, OTHER))))
        found = import_dags([("dag.py", ast.unparse(ast.fix_missing_locations(tree)).encode())], TYPES)
        assert found.report.subjects, seed


def test_a_module_beside_dag_files_is_nothing_to_do() -> None:
    dag = f"{HEAD}\nwith DAG('d', schedule=None) as dag:\n    EmptyOperator(task_id='a')\n"
    files = [("d.py", dag.encode()), ("__init__.py", b""), ("dates.py", b"def dag_of(day):\n    return day\n")]
    assert not import_dags(files, TYPES, Options()).report.has_todo
    assert import_dags(files[1:], TYPES, Options()).report.has_todo, "nothing was imported"
