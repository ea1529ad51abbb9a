"""Graphs of torch.compile with collectives, under torchrun: every process is a rank, and traces the graph of its own. They are compared and
become one program; it is compiled, proved and run by the process of rank 0, which gets the arguments of all and deals out the results. What moves
the data is torch's process group (gloo). Imported only where torch is."""

from __future__ import annotations

import copy
import dataclasses

import torch
import torch.distributed as dist

from . import _glia, torch_rank_graphs
from .nki import trace as _t
from .torch_program import Compiled, Wanted, compile_graph, draw_seeds

_own: list = []  # a group of gloo, where the script's is another one


def compile_together(graph: torch.fx.GraphModule, examples: list, wanted: Wanted):
    """A function from the inputs of this rank to its results. All ranks call this, and what it returns, in the same order."""
    group = _group()
    graph = copy.deepcopy(graph)
    held = torch_rank_graphs.lift_constants(graph)
    mine = torch_rank_graphs.steps_of(graph)
    steps: list = [None] * dist.get_world_size()
    dist.all_gather_object(steps, mine, group=group)
    made: dict = {}

    def compile_for_all() -> list[int]:
        together = torch_rank_graphs.together(steps)
        made["numbers"] = torch_rank_graphs.write_for_all(graph, together)
        numbers = [of_rank[0] for of_rank in made["numbers"]]
        told = dataclasses.replace(wanted, ranks=len(steps))
        made["compiled"] = compile_graph(graph, [*examples, *held, *numbers], told)
        return [made["compiled"].seeds] * len(steps)

    seeds = _by_the_first(compile_for_all, group)

    def run(inputs: list[torch.Tensor]) -> list[torch.Tensor]:
        given = ([x.detach() for x in inputs] + held, draw_seeds(seeds))
        all_given: list | None = [None] * len(steps) if dist.get_rank() == 0 else None
        dist.gather_object(given, all_given, group=group, group_dst=0)
        return _by_the_first(lambda: _run(made["compiled"], made["numbers"], all_given), group)

    return run


def _run(compiled: Compiled, numbers: list[tuple], given: list) -> list[list[torch.Tensor]]:
    return compiled.run(
        [([*inputs, *(of_rank[r] for of_rank in numbers)], seeds) for r, (inputs, seeds) in enumerate(given)]
    )


def _by_the_first(function, group):
    """What rank 0 has for this one. What goes wrong there is an error on every rank."""
    out: list = [None]
    if dist.get_rank() == 0:
        try:
            parts = [(part, None) for part in function()]
        except Exception as e:
            wrong = e.diagnostics if isinstance(e, _glia.Error) else [_t.diagnostic("TORCH-PROCESSES", f"rank 0: {e}")]
            parts = [(None, [(d.code, d.message, d.advice) for d in wrong])] * dist.get_world_size()
            dist.scatter_object_list(out, parts, group=group, group_src=0)
            raise
        dist.scatter_object_list(out, parts, group=group, group_src=0)
    else:
        dist.scatter_object_list(out, None, group=group, group_src=0)
    part, wrong = out[0]
    if wrong is not None:
        raise _glia.error_of([_t.diagnostic(*said) for said in wrong])
    return part


def _group():
    """Of all processes, for data on the host."""
    backend = dist.get_backend() if dist.is_available() and dist.is_initialized() else ""
    if backend in ("", "fake"):
        what = "its process group is a fake one" if backend else "there is no process group"
        raise _t.failure(
            "TORCH-PROCESSES",
            f"a graph with collectives is run by all ranks, and {what}",
            'Start the script with torchrun and call init_process_group("gloo"), or use glia.torch_ranks.compile.',
        )
    if "gloo" in backend:
        return dist.group.WORLD
    if not _own:
        _own.append(dist.new_group(backend="gloo"))
    return _own[0]
