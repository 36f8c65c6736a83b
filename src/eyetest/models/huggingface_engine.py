"""One loaded Hugging Face checkpoint: from conversations and pictures to token ids and back.

Left padding, stop tokens, sampling settings and label probabilities live here; batches, failures and memory in
`huggingface`. Imports torch and transformers inside its functions.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from eyetest.errors import ModelError
from eyetest.types import Generation, Image, Request, Response, Usage

NESTED = frozenset({"Idefics2Processor", "Idefics3Processor", "SmolVLMProcessor", "Gemma3Processor"})
"""Processors that want the pictures of each prompt in a list of its own."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Which weights, and how to run them."""

    name: str
    """The model as the user named it."""
    path: str
    """Folder or hub id."""
    revision: str | None
    """Commit of a hub id; None for a folder."""
    batch_size: int
    dtype: str
    device: str
    trust_remote_code: bool
    seed: int
    """Seed of sampled requests that bring none."""

    @property
    def source(self) -> dict[str, Any]:
        """Keyword arguments common to every `from_pretrained`."""
        return {
            "pretrained_model_name_or_path": self.path,
            "trust_remote_code": self.trust_remote_code,
            **({} if self.revision is None else {"revision": self.revision}),
        }


@dataclass(frozen=True, slots=True)
class Item:
    """A request ready for a batch."""

    request: Request
    prompt: str
    """The conversation as the chat template renders it, one placeholder a picture."""
    pictures: tuple[Any, ...] = ()
    """Decoded PIL pictures in reading order, once the batch is prepared."""

    @property
    def sort_key(self) -> tuple[int, int]:
        """Length without tokenising: a picture is worth more tokens than any question."""
        return len(sources(self.request)), len(self.prompt)


def sources(request: Request) -> list[Image]:
    """The request's pictures in reading order."""
    return [part for message in request.messages for part in message.content if isinstance(part, Image)]


@dataclass(frozen=True, slots=True)
class Engine:
    """A loaded checkpoint: transformers model (on its device, in eval mode) and processor."""

    model: Any
    processor: Any
    template: str
    """Jinja chat template."""
    stops: tuple[int, ...]
    """Token ids that end an answer."""
    positions: int | None
    """Longest sequence the language model knows, in tokens; None if unbounded."""

    def render(self, request: Request) -> Item | Response:
        """The prompt of a request, or a response with status `error` where the chat template refuses the conversation."""
        from jinja2 import TemplateError

        placeholder = getattr(self.processor, "image_token", None)
        for message in request.messages:
            for text in message.content:
                if isinstance(text, str) and placeholder and placeholder in text:
                    return Response(
                        status="error",
                        error=f"The {message.role} message holds the text {placeholder!r}, which stands for a picture in this "
                        f"model's prompts. Rewrite it in the dataset or the prompt.",
                    )
        conversation = [
            {
                "role": message.role,
                "content": [
                    {"type": "text", "text": part} if isinstance(part, str) else {"type": "image"} for part in message.content
                ],
            }
            for message in request.messages
        ]
        try:
            prompt = self.processor.apply_chat_template(conversation, chat_template=self.template, add_generation_prompt=True)
        except TemplateError as error:
            return Response(status="error", error=f"The chat template of this model refuses the conversation: {error}")
        return Item(request, prompt)

    def encode(self, prompts: Sequence[str], pictures: Sequence[Sequence[Any]]) -> Any:
        """Model inputs (transformers BatchFeature, on the device) of prompts, each with its PIL pictures; left-padded.

        Raises ValueError if a prompt is longer than the positions of the language model.
        """
        bos = self.processor.tokenizer.bos_token
        given = {"images": arranged(pictures, type(self.processor).__name__)} if any(pictures) else {}
        inputs = self.processor(
            text=list(prompts),
            padding=True,
            return_tensors="pt",
            add_special_tokens=not (bos and prompts[0].startswith(bos)),  # many chat templates write it themselves
            **given,
        )
        longest = int(inputs["attention_mask"].sum(1).max())
        if self.positions is not None and longest >= self.positions:
            raise ValueError(
                f"the prompt has {longest} tokens, but the model has {self.positions} positions for prompt and answer"
            )
        return inputs.to(self.model.device, self.model.dtype)

    def answer(self, batch: Sequence[Item], seed: int) -> list[Response]:
        """Generate for items with equal generation settings, then score their labels.

        seed: for a sampled request that brings none. Latency is that of the whole batch.
        """
        import torch

        started = time.perf_counter()
        generation = batch[0].request.generation
        with torch.inference_mode(), ExitStack() as stack:
            inputs = self.encode([item.prompt for item in batch], [item.pictures for item in batch])
            if generation.temperature > 0:
                stack.enter_context(torch.random.fork_rng())
                torch.manual_seed((seed if generation.seed is None else generation.seed) % 2**63)
            output = self.model.generate(**inputs, generation_config=self.settings(generation))
            width = inputs["input_ids"].shape[1]
            # Decoder-only models repeat the prompt; those that are fed embeddings do not.
            echoed = output.shape[1] >= width and torch.equal(output[:, :width], inputs["input_ids"])
            rows = output[:, width:].tolist() if echoed else output.tolist()
            read = inputs["attention_mask"].sum(1).tolist()
            scores = self.label_logprobs(batch)
        latency = time.perf_counter() - started
        return [
            replace(self.response(row, tokens), label_logprobs=label_scores, latency=latency)
            for row, tokens, label_scores in zip(rows, read, scores, strict=True)
        ]

    def settings(self, generation: Generation) -> Any:
        """transformers' GenerationConfig of a request: greedy, or plain nucleus sampling without a top_k."""
        from transformers import GenerationConfig

        how: dict[str, Any] = {"do_sample": False}
        if generation.temperature > 0:
            how = {"do_sample": True, "temperature": generation.temperature, "top_p": generation.top_p, "top_k": 0}
        return GenerationConfig(
            max_new_tokens=generation.max_tokens,
            eos_token_id=list(self.stops) or None,
            pad_token_id=self.processor.tokenizer.pad_token_id,
            **how,
        )

    def response(self, tokens: Sequence[int], input_tokens: int) -> Response:
        """Read one row of generated ids: text up to the first stop token; `truncated` if there is none."""
        end = next((place for place, token in enumerate(tokens) if token in self.stops), None)
        text = self.processor.tokenizer.decode(tokens[:end], skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return Response(
            text=text,
            status="truncated" if end is None else "ok",
            usage=Usage(input_tokens, len(tokens) if end is None else end + 1),
        )

    def label_logprobs(self, batch: Sequence[Item]) -> list[tuple[float, ...] | None]:
        """For each item, the natural-log probability of each of its labels as the beginning of the answer.

        The sum over the label's tokens given the prompt: not divided by their number, and without an end of text. A
        space is put before the label unless prompt or label bring one. As many rows run at a time as the batch has.
        """
        rows = [(item, label) for item in batch for label in item.request.labels]
        values: list[float] = []
        for start in range(0, len(rows), len(batch)):
            values += self.continuation_logprobs(rows[start : start + len(batch)])
        each = iter(values)
        return [tuple(islice(each, len(item.request.labels))) or None for item in batch]

    def continuation_logprobs(self, rows: Sequence[tuple[Item, str]]) -> list[float]:
        """Log-probability of each text after its prompt, in one forward pass: prompts end, texts begin at one column."""
        import torch

        inputs = self.encode([item.prompt for item, _ in rows], [item.pictures for item, _ in rows])
        ids = [self.continuation_ids(item.prompt, text) for item, text in rows]
        longest = max(map(len, ids))
        device = self.model.device
        tail = torch.tensor([row + [0] * (longest - len(row)) for row in ids], device=device)
        mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in ids], device=device)
        inputs["input_ids"] = torch.cat([inputs["input_ids"], tail], 1)
        inputs["attention_mask"] = torch.cat([inputs["attention_mask"], mask], 1)
        for kind in ("token_type_ids", "mm_token_type_ids"):
            if kind in inputs:
                inputs[kind] = torch.cat([inputs[kind], torch.zeros_like(tail)], 1)
        # The column before a token predicts it; other columns' logits (positions x vocabulary) would fill the memory.
        logits = self.model(**inputs, logits_to_keep=longest + 1).logits[:, -longest - 1 : -1]
        logprobs = torch.log_softmax(logits.float(), -1).gather(-1, tail[..., None])[..., 0]
        summed: list[float] = (logprobs * mask).sum(1).tolist()
        return summed

    def continuation_ids(self, prompt: str, text: str) -> list[int]:
        """Token ids of `text` as it is written after `prompt`.

        Tokenised together and cut, because a tokenizer that marks word beginnings writes a text differently on its own.
        """

        def tokens(string: str) -> list[int]:
            return list(self.processor.tokenizer(string, add_special_tokens=False)["input_ids"])

        joiner = "" if prompt[-1:].isspace() or text[:1].isspace() else " "
        before, together = tokens(prompt), tokens(prompt + joiner + text)
        return together[len(before) :] if together[: len(before)] == before else tokens(joiner + text)


def arranged(pictures: Sequence[Sequence[Any]], processor: str) -> list[Any]:
    """Pictures of a batch as the processor class wants them: one list a prompt, or one flat list."""
    return [list(own) for own in pictures] if processor in NESTED else [picture for own in pictures for picture in own]


def load(checkpoint: Checkpoint) -> Engine:
    """Load processor and weights. Raises ModelError that says what is missing and what to do."""
    import torch
    from safetensors import SafetensorError
    from transformers import AutoModelForImageTextToText, GenerationConfig

    device = pick_device(checkpoint)
    failures = (OSError, ValueError, ImportError, RuntimeError, KeyError, SafetensorError)
    try:
        with no_progress_bar():
            processor = load_processor(checkpoint.source)
            model, report = AutoModelForImageTextToText.from_pretrained(
                **checkpoint.source, dtype=checkpoint.dtype, output_loading_info=True
            )
    except failures as error:
        raise ModelError(
            f"{checkpoint.name}: transformers cannot load {checkpoint.path}: {type(error).__name__}: {error}"
        ) from error
    if missing := report["missing_keys"]:
        raise ModelError(
            f"{checkpoint.name}: the weights in {checkpoint.path} lack {len(missing)} tensors of {type(model).__name__}, "
            f"e.g. {min(missing)!r}; they would be random. Download or save the checkpoint again."
        )
    tokenizer = prepared_tokenizer(checkpoint, processor)
    template = chat_template(checkpoint, processor)
    shipped = model.generation_config.eos_token_id
    stops = {*(shipped if isinstance(shipped, list) else [shipped]), tokenizer.eos_token_id} - {None}
    model.generation_config = GenerationConfig()  # its sampling defaults would fill whatever a request leaves unset
    positions = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    return Engine(model.to(torch.device(device)).eval(), processor, template, tuple(sorted(stops)), positions)


def pick_device(checkpoint: Checkpoint) -> str:
    """`auto` made definite; ModelError if the named device is not there."""
    import torch

    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if checkpoint.device == "auto":
        return next(device for device, available in there.items() if available)
    if not there[checkpoint.device]:
        raise ModelError(
            f"{checkpoint.name}: torch {torch.__version__} sees no {checkpoint.device} device. Use device=auto or device=cpu, "
            f"or install a torch build for this machine."
        )
    return checkpoint.device


@contextmanager
def no_progress_bar() -> Iterator[None]:
    """transformers draws no bar over the command line's own."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def prepared_tokenizer(checkpoint: Checkpoint, processor: Any) -> Any:
    """The processor's tokenizer, padding on the left with a token that exists. Raises ModelError if there is none."""
    tokenizer = getattr(processor, "tokenizer", None)
    if tokenizer is None or getattr(processor, "image_processor", None) is None:
        raise ModelError(
            f"{checkpoint.name}: {checkpoint.path} gives a {type(processor).__name__} instead of a processor for text and "
            f"pictures. Expected tokenizer files and preprocessor_config.json or processor_config.json: copy them."
        )
    tokenizer.padding_side = "left"  # an answer must follow its prompt directly
    if tokenizer.pad_token is None:
        if tokenizer.eos_token is None:
            raise ModelError(
                f"{checkpoint.name}: the tokenizer of {checkpoint.path} has neither pad_token nor eos_token, so prompts of "
                f"different length cannot share a batch. Add one of them to tokenizer_config.json."
            )
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def chat_template(checkpoint: Checkpoint, processor: Any) -> str:
    """The Jinja chat template of the processor or its tokenizer. Raises ModelError if there is none for pictures."""
    from jinja2 import TemplateError

    template = getattr(processor, "chat_template", None) or processor.tokenizer.chat_template
    if isinstance(template, dict):
        template = template.get("default")
    if not template:
        raise ModelError(
            f"{checkpoint.name}: {checkpoint.path} has no chat template, so nobody knows how this model wants to be asked. "
            f"Expected the file chat_template.jinja beside config.json (or a chat_template in tokenizer_config.json). "
            f"Copy it from the model's page on the hub, or from the model it was trained from."
        )

    where = f"{checkpoint.name}: the chat template of {checkpoint.path}"
    text = [{"type": "text", "text": "?"}]
    try:
        plain, shown = (
            processor.apply_chat_template([{"role": "user", "content": parts}], chat_template=template)
            for parts in (text, [{"type": "image"}, *text])
        )
    except (TemplateError, TypeError) as error:
        raise ModelError(f"{where} fails on a picture and a question: {error}. Copy the one of the original model.") from error
    if plain == shown or "'type'" in shown:
        raise ModelError(
            f"{where} is made for text alone: it does not say where a picture goes. Expected one that reads the content of a "
            f"message as a list of parts of type text and image. Copy the one of the original model."
        )
    return str(template)


def load_processor(source: dict[str, Any]) -> Any:
    """AutoProcessor with a PIL image processor; works without torchvision.

    Classes with a video sub-processor (Qwen-VL, InternVL, SmolVLM, ...) refuse to load without torchvision; for them
    the parts are put together here, with a stand-in for videos, which eyetest never shows.
    """
    from transformers import AutoConfig, AutoImageProcessor, AutoProcessor, AutoTokenizer
    from transformers.models.auto.processing_auto import PROCESSOR_MAPPING
    from transformers.processing_utils import ProcessorMixin

    if importlib.util.find_spec("torchvision") is not None:
        processor = AutoProcessor.from_pretrained(**source)
        if getattr(processor, "image_processor", None) is not None:
            processor.image_processor = AutoImageProcessor.from_pretrained(**source, backend="pil")
        return processor
    kind = PROCESSOR_MAPPING.get(type(AutoConfig.from_pretrained(**source)), None)
    if kind is None or "video_processor" not in kind.get_attributes():
        return AutoProcessor.from_pretrained(**source)
    parts = {"tokenizer": AutoTokenizer.from_pretrained, "image_processor": AutoImageProcessor.from_pretrained}
    made = [parts[part](**source) if part in parts else no_videos() for part in kind.get_attributes()]
    settings, _ = ProcessorMixin.get_processor_dict(**source)
    return without_video_check(kind).from_args_and_dict(made, settings)


def no_videos() -> Any:
    """A video sub-processor that only takes its place."""
    from transformers.video_processing_utils import VideoProcessorMixin

    class NoVideos(VideoProcessorMixin):  # type: ignore[misc]
        """Answers the attributes that processors read at construction."""

        num_frames = fps = _auto_class = None
        merge_size = 2
        model_input_names = ()

        def __init__(self) -> None:
            """Read no configuration."""

    return NoVideos()


def without_video_check(kind: Any) -> Any:
    """`kind` without the type check of its video argument, whose expected class transformers hides without torchvision."""

    def check(self: Any, name: str, argument: Any) -> Any:
        return None if name == "video_processor" else kind.check_argument_for_proper_class(self, name, argument)

    return type(kind.__name__, (kind,), {"check_argument_for_proper_class": check, "__module__": kind.__module__})
