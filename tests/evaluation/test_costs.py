"""What a run costs: counted, forecast, limited, kept, said."""

from __future__ import annotations

import io
import json
import re

import pytest
from rich.console import Console

from evaluation.made import Asked, go, items, predictions, write_items
from eyetest import registry
from eyetest.cli import main
from eyetest.commands.progress import Shown, counts
from eyetest.config import ModelConfig, run_config
from eyetest.errors import UsageError
from eyetest.evaluation import setup
from eyetest.evaluation.run import Progress
from eyetest.prices import Account, Budget, CostLimitError, Price
from eyetest.types import Request, Response, Usage

TOKENS = Usage(1000, 10)
EACH = 1000 * 2.5e-6 + 10 * 10e-6
"""USD of one answer of `Paid` at the price of gpt-4o."""


class Paid(Asked):
    """A model behind HTTP whose answers have 1000 tokens in and 10 out."""

    def __init__(self, name="gpt", *, served="gpt-4o", usage=TOKENS, window=1, **more):
        super().__init__(lambda _: Response("A", usage=usage), name=name, window=window, **more)
        self.identity = f"openai api.example.com/v1 model={served} images=original"
        self.usage = usage
        self.generated = 0

    def generate(self, requests):
        self.generated += 1
        return super().generate(requests)


def cost(outcome, model="gpt"):
    return outcome.results.counts["cost"][model]


def test_what_was_really_asked_is_paid_and_nothing_else(tmp_path):
    samples, model = items(6, question="Is it?"), Paid()
    outcome = go(tmp_path / "a", samples, model, conditions=["image", "no_image"])
    assert len(model.seen) == 7
    assert cost(outcome) == {
        "usd": pytest.approx(7 * EACH),
        "usd_this_call": pytest.approx(7 * EACH),
        "asked": 7,
        "without_usage": 0,
        "batch": False,
        "price": {
            "input": 2.5,
            "cached_input": 1.25,
            "output": 10.0,
            "image_tokens": 765,
            "batch_factor": 0.5,
            "as_of": "2026-03-01",
            "source": "https://platform.openai.com/docs/pricing",
        },
    }
    assert json.loads((tmp_path / "a" / "results.json").read_bytes())["counts"]["cost"]["gpt"]["asked"] == 7
    again = go(tmp_path / "a", samples, model, conditions=["image", "no_image"])
    assert (cost(again)["usd"], cost(again)["usd_this_call"], cost(again)["asked"]) == (pytest.approx(7 * EACH), 0.0, 0)


def test_answers_from_the_cache_cost_nothing(tmp_path):
    values = {"use_cache": True, "cache": str(tmp_path / "cache")}
    go(tmp_path / "a", items(3), Paid(), **values)
    assert cost(go(tmp_path / "b", items(4), Paid(), **values))["usd"] == pytest.approx(EACH)


def test_simulated_and_local_models_have_no_cost(tmp_path):
    outcome = go(tmp_path, items(2), Asked(), Asked(name="sim", simulated=True))
    assert "cost" not in outcome.results.counts
    assert outcome.progress.budget.priced == []


def test_a_price_that_is_not_known_is_unknown(tmp_path):
    outcome = go(tmp_path, items(2), Paid(served="gpt-99"), Paid("known"))
    assert (cost(outcome)["usd"], cost(outcome)["price"], cost(outcome)["asked"]) == (None, None, 2)
    assert cost(outcome, "known")["usd"] == pytest.approx(2 * EACH)
    assert outcome.progress.budget.total == pytest.approx(2 * EACH)


def test_the_forecast_holds_before_the_first_answer_and_is_exact_after_the_last(tmp_path):
    seen = []
    go(
        tmp_path,
        items(10, question="Is it?"),
        Paid(),
        conditions=["image", "no_image"],
        watch=lambda p: seen.append(p.budget.forecast),
    )
    assert seen[0] == pytest.approx(11 * EACH)
    assert seen[-1] == pytest.approx(11 * EACH)


# ------------------------------------------------------------------------------------------------------------- the limit


@pytest.mark.parametrize("window", [1, 4, 1000])
@pytest.mark.parametrize("paid", [1, 5, 9])
def test_the_limit_is_not_passed_and_nearly_used_up(tmp_path, window, paid):
    model = Paid(window=window)
    with pytest.raises(CostLimitError) as raised:
        go(tmp_path, items(20), model, max_cost=(paid + 0.5) * EACH + 0.01)
    spent = len(model.seen) * EACH
    assert spent <= (paid + 0.5) * EACH + 0.01
    assert spent > (paid + 0.5) * EACH + 0.01 - EACH
    assert str(raised.value).startswith("Stopped at the limit of costs: $0.0")
    assert re.search(
        r"the next answer of 'gpt' may cost \$0\.0026\. \d+ of about 20 answers are there and kept", str(raised.value)
    )
    assert str(raised.value).endswith("Run the same command with a higher --max-cost to go on.")


def test_a_stopped_run_goes_on_with_a_higher_limit_and_counts_what_was_spent(tmp_path):
    first, second, third = Paid(window=3), Paid(window=3), Paid(window=3)
    limit = 8.5 * EACH + 0.004
    with pytest.raises(CostLimitError):
        go(tmp_path, items(20), first, max_cost=limit)
    with pytest.raises(CostLimitError) as raised:
        go(tmp_path, items(20), second, max_cost=limit)
    assert second.seen == []
    assert "spent by all calls of this run" in str(raised.value)
    outcome = go(tmp_path, items(20), third, max_cost=21 * EACH)
    assert len(first.seen) + len(third.seen) == 20
    assert cost(outcome)["usd"] == pytest.approx(20 * EACH)
    assert len(predictions(tmp_path)) == 20


def test_what_an_earlier_call_spent_counts_before_the_first_request_even_behind_it(tmp_path):
    """A failed item at the front is asked first; the answers behind it are already paid."""
    broken = Paid()
    broken.answer = lambda request: (
        Response(status="error", error="500") if "picture 0?" in str(request.messages) else Response("A", usage=broken.usage)
    )
    go(tmp_path, items(10), broken)
    model = Paid()
    with pytest.raises(CostLimitError):
        go(tmp_path, items(10), model, max_cost=9.5 * EACH)
    assert model.seen == []


def test_a_limit_too_low_for_one_answer_asks_nothing(tmp_path):
    model = Paid()
    with pytest.raises(CostLimitError, match=r"\$0\.00 spent by all calls"):
        go(tmp_path, items(3), model, max_cost=0.001)
    assert model.seen == []


def test_a_server_that_counts_no_tokens_is_stopped_all_the_same(tmp_path):
    model = Paid(usage=None)
    with pytest.raises(CostLimitError, match=r"and at most \$0\.0\d+ more for answers without a count of tokens"):
        go(tmp_path, items(50), model, max_cost=0.05)
    assert 5 <= len(model.seen) < 25


def test_all_models_share_one_limit(tmp_path):
    first, second = Paid("first"), Paid("second", served="gpt-4.1")
    with pytest.raises(CostLimitError, match="the next answer of 'second'"):
        go(tmp_path, items(10), first, second, max_cost=13 * EACH)
    assert len(first.seen) == 10
    assert 0 < len(second.seen) < 10


def test_a_limit_that_nothing_could_keep_is_refused_before_the_first_call(tmp_path):
    model = Paid(served="gpt-99")
    with pytest.raises(UsageError, match="the price of model 'gpt' is not known"):
        go(tmp_path / "out", items(2), model, max_cost=1)
    assert model.seen == []
    assert not (tmp_path / "out").exists()


def test_limit_table_and_batch_decide_no_question(tmp_path):
    (tmp_path / "mine.toml").write_text('[models."gpt-4o"]\ninput = 0\noutput = 100_000\n')
    go(tmp_path / "out", items(2), Paid())
    again = go(tmp_path / "out", items(2), Paid(), prices=str(tmp_path / "mine.toml"), max_cost=9, batch=True)
    assert (cost(again)["usd"], cost(again)["asked"], cost(again)["batch"]) == (pytest.approx(2.0), 0, True)


# ------------------------------------------------------------------------------------------------- remarks, batches, flags


def test_remarks_are_kept_and_a_call_that_asks_nothing_leaves_them(tmp_path):
    model, quiet = Paid(), Paid()
    model.remarks = ("ignores <b>logprobs</b>", "answers one at a time")
    found = [go(tmp_path, items(2), one).results.counts["remarks"] for one in (model, quiet)]
    assert found == [{"gpt": ["ignores <b>logprobs</b>", "answers one at a time"]}] * 2
    assert "remarks" not in go(tmp_path / "other", items(2), Paid()).results.counts


def test_a_model_that_keeps_files_is_told_where_before_it_is_asked(tmp_path):
    class Keeping(Paid):
        told = None

        def keep_in(self, folder):
            assert not self.seen
            self.told = folder

    model = Keeping()
    go(tmp_path / "out", items(1), model)
    assert model.told == tmp_path / "out" / "batches"


def test_batch_reaches_the_models_that_can(monkeypatch):
    built = []
    monkeypatch.setattr(setup, "build", lambda spec, options, *, seed: built.append((spec, dict(options))) or Asked(name=spec))
    configs = (ModelConfig(model="openai:x"), ModelConfig(model="hf:y"), ModelConfig(model="openai:z", options={"batch": False}))
    setup.models(configs, seed=0, batch=True)
    assert built == [("openai:x", {"batch": True}), ("hf:y", {}), ("openai:z", {"batch": False})]
    with pytest.raises(UsageError, match=r"^--batch: no model of this run has a Batch API\. Name one as openai:NAME"):
        setup.models((ModelConfig(model="hf:y"),), seed=0, batch=True)


def test_a_model_that_is_not_batched_has_the_whole_price():
    configs = [{"model": "gpt"}, {"model": "whole", "options": {"batch": False}}]
    config = run_config({"models": configs, "batch": True}, "test")
    made = setup.budget(config, (Paid("gpt"), Paid("whole")))
    assert {name: account.batch for name, account in made.accounts.items()} == {"gpt": True, "whole": False}


# ------------------------------------------------------------------------------------------------------- the command line


def paid(argument, options, seed):
    """The model `paid:NAME` of these tests."""
    name, _, kind = argument.partition("@")
    model = Paid(f"paid:{argument}", served=name, usage=None if kind == "silent" else TOKENS)
    model.remarks = ("it <i>ignores</i>\x1b[31m logprobs",) if kind == "odd" else ()
    return model


@pytest.fixture
def eyetest(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EYETEST_CACHE", str(tmp_path / "cache.sqlite"))
    known = {**registry.BUILT_IN["models"], "paid": "evaluation.test_costs:paid"}
    original = registry.names
    monkeypatch.setattr(registry, "names", lambda group: known if group == "models" else original(group))
    write_items(
        tmp_path / "items.jsonl",
        [{"id": f"q{n}", "question": f"Is {n} even?", "choices": ["yes", "no"], "answer": "yes"} for n in range(12)],
    )

    def call(*arguments):
        with pytest.raises(SystemExit) as exited:
            main(("run", "--data", "items.jsonl", "--out", "out", *arguments))
        printed = capsys.readouterr()
        return exited.value.code, printed.out, printed.err.splitlines()

    return call


def test_a_run_says_what_it_cost_and_the_report_where_its_prices_are_from(eyetest, tmp_path):
    status, _, err = eyetest("--model", "paid:gpt-4o@odd", "--model", "paid:gpt-99", "--model", "chance")
    assert status == 0
    assert err[-4:] == [
        "paid:gpt-4o@odd: $0.031 for 12 answers asked now (prices of 2026-03-01)",
        "paid:gpt-99: cost unknown for 12 answers asked now. "
        'Its price is in no table: put [models."NAME"] into one of your own and name it with --prices FILE.',
        "paid:gpt-4o@odd: it <i>ignores</i>[31m logprobs",
        "Run directory: out",
    ]
    with pytest.raises(SystemExit):
        main(("report", "out", "--html", "page.html"))
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "$0.031 for all calls of this run; prices of 2026-03-01 (https://platform.openai.com/docs/pricing)" in page
    assert "unknown: its price is in no table" in page
    assert "it &lt;i&gt;ignores&lt;/i&gt;" in page
    assert "<i>ignores" not in page


def test_answers_without_a_count_of_tokens_are_said(eyetest):
    _, _, err = eyetest("--model", "paid:gpt-4o@silent")
    assert err[-2] == (
        "paid:gpt-4o@silent: $0.00 for 12 answers asked now (prices of 2026-03-01); "
        "12 came without a count of tokens and are not in it"
    )


def test_a_run_that_stops_at_its_limit_has_an_exit_code_of_its_own_and_goes_on(eyetest):
    status, out, err = eyetest("--model", "paid:gpt-4o", "--max-cost", "0.02")
    assert (status, out) == (4, "")
    assert err[-1].startswith("Stopped at the limit of costs: $0.018 spent by all calls of this run, --max-cost $0.020, ")
    status, _, err = eyetest("--model", "paid:gpt-4o", "--max-cost", "0.2")
    assert status == 0
    said = "paid:gpt-4o: $0.013 for 5 answers asked now, $0.018 at most by earlier calls of this run (prices of 2026-03-01)"
    assert err[-2] == said


def test_a_dry_run_estimates_what_is_left_after_sharing(eyetest, tmp_path):
    (tmp_path / "mine.toml").write_text('[models."gpt-99"]\ninput = 1000\noutput = 10000\nbatch_factor = 0.5\n')
    (tmp_path / "run.toml").write_text(
        'prices = "mine.toml"\n[prompt.p.templates]\nchoice = "Yes?"\n[generation]\nmax_tokens = 50\n'
    )
    models = ("--model", "paid:gpt-99", "--model", "paid:gpt-98", "--model", "chance")
    status, out, _ = eyetest("run.toml", *models, "--dry-run")
    assert status == 0
    assert out.splitlines()[:3] == [
        "items",
        "  image: 12 answers, 1 distinct requests",
        "  12 answers from 1 requests after sharing, for each model",
    ]
    assert out.splitlines()[6:] == [
        "paid:gpt-99: about $0.20 if answers are ~20 tokens, at most $0.50",
        "paid:gpt-98: cost unknown. "
        'Its price is in no table: put [models."NAME"] into one of your own and name it with --prices FILE.',
        "Assumed: 4 characters a token, image_tokens of the price table a picture, every request asked anew; "
        "prices change, see their dates.",
    ]
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--max-cost", "0"), "command line: max_cost: input should be greater than 0, found 0.0."),
        (("--max-cost", "nan"), "command line: max_cost: expected a finite number, found nan."),
        (("--max-cost", "1", "--model", "paid:gpt-99"), "--max-cost: the price of model 'paid:gpt-99' is not known"),
        (("--prices", "none.toml"), "Price table none.toml: cannot be read: No such file or directory."),
        (("--batch",), "--batch: no model of this run has a Batch API."),
    ],
)
def test_a_mistake_is_said_before_anything_is_asked(eyetest, tmp_path, flags, said):
    status, _, err = eyetest("--model", "paid:gpt-4o", *flags)
    assert status == 2
    assert said in err[0]
    assert not (tmp_path / "out").exists()


def test_lines_and_bar_say_what_was_spent_and_what_it_will_be():
    progress = Progress(total=20)
    assert counts(progress).startswith("0 unparsed")
    account = Account("m", Price(1, 1))
    account.load.requests = 4
    account.pay(Request(()), Response("a", usage=Usage(1_234_000, 0)))
    progress.budget = Budget({"m": account, "unknown": Account("unknown", None)})
    assert counts(progress).startswith("$1.23 so far, about $4.94 in all, 0 unparsed")
    written = io.StringIO()
    with Shown(Console(file=written, width=40)) as shown:
        shown._next = 0
        shown(progress)
    assert written.getvalue().startswith("0/20 done, $1.23 so far, about $4.94 in all, 0 unparsed")
