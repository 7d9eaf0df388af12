"""Expressions over ``tf``, ``np`` and ``cs`` (collections) whose printed values are compared with TensorFlow 2.15's."""

_A = "tf.TensorSpec([None, 3], tf.float32, 'a')"
_B = "tf.TensorSpec([2, 3])"
_S = "tf.IndexedSlicesSpec"

SPECS = [
    _A, _B, "tf.TensorSpec(None)", "tf.TensorSpec(3, 'int32')", "tf.TensorSpec([], tf.int32)",
    "str(tf.TensorSpec([2]))", "tf.TensorSpec([2], name='a') == tf.TensorSpec([2], name='b')",
    "tf.TensorSpec([2]) == tf.TensorSpec((2,))", "tf.TensorSpec([2]) == 3", "tf.TensorSpec([2]) != tf.TensorSpec([2])",
    "len({tf.TensorSpec([2]), tf.TensorSpec([2]), tf.TensorSpec([3])})", "tf.TensorSpec([2], 'foo')",
    "tf.TensorSpec('a')", f"tf.TensorSpec.from_spec({_A})", f"tf.TensorSpec.from_spec({_A}, name='y')",
    "tf.TensorSpec.from_tensor(np.zeros(2))", f"{_A}.is_compatible_with(np.zeros([2, 3], 'float32'))",
    f"{_A}.is_compatible_with(tf.zeros([2, 3]))", f"{_A}.is_compatible_with(tf.zeros([2, 4]))",
    f"{_A}.is_compatible_with(tf.zeros([2, 3], tf.int32))", f"{_A}.is_compatible_with({_B})",
    f"{_B}.is_compatible_with({_A})", f"{_A}.is_compatible_with(tf.TensorSpec(None))",
    f"{_A}.is_compatible_with([1.0])", f"{_A}.is_compatible_with(None)", f"{_A}.is_compatible_with({_S}())",
    f"{_A}.most_specific_compatible_type(tf.TensorSpec([2, 4], name='a'))", f"{_A}.most_specific_compatible_type({_B})",
    f"{_B}.most_specific_compatible_type(tf.TensorSpec([2, 4]))", f"{_B}.most_specific_compatible_type(3)",
    f"{_B}.most_specific_compatible_type(tf.TensorSpec([2, 3], tf.int32))",
    f"{_B}.most_specific_common_supertype([tf.TensorSpec([2])])",
    f"{_B}.most_specific_common_supertype([tf.TensorSpec([5, 3]), tf.TensorSpec([2, 4])])",
    f"{_B}.most_specific_common_supertype([])", f"{_B}.most_specific_common_supertype([{_S}()])",
    f"{_B}.most_specific_common_supertype([tf.TensorSpec(None)])", f"{_B}.is_subtype_of({_A})",
    f"{_A}.is_subtype_of({_B})", f"{_A}.is_subtype_of(tf.TensorSpec([None, 3]))",
    f"{_A}.is_subtype_of(tf.TensorSpec(None, name='a'))", f"{_B}.is_subtype_of(tf.TensorSpec([None, 3], tf.int32))",
    f"{_B}.is_subtype_of(3)", f"{_A}.dtype", f"{_A}.name", f"{_A}.shape.as_list()", f"{_S}()",
    f"{_S}([None, 3], tf.float32, tf.int32, tf.int32, [4])", f"{_S}() == {_S}()", f"{_S}([5, 3]) == {_S}([4, 3])",
    f"{_S}([5, 3])._component_specs", f"{_S}([5, 3], dense_shape_dtype=tf.int32)._component_specs",
    f"{_S}([5, 3], indices_shape=[4])._component_specs", f"{_S}()._component_specs",
    f"{_S}([5, 3]).is_compatible_with({_S}([None, 3]))", f"{_S}([5, 3]).is_compatible_with({_S}([None, 4]))",
    f"{_S}([5, 3]).is_compatible_with({_B})", f"{_S}([5, 3]).most_specific_compatible_type({_S}([4, 3]))",
    f"{_S}([5, 3]).most_specific_common_supertype([{_S}([4, 3], tf.int32)])",
    f"{_S}([5, 3]).is_subtype_of({_S}([None, 3]))", f"{_S}([None, 3]).is_subtype_of({_S}([5, 3]))", "tf.TypeSpec()",
    "tf.type_spec_from_value(tf.constant(1))", "tf.type_spec_from_value(np.zeros([2]))", "tf.type_spec_from_value(1)",
    "tf.type_spec_from_value('a')", "tf.type_spec_from_value([1.5, 2.0])", "tf.type_spec_from_value(None)",
    "tf.type_spec_from_value(object())",
    "tf.type_spec_from_value(tf.IndexedSlices(tf.zeros([2, 3]), tf.constant([0, 1]), tf.constant([5, 3])))",
    "tf.type_spec_from_value(tf.IndexedSlices(tf.zeros([2, 3]), tf.constant([0, 1])))",
]  # fmt: skip

_P = "cs.namedtuple('P', 'x y')"

NEST = [
    "tf.nest.flatten(None)", "tf.nest.flatten([])", "tf.nest.flatten({'b': 1, 'a': [2, 3]})",
    "tf.nest.flatten(cs.OrderedDict([('b', 1), ('a', 2)]))", "tf.nest.flatten({1: 2, 'a': 3})",
    "tf.nest.flatten({'b': 1, 'a': 2}.values())", "tf.nest.flatten({'b': 1, 'a': 2}.keys())", "tf.nest.flatten({3})",
    "tf.nest.flatten('abc')", f"tf.nest.flatten({_P}(1, (2,)))", "tf.nest.flatten(np.array([1, 2]))",
    "tf.nest.flatten(range(3))", "tf.nest.flatten(cs.deque([1]))", "tf.nest.flatten([1], expand_composites=True)",
    "tf.nest.flatten(cs.UserDict(a=1))", "tf.nest.flatten([(1, {'z': (2,), 'y': []}), [[3]]])",
    "tf.nest.is_nested([1])", "tf.nest.is_nested({})", "tf.nest.is_nested({1})", "tf.nest.is_nested('a')",
    "tf.nest.is_nested(b'a')", "tf.nest.is_nested({}.items())", "tf.nest.is_nested(tf.TensorShape([1]))",
    "tf.nest.is_nested(tf.constant([1]))", "tf.nest.map_structure(lambda x: x + 1, {'b': 1, 'a': [2, 3]})",
    f"tf.nest.map_structure(lambda x, y: x + y, {_P}(1, 2), {_P}(3, 4))",
    "tf.nest.map_structure(lambda x, y: x + y, [1, 2], (3, 4))",
    "tf.nest.map_structure(lambda x, y: x + y, [1, 2], (3, 4), check_types=False)",
    "tf.nest.map_structure(lambda x, y: x + y, [1, 2], [3])", "tf.nest.map_structure(lambda x: x)",
    "tf.nest.map_structure(3, [1])", "tf.nest.map_structure(lambda x: x, [1], foo=1)",
    "tf.nest.map_structure(lambda x: x + 1, cs.OrderedDict([('b', 1), ('a', 2)]))",
    "tf.nest.map_structure(lambda x: x + 1, cs.defaultdict(int, {'b': 1}))",
    "tf.nest.map_structure(lambda x, y: x + y, {'a': 1}, cs.OrderedDict(a=2))",
    "tf.nest.map_structure(lambda x, y: x + y, {'a': 1}, {'b': 2})", "tf.nest.map_structure(lambda x: x + 1, 3)",
    "tf.nest.map_structure(lambda x: None, [1, None])", "tf.nest.pack_sequence_as([1, [2]], [3, 4])",
    "tf.nest.pack_sequence_as([1, [2]], [3])", "tf.nest.pack_sequence_as(1, [3])",
    "tf.nest.pack_sequence_as(1, [3, 4])", "tf.nest.pack_sequence_as({'b': 0, 'a': 0}, [1, 2])",
    "tf.nest.pack_sequence_as([1], 3)", "tf.nest.pack_sequence_as([1, 2], (3, 4))",
    "tf.nest.pack_sequence_as(cs.OrderedDict([('b', 0), ('a', 0)]), [1, 2])",
    "tf.nest.pack_sequence_as(cs.defaultdict(int, b=1, a=2), [1, 2])", f"tf.nest.pack_sequence_as({_P}(1, 2), [1, 2])",
    "tf.nest.pack_sequence_as({'b': 1, 'a': 2}.values(), [3, 4])", "tf.nest.pack_sequence_as(cs.deque([1, 2]), [3, 4])",
    "tf.nest.pack_sequence_as(range(2), [3, 4])", "tf.nest.pack_sequence_as([1, 2], np.array([3, 4]))",
    "tf.nest.assert_same_structure([1], (1,))", "tf.nest.assert_same_structure([1], (1,), check_types=False)",
    "tf.nest.assert_same_structure([1], [1, 2])", "tf.nest.assert_same_structure([1], 1)",
    "tf.nest.assert_same_structure({'a': 1}, {'b': 1})", f"tf.nest.assert_same_structure({_P}(1, 2), (1, 2))",
    f"tf.nest.assert_same_structure({_P}(1, 2), {_P}(1, 2))",
    f"tf.nest.assert_same_structure({_P}(1, 2), cs.namedtuple('Q', 'x y')(1, 2))",
    "tf.nest.assert_same_structure({'a': 1}, cs.OrderedDict(a=1))", "tf.nest.assert_same_structure('a', 2)",
    "tf.nest.assert_same_structure([[1], 2], [1, [2]])", "tf.nest.assert_same_structure({'a': 1}.values(), [1])",
    "tf.nest.assert_same_structure([1], cs.deque([1]))",
]  # fmt: skip

_G = "tf.random.Generator"


def _after(calls, generator=f"{_G}.from_seed(1234)"):
    """The state of a generator after some calls."""
    return f"(lambda g: ({calls}, g.state.numpy())[-1])({generator})"


GENERATOR = [
    "list(tf.random.Algorithm)", "tf.random.create_rng_state(1234, 'philox').numpy()",
    "tf.random.create_rng_state([12, 34], 'threefry').numpy()", "tf.random.create_rng_state([5], 'philox').numpy()",
    "tf.random.create_rng_state([1, 2, 3, 4], 'philox').numpy()", "tf.random.create_rng_state(-5, 1).numpy()",
    "tf.random.create_rng_state(2**64 + 7, tf.random.Algorithm.PHILOX).numpy()",
    "tf.random.create_rng_state(2**63 + 7, 'auto_select').numpy()", "tf.random.create_rng_state(1, 'pcg')",
    "tf.random.create_rng_state(1, None)", f"{_G}.from_seed(1).algorithm",
    f"{_G}.from_seed(1, alg='threefry').algorithm", f"{_G}.from_seed(1, alg='Auto-Select').algorithm",
    f"{_G}.from_seed(1).state.name", f"{_G}.from_seed(1).state.trainable", f"int({_G}.from_seed(1).key)",
    f"{_G}.from_seed(7).state.dtype", f"{_G}.from_state([1, 2, 3], 'philox').state.numpy()",
    f"{_G}.from_state([1, 2], 'philox')", f"int({_G}.from_state([1, 2], 'threefry').key)",
    f"{_G}.from_key_counter(9, [1, 2], 'philox').state.numpy()", f"{_G}.from_key_counter(9, [1], 'philox')",
    f"{_G}.from_key_counter(2**63 + 1, [1, 2], 1).state.numpy()", f"{_G}({_G}.from_seed(5)).state.numpy()",
    f"{_G}.from_non_deterministic_state().state.shape.as_list()", _after("g.normal([3])"), _after("g.normal([])"),
    _after("g.normal([2, 3], dtype=tf.float64)"), _after("g.uniform([2, 2])"), _after("g.uniform([5], 0, 9, tf.int32)"),
    _after("g.uniform_full_int([2])"), _after("g.truncated_normal([3]), g.normal([1])"), _after("g.make_seeds(3)"),
    _after("g.split(2)"), _after("g.skip(4)"), _after("g.normal([0])"), _after("g.skip(2), g.skip(tf.constant(3))"),
    _after("g.reset([4, 5, 6])"), _after("g.reset_from_seed(77)"), _after("g.reset_from_key_counter(1, [2, 3])"),
    _after("g.skip(1)", f"{_G}.from_state([-256, 0, 1], 'philox')"), _after("g.reset([1, 2])"),
    f"{_G}.from_seed(1).skip(3).numpy()", f"{_G}.from_seed(1).make_seeds(3).shape.as_list()",
    f"{_G}.from_seed(1).make_seeds().dtype", f"[type(g).__name__ for g in {_G}.from_seed(1).split(2)]",
    f"{_G}.from_seed(1).split(2)[1].state.numpy()[:2]", f"{_G}.from_seed(1).uniform([2], dtype=tf.int32)",
    f"{_G}.from_seed(1).uniform([2], None, None, tf.uint64).dtype", f"{_G}.from_seed(1).normal([2, 0]).numpy()",
    f"{_G}.from_seed(1).binomial([2], [3., 4.], 1.).numpy()", f"{_G}.from_seed(1).uniform_full_int([2]).dtype",
]  # fmt: skip

PRINT = [
    f"printed({arguments})"
    for arguments in (
        "1",
        "1.5",
        "'a'",
        "None",
        "True",
        "[1, 2]",
        "(1, 'a')",
        "{'a': 1}",
        "tf.constant(1)",
        "tf.constant(1.5)",
        "tf.constant(1.0)",
        "tf.constant(0.1)",
        "tf.constant(1e10)",
        "tf.constant(1e-7)",
        "tf.constant(123456789.0)",
        "tf.constant(1 / 3, tf.float64)",
        "tf.constant(True)",
        "tf.constant('hi')",
        "tf.constant(['a', 'b'])",
        "tf.constant([1.0, 2.0])",
        "tf.range(10)",
        "tf.reshape(tf.range(100), [10, 10])",
        "tf.zeros([0])",
        "tf.zeros([7])",
        "tf.constant([[1.5, 2], [3, 4]])",
        "[tf.constant(1), tf.constant([1, 2])]",
        "{'x': tf.constant(1), 'y': 's'}",
        "(tf.constant('s'),)",
        "tf.constant(float('nan'))",
        "tf.constant([float('inf'), -float('inf')])",
        "tf.constant([True, False])",
        "np.array([1, 2])",
        "tf.Variable(3.0)",
        "tf.Variable([1, 2])",
        "[tf.Variable(1.0)]",
        "tf.constant(1, tf.int64)",
        "tf.constant(3, tf.uint8)",
        "tf.reshape(tf.range(8), [2, 2, 2])",
        "tf.reshape(tf.range(343), [7, 7, 7])",
        "tf.float32",
        "tf.constant(1.5, tf.float16)",
        "tf.constant(0.1, tf.float16)",
        "tf.constant(1.5, tf.bfloat16)",
        "[[tf.constant('a'), 'b'], {'k': tf.constant([1.0])}]",
        "'%d'",
        "tf.constant('%')",
        "tf.constant(1e8)",
        "tf.constant(0.30000001)",
        "tf.constant(1e5)",
        "tf.constant(1e6)",
        "tf.constant(123456.7)",
        "tf.constant(1234567.8)",
        "tf.constant(16777216.0)",
        "tf.constant(3.14159265358979, tf.float64)",
        "tf.constant(1e15, tf.float64)",
        "tf.constant(1e-4)",
        "tf.constant(1e-5)",
        "1, 'a', tf.constant(2)",
        "'a', tf.constant('b')",
        "tf.constant('b'), tf.constant(['c'])",
        "tf.constant(1), tf.constant(2), sep=','",
        "'a', 'b', sep='-', end='!'",
        "",
        "''",
        "tf.range(10), summarize=2",
        "tf.range(10), summarize=-1",
        "tf.range(10), summarize=None",
        "[1, tf.constant(2)], 'x', {'a': tf.constant('z')}",
        "'x', end=None",
        "tf.range(10), [tf.range(10)], summarize=1, sep=''",
        "'a', foo=1",
        "list(range(40))",
        "'a' * 100, ['b' * 100, 'c' * 60]",
        "tf.constant([['a', 'b'], ['c', 'd']])",
        "{'b': 1, 'a': tf.constant(2)}",
        "cs.OrderedDict(b=tf.constant(2))",
    )
]

PYTHON = [
    "tf.py_function(lambda x: x * 2, [tf.constant(1.0)], tf.float32).numpy().tolist()",
    "[t.dtype for t in tf.py_function(lambda x, y: (x * 2, y), [tf.constant(1.0), 3], [tf.float32, tf.int32])]",
    "tf.py_function(lambda: None, [], [])", "tf.py_function(lambda x: None, [1], [])",
    "tf.py_function(lambda x: x, [1], tf.float32)", "tf.py_function(lambda x: 3, [1], tf.int64).dtype",
    "tf.py_function(lambda x: 1 / 0, [1], tf.int32)", "int(tf.py_function(lambda x: x.numpy() + 1, [1], tf.int32))",
    "bool(tf.py_function(lambda: tf.executing_eagerly(), [], tf.bool))",
    "tf.py_function(lambda x: None, [1], tf.int32)",
    "tf.numpy_function(lambda x: x.astype('float64'), [tf.constant(1.0)], tf.float32).dtype",
    "tf.numpy_function(lambda x: type(x).__name__, [tf.constant(1.0)], tf.string).numpy()",
    "tf.numpy_function(lambda x: type(x).__name__, [tf.constant('a')], tf.string).numpy()",
    "tf.numpy_function(lambda x: x, [tf.constant('a')], tf.string).numpy()",
    "tf.numpy_function(lambda x: 1 / 0, [1], tf.int32)", "tf.numpy_function(lambda x: None, [1], [])",
    "[int(t) for t in tf.numpy_function(lambda x: (x, x), [1], [tf.int32, tf.int32])]",
    "tf.function(lambda x: tf.py_function(lambda x: x * 2, [x], tf.float32))(tf.constant(3.0)).numpy().tolist()",
    "tf.function(lambda x: tf.py_function(lambda x: tf.ones([2]) * x, [x], tf.float32))(tf.constant(3.0)).shape.rank",
    "tf.function(lambda x: tf.py_function(lambda x: 1 / 0, [x], tf.float32))(tf.constant(3.0))",
    "tf.function(lambda x: tf.numpy_function(lambda x: x.astype('float64'), [x], tf.float32))(tf.constant(3.0))",
    "tf.function(lambda x: tf.numpy_function(lambda x: x + x, [x], tf.float32))(tf.constant([3.0])).numpy().tolist()",
]  # fmt: skip

_NET = "net(tf)"

MODULE = [
    f"[v.name for v in {_NET}.variables]", f"[v.name for v in {_NET}.trainable_variables]",
    f"[v.name for v in {_NET}.non_trainable_variables]", f"[m.name for m in {_NET}.submodules]",
    f"[p for p, v in {_NET}._flatten(True, lambda v: isinstance(v, tf.Module), with_path=True)]",
    f"[p for p, v in {_NET}._flatten(False, lambda v: isinstance(v, tf.Variable), with_path=True)]",
    f"[v.name for v in {_NET}._flatten(True, lambda v: isinstance(v, tf.Variable), lambda k: [-ord(c) for c in k])]",
    f"{_NET}.name", f"{_NET}.name_scope.name", f"{_NET}.layers[1].name_scope.name", "tf.Module().name",
    "type('MyHTTPModule2X', (tf.Module,), {})().name", "type('A1B', (tf.Module,), {})().name",
    "type('_Hidden', (tf.Module,), {})().name", "tf.Module('a/b')", "tf.Module('1a')", "tf.Module('')",
    "tf.Module(name='ok').name", "tf.Module().variables", "tf.Module().submodules",
    "(lambda m: (setattr(m, 'd', {1: 2, 'a': 3}), m.variables))(tf.Module())",
    "(lambda m: (setattr(m, 'm', m), m.submodules))(tf.Module())[1]",
]  # fmt: skip


def net(tf):
    """A module with shared parts, a cycle, and variables in lists and dicts."""

    class Dense(tf.Module):
        def __init__(self, size, name=None):
            super().__init__(name)
            self.size = size

        @tf.Module.with_name_scope
        def build(self):
            self.w = tf.Variable([1.0] * self.size, name="w")
            self.b = tf.Variable(0.0, name="b", trainable=False)
            return self

    class TwoLayerNet(tf.Module):
        def __init__(self):
            super().__init__()
            with self.name_scope:
                self.layers = [Dense(2).build(), Dense(3, "other").build()]
            self.again = self.layers[0]
            self.table = {"z": tf.Variable(1.0, name="z"), "a": (tf.Variable(2, name="a"), None)}
            self.layers[1].parent = self

    return TwoLayerNet()


CASES = {"specs": SPECS, "nest": NEST, "generator": GENERATOR, "module": MODULE, "print": PRINT, "python": PYTHON}
