"""`tuplan simulate`: executes a plan; values against the reference, cycles and rules against the plan."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cli import options
from cli.talk import DONE, INVALID, Talk

PlanFile = Annotated[Path, typer.Argument(metavar="PLAN", help="Plan file, also an edited one.", show_default=False)]


def simulate(
    talk: Talk,
    plan: PlanFile,
    inputs: Annotated[
        Path | None,
        typer.Option("--inputs", metavar="FILE", help="Arrays by tensor name, .npz or .safetensors."),
    ] = None,
    seed: options.Seed = 0,
    random: Annotated[bool, typer.Option("--random", help="Draw real numbers instead of small integers.")] = False,
    sample: options.Sample = None,
) -> int:
    """Execute a plan and check it: values, cycles, and every rule once more from the plan alone.

    Status 0: right in all three; 1: something is wrong, and is named.
    """
    import planner

    part = options.sample(sample)
    found = planner.read_plan(plan)
    arrays = None if inputs is None else planner.read_inputs(inputs, found)
    verification = planner.simulate(found, inputs=arrays, seed=seed, random=random, sample=part)
    if talk.json:
        talk.data(verification.model_dump_json(indent=2))
    elif not talk.quiet:
        from cli.render_plan import verdict

        talk.show(verdict(verification))
    return DONE if verification.ok else INVALID
