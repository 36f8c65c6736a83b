"""The embedded model before training: tokenizer, processor, sizes, initial weights; and how it is saved."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import torch
from drawing import COLOURS, NUMBERS, POSITIONS, SHAPES, WORDS
from questions import (
    FACTS,
    KNOWLEDGE_QUESTIONS,
    NAME_QUESTION,
    PICTURE_QUESTIONS,
    SHAPE_QUESTIONS,
    WORD_QUESTION,
    Country,
)
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import (
    CLIPImageProcessorPil,
    CLIPVisionConfig,
    LlamaConfig,
    LlavaConfig,
    LlavaForConditionalGeneration,
    LlavaProcessor,
    PreTrainedTokenizerFast,
)

from eyetest.prompts import DEFAULT_TEMPLATES, Prompt, letters, render
from eyetest.types import Sample

IMAGE_SIDE, PATCH = 48, 8
PICTURE_TOKENS = (IMAGE_SIDE // PATCH) ** 2
VISION = {"hidden_size": 64, "intermediate_size": 192, "num_hidden_layers": 2, "num_attention_heads": 4, "projection_dim": 64}
LANGUAGE = {
    "hidden_size": 80,
    "intermediate_size": 224,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
}
POSITIONS_MAX = 2048

TEMPLATE = (
    "{% for m in messages %}{% if m['role'] != 'system' %}{{ m['role'].upper() + ':\n' }}{% endif %}"
    "{% for c in m['content'] if c['type'] == 'image' %}{{ '<image>\n' }}{% endfor %}"
    "{% for c in m['content'] if c['type'] == 'text' %}{{ c['text'] }}{% endfor %}"
    "{{ eos_token if m['role'] == 'assistant' else '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ 'ASSISTANT:' }}{% endif %}"
)
"""Pictures before the text; the end of text closes the assistant's turn, or a fine-tuned model would never stop."""

INSTRUCTIONS = tuple(DEFAULT_TEMPLATES[kind].rsplit("}", 1)[1].strip() for kind in ("choice", "text"))
"""The last lines of the default prompts. Each is one token: it never varies."""

CHUNKS = "|".join(
    (
        *(re.escape("\n" + line) for line in INSTRUCTIONS),
        r"\n[A-Z]\.",
        r" ?[A-Za-z]+",
        r" ?[0-9]+",
        r" ?[^\sA-Za-z0-9]+",
        r"\s+",
    )
)
"""What a token may span: an instruction, an option's letter with its line break, a word, a number, punctuation."""


def vocabulary(every: tuple[Country, ...]) -> list[str]:
    """Texts that are one token each; any other text is spelled byte by byte."""
    sentences = [*SHAPE_QUESTIONS.values(), WORD_QUESTION, NAME_QUESTION, *PICTURE_QUESTIONS.values(), "USER:\n", "\nASSISTANT:"]
    sentences += [question.format(country="it") for question in KNOWLEDGE_QUESTIONS.values()]
    answers = [*COLOURS, *SHAPES, *POSITIONS, *NUMBERS, *WORDS, *letters(8), "the"]
    answers += [country.facts[fact] for country in every for fact in ("name", *FACTS)]
    chunks = [chunk for text in (*sentences, *(f" {answer}" for answer in answers)) for chunk in re.findall(CHUNKS, text)]
    return sorted({*chunks, *(f"\n{line}" for line in INSTRUCTIONS), *(f"\n{letter}." for letter in letters(8))})


def tokenizer(every: tuple[Country, ...]) -> PreTrainedTokenizerFast:
    """Byte-level BPE with whole words and no merges. It writes `<s>` before every text."""
    special = ["<pad>", "<s>", "</s>", "<unk>", "<image>"]
    spell = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    chunks = [spell.pre_tokenize_str(chunk)[0][0] for chunk in vocabulary(every)]
    tokens = list(dict.fromkeys(special + sorted(pre_tokenizers.ByteLevel.alphabet()) + chunks))
    bpe = Tokenizer(models.BPE({token: place for place, token in enumerate(tokens)}, [], ignore_merges=True))
    bpe.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(CHUNKS), "isolated"), spell])
    bpe.decoder = decoders.ByteLevel()
    bpe.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", bpe.token_to_id("<s>"))])
    named = dict(zip(("pad_token", "bos_token", "eos_token", "unk_token"), special, strict=False))
    return PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        padding_side="left",
        extra_special_tokens=["<image>"],
        model_specific_special_tokens={"image_token": "<image>"},
        **named,
    )


def build(every: tuple[Country, ...]) -> tuple[Any, Any]:
    """(model, processor) before training. Weights come from torch's global generator: seed it first."""
    words = tokenizer(every)
    config = LlavaConfig(
        vision_config=CLIPVisionConfig(image_size=IMAGE_SIDE, patch_size=PATCH, **VISION),
        text_config=LlamaConfig(
            vocab_size=len(words),
            max_position_embeddings=POSITIONS_MAX,
            tie_word_embeddings=False,
            pad_token_id=words.pad_token_id,
            bos_token_id=words.bos_token_id,
            eos_token_id=words.eos_token_id,
            **LANGUAGE,
        ),
        image_token_index=words.convert_tokens_to_ids("<image>"),
        image_seq_length=PICTURE_TOKENS,
        vision_feature_layer=-1,
        tie_word_embeddings=False,
    )
    model = LlavaForConditionalGeneration(config)
    initialise(model)
    side = {"height": IMAGE_SIDE, "width": IMAGE_SIDE}
    processor = LlavaProcessor(
        CLIPImageProcessorPil(size=side, crop_size=side, do_center_crop=False),
        words,
        patch_size=PATCH,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=TEMPLATE,
    )
    return model.train(), processor


def initialise(model: Any) -> None:
    """Weights for narrow layers, where the usual 0.02 lets signals die.

    Linear layers by fan-in; those that write into the residual stream are scaled down with depth, and words enter it with
    variance one, or the first attention would drown them and options could not be told apart.
    """
    for name, weights in model.named_parameters():
        if "embed_tokens" in name:
            torch.nn.init.normal_(weights, std=1.0)
        elif "position_embedding" in name or "class_embedding" in name:
            torch.nn.init.normal_(weights, std=0.1)
        elif weights.dim() >= 2:
            depth = VISION["num_hidden_layers"] if "vision" in name else LANGUAGE["num_hidden_layers"]
            writes = any(part in name for part in ("o_proj", "down_proj", "out_proj", "fc2"))
            scale = 1 / math.sqrt(2 * depth) if writes else 1.0
            torch.nn.init.trunc_normal_(weights, std=scale / math.sqrt(weights[0].numel()))


def prompt_ids(processor: Any, question: dict[str, Any], pictured: bool) -> tuple[list[int], list[int]]:
    """Token ids of the question as eyetest's default prompt puts it, and of the right answer with its end of text.

    A choice is answered with the option's text: finding its letter was not learned in the minutes that a training may take.
    """
    choices, right = tuple(question.get("choices", ())), question["target"][0]
    sample = Sample("", question["question"], (right,), question["kind"], choices)
    text = render(Prompt(), sample)[0].content[0]
    conversation = [{"role": "user", "content": [{"type": "image"}] * pictured + [{"type": "text", "text": text}]}]
    prompt = processor.apply_chat_template(conversation, add_generation_prompt=True)
    words = processor.tokenizer
    ids = words(prompt.replace("<image>", "<image>" * PICTURE_TOKENS))["input_ids"]
    return ids, [*words(f" {right}", add_special_tokens=False)["input_ids"], words.eos_token_id]


def save(model: Any, processor: Any, folder: Path) -> None:
    """Write the checkpoint: weights in half precision, to be computed with in single."""
    state = {name: weights.detach().clone() for name, weights in model.state_dict().items()}
    model.half().save_pretrained(folder)
    model.float().load_state_dict(state)
    processor.save_pretrained(folder)
    (folder / "model.safetensors").chmod(0o644)  # safetensors keeps it to its owner; a wheel is for everybody
    config = json.loads((folder / "config.json").read_text())
    for part in (config, config["text_config"], config["vision_config"]):
        part["dtype"] = "float32"
    (folder / "config.json").write_text(json.dumps(config, indent=2) + "\n")
