import os
import tomllib
from dataclasses import dataclass

import pytest

from eyetest.config import DataConfig, GenerationConfig, ModelConfig, PromptConfig, RunConfig, read_run_file, run_config
from eyetest.errors import UsageError

FULL = """
conditions = ["image", "no_image+shuffled"]
prompts = ["default", "mine"]
repeats = 3
seed = 7
limit = 0.25
ids = ["a", "b"]
by = ["metadata.year"]
out = "runs/x"
cache = "answers.sqlite"
use_cache = false
strict = true
models = ["chance", { model = "openai:gpt-4o", name = "four", options = { timeout = 60, base_url = "http://x", json = true } }]

[generation]
temperature = 1
top_p = 0.9
max_tokens = 32

[[tasks]]
data = "items.csv"
name = "mine"
images = "../pictures"
columns = { answer = "label" }
answer_is = "letter"
match = "contains"

[[tasks]]
task = "viquae"
dir = "/data/viquae"
split = "validation"

[prompt.mine]
system = "You see well."
templates = { choice = "{{ question }}", text = "{{ question }}!" }
lettered = false
examples = [{ question = "Which?", answer = "x", choices = ["x", "y"] }]
"""


def config(text, where="run.toml"):
    return run_config(tomllib.loads(text), where)


def mistake(text):
    with pytest.raises(UsageError) as caught:
        config(text)
    return str(caught.value)


def read_mistake(path):
    with pytest.raises(UsageError) as caught:
        read_run_file(path)
    return str(caught.value)


def test_a_full_run_file(tmp_path):
    path = tmp_path / "deep" / "run.toml"
    path.parent.mkdir()
    path.write_text(FULL)
    read = run_config(read_run_file(path), str(path))
    assert read == RunConfig(
        tasks=(
            DataConfig(
                data=str(tmp_path / "deep" / "items.csv"),
                name="mine",
                images=str(tmp_path / "pictures"),
                columns={"answer": "label"},
                answer_is="letter",
                match="contains",
            ),
            DataConfig(task="viquae", dir="/data/viquae", split="validation"),
        ),
        models=(
            ModelConfig(model="chance"),
            ModelConfig(model="openai:gpt-4o", name="four", options={"timeout": 60, "base_url": "http://x", "json": True}),
        ),
        conditions=("image", "no_image+shuffled"),
        prompts=("default", "mine"),
        prompt={
            "mine": PromptConfig(
                system="You see well.",
                templates={"choice": "{{ question }}", "text": "{{ question }}!"},
                lettered=False,
                examples=({"question": "Which?", "answer": "x", "choices": ["x", "y"]},),
            )
        },
        generation=GenerationConfig(temperature=1.0, top_p=0.9, max_tokens=32),
        repeats=3,
        seed=7,
        limit=0.25,
        ids=("a", "b"),
        by=("metadata.year",),
        out="runs/x",
        cache="answers.sqlite",
        use_cache=False,
        strict=True,
    )
    assert read.models[1].options["json"] is True
    assert isinstance(read.generation.temperature, float)
    assert run_config(read.model_dump(), "again") == read


def test_what_is_left_out():
    assert config("") == RunConfig()
    assert RunConfig().conditions == ("image",)
    assert RunConfig().generation == GenerationConfig(temperature=0.0, top_p=1.0, max_tokens=256)
    assert config('tasks = ["viquae"]').tasks == (DataConfig(task="viquae"),)


def test_a_configuration_does_not_change():
    with pytest.raises(ValueError, match="frozen"):
        config("").seed = 3


# ------------------------------------------------------------------------------------------------------ unknown keys


@dataclass(frozen=True)
class Near:
    text: str
    place: str
    key: str
    meant: str
    known: str


TASK_KEYS = "answer_is, captions, columns, data, dir, format, images, knowledge, match, name, positive, split, task"


@pytest.mark.parametrize(
    "near",
    [
        Near('condition = ["image"]', "", "condition", "conditions", "backbones, batch, by, cache, conditions, exploration, "),
        Near("[generation]\nmax_token = 3", " in [generation]", "max_token", "max_tokens", "max_tokens, temperature, top_p."),
        Near('[[tasks]]\ntask = "a"\n[[tasks]]\ndata = "x"\nimage = "y"', " in [tasks.1]", "image", "images", TASK_KEYS + "."),
        Near('[[models]]\nmodel = "x"\noption = {}', " in [models.0]", "option", "options", "card, model, name, options."),
        Near(
            "[prompt.mine]\ntemplate = {}", " in [prompt.mine]", "template", "templates", "examples, lettered, system, templates."
        ),
        Near(
            '[prompt.mine.templates]\nchoices = "x"',
            " in [prompt.mine.templates]",
            "choices",
            "choice",
            "choice, labels, text, transcription, description.",
        ),
    ],
    ids=lambda near: near.key,
)
def test_a_near_miss_in_every_section(near):
    message = mistake(near.text)
    assert message.startswith(
        f"run.toml: unknown key {near.key!r}{near.place}. Did you mean {near.meant!r}? Known keys: {near.known}"
    )
    assert "\n" not in message


def test_a_key_like_no_other_is_offered_none():
    assert mistake("zzz = 1").startswith("run.toml: unknown key 'zzz'. Known keys: backbones, batch, by, ")


def test_all_mistakes_are_told_at_once():
    message = mistake("zzz = 1\nseed = 'x'\n[generation]\ntop_p = 2")
    assert message.splitlines()[1:] == [
        "run.toml: seed: expected a whole number, found 'x'.",
        "run.toml: unknown key 'zzz'. Known keys: backbones, batch, by, cache, conditions, exploration, generation, ids, "
        "label_logprobs, limit, max_cost, models, out, preset, prices, prompt, prompts, repeats, seed, strict, tasks, use_cache.",
    ]
    assert message.splitlines()[0] == "run.toml: generation.top_p: input should be less than or equal to 1, found 2."


# ------------------------------------------------------------------------------------------------------ wrong values


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('conditions = "image"', "conditions: expected a list in square brackets, found 'image'."),
        ("conditions = [3]", "conditions.0: expected text in quotes, found 3."),
        ('tasks = "items.csv"', "tasks: expected a list in square brackets, found 'items.csv'."),
        ("tasks = [3]", "tasks.0: expected a table of keys and values, found 3."),
        ("models = [{}]", "models.0.model: this key is required."),
        (
            '[[models]]\nmodel = "x"\noptions = { k = [1] }',
            "models.0.options.k: expected text, a number, true or false, found [1].",
        ),
        ("generation = 3", "generation: expected a table of keys and values, found 3."),
        ("prompt = [3]", "prompt: expected a table of keys and values, found [3]."),
        ("seed = true", "seed: expected a whole number, found True."),
        ("seed = 1.5", "seed: expected a whole number, found 1.5."),
        ("strict = 1", "strict: expected true or false, found 1."),
        ('out = ["x"]', "out: expected text in quotes, found ['x']."),
        ("repeats = 0", "repeats: input should be greater than or equal to 1, found 0."),
        ("generation.temperature = -1", "generation.temperature: input should be greater than or equal to 0, found -1."),
        ("generation.temperature = nan", "generation.temperature: expected a finite number, found nan."),
        ("generation.temperature = inf", "generation.temperature: expected a finite number, found inf."),
        ('generation.temperature = "0"', "generation.temperature: expected a number, found '0'."),
        ("generation.top_p = 0", "generation.top_p: input should be greater than 0, found 0."),
        ("generation.max_tokens = 0", "generation.max_tokens: input should be greater than or equal to 1, found 0."),
        ("generation.max_tokens = 2.0", "generation.max_tokens: expected a whole number, found 2.0."),
        (
            '[[tasks]]\ndata = "x"\nanswer_is = "lettre"',
            "tasks.0.answer_is: input should be 'text', 'letter' or 'index', found 'lettre'.",
        ),
        (
            '[[tasks]]\ndata = "x"\ntask = "y"',
            "tasks.0: give either task (a registered name) or data (a file), not both and not neither.",
        ),
        ("tasks = [{}]", "tasks.0: give either task (a registered name) or data (a file), not both and not neither."),
        ("prompt.mine.examples = 3", "prompt.mine.examples: expected a list in square brackets, found 3."),
        ("prompt.mine.lettered = 0", "prompt.mine.lettered: expected true or false, found 0."),
    ],
)
def test_a_wrong_value_says_its_place_and_what_was_expected(text, said):
    assert mistake(text) == f"run.toml: {said}"


@pytest.mark.parametrize(("written", "limit"), [("100", 100), ("100.0", 100), ("0.25", 0.25), ("1", 1), ("1e3", 1000)])
def test_limits(written, limit):
    found = config(f"limit = {written}").limit
    assert (found, type(found)) == (limit, type(limit))


@pytest.mark.parametrize("written", ["0", "-3", "0.0", "-0.5", "1.0", "2.5", "nan", "inf", "-inf"])
def test_a_limit_that_is_neither_a_number_of_samples_nor_a_share(written):
    assert mistake(f"limit = {written}") == (
        f"run.toml: limit: {tomllib.loads('x = ' + written)['x']} is neither a whole number of samples, such as 100, "
        f"nor a fraction between 0 and 1, such as 0.1."
    )


@pytest.mark.parametrize("written", ["'x'", "true", "[1]"])
def test_a_limit_that_is_no_number(written):
    message = mistake(f"limit = {written}")
    assert message.startswith("run.toml: limit: expected a number, found ")
    assert "\n" not in message


# ------------------------------------------------------------------------------------------------------------- files


def test_relative_paths_of_data_start_from_the_file(tmp_path):
    path = tmp_path / "configs" / "run.toml"
    path.parent.mkdir()
    path.write_text(
        'out = "runs/x"\ncache = "c"\n[[tasks]]\ndata = "../a.csv"\nimages = "./p/"\n[[tasks]]\ntask = "t"\ndir = "/abs/d"'
    )
    values = read_run_file(path)
    assert values["tasks"] == [
        {"data": str(tmp_path / "a.csv"), "images": str(tmp_path / "configs" / "p")},
        {"task": "t", "dir": "/abs/d"},
    ]
    assert (values["out"], values["cache"]) == ("runs/x", "c")


def test_a_name_of_a_task_is_no_path(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text('tasks = ["viquae", 3]')
    assert read_run_file(path) == {"tasks": ["viquae", 3]}


def test_a_byte_order_mark_is_no_mistake(tmp_path):
    path = tmp_path / "run.toml"
    path.write_bytes(b"\xef\xbb\xbfseed = 3\n")
    assert read_run_file(path) == {"seed": 3}


def test_a_file_in_latin_1_names_its_line(tmp_path):
    path = tmp_path / "run.toml"
    path.write_bytes('seed = 3\nout = "données"\n'.encode("latin-1"))
    assert read_mistake(path) == f"Run file {path}:2: is not UTF-8. Save it as UTF-8."


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("seed = 3\nout = runs/x\n", "Invalid value (at line 2, column 7)"),
        ("seed = 3\nseed = 4\n", "Cannot overwrite a value (at line 2, column 9)"),
        ("[tasks", "Expected ']' at the end of a table declaration (at end of document)"),
        ("conditions: image", "Expected '=' after a key in a key/value pair (at line 1, column 11)"),
    ],
)
def test_broken_toml_names_the_line(tmp_path, text, said):
    path = tmp_path / "run.toml"
    path.write_text(text)
    assert read_mistake(path) == (f"Run file {path}: is not TOML: {said}. Texts stand in quotes, lists in square brackets.")


def test_a_file_that_is_not_there(tmp_path):
    path = tmp_path / "run.toml"
    assert read_mistake(path) == f"Run file {path}: cannot be read: No such file or directory. Name a TOML file."
    assert read_mistake(tmp_path) == f"Run file {tmp_path}: cannot be read: Is a directory. Name a TOML file."


def test_a_pipe_is_no_run_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match=r"pipe: is not a regular file\. Name a TOML file\."):
        read_run_file(tmp_path / "pipe")
