"""How the package of estimators is loaded, and where its names are."""

import inspect
import subprocess
import sys

import pytest

import towerstrat.compat.v1 as tf
import towerstrat.compat.v2 as tf2
from tests.compat.running import towerstrat
from towerstrat import errors
from towerstrat.compat.estimator.package_loader import ESTIMATOR, INSIDE, NAME
from towerstrat.compat.names import missing_names, name_file


@pytest.mark.parametrize("api", [1, 2])
def test_names_are_of_the_originals(api):
    """Those that 1.13 to 1.15 added are listed for 2.x, below ``tf.compat.v1``."""
    later = {name.replace("tf.compat.v1.", "tf.") for name in missing_names.original_names(2)}
    served = {row.name for row in name_file.public(NAME, api)}
    assert served
    assert not served - set(missing_names.original_names(api)) - later


def test_the_library_leaves_no_module_behind():
    assert ESTIMATOR.module(tf.estimator.Estimator.__module__, None).Estimator is tf.estimator.Estimator
    assert not [name for name in sys.modules if name.partition(".")[0] == "tensorflow_estimator"]


@pytest.mark.long
def test_nothing_is_loaded_before_the_first_use():
    """Afterwards neither the package's modules are there, nor those of ``tensorflow`` that they import."""
    program = """
import sys
import towerstrat.compat.v1 as tf
from towerstrat.compat.estimator.package_loader import ESTIMATOR
before = set(ESTIMATOR._modules) - set(ESTIMATOR._ours)
tf.estimator.Estimator, tf.estimator.train_and_evaluate, tf.contrib.estimator.add_metrics
print(before, [name for name in sys.modules if name.partition(".")[0] in ("tensorflow", "tensorflow_estimator")])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "set() []\n"


def test_one_package_serves_both_namespaces():
    assert tf.estimator.RunConfig is tf2.estimator.RunConfig is tf2.compat.v1.estimator.RunConfig
    assert tf2.estimator.Estimator.__name__ == "EstimatorV2"
    assert issubclass(tf2.estimator.Estimator, tf.estimator.Estimator)
    assert tf2.compat.v1.estimator.Estimator is tf.estimator.Estimator
    assert tf.estimator.SessionRunHook is tf.train.SessionRunHook
    with pytest.raises(AttributeError, match="Please use `export_saved_model` instead"):
        tf2.estimator.Estimator(lambda features: None).export_savedmodel  # noqa: B018 - asking is what raises


def test_arguments_are_those_of_1_12():
    arguments = {
        tf.estimator.Estimator: "self model_fn model_dir config params warm_start_from",
        tf.estimator.Estimator.train: "self input_fn hooks steps max_steps saving_listeners",
        tf.estimator.Estimator.evaluate: "self input_fn steps hooks checkpoint_path name",
        tf.estimator.Estimator.predict: "self input_fn predict_keys hooks checkpoint_path yield_single_examples",
        tf.estimator.RunConfig: """self model_dir tf_random_seed save_summary_steps save_checkpoints_steps
            save_checkpoints_secs session_config keep_checkpoint_max keep_checkpoint_every_n_hours log_step_count_steps
            train_distribute device_fn protocol eval_distribute experimental_distribute""",
        tf.estimator.EvalSpec: "input_fn steps name hooks exporters start_delay_secs throttle_secs",
        tf.estimator.TrainSpec: "input_fn max_steps hooks",
        tf.estimator.EstimatorSpec: """mode predictions loss train_op eval_metric_ops export_outputs
            training_chief_hooks training_hooks scaffold evaluation_hooks prediction_hooks""",
    }
    for value, names in arguments.items():
        taken = inspect.signature(value).parameters
        expected = names.replace("self", "", 1).split() if inspect.isclass(value) else names.split()
        assert list(taken)[: len(expected)] == expected, value


PROGRAM = """
import tensorflow as tf
import tensorflow_estimator
from tensorflow.estimator import Estimator
from tensorflow.python.estimator import estimator, model_fn as model_fn_lib
from tensorflow.python.estimator.run_config import RunConfig
from tensorflow_estimator.python.estimator import estimator as inside
from tensorflow.contrib.learn.python.learn.learn_io.generator_io import generator_input_fn
from tensorflow.contrib.estimator.python.estimator.early_stopping import stop_if_no_decrease_hook
from tensorflow.python.estimator.inputs.numpy_io import numpy_input_fn
assert Estimator is tf.estimator.Estimator is estimator.Estimator is inside.Estimator
assert RunConfig is tf.estimator.RunConfig and model_fn_lib.ModeKeys is tf.estimator.ModeKeys
print(numpy_input_fn.__name__, generator_input_fn.__name__, stop_if_no_decrease_hook.__name__)

def model_fn(features, labels, mode):
    broken = tf.ones([2]) + tf.ones([3])
    return tf.estimator.EstimatorSpec(mode, loss=tf.reduce_sum(broken))

data = tf.data.Dataset.from_tensors((1.0, 1.0))
tf.estimator.Estimator(model_fn).evaluate(lambda: data)
"""


def test_a_program_imports_its_modules_and_sees_its_own_lines(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    code, output, error = towerstrat("run", "program.py", folder=tmp_path)
    assert output == "numpy_input_fn generator_input_fn stop_if_no_decrease_hook\n"
    assert code == 1
    assert "broken = tf.ones([2]) + tf.ones([3])" in error
    assert "tensorflow_estimator/" not in error


def test_what_needs_more_is_refused_by_name():
    for use in (
        lambda: tf.estimator.DNNClassifier([8], []),
        lambda: tf.contrib.estimator.regression_head(),
        lambda: tf.contrib.learn.Estimator(None),
        lambda: tf.contrib.learn.RunConfig(),
    ):
        with pytest.raises(errors.UnknownSymbolError, match=r"tf\.estimator[. ]"):
            use()
    model = ESTIMATOR.loaded(f"{INSIDE}.estimator")
    assert model.Estimator is tf.estimator.Estimator


def test_a_cluster_is_refused_with_a_strategy(monkeypatch):
    cluster = '{"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 0}}'
    monkeypatch.setenv("TF_CONFIG", cluster)
    strategy = tf.contrib.distribute.OneDeviceStrategy("/cpu:0")
    with pytest.raises(errors.UnsupportedError, match="of a cluster of 2 tasks that train"):
        tf.estimator.RunConfig(train_distribute=strategy)


def test_saved_models_are_refused(tmp_path):
    spec = tf.estimator.export.PredictOutput(tf.constant(1.0))
    with pytest.raises(errors.UnsupportedError, match="Saved models"):
        spec.as_signature_def({})
