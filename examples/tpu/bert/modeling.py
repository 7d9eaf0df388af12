"""BERT's encoder (Devlin et al., https://arxiv.org/abs/1810.04805), with the names of its published variables."""

import collections
import copy
import json
import math
import re

import numpy as np
import tensorflow as tf


class BertConfig:
    """The sizes of a model, as its JSON file has them."""

    def __init__(
        self, vocab_size, hidden_size=768, num_hidden_layers=12, num_attention_heads=12, intermediate_size=3072,
        hidden_act="gelu", hidden_dropout_prob=0.1, attention_probs_dropout_prob=0.1, max_position_embeddings=512,
        type_vocab_size=16, initializer_range=0.02,
    ):  # fmt: skip
        self.vocab_size = vocab_size
        self.hidden_size = hidden_size
        self.num_hidden_layers = num_hidden_layers
        self.num_attention_heads = num_attention_heads
        self.intermediate_size = intermediate_size
        self.hidden_act = hidden_act
        self.hidden_dropout_prob = hidden_dropout_prob
        self.attention_probs_dropout_prob = attention_probs_dropout_prob
        self.max_position_embeddings = max_position_embeddings
        self.type_vocab_size = type_vocab_size
        self.initializer_range = initializer_range

    @classmethod
    def from_dict(cls, values):
        return cls(**values)

    @classmethod
    def from_json_file(cls, name):
        with tf.gfile.GFile(name, "r") as file:
            return cls.from_dict(json.loads(file.read()))


class BertModel:
    """Builds the encoder in the default graph.

    Args:
      config: BertConfig.
      is_training: whether there is dropout.
      input_ids, input_mask, token_type_ids: int32 [batch, positions]; the mask is 0 where a row is padding.
      use_one_hot_embeddings: whether words are looked up by a matrix product, which TPUs of the time did faster.
    """

    def __init__(
        self, config, is_training, input_ids, input_mask=None, token_type_ids=None, use_one_hot_embeddings=True,
        scope=None,
    ):  # fmt: skip
        config = copy.deepcopy(config)
        if not is_training:
            config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0
        batch, length = get_shape_list(input_ids, expected_rank=2)
        if input_mask is None:
            input_mask = tf.ones([batch, length], tf.int32)
        if token_type_ids is None:
            token_type_ids = tf.zeros([batch, length], tf.int32)
        with tf.variable_scope(scope, default_name="bert"):
            with tf.variable_scope("embeddings"):
                words, self.embedding_table = embedding_lookup(input_ids, config, use_one_hot_embeddings)
                self.embedding_output = embedding_postprocessor(words, token_type_ids, config)
            with tf.variable_scope("encoder"):
                mask = attention_mask(input_ids, input_mask)
                self.all_encoder_layers = transformer_model(self.embedding_output, mask, config)
            self.sequence_output = self.all_encoder_layers[-1]
            with tf.variable_scope("pooler"):
                first = tf.squeeze(self.sequence_output[:, 0:1, :], axis=1)
                self.pooled_output = dense(first, config.hidden_size, config, tf.tanh)

    def get_pooled_output(self):
        """[batch, hidden]: of the first position, for classification."""
        return self.pooled_output

    def get_sequence_output(self):
        """[batch, positions, hidden] of the last layer."""
        return self.sequence_output

    def get_all_encoder_layers(self):
        return self.all_encoder_layers

    def get_embedding_table(self):
        return self.embedding_table


def gelu(x):
    """x * P(X <= x) of a normal X (Hendrycks and Gimpel, 2016, https://arxiv.org/abs/1606.08415), by tanh."""
    return x * 0.5 * (1.0 + tf.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * tf.pow(x, 3))))


def get_activation(name):
    found = {"linear": None, "relu": tf.nn.relu, "gelu": gelu, "tanh": tf.tanh}
    if name not in found:
        raise ValueError(f"Unsupported activation: {name}")
    return found[name]


def get_assignment_map_from_checkpoint(tvars, init_checkpoint):
    """What ``tf.train.init_from_checkpoint`` takes for those variables that the checkpoint has.

    Returns:
      ({name in the checkpoint: name here}, {names here, with and without ":0": 1}).
    """
    variables = collections.OrderedDict((re.match("^(.*):\\d+$", v.name).group(1), v) for v in tvars)
    assignment_map, initialized = collections.OrderedDict(), {}
    for name, _ in tf.train.list_variables(init_checkpoint):
        if name in variables:
            assignment_map[name] = name
            initialized[name] = initialized[name + ":0"] = 1
    return assignment_map, initialized


def get_shape_list(tensor, expected_rank=None):
    """The sizes of a tensor: integers where they are known, scalars where they are not."""
    if expected_rank is not None and tensor.shape.ndims != expected_rank:
        raise ValueError(f"{tensor.name} has {tensor.shape.ndims} dimensions instead of {expected_rank}")
    known, sizes = tensor.shape.as_list(), tf.shape(tensor)
    return [sizes[i] if size is None else size for i, size in enumerate(known)]


def create_initializer(config):
    return tf.truncated_normal_initializer(stddev=config.initializer_range)


def dense(x, units, config, activation=None, name="dense"):
    return tf.layers.dense(x, units, activation, name=name, kernel_initializer=create_initializer(config))


def dropout(x, probability):
    return tf.nn.dropout(x, 1.0 - probability) if probability else x


def layer_norm(x, name=None):
    return tf.contrib.layers.layer_norm(inputs=x, begin_norm_axis=-1, begin_params_axis=-1, scope=name)


def embedding_lookup(ids, config, one_hot, name="word_embeddings"):
    """([batch, positions, hidden], the table)."""
    batch, length = get_shape_list(ids)
    table = tf.get_variable(name, [config.vocab_size, config.hidden_size], initializer=create_initializer(config))
    flat = tf.reshape(ids, [-1])
    found = tf.matmul(tf.one_hot(flat, depth=config.vocab_size), table) if one_hot else tf.gather(table, flat)
    return tf.reshape(found, [batch, length, config.hidden_size]), table


def embedding_postprocessor(x, token_type_ids, config):
    """Adds what stands for the kind of each token and for its position; normalizes."""
    batch, length, width = get_shape_list(x, expected_rank=3)
    initializer = create_initializer(config)
    kinds = tf.get_variable("token_type_embeddings", [config.type_vocab_size, width], initializer=initializer)
    found = tf.matmul(tf.one_hot(tf.reshape(token_type_ids, [-1]), depth=config.type_vocab_size), kinds)
    x += tf.reshape(found, [batch, length, width])
    with tf.control_dependencies([tf.assert_less_equal(length, config.max_position_embeddings)]):
        shape = [config.max_position_embeddings, width]
        positions = tf.get_variable("position_embeddings", shape, initializer=initializer)
        x += tf.expand_dims(tf.slice(positions, [0, 0], [length, -1]), 0)
    return dropout(layer_norm(x, "LayerNorm"), config.hidden_dropout_prob)


def attention_mask(ids, mask):
    """[batch, positions, positions]: 1 where a position may be attended to."""
    batch, length = get_shape_list(ids, expected_rank=2)
    mask = tf.cast(tf.reshape(mask, [batch, 1, length]), tf.float32)
    return tf.ones([batch, length, 1]) * mask


def attention_layer(x, mask, config, batch, length):
    """Attention of several heads over the rows of ``x``, [batch * positions, hidden]."""
    heads = config.num_attention_heads
    size = config.hidden_size // heads

    def by_head(name):
        found = tf.reshape(dense(x, heads * size, config, name=name), [batch, length, heads, size])
        return tf.transpose(found, [0, 2, 1, 3])

    queries, keys, values = by_head("query"), by_head("key"), by_head("value")
    scores = tf.multiply(tf.matmul(queries, keys, transpose_b=True), 1.0 / math.sqrt(float(size)))
    scores += (1.0 - tf.expand_dims(mask, axis=[1])) * -10000.0
    shares = dropout(tf.nn.softmax(scores), config.attention_probs_dropout_prob)
    found = tf.transpose(tf.matmul(shares, values), [0, 2, 1, 3])
    return tf.reshape(found, [batch * length, heads * size])


def transformer_model(x, mask, config):
    """The outputs of all layers, each [batch, positions, hidden]."""
    if config.hidden_size % config.num_attention_heads:
        raise ValueError(
            f"The hidden size ({config.hidden_size}) is not a multiple of the number of attention heads "
            f"({config.num_attention_heads})"
        )
    batch, length, width = get_shape_list(x, expected_rank=3)
    before, layers = tf.reshape(x, [-1, width]), []
    for number in range(config.num_hidden_layers):
        with tf.variable_scope(f"layer_{number}"):
            with tf.variable_scope("attention"):
                with tf.variable_scope("self"):
                    attended = attention_layer(before, mask, config, batch, length)
                with tf.variable_scope("output"):
                    attended = dropout(dense(attended, width, config), config.hidden_dropout_prob)
                    attended = layer_norm(attended + before, "LayerNorm")
            with tf.variable_scope("intermediate"):
                wide = dense(attended, config.intermediate_size, config, get_activation(config.hidden_act))
            with tf.variable_scope("output"):
                found = dropout(dense(wide, width, config), config.hidden_dropout_prob)
                before = layer_norm(found + attended, "LayerNorm")
        layers.append(tf.reshape(before, [batch, length, width]))
    return layers
