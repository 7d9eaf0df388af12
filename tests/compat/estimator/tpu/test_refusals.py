"""What is refused, with the words of the original; and what the original had no words for."""

import json
import re
from pathlib import Path

import pytest

import towerstrat.compat.v1 as tf
from tests.golden.tpu_estimator_cases import cases, model_fn

tpu = tf.contrib.tpu
GOLDEN = json.loads((Path(__file__).parents[3] / "golden" / "tpu_estimator.json").read_text())
LATER = {"cores of three", "iterations of 0"}
"""The package is that of 2.15: it takes more numbers, and times."""
NO_DEVICES = {"no steps"}
"""The original looked for TPUs first, and found none."""


@pytest.mark.parametrize("name", sorted(GOLDEN))
def test_refusals_are_those_of_the_original(name):
    kind, message = GOLDEN[name]
    with pytest.raises(Exception) as raised:
        cases(tf)[name]()
    if name in NO_DEVICES:
        assert str(raised.value).startswith("For TPU training, one of `steps` or `max_steps` must be set.")
        return
    assert type(raised.value).__name__ == kind
    if name not in LATER:
        found, wanted = (re.sub(r"0x[0-9a-f]+", "", text) for text in (str(raised.value), message))
        assert found.splitlines()[0] == wanted.splitlines()[0]


def estimator(**more):
    loop = tpu.TPUConfig(2, **{"num_shards": 2} | more.pop("loop", {}))
    more = {"train_batch_size": 4, "config": tpu.RunConfig(tpu_config=loop)} | more
    return tpu.TPUEstimator(more.pop("model_fn", model_fn), **more)


def rows(params):
    return tf.data.Dataset.from_tensors((tf.zeros([4, 2]), tf.zeros([4]))).repeat()


def test_more_towers_than_devices():
    with pytest.raises(ValueError, match=r"16 devices, but there are 8 cpu.*towerstrat run --towers 16"):
        estimator(loop={"num_shards": 16})


@pytest.mark.parametrize(
    ("made", "match"),
    [
        (lambda: estimator(train_batch_size=5).train(rows, steps=1), "train batch size 5 must be divisible by number"),
        (lambda: estimator().evaluate(rows, steps=1), "eval_batch_size in TPUEstimator constructor cannot be `None`"),
        (lambda: list(estimator().predict(rows)), "predict_batch_size in TPUEstimator constructor cannot be `None`"),
        (lambda: estimator(embedding_config_spec=1), r"embedding_config_spec=\.\.\.\): there are no TPU embedding"),
        (lambda: estimator(loop={"experimental_feed_hook": 1}), "there is no infeed"),
    ],
)
def test_what_no_tower_could_do(made, match):
    with pytest.raises((ValueError, tf.errors.UnimplementedError, NotImplementedError), match=match):
        made()


def test_a_model_without_sums_over_towers_and_scalars_for_the_host():
    def training(optimizer, host_call=None):
        def fn(features, labels, mode, params):
            loss = tf.reduce_mean(tf.layers.dense(features, 1))
            return tpu.TPUEstimatorSpec(mode, loss=loss, train_op=optimizer().minimize(loss), host_call=host_call(loss))

        return fn

    def plain():
        return tf.train.GradientDescentOptimizer(0.1)

    with pytest.raises(ValueError, match="CrossShardOptimizer must be used for model training on TPUs"):
        estimator(model_fn=training(plain, lambda loss: None)).train(rows, steps=1)
    summed = training(lambda: tpu.CrossShardOptimizer(plain()), lambda loss: (lambda loss: [], [loss]))
    with pytest.raises(RuntimeError, match="should preserve batch size dimension, but got scalar"):
        estimator(model_fn=summed).train(rows, steps=1)
