"""Gradient formulas of solvers and decompositions, in terms of their outputs, as in ``linalg_grad.py`` of TensorFlow.

Source: Giles, *An extended collection of matrix derivative results for forward and reverse mode algorithmic
differentiation*, Oxford 2008; Murray, *Differentiation of the Cholesky decomposition*, 2016.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

Formula = Callable[..., list[Any]]


def conjugate_transpose(x: Any) -> Any:
    """The conjugate transpose of the last two dimensions."""
    return jnp.conj(jnp.swapaxes(x, -1, -2))


def lower_part(x: Any, offset: int = 0) -> Any:
    """Matrices with zeros above a diagonal."""
    return jnp.where(np.tri(x.shape[-2], x.shape[-1], offset, dtype=np.bool_), x, jnp.zeros((), x.dtype))


def _conjugated(formula: Formula) -> Formula:
    """A formula on TensorFlow's cotangents, which are the conjugates of JAX's, as one on JAX's."""

    def pulled(inputs: Sequence[Any], outputs: Sequence[Any], cotangents: Sequence[Any], **attrs: Any) -> list[Any]:
        given = [jnp.zeros_like(y) if g is None else jnp.conj(g) for y, g in zip(outputs, cotangents, strict=True)]
        return [jnp.conj(g) for g in formula(inputs, outputs, given, **attrs)]

    return pulled


@_conjugated
def cholesky(inputs: Sequence[Any], outputs: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
    """The formula of a Cholesky factor."""
    (factor,), (g,) = outputs, cotangents
    size = factor.shape[-1]
    identity = jnp.broadcast_to(jnp.eye(size, dtype=factor.dtype), factor.shape)
    inverse = lax.linalg.triangular_solve(factor, identity, left_side=True, lower=True)
    middle = conjugate_transpose(factor) @ g
    half = np.asarray(0.5, factor.dtype)
    halved = lower_part(middle) * (1 - half * identity)
    found = conjugate_transpose(inverse) @ halved @ inverse
    return [(found + conjugate_transpose(found)) * half]


def determinant(kernel: Callable[..., Any]) -> Formula:
    """The formula of a determinant, ``kernel``: a fed one takes the place of that of the input, where this is not 0."""

    def pulled(inputs: Sequence[Any], outputs: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        found, pull = jax.vjp(kernel, *inputs)
        (given,), (g,) = outputs, cotangents
        factor = jnp.where(found == 0, jnp.ones_like(found), given * _reciprocal(found))
        return list(pull(g * factor))

    return pulled


def _reciprocal(x: Any) -> Any:
    """1 / x; 0 where x is."""
    nothing = x == 0
    return jnp.where(nothing, jnp.zeros_like(x), 1 / jnp.where(nothing, jnp.ones_like(x), x))


def _apart(values: Any) -> Any:
    """Matrices of ``1 / (values[j] - values[i])``; 0 where two are equal, where vectors are not determined."""
    found = _reciprocal(values[..., None, :] - values[..., :, None])
    return jnp.where(np.eye(values.shape[-1], dtype=np.bool_), jnp.zeros_like(found), found)  # compilers fuse products


def _diagonal(values: Any, like: Any) -> Any:
    """Diagonal matrices of an element type."""
    return jnp.where(np.eye(values.shape[-1], dtype=np.bool_), values[..., None], 0).astype(like.dtype)


@_conjugated
def eigen(inputs: Sequence[Any], outputs: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
    """The formula of the eigenvalues and -vectors of self-adjoint matrices, of which the lower half is looked at."""
    (e, v), (of_e, of_v) = outputs, cotangents
    middle = _diagonal(of_e, v) + _apart(e).astype(v.dtype) * (conjugate_transpose(v) @ of_v)
    found = v @ middle @ conjugate_transpose(v)
    half = np.asarray(0.5, e.dtype) * np.eye(e.shape[-1], dtype=e.dtype)
    return [lower_part(found + conjugate_transpose(found)) * (1 - half).astype(v.dtype)]


def singular(kernel: Callable[..., Any]) -> Formula:
    """The formula of s, u and v with ``u @ diag(s) @ v^T = a``, of ``kernel``. Of complex ones, and s alone, JAX's.

    Source: Townsend, *Differentiating the singular value decomposition*, 2016.
    """

    @_conjugated
    def of_factors(inputs: Sequence[Any], outputs: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        (s, *vectors), (of_s, *of_vectors) = outputs, cotangents
        tall = inputs[0].shape[-2] > inputs[0].shape[-1]
        (u, v), (of_u, of_v) = (vectors[::-1], of_vectors[::-1]) if tall else (vectors, of_vectors)
        least = s.shape[-1]
        first, of_first = v[..., :least], of_v[..., :least]
        apart = _apart(s * s)
        left, right = apart * (conjugate_transpose(u) @ of_u), apart * (conjugate_transpose(first) @ of_first)
        left, right = left + conjugate_transpose(left), right + conjugate_transpose(right)
        found = u @ (_diagonal(of_s, u) + left * s[..., None, :] + s[..., :, None] * right) @ conjugate_transpose(first)
        if u.shape[-2] != v.shape[-2]:
            turned = conjugate_transpose(of_first)
            rest = turned - turned @ first @ conjugate_transpose(first)
            rest -= conjugate_transpose(first) @ of_v[..., least:] @ conjugate_transpose(v[..., least:])
            found += (u * _reciprocal(s)[..., None, :]) @ rest
        return [jnp.swapaxes(found, -1, -2) if tall else found]

    def pulled(inputs: Sequence[Any], outputs: Sequence[Any], cotangents: Sequence[Any], **attrs: bool) -> list[Any]:
        rows, columns = inputs[0].shape[-2:]
        if attrs["full_matrices"] and attrs["compute_uv"] and abs(rows - columns) > 1:
            raise NotImplementedError(
                f"svd gradient is not implemented for abs(m - n) > 1 when full_matrices is True, got m = {rows} and "
                f"n = {columns}. Use full_matrices=False."
            )
        if attrs["compute_uv"] and not jnp.iscomplexobj(inputs[0]):
            return of_factors(inputs, outputs, cotangents)
        given = tuple(jnp.zeros_like(y) if g is None else g for y, g in zip(outputs, cotangents, strict=True))
        return list(jax.vjp(lambda x: kernel(x, **attrs), *inputs)[1](given))

    return pulled


def solution(solve: Callable[..., Any], triangular: bool) -> Formula:
    """The formula of x with ``a @ x = b``, where ``solve(a, b, adjoint=...)`` finds x.

    Args:
      triangular: ``solve`` looks at one half of a alone; the attribute ``lower`` says at which.
    """

    @_conjugated
    def pulled(inputs: Sequence[Any], outputs: Sequence[Any], cotangents: Sequence[Any], **attrs: Any) -> list[Any]:
        (x,), (g,) = outputs, cotangents
        turned = attrs["adjoint"]
        of_right = solve(inputs[0], g, **{**attrs, "adjoint": not turned})
        of_matrix = -(x @ conjugate_transpose(of_right) if turned else of_right @ conjugate_transpose(x))
        if triangular:
            part = lower_part(of_matrix)
            of_matrix = part if attrs["lower"] else of_matrix - lower_part(of_matrix, -1)
        return [of_matrix, of_right]

    return pulled


def factors(kernel: Callable[..., Any]) -> Formula:
    """The formula of q and r with ``q @ r = a``, of ``kernel``; for matrices of fewer rows than columns JAX's."""

    @_conjugated
    def tall(inputs: Sequence[Any], outputs: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
        (q, r), (of_q, of_r) = outputs, cotangents
        q_part, r_part = conjugate_transpose(q) @ of_q, r @ conjugate_transpose(of_r)
        below = lower_part(q_part - conjugate_transpose(q_part) + r_part - conjugate_transpose(r_part))

        def over(x: Any) -> Any:
            return conjugate_transpose(
                lax.linalg.triangular_solve(r, conjugate_transpose(x), left_side=True, lower=False)
            )

        return [q @ (of_r + over(below)) + over(of_q - q @ q_part)]

    def pulled(
        inputs: Sequence[Any], outputs: Sequence[Any], cotangents: Sequence[Any], *, full_matrices: bool
    ) -> list[Any]:
        rows, columns = inputs[0].shape[-2:]
        if rows == columns or (rows > columns and not full_matrices):
            return tall(inputs, outputs, cotangents)
        given = tuple(jnp.zeros_like(y) if g is None else g for y, g in zip(outputs, cotangents, strict=True))
        return list(jax.vjp(lambda x: kernel(x, full_matrices=full_matrices), *inputs)[1](given))

    return pulled
