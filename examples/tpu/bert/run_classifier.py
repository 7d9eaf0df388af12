"""Fine-tunes BERT on sentences with a TPUEstimator, as programs did in 2018.

    towerstrat run examples/tpu/bert/run_classifier.py --make_data --data_dir /tmp/sentences
    towerstrat run --towers 8 examples/tpu/bert/run_classifier.py --data_dir /tmp/sentences --output_dir /tmp/tuned
    python3.6 examples/tpu/bert/run_classifier.py --use_tpu=false ...                       # TensorFlow 1.12 itself

The folder has train.tsv, dev.tsv and test.tsv, whose lines are a label and a sentence, vocab.txt and bert_config.json.
--make_data writes one with invented sentences, in which the good words or the bad ones are more.
"""

import collections
import csv
import itertools
import json
import os
import random

import modeling
import optimization
import tensorflow as tf
import tokenization

flags = tf.flags
FLAGS = flags.FLAGS
flags.DEFINE_string("data_dir", None, "The folder with the sentences, the vocabulary and the model's sizes.")
flags.DEFINE_bool("make_data", False, "Write invented data there, and stop.")
flags.DEFINE_string("output_dir", None, "Where checkpoints and results are written.")
flags.DEFINE_string("init_checkpoint", None, "A checkpoint of a model that was trained before.")
flags.DEFINE_integer("max_seq_length", 16, "Tokens of a sentence; longer ones are cut, shorter ones padded.")
flags.DEFINE_integer("train_batch_size", 32, "Examples of one step, over all towers.")
flags.DEFINE_integer("eval_batch_size", 8, "Examples of one step of evaluation.")
flags.DEFINE_integer("predict_batch_size", 8, "Examples of one step of prediction.")
flags.DEFINE_float("learning_rate", 2e-3, "After the first steps, in which it rises; it falls to 0 from there.")
flags.DEFINE_float("num_train_epochs", 4.0, "How often all training sentences are used.")
flags.DEFINE_float("warmup_proportion", 0.1, "The part of training in which the rate rises.")
flags.DEFINE_integer("save_checkpoints_steps", 1000, "Steps between checkpoints.")
flags.DEFINE_integer("iterations_per_loop", 10, "Steps on the device before it returns to the host.")
flags.DEFINE_bool("use_tpu", True, "Whether to train on towers; TensorFlow without a TPU needs false.")
flags.DEFINE_string("tpu_name", None, "The TPU to use; the local machine where it is not given.")
flags.DEFINE_integer("num_tpu_cores", None, "How many towers the TPU has; default what is there.")


class InputExample:
    def __init__(self, guid, text_a, text_b=None, label=None):
        self.guid = guid
        self.text_a = text_a
        self.text_b = text_b
        self.label = label


class PaddingInputExample:
    """Fills the last batch: a TPU takes whole ones only. Metrics give it the weight 0."""


class InputFeatures:
    def __init__(self, input_ids, input_mask, segment_ids, label_id, is_real_example=True):
        self.input_ids = input_ids
        self.input_mask = input_mask
        self.segment_ids = segment_ids
        self.label_id = label_id
        self.is_real_example = is_real_example


class SentenceProcessor:
    """Reads files with a label and a sentence on each line."""

    def get_examples(self, data_dir, part):
        with tf.gfile.GFile(os.path.join(data_dir, part + ".tsv"), "r") as file:
            rows = list(csv.reader(file, delimiter="\t"))
        return [InputExample(f"{part}-{i}", text, label=label) for i, (label, text) in enumerate(rows)]

    def get_labels(self):
        return ["0", "1"]


def convert_single_example(example, label_list, max_seq_length, tokenizer):
    """[CLS] first sentence [SEP] second sentence [SEP], cut and padded."""
    if isinstance(example, PaddingInputExample):
        nothing = [0] * max_seq_length
        return InputFeatures(nothing, nothing, nothing, label_id=0, is_real_example=False)
    first = tokenizer.tokenize(example.text_a)
    second = tokenizer.tokenize(example.text_b) if example.text_b else []
    while len(first) + len(second) > max_seq_length - (3 if second else 2):
        (first if len(first) > len(second) else second).pop()
    tokens = ["[CLS]"] + first + ["[SEP]"] + (second + ["[SEP]"] if second else [])
    segment_ids = [0] * (len(first) + 2) + [1] * (len(tokens) - len(first) - 2)
    padding = [0] * (max_seq_length - len(tokens))
    return InputFeatures(
        input_ids=tokenizer.convert_tokens_to_ids(tokens) + padding,
        input_mask=[1] * len(tokens) + padding,
        segment_ids=segment_ids + padding,
        label_id=label_list.index(example.label),
    )


def convert_examples_to_features(examples, label_list, max_seq_length, tokenizer):
    return [convert_single_example(example, label_list, max_seq_length, tokenizer) for example in examples]


def file_based_convert_examples_to_features(examples, label_list, max_seq_length, tokenizer, output_file):
    """Writes the features as records."""

    def integers(values):
        return tf.train.Feature(int64_list=tf.train.Int64List(value=list(values)))

    with tf.python_io.TFRecordWriter(output_file) as writer:
        for example in examples:
            feature = convert_single_example(example, label_list, max_seq_length, tokenizer)
            columns = collections.OrderedDict()
            columns["input_ids"] = integers(feature.input_ids)
            columns["input_mask"] = integers(feature.input_mask)
            columns["segment_ids"] = integers(feature.segment_ids)
            columns["label_ids"] = integers([feature.label_id])
            columns["is_real_example"] = integers([int(feature.is_real_example)])
            writer.write(tf.train.Example(features=tf.train.Features(feature=columns)).SerializeToString())


def file_based_input_fn_builder(input_file, seq_length, is_training, drop_remainder):
    """An input function that reads records."""
    columns = {
        "input_ids": tf.FixedLenFeature([seq_length], tf.int64),
        "input_mask": tf.FixedLenFeature([seq_length], tf.int64),
        "segment_ids": tf.FixedLenFeature([seq_length], tf.int64),
        "label_ids": tf.FixedLenFeature([], tf.int64),
        "is_real_example": tf.FixedLenFeature([], tf.int64),
    }

    def decode(record):
        # Records have int64 only, TPUs int32 only.
        return {name: tf.to_int32(value) for name, value in tf.parse_single_example(record, columns).items()}

    def input_fn(params):
        dataset = tf.data.TFRecordDataset(input_file)
        if is_training:
            dataset = dataset.repeat().shuffle(buffer_size=100)
        return dataset.apply(
            tf.contrib.data.map_and_batch(decode, batch_size=params["batch_size"], drop_remainder=drop_remainder)
        )

    return input_fn


def input_fn_builder(features, seq_length, is_training, drop_remainder):
    """An input function of features that are in memory."""

    def input_fn(params):
        def column(name, shape):
            values = [getattr(feature, name) for feature in features]
            return tf.constant(values, shape=[len(features)] + shape, dtype=tf.int32)

        dataset = tf.data.Dataset.from_tensor_slices(
            {
                "input_ids": column("input_ids", [seq_length]),
                "input_mask": column("input_mask", [seq_length]),
                "segment_ids": column("segment_ids", [seq_length]),
                "label_ids": column("label_id", []),
                "is_real_example": column("is_real_example", []),
            }
        )
        if is_training:
            dataset = dataset.repeat().shuffle(buffer_size=100)
        return dataset.batch(batch_size=params["batch_size"], drop_remainder=drop_remainder)

    return input_fn


def create_model(bert_config, is_training, features, num_labels, use_one_hot_embeddings):
    """(loss, loss of each example, logits, probabilities) of a classification by the first position."""
    model = modeling.BertModel(
        config=bert_config,
        is_training=is_training,
        input_ids=features["input_ids"],
        input_mask=features["input_mask"],
        token_type_ids=features["segment_ids"],
        use_one_hot_embeddings=use_one_hot_embeddings,
    )
    output_layer = model.get_pooled_output()
    output_weights = tf.get_variable(
        "output_weights",
        [num_labels, output_layer.shape[-1].value],
        initializer=tf.truncated_normal_initializer(stddev=0.02),
    )
    output_bias = tf.get_variable("output_bias", [num_labels], initializer=tf.zeros_initializer())
    with tf.variable_scope("loss"):
        if is_training:
            output_layer = modeling.dropout(output_layer, bert_config.hidden_dropout_prob)
        logits = tf.nn.bias_add(tf.matmul(output_layer, output_weights, transpose_b=True), output_bias)
        probabilities = tf.nn.softmax(logits, axis=-1)
        one_hot_labels = tf.one_hot(features["label_ids"], depth=num_labels, dtype=tf.float32)
        per_example_loss = -tf.reduce_sum(one_hot_labels * tf.nn.log_softmax(logits, axis=-1), axis=-1)
        return tf.reduce_mean(per_example_loss), per_example_loss, logits, probabilities


def model_fn_builder(
    bert_config, num_labels, init_checkpoint, learning_rate, num_train_steps, num_warmup_steps, use_tpu,
    use_one_hot_embeddings,
):  # fmt: skip
    """What ``tf.contrib.tpu.TPUEstimator`` trains, evaluates and predicts with."""

    def model_fn(features, labels, mode, params):
        is_training = mode == tf.estimator.ModeKeys.TRAIN
        loss, per_example_loss, logits, probabilities = create_model(
            bert_config, is_training, features, num_labels, use_one_hot_embeddings
        )
        tvars, initialized, scaffold_fn = tf.trainable_variables(), {}, None
        if init_checkpoint:
            assignment_map, initialized = modeling.get_assignment_map_from_checkpoint(tvars, init_checkpoint)
            if use_tpu:

                def scaffold_fn():
                    tf.train.init_from_checkpoint(init_checkpoint, assignment_map)
                    return tf.train.Scaffold()

            else:
                tf.train.init_from_checkpoint(init_checkpoint, assignment_map)
        for var in tvars:
            tf.logging.info("  %s %s%s", var.name, var.shape, ", from the checkpoint" * (var.name in initialized))

        if is_training:
            train_op = optimization.create_optimizer(loss, learning_rate, num_train_steps, num_warmup_steps, use_tpu)
            return tf.contrib.tpu.TPUEstimatorSpec(mode=mode, loss=loss, train_op=train_op, scaffold_fn=scaffold_fn)
        if mode == tf.estimator.ModeKeys.EVAL:

            def metric_fn(per_example_loss, label_ids, logits, is_real_example):
                classes = tf.argmax(logits, axis=-1, output_type=tf.int32)
                return {
                    "eval_accuracy": tf.metrics.accuracy(label_ids, classes, weights=is_real_example),
                    "eval_loss": tf.metrics.mean(per_example_loss, weights=is_real_example),
                }

            is_real_example = tf.cast(features["is_real_example"], dtype=tf.float32)
            eval_metrics = (metric_fn, [per_example_loss, features["label_ids"], logits, is_real_example])
            return tf.contrib.tpu.TPUEstimatorSpec(
                mode=mode, loss=loss, eval_metrics=eval_metrics, scaffold_fn=scaffold_fn
            )
        return tf.contrib.tpu.TPUEstimatorSpec(
            mode=mode, predictions={"probabilities": probabilities}, scaffold_fn=scaffold_fn
        )

    return model_fn


GOOD, BAD = ["good", "fine", "lovely", "happy", "great", "warm"], ["bad", "poor", "ugly", "sad", "awful", "cold"]
OTHER = ["the", "a", "day", "film", "house", "was", "and", "very", "we", "saw", "with", "not", "it", "were", "here"]
PIECES = ["##s", "##ly", "##er", "##ed", "##ing"]
MARKS = [".", ",", "!", "?"]


def make_data(folder):
    """Writes invented sentences, their vocabulary, and the sizes of a small model."""
    tf.gfile.MakeDirs(folder)
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"] + GOOD + BAD + OTHER + PIECES + MARKS
    with tf.gfile.GFile(os.path.join(folder, "vocab.txt"), "w") as file:
        file.write("\n".join(vocabulary) + "\n")
    config = {
        "vocab_size": len(vocabulary), "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
        "intermediate_size": 64, "max_position_embeddings": 32, "type_vocab_size": 2,
    }  # fmt: skip
    with tf.gfile.GFile(os.path.join(folder, "bert_config.json"), "w") as file:
        file.write(json.dumps(config, indent=1))
    chance = random.Random(1)
    for part, count in (("train", 960), ("dev", 61), ("test", 21)):
        with tf.gfile.GFile(os.path.join(folder, part + ".tsv"), "w") as file:
            for number in range(count):
                label = number % 2
                many, few = (GOOD, BAD) if label else (BAD, GOOD)
                words = chance.choices(many, k=3) + chance.choices(few, k=1) + chance.choices(OTHER, k=5)
                chance.shuffle(words)
                file.write(f"{label}\t{' '.join(words)}{chance.choice(MARKS)}\n")


def main(_):
    tf.logging.set_verbosity(tf.logging.INFO)
    if FLAGS.make_data:
        make_data(FLAGS.data_dir)
        return
    bert_config = modeling.BertConfig.from_json_file(os.path.join(FLAGS.data_dir, "bert_config.json"))
    tokenizer = tokenization.FullTokenizer(os.path.join(FLAGS.data_dir, "vocab.txt"))
    processor = SentenceProcessor()
    label_list = processor.get_labels()
    tf.gfile.MakeDirs(FLAGS.output_dir)

    cluster = None
    if FLAGS.use_tpu and FLAGS.tpu_name:
        cluster = tf.contrib.cluster_resolver.TPUClusterResolver(FLAGS.tpu_name)
    run_config = tf.contrib.tpu.RunConfig(
        cluster=cluster,
        model_dir=FLAGS.output_dir,
        save_checkpoints_steps=FLAGS.save_checkpoints_steps,
        tpu_config=tf.contrib.tpu.TPUConfig(
            iterations_per_loop=FLAGS.iterations_per_loop,
            num_shards=FLAGS.num_tpu_cores,
            per_host_input_for_training=tf.contrib.tpu.InputPipelineConfig.PER_HOST_V2,
        ),
    )
    train_examples = processor.get_examples(FLAGS.data_dir, "train")
    num_train_steps = int(len(train_examples) / FLAGS.train_batch_size * FLAGS.num_train_epochs)
    estimator = tf.contrib.tpu.TPUEstimator(
        use_tpu=FLAGS.use_tpu,
        model_fn=model_fn_builder(
            bert_config=bert_config,
            num_labels=len(label_list),
            init_checkpoint=FLAGS.init_checkpoint,
            learning_rate=FLAGS.learning_rate,
            num_train_steps=num_train_steps,
            num_warmup_steps=int(num_train_steps * FLAGS.warmup_proportion),
            use_tpu=FLAGS.use_tpu,
            use_one_hot_embeddings=FLAGS.use_tpu,
        ),
        config=run_config,
        train_batch_size=FLAGS.train_batch_size,
        eval_batch_size=FLAGS.eval_batch_size,
        predict_batch_size=FLAGS.predict_batch_size,
    )

    train_file = os.path.join(FLAGS.output_dir, "train.tf_record")
    length = FLAGS.max_seq_length
    file_based_convert_examples_to_features(train_examples, label_list, length, tokenizer, train_file)
    estimator.train(
        file_based_input_fn_builder(train_file, length, is_training=True, drop_remainder=True),
        max_steps=num_train_steps,
    )

    eval_examples, eval_steps = processor.get_examples(FLAGS.data_dir, "dev"), None
    if FLAGS.use_tpu:
        while len(eval_examples) % FLAGS.eval_batch_size:
            eval_examples.append(PaddingInputExample())
        eval_steps = len(eval_examples) // FLAGS.eval_batch_size
    features = convert_examples_to_features(eval_examples, label_list, length, tokenizer)
    result = estimator.evaluate(input_fn_builder(features, length, False, drop_remainder=FLAGS.use_tpu), eval_steps)
    for key in sorted(result):
        print(f"{key} = {result[key]}")

    predict_examples = processor.get_examples(FLAGS.data_dir, "test")
    real = len(predict_examples)
    while FLAGS.use_tpu and len(predict_examples) % FLAGS.predict_batch_size:
        predict_examples.append(PaddingInputExample())
    features = convert_examples_to_features(predict_examples, label_list, length, tokenizer)
    found = estimator.predict(input_fn_builder(features, length, False, drop_remainder=FLAGS.use_tpu))
    with tf.gfile.GFile(os.path.join(FLAGS.output_dir, "test_results.tsv"), "w") as file:
        for prediction in itertools.islice(found, real):
            file.write("\t".join(str(p) for p in prediction["probabilities"]) + "\n")


if __name__ == "__main__":
    flags.mark_flag_as_required("data_dir")
    tf.app.run()
