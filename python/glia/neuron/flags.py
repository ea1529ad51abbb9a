"""The options of the vendor's compiler: of the command neuronx-cc, of NEURON_CC_FLAGS and of compiler_args. Read as it reads them:
`--option value` and `--option=value`, in any order, the last one wins. docs/neuron-compat.md says which mean something here."""

from __future__ import annotations

import argparse
import dataclasses
import os
import shlex
import warnings

from ..nki import environment

LEVELS = {"debug": 10, "info": 20, "user": 25, "warning": 30, "error": 40, "critical": 50}

# Options that are taken and have no effect on a program of glia: name, and how many values (a number, "?" or "+").
_ONE = (
    "model-type native-int64 implicit-integer-downcast distribution-strategy "
    "hbm-scratchpad-page-size tensorizer-options internal-hlo2tensorizer-options internal-backend-options "
    "internal-enable-dge-levels internal-max-instruction-limit internal-tensorizer-opt-level "
    "internal-dma-order-constraints internal-compiler-debug-mode internal-enable-separate-load-and-compute "
    "logfile-verbose cache_dir log_level"
)
_NONE = (
    "enable-mixed-precision-accumulation disable-mixed-precision-accumulation enable-saturate-infinity "
    "enable-fast-context-switch enable-fast-loading-neuron-binaries enable-internal-neff-wrapper "
    "internal-bir-enable-sb-allocation internal-disable-fma-on-ios internal-skip-backend-allocation-opt-nki "
    "disable-internal-io-dge enable-experimental-O1 no_cache retry_failed_compilation"
)
_CHOICES = {
    "model-type": ("generic", "transformer", "transformer-inference", "unet-inference"),
    "native-int64": ("default", "enabled", "disabled"),
}
_TARGETS = {"inf2": "trn1", "trn1n": "trn1"}

# Which f32 operations may be narrowed, and to what: glia narrows products, to those of the types that it computes them in.
_AUTO_CAST = ("none", "matmult", "matmult-fp16", "all")
_AUTO_CAST_TYPES = {"bf16": "bf16", "fp16": "f16", "tf32": "", "fp8_e4m3": ""}
_EFFORTS = {"1": 1, "2": 1, "3": 2}


@dataclasses.dataclass(frozen=True)
class Flags:
    """Those that mean something here."""

    target: str | None = None  # a target of glia
    lnc: int | None = None
    auto_cast: str | None = None  # the type to which operands of products are rounded; empty: to none
    effort: int | None = None


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--target", help="inf2, trn1, trn1n, trn2, trn3 or a target file")
    parser.add_argument(
        "--lnc", "-lnc", "--logical-nc-config", type=int, choices=(1, 2), help="physical cores of a logical one"
    )
    parser.add_argument("--optlevel", "-O", choices=tuple(_EFFORTS), help="3 tries more; 1 and 2 are the same")
    parser.add_argument(
        "--auto-cast", choices=_AUTO_CAST, help="which f32 operations may be narrowed; none if not given"
    )
    parser.add_argument("--auto-cast-type", choices=tuple(_AUTO_CAST_TYPES), help="to what; bf16 if not given")
    parser.add_argument("--pipeline", nargs="+", metavar="WORD", help="accepted")
    accepted = parser.add_argument_group("accepted, without effect on the program")
    for name in _ONE.split():
        accepted.add_argument(f"--{name}", choices=_CHOICES.get(name), metavar="VALUE")
    for name in _NONE.split():
        accepted.add_argument(f"--{name}", action="store_true")


def auto_cast_of(found: argparse.Namespace) -> str | None:
    """bf16 or f16; empty if nothing is to be narrowed, None if nothing is said about it."""
    if found.auto_cast in (None, "none"):
        return None if found.auto_cast is None else ""
    given = found.auto_cast_type or ("fp16" if found.auto_cast == "matmult-fp16" else "bf16")
    return _AUTO_CAST_TYPES[given]


def effort_of(found: argparse.Namespace) -> int | None:
    return _EFFORTS.get(found.optlevel)


def without_effect(found: argparse.Namespace) -> list[str]:
    """What to tell of options that were given, would change numbers elsewhere, and do not here."""
    out = []
    if found.auto_cast not in (None, "none") and not auto_cast_of(found):
        out.append(
            f"--auto-cast-type={found.auto_cast_type} has no effect: products are computed as the module gives them"
        )
    elif found.auto_cast == "all":
        out.append("--auto-cast=all is matmult here: products are narrowed, everything else keeps its type")
    if found.enable_saturate_infinity:
        out.append("--enable-saturate-infinity has no effect: infinities stay infinite")
    return out


def target_of(name: str | None) -> str | None:
    return None if name is None else _TARGETS.get(name, name)


def glued(arguments: list[str]) -> list[str]:
    """The arguments, with values that begin with a dash joined to their option: argparse takes them for options."""
    takes = {"--auto-cast", "--auto-cast-type", *(f"--{name}" for name in _ONE.split())}
    out: list[str] = []
    for a in arguments:
        if out and out[-1] in takes and a.startswith("-"):
            out[-1] += "=" + a
        else:
            out.append(a)
    return out


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        from ..nki import trace as _t

        raise _t.failure("NEURON-FLAGS", f"{self.prog}: {message}", "docs/neuron-compat.md lists the options.")


def parse(arguments: list[str] | str | None, what: str) -> Flags:
    """Reads `compiler_args` and the like. Raises NEURON-FLAGS for what is no option of the vendor's."""
    parser = _Parser(prog=what, add_help=False, allow_abbrev=False)
    add_options(parser)
    parser.add_argument("--verbose")
    parser.add_argument("--logfile")
    parser.add_argument("--framework", choices=("XLA",))
    given = shlex.split(arguments) if isinstance(arguments, str) else [str(a) for a in arguments or ()]
    found = parser.parse_args(glued(given))
    for text in without_effect(found):
        warnings.warn(f"{what}: {text}", stacklevel=2)
    return Flags(target_of(found.target), found.lnc, auto_cast_of(found), effort_of(found))


def from_environment() -> Flags:
    """What NEURON_CC_FLAGS and the variables beside it say. A target that glia itself was told (--target, GLIA_TARGET) comes first."""
    flags = parse(os.environ.get("NEURON_CC_FLAGS"), "NEURON_CC_FLAGS")
    if environment.is_chosen() or flags.target is None:
        flags = dataclasses.replace(flags, target=environment.target_name())
    if flags.lnc is None and os.environ.get("NEURON_LOGICAL_NC_CONFIG") in ("1", "2"):
        flags = dataclasses.replace(flags, lnc=int(os.environ["NEURON_LOGICAL_NC_CONFIG"]))
    return flags
