"""Decorators and helpers of tests: ``tensorflow.python.framework.test_util``, in graphs and with eager execution."""

from __future__ import annotations

import unittest
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import wraps
from itertools import product
from typing import Any

from towerstrat.compat.v1_functions.test_case import TestCase
from towerstrat.graph.eager import mode
from towerstrat.graph.ir.default_graph import device as on_device
from towerstrat.graph.ir.graph import Graph, get_default_graph, reset_default_graph
from towerstrat.graph.ir.graph_elements import Tensor
from towerstrat.graph.ops.array.arrays import transpose
from towerstrat.platform.local import gpu_device_name

TensorFlowTestCase = TestCase
Method = Callable[..., Any]


def _decorator(wrap: Callable[[Any], Any], func: Any) -> Any:
    """A decorator with or without parentheses."""
    return wrap if func is None else wrap(func)


# ---- the two ways of execution ---------------------------------------------------------------------------------------


def run_in_graph_and_eager_modes(
    func: Method | None = None, config: Any = None, use_gpu: bool = True, reset_test: bool = True,
    assert_no_eager_garbage: bool = False,
) -> Any:  # fmt: skip
    """A decorator: runs a test in a graph with a session, then with eager execution.

    Args:
      config: of the session.
      reset_test: whether ``tearDown`` and ``setUp`` are called in between.
      use_gpu, assert_no_eager_garbage: change nothing.
    """

    def decorated(f: Method) -> Method:
        if isinstance(f, type):
            raise ValueError("`run_in_graph_and_eager_modes` only supports test methods.")

        @wraps(f)
        def run(self: Any, *args: Any, **kwargs: Any) -> None:
            try:
                with mode.graph_mode(), self.test_session(config=config):
                    f(self, *args, **kwargs)
            except unittest.SkipTest:
                pass  # in a graph alone
            if reset_test:
                self.tearDown()
            with mode.eager_mode():
                if reset_test:
                    self.setUp()
                f(self, *args, **kwargs)

        return run

    return _decorator(decorated, func)


def run_all_in_graph_and_eager_modes(cls: Any) -> Any:
    """A decorator: ``run_in_graph_and_eager_modes`` of each test of a class whose name does not say SkipEager."""
    return _of_tests(cls, run_in_graph_and_eager_modes, ("testSkipEager", "test_skip_eager"))


def deprecated_graph_mode_only(func: Any = None) -> Any:
    """A decorator: runs a test, or all of a class, in a graph, also where eager execution is the default."""

    def decorated(f: Any) -> Any:
        if not isinstance(f, type):
            return _in_graph_mode(f)
        _wrap(f, "run", lambda run: _anew(_in_graph_mode(run)))
        return f

    return _decorator(decorated, func)


def _wrap(cls: type, name: str, wrapper: Callable[[Method], Method]) -> None:
    setattr(cls, name, wrapper(getattr(cls, name)))


def _anew(f: Method) -> Method:
    @wraps(f)
    def run(*args: Any, **kwargs: Any) -> Any:
        reset_default_graph()
        return f(*args, **kwargs)

    return run


def _in_graph_mode(f: Method) -> Method:
    @wraps(f)
    def run(*args: Any, **kwargs: Any) -> Any:
        if not get_default_graph().executing_eagerly:
            return f(*args, **kwargs)
        with mode.graph_mode():
            return f(*args, **kwargs)

    return run


run_deprecated_v1 = deprecated_graph_mode_only


def run_all_in_deprecated_graph_mode_only(cls: Any) -> Any:
    """A decorator: ``deprecated_graph_mode_only`` of each test of a class."""
    return _of_tests(cls, deprecated_graph_mode_only)


def _of_tests(cls: Any, decorate: Callable[[Any], Any], but: tuple[str, ...] = ()) -> Any:
    prefix = unittest.TestLoader.testMethodPrefix
    for name in dir(cls):
        taken = name.startswith(prefix) and name != "test_session" and not (but and name.startswith(but))
        if taken and callable(getattr(cls, name)):
            _wrap(cls, name, decorate)
    return cls


def for_all_test_methods(decorator: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[[Any], Any]:
    """A decorator of a class: ``decorator(*args, **kwargs)`` of each of its tests."""
    return lambda cls: _of_tests(cls, decorator(*args, **kwargs))


# ---- tests that run under a condition --------------------------------------------------------------------------------


def _skipping(func: Any, unless: Callable[[], bool], reason: str) -> Any:
    def decorated(f: Any) -> Any:
        if isinstance(f, type):
            _wrap(f, "setUp", decorated)
            return f

        @wraps(f)
        def run(self: Any, *args: Any, **kwargs: Any) -> Any:
            if not unless():
                self.skipTest(reason)
            return f(self, *args, **kwargs)

        return run

    return _decorator(decorated, func)


def run_v1_only(reason: str, func: Any = None) -> Any:
    """A decorator: skips a test, or all of a class, where eager execution is the default, as in 2.x."""
    return _skipping(func, lambda: not mode.executing_eagerly_outside_functions(), reason)


def run_v2_only(func: Any = None) -> Any:
    """A decorator: skips a test, or all of a class, where graphs are the default, as in 1.x."""
    return _skipping(func, mode.executing_eagerly_outside_functions, "Test is only compatible with v2")


def run_gpu_only(func: Any = None) -> Any:
    """A decorator: skips a test where there is no GPU."""
    return _skipping(func, lambda: bool(gpu_device_name()), "Test requires GPU")


def skip_if(condition: bool | Callable[[], bool]) -> Callable[[Method], Method]:
    """A decorator: a test does nothing where a condition, or what a function returns, is true."""

    def decorated(f: Method) -> Method:
        @wraps(f)
        def run(*args: Any, **kwargs: Any) -> Any:
            skipped = condition() if callable(condition) else condition
            return None if skipped else f(*args, **kwargs)

        return run

    return decorated


# ---- devices and values ----------------------------------------------------------------------------------------------


@contextmanager
def device(use_gpu: bool) -> Iterator[Any]:
    """Inside, operations are placed on the GPU where one is wanted and there, else on the CPU."""
    with on_device(gpu_device_name() if use_gpu and gpu_device_name() else "/device:CPU:0") as placed:
        yield placed


def use_gpu() -> AbstractContextManager[Any]:
    """Inside, operations are placed on the GPU where there is one."""
    return device(use_gpu=True)


def force_gpu() -> AbstractContextManager[Any]:
    """Inside, operations are placed on the GPU."""
    return on_device(gpu_device_name()) if gpu_device_name() else nullcontext()


def force_cpu() -> AbstractContextManager[Any]:
    """Inside, operations are placed on the CPU."""
    return on_device("/device:CPU:0")


def _permuted(input_tensor: Any, order: Mapping[int, list[int]]) -> Any:
    rank = len(input_tensor.shape) if isinstance(input_tensor, Tensor) else len(input_tensor)
    found = order[rank]
    return transpose(input_tensor, found) if isinstance(input_tensor, Tensor) else [input_tensor[i] for i in found]


def NHWCToNCHW(input_tensor: Any) -> Any:
    """A tensor, or a shape as a list, with its channels moved from the end to the second place."""
    return _permuted(input_tensor, {4: [0, 3, 1, 2], 5: [0, 4, 1, 2, 3]})


def NCHWToNHWC(input_tensor: Any) -> Any:
    """A tensor, or a shape as a list, with its channels moved from the second place to the end."""
    return _permuted(input_tensor, {4: [0, 2, 3, 1], 5: [0, 2, 3, 4, 1]})


def assert_ops_in_graph(expected_ops: Mapping[str, str], graph: Graph) -> dict[str, Any]:
    """The nodes of operations by name, of which a graph has some with these types.

    Args:
      expected_ops: name -> type.

    Raises:
      ValueError: one is missing, or of another type.
    """
    found = {}
    for name, kind in expected_ops.items():
        node = {n.name: n for n in graph.as_graph_def().node}.get(name)
        if node is None or node.op != kind:
            raise ValueError(f"Expected the operation {name!r} of type {kind} in the graph, got {node and node.op}.")
        found[name] = node
    return found


def generate_combinations_with_testcase_name(**kwargs: Any) -> list[dict[str, Any]]:
    """Every combination of the options, each with a ``testcase_name`` made of them, for parameterized tests.

    Args:
      **kwargs: an option's name -> its values in a list, or its only value.
    """
    options = sorted(kwargs.items())
    values: list[Collection[Any]] = [v if isinstance(v, list) else [v] for _, v in options]
    found = []
    for chosen in product(*values):
        combination = dict(zip((name for name, _ in options), chosen, strict=True))
        said = "".join(f"_{_letters(name)}_{_letters(str(value))}" for name, value in combination.items())
        found.append({**combination, "testcase_name": f"_test{said}"})
    return found


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))
