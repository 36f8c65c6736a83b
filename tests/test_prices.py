from __future__ import annotations

import math
import os
import re
from datetime import date
from importlib.resources import files

import pytest

from eyetest.errors import UsageError
from eyetest.prices import Account, Budget, Price, Prices, Workload, dollars, read_prices, read_table
from eyetest.types import Generation, Image, Message, Request, Response, Usage

GPT = "openai api.openai.com/v1 model={} images=original"
PRICE = Price(2.0, 8.0, cached_input=0.5, image_tokens=1000, batch_factor=0.5)


def asked(text="x" * 400, pictures=0, max_tokens=100):
    shown = tuple(Image(data=b"p") for _ in range(pictures))
    return Request((Message("user", (*shown, text)),), Generation(max_tokens=max_tokens))


def test_an_answer_costs_its_tokens():
    assert PRICE.of(Usage(1_000_000, 500_000)) == pytest.approx(2 + 4)
    assert PRICE.of(Usage(1_000_000, 0, cached_tokens=400_000)) == pytest.approx(1.2 + 0.2)
    assert PRICE.of(Usage(1_000_000, 500_000), batch=True) == pytest.approx(3)
    assert Price(2.0, 8.0).of(Usage(1_000_000, 0, cached_tokens=400_000)) == pytest.approx(2)
    assert PRICE.of(Usage(10, 0, cached_tokens=400_000)) == pytest.approx(10 * 0.5e-6)


@pytest.mark.parametrize(
    ("name", "price"),
    [
        ("gpt-4o", 2.5),
        ("gpt-4o-2024-08-06", 2.5),
        ("gpt-4o-2024-05-13", 5.0),
        ("gpt-4o-mini-2024-07-18", 0.15),
        ("claude-sonnet-4-5-20250929", 3.0),
        ("gpt-4", None),
        ("gpt-4o-audio-preview", None),
        ("gpt-4o-2024", None),
        ("my-gpt-4o", None),
        ("GPT-4o", None),
    ],
)
def test_a_name_is_matched_whole_or_without_its_date(name, price):
    account = read_prices().account("mine", GPT.format(name), simulated=False)
    assert account is not None
    assert (None if account.price is None else account.price.input) == price


@pytest.mark.parametrize("where", ["localhost:8000/v1", "127.0.0.1:1/v1", "[::1]:8000/v1", "box.localhost/v1", "0.0.0.0:8000/v1"])
def test_a_server_on_this_machine_costs_nothing_unless_the_user_prices_it(where):
    identity = f"openai {where} model=gpt-4o images=original"
    assert read_prices().account("mine", identity, simulated=False) is None
    for name in ("mine", "gpt-4o"):
        account = Prices({name: PRICE}, {}).account("mine", identity, simulated=False)
        assert account is not None
        assert account.price is PRICE


def test_what_costs_nothing_has_no_account():
    prices = Prices({}, {"gpt-4o": PRICE})
    assert prices.account("gpt-4o", "hf gpt-4o", simulated=False) is None
    assert prices.account("gpt-4o", GPT.format("gpt-4o"), simulated=True) is None
    assert Prices({"prog": PRICE}, {}).account("prog", "command ./prog", simulated=False) == Account("prog", PRICE)


def test_the_users_table_goes_before_the_packaged_one(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('[models."gpt-4o"]\ninput = 1\noutput = 2.5\nas_of = "2026-11-30"\n', encoding="utf-8")
    account = read_prices(file).account("m", GPT.format("gpt-4o-2024-08-06"), simulated=False)
    assert account is not None
    assert account.price == Price(1, 2.5, as_of="2026-11-30")


def test_only_a_model_behind_http_is_batched():
    prices = Prices({"prog": PRICE, "gpt-4o": PRICE}, {})
    made = [prices.account("prog", identity, simulated=False, batch=True) for identity in ("command p", GPT.format("gpt-4o"))]
    assert [one.batch for one in made if one is not None] == [False, True]


def test_every_packaged_price_is_dated_and_has_a_source():
    packaged = read_prices().packaged
    assert {"gpt-4o", "gpt-4o-mini", "gpt-4.1", "gpt-4.1-mini", "gpt-4.1-nano", "gpt-4-turbo", "deepseek-chat"} <= set(packaged)
    assert {"gemini-2.0-flash", "gemini-2.5-flash"} <= set(packaged)
    for price in packaged.values():
        assert date.fromisoformat(price.as_of) >= date(2025, 1, 1)
        assert price.source.startswith("https://")
        assert 0 < price.input < price.output
        assert price.cached_input is None or price.cached_input < price.input
    assert "PRICES CHANGE" in files("eyetest").joinpath("prices.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[models", 'Price table t.toml: is not TOML: .* Texts stand in quotes, a table is [models."NAME"].'),
        ("", 'Price table t.toml: holds no model; expected tables [models."NAME"] with input and output.'),
        ("[model.x]\ninput=1", "Price table t.toml: holds the key 'model'; expected tables"),
        ("[models]\nx = 3", 'Price table t.toml: models."x": is 3; expected a table with input and output'),
        ("[models.x]\ninput = 1", 'Price table t.toml: models."x": lacks output. Give it in USD per million tokens; 0 if'),
        ("[models.x]\ninputs = 1", "models.\"x\".inputs: is no key of a price. Did you mean 'input'? Known keys: input, output,"),
        ("[models.x]\ninput = '1'\noutput = 1", "models.\"x\".input: is '1'; expected USD per million tokens, 0 or more"),
        ("[models.x]\ninput = -1\noutput = 1", 'models."x".input: is -1; expected USD per million tokens, 0 or more'),
        ("[models.x]\ninput = nan\noutput = 1", 'models."x".input: is nan; expected USD'),
        ("[models.x]\ninput = true\noutput = 1", 'models."x".input: is True; expected USD'),
        ("[models.x]\ninput = 1\noutput = 1\nimage_tokens = 1.5", 'models."x".image_tokens: is 1.5; expected a whole number'),
        ("[models.x]\ninput = 1\noutput = 1\nbatch_factor = 0", 'models."x".batch_factor: is 0; expected a number above 0 and'),
        ("[models.x]\ninput = 1\noutput = 1\nbatch_factor = 50", 'models."x".batch_factor: is 50; expected a number above 0'),
        ("[models.x]\ninput = 1\noutput = 1\nas_of = 'May'", "models.\"x\".as_of: is 'May'; expected the day of the price"),
        ("[models.x]\ninput = 1\noutput = 1\nsource = 1", 'models."x".source: is 1; expected a text in quotes'),
    ],
)
def test_a_wrong_table_names_file_and_key_and_the_way_out(text, said):
    with pytest.raises(UsageError) as raised:
        read_table(text, "t.toml")
    assert re.search(re.escape(said).replace(r"\.\*", ".*"), str(raised.value)), str(raised.value)


def test_a_table_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(UsageError, match=r"none\.toml: cannot be read: No such file.*--prices"):
        read_prices(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b"# \xe9")
    with pytest.raises(UsageError, match=r"latin\.toml: is not UTF-8"):
        read_prices(tmp_path / "latin.toml")


def test_estimates_count_text_pictures_and_answers():
    load = Workload()
    for _ in range(10):
        load.add(asked(pictures=2))
    assert load == Workload(10, 4000, 20, 1000)
    assert load.plus(load) == Workload(20, 8000, 40, 2000)
    account = Account("m", PRICE)
    assert account.about(load) == pytest.approx((1000 + 20_000) * 2e-6 + 200 * 8e-6)
    assert account.at_most(load) == pytest.approx((1000 + 20_000) * 2e-6 + 1000 * 8e-6)
    short = Workload(10, 4000, 0, 10)
    assert account.about(short) == account.at_most(short) == pytest.approx(1000 * 2e-6 + 10 * 8e-6)
    assert math.isnan(Account("m", None).about(load))


def test_the_forecast_is_what_was_spent_and_the_mean_for_what_is_left():
    account = Account("m", PRICE)
    for _ in range(4):
        account.load.add(asked())
    assert account.forecast == pytest.approx(account.about(account.load))
    account.remember(Response("a", usage=Usage(0, 3_000_000)))
    assert (account.earlier, account.forecast) == (pytest.approx(24), pytest.approx(24 + 4 * 24))
    account.pay(asked(), Response("a", usage=Usage(0, 1_000_000)))
    assert (account.spent, account.asked, account.mean) == (pytest.approx(8), 1, pytest.approx(16))
    assert account.forecast == pytest.approx(32 + 3 * 16)


def test_an_answer_without_a_count_of_tokens_is_counted_and_never_free_to_spend():
    account = Account("m", PRICE)
    account.pay(asked(), Response("a"))
    account.pay(asked(), Response(status="error", error="500"))
    account.pay(asked(), Response(status="blocked"))
    assert (account.asked, account.without_usage, account.spent) == (3, 1, 0.0)
    assert account.unseen == pytest.approx(100 * 2e-6 + 100 * 8e-6)


def test_an_unknown_price_is_never_zero():
    account = Account("m", None)
    account.pay(asked(), Response("a", usage=Usage(5, 5)))
    assert account.as_dict() == {
        "usd": None,
        "usd_this_call": None,
        "asked": 1,
        "without_usage": 0,
        "batch": False,
        "price": None,
    }
    assert Budget({"m": account}).priced == []


def test_a_limit_without_a_price_is_refused():
    Budget({"m": Account("m", None)}).check()
    Budget({"m": Account("m", PRICE)}, 1.0).check()
    Budget({}, 1.0).check()
    with pytest.raises(
        UsageError, match=r"--max-cost: the price of model 'm' is not known, so nothing would stop it\. .*--prices"
    ):
        Budget({"n": Account("n", PRICE), "m": Account("m", None)}, 1.0).check()


def test_a_limit_counts_what_is_in_flight_and_what_other_models_spent():
    each = 100 * 2e-6 + 100 * 8e-6
    other = Account("other", PRICE, spent=0.5)
    budget = Budget({"m": Account("m", PRICE), "other": other}, 0.5 + 3.5 * each)
    assert [budget.refuses("m", asked(), flying) for flying in range(5)] == [None, None, None, *[pytest.approx(each)] * 2]
    budget.accounts["m"].pay(asked(), Response("a", usage=Usage(0, 10)))
    assert budget.refuses("m", asked(), 40) is None
    assert budget.refuses("m", asked(), 50) == pytest.approx(10 * 8e-6)
    assert budget.refuses("free", asked(), 10**9) is None
    budget.limit = None
    assert budget.refuses("m", asked(), 10**9) is None


@pytest.mark.parametrize(
    ("amount", "said"),
    [(0, "$0.00"), (1.234, "$1.23"), (0.0996, "$0.10"), (0.0943, "$0.094"), (0.00423, "$0.0042"), (3e-7, "$0.00000030")],
)
def test_small_amounts_keep_two_digits(amount, said):
    assert dollars(amount) == said


def test_a_table_that_is_no_file_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match=r"pipe: is a pipe or device\. Name a TOML file\."):
        read_prices(tmp_path / "pipe")
    with pytest.raises(UsageError, match=r"is a folder\. Name a TOML file\."):
        read_prices(tmp_path)


def test_a_name_with_a_dot_stands_in_quotes():
    with pytest.raises(UsageError, match=r'models\."gpt-4"\.1: is a table in a price\. A name that holds a dot stands in quotes'):
        read_table("[models.gpt-4.1]\ninput = 1\noutput = 2\n", "mine.toml")


def test_the_day_of_a_price_has_no_time():
    with pytest.raises(UsageError, match=r"as_of: is .*; expected the day of the price, e\.g\. 2026-11-30"):
        read_table("[models.a]\ninput = 1\noutput = 2\nas_of = 2026-11-01T00:00:00\n", "mine.toml")
