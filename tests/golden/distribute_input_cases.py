# ruff: noqa: E501 (a case is a line)
"""Cases of tf.distribute's input: how batches are split, specifications, contexts and options, iterating and its end."""

import re


def _sizes(v, data):
    """How many examples each replica gets at each step; the examples go through the replicas in their order."""
    found = [[part.numpy().tolist() for part in step] for step in v["steps"](data, 99)]
    flat = [x for step in found for part in step for x in part]
    assert flat == list(range(len(flat)))
    return [[len(part) for part in step] for step in found]


def _shapes(data):
    """The distinct shapes in a specification."""
    return sorted(set(re.findall(r"shape=(\([^)]*\))", str(data.element_spec))))


def _splits(b):
    """Two batches, the last of 0 to b examples; less than one batch; and the remainder dropped."""

    def splits(v):
        found = {}
        for total in sorted({0, 1, b - 1, *range(b, 2 * b + 1)}):
            found[str(total)] = _sizes(v, v["distributed"](v["values"](total).batch(b)))
        found["dropped"] = _sizes(v, v["distributed"](v["values"](2 * b - 1).batch(b, drop_remainder=True)))
        found["spec"] = _shapes(v["distributed"](v["values"](2 * b).batch(b)))
        found["dropped spec"] = _shapes(v["distributed"](v["values"](2 * b).batch(b, drop_remainder=True)))
        return v["Told"](found)

    return splits


_RAGGED = "tf.data.Dataset.from_generator(lambda: ([k] * k for k in {sizes}), output_signature=tf.TensorSpec([None], tf.int32))"
_FIXED = (
    "tf.data.Dataset.from_generator(lambda: ([k] * 4 for k in range(3)), output_signature=tf.TensorSpec([4], tf.int32))"
)
_X = "tf.data.Dataset"
PIPELINES = {
    "batch": "values(7).batch(4)",
    "batch dropped": "values(10).batch(4, drop_remainder=True)",
    "batch dropped, not divisible": "values(10).batch(5, drop_remainder=True)",
    "batch of tensor size": "values(7).batch(tf.constant(4, tf.int64))",
    "batch then map": "values(7).batch(4).map(lambda x: x + 1)",
    "batch then map that changes the size": "values(8).batch(4).map(lambda x: x[:3])",
    "batch then map that doubles the size": "values(8).batch(4).map(lambda x: tf.concat([x, x], 0))",
    "batch then map that transposes": "values(8).batch(4, drop_remainder=True).map(lambda x: tf.stack([x, x]))",
    "batch then map to a scalar": "values(8).batch(4).map(lambda x: tf.reduce_sum(x))",
    "batch then map with a scalar beside": "values(8).batch(4).map(lambda x: (x, tf.reduce_sum(x)))",
    "batch then map parallel": "values(7).batch(4).map(lambda x: x + 1, num_parallel_calls=2)",
    "batch then shuffle": "values(7).batch(4).shuffle(1)",
    "batch then repeat": "values(7).batch(4).repeat(2)",
    "repeat then batch": "values(7).repeat(2).batch(4)",
    "batch then prefetch": "values(7).batch(4).prefetch(2)",
    "batch then take": "values(9).batch(4).take(2)",
    "batch then skip": "values(9).batch(4).skip(1)",
    "batch then filter": "values(9).batch(4).filter(lambda x: x[0] > 2)",
    "batch then filter last": "values(10).batch(4).filter(lambda x: tf.equal(tf.size(x), 2))",
    "batch then cache": "values(9).batch(4).cache()",
    "batch then shard": "values(12).batch(4).shard(3, 1)",
    "batch then with_options": "values(7).batch(4).with_options(tf.data.Options())",
    "batch then take_while": "values(9).batch(4).take_while(lambda x: x[0] < 8)",
    "batch then scan": "values(9).batch(4).scan(tf.constant(0, tf.int64), lambda s, x: (s + 1, x + s))",
    "batch then enumerate": "values(7).batch(4).enumerate()",
    "batch then flat_map": "values(7).batch(4).flat_map(lambda x: tf.data.Dataset.from_tensors(x))",
    "batch then interleave": "values(7).batch(4).interleave(lambda x: tf.data.Dataset.from_tensors(x), 1)",
    "interleave of batches": "values(2).interleave(lambda x: tf.data.Dataset.range(5).batch(4), 1)",
    "flat_map of batches": "values(2).flat_map(lambda x: tf.data.Dataset.range(5).batch(4))",
    "batch then unbatch": "values(7).batch(4).unbatch()",
    "batch then unbatch then batch": "values(7).batch(4).unbatch().batch(3)",
    "batch of batches": "values(12).batch(3).batch(2)",
    "batch of batches dropped": "values(12).batch(3, drop_remainder=True).batch(2, drop_remainder=True)",
    "unbatched scalars": "values(3)",
    "unbatched vectors": f"{_X}.from_tensor_slices([[1, 2, 3], [4, 5, 6]])",
    "unbatched vectors of varying size": _RAGGED.format(sizes="(4, 3, 1)"),
    "ragged with an empty one": _RAGGED.format(sizes="(2, 0, 3)"),
    "generator of fixed size": _FIXED,
    "generator of unknown rank": f"{_X}.from_generator(lambda: ([k] * 4 for k in range(2)), tf.int32)",
    "from_tensors": f"{_X}.from_tensors(np.arange(5))",
    "from_tensors of a scalar": f"{_X}.from_tensors(3.0)",
    "from_tensors of a matrix": f"{_X}.from_tensors(np.ones([3, 2], 'float32'))",
    "from_tensor_slices batch": f"{_X}.from_tensor_slices(np.ones([5, 2], 'float32')).batch(3)",
    "padded_batch": f"{_RAGGED.format(sizes='(1, 3, 2)')}.padded_batch(2, [None])",
    "padded_batch of fixed shape": f"{_RAGGED.format(sizes='(1, 3, 2)')}.padded_batch(2, [4], drop_remainder=True)",
    "zip of batches": f"{_X}.zip((values(7).batch(4), values(7).batch(4)))",
    "zip of unequal batches": f"{_X}.zip((values(8).batch(4), values(8).batch(2)))",
    "zip then batch": f"{_X}.zip((values(7), values(7))).batch(4)",
    "concatenate of batches": "values(4).batch(4).concatenate(values(4).batch(4))",
    "concatenate of unequal batches": "values(4).batch(4).concatenate(values(4).batch(2))",
    "dictionary": f"{_X}.from_tensor_slices({{'b': [1, 2, 3], 'a': [4., 5., 6.]}}).batch(2)",
    "nested": f"{_X}.from_tensor_slices(({{'x': [1, 2, 3]}}, ([4, 5, 6], [7, 8, 9]))).batch(2)",
    "unequal first sizes": f"{_X}.from_tensors((np.arange(4), np.arange(2)))",
    "unequal unknown sizes": "values(4).batch(4).map(lambda x: (x, x[:2]))",
    "strings": f"{_X}.from_tensor_slices(['a', 'b', 'c']).batch(2)",
    "batch then dense_to_ragged_batch": "values(6).batch(2).apply(tf.data.experimental.dense_to_ragged_batch(2))",
    "dense_to_ragged_batch": f"{_RAGGED.format(sizes='(1, 3, 2)')}.apply(tf.data.experimental.dense_to_ragged_batch(2))",
    "sparse": f"{_X}.from_tensors(tf.sparse.from_dense([[1, 0], [0, 2], [3, 0]]))",
    "infinite": "values(3).repeat().batch(2).take(2)",
    "empty": "values(0).batch(4)",
    "window": "values(4).window(2)",
    "an empty batch first": "values(3).batch(2).map(lambda x: x[:x[0]])",
    "an empty batch last": "values(4).batch(2).map(lambda x: x[:2 - x[0]])",
    "unequal first sizes, one too small": f"{_X}.from_tensors((np.arange(4), np.arange(1)))",
    "unequal first sizes, one empty": f"{_X}.from_tensors((np.arange(4), np.arange(0)))",
    "batch by rank of map": "values(8).batch(4).map(lambda x: tf.reshape(x, [-1, 2]))",
    "assert_cardinality": "values(6).batch(4).apply(tf.data.experimental.assert_cardinality(2))",
    "bucket_by_sequence_length": f"{_RAGGED.format(sizes='(1, 3, 2)')}.bucket_by_sequence_length(lambda x: tf.size(x), [3], [2, 2])",
    "not a dataset": "[1, 2, 3]",
    "a numpy array": "np.arange(4)",
    "an iterator": "iter(values(4).batch(2))",
    "a distributed dataset": "distributed(values(4).batch(2))",
}


def _pipeline(text):
    def run(v):
        return _elements(v, v["distributed"](eval(text, v)))

    return run


def _from_function(text):
    return lambda v: _elements(v, eval(text, v))


def _elements(v, data):
    return {"spec": str(data.element_spec), "steps": v["attempt"](lambda: v["steps"](data))}


_FN = "s.distribute_datasets_from_function(lambda c: {})"
FROM_FUNCTION = {
    "three batches": _FN.format("values(6).batch(2)"),
    "four batches": _FN.format("values(8).batch(2)"),
    "last is smaller": _FN.format("values(7).batch(2)"),
    "dropped": _FN.format("values(6).batch(2, drop_remainder=True)"),
    "dropped, two steps": _FN.format("values(8).batch(2, drop_remainder=True)"),
    "scalars": _FN.format("values(5)"),
    "unequal shapes": _FN.format(_RAGGED.format(sizes="(4, 3, 1)")),
    "unequal shapes, two steps": _FN.format(_RAGGED.format(sizes="(4, 3, 1, 2)")),
    "structures": _FN.format("tf.data.Dataset.from_tensor_slices({'a': [1, 2, 3], 'b': [1., 2., 3.]})"),
    "empty": _FN.format("values(0).batch(2)"),
    "infinite": _FN.format("values(3).repeat().take(5)"),
    "sharded": _FN.format("values(8).shard(c.num_input_pipelines, c.input_pipeline_id).batch(2)"),
    "per replica size": _FN.format("values(8).batch(c.get_per_replica_batch_size(4))"),
    "generator": _FN.format(_FIXED),
    "the experimental spelling": "s.experimental_distribute_datasets_from_function(lambda c: values(4).batch(2))",
    "a function without arguments": "s.distribute_datasets_from_function(lambda: values(4))",
    "a function that gives no dataset": "s.distribute_datasets_from_function(lambda c: [1, 2])",
    "a dataset": "s.distribute_datasets_from_function(values(4))",
    "matrices": _FN.format("tf.data.Dataset.from_tensor_slices(np.ones([5, 2], 'float32')).batch(2)"),
}

_DIST = "distributed(values({}).batch(4))"


def _loop(v, total, function, way, batch=4, drop=False, steps=3):
    """Goes through a distributed dataset, and keeps how often the body ran and the sum over replicas of what it got."""
    tf, s = v["tf"], v["s"]
    data = v["distributed"](v["values"](total).batch(batch, drop_remainder=drop))
    count, total = tf.Variable(0), tf.Variable(0, dtype=tf.int64)
    shapes = []

    def step(x):
        def local(x):
            shapes.append(str(x.shape))
            return tf.reduce_sum(x)

        found = s.reduce("SUM", s.run(local, args=(x,)), axis=None)
        total.assign_add(found)
        count.assign_add(tf.cast(found * 0, tf.int32) + 1)  # writes that need no data of the step may run without it

    def body(iterator):
        if way == "for":
            for x in data:
                step(x)
        if way == "range next":
            for _ in tf.range(steps):
                step(next(iterator))
        if way == "python range next":
            for _ in range(steps):
                step(next(iterator))
        if way == "get_next":
            for _ in range(steps):
                step(iterator.get_next())
        if way == "optional":
            for _ in tf.range(steps):
                optional = iterator.get_next_as_optional()
                if optional.has_value():
                    step(optional.get_value())

    run = tf.function(body) if function else body
    done = v["attempt"](lambda: run(iter(data)))
    found = {"ended": done, "shapes": sorted(set(shapes))}
    if function and done.told:
        return found  # how much of the finished steps is written by then is not always the same
    return {**found, "count": int(count), "sum": int(total)}


def _loops():
    found = {}
    for function in (False, True):
        for way in ("for", "range next", "python range next", "get_next", "optional"):
            for total in (0, 5, 8, 9, 20):
                name = f"{'function' if function else 'eager'}, {way}, {total}"
                found[name] = lambda v, a=(total, function, way): _loop(v, *a)
            name = f"{'function' if function else 'eager'}, {way}, dropped"
            found[name] = lambda v, a=(9, function, way): _loop(v, *a, drop=True)
    return found


def _break_in_loop(v):
    tf = v["tf"]
    data = v["distributed"](v["values"](8).batch(4))

    @tf.function
    def run():
        seen = 0
        for _x in data:
            seen += 1
            if seen > 0:
                break
        return seen

    return run()


def _return_in_loop(v):
    tf = v["tf"]
    data = v["distributed"](v["values"](8).batch(4))

    @tf.function
    def run():
        for x in data:
            if tf.constant(True):
                return tf.reduce_sum(v["s"].experimental_local_results(x)[0])
        return tf.constant(0, tf.int64)

    return run()


def _traces(v):
    """How often a function of a distributed value is traced over a dataset with an uneven last batch."""
    traced = []

    @v["tf"].function
    def run(x):
        traced.append(1)
        return v["s"].reduce("SUM", x, axis=0)

    found = [run(x) for x in v["distributed"](v["values"](11).batch(4))]
    return {"traces": len(traced), "sums": found}


def _signature(v):
    tf = v["tf"]
    data = v["distributed"](v["values"](7).batch(4))
    traced = []

    @tf.function(input_signature=[data.element_spec])
    def run(x):
        traced.append(1)
        return v["s"].reduce("SUM", x, axis=0)

    return {"sums": [run(x) for x in data], "traces": len(traced)}


def _iterator_signature(v):
    data = v["distributed"](v["values"](7).batch(4))
    it = iter(data)

    @v["tf"].function(input_signature=[it._type_spec])
    def run(it):
        return v["s"].reduce("SUM", next(it), axis=0)

    return [run(it), run(it)]


ITERATING = {
    **_loops(),
    "break": _break_in_loop,
    "return": _return_in_loop,
    "traces": _traces,
    "signature": _signature,
    "iterator signature": _iterator_signature,
    "next until the end": "[attempt(lambda: next(i)) for i in [iter(distributed(values(5).batch(4)))] for _ in range(4)]",
    "get_next until the end": "[attempt(lambda: i.get_next()) for i in [iter(distributed(values(5).batch(4)))] for _ in range(4)]",
    "optional until the end": "[o.has_value() for i in [iter(distributed(values(5).batch(4)))] for o in [i.get_next_as_optional() for _ in range(4)]]",
    "optional's value": "iter(distributed(values(5).batch(4))).get_next_as_optional().get_value()",
    "empty optional's value": "iter(distributed(values(0).batch(4))).get_next_as_optional().get_value()",
    "optional's type": "type(iter(distributed(values(5).batch(4))).get_next_as_optional()).__name__",
    "optional's element_spec": "str(iter(distributed(values(5).batch(4))).get_next_as_optional().element_spec)",
    "two iterators": "[next(i) for d in [distributed(values(5).batch(4))] for i in [iter(d), iter(d)]]",
    "len": f"len({_DIST.format(5)})",
    "len of infinite": "len(distributed(values(5).repeat().batch(4)))",
    "cardinality": f"{_DIST.format(5)}.cardinality",
    "cardinality of generator": f"distributed({_FIXED}).cardinality",
    "dataset members": f"[k for k in dir({_DIST.format(5)}) if k[0] != '_']",
    "iterator members": f"[k for k in dir(iter({_DIST.format(5)})) if k[0] != '_']",
    "from function members": f"[k for k in dir({FROM_FUNCTION['four batches']}) if k[0] != '_']",
    "dataset type": f"type({_DIST.format(5)}).__name__",
    "iterator type": f"type(iter({_DIST.format(5)})).__name__",
    "from function type": f"type({FROM_FUNCTION['four batches']}).__name__",
    "dataset is a DistributedDataset": f"isinstance({_DIST.format(5)}, tf.distribute.DistributedDataset)",
    "iterator is a DistributedIterator": f"isinstance(iter({_DIST.format(5)}), tf.distribute.DistributedIterator)",
    "from function is a DistributedDataset": f"isinstance({FROM_FUNCTION['four batches']}, tf.distribute.DistributedDataset)",
    "dataset is a Dataset": f"isinstance({_DIST.format(5)}, tf.data.Dataset)",
    "dataset repr": f"repr({_DIST.format(5)})",
    "iterator repr": f"repr(iter({_DIST.format(5)}))",
    "element repr": f"repr(next(iter({_DIST.format(5)})))",
    "dataset of DistributedDataset class": "tf.distribute.DistributedDataset(values(4))",
    "iterator class": "tf.distribute.DistributedIterator(values(4))",
    "iterator's element_spec": f"str(iter({_DIST.format(5)}).element_spec)",
    "iterator in scope": f"scoped(lambda: next(iter({_DIST.format(5)})))",
    "iterating in run": f"s.run(lambda: next(iter({_DIST.format(5)})))",
    "distributing in run": "s.run(lambda: distributed(values(4).batch(2)))",
    "distributing in scope": "steps(scoped(lambda: distributed(values(4).batch(2))))",
    "iter in a function": "function(lambda: next(iter(s.experimental_distribute_dataset(values(4).batch(2)))))",
    "dataset made in a function": "function(lambda: s.reduce('SUM', next(iter(s.experimental_distribute_dataset(values(4).batch(2)))), axis=0))",
    "dataset reduce": f"{_DIST.format(8)}.reduce(np.int64(0), lambda t, x: t + s.reduce('SUM', x, axis=0))",
    "dataset reduce uneven": f"{_DIST.format(9)}.reduce(np.int64(0), lambda t, x: t + s.reduce('SUM', x, axis=0))",
    "enumerate": f"[i for i, x in enumerate({_DIST.format(8)})]",
    "iterator passed to run": f"s.run(lambda i: next(i), args=(iter({_DIST.format(8)}),))",
    "dataset is iterable twice": f"[len(list(d)) for d in [{_DIST.format(8)}] for _ in range(2)]",
}

_O = "tf.distribute.InputOptions"
_MODE = "tf.distribute.InputReplicationMode"
_D = "steps(s.experimental_distribute_dataset(values(4).batch(2), {}))"
_F = "steps(s.distribute_datasets_from_function(lambda c: (told_contexts.append(str(c)), values(4).batch(1))[1], {}))"
OPTIONS = {
    "defaults": f"list({_O}())",
    "repr": f"repr({_O}())",
    "fetch None": f"{_O}(None)[0]",
    "fetch False": f"list({_O}(False))",
    "replace": f"list({_O}()._replace(experimental_fetch_to_device=False))",
    "equal": f"{_O}() == {_O}(True)",
    "modes": f"[m.name for m in {_MODE}]",
    "mode values": f"[m.value for m in {_MODE}]",
    "modes repr": f"repr({_MODE}.PER_REPLICA)",
    "dataset, none": _D.format("None"),
    "dataset, defaults": _D.format(f"{_O}()"),
    "dataset, fetch False": _D.format(f"{_O}(False)"),
    "dataset, per replica": _D.format(f"{_O}(experimental_replication_mode={_MODE}.PER_REPLICA)"),
    "dataset, place": _D.format(f"{_O}(experimental_place_dataset_on_device=True)"),
    "dataset, place, no fetch": _D.format(
        f"{_O}(experimental_fetch_to_device=False, experimental_place_dataset_on_device=True)"
    ),
    "dataset, buffer 0": _D.format(f"{_O}(experimental_per_replica_buffer_size=0)"),
    "dataset, buffer 3": _D.format(f"{_O}(experimental_per_replica_buffer_size=3)"),
    "dataset, buffer -1": _D.format(f"{_O}(experimental_per_replica_buffer_size=-1)"),
    "dataset, no options": _D.format("3"),
    "function, defaults": _F.format(f"{_O}()"),
    "function, fetch False": _F.format(f"{_O}(False)"),
    "function, per replica": _F.format(f"{_O}(experimental_replication_mode={_MODE}.PER_REPLICA)"),
    "function, per replica, no fetch": _F.format(f"{_O}(False, {_MODE}.PER_REPLICA)"),
    "function, per replica, place": _F.format(f"{_O}(False, {_MODE}.PER_REPLICA, True)"),
    "function, per replica, fetch and place": _F.format(f"{_O}(True, {_MODE}.PER_REPLICA, True)"),
    "function, place": _F.format(f"{_O}(False, experimental_place_dataset_on_device=True)"),
    "function, per replica: contexts": (
        f"then({_F.format(f'{_O}(experimental_replication_mode={_MODE}.PER_REPLICA)')}, told_contexts)"
    ),
    "function, buffer 0": _F.format(f"{_O}(experimental_per_replica_buffer_size=0)"),
    "function, buffer 0, per replica": _F.format(
        f"{_O}(False, {_MODE}.PER_REPLICA, experimental_per_replica_buffer_size=0)"
    ),
    "CommunicationOptions": "list(vars(tf.distribute.experimental.CommunicationOptions()).values())",
    "CommunicationOptions given": "list(vars(tf.distribute.experimental.CommunicationOptions(8, 2.0, tf.distribute.experimental.CommunicationImplementation.RING)).values())",
    "CommunicationOptions of strings": "list(vars(tf.distribute.experimental.CommunicationOptions(implementation='RING')).values())",
    "CommunicationOptions wrong implementation": "tf.distribute.experimental.CommunicationOptions(implementation='X')",
    "CommunicationOptions negative": "tf.distribute.experimental.CommunicationOptions(bytes_per_pack=-1)",
    "CommunicationImplementation": "[m.name for m in tf.distribute.experimental.CommunicationImplementation]",
    "RunOptions": "repr(tf.distribute.RunOptions())",
    "RunOptions fields": "tf.distribute.RunOptions._fields",
    "run with options": "s.run(lambda: rid(), options=tf.distribute.RunOptions())",
    "run with a wrong option": "s.run(lambda: rid(), options=3)",
}

_C = "tf.distribute.InputContext"
_V = "tf.distribute.experimental.ValueContext"
_SEEN = "(lambda seen: then(s.distribute_datasets_from_function(lambda c: (seen.append(c), values(4))[1]), {}))([])"
CONTEXTS = {
    "defaults": f"[c.num_input_pipelines for c in [{_C}()]] + [{_C}().input_pipeline_id, {_C}().num_replicas_in_sync]",
    "repr": f"repr({_C}(2, 1, 4))",
    "str": f"str({_C}(2, 1, 4))",
    "size": f"{_C}(2, 1, 4).get_per_replica_batch_size(8)",
    "size not divisible": f"{_C}(2, 1, 4).get_per_replica_batch_size(9)",
    "size 0": f"{_C}(2, 1, 4).get_per_replica_batch_size(0)",
    "size of a tensor": f"{_C}(2, 1, 4).get_per_replica_batch_size(tf.constant(8))",
    "size of a float": f"{_C}(2, 1, 4).get_per_replica_batch_size(8.0)",
    "set": f"setattr({_C}(), 'num_replicas_in_sync', 3)",
    "out of range": f"str({_C}(2, 7, 4))",
    "given": _SEEN.format("[str(c) + str(c.num_replicas_in_sync) for c in seen]"),
    "value defaults": f"[{_V}().replica_id_in_sync_group, {_V}().num_replicas_in_sync]",
    "value repr": f"repr({_V}(1, 3))",
    "value str": f"str({_V}(1, 3))",
    "values": "s.experimental_distribute_values_from_function(lambda c: tf.constant(c.replica_id_in_sync_group))",
    "values of the context": "s.experimental_distribute_values_from_function(lambda c: str(c))",
    "values of python numbers": "s.experimental_distribute_values_from_function(lambda c: c.replica_id_in_sync_group)",
    "values of the same number": "s.experimental_distribute_values_from_function(lambda c: 7)",
    "values of arrays": "s.experimental_distribute_values_from_function(lambda c: np.ones(2) * c.num_replicas_in_sync)",
    "values of structures": "s.experimental_distribute_values_from_function(lambda c: {'a': tf.constant(1), 'b': c.replica_id_in_sync_group})",
    "values of tuples": "s.experimental_distribute_values_from_function(lambda c: (c.replica_id_in_sync_group, tf.constant(2)))",
    "values of None": "s.experimental_distribute_values_from_function(lambda c: None)",
    "values of unequal shapes": "s.experimental_distribute_values_from_function(lambda c: tf.zeros([c.replica_id_in_sync_group]))",
    "values of unequal structures": "s.experimental_distribute_values_from_function(lambda c: [1] * (c.replica_id_in_sync_group + 1))",
    "values in scope": "scoped(lambda: s.experimental_distribute_values_from_function(lambda c: tf.constant(c.replica_id_in_sync_group)))",
    "values in run": "s.run(lambda: s.experimental_distribute_values_from_function(lambda c: tf.constant(1)))",
    "values in a function": "function(lambda: s.experimental_distribute_values_from_function(lambda c: tf.constant(c.replica_id_in_sync_group)))",
    "values into run": "s.run(lambda x: x * 2, args=(s.experimental_distribute_values_from_function(lambda c: tf.constant(c.replica_id_in_sync_group)),))",
    "context while making values": "s.experimental_distribute_values_from_function(lambda c: contexts())",
    "context while making datasets": _SEEN.replace("seen.append(c)", "seen.append(contexts())").format("seen"),
}

INPUT = {
    **{f"splits, {n} replicas": (f"m{n}", {f"batch {b}": _splits(b) for b in range(1, 10)}) for n in range(2, 9)},
    "splits, one device": ("one", {"batch 3": _splits(3)}),
    "splits, default strategy": ("default", {"batch 3": _splits(3)}),
    **{
        f"pipelines, {kind}": (kind, {name: _pipeline(text) for name, text in PIPELINES.items()})
        for kind in ("m2", "m3", "one")
    },
    **{
        f"from function, {kind}": (kind, {name: _from_function(text) for name, text in FROM_FUNCTION.items()})
        for kind in ("m2", "m3", "one", "default")
    },
    **{f"iterating, {kind}": (kind, ITERATING) for kind in ("m2", "m3", "one", "default")},
    **{f"input options, {kind}": (kind, OPTIONS) for kind in ("m2", "one", "default")},
    **{f"input contexts, {kind}": (kind, CONTEXTS) for kind in ("m2", "one", "default")},
}
