"""Eight virtual CPU devices, a fresh default graph for each test, and what the default and the long run do."""

import math
import os
import random
import shutil
import tempfile
import time

# On a busy machine the threads of eight devices may meet late; by default XLA ends the process after 40 seconds.
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + (
    " --xla_force_host_platform_device_count=8 --xla_cpu_collective_call_terminate_timeout_seconds=600"
)
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TOWERSTRAT_COMPILATION_CACHE", "off")  # Programs that tests start leave the user's alone.

import jax
import pytest
from hypothesis import HealthCheck, settings

import towerstrat.compat.v1
import towerstrat.graph.ops.control.switch_merge  # noqa: F401  (its names are in no namespace, but its type is tested)
from tests import shards
from tests.thinning import table as thinning
from tests.value_cases import table as value_cases
from towerstrat.compat.names import public_names
from towerstrat.graph.eager import mode
from towerstrat.graph.ir.graph import get_default_graph, reset_default_graph
from towerstrat.graph.ops.math.equality import disable_tensor_equality, enable_tensor_equality
from towerstrat.graph.runtime.loops import chunk_sizing
from towerstrat.graph.runtime.loops.loop_bodies import differences
from towerstrat.graph.runtime.programs import compilation_log
from towerstrat.graph.runtime.programs.limits import LIMITS
from towerstrat.platform import logs

# All types of operations are registered, whichever tests run: modules are imported with the first of their names.
public_names.names(1)

# Log lines that are compared with the original's do not depend on how busy the machine is.
compilation_log.SLOW = math.inf

# How long examples take and how many are drawn in vain says more about machine and chance than about the program.
LUCK = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
settings.register_profile("default", max_examples=10, deadline=None, suppress_health_check=LUCK)
settings.register_profile("long", settings.get_profile("default"), max_examples=40)

# Half of the default run would be XLA making machine code fast that runs once. The long run has what users have.
QUICK = [
    "--xla_backend_optimization_level=0",
    "--xla_llvm_disable_expensive_passes=true",
    "--xla_cpu_parallel_codegen_split_count=1",
]
if jax.__version_info__ < (0, 11):  # Later ones do not know it, and end.
    QUICK.append("--xla_cpu_use_fusion_emitters=false")


def pytest_addoption(parser):
    parser.addoption("--long", action="store_true", help="run what is marked long too, and more examples per property")
    parser.addoption("--whole", action="store_true", help="run what tests/thinning leaves to the long run too")
    parser.addoption("--shard", type=shards.shard, metavar="K/N", help="run the K-th of N parts of the tests alone")
    parser.addoption("--minutes", type=float, metavar="M", help="begin no test later than M minutes from now: skip it")
    parser.addoption(
        "--shuffle", metavar="SEED", help="run files, and the tests of each file, in an order drawn by SEED"
    )


START = time.monotonic()
PROGRAMS = pytest.StashKey[str]()
"""The folder of programs that the processes of a default run compile once for all of them."""


def pytest_configure(config):
    long = config.getoption("--long")
    settings.load_profile("long" if long else "default")
    if not long:
        os.environ["XLA_FLAGS"] = " ".join([os.environ["XLA_FLAGS"], *QUICK])
        _share_programs(config)


def _share_programs(config):
    """Small programs that many tests have, such as those of initializers, are compiled once in a run."""
    if hasattr(config, "workerinput"):
        folder = config.workerinput["programs"]
    else:
        folder = config.stash[PROGRAMS] = tempfile.mkdtemp(prefix="programs-")
    jax.config.update("jax_compilation_cache_dir", folder)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node):
    if PROGRAMS in node.config.stash:
        node.workerinput["programs"] = node.config.stash[PROGRAMS]


def pytest_unconfigure(config):
    if PROGRAMS in config.stash:
        shutil.rmtree(config.stash[PROGRAMS], ignore_errors=True)


COLLECTED = pytest.StashKey[frozenset[str]]()
"""The names of the tests of all files that were looked at."""


def pytest_collection_modifyitems(config, items):
    """Leaves out what is long or thinned, unless asked for: by ``--long``, or by naming tests (``FILE::TEST``).

    Value cases stay. ``--whole`` leaves out what is marked long alone. ``--shard`` then leaves out the other parts, and
    ``--shuffle`` draws the order.
    """
    config.stash[COLLECTED] = frozenset(item.nodeid for item in items)
    if not config.getoption("--long") and not any("::" in argument for argument in config.args):
        named, thinned = value_cases.tests(), () if config.getoption("--whole") else thinning.thinned()
        _keep(config, items, lambda item: item.nodeid in named or not _is_long(item, thinned))
    if part := config.getoption("--shard"):
        _keep(config, items, lambda item: part.has(item.nodeid))
    if (seed := config.getoption("--shuffle")) is not None:
        items[:] = _shuffled(items, seed)


def _is_long(item, thinned):
    return item.nodeid in thinned or item.get_closest_marker("long")


def _keep(config, items, wanted):
    config.hook.pytest_deselected(items=[item for item in items if not wanted(item)])
    items[:] = [item for item in items if wanted(item)]


def pytest_runtest_setup(item):
    if (minutes := item.config.getoption("--minutes")) is not None and time.monotonic() - START > 60 * minutes:
        pytest.skip(f"{minutes:g} minutes are gone")


def _shuffled(items, seed):
    """The files in an order that a seed draws, each as a whole, and the tests of each in one of their own."""
    chance, files = random.Random(seed), {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    return [item for tests in chance.sample([*files.values()], len(files)) for item in chance.sample(tests, len(tests))]


def pytest_sessionstart(session):
    seed = session.config.getoption("--shuffle")
    if seed is not None and not hasattr(session.config, "workerinput"):
        session.config.get_terminal_writer().line(f"shuffled: --shuffle {seed}")  # -q shows no header


@pytest.fixture(autouse=True)
def fresh_graph():
    reset_default_graph()
    level = logs.get_logger().level
    yield
    logs.get_logger().setLevel(level)
    reset_default_graph()
    with mode.eager_mode():
        get_default_graph().seed = None


@pytest.fixture(autouse=True, scope="session")
def _one_step_in_both_loops():
    """The two programs of a step loop, a scan and a loop that is told its number, have the same step."""

    def compared(scan, told):
        found = differences(scan, told)
        assert found == []
        return found

    LIMITS.compare_loops = True
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chunk_sizing, "differences", compared)
        yield


@pytest.fixture
def later_behavior():
    """What 2.x programs find: operations run at once, == of tensors compares values."""
    enable_tensor_equality()
    with mode.eager_mode():
        yield
    disable_tensor_equality()
