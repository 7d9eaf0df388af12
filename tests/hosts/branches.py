"""Branches in which towers wait for one another, of predicates that differ by process; prints what is said of them."""

import json

import towerstrat.compat.v1 as v1
import towerstrat.compat.v2 as v2
from tests.towers.common import tpu
from towerstrat.errors import InvalidArgumentError
from towerstrat.hosts.process_index import PROCESSES


def found(run, read):
    """A result or what is raised, and a variable afterwards, where all take the branch, none does, and one does."""
    values = []
    for flag in (True, False, PROCESSES.index == 0, True):
        try:
            values.append(float(run(flag)))
        except InvalidArgumentError as error:
            values.append(str(error))
        values.append(float(read()))
    return values


def in_graph(optimizer):
    """A sum over the towers, or gradients that they apply, in a branch of a session's run."""
    strategy = tpu(2 * PROCESSES.count)
    with v1.Graph().as_default(), strategy.scope(), v1.Session() as session:
        w = v1.get_variable("w", [], initializer=v1.zeros_initializer(), aggregation=v1.VariableAggregation.MEAN)
        flag = v1.placeholder(v1.bool, [], name="flag")

        def step():
            train = v1.train.GradientDescentOptimizer(0.25)
            pairs = train.compute_gradients((w - 1.0) ** 2, [w])

            def taken():
                with v1.control_dependencies([train.apply_gradients(pairs)]):
                    return v1.constant(1.0)

            return v1.cond(flag, taken, lambda: v1.constant(0.0))

        def total():
            ones = strategy.call_for_each_tower(lambda: v1.constant(1.0))
            return strategy.reduce(v1.VariableAggregation.SUM, ones, "/cpu:0")

        if optimizer:
            out = strategy.unwrap(strategy.call_for_each_tower(step))[0]
        else:
            out = v1.cond(flag, total, lambda: v1.constant(0.0))
        session.run(v1.global_variables_initializer())
        return found(lambda value: session.run(out, {flag: value}), lambda: session.run(w))


def in_function():
    """Gradients that towers apply in a branch of a function."""
    v1.enable_v2_behavior()
    strategy = v2.distribute.TPUStrategy(v2.distribute.cluster_resolver.TPUClusterResolver(tpu=""))
    with strategy.scope():
        w = v2.Variable(0.0)

    def step():
        total = v2.distribute.get_replica_context().all_reduce("sum", v2.constant(1.0))
        w.assign(total / strategy.num_replicas_in_sync + w)

    @v2.function
    def run(flag):
        if flag:
            strategy.run(step)
            result = v2.constant(1.0)
        else:
            result = v2.constant(0.0)
        return result

    return found(lambda flag: run(v2.constant(flag)), w.read_value)


def main():
    print(json.dumps({"sum": in_graph(False), "optimizer": in_graph(True), "function": in_function()}))


if __name__ == "__main__":
    main()
