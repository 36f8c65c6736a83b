"""The Hugging Face backend on a tiny random LLaVA-1.5: batching, failures and labels must not change an answer."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import huggingface_hub
import numpy as np
import PIL.Image
import pytest
import torch
from transformers import AutoModelForImageTextToText, AutoProcessor
from transformers.utils import logging as transformers_logging

from eyetest.errors import MissingExtraError, ModelError, UsageError
from eyetest.models import huggingface, huggingface_engine
from eyetest.models.huggingface import HuggingFaceModel, hf
from eyetest.models.huggingface_engine import Engine
from eyetest.types import Generation, Image, Message, Request, Response, Usage
from tiny_llava import PICTURE_TOKENS, POSITIONS, build

torch.set_num_threads(1)

QUESTION = "What is written in the image?"
SHORT = Generation(max_tokens=6)
LABELS = ("yes", "no", "not offensive at all")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("checkpoint") / "tiny-llava")


@pytest.fixture(scope="module")
def model(folder: Path) -> Iterator[HuggingFaceModel]:
    """Batches of 8; the tests that need another size build their own."""
    with_defaults = tiny(folder)
    yield with_defaults
    with_defaults.close()


def tiny(folder: Path, **options: str) -> HuggingFaceModel:
    made = hf(str(folder), options, 0)
    assert isinstance(made, HuggingFaceModel)
    return made


def picture(seed: int, width: int = 64, height: int = 40, mode: str = "RGB") -> Image:
    noise = np.random.default_rng(seed).integers(0, 256, (height, width, len(mode)), dtype=np.uint8)
    buffer = io.BytesIO()
    PIL.Image.fromarray(noise).save(buffer, "PNG")
    return Image(data=buffer.getvalue())


def opened(image: Image) -> PIL.Image.Image:
    return PIL.Image.open(io.BytesIO(image.data or b""))


def ask(*content: str | Image, generation: Generation = SHORT, labels: tuple[str, ...] = ()) -> Request:
    return Request((Message("user", content),), generation, labels)


def mixed() -> list[Request]:
    """Every shape of conversation: one picture, none, two, a system message, earlier turns, scripts, lengths."""
    shot = (Message("user", (picture(5), "Is it red?")), Message("assistant", ("no",)))
    return [
        ask(picture(0), QUESTION),
        ask(QUESTION),
        ask(picture(1, 30, 80), QUESTION + " Answer yes or no, and mind the small print at the bottom. " * 3),
        ask("Which of these is a square?", picture(2), picture(3, 20, 20)),
        ask("¿Qué pone? 写着什么？ ما المكتوب؟ 🙂", picture(4)),
        Request((Message("system", ("Be brief.",)), *shot, Message("user", (picture(6), QUESTION))), SHORT),
        Request((Message("system", ("Be brief.",)), Message("user", ("Is the sky red?",))), SHORT),
        ask(picture(0), "Is it red?"),
        ask(""),
    ]


def answers(model: HuggingFaceModel, requests: Sequence[Request]) -> list[Response]:
    """Responses in the order of the requests, without their latency; each request must be answered once."""
    found = list(model.generate(iter(requests)))
    assert sorted(id(request) for request, _ in found) == sorted(map(id, requests))
    by_request = {id(request): replace(response, latency=0.0) for request, response in found}
    return [by_request[id(request)] for request in requests]


def reference(folder: Path, request: Request, max_tokens: int) -> list[int]:
    """The greedy tokens of transformers alone, without this backend."""
    processor = AutoProcessor.from_pretrained(folder)
    llava = AutoModelForImageTextToText.from_pretrained(folder).eval()
    (message,) = request.messages
    parts = [
        {"type": "text", "text": part} if isinstance(part, str) else {"type": "image", "image": opened(part)}
        for part in message.content
    ]
    inputs = processor.apply_chat_template(
        [{"role": "user", "content": parts}], add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt"
    )
    output = llava.generate(**inputs, do_sample=False, max_new_tokens=max_tokens)
    return [int(token) for token in output[0, inputs["input_ids"].shape[1] :]]


# ---------------------------------------------------------------------------------------------- batching


def test_alone_in_a_batch_and_mixed_give_the_same_answers(folder: Path, model: HuggingFaceModel) -> None:
    requests = mixed()
    together = answers(model, requests)
    assert answers(tiny(folder, batch_size="1"), requests) == together
    assert answers(tiny(folder, batch_size="3"), requests[::-1]) == together[::-1]
    assert len({response.text for response in together}) == len(requests)  # the answers are sensitive to all of it


def test_equals_transformers_alone(folder: Path, model: HuggingFaceModel) -> None:
    decode = AutoProcessor.from_pretrained(folder).tokenizer.decode
    for request in (ask(picture(0), QUESTION), ask(QUESTION)):
        (answer,) = answers(model, [request])
        assert answer.text == decode(reference(folder, request, 6), skip_special_tokens=True)
        assert answer.status == "truncated"


def test_counts_picture_tokens_and_written_tokens(model: HuggingFaceModel) -> None:
    one, two = answers(model, [ask(picture(0), QUESTION), ask(picture(0), picture(1), QUESTION)])
    assert two.usage is not None
    assert one.usage == Usage(input_tokens=two.usage.input_tokens - PICTURE_TOKENS - 1, output_tokens=6)  # 1: a newline after it


def test_token_limits_are_kept_for_each_request(model: HuggingFaceModel) -> None:
    limits = (1, 5, 2, 5, 9)
    requests = [ask(picture(i), QUESTION, generation=Generation(max_tokens=limit)) for i, limit in enumerate(limits)]
    found = answers(model, requests)
    assert [answer.usage.output_tokens for answer in found if answer.usage] == list(limits)
    assert {answer.status for answer in found} == {"truncated"}


def test_ends_at_the_checkpoints_own_stop_token(folder: Path, tmp_path: Path) -> None:
    request = ask(picture(0), QUESTION, generation=Generation(max_tokens=8))
    tokens = reference(folder, request, 8)
    third = next(place for place in range(2, 8) if tokens[place] not in tokens[:place])
    copy = copied(folder, tmp_path, {"generation_config.json": {"eos_token_id": [2, tokens[third]]}})
    other = ask(QUESTION, generation=request.generation)  # goes on after its neighbour in the batch has ended
    ended, going_on = answers(tiny(copy), [request, other])
    assert ended.status == "ok"
    assert ended.text == AutoProcessor.from_pretrained(folder).tokenizer.decode(tokens[:third], skip_special_tokens=True)
    assert ended.usage is not None
    assert ended.usage.output_tokens == third + 1
    assert going_on == answers(tiny(copy), [other])[0]


def test_shipped_sampling_defaults_do_not_count(folder: Path, model: HuggingFaceModel, tmp_path: Path) -> None:
    shipped = {"do_sample": True, "temperature": 5.0, "top_k": 3, "top_p": 0.5, "repetition_penalty": 3.0, "num_beams": 3}
    copy = copied(folder, tmp_path, {"generation_config.json": {**shipped, "eos_token_id": 2}})
    assert answers(tiny(copy), mixed()) == answers(model, mixed())


def test_a_tokenizer_without_a_padding_token_pads_with_its_end(folder: Path, model: HuggingFaceModel, tmp_path: Path) -> None:
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    del settings["pad_token"]
    copy = copied(folder, tmp_path, {"tokenizer_config.json": settings})
    assert answers(tiny(copy), mixed()) == answers(model, mixed())


def test_a_template_that_writes_the_begin_token_does_not_double_it(folder: Path, model: HuggingFaceModel, tmp_path: Path) -> None:
    copy = copied(folder, tmp_path, {})
    template = (folder / "chat_template.jinja").read_text()
    (copy / "chat_template.jinja").write_text("{{ bos_token }}" + template)
    assert answers(tiny(copy), mixed()) == answers(model, mixed())


def test_bfloat16_runs(folder: Path) -> None:
    found = answers(tiny(folder, dtype="bfloat16"), [replace(request, labels=LABELS) for request in mixed()])
    assert {answer.status for answer in found} == {"truncated"}


# ---------------------------------------------------------------------------------------------- sampling


def test_sampled_answers_depend_on_their_seed_alone(folder: Path, model: HuggingFaceModel) -> None:
    def sampled(seed: int | None) -> Request:
        return ask(picture(0), QUESTION, generation=Generation(temperature=1.0, max_tokens=8, seed=seed))

    requests = [*mixed(), *(sampled(seed) for seed in (1, 2, 1, 3, None))]
    state = torch.get_rng_state()
    found = answers(model, requests)
    assert torch.equal(torch.get_rng_state(), state)  # nobody else's random numbers are touched
    torch.manual_seed(99)
    assert answers(tiny(folder, batch_size="2"), requests[::-1]) == found[::-1]
    one, two, again, three, without = (answer.text for answer in found[-5:])
    assert one == again
    assert len({one, two, three, without}) == 4
    assert answers(hf_with_seed(folder, 7), [sampled(None)])[0].text != without
    assert answers(hf_with_seed(folder, 1), [sampled(None)])[0].text == one


def hf_with_seed(folder: Path, seed: int) -> HuggingFaceModel:
    made = hf(str(folder), {}, seed)
    assert isinstance(made, HuggingFaceModel)
    return made


def test_a_vanishing_nucleus_is_greedy_and_no_top_k_is_added(model: HuggingFaceModel) -> None:
    nucleus = replace(SHORT, temperature=1.0, top_p=1e-6, seed=1)
    greedy, narrow = answers(model, [ask(QUESTION), ask(QUESTION, generation=nucleus)])
    assert narrow == greedy
    hot = replace(SHORT, temperature=1e6, max_tokens=1)  # nearly uniform over 320 tokens
    drawn = answers(model, [ask("", generation=replace(hot, seed=seed)) for seed in range(150)])
    assert len({answer.text for answer in drawn}) > 50  # transformers' default top_k


# ---------------------------------------------------------------------------------------------- labels


def test_label_scores_are_the_same_batched_and_alone(folder: Path, model: HuggingFaceModel) -> None:
    requests = [replace(request, labels=LABELS[: 1 + place % 3]) for place, request in enumerate(mixed())]
    together = answers(model, requests)
    alone = answers(tiny(folder, batch_size="1"), requests)
    for request, batched, single in zip(requests, together, alone, strict=True):
        assert batched.label_logprobs is not None
        assert len(batched.label_logprobs) == len(request.labels)
        assert batched.label_logprobs == pytest.approx(single.label_logprobs, abs=1e-4)
        assert batched.text == single.text
    assert [answer.text for answer in together] == [answer.text for answer in answers(model, mixed())]
    assert answers(model, mixed())[0].label_logprobs is None


def test_label_scores_equal_a_plain_forward_pass(folder: Path, model: HuggingFaceModel) -> None:
    processor = AutoProcessor.from_pretrained(folder)
    llava = AutoModelForImageTextToText.from_pretrained(folder).eval()
    image = picture(0)
    (answer,) = answers(model, [ask(image, "Is it red?", labels=LABELS)])
    expected = []
    for label in LABELS:
        ids = processor(text=f"USER: <image>\nIs it red? ASSISTANT: {label}", images=opened(image), return_tensors="pt")
        count = len(processor.tokenizer(f" {label}", add_special_tokens=False)["input_ids"])
        with torch.inference_mode():
            logprobs = llava(**ids).logits.log_softmax(-1)[0]
        places = range(ids["input_ids"].shape[1] - count, ids["input_ids"].shape[1])
        expected.append(sum(float(logprobs[place - 1, ids["input_ids"][0, place]]) for place in places))
    assert answer.label_logprobs == pytest.approx(expected, abs=1e-4)


class WordTokenizer:
    """Marks the beginnings of words with `_`, as sentencepiece does, so that a text alone begins with a mark of its own."""

    def __call__(self, text: str, add_special_tokens: bool) -> dict[str, list[str]]:
        return {"input_ids": re.findall(r"\n|_[^_\n]*|[^_\n]+", "_" + text.replace(" ", "_"))}


@pytest.mark.parametrize(
    ("prompt", "label", "expected"),
    [
        ("A:", "not red", ["_not", "_red"]),  # alone, " not red" would be ["_", "_not", "_red"]
        ("A:\n", "yes", ["yes"]),
        ("A: ", "yes", ["_yes"]),  # "A: " and "A: yes" part at "_": tokenised alone
        ("A:", "\nno", ["\n", "no"]),
    ],
)
def test_labels_are_tokenised_as_they_follow_the_prompt(prompt: str, label: str, expected: list[str]) -> None:
    class Processor:
        tokenizer = WordTokenizer()

    ids: list[Any] = list(Engine(None, Processor(), "", (), None).continuation_ids(prompt, label))
    assert ids == expected


# ---------------------------------------------------------------------------------------------- failures


def test_a_bad_picture_fails_alone(model: HuggingFaceModel, tmp_path: Path) -> None:
    whole = picture(1)
    assert whole.data is not None
    cut = tmp_path / "cut.png"
    cut.write_bytes(whole.data[: len(whole.data) // 2])
    requests = mixed()
    good = answers(model, requests)
    bad, missing = ask(Image(path=str(cut)), QUESTION), ask(picture(0), Image(path=str(tmp_path / "gone.png")), QUESTION)
    found = answers(model, [bad, *requests, missing])
    assert found[1:-1] == good
    assert [found[0].status, found[-1].status] == ["bad_image", "bad_image"]
    assert str(cut) in (found[0].error or "")
    assert "gone.png" in (found[-1].error or "")


@pytest.mark.parametrize("shown", [picture(0, 1, 1), picture(0, 3, 50), picture(0, 50, 1), picture(0, mode="RGBA")])
def test_unusual_pictures_are_seen(model: HuggingFaceModel, shown: Image) -> None:
    alone, nothing, *_ = answers(model, [ask(shown, QUESTION), ask(QUESTION), *mixed()])
    assert alone.status == "truncated"
    assert alone.text != nothing.text


def test_a_prompt_beyond_the_positions_fails_alone(model: HuggingFaceModel) -> None:
    requests = mixed()
    good = answers(model, requests)
    found = answers(model, [*requests, ask("x" * POSITIONS)])
    assert found[:-1] == good
    assert found[-1].status == "error"
    assert re.fullmatch(
        r"ValueError: the prompt has 5\d\d tokens, but the model has 512 positions for prompt and answer", found[-1].error or ""
    )


def test_the_placeholder_in_a_text_is_an_error_of_that_request(model: HuggingFaceModel) -> None:
    good, bad = answers(model, [ask(picture(0), QUESTION), ask(picture(0), "What does <image> mean?")])
    assert good.status == "truncated"
    assert bad.status == "error"
    assert bad.error is not None
    assert bad.error.startswith("The user message holds the text '<image>', which stands for a picture in this model's prompts.")


def test_a_conversation_that_the_template_refuses_is_an_error_of_that_request(folder: Path, tmp_path: Path) -> None:
    copy = copied(folder, tmp_path, {})
    refusing = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('No system messages.') }}{% endif %}"
    (copy / "chat_template.jinja").write_text(refusing + (folder / "chat_template.jinja").read_text())
    found = answers(tiny(copy), mixed())
    assert [answer.status == "error" for answer in found] == [request.messages[0].role == "system" for request in mixed()]
    assert found[5].error == "The chat template of this model refuses the conversation: No system messages."


@pytest.mark.parametrize("kind", [RuntimeError, ValueError, IndexError, ZeroDivisionError])
def test_a_request_that_breaks_the_model_fails_alone(
    model: HuggingFaceModel, monkeypatch: pytest.MonkeyPatch, kind: type[Exception]
) -> None:
    good, whole = answers(model, mixed()), Engine.answer

    def fragile(engine: Engine, batch: Sequence[huggingface_engine.Item], seed: int) -> list[Response]:
        if any("square" in item.prompt for item in batch):
            raise kind("it broke")
        return whole(engine, batch, seed)

    monkeypatch.setattr(Engine, "answer", fragile)
    found = answers(model, mixed())
    assert found[:3] + found[4:] == good[:3] + good[4:]
    assert found[3] == Response(status="error", error=f"{kind.__name__}: it broke")


def test_a_bug_is_not_a_response(model: HuggingFaceModel, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(*arguments: object) -> list[Response]:
        raise TypeError("a bug")

    monkeypatch.setattr(Engine, "answer", wrong)
    with pytest.raises(TypeError, match="a bug"):
        answers(model, mixed())


def test_out_of_memory_halves_the_batch_and_goes_on(model: HuggingFaceModel, monkeypatch: pytest.MonkeyPatch) -> None:
    good, sizes, whole = answers(model, mixed()), [], Engine.answer

    def small(engine: Engine, batch: Sequence[huggingface_engine.Item], seed: int) -> list[Response]:
        sizes.append(len(batch))
        if len(batch) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return whole(engine, batch, seed)

    monkeypatch.setattr(Engine, "answer", small)
    assert answers(model, mixed()) == good
    assert sizes == [8, 4, 2, 2, 4, 2, 2, 1]  # the next batch keeps to what fitted
    model._batch = 8


def test_out_of_memory_on_a_single_request_is_its_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    requests, whole, sizes = [ask(picture(i), QUESTION) for i in range(8)], Engine.answer, []

    def hungry(engine: Engine, batch: Sequence[huggingface_engine.Item], seed: int) -> list[Response]:
        sizes.append(len(batch))
        if requests[3].messages in [item.request.messages for item in batch]:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return whole(engine, batch, seed)

    monkeypatch.setattr(Engine, "answer", hungry)
    model = tiny(folder, batch_size="4")
    sampled = replace(requests[3], generation=Generation(temperature=1.0, max_tokens=1, seed=1))
    found = answers(model, [sampled, *requests])[1:]
    assert [answer.status for answer in found] == ["truncated"] * 3 + ["error"] + ["truncated"] * 4
    assert found[3].error == "OutOfMemoryError: CUDA out of memory."
    assert sizes[:2] == [1, 4]  # sampled requests run alone, so their failure says nothing about the batch size
    assert max(sizes[-3:]) > 1  # one hungry request does not leave all others in batches of one


# ---------------------------------------------------------------------------------------------- laziness


def test_nothing_is_loaded_and_nothing_pulled_before_it_is_needed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[str] = []
    pulled = 0

    def counted(checkpoint: huggingface_engine.Checkpoint) -> Engine:
        loaded.append(checkpoint.path)
        return huggingface_engine.load(checkpoint)

    monkeypatch.setattr(huggingface, "load", counted)

    def requests() -> Iterator[Request]:
        nonlocal pulled
        for i in range(40):
            pulled += 1
            yield ask(f"Question {i}", generation=Generation(max_tokens=1))

    model = tiny(folder, batch_size="2")
    stream = model.generate(requests())
    assert (pulled, loaded) == (0, [])
    for done, _ in enumerate(stream):
        assert pulled - done <= 2 * huggingface.WINDOW
    assert pulled == 40
    assert loaded == [str(folder)]
    assert list(model.generate(iter(()))) == []


def test_close_ends_a_running_stream_and_may_be_called_twice(folder: Path) -> None:
    model = tiny(folder, batch_size="2")
    stream = model.generate(iter(mixed()))
    next(stream)
    model.close()
    model.close()
    assert len(list(stream)) == 1  # the batch in flight had two
    assert len(list(model.generate(iter(mixed())))) == len(mixed())


def test_close_between_the_refused_and_the_answered(folder: Path) -> None:
    model = tiny(folder)
    stream = model.generate(iter([ask("<image>"), ask("<image>"), *mixed()]))
    assert next(stream)[1].status == "error"
    model.close()
    assert [response.status for _, response in stream] == ["error"]


def test_longest_prompts_come_first(model: HuggingFaceModel) -> None:
    requests = [ask("word " * count) for count in (1, 9, 3, 7, 30, 2, 4, 6, 5, 8)]
    order = [len(str(request.messages[0].content[0])) // 5 for request, _ in model.generate(iter(requests))]
    assert order == sorted(order, reverse=True)


def test_construction_does_not_import_torch(folder: Path) -> None:
    build_it = f"from eyetest.models.huggingface import hf; hf({str(folder)!r}, {{}}, 0)"
    code = f"import sys; {build_it}; sys.exit(bool({{'torch', 'transformers'}} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_transformers_has_nothing_to_say(
    folder: Path, capfd: pytest.CaptureFixture[str], recwarn: pytest.WarningsRecorder
) -> None:
    transformers_logging.warning_once.cache_clear()
    sampled = ask(QUESTION, generation=Generation(temperature=0.7, top_p=0.9, max_tokens=4, seed=1))
    answers(tiny(folder), [*(replace(request, labels=LABELS) for request in mixed()), sampled])
    assert capfd.readouterr() == ("", "")
    assert [str(warning.message) for warning in recwarn if "transformers" in str(warning.filename)] == []


# ---------------------------------------------------------------------------------------------- identity and construction


def copied(folder: Path, tmp_path: Path, files: dict[str, object]) -> Path:
    """A copy of the checkpoint with some JSON files replaced."""
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    for name, content in files.items():
        (copy / name).write_text(json.dumps(content))
    return copy


def test_identity_follows_the_contents_of_the_checkpoint(folder: Path, tmp_path: Path) -> None:
    copy = copied(folder, tmp_path, {})
    (copy / "README.md").write_text("A copy.")
    assert tiny(copy).identity == tiny(folder, batch_size="2").identity  # neither place nor batch size makes another model
    assert re.fullmatch(r"hf weights=sha256:[0-9a-f]{64} dtype=auto images=pil transformers=\S+", tiny(folder).identity)
    assert tiny(folder, dtype="bfloat16").identity != tiny(folder).identity
    weights = copy / "model.safetensors"
    changed = bytearray(weights.read_bytes())
    changed[-1] ^= 1
    weights.write_bytes(changed)
    assert tiny(copy).identity != tiny(folder).identity


def test_digests_of_large_files_are_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(huggingface, "REMEMBER_FROM", 4)
    file = tmp_path / "model.safetensors"
    file.write_bytes(b"one")
    assert huggingface.file_digest(file) == "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed"
    assert not (tmp_path / "cache").exists()
    file.write_bytes(b"first")
    first = huggingface.file_digest(file)
    at = file.stat().st_mtime_ns
    file.write_bytes(b"other")
    os.utime(file, ns=(at, at))
    assert huggingface.file_digest(file) == first
    os.utime(file, ns=(at, at + 1))
    assert huggingface.file_digest(file) != first


def test_name_and_options(folder: Path) -> None:
    model = hf(f"{folder},batch_size=3", {"batch_size": "5", "dtype": "float32"}, 0)
    assert isinstance(model, HuggingFaceModel)
    assert model.name == f"hf:{folder},batch_size=3"
    assert not model.simulated
    assert model._checkpoint.batch_size == 3
    assert model._checkpoint.dtype == "float32"
    assert not model._checkpoint.trust_remote_code


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("dtype=float61", "Unknown dtype 'float61' in hf:{folder},dtype=float61. Did you mean 'float16'?"),
        ("device=gpu", "Unknown device 'gpu' in hf:{folder},device=gpu. Did you mean 'cpu'? Known: auto, cpu, cuda, mps."),
        ("batch_size=0", "hf:{folder},batch_size=0: batch_size=0 is not a positive number."),
        ("batchsize=2", "hf has no option 'batchsize'. Did you mean 'batch_size'?"),
        ("revision=main", "revision=main belongs to a hub id, but {folder} is a folder. Leave it out."),
    ],
)
def test_wrong_options_are_named(folder: Path, option: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        hf(f"{folder},{option}", {}, 0)
    assert message.format(folder=folder) in str(caught.value)


def test_a_missing_folder_is_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(ModelError) as caught:
        hf(str(tmp_path / "gone"), {}, 0)
    assert str(caught.value) == (
        f"hf:{tmp_path}/gone: the folder {tmp_path}/gone does not exist. Give a checkpoint folder or a hub id such as "
        f"owner/model."
    )


def test_a_folder_that_is_no_checkpoint_is_named_at_once(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=re.escape(f"{tmp_path}/config.json does not exist. Expected a checkpoint folder")):
        hf(str(tmp_path), {}, 0)


def test_a_hub_id_that_cannot_be_reached_says_how_to_go_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(ModelError) as caught:
        hf("nobody/no-such-model,revision=v2", {}, 0)
    assert str(caught.value).startswith(
        "hf:nobody/no-such-model,revision=v2: nobody/no-such-model is not a folder here, and the Hugging Face hub could not be "
        "asked for it at revision v2: "
    )
    assert "download it first where there is one (hf download nobody/no-such-model)" in str(caught.value)
    assert "HF_HUB_OFFLINE=1" in str(caught.value)


def test_a_hub_id_is_known_by_its_commit_and_runs_from_the_cache(
    folder: Path, model: HuggingFaceModel, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    commit, repository = "0123456789abcdef0123456789abcdef01234567", tmp_path / "models--owner--tiny"
    shutil.copytree(folder, repository / "snapshots" / commit)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    from_hub = hf("owner/tiny", {}, 0)
    assert f"weights=owner/tiny@{commit} " in from_hub.identity
    assert isinstance(from_hub, HuggingFaceModel)
    assert answers(from_hub, mixed()[:2]) == answers(model, mixed()[:2])


def test_a_missing_package_says_how_to_install_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError) as caught:
        hf(str(folder), {}, 0)
    assert str(caught.value) == (
        f"The model hf:{folder} needs the package 'torch', which is not installed. Install it with: pip install 'eyetest[hf]'"
    )


def test_a_checkpoint_without_chat_template_says_what_is_missing(tmp_path: Path) -> None:
    bare = build(tmp_path / "bare", template=None)
    with pytest.raises(ModelError) as caught:
        list(tiny(bare).generate(iter([ask(QUESTION)])))
    assert str(caught.value) == (
        f"hf:{bare}: {bare} has no chat template, so nobody knows how this model wants to be asked. Expected the file "
        f"chat_template.jinja beside config.json (or a chat_template in tokenizer_config.json). Copy it from the model's page on "
        f"the hub, or from the model it was trained from."
    )


@pytest.mark.parametrize(
    "template",
    [
        "{% for m in messages %}{{ m['role'] + ': ' }}{{ m['content'] }}{% endfor %}",  # writes the list as Python shows it
        "{% for m in messages %}{% for c in m['content'] %}{{ c['text'] }}{% endfor %}{% endfor %}",  # loses pictures
    ],
)
def test_a_chat_template_for_text_alone_is_refused(folder: Path, tmp_path: Path, template: str) -> None:
    copy = copied(folder, tmp_path, {})
    (copy / "chat_template.jinja").write_text(template)
    with pytest.raises(ModelError, match="is made for text alone: it does not say where a picture goes"):
        list(tiny(copy).generate(iter([ask(QUESTION)])))


def test_a_broken_chat_template_is_named(folder: Path, tmp_path: Path) -> None:
    copy = copied(folder, tmp_path, {})
    (copy / "chat_template.jinja").write_text("{% for m in messages %}")
    with pytest.raises(
        ModelError, match=re.escape(f"hf:{copy}: the chat template of {copy} fails on a picture and a question: ")
    ):
        list(tiny(copy).generate(iter([ask(QUESTION)])))


def test_a_picture_before_the_turn_is_fine(folder: Path, tmp_path: Path) -> None:
    copy = copied(folder, tmp_path, {})
    turn = "{% for c in m['content'] if c['type'] == 'text' %}USER: {{ c['text'] }}{% endfor %}"
    (copy / "chat_template.jinja").write_text(
        "{% for m in messages %}{% for c in m['content'] if c['type'] == 'image' %}<image>{% endfor %}" + turn + "{% endfor %}"
    )
    assert answers(tiny(copy), [ask(picture(0), QUESTION)])[0].status == "truncated"


def test_missing_weights_are_never_replaced_by_random_ones(folder: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    copy = copied(folder, tmp_path, {})
    weights = load_file(copy / "model.safetensors")
    name = next(key for key in weights if "q_proj" in key)
    save_file({key: value for key, value in weights.items() if key != name}, copy / "model.safetensors", {"format": "pt"})
    with pytest.raises(ModelError, match=r"lack 1 tensors of LlavaForConditionalGeneration, e\.g\. .*q_proj.*; they would be"):
        list(tiny(copy).generate(iter([ask(QUESTION)])))


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json", "processor_config.json"])
def test_a_damaged_checkpoint_is_a_model_error(folder: Path, tmp_path: Path, name: str) -> None:
    copy = copied(folder, tmp_path, {})
    (copy / name).write_bytes((copy / name).read_bytes()[:100])
    with pytest.raises(ModelError, match=re.escape(f"hf:{copy}: ")):
        list(tiny(copy).generate(iter([ask(QUESTION)])))


def test_an_absent_device_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ModelError, match=re.escape("sees no cuda device. Use device=auto or device=cpu")):
        list(tiny(folder, device="cuda").generate(iter([ask(QUESTION)])))
