"""torch's own table of operations (op_db) through torch.compile on glia, compared with torch on the CPU.

    .venv-torch/bin/python test/external/torch_ops.py [--dtype float32,bfloat16] [--samples 3] [--gradient] [--part 2/8] [word of a name ...]

A word that begins with `=` is the whole name of an operation. Each sample passes, is refused with a code, is not captured (Dynamo makes no graph of it), is random (only
shapes and types are compared), or is wrong. Anything else, a process that dies or an answer that never comes, is a crash. The script
fails if anything is wrong or crashed. A worker does the work, so that a crash costs one operation. Places of equal elements may come in any order where
torch promises none. The table needs the package expecttest.
"""

import argparse
import collections
import contextlib
import json
import re
import selectors
import signal
import subprocess
import sys
import time
import warnings

# Roundings of the result's type that a result may be off, of its largest element: several operations, each rounded.
ROUNDINGS = 64
PATIENCE = 240  # seconds for one operation


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--dtype", default="float32,bfloat16")
    parser.add_argument("--samples", type=int, default=3)
    parser.add_argument("--gradient", action="store_true", help="compare gradients too, where the operation has them")
    parser.add_argument("--part", default="1/1", help="2/8: the second eighth of the operations")
    parser.add_argument("--verbose", action="store_true", help="what was refused, and why")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def operations(given):
    from torch.testing._internal.common_methods_invocations import op_db

    chosen = [
        o
        for o in sorted(op_db, key=lambda o: o.formatted_name)
        if not given.words
        or any(o.formatted_name == w[1:] if w.startswith("=") else w in o.formatted_name for w in given.words)
    ]
    part, parts = (int(x) for x in given.part.split("/"))
    return chosen[len(chosen) * (part - 1) // parts : len(chosen) * part // parts]


# --- the worker ---------------------------------------------------------------------------------------------------------------------


class TooLongError(Exception):
    pass


def refusal(error):
    """Why glia says no, or None."""
    found = re.search(r"error\[([A-Z0-9-]+)\]:?\s*([^\n]*)", str(error))
    return f"{found[1]}: {found[2]}" if found else None


def leaves(value):
    import torch
    from torch.utils._pytree import tree_leaves

    return [x for x in tree_leaves(value) if isinstance(x, torch.Tensor)]


def same_bits(a, b):
    import torch

    return len(a) == len(b) and all(
        x.shape == y.shape and x.dtype == y.dtype and torch.equal(x.nan_to_num(), y.nan_to_num())
        if x.dtype.is_floating_point
        else torch.equal(x, y)
        for x, y in zip(a, b)
    )


def real(x):
    """The parts of complex numbers."""
    import torch

    return torch.view_as_real(x.resolve_conj()) if x.is_complex() else x


def difference(got, want, values):
    """What is wrong with a result, or None."""
    import torch

    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype}{list(got.shape)} instead of {want.dtype}{list(want.shape)}"
    if not values or want.numel() == 0:
        return None
    got, want = real(got.detach()), real(want.detach())
    if not want.dtype.is_floating_point:
        off = int((got != want).sum())
        return f"{off} of {want.numel()} elements differ" if off else None
    step = torch.finfo(want.dtype).eps
    a, b = got.double(), want.double()
    special = ~torch.isfinite(b)
    odd = special & ~((a == b) | (a.isnan() & b.isnan())) | (~special & ~torch.isfinite(a))
    if odd.any():
        i = tuple(int(x) for x in odd.nonzero()[0])
        return f"{float(a[i])} instead of {float(b[i])} at {i}; {int(odd.sum())} such of {want.numel()}"
    a, b = a[~special], b[~special]
    if not b.numel():
        return None
    off = (a - b).abs()
    allowed = ROUNDINGS * step * torch.maximum(b.abs(), torch.full_like(b, min(float(b.abs().max()), 1.0)))
    if (off > allowed).any():
        i = int((off - allowed).argmax())
        return f"{float(a[i])} instead of {float(b[i])}; {int((off > allowed).sum())} such of {want.numel()}"
    return None


# Where the dimension stands among the arguments of what gives places of elements, of equal ones in any order.
UNSTABLE = {"sort": 0, "argsort": 0, "topk": 1, "kthvalue": 1}


def tied(operation, sample, got, want):
    """Whether two results are places of elements in an order without promise, which hold the same."""
    import torch

    if (
        operation.name not in UNSTABLE
        or want.dtype != torch.int64
        or got.shape != want.shape
        or got.dtype != want.dtype
    ):
        return False
    at, args = UNSTABLE[operation.name], [a for a in sample.args if not isinstance(a, torch.Tensor)]
    if sample.kwargs.get("stable"):
        return False
    dim = sample.kwargs.get("dim", args[at] if len(args) > at else -1)
    x = torch.atleast_1d(sample.input.detach())
    got, want = torch.atleast_1d(got), torch.atleast_1d(want)
    if got.dim() < x.dim():
        got, want = got.unsqueeze(dim), want.unsqueeze(dim)
    if ((got < 0) | (got >= x.shape[dim])).any():
        return False
    ordered = got.sort(dim).values
    twice = (ordered.narrow(dim, 1, got.shape[dim] - 1) == ordered.narrow(dim, 0, got.shape[dim] - 1)).any()
    a, b = x.gather(dim, got), x.gather(dim, want)
    return not twice and bool(((a == b) | (a.isnan() & b.isnan())).all())


def nearly(got, want, place, in_double):
    """Whether a result is no farther than a few times torch's own from that in double, where rounding makes a lot of little; or right where torch's own
    is none, as its exponentials of matrices of bf16."""
    import torch

    if not (want.is_floating_point() or want.is_complex()) or got.shape != want.shape or got.dtype != want.dtype:
        return False
    try:
        exact = real(in_double()[place])
    except Exception:
        return False
    got, want = real(got), real(want)
    if exact.shape != want.shape or not all(torch.isfinite(x).all() for x in (got, exact)):
        return False
    if not torch.isfinite(want).all():
        return difference(got, exact.to(got.dtype), True) is None
    own = (want.double() - exact.double()).abs().max()
    return bool((got.double() - exact.double()).abs().max() <= 8 * own)


def gradients(results, inputs):
    import torch

    ends = [x for x in results if x.requires_grad and x.dtype.is_floating_point]
    if not ends:
        return []
    wanted = [x for x in inputs if x.requires_grad]
    total = sum((x.float() * torch.linspace(0.5, 1.5, x.numel()).reshape(x.shape)).sum() for x in ends)
    return [x for x in torch.autograd.grad(total, wanted, allow_unused=True) if x is not None]


@contextlib.contextmanager
def watched():
    """A list, of the graphs that glia was asked to compile."""
    from glia import dynamo

    compiled, reached = dynamo._compiled, []

    def compile_and_note(graph, *rest):
        reached.append(graph)
        return compiled(graph, *rest)

    dynamo._compiled = compile_and_note
    try:
        yield reached
    finally:
        dynamo._compiled = compiled


def check(operation, sample, gradient):
    """(kind, text) of one sample."""
    import torch
    from glia import dynamo
    from torch.utils._pytree import tree_map

    def copies(wide):
        def copy(x):
            if not isinstance(x, torch.Tensor):
                return x
            made = x.detach().clone()
            return (made.double() if wide and made.dtype.is_floating_point else made).requires_grad_(x.requires_grad)

        return tree_map(copy, (sample.input, sample.args, sample.kwargs))

    def evaluate(function, seed=0, wide=False):
        inputs = copies(wide)
        torch.manual_seed(seed)
        results = leaves(function(inputs[0], *inputs[1], **inputs[2]))
        # Also the inputs: some operations write to them.
        return results + (gradients(results, leaves(inputs)) if gradient else []) + leaves(inputs)

    def call(input, *args, **kwargs):
        return operation(input, *args, **kwargs)

    try:
        want = evaluate(call)
        values = same_bits(want, evaluate(call, 1)) and "empty" not in operation.name
    except TooLongError:
        raise
    except Exception as e:
        return "skipped", f"torch itself: {e}"
    torch._dynamo.reset()
    try:
        with watched() as reached:
            got = evaluate(torch.compile(call, backend=dynamo.backend, dynamic=False, fullgraph=True))
    except TooLongError:
        raise
    except Exception as e:
        why = refusal(e)
        if why:
            return "refused", why
        return ("wrong" if reached else "uncaptured"), f"{type(e).__name__}: {str(e).strip()[:600]}"
    if not reached:
        return "uncaptured", "no graph"
    if len(got) != len(want):
        return "wrong", f"{len(got)} tensors instead of {len(want)}"
    for i, (g, w) in enumerate(zip(got, want)):
        why = difference(g, w, values)
        if (
            why
            and values
            and not tied(operation, sample, g, w)
            and not nearly(g, w, i, lambda: evaluate(call, wide=True))
        ):
            return "wrong", f"result {i}: {why}"
    return ("passed" if values else "random"), ""


def worker(given):
    import itertools
    import logging

    import torch

    warnings.filterwarnings("ignore")
    logging.disable(logging.ERROR)

    def stop(*_):
        raise TooLongError

    signal.signal(signal.SIGALRM, stop)
    known = {o.formatted_name: o for o in operations(given)}
    for line in sys.stdin:
        name, kind = line.split()
        operation, dtype = known[name], getattr(torch, kind)
        gradient = (
            given.gradient and operation.supports_autograd and dtype in operation.supported_backward_dtypes("cpu")
        )
        made = []
        signal.alarm(PATIENCE)
        try:
            if dtype in operation.supported_dtypes("cpu"):
                torch.manual_seed(0)
                samples = operation.sample_inputs("cpu", dtype, requires_grad=gradient)
                for sample in itertools.islice(samples, given.samples):
                    made.append(check(operation, sample, gradient))
        except TooLongError:
            made.append(("crash", f"no answer within {PATIENCE} s"))
        except Exception as e:
            made.append(("skipped", f"no samples: {type(e).__name__}: {e}"))
        signal.alarm(0)
        print("\n@" + json.dumps([name, kind, made]), flush=True)


# --- the parent ---------------------------------------------------------------------------------------------------------------------


class Worker:
    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, __file__, *sys.argv[1:], "--worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.answers = selectors.DefaultSelector()
        self.answers.register(self.process.stdout, selectors.EVENT_READ)
        self.rest = b""

    def ask(self, name, kind):
        """The answer, or None from a worker that is lost."""
        try:
            self.process.stdin.write(f"{name} {kind}\n".encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            return None
        end = time.monotonic() + 2 * PATIENCE
        while time.monotonic() < end:
            if not self.answers.select(1.0):
                continue
            piece = self.process.stdout.read1(1 << 16)
            if not piece:
                return None
            self.rest += piece
            *lines, self.rest = self.rest.split(b"\n")
            for line in lines:
                if line.startswith(b"@"):
                    return json.loads(line[1:])[2]
        return None

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def main():
    given = arguments()
    if given.worker:
        return worker(given)
    totals, reasons, bad, active = collections.Counter(), collections.Counter(), [], None
    for operation in operations(given):
        name = operation.formatted_name
        for kind in given.dtype.split(","):
            active = active or Worker()
            made = active.ask(name, kind)
            if made is None:
                active.end()
                active = None
                made = [("crash", "the process died")]
            counts = collections.Counter(k for k, _ in made)
            totals += counts
            reasons.update(re.sub(r"\d+", "N", text)[:100] for k, text in made if k == "refused")
            print(
                f"{name} {kind}: " + (", ".join(f"{n} {k}" for k, n in sorted(counts.items())) or "no samples"),
                flush=True,
            )
            shown = ("wrong", "crash", "refused", "uncaptured", "skipped") if given.verbose else ("wrong", "crash")
            for k, text in made:
                if k in shown:
                    print(f"    {k}: {text}", flush=True)
                if k in ("wrong", "crash"):
                    bad.append((name, kind, text))
    if active:
        active.end()
    print("\n" + ", ".join(f"{n} {k}" for k, n in sorted(totals.items())))
    for text, n in reasons.most_common(40):
        print(f"  {n:5} {text}")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
