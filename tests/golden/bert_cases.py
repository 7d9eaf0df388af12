"""Fine-tuning of a small BERT by a TPUEstimator, on the original and on towerstrat. Runs under Python 3.6 too.

The program is that of examples/tpu/bert, with a model that was trained before (tests/golden/bert) and without dropout.
"""

import importlib
import os
import sys
import tempfile
from unittest import mock

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "..", "..", "examples", "tpu", "bert")
CHECKPOINT = os.path.join(HERE, "bert", "model.ckpt")
LENGTH, STEPS, BATCH = 16, 30, 32
RATE, HIGH_RATE = 8e-4, 1.2e-3
"""At the first rate no gradient is clipped, of the whole batch or of an eighth; at the second many are."""
SMALL = 1e-12
"""An epsilon of the optimizer that no gradient is near. Eight towers then train as one.

With BERT's own, 1e-6, they do not, on TPUs neither: the program asks ``tf.gradients`` for its gradients, so that
``CrossShardOptimizer`` adds them up and nobody divides; only what Adam divides by epsilon shows it.
"""


def program(tf, epsilon=1e-6):
    """The module run_classifier for this ``tf``, with this epsilon in its optimizer."""
    found = sys.modules.get("tensorflow")
    sys.modules["tensorflow"] = tf
    try:
        with mock.patch.object(sys, "path", [PROGRAM] + sys.path):
            run = importlib.import_module("run_classifier")
    finally:
        del sys.modules["tensorflow"]
        if found is not None:
            sys.modules["tensorflow"] = found
        for name in ("modeling", "optimization", "tokenization", "run_classifier"):
            sys.modules.pop(name, None)
    optimizer = run.optimization.AdamWeightDecayOptimizer
    run.optimization.AdamWeightDecayOptimizer = lambda **given: optimizer(**dict(given, epsilon=epsilon))
    return run


def config(run, layers=2):
    return run.modeling.BertConfig(
        vocab_size=46, hidden_size=16, num_hidden_layers=layers, num_attention_heads=2, intermediate_size=32,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, max_position_embeddings=20, type_vocab_size=2,
    )  # fmt: skip


def features(run):
    """{part: features}; those to evaluate and to predict are padded to whole batches."""
    with tempfile.TemporaryDirectory() as folder:
        run.make_data(folder)
        tokenizer = run.tokenization.FullTokenizer(os.path.join(folder, "vocab.txt"))
        examples = {part: run.SentenceProcessor().get_examples(folder, part) for part in ("train", "dev", "test")}
    for part in examples.values():
        part += [run.PaddingInputExample()] * (-len(part) % 8)
    return {k: run.convert_examples_to_features(v, ["0", "1"], LENGTH, tokenizer) for k, v in examples.items()}


def input_fn(run, features):
    return run.input_fn_builder(features, LENGTH, is_training=False, drop_remainder=True)


def with_losses(tf, model_fn, folder):
    """The model with a host call that writes the loss of each tower and each step, as summaries."""

    def host_call(losses):
        writer = tf.contrib.summary.create_file_writer(folder, filename_suffix=".losses")
        with writer.as_default(), tf.contrib.summary.always_record_summaries():
            tf.contrib.summary.generic("losses", losses, step=tf.train.get_or_create_global_step())
            return tf.contrib.summary.all_summary_ops()

    def wrapped(features, labels, mode, params):
        spec = model_fn(features, labels, mode, params)
        if mode != tf.estimator.ModeKeys.TRAIN:
            return spec
        return spec._replace(host_call=(host_call, [tf.reshape(spec.loss, [1])]))

    return wrapped


def make(tf, run, folder, use_tpu, checkpoint=CHECKPOINT, rate=RATE, layers=2, **settings):
    """The estimator; ``settings`` are those of ``TPUConfig``."""
    model_fn = run.model_fn_builder(
        bert_config=config(run, layers), num_labels=2, init_checkpoint=checkpoint, learning_rate=rate,
        num_train_steps=STEPS, num_warmup_steps=3, use_tpu=use_tpu, use_one_hot_embeddings=use_tpu,
    )  # fmt: skip
    settings = tf.contrib.tpu.TPUConfig(
        per_host_input_for_training=tf.contrib.tpu.InputPipelineConfig.PER_HOST_V2, **settings
    )
    return tf.contrib.tpu.TPUEstimator(
        with_losses(tf, model_fn, folder), config=tf.contrib.tpu.RunConfig(model_dir=folder, tpu_config=settings),
        use_tpu=use_tpu, train_batch_size=BATCH, eval_batch_size=8, predict_batch_size=8,
    )  # fmt: skip


def losses(tf, folder):
    """[steps, towers], in the order in which they were written."""
    (name,) = (name for name in os.listdir(folder) if name.endswith(".losses"))
    return [
        tf.make_ndarray(value.tensor).tolist()
        for event in tf.train.summary_iterator(os.path.join(folder, name))
        for value in event.summary.value
    ]


def probabilities(run, estimator, features):
    return [row["probabilities"].tolist() for row in estimator.predict(input_fn(run, features))]


def trained(tf, folder, use_tpu, epsilon=1e-6, **settings):
    """(run_classifier, features, the estimator, losses of steps: means over the towers)."""
    run = program(tf, epsilon)
    data = features(run)
    estimator = make(tf, run, folder, use_tpu, **settings)
    estimator.train(input_fn(run, data["train"]), max_steps=STEPS)
    return run, data, estimator, np.mean(losses(tf, folder), 1).tolist()


def fine_tuned(tf, folder, use_tpu, **settings):
    """Trains, evaluates, predicts."""
    run, data, estimator, found = trained(tf, folder, use_tpu, **settings)
    result = estimator.evaluate(input_fn(run, data["dev"]), steps=len(data["dev"]) // 8)
    return {
        "losses": found,
        "result": {key: float(value) for key, value in result.items()},
        "probabilities": probabilities(run, estimator, data["test"]),
    }


CASES = {
    "as it is": {}, "clipped": {"rate": HIGH_RATE}, "for towers": {"epsilon": SMALL},
    "one layer": {"epsilon": SMALL, "layers": 1},
}  # fmt: skip


def on_towers_by_hand(tf, towers):
    """Losses of steps in which each part of a batch clips its gradients, which are then added up."""
    run, clip, clipped, totals, found = program(tf), tf.clip_by_global_norm, [], [], []

    def fed(grads, clip_norm):
        clipped.extend(clip(grads, clip_norm)[0])
        totals.extend(tf.placeholder(tf.float32, grad.shape) for grad in clipped)
        return totals, None

    with tf.Graph().as_default(), mock.patch.object(tf, "clip_by_global_norm", fed):
        following = input_fn(run, features(run)["train"])({"batch_size": BATCH}).make_one_shot_iterator().get_next()
        part = {k: tf.placeholder(v.dtype, [BATCH // towers] + v.shape.as_list()[1:]) for k, v in following.items()}
        loss = run.create_model(config(run), True, part, 2, True)[0]
        names, _ = run.modeling.get_assignment_map_from_checkpoint(tf.trainable_variables(), CHECKPOINT)
        tf.train.init_from_checkpoint(CHECKPOINT, names)
        train = run.optimization.create_optimizer(loss, HIGH_RATE, STEPS, 3, use_tpu=False)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for _ in range(STEPS):
                batch = {k: np.split(v, towers) for k, v in session.run(following).items()}
                of_towers = [session.run([loss] + clipped, {part[k]: batch[k][i] for k in part}) for i in range(towers)]
                losses_of_step, *grads = zip(*of_towers)  # noqa: B905
                session.run(train, {total: np.sum(values, 0) for total, values in zip(totals, grads)})  # noqa: B905
                found.append(float(np.mean(losses_of_step)))
    return found


def pretrained(tf):
    """Writes the checkpoint that fine-tuning begins with: seeded weights, without the bias of the classes."""
    run = program(tf)
    chance = np.random.RandomState(7)
    with tf.Graph().as_default(), tf.Session() as session:
        ids = tf.zeros([1, LENGTH], tf.int32)
        inputs = {"input_ids": ids, "input_mask": ids, "segment_ids": ids, "label_ids": [0]}
        run.create_model(config(run), False, inputs, 2, False)
        kept = [v for v in tf.global_variables() if v.op.name != "output_bias"]
        for variable in kept:
            middle = 1.0 if variable.op.name.endswith("gamma") else 0.0
            variable.load(middle + 0.1 * chance.randn(*variable.shape.as_list()), session)
        tf.train.Saver(kept).save(session, CHECKPOINT, write_meta_graph=False, write_state=False)
