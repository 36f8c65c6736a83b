"""`eyetest report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from eyetest.commands.grid import flag
from eyetest.errors import UsageError
from eyetest.evaluation.rescore import results_of
from eyetest.reports.text import print_results, terminal


def report(
    run_directory: Annotated[Path, Parameter(help="Directory of a finished run.")],
    /,
    *,
    by: Annotated[tuple[str, ...], flag("Slice by metadata.FIELD instead of the run's own slices. Repeatable.")] = (),
    html: Annotated[Path | None, flag("Write one self-contained page with charts and sample cards.")] = None,
    csv: Annotated[Path | None, flag("Write every table as CSV into this folder.")] = None,
    latex: Annotated[Path | None, flag("Write every table as LaTeX (booktabs) into this folder.")] = None,
    embed_pictures: Annotated[bool, flag("Embed pictures of datasets that do not allow passing them on. Your duty then.")] = False,
    redact: Annotated[bool, flag("No text and no picture of any sample in the page, for sharing.")] = False,
) -> int:
    """Print the tables of a finished run, or write them as a page, as CSV or as LaTeX. Asks nothing, changes nothing in the run."""
    if html is None and (embed_pictures or redact):
        raise UsageError("--embed-pictures and --redact say what the page shows. Name the page with --html FILE.")
    if embed_pictures and redact:
        raise UsageError("--embed-pictures and --redact contradict each other. Leave one out.")
    if html is None and csv is None and latex is None:
        print_results(terminal(), results_of(run_directory, by=by or None))
        return 0
    _write(terminal(), run_directory, by or None, html, csv, latex, embed_pictures, redact)
    return 0


def _write(
    console: Console,
    run_directory: Path,
    by: tuple[str, ...] | None,
    html: Path | None,
    csv: Path | None,
    latex: Path | None,
    embed_pictures: bool,
    redact: bool,
) -> None:
    from eyetest.reports import export  # jinja2 and the page cost start-up time that the tables need not pay

    found = export.gather(run_directory, by, samples=html is not None)
    written = []
    if html is not None:
        written.append(export.write_page(html, found, export.Options(embed_pictures, redact)))
    if csv is not None:
        written += export.write_csv(csv, found.sheets)
    if latex is not None:
        written += export.write_latex(latex, found.sheets)
    for line in export.in_words(found.facts):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    for path in written:
        console.print(f"Written: {path}", highlight=False, markup=False, soft_wrap=True)
