"""Cluster points with the KMeansClustering estimator, and compare with a k-means of a few lines of graph."""

import numpy as np
import tensorflow as tf

tf.logging.set_verbosity(tf.logging.ERROR)

K = 3
NUM_POINTS = 150
rng = np.random.RandomState(0)
centers = np.array([[0.0, 0.0], [4.0, 1.0], [1.0, 5.0]])
points = np.concatenate([rng.normal(center, 0.8, (NUM_POINTS // K, 2)) for center in centers]).astype(np.float32)
points = points[rng.permutation(NUM_POINTS)]
start = points[:K] + np.float32([[0.1, 0.0], [0.0, 0.1], [-0.1, 0.1]])


def lloyd(iterations):
    """Lloyd's algorithm with unsorted_segment_mean."""
    with tf.Graph().as_default():
        data = tf.constant(points)
        centroids = tf.Variable(start)
        distances = tf.reduce_sum(tf.square(data[:, None] - centroids[None]), axis=2)
        assignment = tf.argmin(distances, axis=1)
        score = tf.reduce_sum(tf.reduce_min(distances, axis=1))
        update = tf.assign(centroids, tf.unsorted_segment_mean(data, assignment, K))
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            for i in range(iterations):
                print(f"lloyd {i} score {sess.run(score):.5f}")
                sess.run(update)
            return sess.run([centroids, assignment, score])


def input_fn():
    return tf.train.limit_epochs(tf.convert_to_tensor(points, dtype=tf.float32), num_epochs=1)


wanted, groups, score = lloyd(6)
print("sizes", np.bincount(groups).tolist(), f"score {score:.5f}")

kmeans = tf.contrib.factorization.KMeansClustering(
    num_clusters=K,
    initial_clusters=start,
    use_mini_batch=False,
    feature_columns=None,
    config=tf.estimator.RunConfig(model_dir="kmeans", tf_random_seed=1),
)
previous_centers = None
for _ in range(6):
    kmeans.train(input_fn)
    cluster_centers = kmeans.cluster_centers()
    if previous_centers is not None:
        print(f"delta {np.abs(cluster_centers - previous_centers).max():.5f} score {kmeans.score(input_fn):.5f}")
    previous_centers = cluster_centers
print("cluster centers:\n", np.round(cluster_centers, 5))
print("as by hand:", np.allclose(cluster_centers, wanted, atol=1e-4))

cluster_indices = list(kmeans.predict_cluster_index(input_fn))
for i in range(5):
    print("point", np.round(points[i], 3), "is in cluster", int(cluster_indices[i]))
distances = np.stack(list(kmeans.transform(input_fn)))
print("distances", distances.shape, np.round(distances[0], 5))
