"""eyetest: an eye test for multimodal LLMs.

    from eyetest import evaluate
    results = evaluate("items.jsonl", "openai:gpt-4o", conditions=("image", "no_image"))

`evaluate`, `compare`, `Sample`, `Image`, `Task` and `Results` are the whole Python interface; everything else is free to
change. Nothing is imported before it is used.
"""

from typing import TYPE_CHECKING, Any

from eyetest.version import __version__

if TYPE_CHECKING:
    from eyetest.evaluation.api import evaluate
    from eyetest.evaluation.compare import compare
    from eyetest.evaluation.results import Results
    from eyetest.tasks import Task
    from eyetest.types import Image, Sample

__all__ = ["Image", "Results", "Sample", "Task", "__version__", "compare", "evaluate"]

_HOMES = {
    "evaluate": "eyetest.evaluation.api",
    "compare": "eyetest.evaluation.compare",
    "Results": "eyetest.evaluation.summary",
    "Task": "eyetest.tasks",
    "Image": "eyetest.types",
    "Sample": "eyetest.types",
}


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'eyetest' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
