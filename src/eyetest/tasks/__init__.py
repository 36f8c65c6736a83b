"""Tasks: one file a dataset."""

from eyetest.tasks.task import Card, Load, Task

__all__ = ["Card", "Load", "Task"]
