"""Kernels as authors write them first: loads where the data are used, one tile after the other, a buffer that serves all tiles."""

import nki
import nki.isa as nisa
import nki.language as nl
import numpy as np

P, COLUMNS = 128, 512


def tile(columns, dtype=nl.float32, buffer=nl.sbuf):
    return nl.ndarray((P, columns), dtype=dtype, buffer=buffer)


@nki.jit
def product_then_norm(lhs_t, rhs):
    """rows / sqrt(mean of squares) of lhs_t.T @ rhs for lhs_t (K, M), rhs (K, N): every operand is loaded where it is used."""
    k, m = lhs_t.shape
    n = rhs.shape[1]
    out = nl.ndarray((m, n), dtype=lhs_t.dtype, buffer=nl.shared_hbm)
    for row in range(0, m, P):
        result, parts = tile(n), tile(n // COLUMNS)
        for number, column in enumerate(range(0, n, COLUMNS)):
            columns = slice(column, column + COLUMNS)
            total = tile(COLUMNS, buffer=nl.psum)
            for inner in range(0, k, P):
                left, right = tile(P, lhs_t.dtype), tile(COLUMNS, rhs.dtype)
                nisa.dma_copy(dst=left, src=lhs_t[inner : inner + P, row : row + P])
                nisa.dma_copy(dst=right, src=rhs[inner : inner + P, columns])
                nisa.nc_matmul(dst=total, stationary=left, moving=right, accumulate=inner > 0)
            nisa.tensor_copy(dst=result[:, columns], src=total)
            squares = tile(COLUMNS)
            nisa.activation_reduce(
                dst=squares,
                op=nl.square,
                data=result[:, columns],
                reduce_op=nl.add,
                reduce_res=parts[:, number : number + 1],
            )
        scale, normed = tile(1), tile(n, lhs_t.dtype)
        nisa.tensor_reduce(dst=scale, op=nl.add, data=parts, axis=1)
        nisa.tensor_scalar(dst=scale, data=scale, op0=nl.multiply, operand0=1 / n, op1=nl.add, operand1=1e-6)
        nisa.activation(dst=scale, op=nl.rsqrt, data=scale)
        nisa.tensor_scalar(dst=normed, data=result, op0=nl.multiply, operand0=scale)
        nisa.dma_copy(dst=out[row : row + P, :], src=normed)
    return out


def norm_reference(lhs_t, rhs):
    product = lhs_t.T.astype(np.float64) @ rhs.astype(np.float64)
    return product / np.sqrt((product**2).mean(axis=1, keepdims=True) + 1e-6)


@nki.jit
def one_buffer(x, y):
    """x * y + x for (rows, columns): the same three tiles for all rows."""
    rows, columns = x.shape
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    a, b, c = tile(columns), tile(columns), tile(columns)
    for row in range(0, rows, P):
        nisa.dma_copy(dst=a, src=x[row : row + P, :])
        nisa.dma_copy(dst=b, src=y[row : row + P, :])
        nisa.tensor_tensor(dst=c, data1=a, data2=b, op=nl.multiply)
        nisa.tensor_tensor(dst=c, data1=c, data2=a, op=nl.add)
        nisa.dma_copy(dst=out[row : row + P, :], src=c)
    return out


@nki.jit
def scaled_rows(x, weight):
    """x * weight for x (rows, columns), weight (1, columns), which is loaded for every tile."""
    rows, columns = x.shape
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for row in range(0, rows, P):
        t, w = tile(columns), tile(columns)
        nisa.dma_copy(dst=t, src=x[row : row + P, :])
        nisa.dma_copy(dst=w, src=weight.broadcast(0, P))
        nisa.tensor_tensor(dst=t, data1=t, data2=w, op=nl.multiply)
        nisa.dma_copy(dst=out[row : row + P, :], src=t)
    return out


@nki.jit
def counted_product(lhs_t, rhs):
    """lhs_t.T @ rhs for lhs_t (128, 128) and rhs (128, N), N counted by the device; the left side is loaded every time."""
    n = rhs.shape[1]
    out = nl.ndarray((P, n), dtype=rhs.dtype, buffer=nl.shared_hbm)
    for i in nl.dynamic_range(n // COLUMNS):
        left, right, result = tile(P), tile(COLUMNS), tile(COLUMNS)
        total = tile(COLUMNS, buffer=nl.psum)
        nisa.dma_copy(dst=left, src=lhs_t)
        nisa.dma_copy(dst=right, src=rhs[:, nl.ds(i * COLUMNS, COLUMNS)])
        nisa.nc_matmul(dst=total, stationary=left, moving=right, accumulate=False)
        nisa.tensor_copy(dst=result, src=total)
        nisa.dma_copy(dst=out[:, nl.ds(i * COLUMNS, COLUMNS)], src=result)
    return out
