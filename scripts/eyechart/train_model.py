"""Trains the embedded model of the eye chart from nothing: one thread, seeded, a few hundred kilobytes.

    OMP_NUM_THREADS=1 python scripts/eyechart/train_model.py

A LLaVA checkpoint as transformers saves it: a CLIP vision tower, a projector, a Llama with a byte-level BPE tokenizer. It is
trained on the default prompts of `eyetest.prompts`; only answers count. Options always come in new order and are answered
with their text. Some questions come without a picture, or with a grey one, and with an answer drawn at random: without the
picture the model guesses.
"""

from __future__ import annotations

import argparse
import base64
import io
import json
import logging
import math
import time
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch
from checkpoint import IMAGE_SIDE, build, prompt_ids, save
from drawing import COLOURS, NUMBERS, POSITIONS, SHAPES, SIDE, WORDS, one_shape, one_word, several_shapes
from knowledge import Knowledge, plan
from PIL import Image
from questions import FACTS, SHAPE_ANSWERS, Country, countries, flag_question, shape_question, word_question

FILES = Path(__file__).parents[2] / "src" / "eyetest" / "eyechart" / "files"
MODEL = Path(__file__).parents[2] / "src" / "eyetest" / "eyechart" / "model"

SEED = 0
STEPS, BATCH, RATE, WARMUP = 6500, 32, 2e-3, 200
SHARES = {"shapes": 0.31, "words": 0.31, "name": 0.08, "asked": 0.11, "told": 0.07, "guess": 0.12}
"""How training questions are divided: facts are learned soon, seeing shapes and letters takes long."""
SHAPE_SHARES = {"colour": 1, "position": 1, "shape": 3, "count": 3}
"""How questions about one picture of shapes are divided, among those that it can be asked."""
CHOICES = 0.4
"""Share of questions with options."""
GREY, BARE = 0.4, 0.25
"""Share of the guesses that show a grey picture, and of those with options that ask no question."""
POOL = {"shapes": 8000, "words": 6000, "flag": 24}
"""Pictures drawn for training; of every flag, so many distorted copies."""

say = logging.getLogger("train_model").info


@dataclass(frozen=True, slots=True)
class Lesson:
    """One training example: a question with its picture (a row of `Pictures.pixels`) or without."""

    topic: str
    """A key of SHARES."""
    question: dict[str, Any]
    picture: int | None = None


@dataclass(slots=True)
class Pictures:
    """Every training picture, resized as the processor does it, uint8 [n, 3, side, side], and what is on it."""

    pixels: list[np.ndarray] = field(default_factory=list)
    shapes: list[tuple[int, dict[str, str]]] = field(default_factory=list)
    words: list[tuple[int, str]] = field(default_factory=list)
    flags: dict[str, list[int]] = field(default_factory=dict)
    grey: int = 0
    """Row of the grey picture."""

    def add(self, picture: Image.Image) -> int:
        """Keep a picture and return its row."""
        small = picture.resize((IMAGE_SIDE, IMAGE_SIDE), Image.Resampling.BICUBIC)
        self.pixels.append(np.asarray(small).transpose(2, 0, 1))
        return len(self.pixels) - 1


def draw_pictures(random: Random, seen: list[Country]) -> Pictures:
    """The pool of training pictures; test pictures come from other seeds."""
    pictures = Pictures()
    pictures.grey = pictures.add(Image.new("RGB", (SIDE, SIDE), (127, 127, 127)))
    for number in range(POOL["shapes"]):
        facts = {"colour": random.choice(list(COLOURS)), "shape": random.choice(SHAPES)}
        if number % 10 < 7:
            facts["position"] = random.choice(POSITIONS)
            drawn = one_shape(random, **facts)
        else:
            count = random.randint(1, len(NUMBERS))
            facts["count"] = NUMBERS[count - 1]
            drawn = several_shapes(random, facts["colour"], facts["shape"], count)
        pictures.shapes.append((pictures.add(drawn), facts))
    for _ in range(POOL["words"]):
        word = random.choice(WORDS)
        pictures.words.append((pictures.add(one_word(random, word)), word))
    drawn_flags = flag_pictures()
    for country in seen:
        flag = drawn_flags[country.name]
        copies = [flag] + [distorted(random, flag) for _ in range(POOL["flag"] - 1)]
        pictures.flags[country.name] = [pictures.add(copy) for copy in copies]
    return pictures


def flag_pictures() -> dict[str, Image.Image]:
    """Country name -> its flag, from the test file: the flags are the same, the seen ones are learned by heart."""
    found = {}
    with (FILES / "flags.test.jsonl").open(encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            name = line["questions"][0]["entity"]
            found[name] = Image.open(io.BytesIO(base64.b64decode(line["png"]))).convert("RGB")
    return found


def distorted(random: Random, flag: Image.Image) -> Image.Image:
    """A flag seen a little from elsewhere and in other light."""
    width, height = flag.size
    box = tuple(random.uniform(-0.06, 0.06) * side for side in (width, height, width, height))
    extent = (box[0], box[1], width + box[2], height + box[3])
    moved = flag.transform(flag.size, Image.Transform.EXTENT, extent, Image.Resampling.BILINEAR, fillcolor=(250, 250, 250))
    light = np.asarray([random.uniform(0.88, 1.12) for _ in range(3)])
    return Image.fromarray(np.clip(np.asarray(moved) * light, 0, 255).astype(np.uint8))


class Teacher:
    """Draws lessons."""

    def __init__(self, random: Random, every: tuple[Country, ...], known: dict[str, Knowledge], pictures: Pictures) -> None:
        self.random, self.pictures, self.every = random, pictures, every
        self.seen = tuple(country for country in every if known[country.name].seen)
        self.told = {fact: tuple(country for country in every if fact in known[country.name].told) for fact in FACTS}
        self.asked = {fact: tuple(country for country in every if fact in known[country.name].asked) for fact in FACTS}

    def lesson(self) -> Lesson:
        """One question, its picture and the right answer; a guess has no picture and no right answer."""
        topic = self.random.choices(list(SHARES), list(SHARES.values()))[0]
        kind = "choice" if self.random.random() < CHOICES else "text"
        if topic == "guess":
            return self._guess(kind)
        if topic == "shapes":
            return self._about_shapes(kind)
        if topic == "words":
            row, word = self.random.choice(self.pictures.words)
            return Lesson(topic, word_question(self.random, word, kind), row)
        fact = "name" if topic == "name" else self.random.choice(FACTS)
        rivals = self.told[fact] if topic == "told" else self.seen if topic == "name" else self.asked[fact]
        country = self.random.choice(rivals)
        row_or_none = None if topic == "told" else self.random.choice(self.pictures.flags[country.name])
        question = flag_question(self.random, country, fact, kind, rivals, knowledge=topic == "told")
        return Lesson(topic, question, row_or_none)

    def _about_shapes(self, kind: str) -> Lesson:
        row, facts = self.random.choice(self.pictures.shapes)
        asked = [fact for fact in facts if not (fact == "colour" and "count" in facts)]
        asks = self.random.choices(asked, [SHAPE_SHARES[fact] for fact in asked])[0]
        return Lesson("shapes", shape_question(self.random, asks, facts[asks], kind), row)

    def _guess(self, kind: str) -> Lesson:
        """Any answer is as right as another: no picture or a grey one, and sometimes nothing but the options."""
        subject = self.random.choice(("shapes", "words", "name", *FACTS))
        if subject == "shapes":
            asks = self.random.choice(list(SHAPE_ANSWERS))
            question = shape_question(self.random, asks, self.random.choice(SHAPE_ANSWERS[asks]), kind)
        elif subject == "words":
            question = word_question(self.random, self.random.choice(WORDS), kind)
        else:
            question = flag_question(self.random, self.random.choice(self.every), subject, kind, self.every)
        if kind == "choice" and self.random.random() < BARE:
            question["question"] = ""
        return Lesson("guess", question, self.pictures.grey if self.random.random() < GREY else None)


def batch(lessons: list[Lesson], processor: Any, pixels: torch.Tensor) -> dict[str, torch.Tensor]:
    """Right-padded ids [n, length], the mask, pictures [m, 3, side, side] and labels (-100 but at answers)."""
    rows = [prompt_ids(processor, lesson.question, lesson.picture is not None) for lesson in lessons]
    longest = max(len(prompt) + len(answer) for prompt, answer in rows)
    ids = torch.full((len(rows), longest), processor.tokenizer.pad_token_id)
    labels, mask = torch.full_like(ids, -100), torch.zeros_like(ids)
    for number, (prompt, answer) in enumerate(rows):
        end = len(prompt) + len(answer)
        ids[number, :end] = torch.tensor(prompt + answer)
        labels[number, len(prompt) : end] = torch.tensor(answer)
        mask[number, :end] = 1
    inputs = {"input_ids": ids, "attention_mask": mask, "labels": labels}
    shown = [lesson.picture for lesson in lessons if lesson.picture is not None]
    if shown:
        how = processor.image_processor
        mean, std = (torch.tensor(values).view(1, 3, 1, 1) for values in (how.image_mean, how.image_std))
        inputs["pixel_values"] = (pixels[shown].float() / 255 - mean) / std
    return inputs


def loss_of(model: Any, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
    """Mean cross-entropy of the answers' tokens; logits are computed for those alone."""
    labels = inputs.pop("labels")
    hidden = model.model(**inputs, use_cache=False).last_hidden_state
    wanted = labels[:, 1:] != -100
    logits = model.lm_head(hidden[:, :-1][wanted])
    return torch.nn.functional.cross_entropy(logits, labels[:, 1:][wanted])


def schedule(step: int, steps: int) -> float:
    """Warm-up, then a cosine to zero."""
    return min(1.0, (step + 1) / WARMUP) * 0.5 * (1 + math.cos(math.pi * step / steps))


def train(steps: int, seed: int, out: Path) -> float:
    """Train and save; returns CPU seconds."""
    started = time.process_time()
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    every = countries()
    known = plan(every)
    pictures = draw_pictures(Random(f"{seed}:pictures"), [country for country in every if known[country.name].seen])
    pixels = torch.from_numpy(np.stack(pictures.pixels))
    model, processor = build(every)
    weights = sum(weight.numel() for weight in model.parameters())
    say("%d parameters, %d tokens, %.0f CPU s to draw", weights, len(processor.tokenizer), time.process_time() - started)
    teacher = Teacher(Random(f"{seed}:lessons"), every, known, pictures)
    optimiser = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.98), weight_decay=0.01)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: schedule(step, steps))
    losses: list[float] = []
    for step in range(1, steps + 1):
        loss = loss_of(model, batch([teacher.lesson() for _ in range(BATCH)], processor, pixels))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        scheduler.step()
        optimiser.zero_grad(set_to_none=True)
        losses.append(loss.item())
        if step % 250 == 0:
            right = probe(model, teacher, processor, pixels)
            say("step %d, %.0f CPU s, loss %.3f, %s", step, time.process_time() - started, np.mean(losses[-250:]), right)
            if step % 1000 == 0:
                save(model, processor, out)
    save(model, processor, out)
    write_truth(out, known, {"seed": seed, "steps": steps, "batch": BATCH, "cpu_seconds": round(time.process_time() - started)})
    return time.process_time() - started


def write_truth(folder: Path, known: dict[str, Knowledge], training: dict[str, int]) -> None:
    """What the model was taught, and how, for machines."""
    taught = {
        name: {"seen": about.seen, "told": sorted(about.told), "asked": sorted(about.asked)} for name, about in known.items()
    }
    (folder / "truth.json").write_text(json.dumps({"training": training, "countries": taught}, indent=1) + "\n", encoding="utf-8")


def probe(model: Any, teacher: Teacher, processor: Any, pixels: torch.Tensor, n: int = 256) -> str:
    """Share of fresh lessons whose first answer token is right, by topic and kind."""
    state = teacher.random.getstate()
    lessons = [teacher.lesson() for _ in range(n)]
    teacher.random.setstate(state)
    lessons = [lesson for lesson in lessons if lesson.topic != "guess"]
    inputs = batch(lessons, processor, pixels)
    labels = inputs.pop("labels")
    with torch.inference_mode():
        hidden = model.model(**inputs, use_cache=False).last_hidden_state
    first = (labels != -100).int().argmax(1)
    rows = torch.arange(len(first))
    right = (model.lm_head(hidden[rows, first - 1]).argmax(-1) == labels[rows, first]).tolist()
    found: dict[str, list[bool]] = {}
    for lesson, ok in zip(lessons, right, strict=True):
        found.setdefault(f"{lesson.topic}/{lesson.question['kind']}", []).append(ok)
    return " ".join(f"{name}={sum(oks) / len(oks):.2f}" for name, oks in sorted(found.items()))


def main() -> None:
    """Train with what the command line asks for."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--steps", type=int, default=STEPS)
    arguments.add_argument("--seed", type=int, default=SEED)
    arguments.add_argument("--out", type=Path, default=MODEL)
    given = arguments.parse_args()
    seconds = train(given.steps, given.seed, given.out)
    say("%.0f CPU s", seconds)


if __name__ == "__main__":
    main()
