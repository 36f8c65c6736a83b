"""A LLaVA-1.5 checkpoint folder of 60 thousand random weights, built offline in a tenth of a second.

It answers nonsense, but always the same nonsense, and other nonsense as soon as a picture, a prompt, a position or the
padding is not what it should be: the weights have a standard deviation of 0.3, where the usual 0.02 hides such bugs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import (
    CLIPImageProcessorPil,
    CLIPVisionConfig,
    LlamaConfig,
    LlavaConfig,
    LlavaForConditionalGeneration,
    LlavaProcessor,
    PreTrainedTokenizerFast,
)

IMAGE_SIZE, PATCH_SIZE = 28, 14
PICTURE_TOKENS = (IMAGE_SIZE // PATCH_SIZE) ** 2
POSITIONS = 512

TEMPLATE = (
    "{% for m in messages %}{% if m['role'] != 'system' %}{{ m['role'].upper() + ': ' }}{% endif %}"
    "{% for c in m['content'] if c['type'] == 'image' %}{{ '<image>\n' }}{% endfor %}"
    "{% for c in m['content'] if c['type'] == 'text' %}{{ c['text'] + ' ' }}{% endfor %}{% endfor %}"
    "{% if add_generation_prompt %}{{ 'ASSISTANT:' }}{% endif %}"
)
"""LLaVA-1.5's own: pictures before text, nothing but a space between turns."""

WORDS = ("USER", "ASSISTANT", " the", " yes", " no", " not", " image", " written", " is", " red", "What", "Answer")
"""Texts that are one token; the rest is spelled byte by byte."""


def tokenizer() -> PreTrainedTokenizerFast:
    """Byte-level BPE that writes `<s>` before every text, as LLaVA's does. Not trained: training breaks ties at random."""
    special = ["<pad>", "<s>", "</s>", "<unk>", "<image>"]
    vocabulary = special + sorted(pre_tokenizers.ByteLevel.alphabet())
    merges: list[tuple[str, str]] = []
    for word in (word.replace(" ", "Ġ") for word in WORDS):
        for end in range(1, len(word)):
            if word[: end + 1] not in vocabulary:
                merges.append((word[:end], word[end]))
                vocabulary.append(word[: end + 1])
    bpe = Tokenizer(models.BPE({token: place for place, token in enumerate(vocabulary)}, merges))
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    bpe.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", bpe.token_to_id("<s>"))])
    return PreTrainedTokenizerFast(
        tokenizer_object=bpe,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        unk_token="<unk>",
        extra_special_tokens=["<image>"],
        model_specific_special_tokens={"image_token": "<image>"},
    )


def build(folder: Path, *, template: str | None = TEMPLATE, std: float = 0.3, seed: int = 1) -> Path:
    """Write the checkpoint to `folder` and return it. template: None leaves the chat template out."""
    tokens = tokenizer()
    layers: dict[str, Any] = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    config = LlavaConfig(
        vision_config=CLIPVisionConfig(image_size=IMAGE_SIZE, patch_size=PATCH_SIZE, projection_dim=32, **layers),
        text_config=LlamaConfig(
            vocab_size=len(tokens),
            max_position_embeddings=POSITIONS,
            num_key_value_heads=2,
            pad_token_id=tokens.pad_token_id,
            bos_token_id=tokens.bos_token_id,
            eos_token_id=tokens.eos_token_id,
            **layers,
        ),
        image_token_index=tokens.convert_tokens_to_ids("<image>"),
        image_seq_length=PICTURE_TOKENS,
    )
    model = LlavaForConditionalGeneration(config)
    generator = torch.Generator().manual_seed(seed)
    for weights in model.parameters():
        if weights.dim() >= 2:
            weights.data = torch.randn(weights.shape, generator=generator) * std
    model.save_pretrained(folder)
    pictures = CLIPImageProcessorPil(size={"shortest_edge": IMAGE_SIZE}, crop_size={"height": IMAGE_SIZE, "width": IMAGE_SIZE})
    LlavaProcessor(
        pictures,
        tokens,
        patch_size=PATCH_SIZE,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=template,
    ).save_pretrained(folder)
    return folder
