"""What a run finds beyond scores, on models whose truth is known: wired from the answers to the rows."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from eyetest import evaluate
from eyetest.errors import UsageError
from eyetest.evaluation.results import Finding, Results
from eyetest.prompts import letters
from eyetest.tasks.from_samples import task_from_samples
from eyetest.types import Image, Message, Request, Response, Sample

COLOURS = ("red", "green", "blue", "grey")


def picture(number: int) -> Image:
    return Image(data=b"\x89PNG\r\n\x1a\n" + number.to_bytes(4, "big"))


def questions(n: int, labels: Sequence[str] = COLOURS) -> list[Sample]:
    """Questions over one label space, each about a picture of its own; every label is right equally often."""
    return [
        Sample(
            id=f"q{number:04d}",
            question=f"What colour is toy {number}?",
            target=(labels[number % len(labels)],),
            choices=tuple(labels),
            images=(picture(number),),
            knowledge_question=f"What colour is the toy called {number}?",
            metadata={"room": "abc"[number // len(labels) % 3]},
        )
        for number in range(n)
    ]


def found(results: Results, panel: str, metric: str, **wanted: str) -> list[Finding]:
    return [
        row
        for row in results.findings
        if row.panel == panel
        and row.estimate.metric.partition("@")[0] == metric
        and all(getattr(row, name) == value for name, value in wanted.items())
    ]


CONDITIONS = "image,no_image,swapped,picture_only,knowledge"


@pytest.fixture(scope="module")
def seer() -> Results:
    """Sees eight in ten pictures, knows seven in ten facts, and is built on a model that only knows a little."""
    models = ("phantom:perception=.8,knowledge=.7", "phantom:perception=0,knowledge=.1", "chance")
    return evaluate(
        questions(400),
        models,
        conditions=CONDITIONS,
        backbones={models[0]: models[1]},
        by="metadata.room",
        positive=None,
    )


SEER = "phantom:perception=.8,knowledge=.7"


def within(row: Finding, truth: float) -> bool:
    return row.estimate.low <= truth <= row.estimate.high


def test_the_picture_is_measured_in_every_way(seer: Results) -> None:
    of_seer = {row.estimate.metric: row for row in seer.findings if row.panel == "dependence" and row.model == SEER}
    assert list(of_seer) == [
        "chance_corrected_gap",
        "best_possible_gap",
        "flip_rate",
        "stuck_correct",
        "follow_rate",
        "perceptual_score",
        "shapley_picture",
        "shapley_question",
        "shapley_synergy",
        "odds_ratio",
        "multimodal_gain",
        "leakage",
    ]
    right = 0.56 + 0.44 / 4  # sees and knows, or guesses
    assert within(of_seer["best_possible_gap"], 1 - 0.25 / right)
    assert within(of_seer["chance_corrected_gap"], 1.0)  # without the picture it guesses
    # Somebody else's picture: it says what it sees there, so it is right by guessing only.
    assert within(of_seer["follow_rate"], right)
    assert of_seer["stuck_correct"].estimate.high < 0.4
    assert of_seer["odds_ratio"].estimate.low > 1
    assert of_seer["leakage"].condition == "no_image, phantom:perception=0,knowledge=.1 no_image"
    assert within(of_seer["leakage"], 0.0)
    assert within(of_seer["multimodal_gain"], right - 0.25)


def test_what_was_not_asked_is_not_measured() -> None:
    results = evaluate(questions(40), "oracle", conditions="image,shuffled")
    assert not [row for row in results.findings if row.panel == "dependence"]
    assert not results.standings
    assert not results.model_pairs


def test_failed_and_refused_answers_bring_the_gap_on_attempted_answers_with_its_bounds() -> None:
    def shy(messages: tuple[Message, ...]) -> Response:
        seen = any(isinstance(part, Image) for part in messages[-1].content)
        number = int(next(part for part in messages[-1].content if isinstance(part, str)).split("toy ")[1].split("?")[0])
        if not seen and number % 2:
            return Response(status="refused")
        return Response(letters(4)[number % 4])

    with_refusals = evaluate(questions(200), shy, conditions="image,no_image")
    (row,) = found(with_refusals, "dependence", "attempted_gap")
    gap = next(pair for pair in with_refusals.pairs if pair.estimate.metric == "gap_rate")
    assert gap.estimate.value == pytest.approx(0.5)
    assert row.estimate.value == pytest.approx(0.0)
    assert math.isnan(row.lowest)


def test_models_share_ranks_where_nothing_is_resolved(seer: Results) -> None:
    places = {(row.condition, row.model): (row.rank_low, row.rank_high) for row in seer.standings}
    assert places["image", SEER] == (1, 1)
    assert places["no_image", SEER] == places["no_image", "chance"] == (1, 3)
    pairs = [row for row in seer.model_pairs if row.condition == "image"]
    assert len(pairs) == 3
    first = pairs[0]
    assert first.first == SEER
    assert first.p_adjusted == pytest.approx(min(1, first.p * 3)) or first.p_adjusted >= first.p
    assert first.resolution > 1
    assert 0 < first.detectable < 0.2
    assert seer.adjustment == "holm"


def test_exploration_adjusts_otherwise_and_says_so() -> None:
    holm, explored = (
        evaluate(questions(120), ("phantom:perception=.5", "chance", "majority"), conditions=CONDITIONS, exploration=explore)
        for explore in (False, True)
    )
    assert (holm.adjustment, explored.adjustment) == ("holm", "benjamini_hochberg")
    assert holm.as_dict()["adjustment"] == "holm"
    one, other = ([row.p_holm for row in results.pairs if row.test] for results in (holm, explored))
    assert all(b <= a + 1e-12 for a, b in zip(one, other, strict=True))
    assert one != other


def test_a_backbone_must_be_a_model_of_the_run() -> None:
    with pytest.raises(UsageError, match=r"backbones: 'chanse' is not a model of this run. Did you mean 'chance'\?"):
        evaluate(questions(20), ("oracle", "chance"), backbones={"oracle": "chanse"})


@pytest.mark.parametrize("backbones", [{"oracle": "oracle"}, {"oracle": "chance", "chance": "oracle"}])
def test_a_backbone_is_another_model_that_has_none(backbones: dict[str, str]) -> None:
    with pytest.raises(UsageError, match=r"cannot have a text model itself or be it"):
        evaluate(questions(20), ("oracle", "chance"), backbones=backbones)


def test_slices_have_their_strata(seer: Results) -> None:
    plain = seer.headline("samples", SEER, "image")
    (row,) = found(seer, "strata", "accuracy_stratified", model=SEER, condition="image")
    assert row.estimate.value == pytest.approx(plain.value)
    (means,) = found(seer, "strata", "accuracy_mean_of_slices", model=SEER, condition="image")
    slices = [row for row in seer.rows if (row.model, row.condition, row.by) == (SEER, "image", "metadata.room")]
    accuracy = [row.estimate.value for row in slices if (row.estimate.metric, row.policy) == ("accuracy", "as_wrong")]
    assert len(accuracy) == 3
    assert means.estimate.value == pytest.approx(sum(accuracy) / 3)


# ------------------------------------------------------------------------------------------------ repeats and prompts


def test_repeats_have_a_spread_and_a_noise_floor() -> None:
    results = evaluate(questions(100), ("chance", "oracle"), repeats=4, temperature=1.0)
    (sd,) = found(results, "repeats", "accuracy_sd_between_repeats", model="chance")
    assert sd.estimate.n == 4
    assert next(row.sd_between_repeats for row in results.rows if row.model == "chance") == sd.estimate.value
    assert 0 < sd.estimate.low < sd.estimate.value < sd.estimate.high
    (differ,) = found(results, "repeats", "answers_that_differ_between_repeats", model="chance")
    assert differ.estimate.value == pytest.approx(0.75, abs=0.1)
    assert differ.estimate.n == 600
    (still,) = found(results, "repeats", "credit_that_differs_between_repeats", model="oracle")
    assert still.estimate.value == 0
    assert not found(evaluate(questions(20), "chance"), "repeats", "score_noise_floor")


# --------------------------------------------------------------------------------------------------------- two labels

PAIR = ("hateful", "not_hateful")


def test_a_positive_label_brings_rates_by_group_with_the_worst_named() -> None:
    def biased(messages: tuple[Message, ...]) -> str:
        number = int(next(part for part in messages[-1].content if isinstance(part, str)).split("toy ")[1].split("?")[0])
        in_a = number // 2 % 3 == 0
        return "A" if number % 2 == 0 or (in_a and number % 4 == 1) else "B"

    results = evaluate(questions(360, PAIR), biased, by="metadata.room", positive="hateful")
    (whole,) = found(results, "fairness", "false_positive_rate", by="")
    rates = {
        row.slice: row.estimate.value for row in found(results, "fairness", "false_positive_rate", detail="", by="metadata.room")
    }
    assert rates["a"] == pytest.approx(0.5, abs=0.01)
    assert rates["b"] == rates["c"] == 0
    assert whole.estimate.value == pytest.approx(rates["a"] / 3)
    gaps = {row.slice: row for row in found(results, "fairness", "false_positive_rate_gap")}
    assert gaps["a"].estimate.low > 0
    assert gaps["a"].p_adjusted < 0.01
    (worst,) = found(results, "fairness", "false_positive_rate", detail="worst group")
    assert worst.slice == "a"
    assert not found(evaluate(questions(40, PAIR), biased), "fairness", "false_positive_rate")


@pytest.mark.parametrize(
    ("labels", "positive", "message"),
    [
        (
            PAIR,
            "hatefull",
            r"positive 'hatefull' must be one of two labels that all samples share; its labels are hateful, not_hateful",
        ),
        (
            COLOURS,
            "red",
            r"positive 'red' must be one of two labels that all samples share; its labels are red, green, blue, grey",
        ),
    ],
)
def test_a_positive_label_is_one_of_two(labels: tuple[str, ...], positive: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        evaluate(questions(20, labels), "chance", positive=positive)


class Probable:
    """Answers with its most probable option and gives the probabilities that were asked for."""

    name, identity, simulated = "probable", "probable", True

    def __init__(self) -> None:
        self.labels: set[tuple[str, ...]] = set()

    def generate(self, requests: Iterator[Request]) -> Iterator[tuple[Request, Response]]:
        for request in requests:
            self.labels.add(request.labels)
            assert request.origin is not None
            sample = request.origin.sample
            number = int(sample.id[1:])
            sure = 0.6 + 0.39 * (number * 7919 % 101) / 100
            truth = number * 104729 % 1000 / 1000 < sure
            right = sample.choices.index(sample.target[0])
            first = right if truth else 1 - right
            logs = tuple(math.log(sure if place == first else 1 - sure) for place in range(2))
            yield request, Response(letters(2)[first], label_logprobs=logs if request.labels else None)

    def close(self) -> None:
        """Nothing is held."""


def test_probabilities_are_asked_for_and_summed_up() -> None:
    model = Probable()
    results = evaluate(questions(600, PAIR), model, label_logprobs=True, positive="hateful")
    assert model.labels == {("A", "B")}
    values = {row.estimate.metric.partition("@")[0]: row for row in results.findings if row.panel == "probabilities"}
    assert set(values) == {
        *("roc_auc", "expected_calibration_error", "brier", "aurc", "selective_accuracy", "disagreement"),
        *("precision_at_fpr", "recall_at_fpr"),
    }
    assert 0.8 < values["roc_auc"].estimate.value < 0.98
    assert values["expected_calibration_error"].estimate.value < 0.08
    assert values["disagreement"].estimate.value == 0
    assert values["precision_at_fpr"].detail.startswith("probability of hateful at least 0.")
    silent = Probable()
    without = evaluate(questions(40, PAIR), silent)
    assert silent.labels == {()}
    assert not [row for row in without.findings if row.panel == "probabilities"]


# ----------------------------------------------------------------------------------------------------------- families


def test_tasks_of_a_family_have_their_mean() -> None:
    from eyetest.evaluation.families import mean_of

    one, other = (
        evaluate(questions(n), "phantom:perception=.6").headline("samples", "phantom:perception=.6", "image") for n in (60, 90)
    )
    made = mean_of([one, other])
    assert made.value == pytest.approx((one.value + other.value) / 2)
    assert made.n == 150
    half = math.hypot(one.value - one.low, other.value - other.low) / 2
    assert made.low == pytest.approx(made.value - half)
    assert math.isnan(mean_of([one, replace(other, low=math.nan, high=math.nan)]).low)
    assert "withheld" in mean_of([one, replace(other, low=math.nan, high=math.nan)]).note


def test_own_tasks_have_no_family() -> None:
    assert task_from_samples(questions(4)).family == ""
