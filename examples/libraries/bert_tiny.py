"""Trains a tiny BERT by the unedited package bert-tensorflow, with BERT's own optimizer, to classify sequences."""

import numpy as np
import tensorflow as tf
import training
from bert import modeling, optimization

CLASSES = 3


def examples(count=8, length=12, seed=0):
    """Sequences of ids, the last of them padding in some, and labels."""
    numbers = np.random.RandomState(seed)
    ids = numbers.randint(1, 40, (count, length)).astype(np.int32)
    mask = (np.arange(length) < numbers.randint(length // 2, length + 1, (count, 1))).astype(np.int32)
    segments = (np.arange(length) >= length // 3).astype(np.int32) * np.ones((count, 1), np.int32)
    return {"ids": ids * mask, "mask": mask, "segments": segments, "labels": (ids[:, 0] % CLASSES).astype(np.int32)}


def classification_loss(ids, mask, segments, labels):
    """The mean cross entropy of a tiny BERT with a dense layer on top. There is no dropout: losses can be repeated."""
    config = modeling.BertConfig(
        vocab_size=40, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, max_position_embeddings=16,
    )  # fmt: skip
    model = modeling.BertModel(config, True, ids, input_mask=mask, token_type_ids=segments, scope="bert")
    logits = tf.layers.dense(model.get_pooled_output(), CLASSES, name="classes")
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))


if __name__ == "__main__":
    loss = classification_loss(**{name: tf.constant(value) for name, value in examples().items()})
    step = optimization.create_optimizer(loss, init_lr=0.002, num_train_steps=40, num_warmup_steps=5, use_tpu=False)
    training.train(step, loss)
