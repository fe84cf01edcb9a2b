"""Arguments in one text, which DolphinScheduler gives to a shell."""

from importers.report import Grade
from tests.every import every
from tests.importers.exports import export, imported, said, task, the_task

JAR = {"mainJar": {"resourceName": "a.jar"}, "mainClass": "a.B", "programType": "JAVA"}
NAMES = {"resources": {"a.jar": "/opt/a.jar"}}


def todos(type_: str, **params: str) -> list[str]:
    found = imported(export(task("a", type_, {**JAR, **params})), names=NAMES)
    return [sentence for sentence in said(found, Grade.TODO, "a") if "a shell read" in sentence]


@every("type_", ["SPARK", "MR"])
@every(
    ("text", "read"),
    [
        ("--day $(date +%F) -v", "$(date +%F)"),
        ("--home $HOME", "$HOME"),
        ('--home "$HOME/x"', "$HOME"),
        ("--n `nproc`", "`nproc`"),
        ("--n ${N:-4}", "${N:-4}"),
        ("in/*.csv", "in/*.csv"),
        ("in > out.txt", ">"),
        ("~/in", "~/in"),
    ],
)
def test_what_a_shell_did_to_arguments_is_a_todo(type_: str, text: str, read: str) -> None:
    (sentence,) = todos(type_, mainArgs=text)
    assert sentence == f"a shell read {read} in it; here each word is given as it is: write what is meant"


@every(
    "text",
    [
        "--day ${day} --of $[yyyyMMdd-7*1] $[add_months(yyyyMMdd,-1)]",
        r"'$HOME *' \$HOME \*",
        '"a * b | c; ${x.y}"',
    ],
)
def test_words_that_no_shell_changes_are_no_todo(text: str) -> None:
    assert todos("SPARK", mainArgs=text) == todos("MR", mainArgs=text) == []


def test_options_in_one_text_are_read_by_a_shell_too() -> None:
    assert todos("SPARK", others="--conf spark.a=$HOME")
    assert todos("MR", others="-Dx=`id`")


def test_arguments_of_flink_stay_in_its_script_as_they_are() -> None:
    found = imported(export(task("a", "FLINK", {**JAR, "mainArgs": '--in ${x}\n--home "$HOME"'})), names=NAMES)
    assert the_task(found).params["script"].endswith('/opt/a.jar --in ${x} --home "$HOME"\n')


def test_sizes_among_the_options_of_spark_are_its_fields_and_the_last_one_counts() -> None:
    params = {**JAR, "numExecutors": 1, "others": "--executor-memory 4g --num-executors=3 --driver-memory 2g"}
    found = imported(export(task("a", "SPARK", params)), names=NAMES)
    assert not said(found, Grade.TODO)
    made = the_task(found).params
    assert (made["executor_memory"], made["num_executors"], made["driver_memory"]) == ("4g", 3, "2g")
