"""Programs on several devices at random, for test_random_sharded.py. Values are whole numbers, so that sums are the same in any order."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
from sharded_jax import report, same

MESHES = [(2,), (3,), (4,), (2, 2), (6,), (2, 3), (3, 2), (8,), (2, 4), (4, 2), (2, 2, 2)]
SIZES = (24, 24, 12, 6, 5)


def small(a):
    return jnp.clip(a, -9, 9)


class Program:
    """A function of arrays as a list of steps that are drawn once and done for any mesh of the same shape."""

    def __init__(self, seed):
        self.draw = draw = np.random.default_rng(seed)
        self.shape = MESHES[draw.integers(len(MESHES))]
        self.order = draw.permutation(8)[: int(np.prod(self.shape))]
        self.axes = tuple("xyz"[: len(self.shape)])
        self.length = dict(zip(self.axes, self.shape))
        self.has_bodies = draw.random() < 0.5
        self.args = [draw.integers(-4, 5, self.drawn_shape()).astype(np.float32) for _ in range(draw.integers(1, 4))]
        self.specs = [self.spec(a.shape) for a in self.args]
        self.steps = []
        shapes = [a.shape for a in self.args]
        for _ in range(draw.integers(2, 6)):
            shapes.append(self.add_step(shapes))
        self.out = self.spec(shapes[-1]) if draw.random() < 0.5 else None

    def pick(self, things):
        return things[int(self.draw.integers(len(things)))]

    def drawn_shape(self):
        return self.pick(SIZES), self.pick(SIZES)

    def spec(self, shape):
        """A sharding at random that divides the shape."""
        axes, out = list(self.draw.permutation(self.axes)), []
        for size in shape:
            own = []
            while axes and self.draw.random() < 0.6 and size % self.length[axes[-1]] == 0:
                size //= self.length[axes[-1]]
                own.append(str(axes.pop()))
            out.append(tuple(own) or None)
        return P(*out)

    def add_step(self, shapes):
        """Draws a step on earlier values; the shape of what it makes."""
        i = int(self.draw.integers(max(0, len(shapes) - 3), len(shapes)))
        kinds = [self.pointwise, self.product, self.reduction, self.turn, self.gather, self.scan, self.move, self.place]
        kind = self.pick(kinds + [self.body] * 8 if self.has_bodies else kinds)
        step = kind(shapes, i)
        self.steps.append((kind.__name__, i, step))
        given = [jax.ShapeDtypeStruct(s, np.float32) for s in shapes]
        return jax.eval_shape(lambda *v: step(list(v), None), *given).shape

    def run(self, mesh, *args):
        values = list(args)
        for _, _, step in self.steps:
            values.append(step(values, mesh))
        return values[len(args) :]

    # ---- steps: functions of the values so far and the mesh, or None where only the shape is wanted

    def pointwise(self, shapes, i):
        others = [j for j, s in enumerate(shapes) if s == shapes[i]]
        j = self.pick(others)
        f = self.pick(
            [
                lambda a, b: a + b,
                lambda a, b: a * b - 1,
                jnp.maximum,
                lambda a, b: jnp.where(a > b, a, -b),
                lambda a, b: abs(a) - b,
            ]
        )
        return lambda v, mesh: small(f(v[i], v[j]))

    def product(self, shapes, i):
        fits = [(j, k) for j, s in enumerate(shapes) for k in (0, 1) if len(s) == 2 and s[k] == shapes[i][1]]
        j, k = self.pick(fits) if fits else (i, 1)
        return lambda v, mesh: small(lax.dot_general(v[i], v[j], (((1,), (k,)), ((), ()))))

    def reduction(self, shapes, i):
        f, axis = self.pick([jnp.sum, jnp.max, jnp.min]), self.pick([0, 1, None])
        if self.draw.random() < 0.5:
            return lambda v, mesh: small(v[i] - f(v[i], axis, keepdims=True))
        return lambda v, mesh: small(jnp.atleast_2d(f(v[i], axis)))

    def turn(self, shapes, i):
        if self.draw.random() < 0.5:
            return lambda v, mesh: v[i].T + 1
        n = self.pick([d for d in (2, 3, 4, 5) if shapes[i][0] % d == 0] or [1])
        return lambda v, mesh: v[i].reshape(v[i].shape[0] // n, v[i].shape[1] * n) - 1

    def gather(self, shapes, i):
        rows = self.draw.integers(0, shapes[i][0], self.pick([4, 6, 24])).astype(np.int32)
        if self.draw.random() < 0.5:
            return lambda v, mesh: v[i][rows]
        return lambda v, mesh: small(v[i].at[rows].add(2))

    def scan(self, shapes, i):
        def f(v, mesh):
            start = jnp.zeros(v[i].shape[1], v[i].dtype)
            last, all_ = lax.scan(lambda c, row: (small(c + row), c - row), start, v[i])
            return small(all_ + last)

        return f

    def move(self, shapes, i):
        by = int(self.draw.integers(1, 5))
        return self.pick(
            [
                lambda v, mesh: jnp.roll(v[i], by, 0),
                lambda v, mesh: v[i][::-1],
                lambda v, mesh: jnp.concatenate([v[i], v[i] + 1], 1),
                lambda v, mesh: jnp.pad(v[i], ((1, by), (0, 0)))[1:],
                lambda v, mesh: v[i][: v[i].shape[0] // 2 + 1],
            ]
        )

    def place(self, shapes, i):
        spec = self.spec(shapes[i])
        return lambda v, mesh: (
            v[i] * 2 if mesh is None else lax.with_sharding_constraint(v[i] * 2, NamedSharding(mesh, spec))
        )

    def body(self, shapes, i):
        """A shard_map of a few exchanges; each device gives its part of the result."""
        spec = self.spec(shapes[i])
        devices = int(np.prod(self.shape))
        part = list(shapes[i])
        for d, names in enumerate(spec):
            part[d] //= int(np.prod([self.length[a] for a in names or ()]))
        exchanges = []
        for _ in range(self.draw.integers(1, 4)):
            f, part = self.exchange(part)
            exchanges.append(f)

        def run(a):
            for f in exchanges:
                a = small(f(a))
            return a

        fold = part[0] * devices > 48

        def step(v, mesh):
            mesh = mesh or jax.sharding.AbstractMesh(self.shape, self.axes)
            a = jax.shard_map(run, mesh=mesh, in_specs=spec, out_specs=P(self.axes), check_vma=False)(v[i])
            return small(a.reshape(devices, -1, a.shape[1]).sum(0)) if fold else a

        return step

    def exchange(self, part):
        """One exchange among the devices along some axes, and the shape of the part that it leaves."""
        axes = tuple(str(a) for a in self.draw.permutation(self.axes)[: self.draw.integers(1, len(self.axes) + 1)])
        n = int(np.prod([self.length[a] for a in axes]))
        d = int(self.draw.integers(2))
        grown = [s * n if k == d else s for k, s in enumerate(part)]
        cut = [s // n if k == d else s for k, s in enumerate(part)]
        kinds = ["psum", "pmax", "index", "permute"]
        kinds += ["gather"] if grown[d] <= 96 else []
        kinds += ["scatter", "exchange"] if part[d] % n == 0 else []
        kind = self.pick(kinds)
        if kind == "psum":
            return lambda a: lax.psum(a, axes), part
        if kind == "pmax":
            return lambda a: lax.pmax(a, axes) - a, part
        if kind == "index":
            return lambda a: a + lax.axis_index(axes), part
        if kind == "permute":
            pairs = [(int(s), int(t)) for s, t in zip(self.draw.permutation(n), self.draw.permutation(n))]
            pairs = pairs[: self.draw.integers(1, n + 1)]
            return lambda a: lax.ppermute(a, axes, pairs) + 1, part
        if kind == "gather":
            return lambda a: lax.all_gather(a, axes, axis=d, tiled=True), grown
        if kind == "scatter":
            return lambda a: lax.psum_scatter(a, axes, scatter_dimension=d, tiled=True), cut
        swapped = list(cut)
        swapped[1 - d] *= n
        return lambda a: lax.all_to_all(a, axes, d, 1 - d, tiled=True), swapped

    # ---- on devices

    def on(self, devices):
        mesh = Mesh(np.array([devices[i] for i in self.order]).reshape(self.shape), self.axes)
        place = lambda spec: NamedSharding(mesh, spec)  # noqa: E731
        out = None
        if self.out is not None:
            out = [None] * (len(self.steps) - 1) + [place(self.out)]
        args = [jax.device_put(a, place(s)) for a, s in zip(self.args, self.specs, strict=True)]
        return jax.jit(lambda *v: self.run(mesh, *v), out_shardings=out)(*args)

    def wanted(self, devices):
        """On one device where that can be, else on the CPU's mesh."""
        if any(name == "body" for name, _, _ in self.steps):
            return self.on(devices)
        return jax.jit(lambda *v: self.run(None, *v))(*self.args)


def main(path, first, count):
    ours, theirs = jax.devices("glia"), jax.devices("cpu")

    def compare(seed):
        program = Program(seed)
        with jax.default_device(theirs[0]):
            want = jax.tree.map(np.asarray, program.wanted(theirs))
        same(program.on(ours), want, f"mesh {program.shape}, {[name for name, _, _ in program.steps]}, value ")

    seeds = range(int(first), int(first) + int(count))
    report(path, [(seed, lambda seed=seed: compare(seed)) for seed in seeds])
