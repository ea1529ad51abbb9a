"""Linear algebra of torch in operations that torch_xla writes down: triangular solves, Cholesky and QR are its own; LU is written out, column
by column. Imported only where torch is."""

from __future__ import annotations

import torch

_LARGEST = 64  # rows or columns of a matrix whose LU is written out: each is some twenty operations
_SQUARINGS = 16  # of exp: of matrices with a norm up to 2^17, far beyond what overflows


def _solve_triangular(a, b, *, upper, left=True, unitriangular=False):
    if not left:  # X A = B
        return _solve_triangular(a.mT, b.mT, upper=not upper, unitriangular=unitriangular).mT
    batch = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = (x.expand(*batch, *x.shape[-2:]) for x in (a, b))
    return torch.triangular_solve(b, a, upper=upper, unitriangular=unitriangular)[0]


def _first(wrong):
    """The number, from 1, of the first true element in each row; 0 where there is none."""
    count = wrong.shape[-1]
    if count == 0:
        return torch.zeros(wrong.shape[:-1], dtype=torch.int32, device=wrong.device)
    numbers = torch.arange(1, count + 1, dtype=torch.int32, device=wrong.device)
    first = torch.where(wrong, numbers, count + 1).amin(-1)
    return torch.where(first > count, 0, first).to(torch.int32)


def _cholesky_ex(a, *, upper=False, check_errors=False):
    made = torch.cholesky(a, upper)
    return made, _first(made.diagonal(dim1=-2, dim2=-1).isnan())


def _cholesky_solve(b, factor, upper=False):
    a, other = (factor.mH, factor) if upper else (factor, factor.mH)
    return _solve_triangular(other, _solve_triangular(a, b, upper=False), upper=True)


def _cholesky_inverse(factor, upper=False):
    one = torch.eye(factor.shape[-1], dtype=factor.dtype, device=factor.device)
    return _cholesky_solve(one.expand(factor.shape), factor, upper)


def _qr(a, mode="reduced"):
    q, r = torch.qr(a, some=mode != "complete")
    return (torch.empty(0, dtype=a.dtype, device=a.device) if mode == "r" else q), r


def _lu_factor_ex(a, *, pivot=True, check_errors=False):
    """Gauss' elimination. A column whose pivot is 0 stays as it is."""
    m, n = a.shape[-2:]
    if max(m, n) > _LARGEST:
        return NotImplemented
    rows = torch.arange(m, dtype=torch.int32, device=a.device)
    columns = torch.arange(n, dtype=torch.int32, device=a.device)
    pivots = []
    for j in range(min(m, n)):
        place = torch.full((*a.shape[:-2], 1), j, dtype=torch.int32, device=a.device)
        if pivot:
            place = torch.where(rows >= j, a[..., j].abs(), -1.0).argmax(-1, keepdim=True).to(torch.int32)
            here = (rows == place)[..., None]
            chosen = torch.where(here, a, 0).sum(-2, keepdim=True)
            a = torch.where((rows == j)[:, None], chosen, torch.where(here, a[..., j : j + 1, :], a))
        pivots.append(place + 1)
        top = a[..., j : j + 1, j : j + 1]
        column = a[..., j : j + 1]
        ratio = torch.where(top == 0, column, column / top)
        below, right = (rows > j)[:, None], columns > j
        reduced = a - ratio * a[..., j : j + 1, :]
        a = torch.where(below & right, reduced, torch.where(below & (columns == j), ratio, a))
    if pivots:
        pivots = torch.cat(pivots, -1)
    else:
        pivots = torch.zeros((*a.shape[:-2], 0), dtype=torch.int32, device=a.device)
    return a, pivots, _first(a.diagonal(dim1=-2, dim2=-1) == 0)


def _order(pivots, m):
    """Which row of A is each row of L U."""
    rows = torch.arange(m, dtype=torch.int32, device=pivots.device)
    order = rows.expand(*pivots.shape[:-1], m)
    for j in range(pivots.shape[-1]):
        here = rows == pivots[..., j : j + 1] - 1
        chosen = torch.where(here, order, 0).sum(-1, keepdim=True).to(torch.int32)
        order = torch.where(rows == j, chosen, torch.where(here, order[..., j : j + 1], order))
    return order


def _permutation(pivots, m, dtype):
    rows = torch.arange(m, dtype=torch.int32, device=pivots.device)
    return (_order(pivots, m)[..., None, :] == rows[:, None]).to(dtype)


def _lu_unpack(lu, pivots, unpack_data=True, unpack_pivots=True):
    nothing = torch.empty(0, dtype=lu.dtype, device=lu.device)
    m, n = lu.shape[-2:]
    k = min(m, n)
    lower, upper = nothing, nothing
    if unpack_data:
        one = torch.eye(m, k, dtype=lu.dtype, device=lu.device)
        lower, upper = lu[..., :k].tril(-1) + one, lu[..., :k, :].triu()
    return (_permutation(pivots, m, lu.dtype) if unpack_pivots else nothing), lower, upper


def _lu(a, *, pivot=True):
    made = _lu_factor_ex(a, pivot=pivot)
    if made is NotImplemented:
        return made
    p, lower, upper = _lu_unpack(made[0], made[1], unpack_pivots=pivot)
    return p, lower, upper


def _lu_solve(lu, pivots, b, *, left=True, adjoint=False):
    if not left:  # X A = B
        return _lu_solve(lu, pivots, b.mH, adjoint=not adjoint).mH
    p = _permutation(pivots, lu.shape[-1], lu.dtype)
    if adjoint:
        inner = _solve_triangular(lu.mH, b, upper=False)
        return p @ _solve_triangular(lu.mH, inner, upper=True, unitriangular=True)
    inner = _solve_triangular(lu, p.mT @ b, upper=False, unitriangular=True)
    return _solve_triangular(lu, inner, upper=True)


def _factors(a):
    """As torch's gradients expect them: those of the transpose, if the matrix is contiguous and real; then also whether they are."""
    turned = a.is_contiguous() and not a.is_complex()
    return *torch.linalg.lu_factor_ex(a.mT if turned else a), turned


def _solve_ex(a, b, *, left=True, check_errors=False):
    lu, pivots, info, turned = _factors(a)
    vector = b.ndim == 1 or (b.ndim == a.ndim - 1 and b.shape == a.shape[:-1])
    right = b[..., None] if vector else b
    found = torch.linalg.lu_solve(lu, pivots, right, left=left or vector, adjoint=turned)
    return (found[..., 0] if vector else found), lu, pivots, info


def _odd(pivots):
    """-1 where an odd number of rows was exchanged, else 1."""
    numbers = torch.arange(1, pivots.shape[-1] + 1, dtype=torch.int32, device=pivots.device)
    return 1 - 2 * ((pivots != numbers).sum(-1) % 2)


def _det(a):
    lu, pivots, *_ = _factors(a)
    return lu.diagonal(dim1=-2, dim2=-1).prod(-1) * _odd(pivots).to(a.dtype), lu, pivots


def _slogdet(a):
    lu, pivots, *_ = _factors(a)
    ends = lu.diagonal(dim1=-2, dim2=-1)
    return ends.sgn().prod(-1) * _odd(pivots).to(a.dtype), ends.abs().log().sum(-1), lu, pivots


def _inverse_ex(a, *, check_errors=False):
    one = torch.eye(a.shape[-1], dtype=a.dtype, device=a.device).expand(a.shape)
    found, _, _, info = _solve_ex(a, one)
    return found, info


def _matrix_exp(a):
    """Taylor's series of the matrix, halved until its norm is below 3, and squared as often."""
    if a.shape[-1] == 0:
        return a.clone()
    norm = a.abs().sum(-2).amax(-1)[..., None, None]
    times = torch.clamp(torch.ceil(torch.log2(norm / 3)), 0, _SQUARINGS)
    small = a * torch.exp2(-times)
    one = torch.eye(a.shape[-1], dtype=a.dtype, device=a.device).expand(a.shape)
    made = one
    for k in range(18, 0, -1):
        made = one + small @ made / k
    for k in range(_SQUARINGS):
        made = torch.where(times > k, made @ made, made)
    return made


def _householder_product(a, tau):
    """The first columns of H_1 H_2 ...; the reflectors are below the diagonal of a."""
    m, n = a.shape[-2:]
    vectors = a.tril(-1) + torch.eye(m, n, dtype=a.dtype, device=a.device)
    made = torch.eye(m, n, dtype=a.dtype, device=a.device).expand(a.shape)
    for k in reversed(range(tau.shape[-1])):
        v = vectors[..., k : k + 1]
        made = made - tau[..., k, None, None] * (v @ (v.mH @ made))
    return made


# While torch traces a graph: what is written depends on strides, which tensors of torch_xla do not have.
TRACED = {
    torch.ops.aten._linalg_solve_ex.default: _solve_ex,
    torch.ops.aten._linalg_det.default: _det,
    torch.ops.aten._linalg_slogdet.default: _slogdet,
    torch.ops.aten.linalg_inv_ex.default: _inverse_ex,
}
OWN = {
    "aten::linalg_solve_triangular": _solve_triangular,
    "aten::linalg_cholesky_ex": _cholesky_ex,
    "aten::cholesky_solve": _cholesky_solve,
    "aten::cholesky_inverse": _cholesky_inverse,
    "aten::linalg_qr": _qr,
    "aten::linalg_lu_factor_ex": _lu_factor_ex,
    "aten::linalg_lu": _lu,
    "aten::lu_unpack": _lu_unpack,
    "aten::linalg_lu_solve": _lu_solve,
    "aten::_linalg_solve_ex": _solve_ex,
    "aten::_linalg_det": _det,
    "aten::linalg_matrix_exp": _matrix_exp,
    "aten::linalg_householder_product": _householder_product,
}
