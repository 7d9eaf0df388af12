"""Values whose shape differs by position, and the programs made of what is traced for each kind of position."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.extend.core import jaxprs_in_params
from jax.sharding import PartitionSpec

from tests.bounds import close
from tests.spread import spread
from towerstrat.graph.ir.mesh import Axis, vary
from towerstrat.graph.ir.uneven_shards import UnevenShards
from towerstrat.graph.lowering.class_switch import switch_by_class
from towerstrat.graph.lowering.shard_classes import ByClass, ShardClasses, mark_equal


def test_a_value_gives_back_its_parts():
    parts = [np.ones((2, 3)), np.zeros((0, 3)), np.full((1, 2), 7.0)]
    value = UnevenShards.of(parts)
    assert value.padded.shape == (3, 2, 3)
    for i, part in enumerate(parts):
        np.testing.assert_array_equal(value.part(i), part)
    assert UnevenShards.of([np.float32(1), np.float32(2)]).part(1) == 2


def test_parts_have_one_rank():
    with pytest.raises(ValueError, match="one rank"):
        UnevenShards.of([np.ones(2), np.ones((2, 2))])


def arranged(sizes, width=2):
    """An axis, values for its positions, and their kinds."""
    axis = Axis("tower", jax.devices()[: len(sizes)])
    random = np.random.default_rng(0)
    parts = [random.normal(size=(n, width)).astype(np.float32) for n in sizes]
    value = UnevenShards.of(parts)
    return axis, parts, value, ShardClasses(axis, [value])


def mapped(axis, kinds, function, outputs):
    """``function(weight, value by kind)`` over the positions, and its jaxpr."""

    def local(weight, padded):
        return switch_by_class(kinds, lambda given, uneven: function(given, uneven[0]), weight, [padded[0]])

    specs = [PartitionSpec("tower") if split else PartitionSpec() for split in outputs]
    return jax.jit(axis.map(local, (PartitionSpec(), PartitionSpec("tower")), specs))


def equations(jaxpr, name):
    """The equations of this name in a jaxpr and everything inside of it."""
    found = []
    for equation in jaxpr.eqns:
        found += [equation] if equation.primitive.name == name else []
        for inner in jaxprs_in_params(equation.params):
            found += equations(inner, name)
    return found


def test_positions_are_sorted_by_shape():
    _, _, _, kinds = arranged((3, 3, 1, 0, 3))
    assert kinds.table == (0, 0, 1, 2, 0)
    assert kinds.shapes == (((3, 2), (1, 2), (0, 2)),)
    assert kinds.by_position("abc") == ["a", "a", "b", "c", "a"]


def test_shapes_of_several_inputs_count_together():
    axis = Axis("tower", jax.devices()[:3])
    kinds = ShardClasses(axis, [UnevenShards(None, [(1,), (1,), (2,)]), UnevenShards(None, [(5,), (6,), (5,)])])
    assert kinds.table == (0, 1, 2)


def test_one_switch_computes_what_is_between_collectives():
    axis, parts, value, kinds = arranged((4, 4, 4, 4, 2, 0))

    def function(weight, x):
        losses = ByClass([jnp.sum(jnp.tanh(v * weight)) for v in x.values])
        grads = ByClass([jax.grad(lambda w, v=v: jnp.sum(jnp.tanh(v * w)))(vary(weight, axis)) for v in x.values])
        return [lax.psum(kinds.padded_value(losses), "tower"), lax.psum(kinds.padded_value(grads), "tower")]

    run = mapped(axis, kinds, function, [False, False])
    loss, grad = run(np.float32(0.5), value.padded)
    by_hand = jax.value_and_grad(lambda w: sum(jnp.sum(jnp.tanh(p * w)) for p in parts))(np.float32(0.5))
    terms = sum(part.size for part in parts)
    close([loss, grad], by_hand, terms, terms)
    (switch,) = equations(jax.make_jaxpr(run)(np.float32(0.5), value.padded).jaxpr, "cond")
    assert len(switch.params["branches"]) == 3


def test_what_a_later_switch_needs_is_computed_there_or_handed_on():
    axis, parts, value, kinds = arranged((3, 1, 0))

    def function(weight, x):
        kept = [jnp.sin(v * weight) for v in x.values]
        total = lax.psum(kinds.padded_value(ByClass([jnp.sum(k) for k in kept])), "tower")
        later = ByClass([jnp.cos(v) * total + k for v, k in zip(x.values, kept, strict=True)])
        return [total, kinds.padded_value(later)[None]]

    run = mapped(axis, kinds, function, [False, True])
    total, later = run(np.float32(2.0), value.padded)
    expected = sum(np.sin(2 * p).sum() for p in parts)
    terms = sum(part.size for part in parts)
    close(total, expected, terms, terms)
    for i, part in enumerate(parts):
        close(later[i, : len(part)], np.cos(part) * expected + np.sin(2 * part), terms + 4, terms)
        assert not later[i, len(part) :].any()
    first, second = equations(jax.make_jaxpr(run)(np.float32(2.0), value.padded).jaxpr, "cond")
    assert [len(equations(b.jaxpr, "sin")) for b in first.params["branches"]] == [1, 1, 1]
    assert not any(equations(b.jaxpr, "sin") or len(equations(b.jaxpr, "cos")) != 1 for b in second.params["branches"])


def test_what_one_kind_needs_is_computed_by_it_alone():
    axis, _, value, kinds = arranged((3, 1, 1))
    key = jax.random.key(0)

    def function(weight, x):
        noise = [jax.random.normal(key, v.shape) * weight for v in x.values]
        return [kinds.padded_value(ByClass([jnp.sum(n * v) for n, v in zip(noise, x.values, strict=True)]))[None]]

    run = mapped(axis, kinds, function, [True])
    (found,) = run(np.float32(1.0), value.padded)
    products = [np.asarray(jax.random.normal(key, value.shapes[i])) * value.part(i) for i in range(3)]
    close(found, [p.sum() for p in products], 2 * 3, max(np.abs(p).sum() for p in products))
    jaxpr = jax.make_jaxpr(run)(np.float32(1.0), value.padded).jaxpr
    (switch,) = equations(jaxpr, "cond")
    assert len(equations(jaxpr, "random_bits")) == 2
    assert [len(equations(b.jaxpr, "random_bits")) for b in switch.params["branches"]] == [1, 1]


def test_what_is_the_same_in_all_kinds_stays_equal_everywhere():
    axis, _, value, kinds = arranged((3, 1))

    def function(weight, x):
        moved = [weight + 1.0 for _ in x.values]
        branches = [lax.cond(weight > 0, lambda m=m: m, lambda m=m: -m) for m in moved]
        return [
            mark_equal(branches[0]),
            kinds.padded_value(ByClass([jnp.sum(v) * mark_equal(branches[0]) for v in x.values]))[None],
        ]

    moved, sums = mapped(axis, kinds, function, [False, True])(np.float32(1.0), value.padded)
    assert moved == 2.0
    close(sums, [2 * value.part(i).sum() for i in range(2)], 2 * 3, 2 * np.abs(value.padded).sum())


def test_positions_of_one_kind_need_no_switch():
    axis, parts, value, kinds = arranged((2, 2))
    run = mapped(axis, kinds, lambda w, x: [kinds.padded_value(ByClass([jnp.sum(x.at(0)) * w]))[None]], [True])
    close(run(np.float32(3.0), value.padded)[0], [3 * p.sum() for p in parts], 2 * 2, 3 * np.abs(value.padded).sum())
    assert not equations(jax.make_jaxpr(run)(np.float32(3.0), value.padded).jaxpr, "cond")


def test_each_position_works_for_its_own_shape_only():
    """A position with 64 rows does the work of 64, not of 64, 40 and 0 rows."""
    axis, _, value, kinds = arranged((64, 64, 64, 64, 64, 64, 40, 0), 32)
    weight = np.ones((32, 32), np.float32)

    def function(weight, x):
        return [lax.psum(kinds.padded_value(ByClass([jnp.sum((v @ weight) ** 2) for v in x.values])), "tower")]

    run = mapped(axis, kinds, function, [False])
    jaxpr = jax.make_jaxpr(run)(weight, value.padded).jaxpr
    (switch,) = equations(jaxpr, "cond")
    assert len(switch.params["branches"]) == 3
    assert len(equations(jaxpr, "dot_general")) == sum(
        len(equations(b.jaxpr, "dot_general")) for b in switch.params["branches"]
    )


ROUNDED = 3 * (4 * 2 + 3), 3**3 * 2.0 * 4 * 2
"""Three steps that add up four rows and three carries; a carry is trebled by each, and elements are below 2."""


def test_steps_of_a_scan_switch_each_by_itself():
    axis, parts, value, kinds = arranged((3, 1, 0))

    def local(weight, padded):
        def step(carry, factor):
            def function(given, uneven):
                carry, factor = given
                values = [jnp.sum(v * factor) + carry for v in uneven[0].values]
                return lax.psum(kinds.padded_value(ByClass(values)), "tower")

            return switch_by_class(kinds, function, (carry, factor), [padded[0]]), None

        return [lax.scan(step, weight, jnp.arange(3, dtype=jnp.float32))[0]]

    run = jax.jit(axis.map(local, (PartitionSpec(), PartitionSpec("tower")), [PartitionSpec()]))
    (found,) = run(np.float32(0.5), value.padded)
    expected = 0.5
    for factor in range(3):
        expected = sum(p.sum() * factor + expected for p in parts)
    close(found, expected, *ROUNDED)


def test_a_loop_over_what_all_kinds_do_is_run_by_all():
    axis, parts, value, kinds = arranged((3, 1, 0))

    def function(weight, x):
        def step(carry, factor):
            values = [jnp.sum(v * factor) + carry for v in x.values]
            return lax.psum(kinds.padded_value(ByClass(values)), "tower"), None

        return [lax.scan(step, weight, jnp.arange(3, dtype=jnp.float32))[0]]

    (found,) = mapped(axis, kinds, function, [False])(np.float32(0.5), value.padded)
    expected = 0.5
    for factor in range(3):
        expected = sum(p.sum() * factor + expected for p in parts)
    close(found, expected, *ROUNDED)


def random_function(seed, kinds, axis):
    """A function that computes, joins, sums over positions and goes on, in an order drawn by chance."""
    random = np.random.default_rng(seed)
    plan = [
        (random.choice(["kind", "kind", "kind", "common", "sum", "same"]), *random.integers(0, 1000, 2))
        for _ in range(25)
    ]

    def function(weight, x):
        common = [weight, jnp.ones((3, 2), jnp.float32)]
        split = [x, ByClass([jnp.sin(v) for v in x.values])]
        sums = []
        for what, i, j in plan:
            one, two, shared = split[i % len(split)], split[j % len(split)], common[j % len(common)]
            if what == "kind":
                split.append(
                    ByClass([a * jnp.sum(b) + jnp.sum(shared) for a, b in zip(one.values, two.values, strict=True)])
                )
            elif what == "common":
                common.append(jnp.tanh(shared * (1 + i % 3)))
            elif what == "sum":
                joined = kinds.padded_value(ByClass([jnp.tanh(jnp.sum(a, 0)) for a in one.values]))
                common.append(lax.psum(joined, "tower") * 0.1)
                sums.append(common[-1])
            else:
                counts = [shared + np.float32(len(plan)) * 0.01 for _ in x.values]
                common.append(mark_equal(counts[0]))
        sums.append(common[-1])
        return [*sums, kinds.padded_value(split[-1])[None]]

    outputs = [False] * (sum(what == "sum" for what, *_ in plan) + 1) + [True]
    return function, outputs


@spread("seed", range(4), every=4)
def test_switches_change_no_value(seed):
    axis, _, value, kinds = arranged((3, 3, 1, 0, 2))
    function, outputs = random_function(seed, kinds, axis)

    def plainly(weight, padded):
        return function(weight, ByClass([padded[0][: shape[0]] for shape in kinds.shapes[0]]))

    specs = [PartitionSpec("tower") if split else PartitionSpec() for split in outputs]
    plain = jax.jit(axis.map(plainly, (PartitionSpec(), PartitionSpec("tower")), specs))
    found = mapped(axis, kinds, function, outputs)(np.float32(0.7), value.padded)
    for a, b in zip(found, plain(np.float32(0.7), value.padded), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
