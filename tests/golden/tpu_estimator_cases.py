"""What ``TPUEstimator`` and ``TPUEstimatorSpec`` refuse, and with which words."""


def model_fn(features, labels, mode, params):
    raise AssertionError("not called")


def without_params(features, labels, mode):
    raise AssertionError("not called")


def metric(a, b):
    return {}


def cases(tf):
    """Name -> a function that raises."""
    tpu = tf.contrib.tpu

    def config(**loop):
        return tpu.RunConfig(tpu_config=tpu.TPUConfig(**loop))

    def made(model=model_fn, use_tpu=True, **more):
        more.setdefault("config", config())
        return tpu.TPUEstimator(model, use_tpu=use_tpu, **more)

    def spec(**parts):
        return tpu.TPUEstimatorSpec("train", loss=tf.constant(1.0), train_op=tf.no_op(), **parts)

    def rows(params):
        return tf.data.Dataset.from_tensors((tf.zeros([2, 2]), tf.zeros([2])))

    def features_alone(features, mode, params):
        raise AssertionError("not called")

    here = made(use_tpu=False, train_batch_size=4)
    return {
        "no config": lambda: made(config=None, train_batch_size=8),
        "another config": lambda: made(config=tf.estimator.RunConfig(), train_batch_size=8),
        "reserved": lambda: made(params={"batch_size": 3}, train_batch_size=8),
        "reserved context": lambda: made(params={"context": 3}, train_batch_size=8),
        "no train batch": lambda: made(),
        "train batch of 0": lambda: made(train_batch_size=0),
        "train batch of text": lambda: made(train_batch_size="8"),
        "eval batch below 0": lambda: made(train_batch_size=8, eval_batch_size=-1),
        "no steps": lambda: made(train_batch_size=8).train(rows),
        "steps of 0": lambda: made(train_batch_size=8).train(rows, steps=0),
        "input function without params": lambda: here.train(lambda: rows({}), steps=1),
        "model function without params": lambda: made(without_params, False).train(rows, steps=1),
        "model function without labels": lambda: made(features_alone, False).train(rows, steps=1),
        "features in a list": lambda: here.train(lambda params: ([tf.zeros([2])], tf.zeros([2])), steps=1),
        "metrics no pair": lambda: spec(eval_metrics=metric),
        "metrics of three": lambda: spec(eval_metrics=(metric, [], 1)),
        "metrics not callable": lambda: spec(eval_metrics=(1, [])),
        "metrics of a tensor": lambda: spec(eval_metrics=(metric, tf.constant(1.0))),
        "metrics of too few": lambda: spec(eval_metrics=(metric, [tf.constant([1.0])])),
        "host call of too many": lambda: spec(host_call=(metric, [tf.constant([1.0])] * 3)),
        "hooks": lambda: spec(training_hooks=[1]),
        "iterations of 0": lambda: config(iterations_per_loop=0),
        "shards of 0": lambda: config(num_shards=0),
        "cores of three": lambda: config(num_cores_per_replica=3),
        "partition of three": lambda: config(num_cores_per_replica=2, input_partition_dims=[[1], [2], [3]]),
        "sleep below 0": lambda: config(initial_infeed_sleep_secs=-1),
    }


def outcomes(tf):
    """Name -> [class, message] of what a case raised."""
    found = {}
    for name, case in sorted(cases(tf).items()):
        try:
            case()
            found[name] = None
        except Exception as error:
            found[name] = [type(error).__name__, str(error)]
    return found
