"""Operation types have a gradient where the originals register one, and none where they register none."""

import json
import pathlib

import pytest

from towerstrat.compat.names import public_names
from towerstrat.graph.ir import op_registry

GOLDEN = json.loads((pathlib.Path(__file__).parents[2] / "golden" / "registered_gradients.json").read_text())
WITH = {type for version in GOLDEN.values() for type in version["function"]}
WITHOUT = {type for version in GOLDEN.values() for type in version["none"]} - WITH

ALWAYS_NONE = {
    "ArgMax", "ArgMin", "Ceil", "Floor", "FloorDiv", "PreventGradient", "Rint", "Round", "TruncateDiv",
}  # fmt: skip
"""Types whose functions of the originals return None, or raise."""
NO_NUMBERS_IN = {"Const", "MakeIterator", "NoOp", "Placeholder", "VarHandleOp"}
"""Types without an operand that a gradient could go to."""
HERE_ALONE = {"GuaranteeConst", "IRFFT3D", "MatrixExponential", "RFFT3D", "RandomCrop", "Snapshot"}
"""Types that have a gradient here, where the originals have none."""
OURS_WITHOUT = {
    "Accumulator", "AccumulatorStopTaking", "ArgSort", "AssignRestored", "AssignStringVariableOp", "AtMostOneTrue",
    "CandidateSampler", "ConstOfPositions", "Cotangent", "CountOver", "CountSparseOutput", "DatasetHandle",
    "DeduplicateRows", "DistributedIteratorGetNext", "EmbeddingPlaces", "InitializedStringValue",
    "InitializedValue", "IsNonDecreasing", "IsStrictlyIncreasing", "LookupBuckets", "MatrixPerm", "MeanOverWorkers",
    "NonMaxSuppressionPadded", "OpenIterator", "OrthogonalColumns", "OwnedIteratorGetNext",
    "OwnedIteratorGetOptional", "PlacedMatrix", "PositionIndex", "PyFuncByPosition", "PyFuncInPlace",
    "ReadStringVariableOp", "Reader", "ResourceApplyLazyAdam", "ResourceSparseApplyAdaMax",
    "ResourceSparseApplyAdam", "ResourceSparseApplyAdamWithAmsgrad", "ResourceSparseApplyAddSign",
    "ResourceSparseApplyGradientDescent", "ResourceSparseApplyLazyAdam", "SeedOfState",
    "SparseDistinct", "SparseOrder", "StepInput", "StepLoop", "StringResourceGather", "StringResourceScatterUpdate",
    "StringVarIsInitializedOp", "TrustRatio", "UninitializedNames", "WriteStringSummary", "ZeroFraction",
}  # fmt: skip
"""Types of this library alone that have no gradient: integers, truth values, effects, what is read on the host."""


def test_types_have_gradients_where_the_originals_do():
    public_names.names(2)  # types are registered with the names that use them
    types = set(op_registry.types())
    found = {type for type in types if op_registry.lookup(type).differentiable}
    assert types & WITH - found == ALWAYS_NONE & types
    assert found & WITHOUT == NO_NUMBERS_IN | HERE_ALONE
    assert types - WITH - WITHOUT - found == OURS_WITHOUT


@pytest.mark.parametrize(("version", "least"), [("1.12", 300), ("2.15", 400)])
def test_the_lists_of_the_originals_are_whole(version, least):
    assert len(GOLDEN[version]["function"]) > least
