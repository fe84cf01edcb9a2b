"""What runs in a task: reads its arguments, calls its function, and prints its result as a value of the task.

Its source is written into scripts (`code.py`), where it takes one name, `_shoal`; so it needs nothing but the standard
library of Python 3.8 or newer. Code of a flow that imports `shoal_sdk` gets what stands in for it here.
"""

from typing import Any


def _shoal_sdk() -> Any:
    import dataclasses, datetime, decimal, enum, hashlib, json, os, pathlib, re, shutil, tempfile, types, typing, uuid

    home = pathlib.Path.cwd().resolve()

    class ResultTooLarge(ValueError):
        """A result has more bytes than the worker takes: 65,536 without a log store."""

    class File:
        """A file at a path of this machine; the worker of a task hands its content on."""

        is_shoal_file = True

        def __init__(self, path: Any, content_type: str = "application/octet-stream") -> None:
            self.path, self.content_type = pathlib.Path(path), content_type

        def __repr__(self) -> str:
            return "File(%r, %r)" % (str(self.path), self.content_type)

        def packed(self) -> Any:
            """As JSON has it: for the worker of a task a path in its folder, else its path and what it is."""
            facts, path = {"name": self.path.name, "content_type": self.content_type}, self.path.resolve()
            if "SHOAL_TASK_INSTANCE" not in os.environ:
                return {**facts, "size": path.stat().st_size, "sha256": self.sha256(), "path": str(path)}
            if home not in path.parents:
                inner = pathlib.Path(tempfile.mkdtemp("", "shoal_left_", home)) / self.path.name
                path = shutil.copyfile(path, inner)
            return {"shoal_file": str(path.relative_to(home)), **facts}

        def sha256(self) -> str:
            """Of its content."""
            digest = hashlib.sha256()
            with self.path.open("rb") as file:
                for part in iter(lambda: file.read(1 << 20), b""):
                    digest.update(part)
            return digest.hexdigest()

        @classmethod
        def unpacked(cls, given: Any) -> Any:
            """The file at the path to which the worker has brought it."""
            if isinstance(given, cls):
                return given
            if not isinstance(given, dict) or "path" not in given:
                raise ValueError("it is no file of a task")
            return cls(given["path"], given.get("content_type", "application/octet-stream"))

        @classmethod
        def __get_pydantic_core_schema__(cls, _source: Any, _handler: Any) -> Any:
            from pydantic_core import core_schema

            written = core_schema.plain_serializer_function_ser_schema(cls.packed)
            return core_schema.no_info_plain_validator_function(cls.unpacked, serialization=written)

    class Written(str):
        """A text that stands for JSON, unless its parameter wants a text."""

    class Inert(str):
        """What the flow of a file uses, and its tasks do not."""

        def __call__(self, *_args: Any, **_options: Any) -> Any:
            return self

    texts = (str, bytes, datetime.date, datetime.time, datetime.timedelta, uuid.UUID, decimal.Decimal, pathlib.PurePath)
    spans = re.compile(r"(-?)P(?:(\d+)Y)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?")

    def text(name: str) -> str:
        variable = "".join(each if each.isalnum() and each.isascii() else "_" for each in name)
        if "SHOAL_FILE_" + variable in os.environ:
            return pathlib.Path(os.environ["SHOAL_FILE_" + variable]).read_text("utf-8")
        return os.environ["SHOAL_" + "PARAM_" + variable]

    def value(name: str, *path: Any) -> Any:
        found = json.loads(text(name) or "null")
        for step in path:
            try:
                found = found[step]
            except (LookupError, TypeError):
                raise LookupError("the argument %s: the result has no part %r" % (name, step)) from None
        return found

    def texts_of(name: str) -> Any:
        return [None if each is None else each["text"] for each in value(name)]

    def is_text(hint: Any) -> bool:
        if isinstance(hint, type) and issubclass(hint, enum.Enum):
            return all(isinstance(each.value, str) for each in hint)
        return isinstance(hint, type) and issubclass(hint, texts)

    def stands_for(kind: Any, origin: Any) -> bool:
        """Whether it is the origin of an annotation of such values, as that of `Sequence[int]` of lists."""
        return isinstance(origin, type) and issubclass(kind, origin)

    def is_one(given: Any, hint: Any) -> bool:
        try:
            return isinstance(given, hint)
        except TypeError:  # such as Any and a Protocol, which nothing can be made of
            return True

    def span(given: Any) -> Any:
        """A time span from what stands for it: ISO 8601, whose years have 365 days, or seconds."""
        if isinstance(given, (int, float)):
            return datetime.timedelta(seconds=given)
        found = spans.fullmatch(given)
        if found is None:
            raise ValueError("%r is no time span such as PT5M" % given)
        years, days, hours, minutes, seconds = (decimal.Decimal(each or 0) for each in found.groups()[1:])
        micros = ((((years * 365 + days) * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000000
        return datetime.timedelta(microseconds=int(micros)) * (-1 if found.group(1) else 1)

    def written_span(given: Any) -> str:
        micros = given // datetime.timedelta(microseconds=1)
        seconds = decimal.Decimal(abs(micros)) / 1000000
        return "%sPT%sS" % ("-" if micros < 0 else "", format(seconds, "f"))

    def fields_of(given: Any, hint: Any) -> Any:
        hints = typing.get_type_hints(hint)
        return {name: typed(each, hints.get(name)) for name, each in given.items()}

    def typed(given: Any, hint: Any) -> Any:
        """A value as its parameter is annotated."""
        arguments: Any = getattr(hint, "__args__", ())
        origin: Any = getattr(hint, "__origin__", None)
        if isinstance(given, Written):
            try:
                given = str(given) if is_text(hint) else json.loads(given)
            except ValueError:
                given = str(given)
        if type(None) in arguments and given in (None, ""):
            return None if given is None or str not in arguments else given
        kinds = [each for each in arguments if each is not type(None)]
        if type(None) in arguments and len(kinds) == 1:
            return typed(given, kinds[0])
        if origin in (set, frozenset) and isinstance(given, list) and arguments:
            return origin(typed(each, arguments[0]) for each in given)
        if stands_for(list, origin) and isinstance(given, list) and arguments:
            return [typed(each, arguments[0]) for each in given]
        if origin is tuple and isinstance(given, list):
            each_of = [arguments[0]] * len(given) if arguments[1:] == (...,) else list(arguments)
            return tuple(map(typed, given, each_of)) if len(each_of) == len(given) else tuple(given)
        if stands_for(dict, origin) and isinstance(given, dict) and len(arguments) == 2:
            key: Any = Written if isinstance(arguments[0], type) else str  # in JSON each is a text
            return {typed(key(name), arguments[0]): typed(each, arguments[1]) for name, each in given.items()}
        if not isinstance(hint, type) or given is None:
            return given
        if hasattr(hint, "__total__"):  # a TypedDict, which no value is an instance of
            return fields_of(given, hint) if isinstance(given, dict) else given
        if is_one(given, hint):
            return given
        made: Any = hint
        if hasattr(hint, "is_shoal_file"):
            return made.unpacked(given)
        if hasattr(hint, "_fields") and isinstance(given, list):  # a NamedTuple
            return hint(*map(typed, given, map(typing.get_type_hints(hint).get, hint._fields)))
        if hasattr(hint, "model_validate"):
            return hint.model_validate(given)
        if dataclasses.is_dataclass(hint) and isinstance(given, dict):
            return hint(**fields_of(given, hint))
        if hasattr(hint, "fromisoformat"):
            return hint.fromisoformat(given[:-1] + "+00:00" if given.endswith("Z") else given)  # for Python 3.8
        if issubclass(hint, bytes):
            return hint(given, "utf-8") if isinstance(given, str) else given
        if issubclass(hint, datetime.timedelta):
            return span(given)
        if issubclass(hint, (str, int, float, enum.Enum, pathlib.PurePath, uuid.UUID, decimal.Decimal)):
            return given if hint is bool else made(given)
        return given

    def plain(given: Any) -> Any:
        if isinstance(given, File):
            return given.packed()
        if hasattr(given, "model_dump"):
            return given.model_dump(mode="json")
        if dataclasses.is_dataclass(given):
            return {field.name: getattr(given, field.name) for field in dataclasses.fields(given)}
        if hasattr(given, "isoformat"):
            return given.isoformat()
        if isinstance(given, datetime.timedelta):
            return written_span(given)
        if isinstance(given, bytes):
            try:
                return given.decode()
            except UnicodeDecodeError:
                raise TypeError("the result contains bytes that are no UTF-8; encode them, as by base64") from None
        if isinstance(given, (set, frozenset)):
            return sorted(given)
        if isinstance(given, enum.Enum):
            return given.value
        if isinstance(given, (uuid.UUID, decimal.Decimal, pathlib.PurePath)):
            return str(given)
        raise TypeError("the result contains a %s, which JSON cannot say; return plain data" % type(given).__name__)

    def gives(*names: str, text: bool = False, files: bool = False) -> Any:
        """Calls a function, and prints its result under these names; a `text` inside an object. It may have `files`."""

        def call(function: Any, **given: Any) -> None:
            try:
                hints = typing.get_type_hints(function)
            except (NameError, TypeError):
                hints = {}
            result = function(**{name: typed(each, hints.get(name)) for name, each in given.items()})
            said = json.dumps({"text": result} if text else result, default=plain, allow_nan=False, ensure_ascii=False)
            if not files and '{"shoal_file": ' in said:
                raise TypeError("the result of %s has a File; annotate what it returns, as -> File" % function.__name__)
            most = int(os.environ.get("SHOAL_VALUE_BYTES_MAX", 65536))
            if len(said.encode()) > most:
                sentence = "the result of %s has %.1f MB, and a result has at most %d KiB%s; save it where both tasks"
                store = "" if most > 65536 else ", with a log store more"
                facts = (function.__name__, len(said.encode()) / 1e6, most // 1024, store)
                raise ResultTooLarge((sentence + " reach it, and return its name") % facts)
            print()  # what the function printed may end without a newline
            for name in names:
                print("#{setValue(%s=%s)}" % (name, said.replace("{set", "{\\u0073et")))

        return call

    def task(function: Any = None, **_options: Any) -> Any:
        return function if callable(function) else lambda decorated: decorated

    def current() -> Any:
        names = ("WORKFLOW_INSTANCE", "TASK_INSTANCE", "TASK_KEY", "ATTEMPT", "FENCE", "INTERVAL_START", "INTERVAL_END")
        return types.SimpleNamespace(**{name.lower(): os.environ.get("SHOAL_" + name) for name in names})

    stands_in = types.ModuleType("shoal_sdk")
    stands_in.__dict__.update(task=task, flow=task, current=current, File=File, ResultTooLarge=ResultTooLarge)
    inert = "AsyncClient Client Flow Task TaskOptions branch bundle cel cron day depends_on each http pool shell sql"
    for name in (inert + " subflow wait_for wait_until when_done simulate failed Simulated").split():
        setattr(stands_in, name, Inert(name))
    for name in ["NoSuchPart", "NotAValueYet", "Refused", "RunFailed", "SdkError", "Unavailable", "WrongFlow"]:
        setattr(stands_in, name, type(name, (Exception,), {}))
    return types.SimpleNamespace(
        File=File,
        current=current,
        gives=gives,
        text=text,
        texts=texts_of,
        typed=typed,
        value=value,
        written=lambda name: Written(text(name)),
        secret=lambda variable: os.environ[variable],
        modules=dict.fromkeys(["shoal_sdk", "shoal_sdk.errors", "shoal_sdk.testing"], stands_in),
    )


def current() -> Any:
    """The run and attempt of the task that calls it, as texts: `workflow_instance`, `task_instance`, `task_key`,
    `attempt`, `fence`, `interval_start` and `interval_end`; None for each outside of a task."""
    return _shoal_sdk().current()
