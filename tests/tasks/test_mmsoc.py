"""MM-Soc's prompts, scorers and metrics, against the paper's Tables 2, 6 and 7."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from eyetest import evaluate
from eyetest.evaluation.rescore import table_of
from eyetest.evaluation.results import Results
from eyetest.metrics import Accuracy, BalancedAccuracy, MacroF1
from eyetest.metrics.columns import point
from eyetest.prompts import Prompt, render
from eyetest.readers import LoadReport
from eyetest.scorers.description import RULE, DescriptionScorer
from eyetest.tasks import Card, Task, mmsoc
from eyetest.tasks import fakenewsnet as news
from eyetest.tasks import hateful_memes as hateful
from eyetest.tasks import memotion as memes
from eyetest.tasks import youtube as videos
from eyetest.types import Image, Message, Response, Sample

FIXTURES = Path(__file__).parents[1] / "fixtures"
CASES = json.loads((FIXTURES / "metric_cases.json").read_text())["cases"]

NEWS = "Is the following news misinformation?"
TAGGING = (
    "Predict the tags of the following online video given its title, description, and thumbnail image. "
    "Different tags must be separated by commas."
)
SCENE = "Describe the scene, such as its major subjects, colors, and texture."
SOCIAL = "Describe the cultural and social context of the image. What particular groups is the image and text targeting at?"

TASKS: dict[str, tuple[Task, Path, str, str]] = {
    key: (task, FIXTURES / folder, split, question)
    for key, task, folder, split, question in (
        ("misinformation", news.politifact, "fakenewsnet/FakeNewsNet_Multimodal", "test", f"{NEWS} [CONTEXT]"),
        ("hate", hateful.hateful_memes, "hateful_memes/data", "dev_seen", "Is the following meme hateful?"),
        ("humor", memes.memotion_humor, "memotion/memotion_dataset_7k", "test", "Is the following meme humorous?"),
        ("sarcasm", memes.memotion_sarcasm, "memotion/memotion_dataset_7k", "test", "Is the following meme sarcastic?"),
        (
            "offensiveness",
            memes.memotion_offensiveness,
            "memotion/memotion_dataset_7k",
            "test",
            "Is the following meme offensive?",
        ),
        (
            *("sentiment", memes.memotion_sentiment, "memotion/memotion_dataset_7k", "test"),
            "What is the overall sentiment expressed through this meme?",
        ),
        (
            "motivational",
            memes.memotion_motivational,
            "memotion/memotion_dataset_7k",
            "test",
            "Is the following meme motivational?",
        ),
        ("humor_level", memes.memotion_humor_level, "memotion/memotion_dataset_7k", "test", "How funny is the following meme?"),
        (
            "sarcasm_level",
            memes.memotion_sarcasm_level,
            "memotion/memotion_dataset_7k",
            "test",
            "How sarcastic is the following meme?",
        ),
        (
            "offensiveness_level",
            memes.memotion_offensiveness_level,
            "memotion/memotion_dataset_7k",
            "test",
            "How offensive is the following meme?",
        ),
        ("ocr", hateful.hateful_memes_ocr, "hateful_memes/data", "dev_seen", "What is the text in the image?"),
        ("tagging", videos.youtube_tagging, "youtube/YouTube2000", "train", f"{TAGGING} [CONTEXT]"),
        ("image_description", hateful.hateful_memes_image_description, "hateful_memes/data", "dev_seen", SCENE),
        ("social_context", hateful.hateful_memes_social_context, "hateful_memes/data", "dev_seen", SOCIAL),
    )
}
"""Key -> a task that has it, where its fixture lies, a split of that, and what Table 6 asks ([CONTEXT]: the sample's)."""

RELEASED = {
    "misinformation": "Is this news (image-text pair) misinformation? Answer 'Yes' or 'No'. [CONTEXT]",
    "hate": "Is this meme hateful? Answer 'Yes' or 'No'.",
    "humor": "Is this meme humorous? Answer 'humorous' or 'not_humorous'.",
    "sarcasm": "Is this meme sarcastic? Answer 'sarcastic' or 'not_sarcastic'.",
    "offensiveness": "Is this meme offensive? Answer 'offensive' or 'not_offensive'.",
    "sentiment": (
        "What is the overall sentiment expressed through this meme? Answer 'positive' or 'neutral' or 'negative'"
    ),
    "motivational": "Is this meme motivational? Answer 'motivational' or 'not_motivational'.",
    "humor_level": "How funny is this meme? Answer 'not_funny' or 'funny' or 'very_funny' or 'hilarious'.",
    "ocr": "What is the text in the image? Use double quotes to enclose your answer.",
    "tagging": f'{TAGGING} For example, "sports,tennis,french-open" [CONTEXT]',
    "image_description": SCENE,
    "social_context": SOCIAL,
}  # fmt: skip
"""What the authors' code asks."""

TWO_LABELS = [key for key in TASKS if key in mmsoc.CHOICES and len(key.split("_")) == 1 and key != "sentiment"]


def first(key: str) -> Sample:
    task, folder, split, _ = TASKS[key]
    return next(task.load(folder, split, LoadReport()))


def said(prompt: Prompt, sample: Sample) -> str:
    text = render(prompt, sample)[0].content[-1]
    assert isinstance(text, str)
    return text


# ------------------------------------------------------------------------------------------------------------ prompts


def test_every_key_has_three_prompts_and_paper_is_the_default() -> None:
    assert set(TASKS) == set(mmsoc.KINDS)
    for key in mmsoc.KINDS:
        made = mmsoc.prompts(key)
        assert [*made] == ["paper", "paper_no_labels", "released_code"]
        assert all(prompt.name == name and not prompt.lettered for name, prompt in made.items())


@pytest.mark.parametrize("key", TASKS)
def test_paper_no_labels_is_table_6_word_for_word(key: str) -> None:
    sample, wanted = first(key), TASKS[key][3]
    assert ("[CONTEXT]" in wanted) == bool(sample.context)
    assert said(mmsoc.prompts(key)["paper_no_labels"], sample) == wanted.replace("[CONTEXT]", sample.context or "").strip()


@pytest.mark.parametrize("key", TASKS)
def test_paper_adds_the_labels_and_nothing_else(key: str) -> None:
    sample = first(key)
    asked = said(mmsoc.prompts(key)["paper_no_labels"], sample)
    listed = ", ".join(sample.choices)
    wanted = {
        "choice": f"{asked}\nAnswer with one of: {listed}.",
        "labels": f"{asked}\nChoose from these tags: {listed}.",
    }.get(sample.kind, asked)
    assert said(mmsoc.prompts(key)["paper"], sample) == wanted


def test_tagging_names_all_62_tags() -> None:
    listed = said(mmsoc.prompts("tagging")["paper"], first("tagging")).split("Choose from these tags: ")[1]
    tags = listed.removesuffix(".").split(", ")
    assert (len(tags), tags[0], tags[-1]) == (62, "action-adventure_game", "volleyball")


@pytest.mark.parametrize("key", RELEASED)
def test_released_code_asks_what_the_code_asks(key: str) -> None:
    sample = first(key)
    assert said(mmsoc.prompts(key)["released_code"], sample) == RELEASED[key].replace("[CONTEXT]", sample.context or "")


@pytest.mark.parametrize("name", ["paper", "paper_no_labels", "released_code"])
@pytest.mark.parametrize("key", TASKS)
def test_no_prompt_shows_a_letter_or_repeats_what_a_condition_took_away(key: str, name: str) -> None:
    sample = first(key)
    assert "A. " not in said(mmsoc.prompts(key)[name], sample)
    bare = Sample("x", "", ("yes",), sample.kind, ("yes", "no") if sample.choices else ())
    left = said(mmsoc.prompts(key)[name], bare)
    assert not re.search(r"news|meme|image|video|[Dd]escribe", left), left


def test_open_ended_names_no_labels() -> None:
    for key in mmsoc.CHOICES:
        for prompt in mmsoc.prompts(key).values():
            text = said(prompt, Sample("x", "Is it?", ("hateful",), "text", context="A post."))
            assert "hateful" not in text
            assert text.startswith("Is it? A post.")


def test_an_unknown_key_is_a_bug() -> None:
    for function in (mmsoc.prompts, mmsoc.scorers, mmsoc.metrics):
        with pytest.raises(KeyError, match="hatred"):
            function("hatred")


# ------------------------------------------------------------------------------------------------------------ scorers


@pytest.mark.parametrize("key", TWO_LABELS)
@pytest.mark.parametrize(
    ("text", "place"),
    [
        *(("Yes.", 0), ("yes", 0), ("Yes, it is.", 0), ("'Yes'", 0), ("Answer: Yes", 0), ("No.", 1), ("No, it is not.", 1)),
        *(("{0}", 0), ("{1}", 1), ("The answer is {1}.", 1), ("Yes or No", None), ("A", None), ("It depends.", None), ("", None)),
    ],
)
def test_yes_and_no_are_the_label_and_its_negation(key: str, text: str, place: int | None) -> None:
    sample = first(key)
    score = mmsoc.scorers(key)["choice"](sample, text.format(*sample.choices))
    assert score.answer == (None if place is None else sample.choices[place])
    assert not sample.choices[0].startswith("not_")
    assert sample.choices[1] == f"not_{sample.choices[0]}"


@pytest.mark.parametrize("key", ["sentiment", "humor_level", "sarcasm_level", "offensiveness_level"])
def test_yes_is_no_answer_where_there_are_more_labels(key: str) -> None:
    sample, scorer = first(key), mmsoc.scorers(key)["choice"]
    assert [scorer(sample, text).status for text in ("Yes.", "No.")] == ["unparsed", "unparsed"]
    assert [scorer(sample, f"It is {label}.").answer for label in sample.choices] == [*sample.choices]


@pytest.mark.parametrize("key", TASKS)
def test_every_kind_that_a_task_meets_has_a_prompt_a_scorer_and_metrics(key: str) -> None:
    kind = mmsoc.KINDS[key]
    wanted = {kind, "text"} if kind == "choice" else {kind}
    assert first(key).kind == kind
    assert set(mmsoc.scorers(key)) == set(mmsoc.metrics(key)) == wanted
    for prompt in mmsoc.prompts(key).values():
        assert set(prompt.templates or {}) == wanted


def test_a_description_is_stored_unscored_whatever_it_says() -> None:
    scorer = DescriptionScorer()
    for text in ("A cat.", "", "I'm sorry, I cannot describe it."):
        score = scorer(first("social_context"), text)
        assert (score.status, score.value, score.answer, score.rule) == ("unscored", 0.0, None, RULE)
    assert RULE == "stored: descriptions are scored later"
    assert scorer.signature == "description(stored)"


# ------------------------------------------------------------------------------------------------------------ metrics


@pytest.mark.parametrize(
    ("key", "kind", "names"),
    [
        (
            *("hate", "choice"),
            "macro_f1 macro_f1* accuracy accuracy* macro_precision macro_recall balanced_accuracy balanced_accuracy* "
            "success_rate",
        ),
        ("sentiment", "text", "accuracy accuracy* answer_in_output success_rate"),
        (
            *("ocr", "transcription"),
            "bag_f1 bag_f1* bag_precision bag_recall wer wer_mean cer cer_mean bleu_1 bleu_2 bleu_3 bleu_4 success_rate",
        ),
        (
            *("tagging", "labels"),
            "label_macro_f1 label_macro_f1* label_macro_f1_supported label_macro_precision label_macro_recall "
            "hamming_loss jaccard success_rate",
        ),
        ("social_context", "description", "success_rate"),
    ],
)
def test_the_scoring_table(key: str, kind: Any, names: str) -> None:
    """A star: over answers that could be read."""
    stars = [metric.name + "*" * (metric.policy == "parsed_only") for metric in mmsoc.metrics(key)[kind]]
    assert stars == names.split()


class Printed(NamedTuple):
    """A row of Table 2, PolitiFact."""

    f1: float
    accuracy: float
    auc: float
    success: float
    """Per cent."""


TABLE_2 = {
    "llava-v1.5-7b": Printed(0.488, 0.740, 0.534, 100.0),
    "llava-v1.5-13b": Printed(0.749, 0.827, 0.721, 100.0),
    "instructblip-vicuna-7b": Printed(0.376, 0.388, 0.511, 76.9),
    "instructblip-vicuna-13b": Printed(0.434, 0.485, 0.441, 94.2),
    "instructblip-flan-t5-xl": Printed(0.418, 0.718, 0.500, 99.0),
    "instructblip-flan-t5-xxl": Printed(0.519, 0.543, 0.537, 100.0),
    "blip2-opt-2.7b": Printed(0.213, 0.227, 0.429, 21.2),
    "blip2-flan-t5-xl": Printed(0.419, 0.721, 0.500, 100.0),
    "blip2-flan-t5-xxl": Printed(0.545, 0.548, 0.634, 100.0),
    "llama-adapter-v2": Printed(0.550, 0.553, 0.613, 87.5),
    "bert-base-uncased": Printed(0.850, 0.875, 0.850, 100.0),
    "roberta-base": Printed(0.894, 0.923, 0.894, 100.0),
    "roberta-large": Printed(0.846, 0.885, 0.825, 100.0),
    "MiniLM-v2": Printed(0.793, 0.827, 0.806, 100.0),
    "deberta-v3-large": Printed(0.952, 0.962, 0.952, 100.0),
}

MATRICES = {
    "llava-v1.5-7b": [(2, 27, 0, 75)],
    "llava-v1.5-13b": [(14, 15, 3, 72)],
    "instructblip-vicuna-7b": [(21, 4, 45, 10)],
    "instructblip-vicuna-13b": [],
    "instructblip-flan-t5-xl": [(0, 29, 0, 74)],
    "instructblip-flan-t5-xxl": [],
    "blip2-opt-2.7b": [(4, 1, 16, 1), (1, 16, 1, 4)],
    "blip2-flan-t5-xl": [(0, 29, 0, 75)],
    "blip2-flan-t5-xxl": [(24, 5, 42, 33)],
    "llama-adapter-v2": [],
    "bert-base-uncased": [],
    "roberta-base": [],
    "roberta-large": [(20, 9, 3, 72)],
    "MiniLM-v2": [(22, 7, 11, 64)],
    "deberta-v3-large": [(27, 2, 2, 73)],
}
"""Every (tp, fn, fp, tn), positive: misinformation, that gives all four printed numbers of a row.

Nine rows have exactly one. blip2-opt-2.7b, of which 22 answers were read, has one and its mirror image: all four numbers
treat both classes alike. Five rows have none: no single run of 104 items gives them.
"""


def possible(printed: Printed, fake: int = 29, real: int = 75, *, f1: bool = True) -> list[tuple[int, ...]]:
    """Every (tp, fn, fp, tn) that gives the printed numbers when unread answers are left out; f1: its F1 too."""
    total = fake + real
    cells = [
        np.array((tp, read_fake - tp, fp, read_real - fp))
        for read_fake in range(fake + 1)
        for read_real in range(real + 1)
        if abs(100 * (read_fake + read_real) / total - printed.success) <= 0.05 + 1e-9
        for tp in range(read_fake + 1)
        for fp in range(read_real + 1)
    ]
    tp, fn, fp, tn = np.array(cells, float).T
    totals = np.stack([tp, tn, tp + fn, fp + tn, tp + fp, fn + tn], axis=-1)
    near = [
        (Accuracy().value(np.stack([tp + tn, tp + fn + fp + tn], axis=-1)), printed.accuracy),
        (BalancedAccuracy().value(totals), printed.auc),
        *([(MacroF1().value(totals), printed.f1)] if f1 else []),
    ]
    kept = np.logical_and.reduce([np.abs(values - number) <= 0.0005 + 1e-9 for values, number in near])
    return [tuple(int(count) for count in cells[place]) for place in np.flatnonzero(kept)]


@pytest.mark.parametrize("model", TABLE_2)
def test_which_rows_of_table_2_one_run_can_give(model: str) -> None:
    assert possible(TABLE_2[model]) == MATRICES[model]


def test_the_f1_of_two_text_encoders_is_a_misprint() -> None:
    """Both repeat the AUC beside it; accuracy and AUC have one matrix each, whose F1 is another."""
    found = {model: possible(TABLE_2[model], f1=False) for model in ("bert-base-uncased", "roberta-base")}
    assert found == {"bert-base-uncased": [(23, 6, 7, 68)], "roberta-base": [(24, 5, 3, 72)]}


def task(key: str, samples: Iterable[Sample], prompt: str = "paper") -> Task:
    samples = tuple(samples)
    prompts = {prompt: mmsoc.prompts(key)[prompt]}
    return Task(f"mmsoc_{key}", Card("made"), lambda *_: iter(samples), mmsoc.scorers(key), mmsoc.metrics(key), prompts)


def values(results: Results, condition: str = "image") -> dict[tuple[str, str], float]:
    return {(row.estimate.metric, row.policy): row.estimate.value for row in results.rows if row.condition == condition}


def binary_reports() -> list[Any]:
    found = [case for case in CASES if case["metric"] == "binary_report"]
    assert len(found) >= 8
    return [pytest.param(case, id=case["id"]) for case in found]


@pytest.mark.parametrize("case", binary_reports())
def test_table_2_from_completions_to_numbers(case: dict[str, Any]) -> None:
    cells, printed = case["args"]["confusion"], TABLE_2[re.findall(r"row (\S+):", case["note"])[0]]
    yes, no = "Yes.", "No, it is not."
    answers = [yes] * cells["tp"] + [no] * cells["fn"] + ["Hard to tell."] * (29 - cells["tp"] - cells["fn"])
    answers += [yes] * cells["fp"] + [no] * cells["tn"] + ["Hard to tell."] * (75 - cells["fp"] - cells["tn"])
    samples = [Sample(f"n{n}", NEWS, (news.LABELS[n >= 29],), choices=news.LABELS, context=f"[{n}]") for n in range(len(answers))]

    def model(messages: tuple[Message, ...]) -> str:
        return answers[int(re.findall(r"\[(\d+)\]", str(messages[0].content[-1]))[0])]

    results = evaluate(task("misinformation", samples, "released_code"), {"model": model})
    found, expected = values(results), case["expected"]
    exact = {
        ("macro_f1", "parsed_only"): expected["f1_macro"],
        ("accuracy", "parsed_only"): expected["accuracy"],
        ("balanced_accuracy", "parsed_only"): expected["auc_hard"],
        ("success_rate", "as_wrong"): expected["success_rate"],
    }
    assert {name: found[name] for name in exact} == pytest.approx(exact, abs=1e-9)
    rounded = [*(found[name] for name in [*exact][:3]), 100 * found["success_rate", "as_wrong"]]
    assert np.abs(np.array(rounded) - printed) == pytest.approx(0.0, abs=0.05 + 1e-9)
    assert np.abs(np.array(rounded) - printed)[:3].max() <= 0.0005 + 1e-9
    assert results.rows[0].estimate.metric == "macro_f1"
    assert results.rows[0].policy == "as_wrong"


# --------------------------------------------------------------------------------------------------------- end to end

CONDITIONS = ("image", "no_image", "swapped", "text_only", "image_text", "truncated@2", "text_only+truncated@1")


def made(key: str, n: int = 24) -> list[Sample]:
    """Samples of a task with the kind, labels and question of its fixture, every third without words."""
    like = first(key)
    targets: Callable[[int], tuple[str, ...]] = {
        "choice": lambda k: (like.choices[k % len(like.choices)],),
        "labels": lambda k: like.choices[k % 7 : 62 : 20],
        "transcription": lambda k: (f"Words of picture {k}, and more of them: {k}",),
        "description": lambda k: (f"Picture {k}.",),
    }[like.kind]
    return [
        Sample(
            f"{key}-{k}",
            like.question,
            targets(k),
            like.kind,
            like.choices,
            (Image(data=b"%d" % k),),
            context=f"Title: {k}\nDescription: none" if like.context else None,
            picture_text=f"so {k} such meme" if k % 3 and like.kind != "transcription" else None,
        )
        for k in range(n)
    ]


@pytest.mark.parametrize("key", [key for key in TASKS if key not in ("image_description", "social_context")])
def test_the_oracle_attains_the_best_of_every_metric(key: str, tmp_path: Path) -> None:
    results = evaluate(task(key, made(key)), "oracle", conditions=CONDITIONS, out=tmp_path / "run")
    assert [row for row in results.rows if row.estimate.value != pytest.approx(row.best, abs=1e-12)] == []
    table, kind = table_of(tmp_path / "run"), mmsoc.KINDS[key]
    asked = [name for name in CONDITIONS if kind != "transcription" or ("text" not in name)]
    assert [cell.condition for cell in table.cells] == asked
    for cell in table.cells:
        columns = table.columns(cell)
        assert len(columns) == 24
        for metric in mmsoc.metrics(key)[kind]:
            assert point(metric, columns) == pytest.approx(metric.best(columns), abs=1e-12), metric


def test_words_and_length_reach_the_prompt() -> None:
    seen: set[str] = set()

    def model(messages: tuple[Message, ...]) -> str:
        seen.add(str(messages[0].content[-1]))
        return "hateful"

    evaluate(task("hate", made("hate", 2)[1:], "paper_no_labels"), {"model": model}, conditions=CONDITIONS)
    assert seen == {
        "Is the following meme hateful?",
        "Is the following meme hateful? The words in the picture: so 1 such meme",
        "Is the following meme hateful? The words in the picture: so",
    }


def test_descriptions_run_and_are_stored_unscored(tmp_path: Path) -> None:
    asked = task("social_context", made("social_context"))
    models = {"cat": lambda _: Response("A cat."), "mute": lambda _: Response(status="refused")}
    results = evaluate(asked, models, conditions=("image", "no_image", "text_only"), out=tmp_path / "run")
    lines = [json.loads(line) for line in (tmp_path / "run" / "predictions.jsonl").read_text().splitlines()]
    kept = [line for line in lines if line["model"] == "cat"]
    assert len(kept) == 72
    assert {(line["response"]["text"], line["score"]["status"], line["score"]["rule"]) for line in kept} == {
        ("A cat.", "unscored", RULE)
    }
    rows = {(row.model, row.condition): row.estimate for row in results.rows}
    assert rows["cat", "image"].note == "undefined: no answers; 24 answers unscored"
    assert (rows["cat", "image"].n, rows["mute", "image"].n, rows["mute", "image"].value) == (0, 24, 0.0)


@pytest.mark.parametrize("key", ["hate", "sentiment", "tagging"])
def test_blocked_answers_are_wrong(key: str) -> None:
    results = evaluate(task(key, made(key)), {"blocked": lambda _: Response(status="blocked", error="policy")})
    found = values(results)
    assert (results.rows[0].estimate.value, results.rows[0].estimate.n_refused) == (0.0, 24)
    assert found["success_rate", "as_wrong"] == 0.0
    assert np.isnan(found[results.rows[1].estimate.metric, "parsed_only"])
