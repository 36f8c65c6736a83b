"""Data files -> rows, with a report of what was dropped, where and why."""

from eyetest.readers.load_report import LoadReport
from eyetest.readers.row import Row
from eyetest.readers.rows import columns, read_rows

__all__ = ["LoadReport", "Row", "columns", "read_rows"]
