"""``towerstrat check`` says what works, and ``towerstrat run`` agrees."""

import ast
import importlib
import inspect
import json
import pathlib
import re
import textwrap
import types

import pytest

from tests.spread import spread
from towerstrat import cli, errors
from towerstrat.compat import importer
from towerstrat.compat.names import ignored_arguments, missing_names, namespace, original_modules, public_names
from towerstrat.compat.names.namespace import Namespace
from towerstrat.compat.names.stubs import MissingName
from towerstrat.compat.program import usage_check
from towerstrat.compat.program.name_resolution import Resolver, Status, refusal
from towerstrat.graph.runtime.sessions import session_config

ROOT = pathlib.Path(__file__).parents[3]
PROGRAM = """import tensorflow as tf
tf.enable_resource_variables()
session = tf.Session(config=tf.ConfigProto(allow_soft_placement=True))
saver = tf.contrib.opt.AGNOptimizer()
tf.random.set_seed(1)
tf.layers.dence(1)
try:
    tf.contrib.timeseries.ARRegressor
except AttributeError:
    pass
mode = tf.saved_model.tag_constants.TRAINING
tf.layers.dense(1, width=2)
tf.errors.NotFoundError.nothing
"""


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    """Writes files, checks them: exit status and output."""
    monkeypatch.chdir(tmp_path)

    def run(files, *arguments):
        for name, source in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(source)
        status = cli.main(["check", *arguments])
        return status, capsys.readouterr().out

    return run


def test_each_name_has_its_place_code_and_message(command):
    status, output = command({"old.py": PROGRAM}, "old.py", "--api", "1")
    *found, share = output.splitlines()
    assert status == 1
    expected = [
        ("2:1 no-effect", r"tf\.enable_resource_variables changes nothing: variables always are"),
        ("3:44 no-effect", r"tf\.ConfigProto\(allow_soft_placement=\.\.\.\) changes nothing: XLA places operations\."),
        ("4:9 missing", r"tf\.contrib\.opt\.AGNOptimizer is a name of TensorFlow 1\.12"),
        ("5:1 other-era", r"tf\.random\.set_seed is a name of TensorFlow 2\.15, .* --api 2"),
        ("6:1 unknown", r"Neither .* tf\.layers\.dence\. The nearest name here is tf\.layers\.dense\."),
        ("8:5 tried", r"tf\.contrib\.timeseries\.ARRegressor .* The program has another way\."),
        ("11:8 missing", r"tf\.saved_model\.tag_constants\.TRAINING is a name of TensorFlow 1\.12"),
        ("12:20 unknown", r"tf\.layers\.dense takes no argument 'width'; it takes activation, "),
        ("13:1 missing", r"tf\.errors\.NotFoundError has no attribute nothing here\."),
    ]
    assert len(found) == len(expected)
    for line, (start, message) in zip(found, expected, strict=True):
        assert re.match(rf"old\.py:{re.escape(start)} {message}", line), line
    assert share == "4 of 9 names work (44%); 1 file, 1 with 1.x names (--api 1)."


def test_names_that_work_are_listed_on_demand(command):
    files = {"old.py": "import tensorflow as tf\nx = tf.Session()"}
    assert command(files, "old.py") == (
        0, "1 of 1 names work (100%); 1 file, 1 with 1.x names (old.py:2 uses tf.Session).\n")  # fmt: skip
    assert command(files, "old.py", "--all")[1].startswith("old.py:2:5 works tf.Session works.\n1 of 1")


@pytest.mark.parametrize(("source", "said"), [
    ('import tensorflow as tf\nprint "x"', r"old\.py:2:1 unreadable Missing parentheses .*Python 2: convert"),
    ("x = (", r"old\.py:1:5 unreadable '\(' was never closed\.\n"),
])  # fmt: skip
def test_what_cannot_be_read(command, source, said):
    status, output = command({"old.py": source}, "old.py")
    assert status == 2
    assert re.match(said, output), output
    status, output = command({}, "nothing.py")
    assert status == 2
    assert "nothing.py:1:1 unreadable [Errno 2]" in output


def test_names_of_python_2_are_said_once_each(command):
    status, output = command({"old.py": "for i in xrange(2): xrange(i)\nimport cPickle"}, "old.py")
    assert status == 1
    assert [line.split(" This")[0] for line in output.splitlines()[:2]] == [
        "old.py:1:10 python2 xrange is gone.", "old.py:2:8 python2 cPickle is gone."]  # fmt: skip


def test_a_folder_is_read_file_by_file_and_modules_are_what_their_programs_are(command):
    files = {
        "a/old.py": "import tensorflow as tf\nimport shared\ntf.Session",
        "a/new.py": "import tensorflow as tf\ntf.random.set_seed(1)",
        "a/shared.py": "import tensorflow as tf\ntf.layers.dense, tf.function",
        "a/.hidden/x.py": "import tensorflow as tf\ntf.Sesion",
    }
    status, output = command(files, "a", "--json")
    found = json.loads(output)
    assert status == 0
    assert {file["path"]: file["api"] for file in found["files"]} == {"a/old.py": 1, "a/new.py": 2, "a/shared.py": 1}
    assert found["share"] == {"working": 4, "names": 4}
    assert all(file["findings"] == [] for file in found["files"])
    assert command({}, "a")[1] == (
        "4 of 4 names work (100%); 3 files, 2 with 1.x names (old.py:3 uses tf.Session), "
        "1 with 2.x names (new.py:2 uses tf.random.set_seed).\n"
    )


def test_a_call_of_what_is_missing_is_said_once(command):
    _, output = command({"old.py": "import tensorflow as tf\ntf.contrib.opt.AGNOptimizer(logdir='x')"}, "old.py")
    assert output.count("\n") == 2


def test_what_is_for_other_versions_is_tried_only(command):
    source = """import tensorflow as tf
if tf.__version__ < "2":
    tf.set_random_seed(1)
else:
    tf.random.set_seed(1)
if hasattr(tf, "contrib"):
    tf.contrib.timeseries.ARRegressor
"""
    assert command({"both.py": source}, "both.py") == (0, (
        "both.py:5:5 tried tf.random.set_seed is a name of TensorFlow 2.15, not of TensorFlow 1.12: use "
        "tf.compat.v2.random.set_seed, or run with --api 2. The program has another way.\n"
        "both.py:7:5 tried tf.contrib.timeseries.ARRegressor is a name of TensorFlow 1.12 that towerstrat does not "
        "have. Its Python is in TensorFlow 1.15's sources, in tensorflow/contrib: copy what the program uses. The "
        "program has another way.\n"
        "2 of 2 names work (100%); 1 file, 1 with 1.x names (nothing tells otherwise).\n"
    ))  # fmt: skip
    assert command({}, "both.py", "--api", "2")[1].startswith("both.py:3:5 tried tf.set_random_seed is")


def test_a_program_is_its_file_and_the_modules_that_it_imports(command):
    files = {
        "old.py": "import part\nimport tensorflow as tf\ntf.Session",
        "part.py": "from tensorflow import feature_column",
    }
    status, output = command(files, "old.py", "--json")
    (finding,) = json.loads(output)["files"][1]["findings"]
    assert status == 1
    assert (finding["line"], finding["column"], finding["code"], finding["name"]) == (
        1,
        24,
        "missing",
        "tf.feature_column",
    )


def test_the_page_shows_the_source_with_what_is_said_beside_it(command):
    source = PROGRAM + "x = '<b>&'\n"
    status, page = command({"old.py": source}, "old.py", "--html")
    assert status == 1
    assert "<script" not in page
    assert "http" not in re.sub(r"https?://www\.w3\.org", "", page)
    assert "x = &#x27;&lt;b&gt;&amp;&#x27;" in page
    row = re.search(r'<tr id="0-4">(.*?)</tr>', page)[1]
    assert re.search(r"saver = <mark class=missing title=\".*\">tf\.contrib\.opt\.AGNOptimizer</mark>\(\)", row)
    assert "<b class=missing>missing</b> tf.contrib.opt.AGNOptimizer is a name of" in row
    assert page.count("<tr id=") == source.count("\n") + 1
    assert 'href="#0-4"' in page


# ---- what `run` finds ----------------------------------------------------------------------------------------------


def find(name):
    """The value of a name in this process; raises what a program would see."""
    found = importlib.import_module("tensorflow")
    parts = name.split(".")[1:]
    for i, part in enumerate(parts):
        if not isinstance(found, types.ModuleType | type):
            break  # what a value has is known when it runs
        try:
            found = getattr(found, part)
        except AttributeError as missing:
            if not isinstance(found, types.ModuleType) or parts[0] not in ("python", "core"):
                raise
            try:
                found = importlib.import_module(".".join(["tensorflow", *parts[: i + 1]]))
            except ModuleNotFoundError:
                raise missing from None
    return found


def agrees(name, verdict):
    """What ``check`` says of a name is what a program meets."""
    try:
        value = find(name)
    except errors.UnknownSymbolError:
        return verdict.status is Status.MISSING
    except (ImportError, AttributeError):
        return verdict.status in (Status.OTHER_ERA, Status.UNKNOWN)
    return verdict.status is Status.MISSING if stands_for_nothing(value) else verdict.works


def stands_for_nothing(value):
    """Whether a value is of a name that is missing: a corner, what only refuses, or a module of nothing else."""
    if refusal(value) is not None:
        return True
    if isinstance(value, Namespace):
        public, api, _ = namespace.place(value)
        inside = original_modules.names(public.partition(".")[2], api)  # those of the inside are looked up one by one
        exported = [name for name in inside if missing_names.exported(f"{public}.{name}", api) is not None]
        return not exported and all(stands_for_nothing(getattr(value, name)) for name in dir(value))
    return isinstance(value, MissingName | type) and getattr(value, "__module__", "").partition(".")[0] == "tensorflow"


@pytest.mark.parametrize("api", [1, 2])
def test_check_and_run_agree_on_every_name_of_the_original(api):
    resolver = Resolver(api)
    every = {*missing_names.original_names(api), *public_names.names(api)}
    every |= {f"tf.compat.v{api}{name.removeprefix('tf')}" for name in every}
    with importer.names_installed(api):
        assert [name for name in sorted(every) if not agrees(name, resolver.verdict(name))] == []
    assert len(every) > 4000


@pytest.mark.parametrize("api", [1, 2])
def test_check_and_run_agree_on_names_of_the_other_original_and_of_none(api):
    """Looking for the nearest name takes its time, so that only some are tried."""
    resolver = Resolver(api)
    other = sorted({*missing_names.original_names(3 - api)} - {*missing_names.original_names(api)})
    mounted = [f"tf.compat.v{3 - api}{name.removeprefix('tf')}" for name in other]
    names = [*other[::40], *mounted[::40], "tf.Sesion", "tf.nn.reluu", "tf.compat.v1.nn.reluu"]
    with importer.names_installed(api):
        assert [name for name in names if not agrees(name, resolver.verdict(name))] == []
    assert {resolver.verdict(name).status for name in names} == {*Status} - {Status.NO_EFFECT}


@spread(("folders", "least"), [(["examples"], 60), (["benchmarks", "tests/golden"], 140)], every=2)
def test_check_and_run_agree_on_every_kept_program(folders, least):
    files = usage_check.check([ROOT / folder for folder in folders])
    names = {(file.decision.api, f.name) for file in files for f in file.findings if f.counted}
    for api in (1, 2):
        resolver = Resolver(api)
        with importer.names_installed(api):
            for name in (name for era, name in names if era == api):
                assert agrees(name, resolver.verdict(name)), name
    assert len(names) > least


def test_the_examples_work():
    assert usage_check.status(usage_check.check(sorted((ROOT / "examples").glob("*.py")))) == 0


# ---- what has no effect --------------------------------------------------------------------------------------------


def does_nothing(value):
    """Whether the body of a function is its docstring."""
    body = ast.parse(textwrap.dedent(inspect.getsource(value))).body[0].body
    return all(isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) for node in body)


@pytest.mark.parametrize("api", [1, 2])
def test_functions_that_do_nothing_say_why(api):
    functions = {name: value for name, value in public_names.names(api).items() if inspect.isfunction(value)}
    silent = {name for name, value in functions.items() if does_nothing(value) and not ignored_arguments.reason(value)}
    # A regularizer of no loss, and a statement that source conversion reads.
    assert silent <= {"tf.no_regularizer", "tf.autograph.experimental.set_loop_options"}
    assert ignored_arguments.reason(functions["tf.config.experimental.set_memory_growth"]).startswith("JAX allocates")
    assert ignored_arguments.reason(functions["tf.identity"]) is None


@pytest.mark.parametrize("message", ignored_arguments.FIELDS, ids=lambda message: message.DESCRIPTOR.name)
def test_each_field_of_a_message_has_an_effect_or_is_refused_or_changes_nothing(message):
    heard = {"trace_level", "output_partition_graphs", "operation_timeout_in_ms", "timeout_in_ms"}
    further = {"graph_options", "debug_options", "experimental"}
    refused = {path.rpartition(".")[2] for path in session_config.REFUSED} - {"debug_tensor_watch_opts"}
    fields = set(message.DESCRIPTOR.fields_by_name)
    assert set(ignored_arguments.FIELDS[message]) == fields - heard - further - refused


def test_fields_that_are_refused_are_missing():
    verdict = Resolver(1).verdict("tf.ConfigProto", "rpc_options")
    assert verdict == (Status.MISSING, "tf.ConfigProto(rpc_options=...) is not supported: sessions are local.")


def test_names_of_tensorflow_from_a_module_of_the_program_count(command):
    files = {"lib/utils.py": "import tensorflow as tf\n", "lib/model.py": "from lib.utils import tf\ntf.nn.reluu\n",
             "train.py": "from lib.model import tf\ntf.Sesion, tf.nn.relu\n"}  # fmt: skip
    for paths in (["train.py", "lib/model.py"], ["."]):
        status, output = command(files, *paths)
        assert status == 1
        assert "train.py:2:1 unknown" in output.replace("./", "")
        assert "lib/model.py:2:1 unknown" in output.replace("./", "")
        assert "1 of 3 names work" in output


def test_a_module_of_the_inside_may_have_names_with_underscores_alone(command):
    source = "from tensorflow.python.training import evaluation as e\nstep = e._get_or_create_eval_step()\n"
    assert command({"old.py": source}, "--api", "1", "old.py")[1].startswith("2 of 2 names work (100%)")


def test_what_only_refuses_is_missing_and_modules_of_the_inside_are_what_their_names_are(command):
    source = (
        "import tensorflow as tf\nfrom tensorflow.python.framework import constant_op\nconstant_op.constant(1)\n"
        "tf.train.import_meta_graph('x')\ntf.QueueBase.from_list(0, [])\n"
    )
    status, output = command({"old.py": source}, "--api", "1", "old.py")
    assert status == 1
    assert "old.py:4:1 missing tf.train.import_meta_graph is not supported: graphs are not read" in output
    assert "old.py:5:1 missing tf.QueueBase.from_list is not supported: use tf.case." in output
    assert "2 of 4 names work" in output


OBJECTS = """import tensorflow as tf
session = tf.Session()
handle = session.partial_run_setup([])
with tf.Session(graph=None) as other:
    other.partial_run(handle, [])
    other.run([])
def read():
    reader = tf.TextLineReader()
    return reader.serialize_state(), reader.num_records_produced(), reader.nothing
tf.TensorArray(tf.float32, 3).write(0, 1.0).grad('g')
class Own:
    def partial_run(self):
        pass
session = Own()
session.partial_run()
with tf.name_scope('x') as scope:
    scope.upper()
try:
    tf.Session().partial_run(handle)
except AttributeError:
    pass
"""


EXPORTS = """import tensorflow as tf
estimator = tf.estimator.Estimator(None)
estimator.export_savedmodel('x', None)
tf.estimator.Estimator(None).export_saved_model('x', None)
estimator.experimental_export_all_saved_models('x', {})
best = tf.estimator.BestExporter(serving_input_receiver_fn=None)
others = [tf.estimator.LatestExporter('a', None), tf.estimator.FinalExporter('b', None)]
tf.contrib.tpu.TPUEstimator(None).export_savedmodel('x', None)
tf.contrib.estimator.export_all_saved_models(estimator, 'x', {})
"""


def test_exports_of_models_are_not_supported(command):
    """They keep the variables, which the message says, but write no SavedModel."""
    status, output = command({"old.py": EXPORTS}, "--api", "1", "old.py")
    assert status == 1
    *found, contrib, share = output.splitlines()
    assert "tf.contrib.estimator.export_all_saved_models" in contrib
    assert "No SavedModel is written" in contrib
    assert [line.partition(" is not supported: no SavedModel is written")[0].partition(":")[2] for line in found] == [
        "3:1 missing tf.estimator.Estimator().export_savedmodel",
        "4:1 missing tf.estimator.Estimator().export_saved_model",
        "5:1 missing tf.estimator.Estimator().experimental_export_all_saved_models",
        "6:8 missing tf.estimator.BestExporter",
        "7:11 missing tf.estimator.LatestExporter",
        "7:51 missing tf.estimator.FinalExporter",
        "8:1 missing tf.contrib.tpu.TPUEstimator().export_savedmodel",
    ]
    assert share.startswith("2 of 10 names work")


def test_methods_of_objects_that_only_refuse_are_missing(command):
    status, output = command({"old.py": OBJECTS}, "--api", "1", "old.py")
    assert status == 1
    assert [line.partition(" is not supported")[0].partition(":")[2] for line in output.splitlines()[:-1]] == [
        "3:10 missing tf.Session().partial_run_setup",
        "5:5 missing tf.Session().partial_run",
        "9:12 missing tf.TextLineReader().serialize_state",
        "10:1 missing tf.TensorArray().write().grad",
        "19:5 tried tf.Session().partial_run",
    ]
    assert "use one Session.run with all feeds. The program has another way." in output
