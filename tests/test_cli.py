"""The command line as a user meets it: messages, exit codes, help, terminals."""

from __future__ import annotations

import base64
import inspect
import json
import os
import re
import signal
import subprocess
import sys
import time
from importlib import import_module
from typing import get_type_hints
from urllib.parse import quote

import pytest
from cyclopts import Parameter

from evaluation.made import predictions, write_items
from eyetest import cli, registry
from eyetest.cli import COMMANDS, main

ITEMS = [
    {"id": f"q{n}", "question": f"Is {n} even?", "choices": ["yes", "no"], "answer": "yes" if n % 2 == 0 else "no"}
    for n in range(12)
]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty working folder with items.jsonl, and a cache of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EYETEST_CACHE", str(tmp_path / "cache.sqlite"))
    write_items(tmp_path / "items.jsonl", ITEMS)
    return tmp_path


@pytest.fixture
def eyetest(here, capsys):
    """Runs the command line in this process: (exit code, stdout, stderr)."""

    def call(*arguments):
        with pytest.raises(SystemExit) as exited:
            main(arguments)
        printed = capsys.readouterr()
        return exited.value.code, printed.out, printed.err

    return call


def run(*more):
    return ("run", "--data", "items.jsonl", "--model", "constant:A", "--out", "out", *more)


def process(*arguments, **settings):
    settings = {"capture_output": True, "text": True, "timeout": 60, **settings}
    return subprocess.run([sys.executable, "-m", "eyetest", *arguments], **settings)


# ------------------------------------------------------------------------------------------------------------ mistakes

MISTAKES = {
    "unknown command": (
        ("rum",),
        "Unknown command 'rum'. Did you mean 'run'? "
        "Known: audit, calibrate, caption, check, compare, conform, demo, export, judge, knowledge, list, plausible, report, "
        "run, score, serve-fake.",
    ),
    "unknown flag": (run("--modle", "x"), "Unknown option: --modle. Did you mean --model? See: eyetest run --help"),
    "flag without value": (("run", "--data"), 'Command "run" parameter --data requires an argument. See: eyetest run --help'),
    "flag of the wrong type": (
        run("--repeats", "x"),
        "--repeats: x is not a whole number.",
    ),
    "half a repeat": (run("--repeats", "1.5"), "--repeats: 1.5 is not a whole number."),
    "a seed with a point": (run("--seed", "1.0"), "--seed: 1.0 is not a whole number."),
    "too many tokens": (
        run("--max-tokens", "9" * 5000),
        f"--max-tokens: {'9' * 40}... is not a whole number of at most 18 digits.",
    ),
    "negative seed": (run("--seed", "-1"), "command line: seed: input should be greater than or equal to 0, found -1."),
    "too many repeats": (
        run("--repeats", "40000"),
        "command line: repeats: input should be less than or equal to 10000, found 40000.",
    ),
    "no ids": (run("--ids", ","), "--ids ',' names nothing. Name something, or leave --ids out."),
    "no condition": (run("--condition", " , "), "--condition ' , ' names nothing. Name something, or leave --condition out."),
    "no prompt": (run("--prompt", ","), "--prompt ',' names nothing. Name something, or leave --prompt out."),
    "no slice": (run("--by", ","), "--by ',' names nothing. Name something, or leave --by out."),
    "no slice of a report": (("report", "out", "--by", ","), "--by ',' names nothing. Name something, or leave --by out."),
    "no ids in the file": (
        run("--ids", f"@{os.devnull}"),
        f"--ids @{os.devnull} names nothing: the file holds no id. Write one id a line, or leave --ids out.",
    ),
    "an empty value": (run("--images", ""), "--images is given an empty value. Give it one, or leave --images out."),
    "an empty value after =": (run("--images="), "--images is given an empty value. Give it one, or leave --images out."),
    "blanks": (("report", "a", "--html", "  "), "--html is given an empty value. Give it one, or leave --html out."),
    "an empty argument": (("report", ""), "Argument 2 is empty. Fill it in, or leave it out."),
    "port": (("serve-fake", "--port", "99999"), "--port 99999: give a port from 1 to 65535, or 0 for a free one."),
    "negative port": (("serve-fake", "--port", "-1"), "--port -1: give a port from 1 to 65535, or 0 for a free one."),
    "flag outside its values": (
        run("--answer-is", "number"),
        'Invalid value "number" for --answer-is. Choose from: "text", "letter", "index". See: eyetest run --help',
    ),
    "missing argument": (
        ("compare", "a"),
        'Command "compare" parameter SECOND requires an argument. See: eyetest compare --help',
    ),
    "list of what": (
        ("list", "modles"),
        'Invalid value "modles" for WHAT. Choose from: "tasks", "models", "conditions". Did you mean "models"? '
        "See: eyetest list --help",
    ),
    "unknown model": (
        ("run", "--data", "items.jsonl", "--model", "chanse"),
        r"re:Unknown model 'chanse'\. Did you mean 'chance'\? Known: chance, command, .*\.",
    ),
    "no picture at all": (
        run("--condition", "image,no_image"),
        "items: no sample has a picture, so the condition 'no_image' shows nothing else than 'image'. "
        "Name the column that holds the pictures (--column image=NAME), or leave the condition out.",
    ),
    "model without its argument": (
        run("--model", "constant"),
        "constant needs the text that it always answers. Write constant:TEXT, for example 'constant:yes'.",
    ),
    "two models of one name": (
        run("--model", "constant:A"),
        "Two models are called 'constant:A'. Give one of them a name of its own in the run file.",
    ),
    "unknown condition": (
        run("--condition", "imgae"),
        r"re:Unknown condition 'imgae'\. Did you mean 'image'\? Known: blank, .*\.",
    ),
    "impossible pair": (
        run("--condition", "no_image+blank"),
        "Condition 'no_image+blank' is impossible: 'no_image' and 'blank' both decide the picture. "
        "Run them as two conditions, separated by a comma.",
    ),
    "unknown task": (
        ("run", "--task", "mmmuu", "--model", "chance"),
        r"re:Unknown task 'mmmuu'\. ?(Did you mean '\w+'\?)? Known: .*",
    ),
    "unknown prompt": (
        run("--prompt", "defualt"),
        "Unknown prompt 'defualt' in task 'items'. Did you mean 'default'? Known: default.",
    ),
    "unknown column": (
        run("--column", "answer=lable"),
        "--column answer=lable: items.jsonl:1 has no column 'lable'. Found: 'id', 'question', 'choices', 'answer'.",
    ),
    "unknown field": (
        run("--column", "anser=answer"),
        r"re:Unknown field 'anser' in --column anser=answer\. Did you mean 'answer'\? Known: .*",
    ),
    "column without =": (run("--column", "label"), "--column 'label': write OURS=THEIRS, e.g. --column answer=label."),
    "no model": (
        ("run", "--data", "items.jsonl"),
        "No model. Name one with --model NAME[:ARGUMENT] (see: eyetest list models), or in the run file.",
    ),
    "no data": (
        ("run", "--model", "chance"),
        "No dataset. Name one with --data FILE or --task NAME (see: eyetest list tasks), or in the run file.",
    ),
    "data that is not there": (
        ("run", "--data", "item.jsonl", "--model", "chance"),
        "item.jsonl does not exist. Did you mean 'items.jsonl'?",
    ),
    "flags of data without data": (
        ("run", "--images", "x", "--model", "chance"),
        "--images, --column, --answer-is and --match describe a data file. Name it with --data FILE.",
    ),
    "flags of a task without a task": (
        run("--split", "dev"),
        "--dir, --split and --format describe a registered task. Name it with --task NAME.",
    ),
    "no such folder of pictures": (
        run("--images", "nowhere"),
        "--images nowhere: there is no such folder. Pass the folder that picture paths start from.",
    ),
    "limit of words": (
        run("--limit", "ten"),
        "--limit 'ten': give a count (100), a fraction (0.1) or a percentage below 100 (10%).",
    ),
    "limit without end": (
        run("--limit", "1e999"),
        "--limit '1e999': give a count (100), a fraction (0.1) or a percentage below 100 (10%).",
    ),
    "limit of all percent": (
        run("--limit", "100%"),
        "--limit '100%': give a count (100), a fraction (0.1) or a percentage below 100 (10%).",
    ),
    "negative limit": (run("--limit", "-5"), r"re:command line: limit: .*a whole number of samples.*"),
    "ids that are not there": (
        run("--ids", "q1,nope"),
        "items: no sample has the id 'nope' (1 of --ids are missing). Ids look like 'q0'.",
    ),
    "file of ids that is not there": (run("--ids", "@gone"), r"re:--ids @gone: cannot be read: .*No such file or directory.*"),
    "no such slice": (
        run("--by", "metadata.x"),
        "--by metadata.x: no sample has a metadata field 'x'. Fields: none. Write metadata.FIELD.",
    ),
    "no such run file": (("run", "gone.toml"), r"re:Run file gone\.toml: .*No such file or directory\..*"),
    "no run directory": (
        ("report", "gone"),
        "gone: not a run directory (run.json: No such file or directory). Name the --out folder of a run.",
    ),
    "worse by how much": (
        ("compare", "a", "b", "--fail-if-worse", "2"),
        "--fail-if-worse 2.0: give a share of right answers between 0 and 1, e.g. 0.02.",
    ),
}


@pytest.mark.parametrize(("arguments", "said"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_message_and_exit_code_2(eyetest, here, arguments, said):
    status, out, err = eyetest(*arguments)
    lines = err.splitlines()
    last = next(line for line in lines if line.startswith("eyetest: ")).removeprefix("eyetest: ")
    if said.startswith("re:"):
        assert re.fullmatch(said[3:], last)
    else:
        assert last == said
    assert (status, out) == (2, "")
    assert not (here / "out" / "results.json").exists()


RUN_FILES = {
    "unknown key": ("modles = ['chance']", r"unknown key 'modles'.*Did you mean 'models'\?"),
    "unknown key of a model": ("[[models]]\nmodel = 'chance'\noption = {}", r"unknown key 'option'.*Did you mean 'options'\?"),
    "wrong type": ("repeats = 'two'", r"repeats: .*'two'"),
    "unknown option of a model": (
        "models = [{model = 'constant:A', options = {decod = true}}]",
        r"constant has no option 'decod'\. Did you mean 'decode'\?",
    ),
    "not TOML": ("models = [", r"Run file r\.toml: is not TOML"),
    "a number for a table": ("generation = 5", r"generation: expected a table of keys and values, found 5\."),
    "a number of 5,000 digits": (f"seed = {'9' * 5000}", r"Run file r\.toml: holds a number with too many digits\."),
    "5,000 brackets": (f"ids = {'[' * 5000}", r"Run file r\.toml: is nested too deeply\."),
    "a number of 5,000 hexadecimal digits": (
        f"seed = 0x{'f' * 5000}",
        r"r\.toml: seed: the number is too large; the largest is 9223372036854775807\.",
    ),
    "an option of 5,000 hexadecimal digits": (
        f"models = [{{model = 'chance', options = {{a = 0x{'f' * 5000}}}}}]",
        r"r\.toml: models\.0\.options\.a: the number is too large; ",
    ),
    "5,000 dots": (
        f"models = [{{model = 'chance', options = {{{'a.' * 5000}a = 1}}}}]",
        r"r\.toml: models\.0 is nested too deeply\. A run file needs 8 levels at most\.",
    ),
    "NUL": ('out = "a\\u0000b"', r"r\.toml: out: holds a NUL character, which no name or path may hold\."),
    "choices that are no list": (
        "[[prompt.mine.examples]]\nquestion = 'Q?'\nanswer = 'a'\nchoices = 5",
        r"r\.toml: prompt\.mine\.examples: example 1: choices is 5; expected a list of texts\.",
    ),
    "a question that is no text": (
        "[[prompt.mine.examples]]\nquestion = ['Q?']\nanswer = 'a'",
        r"r\.toml: prompt\.mine\.examples: example 1: question is \['Q\?'\]; expected a text\.",
    ),
    "task and data": ("tasks = [{task = 'a', data = 'b'}]", "give either task"),
}


@pytest.mark.parametrize(("text", "said"), RUN_FILES.values(), ids=RUN_FILES)
def test_a_wrong_run_file(eyetest, here, text, said):
    (here / "r.toml").write_text(text)
    given = [*([] if "tasks" in text else ["--data", "items.jsonl"]), *([] if "models" in text else ["--model", "chance"])]
    status, _, err = eyetest("run", "r.toml", *given, "--temperature", "0")
    assert status == 2, err
    assert re.search(said, err)
    assert err.startswith("eyetest: ")
    assert err.count("\n") == 1


GOOD = json.dumps({"question": "Q?", "answer": "a"}).encode()
DAMAGED = {
    "bad line": (b'{"question": \n' + GOOD, "dropped 1: bad JSON (items.jsonl:1: column 14: "),
    "not an object": (b"[1]\n" + GOOD, "dropped 1: not an object (items.jsonl:1: found a list, expected {...})"),
    "no answer": (b'{"question": "Q?"}\n' + GOOD, "dropped 1: no answer (items.jsonl:1)"),
    "no question": (b'{"question": " ", "answer": "a"}\n' + GOOD, "dropped 1: empty question (items.jsonl:1)"),
    "latin-1": (b'{"question": "caf\xe9?", "answer": "a"}\n' + GOOD, "(items.jsonl:1: byte"),
    "NUL": (b"\0\0\0\n" + GOOD, "(items.jsonl:1: "),
    "outside the choices": (
        b'{"question": "Q?", "answer": "c", "choices": ["a", "b"]}\n' + GOOD,
        "dropped 1: answer outside the choices (items.jsonl:1: 'c' is not among 'a', 'b')",
    ),
    "duplicate id": (
        b'{"id": 1, "question": "Q?", "answer": "a"}\n{"id": 1, "question": "R?", "answer": "a"}',
        "dropped 1: duplicate id (items.jsonl:2: '1'; the first one is kept)",
    ),
    "missing picture": (
        b'{"question": "Q?", "answer": "a", "image": "gone.png"}\n{"question": "Q?", "answer": "a", "image": "there.png"}',
        "noticed 1: missing picture (items.jsonl:1: 'gone.png')",
    ),
}


@pytest.mark.parametrize(("content", "said"), DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_row_is_reported_and_the_rest_is_asked(eyetest, here, content, said):
    (here / "items.jsonl").write_bytes(content)
    (here / "there.png").write_bytes(b"x")
    status, _, err = eyetest(*run())
    assert said in err
    assert status == (1 if "picture" in said else 0), err
    strict, _, err = eyetest(*run("--strict"))
    if "dropped" in said or "byte" in said or "NUL" in said:
        assert strict == 2
        assert re.search(r"^eyetest: items.jsonl:[12]: .*Mend the row, or run without --strict to drop it\.$", err, re.MULTILINE)


def test_a_byte_order_mark_is_no_mistake(eyetest, here):
    (here / "items.jsonl").write_bytes(b"\xef\xbb\xbf" + GOOD)
    assert eyetest(*run())[0] == 0


WHOLE_FILES = {
    "empty": (b"", r"items\.jsonl is empty.*"),
    "no JSON at all": (
        b"hello\nworld\n",
        r"items\.jsonl: none of its 2 rows is a JSON object\..*bad JSON: 2, first items\.jsonl:1.*",
    ),
    "wrong columns": (
        b'{"prompt": "Q?", "label": "a"}',
        r"items\.jsonl:1: expected a column 'question', found 'prompt', 'label'\. .* --column question=NAME\.",
    ),
    "all answers outside": (
        b'{"question": "Q?", "answer": "c", "choices": ["x", "y"]}',
        r"items\.jsonl: none of its 1 rows can be used\. answer outside the choices: 1, first items\.jsonl:1.*",
    ),
    "letters for texts": (
        b'{"question": "Q?", "answer": "A", "choices": ["x", "y"]}',
        r"items\.jsonl: 1 of 1 answers are not among their choices but look like letters, .* pass --answer-is letter\.",
    ),
    "all pictures missing": (
        b'{"question": "Q?", "answer": "a", "image": "x.png"}',
        r"items\.jsonl: none of the 1 pictures was found; looked for .*x\.png; pass --images FOLDER\.",
    ),
}


@pytest.mark.parametrize(("content", "said"), WHOLE_FILES.values(), ids=WHOLE_FILES)
def test_a_file_that_cannot_be_used(eyetest, here, content, said):
    (here / "items.jsonl").write_bytes(content)
    for command in ("run", "check"):
        status, out, err = eyetest(command, "--data", "items.jsonl", "--model", "constant:A")
        assert (status, out) == (2, "")
        assert re.fullmatch(f"eyetest: {said}\n", err)


def test_a_bug_is_a_traceback(eyetest, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError

    monkeypatch.setattr("eyetest.evaluation.evaluate.counted", broken)
    with pytest.raises(ZeroDivisionError):
        main(run())


# ---------------------------------------------------------------------------------------------------------------- help


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_every_parameter(eyetest, command):
    status, out, _ = eyetest(command, "--help")
    assert status == 0
    shown = re.sub(r"[\s│]+", " ", out)
    module, _, name = COMMANDS[command][0].partition(":")
    function = getattr(import_module(module), name)
    texts = list(_helps(function))
    assert texts
    for text in texts:
        assert re.sub(r"\s+", " ", text) in shown
    assert inspect.getdoc(function).split("\n")[0].split(".")[0][:50] in shown


def _helps(owner):
    for hint in get_type_hints(owner, include_extras=True).values():
        for found in getattr(hint, "__metadata__", ()):
            if isinstance(found, Parameter) and found.name == ("*",):
                yield from _helps(hint.__origin__)
            elif isinstance(found, Parameter):
                assert found.help, f"{owner.__name__} has a parameter without help"
                yield found.help


@pytest.mark.parametrize("command", COMMANDS)
def test_the_line_of_help_says_what_the_docstring_says(command):
    place, line = COMMANDS[command]
    module, _, name = place.partition(":")
    said = inspect.getdoc(getattr(import_module(module), name)).lower()
    words = set(re.findall(r"[a-z-]{4,}", line.lower())) - {"with", "what", "before", "could", "this"}
    missing = {word for word in words if word[:5] not in said}
    assert len(missing) <= len(words) / 3, missing


def test_top_help_names_every_command(eyetest):
    for arguments in ((), ("--help",)):
        status, out, _ = eyetest(*arguments)
        assert status == 0
        shown = re.sub(r"[\s│]+", " ", out)
        assert all(f"{name} {line}" in shown for name, (_, line) in COMMANDS.items())


def test_version(eyetest):
    from eyetest import __version__

    assert eyetest("--version") == (0, f"{__version__}\n", "")


def test_help_imports_nothing_heavy():
    code = (
        "import sys\nfrom eyetest.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = {'numpy', 'scipy', 'pydantic', 'PIL', 'jinja2', 'torch', 'pyarrow', 'aiohttp', 'rapidfuzz'}\n"
        "sys.stderr.write(','.join(sorted(heavy & set(sys.modules))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert "An eye test for multimodal LLMs" in done.stdout


@pytest.mark.parametrize(("what", "named"), [("models", "chance"), ("conditions", "no_image"), ("tasks", "--data FILE")])
def test_names_are_listed_with_one_line_each(eyetest, what, named):
    status, out, err = eyetest("list", what)
    assert (status, err) == (0, "")
    assert named in out


# ---------------------------------------------------------------------------------------------------------- the output


def test_a_run_prints_its_tables_and_where_it_is(eyetest, here):
    status, out, err = eyetest(*run("--condition", "image,shuffled"))
    assert status == 0
    assert "items: accuracy with 95 % intervals" in out
    said = ["items: 12 rows read, 12 kept (12 choice)", "  noticed: no sample has a picture", "Run directory: out"]
    assert err.splitlines() == said
    again = eyetest(*run("--condition", "image,shuffled"))
    assert (again[0], again[1]) == (0, out)
    status, said, err = eyetest("report", "out")
    assert (status, err) == (0, "")
    assert said.endswith(out)


def test_a_model_may_be_called_something(eyetest, here):
    eyetest(*run("--model", "mine=phantom:perception=.5,knowledge=.5"))
    models = {json.loads(line)["model"] for line in (here / "out" / "predictions.jsonl").open()}
    assert models == {"constant:A", "mine"}


@pytest.mark.parametrize(
    ("flags", "asked"),
    [((), {"short"}), (("--prompt", "default"), {"default"}), (("--prompt", "default,short"), {"default", "short"})],
)
def test_prompts_of_ones_own_are_asked_unless_others_are_named(eyetest, here, flags, asked):
    (here / "run.toml").write_text('[prompt.short]\nsystem = "Answer in one word."\n')
    eyetest("run", "run.toml", "--data", "items.jsonl", "--model", "constant:A", "--out", "out", *flags)
    assert {json.loads(line)["prompt"] for line in (here / "out" / "predictions.jsonl").open()} == asked


def test_without_out_the_same_command_finds_its_directory_again(eyetest, here):
    command = ("run", "--data", "items.jsonl", "--model", "chance")
    first, second = (eyetest(*command)[2].splitlines()[-1] for _ in range(2))
    assert first == second
    assert re.fullmatch(r"Run directory: runs/items-[0-9a-f]{8}", first)
    assert [path.name for path in (here / "runs").iterdir()] == [first.rpartition("/")[2]]


def test_a_dry_run_says_what_would_be_asked(eyetest, here):
    status, out, _ = eyetest(*run("--condition", "image,knowledge", "--dry-run", "--model", "chance"))
    assert status == 0
    assert out.splitlines() == [
        "items",
        "  image: 12 answers, 12 distinct requests",
        "  knowledge: 0 answers, 0 distinct requests, 12 samples do not apply",
        "  12 answers from 12 requests after sharing, for each model",
        "constant:A: equal requests at temperature 0 are asked once",
        "chance: simulated: asked for every answer",
    ]
    assert not (here / "out").exists()


def test_failed_answers_are_exit_code_1_with_their_bounds(eyetest, here):
    write_items(
        here / "items.jsonl",
        [
            *ITEMS,
            {"question": "Q?", "answer": "yes", "choices": ["yes", "no"], "image": "gone.png"},
            {"question": "Q?", "answer": "yes", "choices": ["yes", "no"], "image": "there.png"},
        ],
    )
    (here / "there.png").write_bytes(b"x")
    status, out, err = eyetest(*run())
    assert status == 1
    assert err.splitlines()[-2:] == [
        "1 of 14 answers lack a picture that can be read: mend the pictures, then run again.",
        "They are outside every n. The first: sample 'row-13': The picture ./gone.png does not exist. "
        "Check the folder of pictures and the file's name.",
    ]
    assert "if failed answers were all wrong .500, all right .571: items, constant:A, image" in out


def test_output_that_is_no_terminal_has_no_colours(here):
    for command in (
        run("--condition", "image,no_image"),
        ("check", "--data", "items.jsonl"),
        ("list", "models"),
        ("run", "--help"),
        ("rum",),
    ):
        done = process(*command)
        assert "\x1b" not in done.stdout + done.stderr
        assert "Traceback" not in done.stderr


MARKUP = "[red]x[/red]"
CLOSING = "[/] y"


def test_markup_in_data_and_names_is_text(eyetest, here, monkeypatch):
    monkeypatch.setattr("eyetest.commands.progress.LINES", (0.0, 0.0))
    rows = [
        {
            "id": f"{MARKUP}{n}",
            "question": CLOSING,
            "choices": [MARKUP, CLOSING],
            "answer": MARKUP,
            "image": CLOSING if n else "there.png",
            MARKUP: CLOSING,
        }
        for n in range(12)
    ]
    (here / "there.png").write_bytes(b"x")
    data = f"{CLOSING.replace('/', '')}{MARKUP.replace('/', '')}.jsonl"
    name = data.removesuffix(".jsonl")
    write_items(here / data, rows)
    command = (
        "--data",
        data,
        "--model",
        f"constant:{MARKUP}",
        "--condition",
        "image,no_image,shuffled",
        "--by",
        f"metadata.{MARKUP}",
    )
    status, out, err = eyetest("run", *command, "--out", "[red]out[red]")
    assert status == 1, err
    assert f"{name}: accuracy with 95 % intervals" in out
    assert f"constant:{MARKUP}" in out
    assert f"{name}, constant:{MARKUP}, image: target (rows) by answer (columns)" in out
    assert re.search(rf"^ +{re.escape(MARKUP)} +{re.escape(CLOSING)} +unparsed", out, re.MULTILINE)
    assert f"metadata.{MARKUP} = {CLOSING}" in out
    assert "Run directory: [red]out[red]\n" in err
    assert f"{name}: 12 rows read, 12 kept (12 choice)" in err
    assert re.search(r"^\d+/\d+ done, 0 unparsed, ", err, re.MULTILINE)
    status, out, _ = eyetest("check", *command)
    assert status == 1
    assert f"shared labels: {MARKUP} 12, {CLOSING} 0" in out
    assert re.search(rf"{re.escape(MARKUP)}1: The picture \S*{re.escape(CLOSING)} does not exist\.", out)
    (here / "[red]out[red]").rename(here / "two")
    status, out, _ = eyetest("compare", "two", "two")
    assert status == 0
    assert f"constant:{MARKUP}" in out


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "--data", f"{MARKUP}{CLOSING}", "--model", "chance"),
        ("run", "--data", "items.jsonl", "--model", f"{MARKUP}{CLOSING}"),
        ("run", "--data", "items.jsonl", "--model", "chance", "--condition", f"{MARKUP}{CLOSING}"),
        ("report", f"{MARKUP}{CLOSING}"),
        ("run", f"--{MARKUP}{CLOSING}"),
        (f"{MARKUP}{CLOSING}",),
    ],
)
def test_markup_in_mistakes_is_text(eyetest, arguments):
    status, _, err = eyetest(*arguments)
    assert status == 2
    assert f"{MARKUP}{CLOSING}" in err


def test_python_m_eyetest():
    done = process("--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip()
    mistake = process("report", "gone")
    assert (mistake.returncode, mistake.stdout) == (2, "")
    assert (
        mistake.stderr
        == "eyetest: gone: not a run directory (run.json: No such file or directory). Name the --out folder of a run.\n"
    )


SLOW = """
import time
from eyetest.models.baselines import Constant
from eyetest.types import Response

def slowly(self, requests):
    for request in requests:
        yield request, Response("A")
        open("started", "w").close()
        time.sleep(0.05 if request.origin.sample.id != "q5" else 60)

Constant.generate = slowly
from eyetest.cli import main
import sys
main(sys.argv[1:])
"""


def test_an_interrupt_says_how_to_go_on(here):
    with subprocess.Popen(
        [sys.executable, "-c", SLOW, *run()], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        for _ in range(600):
            if (here / "out" / "journal.txt").exists() and (here / "out" / "journal.txt").read_bytes().count(b"\n") == 6:
                break
            if running.poll() is not None:
                break
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=30)
    assert running.returncode == cli.INTERRUPTED == 130
    assert out == ""
    assert err.splitlines()[-1] == "eyetest: interrupted. What was answered is kept; run the same command again to go on."
    assert "Traceback" not in err
    assert process(*run()).returncode == 0
    assert len(predictions(here / "out")) == 12
    assert json.loads((here / "out" / "results.json").read_bytes())["counts"]["resumed"] == 6


@pytest.mark.parametrize("command", [("report", "out"), ("list", "conditions"), ("check", "--data", "items.jsonl")])
def test_a_reader_that_goes_away_is_no_error(here, command):
    assert process(*run()).returncode == 0
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "eyetest", *command], stdout=writing, stderr=subprocess.PIPE, text=True, timeout=60
    )
    os.close(writing)
    assert done.stderr == ""
    assert done.returncode == 0


# ------------------------------------------------------------------------------------------------- score, compare, check


EVIL = "\x1b]0;gone\x07\x1b[31m\u202e"


def test_no_escape_sequence_reaches_the_terminal(eyetest, here, monkeypatch):
    monkeypatch.setattr("eyetest.commands.progress.LINES", (0.0, 0.0))
    rows = [{"id": f"{EVIL}{n}", "question": "Q", "choices": [f"{EVIL}a", "b"], "answer": f"{EVIL}a"} for n in range(12)]
    data = f"i{EVIL}.jsonl"
    write_items(here / data, [*rows, {"id": f"{EVIL}x", "question": "Q", "choices": ["a"], "answer": EVIL}])
    given = ("--data", data, "--model", f"constant:{EVIL}")
    calls = [
        ("check", *given),
        ("run", *given, "--dry-run"),
        ("run", *given, "--ids", f"{EVIL}9999"),
        ("run", "--data", "items.jsonl", "--model", f"{EVIL}"),
        ("report", EVIL),
        ("run", f"--{EVIL}"),
        (EVIL,),
    ]
    for call in calls:
        _, out, err = eyetest(*call)
        assert "\x1b" not in out + err
        assert "\x07" not in out + err
        assert "\u202e" not in out + err
        assert "[U+202E]" in out + err or "\\u202e" in err


def test_a_line_of_output_stays_a_line():
    from io import StringIO

    from rich.console import Console

    from eyetest.commands.say import say

    said = StringIO()
    say(Console(file=said), "a\nRun directory: \x1b[1mforged [bold]x[/bold]\r\nb")
    assert said.getvalue() == "a Run directory: [1mforged [bold]x[/bold] b\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full on this system")
def test_output_without_room(here):
    with open("/dev/full", "w") as full:
        done = process("list", "models", stdout=full, stderr=subprocess.PIPE, capture_output=False)
    said = "eyetest: standard output cannot be written: No space left on device. Free some space, or send it elsewhere.\n"
    assert (done.returncode, done.stderr) == (2, said)


def test_output_that_is_closed(here):
    done = subprocess.run(["sh", "-c", f"{sys.executable} -m eyetest list models >&-"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, "eyetest: standard output is closed. Send it to a file, or to /dev/null.\n")


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_output_that_knows_few_characters(here, encoding):
    write_items(here / "items.jsonl", [ITEMS[0] | {"choices": ["\u4f60", "no"], "answer": "\u4f60"}, *ITEMS[1:]])
    done = process(*run("--condition", "image,shuffled"), env=os.environ | {"PYTHONIOENCODING": encoding}, encoding=encoding)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False)
    assert "items: accuracy with 95 % intervals" in done.stdout


@pytest.mark.parametrize("name", ["run.json", "journal.txt", "predictions.jsonl", "results.json"])
def test_a_report_replaces_no_file_of_a_run(eyetest, here, name):
    eyetest(*run())
    before = (here / "out" / name).read_bytes()
    (here / "link.html").symlink_to(here / "out" / name)
    for page in (f"out/{name}", f"./out/../out/{name}", "link.html"):
        status, _, err = eyetest("report", "out", "--html", page)
        beside = os.path.normpath(os.path.join(os.path.dirname(page), "report.html")) if ".." not in page else None
        assert status == 2
        assert err.startswith(
            f"eyetest: --html {os.path.normpath(page) if '..' not in page else 'out/../out/' + name} is a file of"
        )
        assert beside is None or err.endswith(f" is a file of the run itself. Name another, such as {beside}.\n")
    assert (here / "out" / name).read_bytes() == before
    eyetest("run", "--data", "items.jsonl", "--model", "constant:A", "--out", "other")
    assert eyetest("report", "out", "--html", f"other/{name}")[0] == 2


def test_a_broken_plug_in_is_listed_as_broken(eyetest, monkeypatch):
    found = {**registry.BUILT_IN["conditions"], "mine": "no_such_module:x"}
    monkeypatch.setattr(registry, "names", lambda group: found)
    status, out, err = eyetest("list", "conditions")
    assert (status, err) == (0, "")
    assert " ".join(out[out.index("mine ") :].split("Compose")[0].split()) == (
        "mine broken: The plug-in 'no_such_module:x' for the condition 'mine' cannot be loaded: "
        "ModuleNotFoundError: No module named 'no_such_module'. Mend it, or uninstall its package."
    )
    assert any(line.startswith("no_image") for line in out.splitlines())


def test_the_key_reaches_no_file(eyetest, here, monkeypatch):
    """A server that repeats the key in everything it says, in many spellings."""
    from eyetest.models.fake_server import FakeServer

    key = "sk-proj/Secret+0123456789abcdef"
    packed = base64.b64encode(f"Bearer {key}".encode()).decode()
    forms = [key, quote(key, safe=""), "".join(f"&#{ord(c)};" for c in key), "".join(f"\\u{ord(c):04x}" for c in key), packed]

    def answer(body, attempt):
        said = " ".join(forms)
        number = int(re.search(r"Is (\d+) even", str(body))[1])
        message = [{"content": said}, {"content": None, "refusal": said}, {"content": None}, {"content": f"A {said}"}][number % 4]
        return {"choices": [{"index": 0, "message": message, "finish_reason": said if number % 4 == 2 else "stop"}]}

    monkeypatch.setenv("OPENAI_API_KEY", key)
    with FakeServer(answer, faults={"Is 3 even": ("400",), "Is 7 even": ("500", "500")}) as server:
        model = f"openai:any,base_url={server.url},retries=1"
        status, out, err = eyetest("run", "--data", "items.jsonl", "--model", model, "--out", "out")
    assert status == 1, err
    eyetest("report", "out", "--html", "out/report.html")
    written = [path for path in here.rglob("*") if path.is_file()]
    assert len(written) > 6
    for content in (out.encode(), err.encode(), *(path.read_bytes() for path in written)):
        for form in (*forms, "Secret", packed[8:-4], key.encode().hex(), "&#115;&#107;", "\\u0073\\u006b"):
            assert form.encode() not in content
    assert b"[key]" in (here / "out" / "predictions.jsonl").read_bytes()


def test_score_reads_again(eyetest, here):
    eyetest(*run())
    status, out, err = eyetest("score", "out")
    assert (status, err) == (0, "0 of 12 answers are read differently now.\n")
    assert eyetest("report", "out")[1].endswith(out)
    status, _, err = eyetest("score", "out", "--out", "again")
    assert status == 0
    assert (here / "again" / "results.json").exists()


def test_compare_and_its_exit_codes(eyetest, here):
    eyetest(*run())
    eyetest("run", "--data", "items.jsonl", "--model", "chance", "--out", "worse")
    status, out, err = eyetest("compare", "out", "worse")
    assert (status, err) == (0, "")
    assert "second − first, on the samples that both answered" in out
    assert eyetest("compare", "out", "out", "--fail-if-worse", "1")[0] == 0
    status, _, err = eyetest("compare", "out", "worse", "--fail-if-worse", "0.02")
    assert status == 3
    assert err == "not shown to be at most 0.02 worse: items, chance, image\n"


def test_a_withheld_interval_does_not_pass(eyetest, here):
    write_items(here / "items.jsonl", ITEMS[:5])
    eyetest(*run())
    status, out, err = eyetest("compare", "out", "out", "--fail-if-worse", "0.5")
    assert status == 3
    assert "interval withheld: only 5 distinct requests: items, image" in out
    assert err == "not shown to be at most 0.5 worse: items, constant:A, image\n"


def test_check_tells_what_this_n_can_show(eyetest, here):
    status, out, err = eyetest("check", "--data", "items.jsonl")
    assert (status, err) == (0, "")
    assert "  shared labels: yes 6, no 6" in out
    assert "  guessing among the options is right 0.500 of the time" in out
    assert "  n = 12: a score near one half has a 95 % interval of about ±0.246" in out
    assert "  if 10% of items are right on one side only, no difference can be shown" in out
    assert "  12 answers from 12 requests after sharing, for each model" in out


def test_check_fails_where_a_run_would(eyetest, here):
    rows = [{**row, "image": f"{n}.png"} for n, row in enumerate(ITEMS)] + [{"question": "One?", "choices": ["a"], "answer": "a"}]
    write_items(here / "items.jsonl", rows)
    (here / "0.png").write_text("<html>")
    status, out, _ = eyetest("check", "--data", "items.jsonl")
    assert status == 1
    assert "noticed 11: missing picture" in out
    assert re.search(r"^  12 pictures that cannot be shown: q0: The picture .*0\.png .*HTML.*; \.\.\.$", out, re.MULTILINE)
    assert "  1 items with a single option: always right by guessing: row-13" in out


@pytest.mark.parametrize("arguments", [("report", "x" * 300), ("compare", "x" * 300, "y" * 300), ("score", "x" * 300)])
def test_a_run_directory_with_an_impossible_name_is_one_message(eyetest, here, arguments):
    status, _, err = eyetest(*arguments)
    assert status == 2
    assert "File name too long" in err


def test_a_slice_that_no_sample_has_names_forty_fields_at_the_most(eyetest, here):
    write_items(here / "wide.jsonl", [{"question": "Q?", "answer": "a", **{f"field{n:03d}": n for n in range(300)}}])
    status, _, err = eyetest("run", "--data", "wide.jsonl", "--model", "constant:a", "--by", "metadata.nope", "--out", "out")
    assert status == 2
    assert "field039 and 260 more. Write metadata.FIELD." in err
