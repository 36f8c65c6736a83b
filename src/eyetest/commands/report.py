"""`eyetest report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from eyetest.commands.grid import commas, flag
from eyetest.commands.say import say
from eyetest.errors import UsageError
from eyetest.evaluation.rescore import summed_up
from eyetest.evaluation.rundir import FILES, MANIFEST
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
    if html is not None:
        refuse_run_file(html, run_directory)
    slices = tuple(commas("--by", by)) or None
    if html is None and csv is None and latex is None:
        table, results = summed_up(run_directory, slices)
        print_results(terminal(), results, facts_of_table(table, results, seed=results.seed))
        return 0
    from eyetest.reports import export  # the page costs start-up time that the tables need not pay

    console = terminal()
    found = export.gather(run_directory, slices, samples=html is not None)
    options = export.Options(embed_pictures, redact)
    written = [] if html is None else [export.write_page(html, found, options)]
    written += [] if csv is None else export.write_csv(csv, found.to_keep)
    written += [] if latex is None else export.write_latex(latex, found.sheets)
    for line in (*export.in_words(found.facts), *(f"Written: {path}" for path in written)):
        say(console, line)
    gone = 0 if html is None else export.not_found(found, options)
    if gone:
        say(terminal(stderr=True), _not_found(gone), "bold red")
    return 0


def refuse_run_file(page: Path, run_directory: Path) -> None:
    """Raise UsageError where the page would take the place of a run's own file, in this run directory or another."""
    try:
        taken = page.exists() and any(
            page.samefile(folder / name)
            for folder in (run_directory, page.resolve().parent)
            if (folder / MANIFEST).exists()
            for name in FILES
            if (folder / name).exists()
        )
    except (OSError, RuntimeError) as error:  # RuntimeError: links that lead in a circle
        raise UsageError(f"--html {page}: cannot be looked at: {error}. Name another file.") from None
    if taken:
        raise UsageError(f"--html {page} is a file of the run itself. Name another, such as {page.parent / 'report.html'}.")


def _not_found(n: int) -> str:
    were = "picture was" if n == 1 else "pictures were"
    return f"{n} {were} not found: make the report from the folder in which the run was started."
