"""Callbacks of keras 2.15: programs that keras_objects.py runs on the original."""

import http.server
import json
import os
import re
import tempfile
import threading

import numpy as np

try:
    from keras_objects_cases import plain
except ImportError:
    from tests.golden.keras_objects_cases import plain

_R = np.random.RandomState(11)
X = _R.randn(20, 3).astype("float32")
Y = _R.randn(20, 1).astype("float32")


def model(tf, rate=0.05, legacy=False, metrics=("mae",)):
    """A compiled model of which all is known."""
    keras = tf.keras
    made = keras.Sequential([
        keras.layers.Dense(2, kernel_initializer="ones", input_shape=(3,), name="first"),
        keras.layers.Dense(1, kernel_initializer="ones", name="last"),
    ])  # fmt: skip
    place = keras.optimizers.legacy if legacy else keras.optimizers
    made.compile(place.SGD(rate), "mse", metrics=list(metrics))
    return made


def fit(made, epochs, *callbacks, **how):
    return made.fit(X, Y, epochs=epochs, batch_size=8, shuffle=False, verbose=0, callbacks=list(callbacks), **how)


def calls(tf, folder):
    """Which methods are called with what."""
    seen = []

    def recording(name):
        def call(self, *args):
            seen.append([name, *args[:-1], {key: value for key, value in (args[-1] or {}).items() if key != "outputs"}])

        return call

    names = [f"on_{what}_{when}" for what in ("epoch", "train", "test", "predict") for when in ("begin", "end")]
    names += [f"on_{what}_batch_{when}" for what in ("train", "test", "predict") for when in ("begin", "end")]
    recorder = type("Recorder", (tf.keras.callbacks.Callback,), {name: recording(name) for name in names})()
    made = model(tf)
    fit(made, 2, recorder, validation_data=(X[:8], Y[:8]))
    made.evaluate(X, Y, batch_size=8, verbose=0, callbacks=[recorder])
    made.predict(X, batch_size=8, verbose=0, callbacks=[recorder])
    return [seen, recorder.params, type(recorder.model).__name__]


def early_stopping(tf, folder):
    found = []
    for how, rate in (
        ({"monitor": "loss", "min_delta": 0.2, "patience": 2}, 0.05),
        ({"monitor": "val_loss", "patience": 1, "restore_best_weights": True}, 0.6),
        ({"monitor": "loss", "baseline": 0.1, "patience": 2}, 0.05),
        ({"monitor": "val_mae", "mode": "max", "patience": 0, "start_from_epoch": 2}, 0.05),
    ):
        made = model(tf, rate)
        stopping = tf.keras.callbacks.EarlyStopping(**how)
        history = fit(made, 6, stopping, validation_data=(X[:8], Y[:8]))
        found.append([history.epoch, stopping.stopped_epoch, stopping.best, stopping.best_epoch, made.get_weights()])
    return found


def reduce_rate(tf, folder):
    found = []
    for legacy in (False, True):
        made = model(tf, 0.6, legacy)
        less = tf.keras.callbacks.ReduceLROnPlateau("val_loss", 0.5, patience=1, cooldown=1, min_lr=0.1)
        found.append(fit(made, 6, less, validation_data=(X[:8], Y[:8])).history)
    return found


def scheduler(tf, folder):
    found = []
    for rate in (lambda epoch: 0.1 / (epoch + 1), lambda epoch, now: now * 0.5):
        found.append(fit(model(tf), 3, tf.keras.callbacks.LearningRateScheduler(rate)).history)
    return found


def csv_logger(tf, folder):
    path = os.path.join(folder, "log.csv")
    made = model(tf)
    fit(made, 2, tf.keras.callbacks.CSVLogger(path), validation_data=(X[:8], Y[:8]))
    fit(made, 1, tf.keras.callbacks.CSVLogger(path, append=True), validation_data=(X[:8], Y[:8]))
    fit(made, 1, tf.keras.callbacks.CSVLogger(path + "2", separator=";"))
    lines = [re.split("[,;]", line.strip()) for name in (path, path + "2") for line in open(name)]
    return [[float(x) if re.fullmatch(r"[-\d.e]+", x) else x for x in line] for line in lines]


def model_checkpoint(tf, folder):
    kind = tf.keras.callbacks.ModelCheckpoint
    found = {}
    for name, file, how in (
        ("h5", "{epoch:02d}-{val_loss:.2f}.h5", {}),
        ("keras", "m{epoch}.keras", {"save_best_only": True, "monitor": "loss"}),
        ("weights", "w{epoch}", {"save_weights_only": True}),
        ("weights_h5", "w{epoch}.h5", {"save_weights_only": True, "save_best_only": True, "mode": "max"}),
        ("batches", "b{epoch}_{batch}.weights.h5", {"save_weights_only": True, "save_freq": 2}),
        ("threshold", "t{epoch}.h5", {"save_best_only": True, "initial_value_threshold": 1.0}),
        ("same", "last.keras", {}),
    ):
        place = os.path.join(folder, name)
        made = model(tf)
        fit(made, 3, kind(os.path.join(place, file), **how), validation_data=(X[:8], Y[:8]))
        found[name] = sorted(
            each for each in (os.listdir(place) if os.path.isdir(place) else []) if "data-" not in each
        )
    made = model(tf)
    again = kind(os.path.join(folder, "weights", "w{epoch}"), save_weights_only=True, load_weights_on_restart=True)
    found["again"] = fit(made, 1, again).history
    return found


class Killed(Exception):
    pass


def backup(tf, folder):
    """What training that was interrupted does when it is started again."""
    found = []
    for how, batch in (({}, 7), ({"save_freq": 2}, 4), ({"delete_checkpoint": False}, 4)):
        place = os.path.join(folder, "backup" + str(len(found)))
        seen = []

        class Killing(tf.keras.callbacks.Callback):
            def on_train_batch_end(self, number, logs=None):
                seen.append([number, logs["loss"]])
                if len(seen) == batch:  # noqa: B023
                    raise Killed

        try:
            fit(model(tf), 4, tf.keras.callbacks.BackupAndRestore(place, **how), Killing())
        except Killed:
            seen.append("killed")
        made = model(tf)
        history = fit(made, 4, tf.keras.callbacks.BackupAndRestore(place, **how), Killing())
        left = os.path.isdir(place) and bool(os.listdir(place))
        found.append([seen, history.epoch, history.history, made.get_weights(), int(made.optimizer.iterations), left])
    return found


def _events(tf, folder):
    """What event files below a folder say: run -> tag -> [step, plugin, value]."""
    found = {}
    for place, _, files in sorted(os.walk(folder)):
        for file in sorted(each for each in files if "tfevents" in each):
            tags = found.setdefault(os.path.relpath(place, folder), {})
            for event in tf.compat.v1.train.summary_iterator(os.path.join(place, file)):
                for value in event.summary.value:
                    plugin = value.metadata.plugin_data.plugin_name
                    content = tf.make_ndarray(value.tensor)
                    if "per_second" in value.tag or plugin == "graphs":
                        content = "by clock"
                    elif plugin == "images":
                        content = [len(content), content[0].decode(), content[1].decode()]
                    elif plugin == "graph_keras_model":
                        content = sorted(json.loads(content.item().decode()))
                    tags.setdefault(value.tag, []).append([event.step, plugin, content])
    return found


def tensor_board(tf, folder):
    found = {}
    for name, how in (
        ("epochs", {}),
        ("batches", {"update_freq": "batch", "write_graph": False}),
        ("every", {"update_freq": 2, "write_graph": False, "write_steps_per_second": True}),
        ("histograms", {"histogram_freq": 1, "write_graph": False, "write_images": True}),
    ):
        place = os.path.join(folder, name)
        board = tf.keras.callbacks.TensorBoard(place, profile_batch=0, **how)
        fit(model(tf), 2, board, validation_data=(X[:8], Y[:8]))
        found[name] = _events(tf, place)
    return found


def embeddings(tf, folder):
    keras = tf.keras
    made = keras.Sequential([keras.layers.Embedding(4, 2, input_length=3, name="words"), keras.layers.Flatten()])
    made.compile("sgd", "mse")
    board = keras.callbacks.TensorBoard(
        folder, write_graph=False, embeddings_freq=1, embeddings_metadata={"words": "names.tsv"}
    )
    made.fit(np.zeros((4, 3), "int32"), np.zeros((4, 6), "float32"), epochs=2, verbose=0, callbacks=[board])
    files = sorted(each for each in os.listdir(folder) if "data-" not in each and "train" not in each)
    return [files, open(os.path.join(folder, "projector_config.pbtxt")).read()]


def terminate(tf, folder):
    seen = []
    counting = tf.keras.callbacks.LambdaCallback(
        on_batch_end=lambda batch, logs: seen.append([batch, logs["loss"]]),
        on_epoch_end=lambda epoch, logs: seen.append([epoch, sorted(logs)]),
        on_train_begin=lambda logs: seen.append("begin"),
        on_train_end=lambda logs: seen.append("end"),
    )
    history = fit(model(tf, 1e18), 3, tf.keras.callbacks.TerminateOnNaN(), counting)
    return [seen, history.epoch]


def remote(tf, folder):
    """What is sent to a server of this process."""
    got = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            got.append([self.path, self.headers["Content-Type"], self.rfile.read(int(self.headers["Content-Length"]))])
            self.send_response(200)
            self.end_headers()

        def log_message(self, *args):
            pass

    server = http.server.HTTPServer(("localhost", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    root = f"http://localhost:{server.server_port}"
    fit(model(tf), 2, tf.keras.callbacks.RemoteMonitor(root, send_as_json=True))
    server.shutdown()
    server.server_close()
    return [[path, kind, json.loads(body)] for path, kind, body in got]


def summary(tf, folder):
    """The lines of a summary."""
    lines = []
    made = model(tf)
    made.fit(X, Y, epochs=2, batch_size=8, shuffle=False, verbose=0)
    made.summary(print_fn=lambda line, *_: lines.append(line.rstrip()))
    return lines


PROGRAMS = (
    calls, early_stopping, reduce_rate, scheduler, csv_logger, model_checkpoint, backup, tensor_board, embeddings,
    terminate, remote, summary,
)  # fmt: skip
CASES = [("callbacks", program.__name__) for program in PROGRAMS]
_PROGRAMS = {program.__name__: program for program in PROGRAMS}


def run(tf, name, wrap=None):
    """What a program gives.

    Args:
      wrap: not used, the programs have no functions of their own.
    """
    with tempfile.TemporaryDirectory() as folder:
        return plain(_PROGRAMS[name](tf, folder))


RUN = {"callbacks": run}
