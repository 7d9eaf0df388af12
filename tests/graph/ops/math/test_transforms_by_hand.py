"""Fourier transforms over two and three dimensions against numpy's, and their gradients.

The transforms are linear, so that the gradient of a weighted sum of the result is made of that sum for each unit
vector; of complex numbers it is the derivative by the real part and, times i, that by the imaginary part.
"""

import numpy as np
import pytest

import towerstrat.compat.v1 as tf

REAL = np.random.RandomState(0).randn(2, 3, 4)
COMPLEX = REAL + 1j * np.random.RandomState(1).randn(2, 3, 4)
TRANSFORMS = {
    "fft": (tf.fft2d, tf.fft3d, np.fft.fftn, COMPLEX),
    "ifft": (tf.ifft2d, tf.ifft3d, np.fft.ifftn, COMPLEX),
    "rfft": (tf.spectral.rfft2d, tf.spectral.rfft3d, np.fft.rfftn, REAL),
    "irfft": (tf.spectral.irfft2d, tf.spectral.irfft3d, np.fft.irfftn, COMPLEX[..., :3]),
}
"""By name: over two dimensions, over three, numpy's, and what is transformed."""


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_values_and_gradients(name, count):
    *ours, twin, x = TRANSFORMS[name]
    x = x.astype(np.complex64 if x.dtype.kind == "c" else np.float32)
    axes = tuple(range(3 - count, 3))
    wanted = twin(x, axes=axes)
    weights = np.random.RandomState(2).randn(*wanted.shape)

    def total(vector):
        value = twin(vector, axes=axes)
        return np.sum(value.real * weights) + 2.0 * np.sum(value.imag * weights)

    units = np.eye(x.size).reshape(x.size, *x.shape)
    slopes = np.array([total(u) + (1j * total(1j * u) if x.dtype.kind == "c" else 0) for u in units]).reshape(x.shape)
    with tf.Graph().as_default(), tf.Session() as session:
        given = tf.placeholder(x.dtype, x.shape)
        y = ours[count - 2](given)
        parts = [tf.real(y), 2.0 * tf.imag(y)] if y.dtype.is_complex else [y]
        loss = sum(tf.reduce_sum(part * weights.astype(np.float32)) for part in parts)
        found, slope = session.run([y, tf.gradients(loss, given)[0]], {given: x})
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(slope, slopes, rtol=1e-4, atol=1e-4)
