"""The run files of models: what each must say, the papers' facts, and how `--model` takes one."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from eyetest.commands.grid import GridOptions, read_config
from eyetest.commands.run import run
from eyetest.config import ModelConfig, read_run_file, run_config, with_model_files
from eyetest.errors import UsageError
from eyetest.models import command, huggingface, openai_settings
from eyetest.registry import split_spec, typed

ROOT = Path(__file__).parent.parent
FILES = {file.stem: file for file in sorted((ROOT / "configs" / "models").glob("*.toml"))}

MMSOC = {
    "llava-v1.5-7b": ("LLaMA-2-7B-Chat", 6.7, "CLIP ViT-L/14", 0.43),
    "llava-v1.5-13b": ("LLaMA-2-13B-Chat", 13.0, "CLIP ViT-L/14", 0.43),
    "instructblip-vicuna-7b": ("Vicuna-7B", 6.7, "EVA-ViT-G", 1.3),
    "instructblip-vicuna-13b": ("Vicuna-13B", 13.0, "EVA-ViT-G", 1.3),
    "instructblip-flan-t5-xl": ("Flan-T5-XL", 2.8, "EVA-ViT-G", 1.3),
    "instructblip-flan-t5-xxl": ("Flan-T5-XXL", 11.3, "EVA-ViT-G", 1.3),
    "blip2-opt-2.7b": ("OPT-2.7B", 2.7, "EVA-ViT-G", 1.3),
    "blip2-flan-t5-xl": ("Flan-T5-XL", 2.8, "EVA-ViT-G", 1.3),
    "blip2-flan-t5-xxl": ("Flan-T5-XXL", 11.3, "EVA-ViT-G", 1.3),
    "llama-adapter-v2": ("LLaMA-7B", 6.7, "CLIP ViT-L/14", 0.43),
}
"""arXiv 2402.14154, Table 13 (the two -xl by analogy: only Table 1 has them). It prints no size of LLaMA, Vicuna and T5-XL."""

ROLE = {
    "qwen2-vl-7b": "hf",
    "llava-next-llama3-8b": "hf",
    "llava-next-yi-34b": "server",
    "internvl2-llama3-76b": "server",
    "phi-3.5-vision": "server",
    "glm-4v-9b": "server",
    "minicpm-v-2.6": "server",
    "idefics2-8b": "hf",
}
"""The models of arXiv 2410.12329, and how each is reached."""

OTHERS = {"qwen2-vl-72b", "gpt-4v", "gpt-4o", "gpt-4.1-mini", "gemini-2.5-flash", "deepseek"}
OWN = {"own-vllm", "own-sglang", "own-llama.cpp"}

BACKENDS = {"hf": ("hf", huggingface.OPTIONS), "command": ("command", command.OPTIONS)}
OPENAI = ("openai", openai_settings.OPTIONS)


def model_of(name: str) -> ModelConfig:
    (model,) = run_config(read_run_file(FILES[name]), name).models
    return model


def test_there_is_a_file_for_every_model() -> None:
    assert len(MMSOC) == 10
    assert len(ROLE) == 8
    assert set(FILES) == {*MMSOC, *ROLE, *OTHERS, *OWN}


@pytest.mark.parametrize("name", FILES)
def test_a_file_says_everything(name: str) -> None:
    model = model_of(name)
    card = model.card
    assert card is not None
    assert model.name == name
    known = card.parameters, card.language_encoder, card.language_parameters, card.vision_encoder, card.vision_parameters
    assert all(known) == (card.route != "api"), "open weights: sizes and encoders; a service: none that are known"
    assert card.architecture
    assert card.licence
    assert bool(card.server) == (card.route == "server")
    assert bool(card.repository) == (card.route != "api")
    if card.parameters and card.language_parameters:
        assert card.language_parameters < card.parameters
        assert card.memory == round(2.4 * card.parameters)  # 2 bytes a parameter and 20 %


@pytest.mark.parametrize("name", FILES)
def test_the_backend_takes_the_spec_and_the_options(name: str) -> None:
    model = model_of(name)
    assert model.card is not None
    backend, options = BACKENDS.get(model.card.route or "", OPENAI)
    called, _, argument = model.model.partition(":")
    assert called == backend
    assert split_spec(argument, options, what=name)[1] == {}, "options stand in the table"
    assert set(model.options) <= set(options)
    assert {key: typed(key, str(value), options, what=name) for key, value in model.options.items()} == model.options


@pytest.mark.parametrize("name", [name for name in FILES if model_of(name).card.route == "hf"])  # type: ignore[union-attr]
def test_a_checkpoint_is_its_repository(name: str) -> None:
    model = model_of(name)
    assert model.card is not None
    assert model.model == f"hf:{model.card.repository}"
    assert "trust_remote_code" not in model.options, "what needs it is reached through a server"


@pytest.mark.parametrize("name", [name for name in FILES if model_of(name).card.route == "server"])  # type: ignore[union-attr]
def test_a_server_command_serves_what_is_asked_for(name: str) -> None:
    model = model_of(name)
    assert model.card is not None
    words = shlex.split(model.card.server or "")
    port = model.options["base_url"].split(":")[2].removesuffix("/v1")  # type: ignore[union-attr]
    assert port == (words[words.index("--port") + 1] if "--port" in words else "8000")
    if name != "own-llama.cpp":  # answers to any name
        assert model.model == f"openai:{model.card.repository}"
    assert model.card.repository in words
    if words[0] == "vllm":
        remote = {"internvl2-llama3-76b", "phi-3.5-vision", "glm-4v-9b", "minicpm-v-2.6"}
        assert ("--trust-remote-code" in words) == (name in remote)
        assert all(json.loads(word) for word in words if word.startswith("{"))


@pytest.mark.parametrize("name", MMSOC)
def test_the_facts_of_table_13(name: str) -> None:
    card = model_of(name).card
    assert card is not None
    found = card.language_encoder, card.language_parameters, card.vision_encoder, card.vision_parameters
    assert found == MMSOC[name]


@pytest.mark.parametrize("name", ROLE)
def test_the_route_of_the_second_papers_models(name: str) -> None:
    card = model_of(name).card
    assert card is not None
    assert card.route == ROLE[name]


def test_the_page_names_every_file_with_its_size() -> None:
    lines = (ROOT / "docs" / "models-of-the-papers.md").read_text(encoding="utf-8").splitlines()
    for name in FILES:
        card = model_of(name).card
        assert card is not None
        (line,) = [line for line in lines if line.startswith(f"| `{name}` |")]
        if card.parameters:
            assert f"| {card.parameters} | {card.memory:g} |" in line, name
        assert f"| {card.route} |" in line, name


# --- a model file among flags and in run files --------------------------------------------------------------------------


def written(folder: Path, text: str) -> str:
    (folder / "mine.toml").write_text(text, encoding="utf-8")
    return str(folder / "mine.toml")


MINE = '[[models]]\nname = "mine"\nmodel = "chance"\noptions = { x = 1, y = 2 }\ncard = { parameters = 7, licence = "MIT" }\n'


def test_a_model_file_as_run_file_takes_its_data_from_flags() -> None:
    config, _ = read_config(FILES["idefics2-8b"], GridOptions(task=("eyechart_flags",)))
    assert [model.name for model in config.models] == ["idefics2-8b"]
    assert [task.task for task in config.tasks] == ["eyechart_flags"]


def test_several_model_files_and_others_in_one_run(tmp_path: Path) -> None:
    mine = written(tmp_path, MINE)
    specs = (str(FILES["idefics2-8b"]), f"again={mine}", "chance", "named=hf:a/b.toml")
    config, _ = read_config(None, GridOptions(task=("eyechart_flags",), model=specs))
    assert [(model.name, model.model) for model in config.models] == [
        ("idefics2-8b", "hf:HuggingFaceM4/idefics2-8b"),
        ("again", "chance"),
        (None, "chance"),
        ("named", "hf:a/b.toml"),
    ]
    assert config.models[1].card is not None
    assert config.models[1].card.parameters == 7


def test_what_stands_beside_a_model_file_goes_before(tmp_path: Path) -> None:
    given = {"model": written(tmp_path, MINE), "options": {"x": 3}, "card": {"parameters": 8.5}}
    (model,) = run_config(with_model_files({"models": [given]}), "t").models
    assert (model.name, model.options) == ("mine", {"x": 3, "y": 2})
    assert model.card is not None
    assert (model.card.parameters, model.card.licence) == (8.5, "MIT")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "mine.toml: holds nothing; expected one [[models]] table with a model of its own"),
        (MINE + MINE, "holds models; expected one [[models]] table"),
        ("seed = 1\n" + MINE, "holds seed, models; expected one"),
        ('models = ["other.toml"]', "expected one [[models]] table with a model of its own"),
        ("[[models]]\nname = 'x'", "Model file {file}: models.0.model: this key is required."),
        (MINE.replace("licence", "license"), "unknown key 'license' in [models.0.card]. Did you mean 'licence'?"),
        (MINE.replace("= 7", "= -7"), "models.0.card.parameters: input should be greater than 0, found -7"),
    ],
)
def test_a_model_file_that_is_none(text: str, message: str, tmp_path: Path) -> None:
    file = written(tmp_path, text)
    with pytest.raises(UsageError) as error:
        read_config(None, GridOptions(model=(file,)))
    assert message.replace("{file}", file) in str(error.value)


def test_a_model_file_takes_options_after_commas(tmp_path: Path) -> None:
    file = written(
        tmp_path, '[[models]]\nmodel = "openai:x"\noptions = { concurrency = 4, base_url = "http://localhost:8000/v1" }'
    )
    config, _ = read_config(None, GridOptions(model=(f"mine={file},base_url=http://localhost:9/v1,timeout=7",)))
    [model] = config.models
    assert (model.name, model.model) == ("mine", "openai:x")
    assert model.options == {"concurrency": 4, "base_url": "http://localhost:9/v1", "timeout": "7"}


def test_a_model_file_that_is_not_there() -> None:
    with pytest.raises(UsageError, match=r"Run file nowhere\.toml: cannot be read: No such file"):
        read_config(None, GridOptions(model=("nowhere.toml",)))


def test_a_card_is_in_the_manifest_and_decides_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def manifest(parameters: str) -> Any:
        text = f'[[models]]\nname = "mine"\nmodel = "chance"\n{parameters}'
        options = GridOptions(
            task=("eyechart_flags",), model=(written(tmp_path, text), "majority"), limit="5", out="run", no_cache=True
        )
        assert run(grid=options) == 0
        return json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))

    none, seven, eight = manifest(""), manifest("card = { parameters = 7 }"), manifest("card = { parameters = 8 }")
    assert none["spec"] == seven["spec"] == eight["spec"]  # or the second run would have been refused
    assert "card" not in json.dumps(none["spec"]["models"])
    assert "card" not in none["models"]["mine"]
    assert eight["models"]["mine"]["card"] == {"parameters": 8.0}
    assert "card" not in eight["models"]["majority"]
