"""Run files: a grid of tasks x conditions x models x prompts x repeats as TOML, checked before anything is read.

Every key is documented by its field. An unknown key is an error that names it, its place and the nearest known key.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator, model_validator

from eyetest.errors import UsageError, nearest
from eyetest.types import Kind

AnswerForm = Literal["text", "letter", "index"]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


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

    @model_validator(mode="after")
    def _one_source(self) -> DataConfig:
        if (self.task is None) == (self.data is None):
            raise ValueError("give either task (a registered name) or data (a file), not both and not neither")
        return self


class ModelConfig(_Section):
    """A model."""

    model: str = Field(description="NAME or NAME:ARGUMENT, e.g. openai:gpt-4o, hf:PATH, chance")
    name: str | None = Field(None, description="name for results; the spec when left out")
    options: dict[str, str | int | float | bool] = Field(default_factory=dict, description="the backend's options")


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


class GenerationConfig(_Section):
    """How answers are produced."""

    temperature: Annotated[float, Field(ge=0, description="0 is greedy; equal requests are then shared")] = 0.0
    top_p: Annotated[float, Field(gt=0, le=1, description="nucleus mass")] = 1.0
    max_tokens: Annotated[int, Field(ge=1, description="longest answer in tokens")] = 256


class RunConfig(_Section):
    """A whole run."""

    tasks: tuple[DataConfig, ...] = Field((), description="datasets")
    models: tuple[ModelConfig, ...] = Field((), description="models")
    conditions: tuple[str, ...] = Field(("image",), description="viewing conditions; compose with +")
    prompts: tuple[str, ...] = Field(("default",), description="prompt names")
    prompt: dict[str, PromptConfig] = Field(default_factory=dict, description="prompts of your own, by name")
    generation: GenerationConfig = Field(GenerationConfig(), description="how answers are produced")
    repeats: Annotated[int, Field(ge=1, description="how often each question is asked")] = 1
    seed: int = Field(0, description="all randomness derives from it")
    limit: int | float | None = Field(None, description="samples per task: a count, or a fraction below 1")
    ids: tuple[str, ...] = Field((), description="only these sample ids")
    by: tuple[str, ...] = Field((), description="slices: metadata.FIELD")
    out: str | None = Field(None, description="run directory")
    cache: str | None = Field(None, description="response cache file shared between runs")
    use_cache: bool = Field(True, description="false: no response cache")
    strict: bool = Field(False, description="any dropped row is an error")

    @field_validator("tasks", "models", mode="before")
    @classmethod
    def _short_forms(cls, value: Any, info: ValidationInfo) -> Any:
        key = {"tasks": "task", "models": "model"}[info.field_name or ""]
        return tuple({key: one} if isinstance(one, str) else one for one in value) if isinstance(value, list | tuple) else value

    @field_validator("conditions", "prompts", "ids", "by", mode="before")
    @classmethod
    def _lists(cls, value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value

    @field_validator("limit")
    @classmethod
    def _limit(cls, value: int | float | None) -> int | float | None:
        if value is None or (value > 0 and (isinstance(value, int) or value < 1 or value == int(value))):
            return int(value) if isinstance(value, float) and value >= 1 else value
        raise ValueError("give a whole number of samples, or a fraction between 0 and 1")


_SECTIONS: Mapping[str, type[BaseModel]] = {
    "tasks": DataConfig,
    "models": ModelConfig,
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


def _message(error: ValidationError, where: str) -> str:
    lines = []
    for item in error.errors(include_url=False):
        location = item["loc"]
        if item["type"] == "extra_forbidden":
            key = str(location[-1])
            known = _known(location[:-1])
            inside = f" in [{_place(location[:-1])}]" if len(location) > 1 else ""
            lines.append(f"{where}: unknown key {key!r}{inside}.{nearest(key, known)} Known keys: {', '.join(known)}.")
        else:
            said = item["msg"].removeprefix("Value error, ")
            got = "" if item["type"] in ("missing", "value_error") else f" (found {item['input']!r})"
            lines.append(f"{where}: {_place(location) or 'run'}: {said}{got}.")
    return "\n".join(lines)


def run_config(values: Mapping[str, Any], where: str) -> RunConfig:
    """Check values against the schema. `where`: the file or command line, for messages. Raises UsageError."""
    try:
        return RunConfig.model_validate(values)
    except ValidationError as error:
        raise UsageError(_message(error, where)) from None


def read_run_file(path: Path) -> dict[str, Any]:
    """The values of a TOML run file; relative paths in it are relative to the file. Raises UsageError."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UsageError(f"Run file {path}: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise UsageError(f"Run file {path}: is not UTF-8. Save it as UTF-8.") from None
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"Run file {path}: is not TOML: {error}.") from None
    tasks = values.get("tasks")
    for task in tasks if isinstance(tasks, list) else ():
        if isinstance(task, dict):
            for key in ("data", "dir", "images"):
                if isinstance(task.get(key), str):
                    task[key] = os.path.normpath(path.parent / task[key])
    return values
