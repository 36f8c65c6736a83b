import json
import os
import subprocess
import sys
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyetest.errors import UsageError
from eyetest.models import build
from eyetest.models.phantom import (
    NO_IDEA,
    REFUSAL,
    WRONG_TEXTS,
    PhantomSettings,
    PhantomTruth,
    expected_score,
    knows,
    perceives,
    unreadable,
    wrong_text,
)
from eyetest.scorers.choice import ChoiceScorer
from eyetest.types import Image, Origin, Request, Response, Sample, Shown

N = 4000
PICTURE = (Image(path="picture.png"),)
OPTIONS = ("Rome", "Paris", "Oslo", "Bonn")

# What each condition makes of a sample; the partner of sample n is sample n + 1.
SHOWN = {
    "image": lambda s, n: s,
    "no_image": lambda s, n: replace(s, images=(), shown=Shown("none")),
    "told_blind": lambda s, n: replace(s, images=(), question=f"Blind. {s.question}", shown=Shown("none")),
    "blank": lambda s, n: replace(s, shown=Shown("blank")),
    "swapped": lambda s, n: replace(s, shown=Shown("other", partner=str(n + 1), partner_target=(OPTIONS[(n + 1) % 4],))),
    "knowledge": lambda s, n: replace(s, images=(), shown=Shown("none", "knowledge")),
    "picture_only": lambda s, n: replace(s, question="", shown=Shown("own", "nothing")),
    "options_only": lambda s, n: replace(s, question="", images=(), shown=Shown("none", "nothing")),
    "shuffled": lambda s, n: replace(s, choices=s.choices[::-1]),
    "open_ended": lambda s, n: replace(s, kind="text", choices=()),
    "text_only": lambda s, n: replace(s, images=()),
}


def sample(n, **fields):
    return replace(Sample(str(n), "Which city?", (OPTIONS[n % 4],), choices=OPTIONS, images=PICTURE), **fields)


def asked(shown, condition="image", *, variant=0, repeat=0):
    return Request((), origin=Origin("cities", shown, condition, "default", variant, repeat))


def responses(model, requests):
    return [response for _, response in model.generate(iter(requests))]


def texts(model, *requests):
    return [response.text for response in responses(model, requests)]


def is_right(shown, response):
    """Read as a scorer would: the text must be a target, or the set of labels the target set."""
    if response.status != "ok":
        return False
    if shown.kind == "labels":
        return {text for text in response.text.split(", ") if text != "none"} == set(shown.target)
    return response.text in shown.target


def check_frequency(ability, seed, shown, condition="image", repeat=0):
    """The share of right answers is within 5 sigma of the closed form."""
    answered = responses(build(str(ability), seed=seed), (asked(one, condition, repeat=repeat) for one in shown))
    found = sum(is_right(one, response) for one, response in zip(shown, answered, strict=True))
    chances = [expected_score(ability, one) for one in shown]
    sigma = sum(chance * (1 - chance) for chance in chances) ** 0.5
    assert abs(found - sum(chances)) <= 5 * sigma + 1e-9


probability = st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0, 1))
abilities = st.builds(
    PhantomSettings,
    perception=probability,
    knowledge=probability,
    guess=st.sampled_from(["chance", "wrong", "none"]),
    refuse=st.floats(0, 0.5),
    format_error=st.floats(0, 0.5),
    drift=probability,
)


@pytest.mark.parametrize("condition", SHOWN)
@settings(derandomize=True, max_examples=5, deadline=None)
@given(ability=abilities, seed=st.integers(0, 2**32), options=st.integers(1, 4), repeat=st.integers(0, 3))
def test_answers_are_right_as_often_as_the_closed_form_says(condition, ability, seed, options, repeat):
    # The right option comes first, so that any number of options holds it.
    fitted = [replace(one, choices=tuple(dict.fromkeys((*one.target, *OPTIONS)))[:options]) for one in map(sample, range(N))]
    check_frequency(ability, seed, [SHOWN[condition](one, n) for n, one in enumerate(fitted)], condition, repeat)


@pytest.mark.parametrize("guess", ["chance", "wrong", "none"])
@pytest.mark.parametrize("condition", ["image", "no_image"])
def test_sets_of_labels_are_right_as_often_as_the_closed_form_says(condition, guess):
    targets = [*(OPTIONS[:n] for n in range(5)), ("Lima", "Rome")]
    shown = [SHOWN[condition](sample(n, kind="labels", target=targets[n % 6]), n) for n in range(N)]
    check_frequency(PhantomSettings(0.6, 0.7, guess, drift=0.1), 5, shown, condition)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("image", 0.56 + 0.44 / 4),
        ("picture_only", 0.56 + 0.44 / 4),
        ("shuffled", 0.56 + 0.44 / 4),
        ("open_ended", 0.56),
        ("no_image", 1 / 4),
        ("told_blind", 1 / 4),
        ("blank", 1 / 4),
        ("options_only", 1 / 4),
        ("knowledge", 0.7 + 0.3 / 4),
        ("text_only", 0.7 + 0.3 / 4),
        ("swapped", 0.44 / 4),
    ],
)
def test_closed_form(condition, expected):
    shown = SHOWN[condition](sample(0), 0)
    assert expected_score(PhantomSettings(0.8, 0.7), shown) == pytest.approx(expected, abs=1e-12)


def test_closed_form_with_slips_and_drift():
    ability = PhantomSettings(0.8, 0.7, refuse=0.1, format_error=0.2, drift=0.3)
    assert expected_score(ability, sample(0)) == pytest.approx(0.7 * (0.7 * (0.56 + 0.11) + 0.3 * 0.25), abs=1e-12)
    assert expected_score(replace(ability, guess="wrong"), sample(0)) == pytest.approx(0.7 * 0.7 * 0.56, abs=1e-12)


def test_closed_form_where_the_partner_has_the_same_answer():
    same = replace(sample(0), shown=Shown("other", partner="4", partner_target=("Rome",)))
    assert expected_score(PhantomSettings(0.8, 0.7), same) == pytest.approx(0.56 + 0.44 / 4, abs=1e-12)


def test_without_slips_every_answer_follows_from_what_it_perceives_and_knows():
    model, truth = build("phantom:perception=0.6,knowledge=0.7,guess=wrong", seed=9), PhantomTruth(PhantomSettings(0.6, 0.7), 9)
    cells = set()
    for n in range(200):
        saw, knew = truth.perceives(str(n)), truth.knows(str(n))
        next_one = truth.perceives(str(n + 1)) and truth.knows(str(n + 1))
        cells.add((saw, knew, next_one))
        expected = dict.fromkeys(SHOWN, False) | {
            "image": saw and knew,
            "picture_only": saw and knew,
            "shuffled": saw and knew,
            "open_ended": saw and knew,
            "knowledge": knew,
            "text_only": knew,
        }
        views = {name: show(sample(n), n) for name, show in SHOWN.items()}
        answered = {name: responses(model, [asked(shown, name)])[0] for name, shown in views.items()}
        assert {name: is_right(views[name], response) for name, response in answered.items()} == expected
        if next_one:
            assert answered["swapped"].text == OPTIONS[(n + 1) % 4]
    assert cells == set(product((False, True), repeat=3))


def test_the_partner_is_not_answered_where_that_answer_cannot_be_given():
    foreign = Shown("other", partner="q", partner_target=("Lima",))
    model = build("phantom:perception=1,knowledge=1,guess=none")
    assert texts(model, asked(replace(sample(0), shown=foreign))) == [NO_IDEA]
    assert texts(model, asked(replace(sample(0), shown=foreign, kind="text", choices=()))) == ["Lima"]
    assert texts(model, asked(replace(sample(0), shown=foreign, kind="labels"))) == [NO_IDEA]
    assert texts(model, asked(replace(sample(0), shown=replace(foreign, partner_target=("Lima", "Oslo"))))) == ["Oslo"]
    assert texts(model, asked(replace(sample(0), shown=replace(foreign, partner_target=())))) == [NO_IDEA]
    both = replace(foreign, partner_target=("Oslo", "Rome"))
    assert texts(model, asked(replace(sample(0), shown=both, kind="labels"))) == ["Oslo, Rome"]


def test_options_alone_give_nothing_to_know_even_where_there_never_was_a_picture():
    shown = sample(0, images=(), question="", shown=Shown("own", "nothing"))
    assert expected_score(PhantomSettings(1, 1), shown) == 1 / 4
    assert texts(build("phantom:knowledge=1,guess=none"), asked(shown)) == [NO_IDEA]


@settings(derandomize=True, max_examples=50)
@given(st.integers(), st.text(), st.floats(0, 1), st.floats(0, 1))
def test_the_more_able_perceives_and_knows_all_that_the_less_able_does(seed, id, one, other):
    low, high = sorted((one, other))
    for draw in (perceives, knows):
        assert draw(seed, high, id) or not draw(seed, low, id)
        assert (draw(seed, 0.0, id), draw(seed, 1.0, id)) == (False, True)


def test_perceiving_and_knowing_are_independent_between_samples_seeds_and_each_other():
    drawn = [(perceives(seed, 0.5, str(n)), knows(seed, 0.5, str(n))) for seed in (0, 1) for n in range(N)]
    both = sum(saw and knew for saw, knew in drawn)
    across = sum(drawn[n][0] == drawn[n + N][0] for n in range(N))
    assert abs(both - 2 * N / 4) < 5 * (2 * N * 3 / 16) ** 0.5
    assert abs(across - N / 2) < 5 * (N / 4) ** 0.5


@pytest.mark.parametrize("prefix", ["0", "x:", "1:2"])
def test_ids_that_hold_colons_are_drawn_apart(prefix):
    assert len({perceives(3, 0.5, f"{prefix}{n}") for n in range(40)}) == 2


def test_repeats_agree_without_drift():
    model = build("phantom:perception=0.5,knowledge=0.5", seed=1)
    blind = [SHOWN["no_image"](sample(n), n) for n in range(300)]
    first, second = ([asked(one, "no_image", repeat=repeat) for one in blind] for repeat in (0, 1))
    assert texts(model, *first) == texts(model, *second)


def test_guesses_differ_between_conditions_variants_and_seeds():
    shown = [sample(n, shown=Shown("none")) for n in range(300)]
    base = texts(build("phantom"), *(asked(one, "no_image") for one in shown))
    for other in (
        texts(build("phantom"), *(asked(one, "blank") for one in shown)),
        texts(build("phantom"), *(asked(one, "no_image", variant=1) for one in shown)),
        texts(build("phantom", seed=1), *(asked(one, "no_image") for one in shown)),
    ):
        same = sum(one == two for one, two in zip(base, other, strict=True))
        assert abs(same - 75) < 5 * (300 * 3 / 16) ** 0.5


def test_drift_replaces_that_share_of_the_answers():
    model = build("phantom:perception=1,knowledge=1,guess=wrong,drift=0.3", seed=2)
    for repeat in (0, 1):
        wrong = sum(not is_right(one, *responses(model, [asked(one, repeat=repeat)])) for one in map(sample, range(N)))
        assert abs(wrong - 0.3 * N) < 5 * (N * 0.21) ** 0.5
    many = sample(0, choices=tuple(map(str, range(1000))), target=("7",))
    drawn = texts(build("phantom:drift=1"), *(asked(many, repeat=repeat) for repeat in range(20)))
    assert len(set(drawn)) > 15


def test_slips_are_as_frequent_as_stated_and_differ_between_repeats():
    model = build("phantom:perception=1,knowledge=1,refuse=0.1,format_error=0.2", seed=4)
    slips = []
    for repeat in (0, 1):
        answered = responses(model, (asked(one, repeat=repeat) for one in map(sample, range(N))))
        refused = [response == Response(REFUSAL, status="refused") for response in answered]
        garbled = [response == Response("Rome or Paris") for response in answered]
        assert abs(sum(refused) - 0.1 * N) < 5 * (N * 0.09) ** 0.5
        assert abs(sum(garbled) - 0.2 * N) < 5 * (N * 0.16) ** 0.5
        assert all(map(any, zip(refused, garbled, (response.text in OPTIONS for response in answered), strict=True)))
        slips.append(refused)
    both = sum(map(all, zip(*slips, strict=True)))
    assert abs(both - 0.01 * N) < 5 * (N * 0.0099) ** 0.5


def test_always_refusing_and_always_garbling():
    for n in range(20):
        assert responses(build("phantom:refuse=1"), [asked(sample(n))]) == [Response(REFUSAL, status="refused")]
        assert texts(build("phantom:format_error=1"), asked(sample(n))) == ["Rome or Paris"]


@pytest.mark.parametrize(
    ("choices", "text"),
    [
        (("yes", "no"), "yes or no"),
        (("blue", "dark blue", "red"), "blue or red"),
        (("None of the above", "cat", "dog"), "cat or dog"),
        (("blue", "Bluebird"), ""),
        (("hateful", "not_hateful"), ""),
        (("Washington, D.C.", "New York"), ""),
        (("Tom or Jerry", "Tom", "Jerry"), ""),
        (("same", "same"), ""),
        (("one",), ""),
    ],
)
def test_a_format_error_cannot_be_read(choices, text):
    shown = sample(0, choices=choices, target=choices[:1])
    assert texts(build("phantom:format_error=1"), asked(shown)) == [text]
    assert ChoiceScorer()(shown, text).status == "unparsed"
    assert unreadable(replace(shown, kind="text")) == unreadable(replace(shown, kind="labels")) == ""


def test_what_it_writes_is_read_as_it_is_meant():
    model = build("phantom:perception=0.6,knowledge=0.6,refuse=0.1,format_error=0.1", seed=3)
    statuses = set()
    for one in map(sample, range(200)):
        [response] = responses(model, [asked(one)])
        score = ChoiceScorer()(one, response.text)
        statuses.add(score.status)
        assert score.status == {REFUSAL: "refused", "Rome or Paris": "unparsed"}.get(response.text, "scored")
        assert score.value == is_right(one, response)
    assert statuses == {"scored", "refused", "unparsed"}


def test_what_is_written_for_each_kind():
    able, unable = build("phantom:perception=1,knowledge=1"), build("phantom:perception=0,guess=wrong")
    for kind, target, right, wrong in [
        ("choice", ("Paris",), "Paris", {"Rome", "Oslo", "Bonn"}),
        ("labels", ("Paris", "Oslo"), "Paris, Oslo", {"Rome, Bonn"}),
        ("labels", (), "none", {"Rome, Paris, Oslo, Bonn"}),
        ("labels", OPTIONS, "Rome, Paris, Oslo, Bonn", {"none"}),
        ("text", ("Paris", "City of Light"), "Paris", {"Ruritania"}),
        ("transcription", ("Ruritania express",), "Ruritania express", {"Brobdingnag"}),
        ("description", ("A quay.",), "A quay.", {"Ruritania"}),
    ]:
        shown = [sample(n, kind=kind, target=target) for n in range(60)]
        assert {text for one in shown for text in texts(able, asked(one))} == {right}
        assert {text for one in shown for text in texts(unable, asked(one))} == wrong


def test_a_wrong_guess_needs_a_wrong_option():
    assert texts(build("phantom:perception=0,guess=wrong"), asked(sample(0, choices=("Rome",)))) == ["Ruritania"]


def test_the_last_wrong_text_serves_where_all_occur_in_the_target():
    assert wrong_text(sample(0, target=WRONG_TEXTS)) == WRONG_TEXTS[-1]


def test_guess_none_says_so():
    assert texts(build("phantom:perception=0,guess=none"), asked(sample(0))) == [NO_IDEA]


def test_an_unlabelled_sample_is_a_failed_call():
    [response] = responses(build("phantom"), [asked(sample(0, target=()))])
    assert response == Response(status="error", error="sample '0' of task 'cities' has no target to answer from")


@settings(derandomize=True, max_examples=20)
@given(st.permutations(range(30)))
def test_order_changes_nothing(order):
    model = build("phantom:refuse=0.2,format_error=0.2,drift=0.5", seed=8)
    requests = [asked(sample(n), repeat=n % 2) for n in range(30)]
    straight = texts(model, *requests)
    assert texts(model, *(requests[n] for n in order)) == [straight[n] for n in order]


def test_another_process_answers_alike():
    script = (
        "import json; from eyetest.models import build; from eyetest.types import *;"
        "o=('Rome','Paris','Oslo','Bonn'); m=build('phantom:refuse=0.1,drift=0.2,knowledge=0.5', seed=6);"
        "ask=lambda n: Request((), origin=Origin('cities', Sample(str(n), 'Which city?', (o[n % 4],), choices=o), 'image'));"
        "print(json.dumps([r.text for _, r in m.generate(map(ask, range(60)))]))"
    )
    here = texts(build("phantom:refuse=0.1,drift=0.2,knowledge=0.5", seed=6), *(asked(sample(n, images=())) for n in range(60)))
    for hash_seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", script],
            env=os.environ | {"PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert json.loads(done.stdout) == here


def test_the_draws_of_this_version_are_those_of_later_versions():
    drawn = "".join("01"[perceives(0, 0.5, str(n))] for n in range(16)) + "".join("01"[knows(0, 0.5, str(n))] for n in range(16))
    assert drawn == "01110101000100001011011000111001"


def test_no_request_is_pulled_ahead():
    pulled = []

    def endless():
        for n in range(10**9):
            pulled.append(n)
            yield asked(sample(n))

    model = build("phantom")
    stream = model.generate(endless())
    assert pulled == []
    for count in (1, 2, 3):
        next(stream)
        assert len(pulled) == count
    model.close()
    model.close()


@pytest.mark.parametrize(
    ("spec", "canonical"),
    [
        ("phantom", "phantom:perception=0.8,knowledge=0.7,guess=chance,refuse=0,format_error=0,drift=0"),
        ("phantom:", "phantom:perception=0.8,knowledge=0.7,guess=chance,refuse=0,format_error=0,drift=0"),
        (
            "phantom: drift=.25 ,perception=1,guess=none,refuse=1e-3",
            "phantom:perception=1,knowledge=0.7,guess=none,refuse=0.001,format_error=0,drift=0.25",
        ),
    ],
)
def test_repr_is_the_canonical_spec(spec, canonical):
    model = build(spec, seed=4)
    assert repr(model) == canonical
    assert model.identity == f"{canonical},seed=4"
    assert model.simulated


@settings(derandomize=True, max_examples=50)
@given(abilities)
def test_the_canonical_spec_reads_back_equal(ability):
    model = build(str(ability))
    assert model.truth.settings == ability
    assert repr(model) == model.name == str(ability)


def test_the_spec_overrules_the_run_file():
    model = build("phantom:knowledge=0.1", {"knowledge": 0.9, "guess": "wrong"})
    assert model.truth.settings == PhantomSettings(0.8, 0.1, "wrong")
    assert model.name == "phantom:knowledge=0.1"


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("perception=1.5", "phantom: perception=1.5 is not a probability. Give a number from 0 to 1, such as perception=0.5."),
        ("drift=-0.1", "phantom: drift=-0.1 is not a probability. Give a number from 0 to 1, such as drift=0.5."),
        ("knowledge=nan", "phantom: knowledge=nan is not a probability. Give a number from 0 to 1, such as knowledge=0.5."),
        ("refuse=inf", "phantom: refuse=inf is not a probability. Give a number from 0 to 1, such as refuse=0.5."),
        ("format_error=often", "phantom: option format_error='often' is not a number."),
        (
            "refuse=0.6,format_error=0.5",
            "phantom: refuse=0.6 and format_error=0.5 add up to more than 1, but an answer is one of them at most.",
        ),
        ("guess=chanse", "Unknown guess 'chanse' in phantom. Did you mean 'chance'? Known: chance, none, wrong."),
        (
            "percption=1",
            "phantom has no option 'percption'. Did you mean 'perception'? "
            "Known: drift, format_error, guess, knowledge, perception, refuse.",
        ),
        ("good", "phantom takes options only, but was given 'good'. Write, for example, phantom:perception=0.8."),
    ],
)
def test_a_wrong_spec_is_named(spec, message):
    with pytest.raises(UsageError) as caught:
        build(f"phantom:{spec}")
    assert str(caught.value) == message
