"""What commands say about data and plans before anything is asked."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from eyetest.commands.say import say
from eyetest.evaluation.plan import Plan, Requests, count_requests
from eyetest.tasks import Card
from eyetest.types import Model

SHOWN_PLACES = 3
"""How many row numbers are printed for each reason; the manifest keeps more."""


def say_loads(console: Console, plan: Plan) -> None:
    """The card of every dataset, then its load report: rows read, kept, dropped per reason with places."""
    published = (survey.task.card for survey in plan.surveys if survey.task.card.licence != "unknown")
    for line in dict.fromkeys(_card(card) for card in published):
        say(console, line)
    for survey in plan.surveys:
        report = survey.report
        asked = "" if survey.n == survey.n_split else f", {survey.n} asked"
        kinds = ", ".join(f"{count} {kind}" for kind, count in survey.kinds.items())
        line = f"{survey.task.name}: {report.read} rows read, {survey.n_split} kept{asked} ({kinds})"
        say(console, line)
        if not survey.pictured:
            say(console, "  noticed: no sample has a picture")
        for word, counts in (("dropped", report.dropped), ("noticed", report.warnings)):
            for reason, count in counts.items():
                places = report.rows.get(reason, [])
                more = ", ..." if count > SHOWN_PLACES else ""
                said = f"  {word} {count}: {reason} ({'; '.join(places[:SHOWN_PLACES])}{more})"
                say(console, said)


def _card(card: Card) -> str:
    """What a reader of numbers must know of a dataset: licence, what may be passed on, how to cite it."""
    parts = [f"{card.title}: licence {card.licence}", card.redistribution, f"cite: {card.citation}" * bool(card.citation)]
    return "; ".join(part.rstrip(".;") for part in parts if part) + "."


def say_plan(console: Console, plan: Plan, models: Sequence[Model]) -> None:
    """Requests before and after sharing."""
    for survey in plan.surveys:
        counted, distinct = count_requests(plan, survey)
        say(console, survey.task.name)
        for condition, requests in counted.items():
            say(console, "  " + _line(condition, requests))
        answers = sum(requests.answers for requests in counted.values())
        say(console, f"  {answers} answers from {distinct} requests after sharing, for each model")
    for model in models:
        sharing = "simulated: asked for every answer" if model.simulated else "equal requests at temperature 0 are asked once"
        say(console, f"{model.name}: {sharing}")


def _line(condition: str, requests: Requests) -> str:
    parts = [f"{condition}: {requests.answers} answers, {requests.distinct} distinct requests"]
    if requests.inapplicable:
        parts.append(f"{requests.inapplicable} samples do not apply")
    if requests.bad_images:
        parts.append(f"{requests.bad_images} with a picture that cannot be read")
    return ", ".join(parts)
