"""``tf.make_template``: functions that make their variables in the first call and share them in all later ones.

A template enters a variable scope of its own at each call, from the second on with ``reuse=True``; so ``get_variable``
in the function finds the variables of the first call. A later call that makes another trainable variable (by
``tf.Variable``, which is never shared) is an error. Eagerly variables live as long as someone holds them, so an
``EagerTemplate`` has a store that keeps them.

Source: ``tensorflow/python/ops/template.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from towerstrat.graph.ir.graph import get_default_graph
from towerstrat.graph.ir.user_lines import user_line
from towerstrat.graph.scopes.variable_scope import VariableScope, variable_scope
from towerstrat.graph.scopes.variable_store import EagerVariableStore, VariableGetter, store_of
from towerstrat.graph.variables.trackable import Trackable
from towerstrat.graph.variables.variables import GraphKeys, Variable, variable_creator_scope
from towerstrat.platform import logs


class Template(Trackable):
    """A function with a variable scope of its own, which all its calls enter.

    Args:
      name: of the scope, made unique.
      func: the function.
      create_scope_now: whether the scope is made here, below the current one, or where it is called first.
      unique_name: of the scope in place of ``name``, as it is.
      custom_getter: of ``get_variable`` in the function.

    Raises:
      ValueError: no name.
    """

    def __init__(
        self, name: str, func: Callable[..., Any], create_scope_now: bool = False, unique_name: str | None = None,
        custom_getter: VariableGetter | None = None,
    ):  # fmt: skip
        if name is None:
            raise ValueError("name cannot be None.")
        self._name = name
        self._func = func
        self._unique_name = unique_name
        self._custom_getter = custom_getter
        self._line = user_line()
        self._variable_scope: VariableScope | None = None
        self._variables_created = False
        if create_scope_now:
            with variable_scope(
                unique_name, name, custom_getter=custom_getter, auxiliary_name_scope=False
            ) as self._variable_scope:
                pass

    @contextmanager
    def _enter(self) -> Iterator[None]:
        """Context of a call: the template's variable scope, made in the first one."""
        if self._variable_scope is not None:
            with variable_scope(self._variable_scope, reuse=self._variables_created):
                yield
        else:
            with variable_scope(
                self._unique_name, self._name, custom_getter=self._custom_getter
            ) as self._variable_scope:
                yield

    def _variables_so_far(self, trainable: bool) -> list[Variable]:
        """All variables (trainable ones) so far: a call's new ones are those after the call and not before."""
        key = GraphKeys.TRAINABLE_VARIABLES if trainable else GraphKeys.GLOBAL_VARIABLES
        return get_default_graph().get_collection(key)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function's result.

        Raises:
          ValueError: a call after the first one makes a trainable variable.
        """
        with self._enter():
            try:
                before = len(self._variables_so_far(trainable=False)), len(self._variables_so_far(trainable=True))
                if self._variables_created:
                    result = self._func(*args, **kwargs)
                    self._check(*before)
                    return result
                with capture_dependencies(self):
                    result = self._func(*args, **kwargs)
                self._variables_created = True
                return result
            except Exception as error:
                error.add_note(f"in template {self._name!r}, made at {self._line}")
                raise

    def _check(self, before: int, trainable: int) -> None:
        said = (
            "created when calling a template after the first time, perhaps you used tf.Variable when you meant "
            "tf.get_variable"
        )
        variables = self._variables_so_far(trainable=True)
        if len(variables) != trainable:
            raise ValueError(f"Trainable variable {said}: {variables[trainable:]}")
        variables = self._variables_so_far(trainable=False)
        if len(variables) != before:
            logs.info("New variables %s: %s", said, variables[before:])

    @property
    def name(self) -> str:
        return self._name

    @property
    def func(self) -> Callable[..., Any]:
        """The function that is called."""
        return self._func

    @property
    def variable_scope(self) -> VariableScope | None:
        """The scope of the variables, None before it is made."""
        return self._variable_scope

    var_scope = variable_scope

    @property
    def variable_scope_name(self) -> str | None:
        """The scope's name with a slash at its end, None before it is made."""
        if self._variable_scope is None:
            return None
        return f"{self._variable_scope.name.removesuffix('/')}/"

    def _collect(self, key: str) -> list[Variable]:
        return get_default_graph().get_collection(key, self.variable_scope_name) if self._variables_created else []

    @property
    def variables(self) -> list[Variable]:
        """The variables below the template's scope, the local ones after the others; none before the first call."""
        return self.global_variables + self.local_variables

    @property
    def trainable_variables(self) -> list[Variable]:
        return self._collect(GraphKeys.TRAINABLE_VARIABLES)

    @property
    def non_trainable_variables(self) -> list[Variable]:
        trainable = set(self.trainable_variables)
        return [v for v in self.global_variables if v not in trainable]

    @property
    def global_variables(self) -> list[Variable]:
        return self._collect(GraphKeys.GLOBAL_VARIABLES)

    @property
    def local_variables(self) -> list[Variable]:
        return self._collect(GraphKeys.LOCAL_VARIABLES)

    @property
    def weights(self) -> list[Variable]:
        return self.variables

    @property
    def trainable_weights(self) -> list[Variable]:
        return self.trainable_variables

    @property
    def non_trainable_weights(self) -> list[Variable]:
        return self.non_trainable_variables


class EagerTemplate(Template):
    """A template for eager execution: it keeps its variables in a store.

    Raises:
      RuntimeError: not eagerly.
    """

    def __init__(
        self, name: str, func: Callable[..., Any], create_scope_now: bool = False,
        custom_getter: VariableGetter | None = None,
    ):  # fmt: skip
        graph = get_default_graph()
        if not graph.executing_eagerly:
            raise RuntimeError(
                f"{type(self).__name__} objects can only be used when eager execution is enabled, use tf.Template for "
                "graph construction."
            )
        super().__init__(name, func, create_scope_now, None, custom_getter)
        outer = store_of(graph)
        self._store = EagerVariableStore(outer if outer.keeps_eager else None)

    @contextmanager
    def _enter(self) -> Iterator[None]:
        with ExitStack() as stack:
            stack.enter_context(super()._enter())
            stack.enter_context(self._store.as_default())
            yield

    def _variables_so_far(self, trainable: bool) -> list[Variable]:
        return self._below_scope(self._store.trainable_variables() if trainable else self._store.variables())

    def _below_scope(self, variables: list[Variable]) -> list[Variable]:
        """The variables below the template's scope: nested templates share a store."""
        prefix = self.variable_scope_name
        return [] if prefix is None else [v for v in variables if v.name.startswith(prefix)]

    @property
    def variables(self) -> list[Variable]:
        return self._variables_so_far(trainable=False)

    @property
    def trainable_variables(self) -> list[Variable]:
        return self._variables_so_far(trainable=True)

    @property
    def non_trainable_variables(self) -> list[Variable]:
        return self._below_scope(self._store.non_trainable_variables())

    @property
    def global_variables(self) -> list[Variable]:
        return self.variables

    @property
    def local_variables(self) -> list[Variable]:
        return []


@contextmanager
def capture_dependencies(template: Any) -> Iterator[None]:
    """Context in which new variables become dependencies of a template, by their names in its scope.

    Variables that a nested template makes are that template's, which becomes a dependency itself.

    Args:
      template: a ``Trackable`` with a ``variable_scope``, which is open.
    """
    start = template.variable_scope.name

    def creator(
        next_creator: Callable[..., Any], name: str | None = None, trackable_parent: Any = None, **kwargs: Any
    ) -> Any:
        variable = next_creator(name=name, trackable_parent=(template, start), **kwargs)
        if name is not None and name.startswith(start):
            held, full = trackable_parent or (variable, name)
            if isinstance(held, Trackable):
                template._track_trackable(held, full[len(start) + 1 :], overwrite=True)
        return variable

    with variable_creator_scope(creator):
        yield


def make_template(
    name_: str, func_: Callable[..., Any], create_scope_now_: bool = False, unique_name_: str | None = None,
    custom_getter_: VariableGetter | None = None, **kwargs: Any,
) -> Template:  # fmt: skip
    """A function that makes the variables of ``func_`` in its first call and shares them in all later ones.

    Args:
      name_: of its variable scope, made unique.
      func_: makes variables by ``get_variable``, or by layers.
      create_scope_now_: whether the scope is made here, below the current one, or where it is called first.
      unique_name_: of the scope in place of ``name_``, as it is; not eagerly.
      custom_getter_: of ``get_variable`` inside.
      **kwargs: further arguments of ``func_``.

    Raises:
      ValueError: no name; ``unique_name_`` eagerly.

    >>> from towerstrat.graph.scopes.variable_scope import get_variable
    >>> scaled = make_template("scaled", lambda x: x * get_variable("by", []))
    >>> first, second = scaled(1.0), scaled(2.0)
    >>> [v.name for v in scaled.variables]
    ['scaled/by:0']
    """
    if kwargs:
        func_ = partial(func_, **kwargs)
    if not get_default_graph().executing_eagerly:
        return Template(name_, func_, create_scope_now_, unique_name_, custom_getter_)
    if unique_name_ is not None:
        raise ValueError("unique_name_ cannot be used when eager execution is enabled.")
    return EagerTemplate(name_, func_, create_scope_now_, custom_getter_)
