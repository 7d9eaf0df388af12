"""The step loop as the real TPU compiler sees it, for chips that are described and not there.

Flops, bytes and collectives are exact figures of the compiled program; the hand-written twins are in ``benchmarks/``.
"""

import importlib.util

import pytest

from benchmarks.tpu_compile import collectives, elsewhere
from benchmarks.tpu_paper import held, seconds, sent
from tests.spread import spread

pytestmark = pytest.mark.skipif(importlib.util.find_spec("libtpu") is None, reason="needs jax[tpu]")


@spread("model", ["mlp", "convnet", "transformer", "stack"], every=4)
def test_the_loop_is_what_one_would_write_by_hand(model):
    found = elsewhere("tpu_compile", "--models", model)[model]
    ours, twin = found["ours"], found["twin"]
    assert twin["collectives"], "the twin sums its gradients over four chips"
    assert [c[:2] for c in ours["collectives"]] == [c[:2] for c in twin["collectives"]]
    # Whether a check has failed is a float that travels with the gradients.
    assert all(
        mine - theirs in (0, 4)
        for (*_, mine), (*_, theirs) in zip(ours["collectives"], twin["collectives"], strict=True)
    )
    assert ours["flops"] <= 1.02 * twin["flops"]
    assert ours["bytes"] <= 1.02 * twin["bytes"]


@spread(
    ("kind", "chips"),
    [
        ("fed", 1), ("while_loop", 4), ("int64", 1), ("nested", 4), ("cond", 1), ("map_fn", 4), ("scan", 1),
        ("TensorArray", 1), ("fed_TensorArray", 4), ("dynamic_rnn", 4), ("lstm", 1), ("seq2seq", 4),
        ("recompute_grad", 1),
    ],
    every=16,
)  # fmt: skip
def test_a_loop_in_a_step_is_what_one_would_write_by_hand(kind, chips):
    (found,) = elsewhere("tpu_loops", "--kinds", kind, "--lengths", "65", "--chips", str(chips)).values()
    ours, twin = found["ours"], found["twin"]
    assert ours["flops"] <= 1.02 * twin["flops"]
    assert ours["bytes"] <= 1.05 * twin["bytes"]
    # A megabyte is what the compiler keeps besides stacks, of which one alone has 34.
    assert ours["temporaries"] <= 1.1 * twin["temporaries"] + 1e6


@pytest.mark.long
def test_rows_of_a_large_vocabulary_cost_no_more_than_a_dense_gradient():
    found = elsewhere("tpu_compile", "--models", "untied")["untied"]
    ours, twin = found["ours"], found["twin"]
    assert ours["flops"] <= 1.02 * twin["flops"]
    # 1.018, and 1.020 with the checks of ids and labels, which the twin does not make.
    assert ours["bytes"] <= 1.023 * twin["bytes"]
    assert sum(size for *_, size in ours["collectives"]) <= sum(size for *_, size in twin["collectives"])


def test_each_collective_counts_once():
    chain = 'replica_groups={{0,1}}, frontend_attributes={chain_id="0"}, metadata={op_name="jit(f)/all_gather"}'
    text = f"""
      %a = s32[4,8]{{1,0}} all-gather(%param_0.1), channel_id=1, {chain}
      %b = s32[4,8]{{1,0}} all-gather(%param_0.2), channel_id=1, {chain}
      %c = f32[4,8]{{1,0}} all-gather(%x), channel_id=2, {chain}
      %d = (f32[2,8]{{1,0}}, f32[4,8]{{1,0}}) all-gather-start(%z), channel_id=3, dimensions={{0}}
      %e = f32[4,8]{{1,0}} all-gather-done(%d), channel_id=3
      %f = (f32[3]{{0}}, s32[]) all-reduce-start(%v, %w), channel_id=1, to_apply=%add
      %g = (f32[3]{{0}}, s32[]) all-reduce-done(%f)
      %h = (f32[6,2]{{1,0:T(8,128)}}, /*index=1*/f32[]) all-reduce(%p, %q), channel_id=1, to_apply=%add
      %i = f32[7]{{0}} all-reduce(%r), channel_id=1, to_apply=%add
      %j = f32[7]{{0}} all-reduce(%s), to_apply=%add
      ROOT %k = (bf16[5]{{0}}, bf16[5]{{0}}, u32[], u32[]) collective-permute-start(%u), channel_id=4
    """
    assert collectives(text) == [
        ("all-gather", "f32", 128),
        ("all-gather", "f32", 128),
        ("all-gather", "s32", 128),
        ("all-reduce", "f32", 12),
        ("all-reduce", "f32", 28),
        ("all-reduce", "f32", 28),
        ("all-reduce", "f32", 52),
        ("all-reduce", "s32", 4),
        ("collective-permute", "bf16", 10),
    ]


@pytest.mark.long
def test_the_program_does_not_grow_with_the_number_of_towers():
    few, many = elsewhere("tpu_compile", "--models", "mlp", "--scaling")["mlp"].values()
    assert many["lines"] == few["lines"] > 100


@pytest.mark.long
def test_each_logical_device_holds_and_computes_its_part_of_a_product():
    found = elsewhere("tpu_logical")
    matrix, batches = 4 * 1024 * 2048, 4 * 10 * 256 * 1024
    whole = found["2x1"]["ours"]
    for layout, logical in (("2x1", 1), ("1x2", 2), ("2x2", 2), ("1x4", 4)):
        ours, twin = found[layout]["ours"], found[layout]["twin"]
        assert ours["arguments"] == twin["arguments"] == batches + matrix // logical
        assert ours["flops"] == pytest.approx(whole["flops"] / logical, rel=0.01)
        assert ours["flops"] <= 1.02 * twin["flops"]
        assert ours["bytes"] <= 1.02 * twin["bytes"]
        gradients = [size for _, _, size in ours["collectives"] if size > 64]
        assert sum(gradients) <= (matrix // logical + 64 if layout[0] == "2" else 0), "only its own part's gradient"


@pytest.mark.long
@pytest.mark.parametrize("model", ["mlp", "convnet"])
def test_a_loop_of_a_function_is_the_step_loop(model):
    found = elsewhere("tpu_distribute", "--models", model)[model]
    towers = found["towers"]
    assert towers["collectives"]
    for method in ("experimental_run_v2", "run"):
        assert found[method]["collectives"] == towers["collectives"]
        assert found[method]["flops"] == pytest.approx(towers["flops"], rel=1e-3)
        assert found[method]["bytes"] == pytest.approx(towers["bytes"], rel=1e-3)


def test_a_step_of_an_uneven_batch_costs_a_tower_no_more_than_a_full_one():
    found = elsewhere("tpu_uneven")
    assert found["uneven"]["collectives"] == found["even"]["collectives"]
    assert found["uneven"]["flops"] <= 1.02 * found["even"]["flops"]


@pytest.mark.long
def test_a_repeated_step_of_shards_is_what_one_would_write_by_hand():
    found = elsewhere("tpu_shards")
    ours, twin = found["ours"], found["twin"]
    assert twin["collectives"]
    losses = ["all-reduce", "f32", 16]  # those of the four shards leave as one value
    assert sorted(ours["collectives"]) == sorted([*twin["collectives"], losses])
    assert ours["flops"] <= 1.02 * twin["flops"]
    assert ours["bytes"] <= 1.02 * twin["bytes"]


@spread(
    ("model", "chips"),
    [("mlp", 4096), ("mlp", 8), ("convnet", 8), ("convnet", 4096), ("bert", 8), ("bert", 4096)],
    every=6,
)
def test_chips_of_any_number_say_to_each_other_what_the_twins_say(model, chips):
    found = elsewhere("tpu_scaling", "--models", model, "--chips", str(chips), "--tables", "weak", seconds=3600)
    ours, twin = (found["weak"][model][str(chips)][side] for side in ("ours", "twin"))
    assert twin["sent"] > 2 * 1e6, "a megabyte of gradients, there and back"
    assert [c[:2] for c in ours["collectives"]] == [c[:2] for c in twin["collectives"]]
    # Whether a check has failed is a float that travels with the gradients.
    assert sum(size for *_, size in ours["collectives"]) - sum(size for *_, size in twin["collectives"]) in (0, 4)
    assert sum(ours["algorithms"].values()) == len(ours["collectives"])
    assert ours["held"] <= 1.02 * twin["held"]
    assert ours["flops"] <= 1.02 * twin["flops"]


@pytest.mark.long
def test_a_fixed_batch_a_chip_makes_the_same_program_for_any_number_of_chips():
    found = elsewhere("tpu_scaling", "--models", "mlp", "--chips", "8,512", "--tables", "weak")["weak"]["mlp"]
    few, many = (found[chips]["ours"] for chips in ("8", "512"))
    for figure in ("flops", "bytes", "lines", "collectives"):
        assert few[figure] == many[figure]
    assert few["sent"] < many["sent"] < 8 / 7 * few["sent"]
    del few["memory"]["code"], many["memory"]["code"]
    assert few["memory"] == many["memory"]


@pytest.mark.parametrize(
    ("kind", "bytes_sent"),
    [
        ("all-reduce", 1750), ("all-gather", 875), ("all-to-all", 875), ("reduce-scatter", 7000),
        ("collective-permute", 1000),
    ],
)  # fmt: skip
def test_bytes_over_the_links_are_those_of_a_ring(kind, bytes_sent):
    assert sent(kind, 1000, 8) == bytes_sent


def test_a_step_on_paper_by_hand():
    memory = {"arguments": 3000, "outputs": 1100, "aliased": 1000, "temporaries": 70, "code": 8}
    assert held(memory) == 3000 + 100 + 70 + 8
    figures = {"flops": 459e6, "bytes": 2765e3, "memory": memory, "collectives": [("all-reduce", "f32", 4_800_000)] * 2}
    found = {chips: seconds(figures, chips, steps=10) for chips in (8, 64)}
    for row in found.values():
        assert row["flops"] == row["memory"] == 1e-6
        assert row["state"] == pytest.approx((2 * 1000 + 200) / 2765e9)
    # Two times 2 * 7/8 * 4.8 MB over three links of 100 GB/s, 2 * 63/64 over six; three axes, there and back, twice.
    assert found[8]["links"] == pytest.approx(56e-6)
    assert found[64]["links"] == pytest.approx(31.5e-6)
    assert found[8]["hops"] == pytest.approx(12e-6)
    assert found[64]["hops"] == pytest.approx(24e-6)
