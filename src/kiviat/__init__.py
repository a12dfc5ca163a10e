"""Kiviat evaluates how balanced a parallel computer is. docs/reference/python.md describes this interface.

Names are imported when they are first used, so that `import kiviat` costs nothing. Not even the standard
library is imported: until a command's signal handlers are installed, Ctrl-C would print a traceback.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kiviat.api.balance import BalanceResult as BalanceResult
    from kiviat.api.balance import balance as balance
    from kiviat.api.compare import ComparisonResult as ComparisonResult
    from kiviat.api.compare import compare as compare
    from kiviat.api.predict import Case as Case
    from kiviat.api.predict import PredictionResult as PredictionResult
    from kiviat.api.predict import predict as predict
    from kiviat.api.run import run as run
    from kiviat.api.runs import Run as Run
    from kiviat.api.runs import Runs as Runs
    from kiviat.api.runs import load as load
    from kiviat.api.scaling import ScalingResult as ScalingResult
    from kiviat.api.scaling import scaling as scaling
    from kiviat.api.table import Table as Table
    from kiviat.record.errors import InputError as InputError

__version__ = "0.1.0"

_MODULES = {
    "BalanceResult": "api.balance",
    "Case": "api.predict",
    "ComparisonResult": "api.compare",
    "InputError": "record.errors",
    "PredictionResult": "api.predict",
    "Run": "api.runs",
    "Runs": "api.runs",
    "ScalingResult": "api.scaling",
    "Table": "api.table",
    "balance": "api.balance",
    "compare": "api.compare",
    "load": "api.runs",
    "predict": "api.predict",
    "run": "api.run",
    "scaling": "api.scaling",
}


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name not in _MODULES:
        raise AttributeError(f"module 'kiviat' has no attribute {name!r}")
    value: object = getattr(import_module(f"kiviat.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES})
