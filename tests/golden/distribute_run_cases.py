# ruff: noqa: E501 (a case is a line)
"""Cases of tf.distribute's run, contexts, merge_call and the members of the extended and 1.x strategies."""

_PLACES = {
    "outside": "{}",
    "scope": "scoped(lambda: {})",
    "run": "s.run(lambda: {})",
    "run in scope": "scoped(lambda: s.run(lambda: {}))",
    "merge_call": "merged(lambda st: {})",
    "merge_call outside": "here().merge_call(lambda st: {})",
    "function outside": "function(lambda: {})",
    "function in scope": "scoped(lambda: function(lambda: {}))",
    "scope in function": "function(lambda: scoped(lambda: {}))",
    "function in run": "s.run(lambda: function(lambda: {}))",
    "run in function": "function(lambda: s.run(lambda: {}))",
    "function in merge_call": "merged(lambda st: function(lambda: {}))",
    "merge_call in function": "function(lambda: merged(lambda st: {}))",
    "merge_call in function in run": "s.run(lambda: function(lambda: here().merge_call(lambda st: {})))",
    "run in merge_call": "merged(lambda st: st.run(lambda: {}))",
    "run in run": "s.run(lambda: s.run(lambda: {}))",
    "update": "scoped(lambda: s.extended.update(var(1.), lambda w: {}, group=False))",
    "update in merge_call": "(lambda w: merged(lambda st: st.extended.update(w, lambda w: {}, group=False)))(var(1.))",
    "update outside": "s.extended.update(var(1.), lambda w: {}, group=False)",
    "update in run": "(lambda w: s.run(lambda: s.extended.update(w, lambda w: {}, group=False)))(var(1.))",
    "cond": "s.run(lambda: tf.cond(rid() > 0, lambda: {}, lambda: {}))",
    "while": "s.run(lambda: tf.while_loop(lambda i: i < 1, lambda i: [then({}, i + 1)], [tf.constant(0)]))",
    "map": "list(distributed(values(4).batch(2).map(lambda x: then(seen.append({}), x)))) and seen",
}
_QUESTIONS = {
    "contexts": "then(seen.append(contexts()), 0)", "has_strategy": "tf.distribute.has_strategy()",
    "in_cross_replica_context": "tf.distribute.in_cross_replica_context()", "scope": "scoped(lambda: 5)",
    "all_reduce": "here().all_reduce('SUM', tf.constant(1.))", "reduce": "s.reduce('MEAN', 1., axis=None)",
    "run": "s.run(lambda: rid())", "merge_call": "here().merge_call(lambda st: 1)",
    "merge_call of none": "here().merge_call(lambda st: None)", "replica id": "here().replica_id_in_sync_group",
    "variable": "tf.Variable(1.)", "local results": "s.experimental_local_results(1.)",
    "gather": "s.gather(tf.ones([1]), axis=0)", "reduce_to": "s.extended.reduce_to(MEAN, 1., 'CPU:0')",
}  # fmt: skip


def _placed(place, question):
    text = place.replace("{}", _QUESTIONS[question])

    def run(v):
        seen: list = []
        found = eval(text, {**v, "seen": seen})
        return seen[0] if question == "contexts" and seen else found

    return run


PLACES = {f"{question}: {name}": _placed(place, question) for name, place in _PLACES.items() for question in _QUESTIONS}


def _calls(v):
    """How often the function of a run is called, and with which thread-local strategy."""
    calls = []

    def local():
        calls.append(v["contexts"]())
        return 1

    v["s"].run(local)
    return calls


RETURNS = {
    "nothing": "s.run(lambda: None)", "number": "s.run(lambda: 3)",
    "equal numbers": "s.run(lambda: int(rid('int32')) * 0 + 1000)", "own number": "s.run(lambda: int(rid('int32')))",
    "real number": "s.run(lambda: 1.5)", "string": "s.run(lambda: 'a')",
    "own string": "s.run(lambda: str(int(rid('int32'))))", "truth": "s.run(lambda: True)",
    "tensor": "s.run(lambda: tf.constant(1.))", "one tensor": "(lambda t: s.run(lambda: t))(tf.constant(1.))",
    "own tensor": "s.run(lambda: rid())", "array": "s.run(lambda: np.ones(2))",
    "one array": "(lambda t: s.run(lambda: t))(np.ones(2))", "list": "s.run(lambda: [rid(), 1, None])",
    "tuple": "s.run(lambda: (rid(), 1, None))", "dictionary": "s.run(lambda: {'b': rid(), 'a': (1, rid())})",
    "empty list": "s.run(lambda: [])", "empty tuple": "s.run(lambda: ())", "empty dictionary": "s.run(lambda: {})",
    "nested": "s.run(lambda: [[rid()], {'a': [None, ('x', rid())]}])",
    "None on one": "s.run(lambda: None if int(rid('int32')) else rid())",
    "unequal lengths": "s.run(lambda: [1] * (int(rid('int32')) + 1))",
    "unequal keys": "s.run(lambda: {str(int(rid('int32'))): 1})",
    "unequal types": "s.run(lambda: 1 if int(rid('int32')) else (1,))",
    "unequal shapes": "s.run(lambda: tf.zeros([int(rid('int32'))]))",
    "unequal dtypes": "s.run(lambda: tf.constant(1) if int(rid('int32')) else tf.constant(1.))",
    "mirrored variable": "(lambda w: s.run(lambda: w))(var(1.))",
    "variable": "(lambda w: s.run(lambda: w))(tf.Variable(1.))",
    "on-read variable": "(lambda w: s.run(lambda: w))(on_read())",
    "per-replica value": "(lambda p: s.run(lambda: p))(per(1., 2., 3.))",
    "slices": "s.run(lambda: tf.IndexedSlices(rid(), 1, 2))", "object": "(lambda o: s.run(lambda: o))(object())",
    "own objects": "s.run(lambda: object())", "strategy": "s.run(lambda: tf.distribute.get_strategy()) is s",
    "function": "s.run(lambda: len)", "an operation": "function(lambda: type(s.run(lambda: tf.no_op())).__name__)",
    "ragged": "s.run(lambda: tf.ragged.constant([[1], [2, 3]]))",
    "named tuple": "s.run(lambda: tf.distribute.InputOptions(1, rid()))",
    "generator": "s.run(lambda: (x for x in [1]))", "assign": "(lambda w: s.run(lambda: w.assign(rid())))(var(1.))",
    "assign_add": "(lambda w: s.run(lambda: w.assign_add(rid() + 1)))(var(1., aggregation=tf.VariableAggregation.SUM))",
    "assign in function": "(lambda w: function(lambda: s.run(lambda: w.assign(rid()))))(var(1.))", "calls": _calls,
    "raises": "s.run(lambda: [][1])", "raises on one": "s.run(lambda: [0][int(rid('int32'))])",
    "raises in merge": "merged(lambda st: [][1])", "not callable": "s.run(3)", "no arguments": "s.run()",
    "a function": "s.run(tf.function(lambda: rid()))",
    "a function of values": "s.run(tf.function(lambda x: x * 2), args=(per(1., 2., 3.),))",
    "a function of unequal shapes": "s.run(tf.function(lambda x: tf.reduce_sum(x)), args=(per([1.], [1., 2.], []),))",
}  # fmt: skip
ARGUMENTS = {
    "list": "s.run(lambda x, y: x + y, args=[1, 2])",
    "tuple": "s.run(lambda x, y: x + y, args=(1, 2))",
    "number": "s.run(lambda x: x, args=1)",
    "tensor": "s.run(lambda x: x, args=tf.constant([1., 2.]))",
    "dictionary": "s.run(lambda x: x, args={'x': 1})",
    "None": "s.run(lambda: 1, args=None)",
    "string": "s.run(lambda x: x, args='a')",
    "per-replica not in a tuple": "s.run(lambda x: x, args=per(1., 2., 3.))",
    "keywords": "s.run(lambda x, y: x + y, args=(1,), kwargs={'y': per(1., 2., 3.)})",
    "keywords alone": "s.run(lambda x: x, kwargs={'x': 3})",
    "keywords of a wrong type": "s.run(lambda x: x, kwargs=[3])",
    "unknown keyword": "s.run(lambda x: x, kwargs={'z': 3})",
    "too few": "s.run(lambda x: x)",
    "per-replica": "s.run(lambda x: x * 2, args=(per(1., 2., 3.),))",
    "per-replica in a structure": "s.run(lambda x: x['a'][0] * 2, args=({'a': [per(1., 2., 3.)]},))",
    "type inside": "s.run(lambda x: type(x).__name__, args=(per(1., 2., 3.),))",
    "mirrored variable": "s.run(lambda w: w + rid(), args=(var(1.),))",
    "mirrored variable's type inside": "s.run(lambda w: type(w).__name__, args=(var(1.),))",
    "mirrored variable captured: type inside": "(lambda w: s.run(lambda: type(w).__name__))(var(1.))",
    "mirrored variable passed is assigned": "(lambda w: then(s.run(lambda x: x.assign(rid()), args=(w,)), w))(var(1.))",
    "array": "s.run(lambda x: x, args=(np.ones(2),))",
    "strings": "s.run(lambda x: x, args=('a',))",
    "None inside": "s.run(lambda x: x, args=(None,))",
    "fewer values": "s.run(lambda x: x, args=(tf.distribute.MirroredStrategy(['CPU:0', 'CPU:1']).run(lambda: rid()),))",
    "default values": "s.run(lambda x, y=4: x + y, args=(1,))",
    "star": "s.run(lambda *a, **k: [list(a), k], args=(1, per(1., 2., 3.)), kwargs={'z': 2})",
}
VALUES_OF = {
    "local results of per-replica": "s.experimental_local_results(per(1., 2., 3.))",
    "local results of a number": "s.experimental_local_results(3)",
    "local results of None": "s.experimental_local_results(None)",
    "local results of a tensor": "s.experimental_local_results(tf.constant([1., 2.]))",
    "local results of a list": "s.experimental_local_results([1, 2])",
    "local results of a list of per-replica": "s.experimental_local_results([per(1., 2., 3.), 2])",
    "local results of a dictionary": "s.experimental_local_results({'a': per(1., 2., 3.), 'b': 1})",
    "local results of a tuple": "s.experimental_local_results((per(1., 2., 3.), 2))",
    "local results of ()": "s.experimental_local_results(())",
    "local results of a mirrored variable": "s.experimental_local_results(var(1.))",
    "local results of mirrored variable types": "[type(x).__name__ for x in s.experimental_local_results(var(1.))]",
    "local results of an on-read variable": "s.experimental_local_results(on_read())",
    "local results of a variable": "s.experimental_local_results(tf.Variable(1.))",
    "local results of a reduction": "s.experimental_local_results(s.reduce('SUM', per(1., 2., 3.), axis=None))",
    "local results in run": "s.run(lambda: s.experimental_local_results(rid()))",
    "local results in scope": "scoped(lambda: s.experimental_local_results(per(1., 2., 3.)))",
    "local results in a function": "function(lambda: s.experimental_local_results(s.run(lambda: rid())))",
    "local results of another strategy": "s.experimental_local_results(tf.distribute.MirroredStrategy(['CPU:4', 'CPU:5']).run(lambda: rid()))",
    "unwrap": "s.unwrap(per(1., 2., 3.))",
    "group": "s.group(per(1., 2., 3.))",
    "type": "type(per(1., 2., 3.)).__name__",
    "repr": "repr(per(1., 2., 3.))",
    "str": "str(per(1., 2., 3.))",
    "repr of strings": "repr(s.run(lambda: str(int(rid('int32')))))",
    "members": "[k for k in dir(per(1., 2., 3.)) if k[0] != '_']",
    "values": "per(1., 2., 3.).values",
    "is DistributedValues": "isinstance(per(1., 2., 3.), tf.distribute.DistributedValues)",
    "mirrored variable is DistributedValues": "isinstance(var(1.), tf.distribute.DistributedValues)",
    "mirrored variable is a Variable": "isinstance(var(1.), tf.Variable)",
    "arithmetic": "per(1., 2., 3.) + 1",
    "arithmetic of tensors": "tf.constant(1.) + per(1., 2., 3.)",
    "as a tensor": "tf.convert_to_tensor(per(1., 2., 3.))",
    "as a tensor in run": "(lambda p: s.run(lambda: tf.convert_to_tensor(p)))(per(1., 2., 3.))",
    "captured in run": "(lambda p: s.run(lambda: type(p).__name__))(per(1., 2., 3.))",
    "captured in run, operation": "(lambda p: s.run(lambda: tf.square(p)))(per(1., 2., 3.))",
    "float": "float(per(1., 2., 3.))",
    "numpy": "per(1., 2., 3.).numpy()",
    "len": "len(per(1., 2., 3.))",
    "index": "per(1., 2., 3.)[0]",
    "iter": "[x for x in per(1., 2., 3.)]",
    "bool": "bool(per(1., 2., 3.))",
    "shape": "per(1., 2., 3.).shape",
    "dtype": "per(1., 2., 3.).dtype",
    "is_tensor_like": "tf.is_tensor(per(1., 2., 3.))",
    "equality": "per(1., 2., 3.) == per(1., 2., 3.)",
    "spec": "str(per(1., 2., 3.)._type_spec)",
    "spec of unequal shapes": "str(per([1.], [1., 2.], [])._type_spec)",
    "nest": "len(tf.nest.flatten([per(1., 2., 3.)]))",
    "nest with composites": "len(tf.nest.flatten([per(1., 2., 3.)], expand_composites=True))",
    "from a function": "function(lambda: s.run(lambda: rid()))",
    "from a function, number": "function(lambda: s.run(lambda: 3))",
    "into a function": "tf.function(lambda x: s.run(lambda y: y * 2, args=(x,)))(per(1., 2., 3.))",
    "into a function, unequal": "tf.function(lambda x: s.reduce('SUM', x, axis=0))(per([1.], [1., 2.], [3.]))",
    "print": "tf.strings.format('{}', per(1., 2., 3.))",
}


def _if_in_function(v):
    """A Python conditional of the replica id, in a function."""
    tf, s = v["tf"], v["s"]

    def local():
        if v["here"]().replica_id_in_sync_group == 0:
            found = tf.constant(10)
        else:
            found = tf.constant(20)
        return found

    return [tf.function(lambda: s.run(local))(), v["attempt"](lambda: s.run(tf.function(local)))]


def _steps_in_function(v):
    """Steps in a loop inside a function, over a variable of each kind."""
    tf, s = v["tf"], v["s"]
    w, r = v["var"](0.0, aggregation=tf.VariableAggregation.SUM), v["on_read"]("SUM", 0.0)

    def local():
        w.assign_add(v["rid"]() + 1.0)
        r.assign_add(v["rid"]() + 1.0)
        return w.read_value()

    @tf.function
    def run():
        total = tf.constant(0.0)
        for _ in tf.range(3):
            total += s.reduce("MEAN", s.run(local), axis=None)
        return total

    return [run(), w, r, r.read_value()]


_CONTEXT = "s.run(lambda: {})"
CONTEXT = {
    "type": _CONTEXT.format("type(here()).__name__"),
    "is a ReplicaContext": _CONTEXT.format("isinstance(here(), tf.distribute.ReplicaContext)"),
    "id": _CONTEXT.format("here().replica_id_in_sync_group"),
    "id's type": _CONTEXT.format("type(here().replica_id_in_sync_group).__name__"),
    "id's dtype": _CONTEXT.format(
        "str(here().replica_id_in_sync_group.dtype) + str(here().replica_id_in_sync_group.shape)"
    ),
    "id's type in a function": "function(lambda: s.run(lambda: type(here().replica_id_in_sync_group).__name__))",
    "id as a number": _CONTEXT.format("int(here().replica_id_in_sync_group)"),
    "id == 0": _CONTEXT.format("here().replica_id_in_sync_group == 0"),
    "id in a list": _CONTEXT.format("[5, 6, 7][here().replica_id_in_sync_group]"),
    "if id": _CONTEXT.format("'first' if here().replica_id_in_sync_group == 0 else 'other'"),
    "python if id in a function": _if_in_function,
    "steps in a function": _steps_in_function,
    "if id in a function": "function(lambda: s.run(lambda: 1 if here().replica_id_in_sync_group == 0 else 2))",
    "number of replicas": _CONTEXT.format("here().num_replicas_in_sync"),
    "strategy": _CONTEXT.format("here().strategy is s"),
    "devices": _CONTEXT.format("list(here().devices)"),
    "members": _CONTEXT.format("' '.join(k for k in dir(here()) if k[0] != '_')"),
    "repr": _CONTEXT.format("repr(here())"),
    "str": _CONTEXT.format("str(here())"),
    "with": _CONTEXT.format("here().__enter__()"),
    "default type": "type(here()).__name__",
    "default id": "here().replica_id_in_sync_group",
    "default number": "here().num_replicas_in_sync",
    "default merge_call": "here().merge_call(lambda st, x: [contexts(), x], args=(1,))",
    "default all_reduce": "here().all_reduce('SUM', [1., tf.constant(2.)])",
    "default all_gather": "here().all_gather(tf.constant([2.]), axis=0)",
    "made by hand": "tf.distribute.ReplicaContext(s, 0).replica_id_in_sync_group",
    "made by hand without id": "tf.distribute.ReplicaContext(s, None).num_replicas_in_sync",
    "made by hand of a string": "tf.distribute.ReplicaContext(s, 'a')",
    "kept outside": "(lambda kept: then(s.run(lambda: then(kept.append(here()), 1)), kept[0].merge_call(lambda st: 1)))([])",
    "kept id outside": "(lambda kept: then(s.run(lambda: then(kept.append(here()), 1)), kept[0].replica_id_in_sync_group))([])",
    "merge: what comes": "s.run(lambda: here().merge_call(lambda st, *a, **k: [type(st).__name__, [type(x).__name__ for x in a], sorted(k)], args=(rid(), 1, 'a', None, [rid()]), kwargs={'z': 1}))",
    "merge: values": "s.run(lambda: here().merge_call(lambda st, x, y: [x, y], args=(rid(), 2)))",
    "merge: number back": "merged(lambda st: 3)",
    "merge: tensor back": "merged(lambda st: tf.constant(3.))",
    "merge: None back": "merged(lambda st: None)",
    "merge: list back": "merged(lambda st: [1, 2, 3])",
    "merge: tuple back": "merged(lambda st: (1, 2))",
    "merge: dictionary back": "merged(lambda st: {'a': 1})",
    "merge: per-replica back": "s.run(lambda: here().merge_call(lambda st, x: x, args=(rid(),)))",
    "merge: per-replica in a list back": "s.run(lambda: here().merge_call(lambda st, x: [x, {'a': x}], args=(rid(),)))",
    "merge: local results back": "s.run(lambda: here().merge_call(lambda st, x: st.experimental_local_results(x), args=(rid(),)))",
    "merge: type of per-replica back": "s.run(lambda: type(here().merge_call(lambda st, x: x, args=(rid(),))).__name__)",
    "merge: mirrored variable back": "(lambda w: s.run(lambda: type(here().merge_call(lambda st: w)).__name__))(var(1.))",
    "merge: string back": "merged(lambda st: 'a')",
    "merge: reduced back": "s.run(lambda: here().merge_call(lambda st, x: st.reduce('SUM', x, axis=None), args=(rid(),)) * (rid() + 1))",
    "merge: calls": "(lambda calls: then(merged(lambda st: calls.append(1)), len(calls)))([])",
    "merge: nested": "merged(lambda st: here())",
    "merge: nested in run": "merged(lambda st: st.run(lambda: here().merge_call(lambda st: 4)))",
    "merge: unequal functions": "s.run(lambda: here().merge_call((lambda st: 1) if int(rid('int32')) else (lambda st: 2)))",
    "merge: on one replica": "s.run(lambda: here().merge_call(lambda st: 1) if int(rid('int32')) else 2)",
    "merge: unequal arguments": "s.run(lambda: here().merge_call(lambda st, *a: len(a), args=(1,) * (int(rid('int32')) + 1)))",
    "merge: arguments not a tuple": "s.run(lambda: here().merge_call(lambda st, x: x, args=3))",
    "merge: arguments a list": "s.run(lambda: here().merge_call(lambda st, x: x, args=[3]))",
    "merge: arguments a tensor": "s.run(lambda: here().merge_call(lambda st, x: x, args=rid()))",
    "merge: in cond in a function": "function(lambda: s.run(lambda: tf.cond(rid() > 0, lambda: here().merge_call(lambda st: tf.constant(1.)), lambda: 2.)))",
    "merge: in while in a function": "function(lambda: s.run(lambda: tf.while_loop(lambda i: i < 2, lambda i: [i + here().merge_call(lambda st: 1)], [tf.constant(0)])))",
    "all_reduce in cond in a function": "function(lambda: s.run(lambda: tf.cond(rid() > 0, lambda: here().all_reduce('SUM', tf.constant(1.)), lambda: 2.)))",
    "all_reduce in while in a function": "function(lambda: s.run(lambda: tf.while_loop(lambda i: i < 2., lambda i: [i + here().all_reduce('SUM', tf.constant(1.))], [tf.constant(0.)])))",
    "merge: in gradient tape": "s.run(lambda: here().merge_call(lambda st: contexts()))",
    "summary": "s.run(lambda: tf.summary.should_record_summaries())",
    "random": "s.run(lambda: tf.random.stateless_uniform([], [1, 2]) > 0)",
    "devices of tensors": "s.run(lambda: rid().device[-5:])",
}

MIXED = {
    "nested scopes": "scoped(lambda: scoped(lambda: contexts()))",
    "scope in another's": "scoped(lambda: tf.distribute.MirroredStrategy(['CPU:4', 'CPU:5']).scope().__enter__())",
    "scope in run": "s.run(lambda: scoped(lambda: 1))",
    "run in another's scope": "scoped(lambda: tf.distribute.MirroredStrategy(['CPU:4', 'CPU:5']).run(lambda: rid()))",
    "run in another's run": "s.run(lambda: tf.distribute.MirroredStrategy(['CPU:4', 'CPU:5']).run(lambda: rid()))",
    "reduce in another's scope": "scoped(lambda: tf.distribute.MirroredStrategy(['CPU:4', 'CPU:5']).reduce('SUM', 1., axis=None))",
    "gather in another's scope": "scoped(lambda: tf.distribute.MirroredStrategy(['CPU:4', 'CPU:5']).gather(tf.ones([1]), axis=0))",
    "another's variable in run": "(lambda w: s.run(lambda: w + 1.))(names(tf, 'm2')['var'](1.))",
    "another's variable assigned in run": "(lambda w: s.run(lambda: w.assign(1.)))(names(tf, 'm2')['var'](1.))",
    "another's variable assigned in scope": "(lambda w: scoped(lambda: w.assign(1.)))(names(tf, 'm2')['var'](1.))",
    "another's variable read in scope": "(lambda w: scoped(lambda: w + 1.))(names(tf, 'm2')['var'](1.))",
    "another's value in run": "s.run(lambda x: x, args=(names(tf, 'm2')['per'](1., 2.),))",
    "another's dataset in run": "s.run(lambda x: x, args=(next(iter(names(tf, 'm2')['distributed'](values(4).batch(2)))),))",
    "variable outside assigned in run": "(lambda w: then(s.run(lambda: w.assign_add(rid() + 1)), w))(tf.Variable(1.))",
    "variable outside in run": "(lambda w: s.run(lambda: w + rid()))(tf.Variable(1.))",
    "scope object": "then(*[[type(c).__name__, c.__enter__() is s, c.__exit__(None, None, None)] for c in [s.scope()]])",
    "scope left twice": "[[c.__enter__() is s, c.__exit__(None, None, None), attempt(lambda: c.__exit__(None, None, None))] for c in [s.scope()]]",
    "scope gives": "[x is s for c in [s.scope()] for x in [c.__enter__()] for _ in [c.__exit__(None, None, None)]]",
    "set_strategy in scope": "scoped(lambda: tf.distribute.experimental_set_strategy(s))",
    "set_strategy": "[tf.distribute.experimental_set_strategy(s), contexts(), type(tf.Variable(1.)).__name__, tf.distribute.experimental_set_strategy(None), contexts()]",
    "set_strategy twice": "[tf.distribute.experimental_set_strategy(s), attempt(lambda: tf.distribute.experimental_set_strategy(s)), contexts(), tf.distribute.experimental_set_strategy(None)]",
    "set_strategy, then scope": "[tf.distribute.experimental_set_strategy(s), attempt(lambda: scoped(lambda: contexts())), tf.distribute.experimental_set_strategy(None)]",
    "set_strategy in run": "s.run(lambda: tf.distribute.experimental_set_strategy(None))",
    "set_strategy of a number": "tf.distribute.experimental_set_strategy(3)",
    "devices twice": "tf.distribute.MirroredStrategy(['CPU:0', 'CPU:0'])",
    "no devices": "tf.distribute.MirroredStrategy([])",
    "default devices": "tf.distribute.MirroredStrategy().num_replicas_in_sync",
    "a device as string": "tf.distribute.MirroredStrategy('CPU:0').num_replicas_in_sync",
    "a device that is not there": "tf.distribute.MirroredStrategy(['CPU:99']).num_replicas_in_sync",
    "one device without a name": "tf.distribute.OneDeviceStrategy()",
    "one device of a wrong name": "tf.distribute.OneDeviceStrategy('x').num_replicas_in_sync",
    "base class": "tf.distribute.Strategy(None)",
    "base class of an extended": "tf.distribute.Strategy(s.extended).num_replicas_in_sync",
    "default is one object": "tf.distribute.get_strategy() is tf.distribute.get_strategy()",
    "copy": "__import__('copy').copy(s).num_replicas_in_sync",
    "deepcopy": "__import__('copy').deepcopy(s).num_replicas_in_sync",
    "deepcopy of extended": "__import__('copy').deepcopy(s.extended)",
}

_E = "s.extended"
EXTENDED = {
    "members": f"' '.join(k for k in dir({_E}) if k[0] != '_')",
    "strategy members": "' '.join(k for k in dir(s) if k[0] != '_')",
    "type": f"type({_E}).__name__",
    "bases": f"[c.__name__ for c in type({_E}).__mro__]",
    "strategy bases": "[c.__name__ for c in type(s).__mro__]",
    "is an Extended": f"isinstance({_E}, tf.distribute.StrategyExtended)",
    "cluster_resolver": "s.cluster_resolver",
    "num_replicas_in_sync": "s.num_replicas_in_sync",
    "repr": "repr(s)",
    "str": "str(s)",
    **{
        name: f"{_E}.{name}"
        for name in (
            "worker_devices",
            "parameter_devices",
            "experimental_require_static_shapes",
            "experimental_between_graph",
            "experimental_should_init",
            "should_checkpoint",
            "should_save_summary",
            "enable_partial_batch_handling",
            "experimental_enable_get_next_as_optional",
            "worker_devices_by_replica",
        )
    },
    "reduce_to": f"scoped(lambda: {_E}.reduce_to(SUM, per(1., 2., 3.), 'CPU:1'))",
    "reduce_to MEAN": f"scoped(lambda: {_E}.reduce_to(MEAN, per(1., 2., 3.), 'CPU:1'))",
    "reduce_to a variable": f"scoped(lambda: {_E}.reduce_to(SUM, per(1., 2., 3.), var(1.)))",
    "reduce_to per-replica": f"scoped(lambda: [{_E}.reduce_to(SUM, p, p) for p in [per(1., 2., 3.)]])",
    "reduce_to device's": f"scoped(lambda: {_E}.reduce_to(SUM, per(1., 2., 3.), 'CPU:1').device[-5:])",
    "reduce_to outside": f"{_E}.reduce_to(SUM, per(1., 2., 3.), 'CPU:1')",
    "reduce_to in run": f"s.run(lambda: {_E}.reduce_to(SUM, rid(), 'CPU:1'))",
    "reduce_to of a string": f"scoped(lambda: {_E}.reduce_to('SUM', per(1., 2., 3.), 'CPU:1'))",
    "reduce_to of MAX": f"scoped(lambda: {_E}.reduce_to('MAX', per(1., 2., 3.), 'CPU:1'))",
    "reduce_to of a number": f"scoped(lambda: {_E}.reduce_to(SUM, 3., 'CPU:1'))",
    "reduce_to MEAN of a number": f"scoped(lambda: {_E}.reduce_to(MEAN, 3., 'CPU:1'))",
    "reduce_to of 0": f"scoped(lambda: {_E}.reduce_to(SUM, 0, 'CPU:1'))",
    "reduce_to of a tensor": f"scoped(lambda: {_E}.reduce_to(SUM, tf.constant(3.), 'CPU:1'))",
    "reduce_to of a mirrored variable": f"scoped(lambda: {_E}.reduce_to(SUM, var(3.), 'CPU:1'))",
    "reduce_to MEAN of a mirrored variable": f"scoped(lambda: {_E}.reduce_to(MEAN, var(3.), 'CPU:1'))",
    "reduce_to of None": f"scoped(lambda: {_E}.reduce_to(SUM, None, 'CPU:1'))",
    "reduce_to None": f"scoped(lambda: {_E}.reduce_to(SUM, per(1., 2., 3.), None))",
    "batch_reduce_to": f"scoped(lambda: {_E}.batch_reduce_to(SUM, [(per(1., 2., 3.), 'CPU:0'), (per([1.], [2.], [3.]), 'CPU:1')]))",
    "batch_reduce_to variables": f"scoped(lambda: {_E}.batch_reduce_to(MEAN, [(per(1., 2., 3.), w) for w in [var(1.)]]))",
    "batch_reduce_to nothing": f"scoped(lambda: {_E}.batch_reduce_to(SUM, []))",
    "batch_reduce_to outside": f"{_E}.batch_reduce_to(SUM, [(per(1., 2., 3.), 'CPU:0')])",
    "batch_reduce_to of a string": f"scoped(lambda: {_E}.batch_reduce_to('SUM', [(per(1., 2., 3.), 'CPU:0')]))",
    "batch_reduce_to in run": f"s.run(lambda: {_E}.batch_reduce_to(SUM, [(rid(), 'CPU:0')]))",
    "update": f"[w for w in [var(1.)] for _ in [scoped(lambda: {_E}.update(w, lambda v, x: v.assign_add(x), args=(2.,)))]]",
    "update gives": f"scoped(lambda: {_E}.update(var(1.), lambda v, x: v.assign_add(x), args=(2.,)))",
    "update gives, not grouped": f"scoped(lambda: {_E}.update(var(1.), lambda v, x: v.assign_add(x), args=(2.,), group=False))",
    "update, values": f"scoped(lambda: {_E}.update(var(1.), lambda v, x: v + x, args=(per(1., 2., 3.),), group=False))",
    "update, numbers": f"scoped(lambda: {_E}.update(var(1.), lambda v: 3, group=False))",
    "update, None": f"scoped(lambda: {_E}.update(var(1.), lambda v: None, group=False))",
    "update, keywords": f"scoped(lambda: {_E}.update(var(1.), lambda v, x: v + x, kwargs={{'x': 2.}}, group=False))",
    "update, types": f"scoped(lambda: {_E}.update(var(1.), lambda v, x: [type(v).__name__, type(x).__name__], args=(var(1.),), group=False))",
    "update, calls": f"(lambda calls: then(scoped(lambda: {_E}.update(var(1.), lambda v: calls.append(1))), len(calls)))([])",
    "update of a variable outside": f"scoped(lambda: {_E}.update(tf.Variable(1.), lambda v: v + 1., group=False))",
    "update of another's variable": f"(lambda w: scoped(lambda: {_E}.update(w, lambda v: v + 1., group=False)))(tf.Variable(1.))",
    "update of a number": f"scoped(lambda: {_E}.update(3, lambda v: v, group=False))",
    "update of an on-read variable": f"scoped(lambda: {_E}.update(on_read(), lambda v: v.assign(2.), group=False))",
    "update in replica context": f"(lambda w: s.run(lambda: {_E}.update(w, lambda v: v)))(var(1.))",
    "update, reading a variable inside": f"(lambda w: scoped(lambda: {_E}.update(w, lambda v: v + w, group=False)))(var(1.))",
    "update_non_slot": f"scoped(lambda: {_E}.update_non_slot({_E}.non_slot_devices([]), lambda: 3., group=False))",
    "update_non_slot grouped": f"scoped(lambda: {_E}.update_non_slot({_E}.non_slot_devices([]), lambda: tf.constant(3.)))",
    "update_non_slot, values": f"scoped(lambda: {_E}.update_non_slot({_E}.non_slot_devices([]), lambda x: x, args=(per(1., 2., 3.),), group=False))",
    "non_slot_devices": f"{_E}.non_slot_devices([])",
    "non_slot_devices of variables": f"[{_E}.non_slot_devices([w]) for w in [var(1., name='a')]]",
    "colocate_vars_with": f"[type({_E}.colocate_vars_with(w)).__name__ for w in [var(1.)]]",
    "colocate_vars_with, entered": f"scoped(lambda: [tf.Variable(1.).device for w in [var(1.)] for c in [{_E}.colocate_vars_with(w)] for _ in [c.__enter__()] for _ in [c.__exit__(None, None, None)]])",
    "colocate_vars_with a number": f"scoped(lambda: {_E}.colocate_vars_with(3).__enter__())",
    "colocate_vars_with a variable outside": f"{_E}.colocate_vars_with(tf.Variable(1.)).__enter__()",
    "value_container": f"[{_E}.value_container(s.experimental_local_results(w)[0]) is w for w in [var(1.)]]",
    "value_container of a variable": f"[{_E}.value_container(w) is w for w in [tf.Variable(1.)]]",
    "value_container of a mirrored one": f"[{_E}.value_container(w) is w for w in [var(1.)]]",
    "value_container of a number": f"{_E}.value_container(3)",
    "value_container of a tensor": f"{_E}.value_container(tf.constant(3.))",
    "variable_created_in_scope": f"[{_E}.variable_created_in_scope(w) for w in [var(1.), tf.Variable(1.)]]",
    "variable_created_in_scope of a number": f"{_E}.variable_created_in_scope(3)",
    "variable_created_in_scope of a copy": f"{_E}.variable_created_in_scope(s.experimental_local_results(var(1.))[0])",
    "broadcast_to": f"scoped(lambda: {_E}.broadcast_to(tf.constant(3.), var(1.)))",
    "broadcast_to devices": f"scoped(lambda: {_E}.broadcast_to(tf.constant(3.), 'CPU:1'))",
    "broadcast_to of a number": f"scoped(lambda: {_E}.broadcast_to(3., {_E}.worker_devices))",
    "call_for_each_replica": f"{_E}.call_for_each_replica(lambda x: x + rid(), args=(2.,))",
    "call_for_each_replica in scope": f"scoped(lambda: {_E}.call_for_each_replica(lambda x: x + rid(), args=(2.,)))",
    "call_for_each_replica, arguments": f"{_E}.call_for_each_replica(lambda x: x, args=3)",
    "read_var": f"{_E}.read_var(var(1.))",
    "read_var of on-read": f"{_E}.read_var(on_read('SUM', 2.))",
    "experimental_make_numpy_dataset": f"list({_E}.experimental_make_numpy_dataset(np.arange(3)))",
    "steps_per_run": "s.steps_per_run",
    "experimental_run_steps_on_iterator": f"{_E}.experimental_run_steps_on_iterator(lambda c, x: None, iter(distributed(values(4).batch(2))), 2)",
    "update_config_proto": "type(s.update_config_proto(tf.compat.v1.ConfigProto())).__name__",
    "update_config_proto says": "str(s.update_config_proto(tf.compat.v1.ConfigProto()))",
    "configure": "s.configure()",
    "make_dataset_iterator": "[s.experimental_local_results(i.get_next()) for i in [s.make_dataset_iterator(values(6).batch(4))] for _ in [i.initialize()] for _ in range(1)]",
    "make_dataset_iterator, type": "type(s.make_dataset_iterator(values(6).batch(4))).__name__",
    "make_dataset_iterator, next": "[attempt(lambda: s.experimental_local_results(i.get_next())) for i in [s.make_dataset_iterator(values(6).batch(4))] for _ in range(3)]",
    "make_dataset_iterator, initialize": "s.make_dataset_iterator(values(6).batch(4)).initialize()",
    "make_dataset_iterator, members": "' '.join(k for k in dir(s.make_dataset_iterator(values(6).batch(4))) if k[0] != '_')",
    "make_input_fn_iterator": "[attempt(lambda: s.experimental_local_results(i.get_next())) for i in [s.make_input_fn_iterator(lambda c: values(5).batch(2))] for _ in range(3)]",
    "make_input_fn_iterator, mode": "s.make_input_fn_iterator(lambda c: values(5), replication_mode=tf.distribute.InputReplicationMode.PER_REPLICA)",
    "make_input_fn_iterator of a callable": "[i.get_next() for i in [s.make_input_fn_iterator(lambda c: (lambda: tf.constant(3.)))]]",
    "experimental_run": "s.experimental_run(lambda: rid())",
    "experimental_run of an iterator": "[s.experimental_run(lambda x: tf.reduce_sum(x), i) for i in [s.make_dataset_iterator(values(6).batch(4))]]",
    "experimental_run_v2": "s.experimental_run_v2(lambda x: x + rid(), args=(1.,))",
    "strategy's experimental_make_numpy_dataset": "list(s.experimental_make_numpy_dataset(np.arange(3)))",
    "strategy's experimental_make_numpy_dataset of a tuple": "list(s.experimental_make_numpy_dataset((np.arange(3), np.ones([3, 2]))))",
    "strategy's colocate_vars_with": "type(s.colocate_vars_with(var(1.))).__name__",
    "reduce without axis": "s.reduce('SUM', per(1., 2., 3.))",
}

RUNNING = {
    **{f"places, {kind}": (kind, PLACES) for kind in ("m2", "one", "default")},
    **{f"returns, {kind}": (kind, RETURNS) for kind in ("m3", "one", "default")},
    **{f"arguments, {kind}": (kind, ARGUMENTS) for kind in ("m3", "one")},
    **{f"values, {kind}": (kind, VALUES_OF) for kind in ("m3", "one")},
    **{f"context, {kind}": (kind, CONTEXT) for kind in ("m3", "one", "default")},
    **{f"mixed, {kind}": (kind, MIXED) for kind in ("m2", "one")},
    **{f"extended, {kind}": (kind, EXTENDED) for kind in ("m3", "one", "default", "v1")},
}
