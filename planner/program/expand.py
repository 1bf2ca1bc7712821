"""From statements to operations: library items are written out, chains are fused as far as the pipeline goes.

A chain passes the stages of the vector engine in order (float, reduction, division, clip) and each ALU once; where the
next step does not fit, the chain ends in a tensor of its own and another pass goes on.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from models.dtypes import DTYPES
from planner.engines.contraction_outer import accumulator_of
from planner.engines.vector_table import OPERATIONS
from planner.program.operations import Einsum, Node, RowPass, Rows, Value, VectorStep
from planner.program.tree import Call, Expression, Number, Ref, Statement

UNARY = {"exp": "Exp", "sqrt": "Sqrt", "tanh": "Tanh", "sigmoid": "Sigmoid", "erf": "Erf", "log": "Log"}
UNARY |= {"sin": "Sin", "cos": "Cos"}
BINARY = {"add": "AddF", "sub": "SubF", "mul": "MulF", "div": "DivF"}
CLIPS = {"maximum": "Max", "minimum": "Min"}
REDUCTIONS = {"sum": "Add", "max": "Max", "min": "Min"}
LIBRARY = ("softmax", "rmsnorm")
MOVES = ("transpose", "lookup")
FUNCTIONS = ("einsum", "cast", *MOVES, *UNARY, *BINARY, *CLIPS, *REDUCTIONS, *LIBRARY)
FLOAT, REDUCED, DIVIDED, CLIPPED = range(4)
_MULTIPLIERS = 2
_EPSILON = 1e-6


class ProgramError(ValueError):
    """A statement that means nothing; `column` counts from 1 in its text."""

    def __init__(self, rule: str, message: str, column: int, found: str = "", wanted: str = "") -> None:
        super().__init__(message)
        self.rule, self.message, self.column, self.found, self.wanted = rule, message, column, found, wanted


@dataclass(slots=True)
class Scope:
    """What is known so far: axis sizes, tensors by name, and the output tensors that the file declares."""

    sizes: dict[str, int]
    values: dict[str, Value]
    declared: dict[str, Value]


def expand(statement: Statement, scope: Scope) -> Node:
    """The operation of a statement.

    Raises:
        ProgramError: with the column of what is at fault.

    """
    if statement.name in scope.values:
        raise ProgramError("program_name", f"`{statement.name}` is written twice", 1, statement.name, "a new name")
    call = statement.expression
    node = _einsum(statement, call, scope) if call.function == "einsum" else _Rows(statement, scope).run()
    wanted = scope.declared.get(statement.name)
    if wanted is not None and wanted.axes != node.out.axes:
        shape = ", ".join(node.out.axes)
        message = f"`{statement.name}` is declared with axes {', '.join(wanted.axes)}, the statement gives {shape}"
        raise ProgramError("program_axes", message, call.column, shape, ", ".join(wanted.axes))
    scope.values[statement.name] = node.out
    return node


def _tensor(ref: Expression, scope: Scope) -> Value:
    if not isinstance(ref, Ref):
        raise ProgramError("program_argument", "a tensor is wanted here", ref.column, "", "the name of a tensor")
    value = scope.values.get(ref.name)
    if value is None:
        known = ", ".join(scope.values)
        raise ProgramError("program_name", f"`{ref.name}` is no tensor so far", ref.column, ref.name, f"one of {known}")
    if ref.axes is not None and ref.axes != value.axes:
        found, wanted = ", ".join(ref.axes), ", ".join(value.axes)
        raise ProgramError("program_axes", f"`{ref.name}` has axes {wanted}, not {found}", ref.column, found, wanted)
    return value


def _einsum(statement: Statement, call: Call, scope: Scope) -> Einsum:
    if len(call.arguments) != 2 or call.axes is None:
        raise ProgramError("program_argument", "einsum takes two tensors and `-> [axes]`", call.column)
    left, right = (_tensor(a, scope) for a in call.arguments)
    everything = {*left.axes, *right.axes}
    for axis in call.axes:
        if axis not in everything:
            raise ProgramError("program_axes", f"axis {axis} is in neither operand", call.column, axis)
    lost = [a for a in everything - set(call.axes) if a not in left.axes or a not in right.axes]
    if lost:
        message = f"axis {min(lost)} is in one operand only and not in the result: sum it first"
        raise ProgramError(
            "program_axes", message, call.column, min(lost), "an axis of both operands, or of the result"
        )
    dtype = _dtype(statement.name, call, scope, left.dtype if left.dtype == "bf16" else accumulator_of(left.dtype))
    return Einsum(left, right, Value(statement.name, dtype, call.axes), statement)


def _dtype(name: str, call: Call, scope: Scope, otherwise: str) -> str:
    if call.dtype is not None and call.dtype not in DTYPES:
        raise ProgramError("program_argument", f"`{call.dtype}` is no type", call.column, call.dtype, ", ".join(DTYPES))
    declared = scope.declared.get(name)
    return call.dtype or (declared.dtype if declared is not None else otherwise)


# Rows -------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Chain:
    """A pass in the making: how far it has come, and which ALUs are taken."""

    source: Value
    axes: tuple[str, ...]
    before: list[VectorStep] = field(default_factory=list)
    behind: list[VectorStep] = field(default_factory=list)
    reduced: str | None = None
    reduction: str = ""
    stage: int = FLOAT
    taken: set[str] = field(default_factory=set)
    products: int = 0


class _Rows:
    def __init__(self, statement: Statement, scope: Scope) -> None:
        self.statement, self.scope = statement, scope
        self.values = dict(scope.values)
        self.passes: list[RowPass] = []

    def run(self) -> Rows:
        call = self.statement.expression
        if call.function in MOVES:
            out = self._moved(call, self.statement.name)
            return Rows(tuple(self.passes), out, self.statement, self.values)
        dtype = _dtype(self.statement.name, call, self.scope, "bf16")
        if call.function == "cast":
            dtype = self._cast_type(call)
        chain = self._chain(call)
        out = self._finish(chain, self.statement.name, dtype)
        return Rows(tuple(self.passes), out, self.statement, self.values)

    def _cast_type(self, call: Call) -> str:
        name = call.arguments[-1]
        if len(call.arguments) != 2 or not isinstance(name, Ref) or name.name not in DTYPES:
            raise ProgramError("program_argument", "cast takes a tensor and a type", call.column)
        return name.name

    def _finish(self, chain: _Chain, name: str, dtype: str) -> Value:
        out = Value(name, dtype, chain.axes)
        self.values[name] = out
        self.passes.append(
            RowPass(chain.source, tuple(chain.before), chain.reduced, chain.reduction, tuple(chain.behind), out)
        )
        return out

    def _moved(self, e: Call, name: str) -> Value:
        """A transpose or a table look-up: a pass of its own, without the vector engine."""
        source = self._source(e.arguments[0])
        if e.function == "transpose":
            if e.axes is None or len(e.arguments) != 1 or sorted(e.axes) != sorted(source.axes):
                shape = ", ".join(source.axes)
                raise ProgramError("program_axes", f"transpose gives [{shape}] in another order", e.column, "", shape)
            out = Value(name, source.dtype, e.axes)
        else:
            wanted = e.arguments[-1]
            if len(e.arguments) != 2 or not isinstance(wanted, Ref) or wanted.name not in DTYPES:
                raise ProgramError("program_argument", "lookup takes a tensor and a type", e.column)
            out = Value(name, wanted.name, source.axes)
        declared = self.scope.declared.get(name)
        if declared is not None and declared.dtype != out.dtype:
            message = f"`{name}` is declared as {declared.dtype}, the statement gives {out.dtype}"
            raise ProgramError("program_argument", message, e.column, out.dtype, declared.dtype)
        self.values[name] = out
        self.passes.append(RowPass(source, (), None, "", (), out, e.function))
        return out

    def _temporary(self, chain: _Chain) -> Value:
        return self._finish(chain, f"{self.statement.name}_{len(self.passes) + 1}", "f32")

    def _chain(self, e: Expression) -> _Chain:
        if isinstance(e, Ref):
            value = self._value(e)
            return _Chain(value, value.axes)
        if isinstance(e, Number):
            raise ProgramError("program_argument", "a tensor is wanted here, not a number", e.column)
        if e.function not in FUNCTIONS or e.function == "einsum":
            raise ProgramError(
                "program_function", f"`{e.function}` is no function here", e.column, e.function, ", ".join(FUNCTIONS)
            )
        if e.function in LIBRARY:
            return self._softmax(e) if e.function == "softmax" else self._rmsnorm(e)
        if e.function in MOVES:
            value = self._moved(e, f"{self.statement.name}_{len(self.passes) + 1}")
            return _Chain(value, value.axes)
        if e.function == "cast":
            return self._chain(e.arguments[0])
        return self._applied(e)

    def _value(self, ref: Ref) -> Value:
        return _tensor(ref, replace(self.scope, values=self.values))

    def _applied(self, e: Call) -> _Chain:
        count = 2 if e.function in BINARY or e.function in CLIPS else 1
        if len(e.arguments) != count:
            message = f"{e.function} takes {count} argument{'s' * (count > 1)}, not {len(e.arguments)}"
            raise ProgramError("program_argument", message, e.column, str(len(e.arguments)), str(count))
        if e.function in UNARY:
            return self._step(self._chain(e.arguments[0]), VectorStep("fp_unary", UNARY[e.function], unary=True))
        if e.function in REDUCTIONS:
            return self._reduce(self._chain(e.arguments[0]), e)
        return self._binary(e)

    def _binary(self, e: Call) -> _Chain:
        left, right = e.arguments
        key, op = ("clip", CLIPS[e.function]) if e.function in CLIPS else ("fp_binary", BINARY[e.function])
        if isinstance(left, Ref) and isinstance(right, Ref) and left.name == right.name and key == "fp_binary":
            return self._step(self._chain(left), VectorStep(key, op, None))
        if isinstance(left, Ref) and isinstance(right, Ref):
            swap = len(self._value(right).axes) > len(self._value(left).axes)
        else:
            swap = isinstance(left, Number) or (isinstance(left, Ref) and isinstance(right, Call))
        stream, other = (right, left) if swap else (left, right)
        chain = self._chain(stream)
        operand: float | str
        if isinstance(other, Number):
            operand = other.value
        else:
            value = self._value(other) if isinstance(other, Ref) else self._temporary(self._chain(other))
            operand = value.name
            self._covers(chain, value, other.column)
        return self._step(chain, VectorStep(key, op, operand, mode="10" if swap and op in ("SubF", "DivF") else None))

    def _covers(self, chain: _Chain, value: Value, column: int) -> None:
        missing = [a for a in value.axes if a not in chain.axes]
        if missing:
            message = f"`{value.name}` has axis {missing[0]}, which the other operand lacks"
            raise ProgramError("program_axes", message, column, missing[0], ", ".join(chain.axes))

    def _reduce(self, chain: _Chain, e: Call) -> _Chain:
        lost = [a for a in chain.axes if a not in (e.axes or ())]
        if e.axes is None or len(lost) != 1 or [a for a in chain.axes if a in e.axes] != list(e.axes):
            shape = ", ".join(chain.axes)
            message = f"{e.function} keeps all axes of [{shape}] but one, in their order, behind `->`"
            raise ProgramError("program_axes", message, e.column, ", ".join(e.axes or ()), f"one axis of {shape} less")
        if chain.stage > FLOAT:
            chain = self._cut(chain)
        chain.reduced, chain.reduction, chain.axes, chain.stage = lost[0], REDUCTIONS[e.function], e.axes, REDUCED
        return chain

    def _cut(self, chain: _Chain) -> _Chain:
        value = self._temporary(chain)
        return _Chain(value, value.axes)

    def _step(self, chain: _Chain, step: VectorStep) -> _Chain:
        """Adds a step where the chain can still take it, else behind a cut."""
        if step.op == "DivF" and step.operand is not None:
            return self._divide(chain, step)
        if step.key == "clip" or (chain.stage > FLOAT and step.op == "AddF" and step.operand is not None):
            return self._clip(chain, replace(step, key="clip", op="Add" if step.op == "AddF" else step.op))
        alu = OPERATIONS[step.key, "f32"][step.op][0]
        free = chain.products < _MULTIPLIERS if step.op == "MulF" else alu not in chain.taken
        stashed = step.operand is None and not step.unary
        if chain.stage > FLOAT or not free or (stashed and "stash" in chain.taken):
            return self._step(self._cut(chain), step)
        chain.products += step.op == "MulF"
        chain.taken |= {alu, "stash"} if stashed else {alu}
        chain.before.append(step)
        return chain

    def _divide(self, chain: _Chain, step: VectorStep) -> _Chain:
        if chain.stage >= DIVIDED:
            chain = self._cut(chain)
        chain.stage = DIVIDED
        chain.behind.append(replace(step, key="fp_div"))
        return chain

    def _clip(self, chain: _Chain, step: VectorStep) -> _Chain:
        if f"clip {step.op}" in chain.taken:
            chain = self._cut(chain)
        chain.stage = CLIPPED
        chain.taken.add(f"clip {step.op}")
        chain.behind.append(step)
        return chain

    # The library ----------------------------------------------------------------------------------------

    def _axis(self, e: Call, at: int, chain_axes: tuple[str, ...]) -> str:
        axis = e.arguments[at] if at < len(e.arguments) else None
        if not isinstance(axis, Ref) or axis.name not in chain_axes:
            found = axis.name if isinstance(axis, Ref) else ""
            raise ProgramError(
                "program_axes", f"{e.function} wants an axis of its tensor", e.column, found, ", ".join(chain_axes)
            )
        return axis.name

    def _softmax(self, e: Call) -> _Chain:
        """Gives exp(x - max x) / sum of that: the highest value, the sum and the shares, one pass each."""
        source = self._source(e.arguments[0])
        axis = self._axis(e, 1, source.axes)
        kept = tuple(a for a in source.axes if a != axis)
        highest = self._temporary(_Chain(source, kept, reduced=axis, reduction="Max", stage=REDUCED))
        powers = [VectorStep("fp_binary", "SubF", highest.name), VectorStep("fp_unary", "Exp", unary=True)]
        inverse = VectorStep("fp_div", "DivF", 1.0, mode="10")
        total = self._temporary(_Chain(source, kept, list(powers), [inverse], axis, "Add", DIVIDED))
        product = VectorStep("fp_binary", "MulF", total.name)
        taken = {"FpFma", "FpExp"}
        return _Chain(source, source.axes, [*powers, product], taken=taken, products=1)

    def _rmsnorm(self, e: Call) -> _Chain:
        """Gives x / sqrt(mean of x^2 + epsilon) * weight: the mean, its root, the product, one pass each."""
        source = self._source(e.arguments[0])
        axis = self._axis(e, 2, source.axes)
        weight = _tensor(e.arguments[1], replace(self.scope, values=self.values))
        last = e.arguments[3] if len(e.arguments) > 3 else Number(_EPSILON, e.column)
        if not isinstance(last, Number):
            raise ProgramError("program_argument", "epsilon is a number", e.column)
        kept = tuple(a for a in source.axes if a != axis)
        behind = [VectorStep("fp_div", "DivF", float(self.scope.sizes[axis])), VectorStep("clip", "Add", last.value)]
        square = VectorStep("fp_binary", "MulF", None)
        mean = self._temporary(_Chain(source, kept, [square], behind, axis, "Add", CLIPPED))
        root = [VectorStep("fp_unary", "Sqrt", unary=True)]
        inverse = self._temporary(
            _Chain(mean, kept, root, [VectorStep("fp_div", "DivF", 1.0, mode="10")], stage=DIVIDED)
        )
        products = [VectorStep("fp_binary", "MulF", inverse.name), VectorStep("fp_binary", "MulF", weight.name)]
        chain = _Chain(source, source.axes, products, products=2, taken={"FpMul0"})
        self._covers(chain, weight, e.column)
        return chain

    def _source(self, e: Expression) -> Value:
        return self._value(e) if isinstance(e, Ref) else self._temporary(self._chain(e))
