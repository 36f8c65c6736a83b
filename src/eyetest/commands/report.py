"""`eyetest report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from eyetest.commands.grid import flag
from eyetest.errors import UsageError
from eyetest.evaluation.rescore import summed_up
from eyetest.evaluation.rundir import read_manifest
from eyetest.reports.facts import facts_of_table
from eyetest.reports.text import print_results, terminal


def report(
    run_directory: Annotated[Path, Parameter(help="Directory of a finished run.")],
    /,
    *,
    by: Annotated[tuple[str, ...], flag("Slice by metadata.FIELD instead of the run's own slices. Repeatable.")] = (),
    html: Annotated[Path | None, flag("Write one self-contained page with charts and sample cards.")] = None,
    csv: Annotated[Path | None, flag("Write every table as CSV into this folder.")] = None,
    latex: Annotated[Path | None, flag("Write every table as LaTeX (booktabs) into this folder.")] = None,
    embed_pictures: Annotated[bool, flag("Embed pictures even where the dataset does not allow passing them on.")] = False,
    redact: Annotated[bool, flag("No text and no picture of any sample in the page, for sharing.")] = False,
) -> int:
    """Print the tables of a finished run, or write them as a page, CSV or LaTeX. Asks nothing and changes nothing in the run."""
    if html is None and (embed_pictures or redact):
        raise UsageError("--embed-pictures and --redact say what the page shows. Name the page with --html FILE.")
    if embed_pictures and redact:
        raise UsageError("--embed-pictures and --redact contradict each other. Leave one out.")
    if html is None and csv is None and latex is None:
        table, results = summed_up(run_directory, by or None)
        seed = read_manifest(run_directory)["spec"].get("seed", 0)
        print_results(terminal(), results, facts_of_table(table, results, seed=seed))
        return 0
    from eyetest.reports import export  # the page costs start-up time that the tables need not pay

    console = terminal()
    found = export.gather(run_directory, by or None, samples=html is not None)
    options = export.Options(embed_pictures, redact)
    written = [] if html is None else [export.write_page(html, found, options)]
    written += [] if csv is None else export.write_csv(csv, found.sheets)
    written += [] if latex is None else export.write_latex(latex, found.sheets)
    for line in (*export.in_words(found.facts), *(f"Written: {path}" for path in written)):
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    gone = 0 if html is None else export.not_found(found, options)
    if gone:
        terminal(stderr=True).print(_not_found(gone), style="bold red", highlight=False, soft_wrap=True)
    return 0


def _not_found(n: int) -> str:
    were = "picture was" if n == 1 else "pictures were"
    return f"{n} {were} not found: make the report from the folder in which the run was started."
