"""A NaN in a result of a kernel though no argument had one: the line that made it, found by running the sequential meaning again."""

from __future__ import annotations

import numpy as np

from ..program import step_limit
from ..values import has_nan
from ..warn import asked, report, warning
from .places import element_text, source_text


def check(traced, inputs: dict[str, np.ndarray], outputs: dict[str, np.ndarray]) -> None:
    """Warns of NaNs in the outputs of a kernel whose inputs have none."""
    about = traced.kernel.fingerprint()
    if asked(about):
        report(found(traced, inputs, outputs), about)


def found(traced, inputs, outputs) -> list:
    """The warnings."""
    names = [o.name for o in traced.lowered.outputs if has_nan(outputs[o.name])]
    if not names or any(has_nan(x) for x in inputs.values()):
        return []
    made = {}
    if traced.ranks == 1:  # several do not follow each other
        data = {name: np.ascontiguousarray(x).tobytes() for name, x in inputs.items()}
        made = {found[4]: found for found in traced.kernel.observe(data, step_limit(), nan=True)["nans"]}
    out = []
    for name in names:
        array = outputs[name]
        flat = np.isnan(np.asarray(array, np.float32)).reshape(-1)
        first = tuple(int(i) for i in np.unravel_index(int(flat.argmax()), array.shape))
        message = f"`{name}` has {int(flat.sum())} NaN, the first at {list(first)}, and no argument has one"
        if name not in made:
            out.append(warning("RUN-NAN", message, context=f"kernel {traced.name}"))
            continue
        moment, tensor, partition, byte, _ = made[name]
        place, source = traced.place_of(moment)
        storage = traced.storage_of(tensor)
        notes = [f"made in `{storage.name}` at {element_text(storage, partition, byte)}: {source_text(place, source)}"]
        if moment[2]:
            notes.append(f"in iteration {', '.join(map(str, moment[2]))} of the run-time loops around it")
        out.append(warning("RUN-NAN", message, "", place, f"kernel {traced.name}", notes))
    return out
