"""A text module in the manner of TensorFlow Hub: train an encoder, export it, load it elsewhere and fine-tune it."""

import os

import numpy as np
import tensorflow as tf

BUCKETS = 40
TOPICS = {
    "sport": "goal team match player ball win score coach".split(),  # noqa: SIM905
    "cooking": "salt pan oven recipe butter soup taste bake".split(),  # noqa: SIM905
    "music": "song band guitar concert drum singer tune album".split(),  # noqa: SIM905
}
FILLERS = ["the", "a", "of", "and", "we", "it"]


def texts(topics, n, seed):
    rng = np.random.RandomState(seed)
    sentences, labels = [], []
    for _ in range(n):
        label = rng.randint(len(topics))
        words = list(rng.choice(TOPICS[topics[label]], 3)) + list(rng.choice(FILLERS, 3))
        sentences.append(" ".join(words[k] for k in rng.permutation(6)))
        labels.append(label)
    return tf.constant(sentences), tf.constant(labels, tf.int32)


class TextModule(tf.Module):
    """Sentences to vectors: the mean of the vectors of hashed words."""

    def __init__(self, dimension, seed):
        super().__init__()
        rng = np.random.RandomState(seed)
        self.table = tf.Variable(rng.normal(0, 0.3, (BUCKETS, dimension)), dtype=tf.float32, name="table")
        self.scale = tf.Variable(1.0, trainable=False)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def __call__(self, sentences):
        words = tf.strings.split(tf.strings.lower(sentences))
        rows = tf.ragged.map_flat_values(tf.strings.to_hash_bucket_fast, words, num_buckets=BUCKETS)
        vectors = tf.ragged.map_flat_values(tf.nn.embedding_lookup, self.table, rows)
        return self.scale * tf.reduce_mean(vectors, axis=1)


class Classifier(tf.Module):
    def __init__(self, encoder, classes, seed):
        super().__init__()
        self.encoder = encoder
        dimension = encoder(tf.constant(["a"])).shape[-1]
        start = np.random.RandomState(seed).normal(0, 0.3, (dimension, classes))
        self.kernel = tf.Variable(start, dtype=tf.float32)
        self.bias = tf.Variable(tf.zeros([classes]))

    def __call__(self, sentences):
        return self.encoder(sentences) @ self.kernel + self.bias


def train(classifier, variables, sentences, labels, steps, rate):
    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, classifier(sentences)))
        for variable, gradient in zip(variables, tape.gradient(loss, variables)):
            variable.assign_sub(rate * tf.convert_to_tensor(gradient))
        return loss

    losses = [float(step()) for _ in range(steps)]
    return losses[0], losses[-1]


def accuracy(classifier, sentences, labels):
    guess = tf.argmax(classifier(sentences), axis=1, output_type=tf.int32)
    return float(tf.reduce_mean(tf.cast(guess == labels, tf.float32)))


# the one who publishes
sentences, labels = texts(["sport", "cooking"], 80, seed=0)
publisher = Classifier(TextModule(8, seed=1), 2, seed=2)
first, last = train(publisher, publisher.trainable_variables, sentences, labels, steps=40, rate=2.0)
print(f"publisher: loss {first:.5f} -> {last:.5f}, accuracy {accuracy(publisher, sentences, labels):.5f}")
tf.saved_model.save(publisher.encoder, os.path.join("module", "1"))
print(sorted(os.listdir(os.path.join("module", "1", "variables"))))

# the one who uses the module
module = tf.saved_model.load(os.path.join("module", "1"))
same = np.allclose(module(sentences), publisher.encoder(sentences))
print("the same vectors:", same, "signatures:", list(module.signatures))
new_sentences, new_labels = texts(["sport", "cooking", "music"], 60, seed=3)
held, held_labels = texts(["sport", "cooking", "music"], 60, seed=4)
for name in ("frozen", "fine-tuned"):
    user = Classifier(tf.saved_model.load(os.path.join("module", "1")), 3, seed=5)
    variables = [user.kernel, user.bias]
    if name == "fine-tuned":
        variables += [user.encoder.table]
    first, last = train(user, variables, new_sentences, new_labels, steps=40, rate=1.0)
    print(f"{name}: loss {first:.5f} -> {last:.5f}, held accuracy {accuracy(user, held, held_labels):.5f}")
    moved = tf.reduce_max(tf.abs(user.encoder.table - module.table))
    print(f"  table moved by {float(moved):.5f}")
tf.saved_model.save(
    user, "classifier", signatures=tf.function(user).get_concrete_function(tf.TensorSpec([None], tf.string))
)
served = tf.saved_model.load("classifier").signatures["serving_default"]
for key, value in served(tf.constant(["the band and the singer", "salt of the soup"])).items():
    print(key, np.round(value.numpy(), 5))
