"""The command line. Each command is one function in `eyetest.commands`, imported when it is used."""

from __future__ import annotations

import io
import os
import sys
import warnings
from collections.abc import Sequence

import cyclopts

from eyetest.version import __version__

USER_MISTAKE = 2
"""Exit code for a mistake in the command, the run file or the data."""

INTERRUPTED = 130
"""Exit code after Ctrl-C."""

LONGEST_MESSAGE = 10_000
"""Characters of the longest message printed."""

COMMANDS = {
    "demo": ("eyetest.commands.demo:demo", "Examine the embedded model on the embedded pictures and write the report."),
    "run": ("eyetest.commands.run:run", "Ask models questions under viewing conditions; numbers with intervals."),
    "check": ("eyetest.commands.check:check", "Before spending: do pictures decode, prompts render, what could this n detect?"),
    "score": ("eyetest.commands.score:score", "Read stored answers again, with no model call."),
    "judge": ("eyetest.commands.judge:judge", "Let a model grade the stored answers that no rule could read."),
    "calibrate": ("eyetest.commands.calibrate:calibrate", "How far judge and rules agree with people, and the corrected rate."),
    "knowledge": ("eyetest.commands.knowledge:knowledge", "Let a model write the knowledge questions of a dataset to a file."),
    "caption": ("eyetest.commands.caption:caption", "Let a model describe the pictures of a dataset in a file."),
    "audit": ("eyetest.commands.audit:audit", "Does a dataset need its pictures, and does a model fail to see or to know?"),
    "export": ("eyetest.commands.export:export", "Write the completions of a run as plain JSON Lines."),
    "report": ("eyetest.commands.report:report", "Print the tables of a finished run."),
    "compare": ("eyetest.commands.compare:compare", "Compare two runs on the same samples, paired."),
    "plausible": ("eyetest.commands.plausible:plausible", "Can a published accuracy and macro-F1 belong together?"),
    "conform": ("eyetest.commands.conform:conform", "Does a model keep the promises that a run relies on?"),
    "list": ("eyetest.commands.names:names", "List tasks, models or conditions."),
    "serve-fake": ("eyetest.commands.serve_fake:serve_fake", "A local OpenAI-compatible server that misbehaves on request."),
}
"""Name -> where it is and its one line of help."""


def application(chosen: str | None = None) -> cyclopts.App:
    """The command-line application. The chosen command is helped by its docstring, the others by their one line."""
    app = cyclopts.App(
        name="eyetest",
        help="An eye test for multimodal LLMs: what the model understood, what it saw, what it merely knew and what it guessed.",
        version=__version__,
        help_format="plaintext",
        result_action="return_value",
        # Mistakes and Ctrl-C are `main`'s to say, in one form, with one exit code each.
        exit_on_error=False,
        print_error=False,
        suppress_keyboard_interrupt=False,
    )
    for name, (place, line) in COMMANDS.items():
        app.command(place, name=name, help=None if name == chosen else line)
    return app


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit. A user's mistake is one message on stderr and exit code 2; a bug is a traceback."""
    from eyetest.errors import EyetestError, unknown

    _prepare_streams()
    # Pillow warns about damaged files on stderr; each is already a bad_image with its path.
    warnings.filterwarnings("ignore", module="PIL")
    given = list(sys.argv[1:] if arguments is None else arguments)
    chosen = given[0] if given else None
    try:
        if chosen is not None and not chosen.startswith("-") and chosen not in COMMANDS:
            raise unknown("command", chosen, COMMANDS)
        _refuse_empty(given)
        result = application(chosen)(given)
        sys.stdout.flush()
    except EyetestError as error:
        _say(str(error))
        sys.exit(USER_MISTAKE)
    except cyclopts.CycloptsError as error:
        _say(f"{str(error).rstrip()} See: eyetest {f'{chosen} ' if chosen in COMMANDS else ''}--help")
        sys.exit(USER_MISTAKE)
    except KeyboardInterrupt:
        _say("interrupted. What was answered is kept; run the same command again to go on.")
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        _silence()  # the reader (head, less) has what it wanted
        sys.exit(0)
    except OSError as error:
        if not _output_is_broken():
            raise
        _silence()
        _say(f"standard output cannot be written: {error.strerror or error}. Free some space, or send it elsewhere.")
        sys.exit(USER_MISTAKE)
    sys.exit(result if isinstance(result, int) else 0)


def _prepare_streams() -> None:
    """Make sure that a character which the terminal cannot show, or a closed stream, ends nothing half-way."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 (open until the process ends)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    if sys.stdout is None:
        _say("standard output is closed. Send it to a file, or to /dev/null.")
        sys.exit(USER_MISTAKE)


def _refuse_empty(given: Sequence[str]) -> None:
    """Raise UsageError for an empty text among the arguments: a shell variable that is not set means neither all nor here."""
    from eyetest.errors import UsageError

    for at, argument in enumerate(given):
        flag, equals, value = argument.partition("=")
        if argument.startswith("--") and equals and not value.strip():
            raise UsageError(f"{flag} is given an empty value. Give it one, or leave {flag} out.")
        if not argument.strip():
            before = given[at - 1] if at and given[at - 1].startswith("--") else None
            if before is None:
                raise UsageError(f"Argument {at + 1} is empty. Fill it in, or leave it out.")
            raise UsageError(f"{before} is given an empty value. Give it one, or leave {before} out.")


def _output_is_broken() -> bool:
    """Whether an OSError came from standard output: then it takes nothing more, not even the end of the line."""
    try:
        sys.stdout.write("\n")
        sys.stdout.flush()
    except OSError:
        return True
    return False


def _silence() -> None:
    """Send the rest of the output nowhere: Python flushes once more on its way out, which must not fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(message: str) -> None:
    from eyetest.reports.untrusted import clean

    sys.stderr.write(f"eyetest: {clean(message, LONGEST_MESSAGE)}\n")


if __name__ == "__main__":
    main()
