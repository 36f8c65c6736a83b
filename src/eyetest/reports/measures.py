"""How the measures beyond scores are called, and what each means: one line a measure, the same on the page and in the docs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure in words."""

    words: str
    meaning: str
    share: bool = True
    """Shown in per cent; otherwise as a plain number."""


MEASURES: Mapping[str, Measure] = {
    "chance_corrected_gap": Measure(
        "chance-corrected gap", "share of what the model attains above guessing that goes when the picture goes"
    ),
    "best_possible_gap": Measure(
        "best possible gap", "the gap rate of a model of this score that only guesses without the picture"
    ),
    "attempted_gap": Measure("gap on attempted answers", "gap rate among answers that were not refused, each side by itself"),
    "flip_rate": Measure("flip rate", "answers that change with somebody else's picture, which asks for another answer"),
    "stuck_correct": Measure(
        "stuck on the right answer", "of those right with their own picture, still right with somebody else's"
    ),
    "follow_rate": Measure("follows the picture", "with somebody else's picture: the answer that is right for what is shown"),
    "perceptual_score": Measure("perceptual score", "share of the score that goes with somebody else's picture"),
    "multimodal_gain": Measure("multi-modal gain", "score with the picture minus score without it"),
    "leakage": Measure("leakage", "score without the picture minus that of the text model that it is built on, at least 0"),
    "shapley_picture": Measure("share of the picture", "Shapley value of the picture beside question and guessing"),
    "shapley_question": Measure("share of the question", "Shapley value of the question beside picture and guessing"),
    "shapley_synergy": Measure("synergy", "what picture and question give together beyond what each gives alone"),
    "circular_accuracy": Measure("right in every rotation", "questions answered rightly wherever the right option stood"),
    "recall_by_position": Measure(
        "right, by place of the right option",
        "answers that are right where the right option stands there; equal for all if place means nothing",
    ),
    "position_prior": Measure(
        "chosen, by place",
        "of the answers read, those that choose the option standing there; 1 / options each if place means nothing",
    ),
    "odds_ratio": Measure(
        "odds ratio, seeing and knowing",
        "1: knowing the fact and being right with the picture go together by chance only",
        share=False,
    ),
    "roc_auc": Measure("ROC AUC", "a positive item is more probable than a negative one; 50 % is guessing"),
    "expected_calibration_error": Measure(
        "calibration error", "distance between probability and share of right answers, on average"
    ),
    "brier": Measure("Brier score", "squared distance of the probabilities from the truth; lower is better", share=False),
    "aurc": Measure("risk-coverage area", "mistakes averaged over how much is answered, most probable first; lower is better"),
    "selective_accuracy": Measure("accuracy of the surest", "right answers among those whose probability is highest"),
    "disagreement": Measure("text against probability", "answers whose text is not the label found most probable"),
    "precision_at_fpr": Measure(
        "precision at that rate of false alarms", "positives among what is flagged, threshold chosen here"
    ),
    "recall_at_fpr": Measure("recall at that rate of false alarms", "share of positives that is flagged at the same threshold"),
    "score_noise_floor": Measure(
        "noise floor of the score", "two repeats differ by less than this in 95 of 100 cases, by chance alone"
    ),
    "answers_that_differ_between_repeats": Measure(
        "answers that differ", "pairs of repeats that answer the same question otherwise"
    ),
    "credit_that_differs_between_repeats": Measure(
        "credit that differs", "pairs of repeats of which one is right and one is not"
    ),
    "false_positive_rate": Measure("false alarms", "negative items called positive"),
    "false_negative_rate": Measure("misses", "positive items not called positive; unread and refused answers are misses"),
    "refusal_rate": Measure("refusals", "items refused or blocked"),
    "false_positive_rate_gap": Measure("false alarms, group minus rest", "points"),
    "false_negative_rate_gap": Measure("misses, group minus rest", "points"),
    "refusal_rate_gap": Measure("refusals, group minus rest", "points"),
    "accuracy_stratified": Measure(
        "score, error within slices", "the plain mean; differences between slices are not in its error"
    ),
    "accuracy_mean_of_slices": Measure("mean of slices", "every slice weighs the same"),
}
"""Metric name, without what stands behind `@`, -> words."""


def measure(metric: str) -> Measure:
    """How a metric is called. One without an entry is called by its name, underscores as blanks."""
    name, _, parameter = metric.partition("@")
    found = MEASURES.get(name)
    if found is None:
        return Measure(metric.replace("_", " "), "")
    return (
        Measure(f"{found.words} ({parameter.replace('_', ' ')} %)", found.meaning, found.share)
        if _told(name, parameter)
        else found
    )


def _told(name: str, parameter: str) -> bool:
    """Whether the parameter is a percentage that a reader must know; a number of bins is not."""
    return bool(parameter) and name != "expected_calibration_error"
