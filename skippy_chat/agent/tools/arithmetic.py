"""Evaluating an arithmetic expression: a walk over Python's own syntax tree, with a short list of what may be in it.

Invariant: nothing but numbers is ever made, and no number grows beyond the bounds, so every expression ends at once.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import TypeAlias

from skippy_chat.errors import ToolError

Number: TypeAlias = "int | float"

_LONGEST = 1000  # characters
_MOST_BITS = 4096  # of a whole number
_CONSTANTS: Mapping[str, Number] = {"pi": math.pi, "e": math.e, "tau": math.tau}


def compute(expression: str) -> str:
    """Return the value as text; ``^`` is power, and a comma separates arguments only.

    Raises:
        ToolError: not arithmetic, undefined, or out of bounds.
    """
    if len(expression) > _LONGEST:
        raise ToolError(f"The expression is longer than {_LONGEST} characters.")
    # Python reads ^ as a bit operation that binds weaker than +; a person means power.
    text = expression.strip().replace("^", "**").replace("×", "*").replace("÷", "/").replace("−", "-")  # noqa: RUF001 - as people type them
    try:
        tree = ast.parse(text, mode="eval")
        return _shown(_value(tree.body))
    except ToolError:
        raise
    except ZeroDivisionError as error:
        raise ToolError("Division by zero.") from error
    except OverflowError as error:
        raise ToolError("The number is too large.") from error
    except SyntaxError as error:
        raise ToolError(f"Not an expression: {error.msg}.") from error
    except (ValueError, TypeError) as error:
        raise ToolError(f"Not defined: {error}.") from error
    except (RecursionError, MemoryError) as error:
        raise ToolError("The expression is nested too deep.") from error


def _value(node: ast.expr) -> Number:
    if isinstance(node, ast.Constant):
        if type(node.value) not in (int, float):
            raise ToolError("Only numbers can be computed with.")
        assert isinstance(node.value, (int, float))
        return _bounded(node.value)
    if isinstance(node, ast.UnaryOp):
        return _signed(node)
    if isinstance(node, ast.BinOp):
        found = _OPERATORS.get(type(node.op))
        if found is None:
            raise ToolError("That operator is not known; + - * / // % and ^ are.")
        return _bounded(found(_value(node.left), _value(node.right)))
    if isinstance(node, ast.Name):
        if node.id not in _CONSTANTS:
            raise ToolError(f"{node.id!a} is not known; constants are {', '.join(_CONSTANTS)}.")
        return _CONSTANTS[node.id]
    if isinstance(node, ast.Call):
        return _called(node)
    raise ToolError("That is not arithmetic: numbers, + - * / // % ^, parentheses and functions are known.")


def _signed(node: ast.UnaryOp) -> Number:
    value = _value(node.operand)
    if isinstance(node.op, ast.USub):
        return -value
    if isinstance(node.op, ast.UAdd):
        return value
    raise ToolError("That operator is not known; + - * / // % and ^ are.")


def _called(node: ast.Call) -> Number:
    if not isinstance(node.func, ast.Name) or node.func.id not in _FUNCTIONS:
        raise ToolError(f"That function is not known; functions are {', '.join(sorted(_FUNCTIONS))}.")
    if node.keywords:
        raise ToolError("Functions take plain arguments only.")
    value = _FUNCTIONS[node.func.id](*(_value(each) for each in node.args))
    if not isinstance(value, (int, float)):
        raise ToolError(f"{node.func.id} has no number as its value here.")
    return _bounded(value)


def _bounded(value: Number) -> Number:
    if isinstance(value, complex):
        raise ToolError("The value is not a real number.")
    if isinstance(value, int):
        if value.bit_length() > _MOST_BITS:
            raise ToolError("The number is too large.")
    elif not math.isfinite(value):
        raise ToolError("The number is too large, or not defined.")
    return value


def _power(base: Number, exponent: Number) -> Number:
    if isinstance(base, int) and isinstance(exponent, int) and abs(base) > 1:
        # Before it is computed: the time is in the digits.
        if exponent * (abs(base).bit_length() - 1) > _MOST_BITS:
            raise ToolError("The number is too large.")
        if exponent < -_MOST_BITS:
            return 0.0
    value: Number = base**exponent
    return value


def _divide(left: Number, right: Number) -> Number:
    if isinstance(left, int) and isinstance(right, int) and right != 0 and left % right == 0:
        return left // right
    return left / right


def _factorial(value: Number) -> Number:
    if not isinstance(value, int) or value < 0:
        raise ToolError("factorial is defined for whole numbers from 0 on.")
    if value > 500:
        raise ToolError("The number is too large.")
    return math.factorial(value)


def _whole(function: Callable[..., int]) -> Callable[..., Number]:
    def checked(*values: Number) -> Number:
        if not all(isinstance(each, int) for each in values):
            raise ToolError("gcd and lcm are defined for whole numbers.")
        total = sum(each.bit_length() for each in values if isinstance(each, int))
        if total > _MOST_BITS:
            raise ToolError("The number is too large.")
        return function(*values)

    return checked


def _rounded(value: Number, digits: Number = 0) -> Number:
    if not isinstance(digits, int) or abs(digits) > 400:
        raise ToolError("round takes a small whole number of digits.")
    return round(value, digits) if digits else round(value)


_OPERATORS: Mapping[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: _divide,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}
_FUNCTIONS: Mapping[str, Callable[..., Number]] = {
    "abs": abs, "round": _rounded, "min": min, "max": max, "floor": math.floor, "ceil": math.ceil,
    "sqrt": math.sqrt, "exp": math.exp, "log": math.log, "ln": math.log, "log2": math.log2, "log10": math.log10,
    "sin": math.sin, "cos": math.cos, "tan": math.tan, "asin": math.asin, "acos": math.acos, "atan": math.atan,
    "atan2": math.atan2, "sinh": math.sinh, "cosh": math.cosh, "tanh": math.tanh, "degrees": math.degrees,
    "radians": math.radians, "hypot": math.hypot, "pow": _power, "factorial": _factorial,
    "gcd": _whole(math.gcd), "lcm": _whole(math.lcm),
}  # fmt: skip


def _shown(value: Number) -> str:
    """Show whole numbers in full, others to fifteen digits, which hides that 0.1 + 0.2 is not quite 0.3."""
    return str(value) if isinstance(value, int) else format(value, ".15g")
