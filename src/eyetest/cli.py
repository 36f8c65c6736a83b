"""The command line. Each command is one function in `eyetest.commands`, imported when it is used."""

from __future__ import annotations

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

COMMANDS = {
    "demo": ("eyetest.commands.demo:demo", "Examine the embedded model on the embedded pictures and write the report."),
    "run": ("eyetest.commands.run:run", "Ask models questions under viewing conditions; numbers with intervals."),
    "check": ("eyetest.commands.check:check", "Before spending: do pictures decode, prompts render, what could this n detect?"),
    "score": ("eyetest.commands.score:score", "Read stored answers again, with no model call."),
    "report": ("eyetest.commands.report:report", "Print the tables of a finished run."),
    "compare": ("eyetest.commands.compare:compare", "Compare two runs on the same samples, paired."),
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

    # Pillow warns about damaged files on stderr; each is already a bad_image with its path.
    warnings.filterwarnings("ignore", module="PIL")
    given = list(sys.argv[1:] if arguments is None else arguments)
    chosen = given[0] if given else None
    try:
        if chosen is not None and not chosen.startswith("-") and chosen not in COMMANDS:
            raise unknown("command", chosen, COMMANDS)
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
        # The reader (head, less) has what it wanted. Python flushes once more on its way out, which must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    sys.exit(result if isinstance(result, int) else 0)


def _say(message: str) -> None:
    sys.stderr.write(f"eyetest: {message}\n")


if __name__ == "__main__":
    main()
