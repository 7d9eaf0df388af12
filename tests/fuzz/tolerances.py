"""How far apart the routes of an operation may be, by operation type.

Programs that are fused and programs of one operation round at other places, numpy's elementary functions are not the
compiler's, and sums are added in another order. What is not listed is exact: moves, comparisons, extremes, selections,
rounding, all of integers and booleans.
"""

from __future__ import annotations

from collections.abc import Iterable

from tests.fuzz.difference import Tolerance

EACH: dict[float, str] = {
    # One rounding each; fused, a product is not rounded before it is added to.
    2: """Add AddN AccumulateNV2 Sub Mul RealDiv DivNoNan MulNoNan Xdivy Square Sqrt Rsqrt Reciprocal Softsign
        SquaredDifference BiasAdd FloorMod TruncateMod Cast Complex LinSpace ComplexAbs Cross Dropout
        ZeroFraction ClipRowsByNorm""",
    # Elementary functions: the compiler has polynomials of its own, the host the C library's.
    16: """Exp Expm1 Log Log1p Sin Cos Tan Asin Acos Atan Atan2 Sinh Cosh Tanh Asinh Acosh Atanh Sigmoid LogSigmoid Erf
        Erfc Erfinv Ndtri BesselI0e BesselI1e Pow Xlogy Xlog1py Softplus Elu Selu Swish Gelu Angle Softmax LogSoftmax
        SigmoidCrossEntropyWithLogits WeightedCrossEntropyWithLogits LogPoissonLoss""",
    # Series and continued fractions that go on until they have converged.
    200: "Lgamma Digamma Polygamma Zeta Igamma Igammac Betainc",
}
"""Units in the last place of each element, and the types that may be so far apart."""

LARGEST: dict[float, str] = {
    # Sums in another order, and differences of large terms.
    16: """Sum Mean Prod Cumsum Cumprod CumulativeLogsumexp MatMul BatchMatMul Einsum Add AddN AccumulateNV2 Sub Mul Sin
        Cos Tan SquaredDifference Lgamma Digamma Polygamma Gelu Log Log1p Softplus LogSigmoid LogSoftmax Softmax
        L2Loss L2Normalize Moments FusedBatchNorm FusedBatchNormV2 BatchNormalization Conv1D Conv2D Conv3D
        Conv2DBackpropInput Conv3DBackpropInputV2 DepthwiseConv2dNative AvgPool1D AvgPool AvgPool3D LRN Dilation2D
        SegmentSum SegmentMean SegmentProd SegmentSqrtN UnsortedSegmentSum UnsortedSegmentMean UnsortedSegmentProd
        UnsortedSegmentSqrtN SparseSoftmaxCrossEntropyWithLogits SoftmaxCrossEntropyWithLogits Bincount ScatterNd
        TensorScatterAdd TensorScatterSub Tensordot WeightedMoments DenseOfIndexedSlices ClipRowsByNorm""",
    # Decompositions and transforms: backward errors relative to the largest element.
    200: """Cholesky CholeskySolve MatrixDeterminant LogMatrixDeterminant MatrixExponential MatrixInverse MatrixSolve
        MatrixSolveLs MatrixTriangularSolve Qr SelfAdjointEigV2 Svd FFT IFFT FFT2D IFFT2D FFT3D IFFT3D RFFT IRFFT RFFT2D
        IRFFT2D RFFT3D IRFFT3D CosineTransform SpectralNorm""",
}
"""Units in the last place of the largest element, or of the largest input."""


def of_types(types: Iterable[str]) -> Tolerance:
    """The tolerance of a computation made of operations of these types."""
    types = set(types)

    def limit(table: dict[float, str]) -> float:
        return max((units for units, names in table.items() if types & set(names.split())), default=0.0)

    return Tolerance(limit(EACH), limit(LARGEST))
