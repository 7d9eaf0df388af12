"""What the originals' helper modules do that programs call while they are imported: a value for each case.

Names of the modules are those of 1.12; the cases run under its Python 3.6 too.
"""

import functools
import logging
import sys
import types

import tensorflow as tf
from tensorflow.contrib.framework.python.ops import add_arg_scope, arg_scope
from tensorflow.python.client import session as sessions
from tensorflow.python.framework import ops, smart_cond
from tensorflow.python.layers import utils
from tensorflow.python.util import (
    all_util,
    deprecation,
    function_utils,
    keyword_args,
    lazy_loader,
    tf_contextlib,
    tf_decorator,
    tf_export,
    tf_inspect,
)


def raised(function, *args, **kwargs):
    """The class of what a call raises, or its result."""
    try:
        return function(*args, **kwargs)
    except Exception as error:
        return type(error).__name__


def logged(function):
    """The messages that a call logs, without the place that they name."""
    found = []

    class Handler(logging.Handler):
        def emit(self, record):
            found.append(record.getMessage().split(": ", 1)[-1])

    logger, handler = logging.getLogger("tensorflow"), Handler()
    before = logger.level
    logger.setLevel(logging.WARNING)
    logger.addHandler(handler)
    try:
        function()
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)
    return found


def plain(a, b=2, *rest, **more):
    """First line.

    The rest of it.
    """
    return a, b, rest, sorted(more.items())


def twice(target):
    def wrapper(*args, **kwargs):
        return wrapper.__wrapped__(*args, **kwargs), wrapper.__wrapped__(*args, **kwargs)

    return tf_decorator.make_decorator(target, wrapper, decorator_doc="Twice.")


class Things:
    """A class with methods of all kinds."""

    def method(self, x, y=1):
        return x + y

    def __call__(self, z):
        return z

    @classmethod
    def of_class(cls, x):
        return x

    decorated = twice(method)


def decorators():
    once = twice(plain)
    again = twice(once)
    found, target = tf_decorator.unwrap(again)
    return [
        once(1), again.__name__, again.__doc__, [d.decorator_name for d in found], target is plain,
        tf_decorator.unwrap(plain)[0],
        tf_decorator.TFDecorator("name", plain)(3), tf_decorator.TFDecorator("name", plain).__doc__,
        once.__wrapped__ is plain, Things().decorated(3),
    ]  # fmt: skip


def context_managers():
    found = []

    @tf_contextlib.contextmanager
    def block(x):
        found.append(("in", x))
        yield x + 1
        found.append("out")

    with block(1) as value:
        found.append(value)
    return [found, tf_inspect.getfullargspec(block).args, block.__name__]


def specs():
    partial = functools.partial
    cases = [
        plain, twice(plain), Things, Things().method, Things(), Things.of_class, Things().decorated, partial(plain, 1),
        partial(plain, b=3), partial(plain, 1, b=3), partial(plain, a=1), lambda: 0,
    ]  # fmt: skip
    found = []
    for case in cases:
        spec = raised(tf_inspect.getargspec, case)
        found.append(spec if isinstance(spec, str) else [list(spec.args), spec.varargs, spec.keywords,
                                                          list(spec.defaults or [])])  # fmt: skip
    return found


def call_arguments():
    methods = Things()
    return [
        tf_inspect.getcallargs(plain, 1), tf_inspect.getcallargs(plain, b=3, a=1),
        sorted(tf_inspect.getcallargs(methods.method, 5)), tf_inspect.getcallargs(twice(plain), 7, c=1),
    ]  # fmt: skip


def inspection():
    return [
        tf_inspect.isfunction(twice(plain)), tf_inspect.isclass(Things), tf_inspect.ismethod(Things().method),
        tf_inspect.getdoc(twice(plain)), tf_inspect.getsource(twice(plain)).splitlines()[0],
        tf_inspect.ismodule(sys), tf_inspect.isbuiltin(len), tf_inspect.isroutine(plain),
        tf_inspect.currentframe().f_code.co_name,
    ]  # fmt: skip


def functions():
    partial = functools.partial
    methods = Things()
    cases = [plain, methods.method, methods, partial(plain, 1), partial(plain, b=2), Things.decorated]
    return [
        [list(function_utils.fn_args(case)) for case in cases],
        [raised(function_utils.has_kwargs, case) for case in [plain, methods, partial(plain, 1), 3]],
        [function_utils.get_func_name(case) for case in [plain, methods.method, twice(plain)]],
        [raised(function_utils.get_func_name, 3), raised(function_utils.get_func_code, 3)],
        function_utils.get_func_code(methods).co_name, function_utils.get_func_code(partial(plain, 1)),
        raised(keyword_args.keyword_args_only(plain), 1), keyword_args.keyword_args_only(plain)(a=1),
    ]  # fmt: skip


def another():
    """A copy of `plain`: the original warns once for each function, however it is decorated."""
    return types.FunctionType(plain.__code__, plain.__globals__, "plain", plain.__defaults__)


def deprecated_functions():
    old = deprecation.deprecated(None, "Use new.")(plain)
    always = deprecation.deprecated("2018-10-01", "Use new.", warn_once=False)(Things.method)

    def calls():
        old(1)
        old(2)
        always(None, 1)
        always(None, 2)
        with deprecation.silence():
            always(None, 3)

    calls_to_alias = deprecation.deprecated_alias("old.name", "new.name", plain)
    alias = deprecation.deprecated_alias("old.Things", "new.Things", Things)
    return [
        old(1), old.__name__, old.__doc__, always.__doc__, logged(calls),
        raised(deprecation.deprecated, "soon", "Use new."), raised(deprecation.deprecated, None, ""),
        raised(deprecation.deprecated(None, "Use new."), property(plain)),
        logged(lambda: calls_to_alias(1)), logged(lambda: (alias(), alias())), issubclass(alias, Things),
        isinstance(alias(), Things),
    ]  # fmt: skip


def deprecated_arguments():
    by_name = deprecation.deprecated_args(None, "Do not.", "b")(another())
    with_value = deprecation.deprecated_args(None, "Do not.", ("b", None))(another())
    several = deprecation.deprecated_args("2018-10-01", "Do not.", "rest", "more", warn_once=False)(another())
    values = deprecation.deprecated_arg_values(None, "Do not.", b=2)(plain)
    return [
        logged(lambda: (by_name(1), by_name(1, 2), by_name(1, b=2))),
        logged(lambda: (with_value(1, None), with_value(1, b=None), with_value(1, 0), with_value(1, b=0))),
        logged(lambda: (several(1), several(1, 2), several(1, 2, 3), several(1, c=3))),
        logged(lambda: (values(1, 3), values(1, 2), values(1))),
        by_name.__doc__.splitlines()[0],
        raised(deprecation.deprecated_args(None, "Do not.", "absent"), plain),
        raised(deprecation.deprecated_args, None, "Do not."),
        raised(deprecation.deprecated_arg_values, None, "Do not."),
        deprecation.deprecated_argument_lookup("new", 1, "old", None),
        deprecation.deprecated_argument_lookup("new", None, "old", 2),
        raised(deprecation.deprecated_argument_lookup, "new", 1, "old", 2),
        deprecation.rewrite_argument_docstring("`a` and a: b", "a", "c"),
    ]  # fmt: skip


def endpoints():
    def function():
        pass

    decorated = deprecation.deprecated_endpoints("old", "older")(function)
    return [
        decorated is function, list(function._tf_deprecated_api_names),
        raised(deprecation.deprecated_endpoints("again"), function),
    ]  # fmt: skip


def exports():
    @tf_export.tf_export("nn.mine", "mine", v1=["mine_v1"])
    def mine():
        pass

    @tf_export.estimator_export("estimator.Mine")
    class Mine:
        pass

    module = types.ModuleType("exporting")
    sys.modules["exporting"] = module
    tf_export.tf_export("constant").export_constant("exporting", "CONSTANT")
    return [
        list(mine._tf_api_names), list(mine._tf_api_names_v1), list(Mine._estimator_api_names),
        raised(tf_export.tf_export("again"), mine),
        [[list(names), name] for names, name in module._tf_api_constants],
        tf_export.tf_export("other", allow_multiple_exports=True)(mine) is mine,
    ]  # fmt: skip


def lists_of_names():
    module = types.ModuleType("documented", "Docs.\n\n@@first\n@@second\n@@absent\n")
    module.__dict__.update(first=1, second=2, third=3, fourth=4, _private=5)
    sys.modules["documented"] = module
    names = sorted(all_util.make_all("documented"))
    all_util.remove_undocumented("documented", ["fourth"])
    left = sorted(name for name in dir(module) if not name.startswith("__"))
    all_util.reveal_undocumented("documented.third")
    return [names, left, module.third, raised(all_util.reveal_undocumented, "documented.none")]


def lazy():
    holder = {}
    module = lazy_loader.LazyLoader("json", holder, "json")
    return [module.dumps([1]), holder["json"].__name__, "loads" in dir(module)]


def argument_scopes():
    scopes = tf.contrib.framework

    @add_arg_scope
    def layer(x, size=1, rate=0.5, name=None):
        """A layer."""
        return [x, size, rate, name]

    @add_arg_scope
    def other(x, size=0):
        return [x, size]

    found = [layer(1), list(scopes.arg_scoped_arguments(layer)), scopes.has_arg_scope(layer), layer.__doc__,
             scopes.has_arg_scope(len), layer.__name__]  # fmt: skip
    with scopes.arg_scope([layer, other], size=3) as scope:
        found += [layer(1), layer(1, size=4), other(2)]
        with scopes.arg_scope([layer], rate=0.1, size=5):
            found += [layer(1), other(2)]
        with scopes.arg_scope([layer], rate=0.1):
            found += [layer(1)]
    with scopes.arg_scope(scope) as same:
        found += [layer(2), sorted(same) == sorted(scope), len(scopes.current_arg_scope())]
    with scopes.arg_scope({}):
        found += [layer(2)]
    found += [layer(2), tf.contrib.framework.arg_scope is arg_scope]

    def entered(*args, **kwargs):
        with scopes.arg_scope(*args, **kwargs):
            return "entered"

    return found + [raised(entered, layer), raised(entered, [len], size=1), raised(entered, scope, size=1),
                    raised(layer, 1, 2, size=3)]  # fmt: skip


def constant_conditions():
    def chosen(function, pred):
        result = function(pred, lambda: "yes", lambda: "no")
        return result if isinstance(result, str) else type(result).__name__

    with tf.Graph().as_default():
        fed = tf.placeholder(tf.bool, [])
        tensor = smart_cond.smart_cond(fed, lambda: tf.constant(1.0), lambda: tf.constant(2.0))
        variable = tf.get_variable("v", initializer=True)
        by_variable = utils.smart_cond(variable, lambda: tf.constant(3.0), lambda: tf.constant(4.0))
        case = smart_cond.smart_case(
            [
                (False, lambda: tf.constant(1.0)),
                (fed, lambda: tf.constant(2.0)),
                (tf.constant(True), lambda: tf.constant(3.0)),
            ],
            exclusive=False,
        )
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            ran = [
                [float(v) for v in session.run([tensor, by_variable, case], {fed: value})] for value in (True, False)
            ]
        return [
            [chosen(smart_cond.smart_cond, p) for p in [True, False, 1, 0, tf.constant(True), tf.constant(False)]],
            [smart_cond.smart_constant_value(p) for p in [True, 0, fed]],
            [raised(smart_cond.smart_constant_value, p) for p in ["true", None, 2]],
            raised(smart_cond.smart_cond, True, None, None),
            utils.constant_value(variable), utils.constant_value(1), ran,
            smart_cond.smart_case([(False, lambda: 1), (True, lambda: 2)], default=lambda: 3),
            smart_cond.smart_case([(False, lambda: 1)], default=lambda: 3),
        ]  # fmt: skip


class Squared:
    """A value of the program's own that a session fetches and feeds."""

    def __init__(self, tensor):
        self.sq = tf.square(tensor)


class Unfed(Squared):
    """Fetched, but not fed."""


def session_conversions():
    sessions.register_session_run_conversion_functions(
        Squared,
        lambda value: ([value.sq], lambda fetched: ["squared", float(fetched[0])]),
        lambda value, fed: [(value.sq, fed)],
    )
    with tf.Graph().as_default(), tf.Session() as session:
        squared = Squared(tf.constant(3.0))
        root = tf.sqrt(squared.sq)
        found = [
            session.run(squared), session.run({"a": [squared]}), float(session.run(root, {squared: 16.0})),
            session.run((squared, squared), {squared: 25.0})[1],
            raised(sessions.register_session_run_conversion_functions, Squared, len),
        ]  # fmt: skip
        squared.sq = tf.constant(7.0)
        return found + [session.run(squared), session.run(Unfed(tf.constant(2.0)))]


class Like:
    """Has what a tensor has."""

    name = property(lambda self: "like")
    dtype = property(lambda self: tf.float32)


def tensor_like():
    before = ops.is_dense_tensor_like(Like())
    ops.register_dense_tensor_like_type(Like)
    return [
        before, ops.is_dense_tensor_like(Like()), tf.contrib.framework.is_tensor(Like()), ops.is_dense_tensor_like(3),
        raised(ops.register_dense_tensor_like_type, Squared),
    ]  # fmt: skip


CASES = [
    decorators, context_managers, specs, call_arguments, inspection, functions, deprecated_functions,
    deprecated_arguments, endpoints, exports, lists_of_names, lazy, argument_scopes, constant_conditions,
    session_conversions, tensor_like,
]  # fmt: skip
