"""The OpenBLAS inside NumPy's wheel, called directly, with the core type that is fastest on this machine.

OpenBLAS picks kernels by CPU model, and an older one may pick slow kernels on a newer CPU; so every candidate is tried, each in a
process of its own (OPENBLAS_CORETYPE is read when the library is loaded).
"""

import ctypes
import glob
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

CANDIDATES = [
    "",
    "Haswell",
    "Zen",
    "SkylakeX",
    "Cooperlake",
    "SapphireRapids",
    "ARMV8",
    "NEOVERSEN1",
    "NEOVERSEV1",
    "NEOVERSEN2",
]
M, N, K = 128, 512, 128
BASELINE = Path(__file__).resolve().parents[1] / "build" / "lib" / "libgliabaseline.so"


class Sgemm:
    """c = a b, M x N x K, any number of times in a loop in C."""

    def __init__(self):
        folder = Path(np.__file__).parent.with_name("numpy.libs")
        self.path = sorted(glob.glob(str(folder / "*openblas*")))[0]
        blas = ctypes.CDLL(self.path)
        self.function = next(
            getattr(blas, n) for n in ("scipy_cblas_sgemm64_", "cblas_sgemm64_", "cblas_sgemm") if hasattr(blas, n)
        )
        corename = next(
            getattr(blas, n)
            for n in ("scipy_openblas_get_corename64_", "openblas_get_corename64_", "openblas_get_corename")
            if hasattr(blas, n)
        )
        corename.restype = ctypes.c_char_p
        self.core = corename().decode()
        self.loop = ctypes.CDLL(str(BASELINE)).baseline_sgemm64
        self.loop.argtypes = [ctypes.c_void_p] * 4 + [ctypes.c_int64] * 4
        rng = np.random.default_rng(0)
        self.a, self.b = rng.standard_normal((M, K), np.float32), rng.standard_normal((K, N), np.float32)
        self.c = np.zeros((M, N), np.float32)

    def __call__(self, times: int) -> float:
        """Seconds."""
        start = time.thread_time()
        f = ctypes.cast(self.function, ctypes.c_void_p)
        self.loop(f, self.a.ctypes.data, self.b.ctypes.data, self.c.ctypes.data, M, N, K, times)
        return time.thread_time() - start


def fastest_core() -> tuple[str, dict[str, float]]:
    """The value for OPENBLAS_CORETYPE, and the GFLOP/s of each core type that this machine can run."""
    speeds, request = {}, {}
    for candidate in CANDIDATES:
        env = {k: v for k, v in os.environ.items() if k != "OPENBLAS_CORETYPE"} | {"OPENBLAS_NUM_THREADS": "1"}
        if candidate:
            env["OPENBLAS_CORETYPE"] = candidate
        run = subprocess.run([sys.executable, __file__], env=env, capture_output=True, text=True)
        if run.returncode == 0:
            core, speed = json.loads(run.stdout)
            if speed > speeds.get(core, 0):
                speeds[core], request[core] = speed, candidate
    best = max(speeds, key=speeds.get)
    return request[best], speeds


if __name__ == "__main__":
    sgemm = Sgemm()
    sgemm(20)
    best = min(sgemm(50) for _ in range(7)) / 50
    assert np.allclose(sgemm.c, sgemm.a @ sgemm.b, atol=1e-3)
    print(json.dumps([sgemm.core, 2 * M * N * K / best / 1e9]))
