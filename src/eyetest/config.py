"""Run files: a grid of tasks x conditions x models x prompts x repeats as TOML, checked before anything is read.

Every key is documented by its field. An unknown key is an error that names it, its place and the nearest known key.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeGuard, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator, model_validator

from eyetest.errors import UsageError, nearest, shown
from eyetest.types import Kind

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

AnswerForm = Literal["text", "letter", "index"]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


EMBEDDED, HUB = "embedded", "hub"
"""Values of `dir` for the small set inside eyetest that has a task's layout, and for the published copy."""


def means_hub(directory: str) -> bool:
    """Whether a `dir` is the published copy: `hub` at the card's revision, or `hub@REVISION`."""
    return directory.partition("@")[0] == HUB


def stands_for_folder(directory: str) -> bool:
    """Whether a `dir` is no folder of the user's."""
    return directory == EMBEDDED or means_hub(directory)


class DataConfig(_Section):
    """A dataset: either a registered `task` or the user's own `data` file."""

    task: str | None = Field(None, description="name of a registered task")
    dir: str | None = Field(None, description="folder that holds the task's files")
    split: str | None = Field(None, description="split to load; the task's first when left out")
    data: str | None = Field(None, description="JSONL, CSV, TSV, Parquet or XLSX file with one question a row")
    name: str | None = Field(None, description="name for results; the data file's name when left out")
    images: str | None = Field(None, description="folder that the picture paths are relative to; the data file's when left out")
    columns: dict[str, str] = Field(default_factory=dict, description="our column name -> the file's")
    answer_is: AnswerForm = Field("text", description="how the file writes the right choice")
    match: Literal["tokens", "contains"] = Field("tokens", description="how short answers are compared")
    format: str | None = Field(None, description="layout of the task's folder; found out when left out")
    knowledge: str | None = Field(None, description="JSONL file of knowledge questions: id, k")
    captions: str | None = Field(None, description="JSONL file of captions: id, caption")
    positive: str | None = Field(None, description="of two labels, the one whose misses and false alarms matter")

    @model_validator(mode="after")
    def _one_source(self) -> DataConfig:
        if (self.task is None) == (self.data is None):
            raise ValueError("give either task (a registered name) or data (a file), not both and not neither")
        return self


_Size = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class ModelCard(_Section):
    """Facts about a model, for reports: no part of what is asked, so that a correction starts no other run. Sizes in 10^9."""

    architecture: str | None = Field(None, description="family that shares a design; one series of the size chart")
    parameters: _Size | None = Field(None, description="parameters of the whole model, in billions")
    language_encoder: str | None = Field(None, description="language model")
    language_parameters: _Size | None = Field(None, description="its parameters, in billions")
    vision_encoder: str | None = Field(None, description="vision encoder")
    vision_parameters: _Size | None = Field(None, description="its parameters, in billions")
    memory: _Size | None = Field(None, description="GB of accelerator memory needed, an estimate")
    route: Literal["hf", "server", "command", "api"] | None = Field(None, description="how it is reached")
    server: str | None = Field(None, description="command that starts its server")
    repository: str | None = Field(None, description="where the weights are")
    licence: str | None = Field(None, description="licence of the weights")
    notes: str | None = Field(None, description="what else to know")


class ModelConfig(_Section):
    """A model."""

    model: str = Field(description="NAME or NAME:ARGUMENT, e.g. openai:gpt-4o, hf:PATH, chance; or a TOML file with one model")
    name: str | None = Field(None, description="name for results; the spec when left out")
    options: dict[str, str | int | float | bool] = Field(default_factory=dict, description="the backend's options")
    card: ModelCard | None = Field(None, description="facts about the model, for reports")


class PromptConfig(_Section):
    """A prompt of the user's own."""

    system: str | None = Field(None, description="system message")
    templates: dict[Kind, str] = Field(default_factory=dict, description="jinja2 text of the user's turn for each kind")
    lettered: bool = Field(True, description="whether the options carry letters")
    examples: tuple[dict[str, Any], ...] = Field((), description="few-shot examples: question, answer, choices, image")

    @field_validator("examples", mode="before")
    @classmethod
    def _list(cls, value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value

    @field_validator("examples")
    @classmethod
    def _texts(cls, value: tuple[dict[str, Any], ...]) -> tuple[dict[str, Any], ...]:
        for number, example in enumerate(value, 1):
            for key, found in example.items():
                listed = found if key == "choices" and isinstance(found, list) else [found]
                if listed is not found and key == "choices":
                    raise ValueError(f"example {number}: choices is {shown(found)}; expected a list of texts")
                if not all(isinstance(one, str | int | float) for one in listed):
                    raise ValueError(
                        f"example {number}: {key} is {shown(found)}; expected {'texts' if listed is found else 'a text'}"
                    )
        return value


class GenerationConfig(_Section):
    """How answers are produced."""

    temperature: Annotated[float, Field(ge=0, allow_inf_nan=False, description="0 is greedy; equal requests are then shared")] = (
        0.0
    )
    top_p: Annotated[float, Field(gt=0, le=1, description="nucleus mass")] = 1.0
    max_tokens: Annotated[int, Field(ge=1, le=2**31 - 1, description="longest answer in tokens")] = 256


Preset = Literal["mmsoc", "role_of_llms"]

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "mmsoc": {"generation": {"temperature": 1.0, "top_p": 0.9, "max_tokens": 256}, "repeats": 3},
    "role_of_llms": {
        "generation": {"temperature": 0.0, "max_tokens": 256},
        "conditions": ["image", "no_image", "knowledge"],
    },
}
"""Settings of a paper, by name: what the run itself says goes before. `mmsoc`: arXiv 2402.14154, appendix D.1. `role_of_llms`:
arXiv 2410.12329, greedy, with the three conditions that serve all its tables; its length of answers is not printed.
"""


class RunConfig(_Section):
    """A whole run."""

    preset: Preset | None = Field(None, description="settings of a paper; what the run file says itself goes before")

    tasks: tuple[DataConfig, ...] = Field((), description="datasets")
    models: tuple[ModelConfig, ...] = Field((), description="models")
    conditions: tuple[str, ...] = Field(("image",), description="viewing conditions; compose with +")
    prompts: tuple[str, ...] = Field((), description="prompt names; your own, else the task's default, when left out")
    prompt: dict[str, PromptConfig] = Field(default_factory=dict, description="prompts of your own, by name")
    generation: GenerationConfig = Field(GenerationConfig(), description="how answers are produced")
    repeats: Annotated[int, Field(ge=1, le=10_000, description="how often each question is asked")] = 1
    seed: Annotated[int, Field(ge=0, lt=2**63, description="all randomness derives from it")] = 0
    limit: int | float | None = Field(None, description="samples per task: a count, or a fraction below 1")
    ids: tuple[str, ...] = Field((), description="only these sample ids")
    by: tuple[str, ...] = Field((), description="slices: metadata.FIELD")
    out: str | None = Field(None, description="run directory")
    cache: str | None = Field(None, description="response cache file shared between runs")
    use_cache: bool = Field(True, description="false: no response cache")
    strict: bool = Field(False, description="any dropped row is an error")
    label_logprobs: bool = Field(False, description="ask for the probability of each option, where the backend can")
    backbones: dict[str, str] = Field(
        default_factory=dict, description="model -> the text model that it is built on, also in the run"
    )
    exploration: bool = Field(False, description="adjust tests of conditions and of models by Benjamini-Hochberg instead of Holm")
    prices: str | None = Field(None, description="table of prices that goes before the packaged one")
    max_cost: float | None = Field(None, gt=0, allow_inf_nan=False, description="USD that all calls of the run may cost")
    batch: bool = Field(False, description="ask openai: models through the Batch API: cheaper, within a day")

    @field_validator("tasks", "models", mode="before")
    @classmethod
    def _short_forms(cls, value: Any, info: ValidationInfo) -> Any:
        key = {"tasks": "task", "models": "model"}[info.field_name or ""]
        return tuple({key: one} if isinstance(one, str) else one for one in value) if isinstance(value, list | tuple) else value

    @field_validator("conditions", "prompts", "ids", "by", mode="before")
    @classmethod
    def _lists(cls, value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value

    @model_validator(mode="after")
    def _backbones_are_models(self) -> RunConfig:
        named = {one.name or one.model for one in self.models}
        for model, backbone in self.backbones.items():
            if model == backbone or backbone in self.backbones:
                raise ValueError(f"backbones: {backbone!r} stands for {model!r}, and cannot have a text model itself or be it")
        for pair in self.backbones.items() if named else ():
            for one in pair:
                if one not in named:
                    raise ValueError(
                        f"backbones: {one!r} is not a model of this run.{nearest(one, named)} Models: {', '.join(sorted(named))}"
                    )
        return self

    @field_validator("limit")
    @classmethod
    def _limit(cls, value: int | float | None) -> int | float | None:
        if value is None or (value > 0 and (isinstance(value, int) or value < 1)):
            return value
        if value > 1 and float(value).is_integer():
            return int(value)
        raise ValueError(
            f"{value} is neither a whole number of samples, such as 100, nor a fraction between 0 and 1, such as 0.1"
        )


_SECTIONS: Mapping[str, type[BaseModel]] = {
    "tasks": DataConfig,
    "models": ModelConfig,
    "card": ModelCard,
    "prompt": PromptConfig,
    "generation": GenerationConfig,
}


def _known(path: Iterable[str | int]) -> list[str]:
    """Keys that are allowed where an unknown key was found."""
    section: Any = RunConfig
    for part in path:
        if isinstance(part, int):
            continue
        found = section.model_fields.get(part) if isinstance(section, type) and issubclass(section, BaseModel) else None
        if found is None:
            break
        section = _SECTIONS.get(part, section)
    return sorted(section.model_fields)


def _place(location: Iterable[str | int]) -> str:
    return ".".join(str(part) for part in location)


_EXPECTED: Mapping[str, str] = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "string_type": "text in quotes",
    "tuple_type": "a list in square brackets",
    "dict_type": "a table of keys and values",
    "model_type": "a table of keys and values",
    "model_attributes_type": "a table of keys and values",
}
"""What was expected, for each kind of mistake whose own message speaks of Python."""

_UNION_MEMBERS = frozenset({"str", "int", "float", "bool"})
"""What pydantic appends to a place for each alternative that did not fit."""


def _line(item: ErrorDetails) -> str:
    location = item["loc"]
    if item["type"] == "extra_forbidden":
        key, known = str(location[-1]), _known(location[:-1])
        inside = f" in [{_place(location[:-1])}]" if len(location) > 1 else ""
        return f"unknown key {key!r}{inside}.{nearest(key, known)} Known keys: {', '.join(known)}."
    if item["type"] == "missing":
        return f"{_place(location)}: this key is required."
    if location[-1:] == ("[key]",):
        key, kinds = str(item["input"]), get_args(Kind)
        return f"unknown key {key!r} in [{_place(location[:-2])}].{nearest(key, kinds)} Known keys: {', '.join(kinds)}."
    if item["type"] == "value_error":
        return f"{_place(location) or 'run'}: {item['msg'].removeprefix('Value error, ')}."
    if item["type"] in _EXPECTED:
        return f"{_place(location)}: expected {_EXPECTED[item['type']]}, found {shown(item['input'])}."
    return f"{_place(location)}: {item['msg'][:1].lower()}{item['msg'][1:]}, found {shown(item['input'])}."


def _message(error: ValidationError, where: str) -> str:
    """One line a mistake; the alternatives of a union that fits none are one mistake."""
    lines: dict[tuple[str | int, ...], str] = {}
    for item in error.errors(include_url=False):
        place = item["loc"]
        if len(place) > 1 and place[-1] in _UNION_MEMBERS and item["type"] != "extra_forbidden":
            place = place[:-1]
            form = "a number" if place == ("limit",) else "text, a number, true or false"
            lines[place] = f"{where}: {_place(place)}: expected {form}, found {shown(item['input'])}."
        else:
            lines[place] = f"{where}: {_line(item)}"
    return "\n".join(lines.values())


DEEPEST = 8
"""Tables and lists within each other in a run file; the deepest that means anything is `prompt.NAME.examples[N].choices[N]`."""


def _check_values(values: Mapping[str, Any], where: str) -> None:
    """Raise UsageError on what no key can hold: NUL characters, numbers over 64 bits, endless nesting."""
    level: list[tuple[tuple[str | int, ...], Any]] = [((), values)]
    for _ in range(DEEPEST):
        inner: list[tuple[tuple[str | int, ...], Any]] = []
        for place, value in level:
            if isinstance(value, Mapping):
                inner += [((*place, str(key)), one) for key, one in value.items()]
            elif isinstance(value, list | tuple):
                inner += [((*place, number), one) for number, one in enumerate(value)]
            elif isinstance(value, str) and "\0" in value:
                raise UsageError(f"{where}: {_place(place)}: holds a NUL character, which no name or path may hold.")
            elif isinstance(value, int) and not -(2**63) <= value < 2**63:
                raise UsageError(f"{where}: {_place(place)}: the number is too large; the largest is {2**63 - 1}.")
        level = inner
    if level:
        raise UsageError(f"{where}: {_place(level[0][0][:2])} is nested too deeply. A run file needs {DEEPEST} levels at most.")


def _with_preset(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """The values with those of their preset where they have none of their own."""
    name = values.get("preset")
    preset = PRESETS.get(name, {}) if isinstance(name, str) else {}
    own = values.get("generation", {})
    generation = {**preset.get("generation", {}), **own} if isinstance(own, Mapping) else own
    return {**preset, **values, **({"generation": generation} if generation else {})}


def run_config(values: Mapping[str, Any], where: str) -> RunConfig:
    """Check values against the schema. `where`: the file or command line, for messages. Raises UsageError."""
    _check_values(values, where)
    try:
        return RunConfig.model_validate(_with_preset(values))
    except ValidationError as error:
        raise UsageError(_message(error, where)) from None


def read_run_file(path: Path) -> dict[str, Any]:
    """The values of a TOML run file. Raises UsageError.

    `data`, `dir`, `images`, `knowledge`, `captions` and `prices` are relative to the file; `out`, `cache` and models to where the
    command runs.
    """
    try:
        if path.exists() and not path.is_file() and not path.is_dir():  # a pipe would wait for a writer, a device may never end
            raise UsageError(f"Run file {path}: is not a regular file. Name a TOML file.")
        values = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UsageError(f"Run file {path}: cannot be read: {error.strerror}. Name a TOML file.") from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise UsageError(f"Run file {path}:{line}: is not UTF-8. Save it as UTF-8.") from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"Run file {path}: is not TOML: {error}. Texts stand in quotes, lists in square brackets.") from None
    except ValueError:  # what int() says of a number with thousands of digits
        raise UsageError(
            f"Run file {path}: holds a number with too many digits. Write a smaller one, or a text in quotes."
        ) from None
    except RecursionError:
        raise UsageError(f"Run file {path}: is nested too deeply. A run file needs {DEEPEST} levels at most.") from None
    if isinstance(values.get("prices"), str):
        values["prices"] = os.path.normpath(path.parent / values["prices"])
    tasks = values.get("tasks")
    for task in tasks if isinstance(tasks, list) else ():
        if isinstance(task, dict):
            for key in ("data", "dir", "images", "knowledge", "captions"):
                if isinstance(task.get(key), str) and not stands_for_folder(task[key]):
                    task[key] = os.path.normpath(path.parent / task[key])
    return values


MODEL_FILE = ".toml"
"""What a model spec ends in that is a file with one model, e.g. `configs/models/llava-v1.5-7b.toml`."""


def with_model_files(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values with each model that is a file replaced by the model that the file holds; name, options and card given beside
    it go before. The file is relative to where the command runs. Raises UsageError.
    """
    models = values.get("models")
    return {**values, "models": [_opened(one) for one in models]} if isinstance(models, list) else dict(values)


def _opened(model: Any) -> Any:
    given: Any = {"model": model} if isinstance(model, str) else model
    spec = given.get("model") if isinstance(given, Mapping) else None
    if isinstance(spec, str) and (cut := spec.find(f"{MODEL_FILE},")) > 0 and ":" not in spec[:cut]:
        spec, _, written = spec[:cut] + MODEL_FILE, "", spec[cut + len(MODEL_FILE) + 1 :]
        options = dict(one.partition("=")[::2] for one in written.split(","))
        given = {**given, "model": spec, "options": {**given.get("options", {}), **options}}
    if not _is_file(spec):
        return model
    values = read_run_file(Path(spec))
    found = values.get("models")
    one: Any = found[0] if isinstance(found, list) and len(found) == 1 else None
    one = {"model": one} if isinstance(one, str) else one
    if len(values) != 1 or not isinstance(one, Mapping) or _is_file(one.get("model")):
        raise UsageError(
            f"Model file {spec}: holds {', '.join(values) or 'nothing'}; expected one [[models]] table with a model of its own, "
            f"and nothing else. Give a whole run as the run file: eyetest run {spec}."
        )
    run_config(values, f"Model file {spec}")
    beside = {key: value for key, value in given.items() if key != "model"}
    tables = {
        key: {**one[key], **beside[key]}
        for key in ("options", "card")
        if isinstance(one.get(key), Mapping) and isinstance(beside.get(key), Mapping)
    }
    return {**one, **beside, **tables}


def _is_file(spec: Any) -> TypeGuard[str]:
    return isinstance(spec, str) and spec.endswith(MODEL_FILE) and ":" not in spec
