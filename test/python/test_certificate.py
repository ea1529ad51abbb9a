"""Proofs in files, from Python."""

from pathlib import Path

import glia
import pytest

LITMUS = Path(__file__).resolve().parents[1] / "litmus"


def load(name):
    return glia.assemble((LITMUS / name).read_text(), file=name)


def test_a_certificate_proves_its_program():
    program = load("schedules/c01_triple_buffer_dynamic.gasm")
    proof = program.certificate()
    assert program.verify(certificate=proof).ok
    assert program.verify(require_proved=True, certificate=proof).ok


def test_a_wrong_program_has_none():
    with pytest.raises(glia.Error, match="UNDEFINED"):
        load("attacks/a01_generic_undefined_read.gasm").certificate()


def test_other_bytes_are_refused():
    program = load("schedules/c01_triple_buffer_dynamic.gasm")
    proof = program.certificate()
    for other, code in [(b"", "FORMAT"), (proof[:-1], "FORMAT"), (proof + b"\0", "FORMAT")]:
        with pytest.raises(glia.Error, match=f"CERTIFICATE-{code}"):
            program.verify(certificate=other)
    with pytest.raises(glia.Error, match="CERTIFICATE-OTHER"):
        load("schedules/d02_carried_pointer.gasm").verify(certificate=proof)
