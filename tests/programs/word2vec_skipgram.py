"""Basic word2vec: skip-gram with noise contrastive estimation, nearest neighbours by cosine."""

import collections

import numpy as np
import tensorflow as tf

SUBJECTS = {"animals": ["dog", "cat", "horse", "cow"], "food": ["bread", "cheese", "apple", "soup"]}
VERBS = {"animals": ["runs", "sleeps", "barks"], "food": ["tastes", "smells", "cooks"]}
ENDS = {"animals": ["outside", "fast"], "food": ["good", "hot"]}


def read_data():
    rng = np.random.RandomState(0)
    words = []
    for _ in range(500):
        topic = ["animals", "food"][rng.randint(2)]
        for choices in (["the"], SUBJECTS[topic], VERBS[topic], ENDS[topic]):
            words.append(choices[rng.randint(len(choices))])
    return words


def build_dataset(words, n_words):
    """Codes of words by frequency, with UNK for those that are rare."""
    count = [["UNK", -1]]
    ordered = sorted(collections.Counter(words).items(), key=lambda pair: (-pair[1], pair[0]))
    count.extend(ordered[: n_words - 1])
    dictionary = {word: code for code, (word, _) in enumerate(count)}
    data = [dictionary.get(word, 0) for word in words]
    count[0][1] = data.count(0)
    return data, count, dictionary, dict(zip(dictionary.values(), dictionary.keys()))


vocabulary_size = 20
data, count, dictionary, reverse_dictionary = build_dataset(read_data(), vocabulary_size)
print("Most common words (+UNK)", count[:4])
print("Sample data", data[:8], [reverse_dictionary[i] for i in data[:8]])
data_index = 0


def generate_batch(batch_size, num_skips, skip_window, rng):
    global data_index
    batch = np.ndarray(shape=(batch_size), dtype=np.int32)
    labels = np.ndarray(shape=(batch_size, 1), dtype=np.int32)
    span = 2 * skip_window + 1
    buffer = collections.deque(maxlen=span)
    for _ in range(span):
        buffer.append(data[data_index])
        data_index = (data_index + 1) % len(data)
    for i in range(batch_size // num_skips):
        context_words = [w for w in range(span) if w != skip_window]
        for j, context_word in enumerate(rng.permutation(context_words)[:num_skips]):
            batch[i * num_skips + j] = buffer[skip_window]
            labels[i * num_skips + j, 0] = buffer[context_word]
        buffer.append(data[data_index])
        data_index = (data_index + 1) % len(data)
    data_index = (data_index + len(data) - span) % len(data)
    return batch, labels


batch_size = 32
embedding_size = 8
skip_window = 1
num_skips = 2
num_sampled = 6
valid_examples = np.array([dictionary[w] for w in ("dog", "bread", "runs", "good")])

rng = np.random.RandomState(1)
graph = tf.Graph()
with graph.as_default():
    train_inputs = tf.placeholder(tf.int32, shape=[batch_size])
    train_labels = tf.placeholder(tf.int32, shape=[batch_size, 1])
    sampled = tf.placeholder(tf.int64, shape=[num_sampled])
    valid_dataset = tf.constant(valid_examples, dtype=tf.int32)

    with tf.name_scope("embeddings"):
        embeddings = tf.Variable(rng.uniform(-1.0, 1.0, [vocabulary_size, embedding_size]).astype(np.float32))
        embed = tf.nn.embedding_lookup(embeddings, train_inputs)
    with tf.name_scope("weights"):
        start = rng.normal(0, 1.0 / np.sqrt(embedding_size), [vocabulary_size, embedding_size])
        nce_weights = tf.Variable(start.astype(np.float32))
    with tf.name_scope("biases"):
        nce_biases = tf.Variable(tf.zeros([vocabulary_size]))

    # negatives are drawn evenly: each word is expected num_sampled / vocabulary_size times
    expected = num_sampled / vocabulary_size
    samples = (sampled, tf.fill([batch_size, 1], expected), tf.fill([num_sampled], expected))
    with tf.name_scope("loss"):
        loss = tf.reduce_mean(
            tf.nn.nce_loss(
                weights=nce_weights,
                biases=nce_biases,
                labels=train_labels,
                inputs=embed,
                num_sampled=num_sampled,
                num_classes=vocabulary_size,
                sampled_values=samples,
            )
        )
    with tf.name_scope("optimizer"):
        optimizer = tf.train.GradientDescentOptimizer(1.0).minimize(loss)

    norm = tf.sqrt(tf.reduce_sum(tf.square(embeddings), 1, keepdims=True))
    normalized_embeddings = embeddings / norm
    valid_embeddings = tf.nn.embedding_lookup(normalized_embeddings, valid_dataset)
    similarity = tf.matmul(valid_embeddings, normalized_embeddings, transpose_b=True)
    init = tf.global_variables_initializer()

num_steps = 400
with tf.Session(graph=graph) as session:
    init.run()
    print("Initialized")
    average_loss = 0
    for step in range(1, num_steps + 1):
        batch_inputs, batch_labels = generate_batch(batch_size, num_skips, skip_window, rng)
        negatives = rng.choice(vocabulary_size, num_sampled, replace=False)
        feed_dict = {train_inputs: batch_inputs, train_labels: batch_labels, sampled: negatives}
        _, loss_val = session.run([optimizer, loss], feed_dict=feed_dict)
        average_loss += loss_val
        if step % 100 == 0:
            print(f"Average loss at step {step}: {average_loss / 100:.5f}")
            average_loss = 0
    sim = similarity.eval()
    for i, code in enumerate(valid_examples):
        nearest = (-sim[i, :]).argsort()[1:4]
        print(f"Nearest to {reverse_dictionary[code]}:", ", ".join(reverse_dictionary[k] for k in nearest))
    final_embeddings = normalized_embeddings.eval()
animals, food = ([dictionary[w] for w in SUBJECTS[topic]] for topic in ("animals", "food"))
inside = final_embeddings[animals].dot(final_embeddings[animals].T).mean()
across = final_embeddings[animals].dot(final_embeddings[food].T).mean()
print(f"cosine among animals {inside:.5f}, between animals and food {across:.5f}")
