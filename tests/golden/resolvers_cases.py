"""Questions to cluster resolvers and cluster specs, by the TF_CONFIG they are asked under; expressions of ``tf``."""

import json

TWO = {"worker": ["a:1", "b:2"]}
FULL = {"chief": ["c:0"], "worker": ["a:1", "b:2"], "ps": ["p:3"], "evaluator": ["e:4"]}


def _config(cluster=None, task=None, **more):
    found = {"cluster": cluster, "task": task, **more}
    return json.dumps({key: value for key, value in found.items() if value is not None})


MEMBERS = ["cluster_spec()", "master()", "task_type", "task_id", "rpc_layer", "environment", "num_accelerators()"]
"""What a resolver is asked."""

CONFIGS = {
    "not set": None,
    "empty": "{}",
    "a cluster": _config(TWO),
    "a worker": _config(TWO, {"type": "worker", "index": 1}),
    "the index as text": _config(TWO, {"type": "worker", "index": "1"}),
    "the chief": _config(FULL, {"type": "chief", "index": 0}),
    "a server": _config(FULL, {"type": "ps", "index": 0}),
    "the evaluator": _config(FULL, {"type": "evaluator", "index": 0}),
    "an evaluator outside": _config(TWO, {"type": "evaluator", "index": 0}),
    "a worker that is not there": _config(TWO, {"type": "worker", "index": 2}),
    "one task": _config({"worker": ["a:1"]}, {"type": "worker", "index": 0}),
    "one task, unsaid": _config({"worker": ["a:1"]}),
    "some tasks": _config({"worker": {"1": "b:2", "3": "d:4"}}, {"type": "worker", "index": 3}),
    "a protocol": _config(TWO, {"type": "worker", "index": 0}, rpc_layer="grpc"),
    "a session master": _config(TWO, {"type": "worker", "index": 0}, session_master="m:9"),
    "no index": _config(TWO, {"type": "worker"}),
    "no type": _config(TWO, {"index": 0}),
    "an index that is none": _config(TWO, {"type": "worker", "index": "x"}),
    "a cluster that is none": _config(["a:1"], {"type": "worker", "index": 0}),
    "a job that is none": _config({"worker": "a:1"}, {"type": "worker", "index": 0}),
    "an address that is none": _config({"worker": [1]}, {"type": "worker", "index": 0}),
    "no JSON": "worker",
}
RESOLVERS = {
    "plain": "tf.distribute.cluster_resolver.TFConfigClusterResolver()",
    "type": "tf.distribute.cluster_resolver.TFConfigClusterResolver(task_type='chief')",
    "id": "tf.distribute.cluster_resolver.TFConfigClusterResolver('worker', 0, 'http', 'there')",
}

SPEC = {
    "lists": "tf.train.ClusterSpec({'worker': ['a:1', 'b:2'], 'ps': ['p:3']})",
    "tuple": "tf.train.ClusterSpec({'worker': ('a:1',)})",
    "sparse": "tf.train.ClusterSpec({'worker': {1: 'b:2', 4: 'e:5'}, 'ps': ['p:3']})",
    "dense": "tf.train.ClusterSpec({'worker': {1: 'b:2', 0: 'a:1'}})",
    "text": "tf.train.ClusterSpec({'worker': {'0': 'a:1'}})",
    "again": "tf.train.ClusterSpec(tf.train.ClusterSpec({'worker': ['a:1'], 'ps': {2: 'p:3'}}))",
    "none": "tf.train.ClusterSpec({})", "list": "tf.train.ClusterSpec(['a:1'])",
    "job": "tf.train.ClusterSpec({'worker': 'a:1'})", "address": "tf.train.ClusterSpec({'worker': [1]})",
    "number": "tf.train.ClusterSpec({1: ['a:1']})",
}  # fmt: skip
SPEC_MEMBERS = [
    "as_dict()", "jobs", "num_tasks('worker')", "task_indices('worker')", "task_address('worker', 0)",
    "task_address('worker', 1)", "job_tasks('worker')", "job_tasks('ps')", "num_tasks('none')", "__bool__()",
    "__eq__({'worker': {0: 'a:1'}})",
]  # fmt: skip

_OF = "tf.distribute.cluster_resolver"
_SIMPLE = f"{_OF}.SimpleClusterResolver"
_A = "tf.train.ClusterSpec({'worker': ['a:1', 'b:2']})"
_B = "tf.train.ClusterSpec({'worker': {2: 'c:3'}, 'ps': ['p:4']})"
_FIRST = f"{_SIMPLE}({_A}, 'm:9', 'worker', 1, 'there', {{'GPU': 8}}, 'grpc')"
EXPRESSIONS = [
    *(f"{_FIRST}.{member}" for member in MEMBERS),
    f"{_FIRST}.master('worker', 0)",
    f"{_FIRST}.master('worker', 0, 'http')",
    f"{_FIRST}.master('worker')",
    f"{_FIRST}.master('ps', 0)",
    f"{_FIRST}.num_accelerators('worker', 0)",
    *(f"{_SIMPLE}({_A}).{member}" for member in MEMBERS),
    f"{_SIMPLE}({{'worker': ['a:1']}})",
    f"{_SIMPLE}({_A}, master=1)",
    *(f"{_OF}.UnionResolver({_FIRST}, {_SIMPLE}({_B})).{member}" for member in MEMBERS),
    f"{_OF}.UnionResolver({_SIMPLE}({_B}), {_FIRST}).cluster_spec()",
    f"{_OF}.UnionResolver({_FIRST}, {_FIRST}).cluster_spec()",
    f"{_OF}.UnionResolver({_SIMPLE}({_B}), {_SIMPLE}({_B})).cluster_spec()",
    f"{_OF}.UnionResolver({_FIRST}, task_type='ps', task_id=3, rpc_layer='http').task_id",
    f"{_OF}.UnionResolver({_FIRST}, task_type='ps', task_id=3, rpc_layer='http').task_type",
    f"{_OF}.UnionResolver({_FIRST}, task_type='ps', task_id=3, rpc_layer='http').master('worker', 1)",
    f"{_OF}.UnionResolver({_FIRST}).master('worker', 1)",
    f"{_OF}.UnionResolver({_FIRST}).master('worker', 1, 'grpc')",
    f"{_OF}.UnionResolver({_FIRST}, job=1)",
    f"{_OF}.UnionResolver()",
    f"{_OF}.UnionResolver({_A})",
    f"{_OF}.ClusterResolver()",
    *(f"{_OF}.TPUClusterResolver('local').{member}" for member in (
        "cluster_spec()", "master()", "master('worker', 0)", "get_master()", "get_job_name()", "task_type", "task_id",
        "environment", "get_coordination_service_leader()", "tpu_hardware_feature")),
    f"{_OF}.TPUClusterResolver('local', job_name='tpu_worker').get_job_name()",
    f"tf.config.experimental_connect_to_cluster({_OF}.TPUClusterResolver('local'))",
    f"tf.config.experimental_connect_to_cluster({_SIMPLE}({_A}))",
    "tf.config.experimental_connect_to_cluster({'worker': ['a:1']})",
    "tf.config.experimental_connect_to_host()",
    "tf.config.experimental_connect_to_host([])",
]  # fmt: skip


def answers(tf, environ):
    """What each question is answered, or the type of the error."""

    def asked(expression):
        try:
            found = eval(expression, {"tf": tf})
            return repr(dict(found) if isinstance(found, dict) else found)
        except ValueError:
            return "raises ValueError"
        except Exception as error:
            return f"raises {type(error).__name__}"

    found = {expression: asked(expression) for expression in EXPRESSIONS}
    for spec in SPEC.values():
        found.update((f"{spec}.{member}", asked(f"{spec}.{member}")) for member in SPEC_MEMBERS)
    for name, config in CONFIGS.items():
        environ.pop("TF_CONFIG", None)
        if config is not None:
            environ["TF_CONFIG"] = config
        for kind, resolver in RESOLVERS.items():
            found.update((f"{name}, {kind}: {member}", asked(f"{resolver}.{member}")) for member in MEMBERS)
    environ.pop("TF_CONFIG", None)
    return found
