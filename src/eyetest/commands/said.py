"""What commands say about data and plans before anything is asked."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from eyetest.commands.say import say
from eyetest.evaluation.plan import Plan, Requests, count_requests
from eyetest.evaluation.run import Progress
from eyetest.prices import CHARACTERS, SHORT_ANSWER, Account, Budget, Workload, dollars
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


def say_plan(console: Console, plan: Plan, models: Sequence[Model], budget: Budget | None = None) -> None:
    """Requests before and after sharing, and what they would cost; no costs without a budget."""
    load = Workload()
    for survey in plan.surveys:
        counted, distinct, of_survey = count_requests(plan, survey)
        load = load.plus(of_survey)
        say(console, survey.task.name)
        for condition, requests in counted.items():
            say(console, "  " + _line(condition, requests))
        answers = sum(requests.answers for requests in counted.values())
        say(console, f"  {answers} answers from {distinct} requests after sharing, for each model")
    for model in models:
        sharing = "simulated: asked for every answer" if model.simulated else "equal requests at temperature 0 are asked once"
        say(console, f"{model.name}: {sharing}")
    accounts = () if budget is None else tuple(budget.accounts.values())
    for account in accounts:
        say(console, _estimated(account, load))
    if any(account.price is not None for account in accounts):
        say(console, ASSUMED)


ASSUMED = (
    f"Assumed: {CHARACTERS} characters a token, image_tokens of the price table a picture, every request asked anew; "
    f"prices change, see their dates."
)
"""What estimates of costs rest on, in one line."""


def _estimated(account: Account, load: Workload) -> str:
    price = account.price
    if price is None:
        return f"{account.model}: cost unknown. {UNPRICED}"
    batch = f", Batch API at {price.batch_factor:g} of the price" if account.batch else ""
    unread = load.pictures and price.image_tokens is None
    without = f", without the {load.pictures} pictures: its price has no image_tokens" if unread else ""
    return (
        f"{account.model}: about {dollars(account.about(load))} if answers are ~{SHORT_ANSWER} tokens, at most "
        f"{dollars(account.at_most(load))}{_dated(account)}{batch}{without}"
    )


UNPRICED = 'Its price is in no table: put [models."NAME"] into one of your own and name it with --prices FILE.'


def _dated(account: Account) -> str:
    """` (prices of 2026-03-01)`, where the table says of when they are."""
    return f" (prices of {account.price.as_of})" if account.price is not None and account.price.as_of else ""


def say_costs(console: Console, progress: Progress) -> None:
    """What each model cost and what it found on the way."""
    for account in progress.budget.accounts.values():
        if account.price is None:
            if account.asked:
                say(console, f"{account.model}: cost unknown for {account.asked} answers asked now. {UNPRICED}")
            continue
        earlier = f", {dollars(account.earlier)} at most by earlier calls of this run" if account.earlier else ""
        line = f"{account.model}: {dollars(account.spent)} for {account.asked} answers asked now{earlier}{_dated(account)}"
        if account.without_usage:
            line += f"; {account.without_usage} came without a count of tokens and are not in it"
        say(console, line)
    for name, remarks in progress.remarks.items():
        for remark in remarks:
            say(console, f"{name}: {remark}", "yellow")


def _line(condition: str, requests: Requests) -> str:
    parts = [f"{condition}: {requests.answers} answers, {requests.distinct} distinct requests"]
    if requests.inapplicable:
        parts.append(f"{requests.inapplicable} samples do not apply")
    if requests.bad_images:
        parts.append(f"{requests.bad_images} with a picture that cannot be read")
    return ", ".join(parts)
