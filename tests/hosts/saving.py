"""Checkpoints that several processes write in shards: as a module it saves in each way, and prints what came of it.

python -m tests.hosts.several 4 1 tests.hosts.saving graph FOLDER
"""

import hashlib
import json
import os
import resource
import signal
import sys

import numpy as np

import towerstrat.compat.v1 as tf
from tests.towers.common import tpu
from towerstrat import errors
from towerstrat.checkpoints.bundle_reader import Bundle
from towerstrat.compat import importer
from towerstrat.graph.eager import mode
from towerstrat.hosts.process_index import PROCESSES
from towerstrat.platform import logs
from towerstrat.training.saving.collective_save import FOLDERS

TOWERS = 4
SHAPES = {"large": (301, 40), "half": (50, 8), "small": (3, 4), "flat": (1, 1, 700), "scalar": ()}
CONTRIB = tf.contrib.tpu


def digest(path):
    """Name -> type, shape and a digest of the bytes of each array of a checkpoint."""
    found = {name: Bundle(path).read(name) for name in Bundle(path).entries}
    return {
        name: [str(value.dtype), list(value.shape), hashlib.sha256(value.tobytes()).hexdigest()]
        for name, value in found.items()
        if not value.dtype.hasobject
    }


def files(folder):
    return sorted(name for name in os.listdir(folder) if ".data-" in name or ".index" in name)


def variables():
    """Mirrored variables, one of which is too large for a share and one that cannot be cut, and one of towers."""
    draws = np.random.RandomState(0)
    for name, shape in SHAPES.items():
        kind = tf.float16 if name == "half" else tf.float32
        values = np.asarray(draws.standard_normal(shape)).astype(kind.as_numpy_dtype)
        tf.get_variable(name, initializer=values, aggregation=tf.VariableAggregation.MEAN)
    return tf.get_variable(
        "local", [300], tf.int32, tf.zeros_initializer(), trainable=False,
        synchronization=tf.VariableSynchronization.ON_READ, aggregation=tf.VariableAggregation.SUM,
    )  # fmt: skip


def stepping(strategy, local):
    """The operation of a step that changes all variables."""
    mirrored = [v for v in tf.global_variables() if v is not local and v.dtype.is_floating]

    def fn():
        changes = [v.assign_add(tf.ones_like(v) / 3) for v in mirrored]
        return [*changes, local.assign_add(tf.range(300))]

    return [strategy.unwrap(each) for each in strategy.call_for_each_tower(fn)]


def graph(folder, other=None):
    """``Saver.save``, before and after a step, over the same path, and restored; so is ``other``, if it is given."""
    strategy = tpu(TOWERS)
    with strategy.scope(), tf.Session() as sess:
        local = variables()
        step = stepping(strategy, local)
        saver = tf.train.Saver(max_to_keep=2)
        sess.run(tf.global_variables_initializer())
        saver.save(sess, f"{folder}/model", 0)
        found = [files(folder)]
        sess.run(step)
        for number in (1, 1, 2):
            path = saver.save(sess, f"{folder}/model", number)
            found.append(files(folder))
        before = digest(path)
        sess.run(step)
        saver.restore(sess, other or path)
        return found, before, digest(saver.save(sess, f"{folder}/again"))


def eager(folder):
    """``Checkpoint`` and its manager, now and in the background, while training goes on."""
    strategy = tf.distribute.experimental.TPUStrategy(tf.contrib.cluster_resolver.TPUClusterResolver(tpu=""))
    with mode.eager_mode():
        with strategy.scope():
            table = tf.Variable(np.arange(12_000, dtype=np.float32).reshape(100, 120))

        @tf.function
        def step():
            strategy.run(lambda: table.assign_add(tf.ones_like(table)))

        step()
        checkpoint = tf.train.Checkpoint(table=table)
        manager = tf.train.CheckpointManager(checkpoint, folder, max_to_keep=2)
        beside = tf.compat.v2.train.CheckpointOptions(enable_async=True)
        paths, found = [], []
        for options in (None, beside, beside):
            paths.append(manager.save(options=options))
            step()
        manager.sync()
        found.append(files(folder))
        values = [float(Bundle(path).read("table/.ATTRIBUTES/VARIABLE_VALUE")[0, 0]) for path in paths[1:]]
        saver = tf.train.Saver([table])
        path = saver.save(None, f"{folder}/model")
        checkpoint.restore(paths[1]).assert_consumed()
        return found, values, digest(path), float(table.numpy()[0, 0])


def logical(folder, size):
    """A variable whose parts lie on the two logical devices of each tower, or on all devices of one tower."""
    resolver = tf.contrib.cluster_resolver.TPUClusterResolver(tpu="")
    with mode.eager_mode():
        tpus = tf.compat.v2.tpu.experimental
        topology = tpus.initialize_tpu_system(resolver)
        shape = [1, 1, 1, 2] if size == "2" else topology.mesh_shape
        places = tpus.DeviceAssignment.build(topology, computation_shape=shape, num_replicas=4 // int(size))
        strategy = tf.compat.v2.distribute.TPUStrategy(resolver, experimental_device_assignment=places)
        with strategy.scope():
            table = tf.Variable(np.arange(800, dtype=np.float32).reshape(40, 20))

        def change():
            strategy.experimental_split_to_logical_devices(table, [int(size), 1])
            table.assign_add(tf.ones_like(table))

        tf.function(lambda: strategy.run(change))()
        found = digest(tf.train.Checkpoint(table=table).save(f"{folder}/model"))
        return files(folder), found


def hooks(folder):
    """``MonitoredTrainingSession`` with the hook that saves in a thread, and the one that does not."""
    found = []
    for name, kind in (("plain", tf.train.CheckpointSaverHook), ("beside", CONTRIB.AsyncCheckpointSaverHook)):
        tf.reset_default_graph()
        place = f"{folder}/{name}"
        strategy = tpu(TOWERS)
        with strategy.scope():
            step = tf.train.get_or_create_global_step()
            local = variables()
            run = tf.group(*stepping(strategy, local), tf.assign_add(step, 1))
            hook = kind(place, save_steps=2, saver=tf.train.Saver(max_to_keep=2))
            quiet = {"save_checkpoint_secs": None, "save_summaries_steps": None, "log_step_count_steps": None}
            with tf.train.MonitoredTrainingSession(checkpoint_dir=place, hooks=[hook], **quiet) as session:
                for _ in range(5):
                    session.run(run)
        found.append([files(place), digest(tf.train.latest_checkpoint(place))])
    return found


def keras(folder):
    """``save_weights`` of a model, and back."""
    importer.install(2, None, lambda line: None)
    import tensorflow

    tensorflow.compat.v1.enable_v2_behavior()
    strategy = tensorflow.distribute.MultiWorkerMirroredStrategy()
    tensorflow.keras.utils.set_random_seed(1)
    rows = np.ones([16, 8], np.float32)
    with strategy.scope():
        model = tensorflow.keras.Sequential([tensorflow.keras.layers.Dense(300, input_shape=(8,))])
        model.compile("sgd", "mse")
    model.fit(rows, np.ones([16, 300], np.float32), batch_size=8, verbose=0, shuffle=False)
    model.save_weights(f"{folder}/weights")
    trained = [float(np.sum(weight)) for weight in model.get_weights()]
    model.set_weights([np.zeros_like(weight) for weight in model.get_weights()])
    model.load_weights(f"{folder}/weights")
    return files(folder), trained == [float(np.sum(weight)) for weight in model.get_weights()]


def failures(folder):
    """A disk that is full for the last process; one that saves other variables; a folder that is not shared."""
    warned, said = [], []
    logs.warning = lambda text, *values: warned.append(text % values)
    last = PROCESSES.index == PROCESSES.count - 1
    strategy = tpu(TOWERS)
    with strategy.scope(), tf.Session() as sess:
        step = stepping(strategy, variables())
        saver = tf.train.Saver()
        sess.run(tf.global_variables_initializer())
        sess.run(step)
        saver.save(sess, f"{folder}/model", 1)
        if last:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
        said.append(_refusal(lambda: saver.save(sess, f"{folder}/model", 2)))
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        said.append([files(folder), tf.train.latest_checkpoint(folder)])
        other = tf.train.Saver(tf.global_variables()[: 2 if last else 3])
        said.append(_refusal(lambda: other.save(sess, f"{folder}/other")))
        # What each process finds at its end of a link is its own folder.
        own = f"{folder}/own-{PROCESSES.index}"
        os.makedirs(own)
        os.chdir(own)
        for number in (1, 2):
            sess.run(step)
            saver.save(sess, "here/model", number, write_meta_graph=False)
            said.append(files("here") if os.path.exists("here") else [])
        said.append(warned)
        return said


def _refusal(do):
    try:
        do()
    except errors.OpError as error:
        return [type(error).__name__, error.message]
    return None


CASES = {case.__name__: case for case in (graph, eager, logical, hooks, keras, failures)}

if __name__ == "__main__":
    FOLDERS.smallest = 1000
    print(json.dumps(CASES[sys.argv[1]](*sys.argv[2:])))
