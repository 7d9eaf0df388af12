"""Candidate sampling: the distributions, what they expect, the losses over samples; sparse values made dense."""

import json
from pathlib import Path

import numpy as np
import pytest

import towerstrat.compat.v1 as tf
from tests.golden import sampling_cases
from towerstrat.errors import UnsupportedError
from towerstrat.graph.eager.mode import eager_mode

GOLDEN = json.loads((Path(__file__).parents[3] / "golden" / "sampling.json").read_text())
TRUE = np.array([[1, 2], [3, 9]], np.int64)
SAMPLERS = {
    "uniform": (lambda *args, **kwargs: tf.nn.uniform_candidate_sampler(*args, 10, **kwargs), np.full(10, 0.1)),
    "log_uniform": (
        lambda *args, **kwargs: tf.nn.log_uniform_candidate_sampler(*args, 10, **kwargs),
        np.log1p(1 / np.arange(1, 11)) / np.log(11),
    ),
    "fixed_unigram": (
        lambda *args, **kwargs: tf.nn.fixed_unigram_candidate_sampler(
            *args, 10, unigrams=[1, 2, 3, 4, 5, 6, 7, 0], num_reserved_ids=2, distortion=0.5, **kwargs
        ),
        np.sqrt([0, 0, 1, 2, 3, 4, 5, 6, 7, 0]) / np.sqrt([1, 2, 3, 4, 5, 6, 7]).sum(),
    ),
}


def runs(sampler, unique, times=300):
    """What so many runs give: samples ``[times, 5]``, counts that are expected of true and of sampled classes."""
    with tf.Graph().as_default(), tf.Session() as sess:
        fetches = SAMPLERS[sampler][0](TRUE, 2, 5, unique, seed=1)
        return [np.stack(found) for found in zip(*(sess.run(fetches) for _ in range(times)), strict=True)]


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_draws_follow_the_distribution(sampler):
    samples, true, sampled = runs(sampler, unique=False)
    wanted = SAMPLERS[sampler][1]
    shares = np.bincount(samples.ravel(), minlength=10) / samples.size
    # Five standard deviations of the mean of so many draws.
    np.testing.assert_array_less(np.abs(shares - wanted), 5 * np.sqrt(wanted * (1 - wanted) / samples.size) + 1e-12)
    np.testing.assert_allclose(true[0], 5 * wanted[TRUE], rtol=1e-5)
    np.testing.assert_allclose(sampled, 5 * wanted[samples], rtol=1e-5)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_different_draws_are_those_of_drawing_until_there_are_enough(sampler):
    samples, true, _ = runs(sampler, unique=True)
    assert all(len(set(row)) == 5 for row in samples)
    wanted = SAMPLERS[sampler][1]
    random = np.random.RandomState(0)

    def simulated():
        drawn, tries = [], 0
        while len(drawn) < 5:
            tries += 1
            one = random.choice(10, p=wanted)
            drawn += [] if one in drawn else [one]
        return drawn, wanted * 5 if tries == 5 else -np.expm1(tries * np.log1p(-wanted))

    found, expected = zip(*(simulated() for _ in range(2000)), strict=True)
    often = np.bincount(np.ravel(found), minlength=10) / 2000
    np.testing.assert_allclose(np.bincount(samples.ravel(), minlength=10) / 300, often, atol=5 * 0.5 * 0.06)
    np.testing.assert_allclose(true.mean(0), np.mean(expected, 0)[TRUE], atol=0.06)


@pytest.mark.long
def test_a_learned_distribution_counts_the_true_classes_of_earlier_runs():
    with tf.Graph().as_default(), tf.Session() as sess:
        fetches = tf.nn.learned_unigram_candidate_sampler(TRUE, 2, 5, False, 10, seed=1)
        alone = tf.nn.learned_unigram_candidate_sampler(TRUE, 2, 2000, False, 10, seed=1)
        assert tf.global_variables() == tf.local_variables() == []
        weights = np.ones(10)
        for _ in range(3):
            samples, true, sampled = sess.run(fetches)
            share = weights / weights.sum()
            np.testing.assert_allclose(true, 5 * share[TRUE], rtol=1e-5)
            np.testing.assert_allclose(sampled, 5 * share[samples], rtol=1e-5)
            sess.run(alone.true_expected_count)
            np.add.at(weights, TRUE.ravel(), 1)
        shares = np.bincount(sess.run(alone)[0], minlength=10) / 2000
        wanted = weights / weights.sum()
        np.testing.assert_array_less(np.abs(shares - wanted), 5 * np.sqrt(wanted * (1 - wanted) / 2000))
    with tf.Graph().as_default(), tf.Session() as sess:
        fed = tf.placeholder(tf.int64, [None, 1])
        samples, true, _ = tf.nn.learned_unigram_candidate_sampler(fed, 1, 3, True, 3, seed=1)
        counted = [sess.run([samples, true], {fed: [[2]] * 10}) for _ in range(2)]
        assert [sorted(found) for found, _ in counted] == [[0, 1, 2]] * 2
        assert counted[0][1].shape == (10, 1)


def test_a_learned_distribution_in_functions_and_in_towers():
    with eager_mode():
        step = tf.function(lambda x: tf.nn.learned_unigram_candidate_sampler(x, 2, 5, False, 10, seed=1)[1])
        found = [step(tf.constant(TRUE)).numpy()[0, 0] for _ in range(2)]
        np.testing.assert_allclose(found, [5 / 10, 10 / 14], rtol=1e-5)
        with pytest.raises(UnsupportedError, match="in a graph, or in a tf.function"):
            tf.nn.learned_unigram_candidate_sampler(TRUE, 2, 5, False, 10)
    with tf.Graph().as_default():
        towers = tf.contrib.distribute.TPUStrategy()

        def counts():
            own = tf.cast(tf.contrib.distribute.get_tower_context().tower_id, tf.int64)
            return tf.nn.learned_unigram_candidate_sampler([[own % 2, 3]], 2, 5, False, 4, seed=1)[1]

        with towers.scope():
            found = towers.unwrap(towers.call_for_each_tower(counts))
        with tf.Session() as sess:
            for before in range(3):
                wanted = 5 * (1 + before) / (4 + 2 * before)
                np.testing.assert_allclose(sess.run(found), np.full([len(found), 1, 2], wanted), rtol=1e-5)


def test_a_large_range_is_sampled_to_its_end():
    with tf.Session() as sess:
        samples = sess.run(tf.nn.log_uniform_candidate_sampler(TRUE, 2, 100_000, False, 1_000_000, seed=3))[0]
    assert samples.min() == 0
    assert samples.max() < 1_000_000
    late = samples[samples >= 500_000]
    wanted = np.log(1_000_001 / 500_001) / np.log(1_000_001)
    assert abs(len(late) / len(samples) - wanted) < 5 * np.sqrt(wanted / len(samples))
    assert 0.45 < np.mean(late % 2) < 0.55


def test_shards_and_files(tmp_path):
    path = tmp_path / "words.csv"
    path.write_text("the,4\nof,2\nand,1\nto,1\n")
    with tf.Session() as sess:
        found = tf.nn.fixed_unigram_candidate_sampler(
            np.int64([[1, 2]]), 2, 50, False, 4, vocab_file=str(path), num_shards=2, shard=1, seed=1
        )
        samples, true, _ = sess.run(found)
    assert set(samples) == {1, 3}
    np.testing.assert_allclose(true, [[50 * 2 / 3, 0]], rtol=1e-5)


def test_all_classes():
    with tf.Session() as sess:
        samples, true, sampled = sess.run(tf.nn.all_candidate_sampler(TRUE, 2, 4, True))
    assert samples.tolist() == [0, 1, 2, 3]
    assert true.tolist() == [[1, 1], [1, 1]]
    assert sampled.tolist() == [1] * 4


@pytest.mark.parametrize("case", sampling_cases.CASES)
def test_as_the_original(case):
    found = sampling_cases.run(tf, sampling_cases.CASES[case])
    np.testing.assert_equal(len(found), len(GOLDEN[case]))
    for one, two in zip(found, GOLDEN[case], strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-5, atol=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("loss", ["nce_loss", "sampled_softmax_loss"])
def test_a_word_model_learns(loss):
    """The classes that come together get close, with samples of the operation's own."""
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.set_random_seed(1)
        table = tf.get_variable("table", [20, 8])
        weights, biases = tf.get_variable("weights", [20, 8]), tf.get_variable("biases", [20])
        words = tf.constant(np.arange(20))
        labels = tf.constant(((np.arange(20) + 1) % 20)[:, None])
        inputs = tf.nn.embedding_lookup(table, words)
        cost = tf.reduce_mean(getattr(tf.nn, loss)(weights, biases, labels, inputs, 5, 20))
        train = tf.train.AdagradOptimizer(1.0).minimize(cost)
        logits = tf.matmul(inputs, weights, transpose_b=True) + biases
        right = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), labels[:, 0]), tf.float32))
        sess.run(tf.global_variables_initializer())
        for _ in range(200):
            sess.run(train)
        assert sess.run(right) > 0.9


def test_eagerly_and_in_a_function():
    case = sampling_cases.CASES["sampled_softmax"]
    with eager_mode():
        wanted = GOLDEN["sampled_softmax"][0]
        np.testing.assert_allclose(case(tf)[0], wanted, rtol=1e-5)
        np.testing.assert_allclose(tf.function(lambda: case(tf)[0])(), wanted, rtol=1e-5)
        samples, _, _ = tf.nn.uniform_candidate_sampler(TRUE, 2, 5, True, 10)
        assert len(set(samples.numpy())) == 5


REFUSED = {
    "range learned": lambda: tf.nn.learned_unigram_candidate_sampler(TRUE, 2, 11, True, 10),
    "range": lambda: tf.nn.uniform_candidate_sampler(TRUE, 2, 11, True, 10),
    "true classes": lambda: tf.nn.uniform_candidate_sampler(TRUE, 1, 5, True, 10),
    "no counts": lambda: tf.nn.fixed_unigram_candidate_sampler(TRUE, 2, 5, True, 10),
    "few counts": lambda: tf.nn.fixed_unigram_candidate_sampler(TRUE, 2, 5, True, 10, unigrams=[1, 2]),
    "indices": lambda: tf.sparse_to_dense(np.zeros([1, 1, 1], int), [3], 1),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case):
    with pytest.raises(ValueError, match="small|shape|exactly one|range_max|dimensions"):
        REFUSED[case]()


@pytest.mark.parametrize(
    ("indices", "message"),
    [([[1], [0]], "indices.1. = .0. is out of order"), ([[1], [1]], "indices.1. = .1. is repeated"),
     ([[0], [4]], r"indices.1. = .4. is out of bounds: need 0 <= index < .4.")],
)  # fmt: skip
def test_wrong_indices_are_errors_when_they_are_used(indices, message):
    fed = tf.placeholder(tf.int64, [None, 1])
    with tf.Session() as sess, pytest.raises(tf.errors.InvalidArgumentError, match=message):
        sess.run(tf.sparse_to_dense(fed, [4], 1.0), {fed: indices})
    with tf.Session() as sess:
        unchecked = tf.sparse_to_dense(fed, [4], 1.0, validate_indices=False)
        assert sess.run(unchecked, {fed: [[1], [0]]}).tolist() == [1, 1, 0, 0]
