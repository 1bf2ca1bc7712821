"""The program `tuplan`: its commands, and what becomes of an error (command line: exit status)."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable
from functools import wraps
from typing import Annotated

import typer

from cli import cases, check, diff, export, map_, plan, reduce, rules, schema, simulate, switch, transpose, trf, whatif
from cli.interrupt import terminate_like_interrupt
from cli.talk import DEFECT, INTERRUPTED, INVALID, UNUSABLE, Talk

_COMMON = {
    "json": Annotated[bool, typer.Option("--json", help="Print one JSON document, nothing else.")],
    "quiet": Annotated[bool, typer.Option("--quiet", "-q", help="No summary and no progress; faults only.")],
    "debug": Annotated[bool, typer.Option("--debug", help="Show the details of a defect of tuplan.")],
}

app = typer.Typer(
    name="tuplan",
    help="Plan kernels for FuriosaAI's Tensor Contraction Processor, run the plans, and prove them.",
    epilog="\b\nExample: tuplan plan examples/gemm.yaml -o gemm.plan.json",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"tuplan {version('tuplan')}")  # noqa: T201 - the answer itself
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def guarded(command: Callable[..., int]) -> Callable[..., None]:
    """Gives a command the three common options, and turns what it returns or raises into an exit status.

    The command takes a `Talk` first and returns its status.
    """
    signature = inspect.signature(command, eval_str=True)
    own = list(signature.parameters.values())[1:]
    common = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=annotation)
        for name, annotation in _COMMON.items()
    ]

    @wraps(command)
    def run(*, json: bool, quiet: bool, debug: bool, **arguments: object) -> None:
        talk = Talk(json=json, quiet=quiet)
        heard = None
        try:
            with terminate_like_interrupt() as heard:
                status = command(talk, **arguments)
                talk.close()
        except (Exception, KeyboardInterrupt) as error:
            interrupted = isinstance(error, KeyboardInterrupt) or (heard is not None and heard.is_set())
            status = _interrupted(talk) if interrupted else _status_of(error, talk, debug=debug)
        raise typer.Exit(status)

    run.__signature__ = signature.replace(parameters=[*own, *common])  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in (*own, *common)}
    del run.__wrapped__
    return run


def _interrupted(talk: Talk) -> int:
    talk.error("interrupted")
    talk.fault_document((), {"status": "unknown", "stopped_by": "interrupt"})
    return INTERRUPTED


def _status_of(error: BaseException, talk: Talk, *, debug: bool) -> int:
    from models.faults import FaultError

    if isinstance(error, FaultError):
        from cli.why_not import ways_out

        talk.faults(error.faults)
        talk.fault_document(error.faults, ways_out(error, talk))
        return UNUSABLE if all(f.rule.startswith("unreadable_") for f in error.faults) else INVALID
    if isinstance(error, OSError | typer.BadParameter):
        talk.error(str(error))
        talk.fault_document((), {"error": str(error)})
        return UNUSABLE
    talk.fault_document((), {"error": f"{type(error).__name__}: {_one_line(error)}"})
    talk.error(f"this is a defect of tuplan, please report it: {type(error).__name__}: {_one_line(error)}")
    if debug:
        talk.error("".join(traceback.format_exception(error)).rstrip())
    else:
        talk.error("--debug shows the details")
    return DEFECT


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300]


for _name, _command, _example in (
    ("plan", plan.plan, "tuplan plan examples/gemm.yaml -o gemm.plan.json --set hardware.trf.rows_per_bank=64"),
    ("check", check.check, "tuplan check examples/gemm.yaml examples/relayout.yaml"),
    ("simulate", simulate.simulate, "tuplan simulate gemm.plan.json --seed 7"),
    ("whatif", whatif.whatif, "tuplan whatif examples/gemm.yaml --sweep hardware.trf.rows_per_bank=64,12"),
    ("diff", diff.diff, "tuplan diff before.plan.json after.plan.json"),
    (
        "switch",
        switch.switch,
        'tuplan switch --axes A=256,B=64,C=63,X=4 --dtype i8 --in-slice A --in-time B --packet "C # 64" '
        '--out-slice "A / 32, X, A % 8"',
    ),
    (
        "transpose",
        transpose.transpose,
        'tuplan transpose --axes A=8,B=8 --dtype i8 --time A --packet "B # 32" --out-time B --out-packet "A # 32"',
    ),
    (
        "reduce",
        reduce.reduce,
        "tuplan reduce --axes R=1000,A=4 --dtype f32 --axis R --op add --time A",
    ),
    ("trf", trf.trf, 'tuplan trf --axes N=8,K=4096 --dtype bf16 "N, K"'),
    ("map", map_.map_, 'tuplan map --axes A=8,B=61 "A, B # 64" --at 61,64 --equivalent "A, B #{*} 64"'),
    ("cases", cases.cases, "tuplan cases tests/golden/mapping.yaml"),
    ("rules", rules.rules, "tuplan rules --kind schedule"),
    ("export", export.export, "tuplan export gemm.plan.json --to dot -o gemm.dot"),
    ("schema", schema.schema, "tuplan schema kernel > kernel.schema.json"),
):
    app.command(_name, epilog=f"\b\nExample: {_example}")(guarded(_command))


def main() -> None:
    """Entry point of the command `tuplan`."""
    app()


if __name__ == "__main__":
    main()
