import math
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from evaluation.made import go
from eyetest.errors import BadImageError, MissingExtraError, UsageError
from eyetest.models import Prepares, build, ocr, ocr_linear
from eyetest.models.ocr_linear import Example, OcrLinear, Settings, TextClassifier, likeness
from eyetest.types import Image, Origin, Request, Response, Sample, Shown

TOPICS = {
    "food": ["bread", "cheese", "soup", "butter", "kitchen", "dinner", "recipe", "salad"],
    "sport": ["goal", "match", "team", "referee", "league", "player", "stadium", "coach"],
}


class Words:
    """A reader that finds the picture's bytes written in it."""

    def __init__(self):
        self.read_, self.closed = Counter(), 0

    def read(self, image):
        self.read_[image.data] += 1
        if image.data == b"bad":
            raise BadImageError("The picture is bad.")
        return "" if "blank" in image.operations else image.data.decode()

    def close(self):
        self.closed += 1


def picture(text):
    return (Image(data=text.encode()),)


def meme(number, **fields):
    """A picture about food or sport with four words of its topic."""
    topic = ("food", "sport")[number % 2]
    said = " ".join(Random(number).sample(TOPICS[topic], 4))
    values = {"kind": "choice", "choices": ("food", "sport"), "images": picture(said), "picture_text": said}
    return Sample(f"m{number:03d}", "What is it about?", (topic,), **values | fields)


MEMES = [meme(number) for number in range(60)]


def model(text="picture", reader=None, **settings):
    return OcrLinear("ocr_linear", Settings(text, **settings), reader=reader or Words())


def prepared(samples, split=(), *, text="picture", reader=None, **settings):
    made = model(text, reader, **settings)
    made.prepare("topics", iter(samples), iter(split))
    return made


def response(made, sample, condition="image"):
    [(_, found)] = made.generate(iter([Request((), origin=Origin("topics", sample, condition))]))
    return found


def share_right(made, samples):
    return sum(response(made, sample).text == sample.target[0] for sample in samples) / len(samples)


# --- what it reads ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["transcription", "text", "description"])
@pytest.mark.parametrize("text", ["picture", "dataset"])
def test_open_questions_are_answered_with_the_words_in_the_pictures(kind, text):
    sample = Sample("s", "?", ("x",), kind=kind, images=picture("HELLO\nWORLD"), picture_text="HELLO\nWORLD", context="a post")
    made = prepared([sample], text=text)
    assert response(made, sample) == Response("HELLO\nWORLD")
    assert response(made, replace(sample, images=(), shown=Shown("none"))) == Response("")


def test_the_words_of_several_pictures_are_put_together():
    sample = Sample("s", "?", ("x",), kind="transcription", images=(*picture("one"), *picture(""), *picture("two")))
    assert response(prepared([sample]), sample).text == "one\ntwo"


def test_a_picture_shown_blank_or_instead_of_the_own_is_what_is_read():
    sample = Sample("s", "?", ("x",), kind="transcription", images=picture("OWN"))
    made = prepared([sample])
    other = replace(sample, images=picture("OTHER"), shown=Shown("other", partner="t"))
    blank = replace(sample, images=(replace(sample.images[0], operations=("blank",)),), shown=Shown("blank"))
    assert [response(made, one).text for one in (other, blank)] == ["OTHER", ""]


def test_the_datasets_words_follow_the_picture_that_is_shown():
    own, partner = meme(0, kind="text", choices=()), meme(1, kind="text", choices=())
    made = prepared([own, partner], text="dataset")
    other = replace(own, images=partner.images, shown=Shown("other", partner=partner.id))
    blank = replace(own, images=(replace(own.images[0], operations=("blank",)),), shown=Shown("blank"))
    assert [response(made, one).text for one in (own, other, blank)] == [own.picture_text, partner.picture_text, ""]


def test_words_of_a_picture_that_never_was_are_not_read():
    bare = meme(0, kind="text", choices=(), images=())
    assert response(prepared([bare], text="dataset"), bare).text == ""


@pytest.mark.parametrize(
    ("sample", "whose"),
    [
        (meme(0, picture_text=None), "m000"),
        (meme(0, picture_text=None, kind="transcription", context="a post"), "m000"),
        (meme(0, shown=Shown("other", partner="far")), "far"),
    ],
)
def test_words_that_the_dataset_does_not_say_are_a_failed_call(sample, whose):
    assert response(prepared(MEMES, text="dataset"), sample) == Response(
        status="error",
        error=f"no words are known of the picture of sample '{whose}' (of a transcription they are the answer). "
        "Use ocr_linear:text=picture, which needs eyetest[text].",
    )


def test_a_context_is_enough_to_read_without_the_pictures_words():
    made = prepared(MEMES, text="dataset")
    said = meme(1, picture_text=None, context="the referee of the league match and the team coach")
    assert response(made, said).text == "sport"


def test_a_bad_picture_is_a_bad_image_and_is_not_learned_from():
    bad = meme(99, images=(Image(data=b"bad"),))
    made = prepared([*MEMES, bad])
    assert response(made, bad) == Response(status="bad_image", error="The picture is bad.")
    assert response(made, MEMES[0]).text == "food"


# --- choice ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["picture", "dataset"])
def test_it_learns_from_the_training_split(text):
    train, asked = MEMES[:40], MEMES[40:]
    made = prepared(asked, train, text=text)
    assert share_right(made, asked) == 1
    unlearned = prepared([replace(one, target=("food",)) for one in asked], train, text=text)
    assert [response(unlearned, one) for one in asked] == [response(made, one) for one in asked]


def test_probabilities_are_those_of_the_options_as_they_are_shown():
    made = prepared(MEMES[40:], MEMES[:40])
    found = response(made, MEMES[41])
    turned = response(made, replace(MEMES[41], choices=("sport", "food")))
    assert found.text == "sport"
    assert sum(map(math.exp, found.label_logprobs)) == pytest.approx(1)
    assert found.label_logprobs[1] > math.log(0.6) > found.label_logprobs[0]
    assert turned.label_logprobs == found.label_logprobs[::-1]


def test_without_words_the_probabilities_are_the_shares_of_the_training_split():
    train = [*MEMES[:30:2], *MEMES[1:10:2]]  # 15 of food, 5 of sport
    found = response(prepared(MEMES[40:], train), replace(MEMES[41], images=(), shown=Shown("none")))
    assert found.text == "food"
    assert [math.exp(log) for log in found.label_logprobs] == pytest.approx([0.75, 0.25])


def test_the_context_counts_as_it_is_shown():
    news = [replace(one, images=(), picture_text=None, context=one.picture_text) for one in MEMES]
    made = prepared(news[40:], news[:40])
    assert share_right(made, news[40:]) == 1
    bare = response(made, replace(news[41], context=None))
    assert bare.label_logprobs == pytest.approx([math.log(0.5)] * 2)


def test_an_option_that_nobody_had_is_all_but_impossible():
    wide = [replace(one, choices=("food", "sport", "art")) for one in MEMES]
    found = response(prepared(wide[40:], wide[:40]), wide[41])
    assert found.label_logprobs[2] == pytest.approx(math.log(1e-6), abs=1e-3)


def test_one_class_and_no_words_need_no_regression():
    same = [replace(one, target=("sport",)) for one in MEMES[:10]]
    assert response(prepared(MEMES[10:12], same), MEMES[10]).text == "sport"
    wordless = [replace(one, images=picture("")) for one in MEMES[:9]]  # 5 of food, 4 of sport
    found = response(prepared(MEMES[10:12], wordless), MEMES[11])
    assert [math.exp(log) for log in found.label_logprobs] == pytest.approx([5 / 9, 4 / 9])


def test_an_item_without_options_is_unknown():
    assert response(prepared(MEMES), replace(MEMES[0], choices=())).text == "unknown"


# --- cross-fitting ---------------------------------------------------------------------------------------------------


def test_without_a_training_split_it_is_cross_fitted():
    assert share_right(prepared(MEMES), MEMES) >= 0.95


def test_cross_fitted_without_words_everybody_gets_the_same_answer():
    """Leaving out a fold makes its own classes rarer: fitted without it, a guess would be below chance."""
    blind = [replace(one, images=(), shown=Shown("none")) for one in MEMES[:41]]  # 21 of food, 20 of sport
    made = prepared(MEMES[:41])
    found = {response(made, one) for one in blind}
    assert len(found) == 1
    assert [math.exp(log) for log in found.pop().label_logprobs] == pytest.approx([21 / 41, 20 / 41])


def test_a_gold_answer_never_reaches_its_own_sample_or_its_fold():
    made = prepared(MEMES)
    before = {one.id: response(made, one) for one in MEMES}
    for changed in MEMES[:8]:
        wrong = replace(changed, target=("sport" if changed.target == ("food",) else "food",))
        again = prepared([wrong if one is changed else one for one in MEMES])
        fold = made.settings.fold(changed)
        same = {one.id for one in MEMES if response(again, one) == before[one.id]}
        assert same == {one.id for one in MEMES if made.settings.fold(one) == fold}


def test_a_cluster_is_one_fold():
    settings = Settings("picture")
    assert len({settings.fold(meme(number)) for number in range(60)}) == 5
    assert len({settings.fold(meme(number, cluster="author")) for number in range(60)}) == 1
    assert settings.fold(meme(0, cluster="m007")) == settings.fold(meme(7))


def test_the_partner_of_a_swapped_picture_is_hidden_too():
    words = "zebra quagga okapi"  # words of one sample alone: who learned from it answers as it is labelled
    partner = meme(1, images=picture(words), picture_text=words)
    made = prepared([*MEMES[:1], partner, *MEMES[2:]])
    asker = next(one for one in MEMES[2:] if made.settings.fold(one) != made.settings.fold(partner))
    swapped = replace(asker, images=partner.images, shown=Shown("other", partner=partner.id))
    labelled_else = prepared([*MEMES[:1], replace(partner, target=("food",)), *MEMES[2:]])
    assert response(made, swapped) == response(labelled_else, swapped)
    unswapped = replace(swapped, shown=Shown())
    assert response(made, unswapped).label_logprobs != response(labelled_else, unswapped).label_logprobs


def test_with_nobody_else_to_learn_from_the_call_fails():
    alone = [replace(one, cluster="one author") for one in MEMES]
    for samples in (MEMES[:1], alone, [replace(one, target=()) for one in MEMES]):
        found = response(prepared(samples), samples[0])
        assert found == Response(
            status="error",
            error="sample 'm000' of task 'topics': ocr_linear has no other sample to learn from. "
            "Ask more samples, or a task with a training split.",
        )


def test_the_training_samples_are_the_first_in_hash_order():
    reader = Words()
    made = prepared(MEMES[50:], MEMES[:50], reader=reader, train=10, seed=3)
    response(made, MEMES[55])
    ranked = sorted(MEMES[:50], key=lambda one: made.settings.rank("train", one.id))
    assert set(reader.read_) == {one.images[0].data for one in (*ranked[:10], MEMES[55])}


# --- options of their own --------------------------------------------------------------------------------------------

SIGNS = [
    Sample("a", "What does the sign say?", ("No parking",), choices=("Mind the gap", "No parking"), images=picture("NOPARKING")),
    Sample(
        "b", "What is sold?", ("Fresh fish",), choices=("Fresh fish", "Old books", "Shoes"), images=picture("fresh fish daily")
    ),
]


def test_options_of_their_own_are_compared_with_the_words():
    found = [response(prepared(SIGNS), sample) for sample in SIGNS]
    assert found == [Response("No parking"), Response("Fresh fish")]


def test_one_item_of_other_options_means_options_of_their_own(monkeypatch):
    assert response(prepared([SIGNS[0], SIGNS[1], replace(SIGNS[0], id="c")]), SIGNS[0]).label_logprobs is None
    assert response(prepared(MEMES), MEMES[0]).label_logprobs is not None
    monkeypatch.setattr(ocr_linear, "MAX_LABELS", 1)
    assert response(prepared(MEMES), MEMES[0]).label_logprobs is None


def test_nothing_is_learned_from_options_of_their_own():
    relabelled = [SIGNS[0], replace(SIGNS[1], target=("Shoes",))]
    assert prepared(SIGNS).identity == prepared(relabelled).identity


def test_without_any_likeness_the_seed_draws_evenly_and_in_whatever_order():
    choices = ("Fresh fish", "Old books", "Shoes")
    made = prepared(SIGNS)
    drawn = Counter()
    for number in range(600):
        blind = Sample(f"s{number}", "?", (choices[0],), choices=choices)
        drawn[response(made, blind).text] += 1
        assert response(made, replace(blind, choices=choices[::-1])) == response(made, blind)
    assert min(drawn.values()) > 150
    assert len(drawn) == 3


def test_likeness_is_a_cosine():
    assert likeness("old books", ("Old books", "Shoes")) == [1, 0]
    assert 0 < likeness("books", ("Old books", "Shoes"))[0] < 1
    assert likeness("", ("Old books", "Shoes")) == likeness("x", ("", " ")) == [0, 0]


# --- labels ----------------------------------------------------------------------------------------------------------


def tagged(number, *targets, said=None):
    said = said if said is not None else " ".join(" ".join(Random(number).sample(TOPICS[one], 4)) for one in targets)
    return Sample(f"t{number}", "?", targets, kind="labels", choices=("art", "food", "sport"), images=picture(said))


TAGGED = [tagged(number, *(("food",), ("sport",), ("food", "sport"))[number % 3]) for number in range(60)]


def test_labels_are_regressions_of_their_own():
    made = prepared(TAGGED[45:], TAGGED[:45])
    assert [response(made, one).text for one in TAGGED[45:51]] == ["food", "sport", "food, sport"] * 2
    assert response(made, TAGGED[45]).label_logprobs is None


def test_the_most_probable_label_is_taken_where_none_is_probable():
    rare = [
        tagged(number, *(("food",) if number % 5 == 0 else ("art",) if number % 5 == 1 else ()), said="") for number in range(25)
    ]
    made = prepared([tagged(99)], [*rare, tagged(25, "food", said="")])
    assert response(made, tagged(99)).text == "food"


def test_kinds_are_learned_apart():
    mixed = prepared([MEMES[50], TAGGED[50]], [*MEMES[:40], *TAGGED[:40]])
    alone = prepared(MEMES[50:51], MEMES[:40])
    assert response(mixed, MEMES[50]) == response(alone, MEMES[50])
    assert response(mixed, TAGGED[50]) == response(prepared(TAGGED[50:51], TAGGED[:40]), TAGGED[50])


def test_everybody_has_a_label_or_nobody():
    always = [replace(one, target=("art", *one.target)) for one in TAGGED]
    assert response(prepared(always[45:], always[:45]), always[46]).text == "art, sport"


# --- laziness, identity, determinism ---------------------------------------------------------------------------------


def test_it_reads_nothing_before_an_answer_needs_it_and_fits_once():
    reader = Words()
    made = prepared(MEMES, reader=reader)
    assert not reader.read_
    response(made, MEMES[0])
    assert set(reader.read_.values()) == {1, 2}  # once to learn, once more (remembered by the reader) to answer
    response(made, MEMES[0])
    assert reader.read_[MEMES[1].images[0].data] == 1
    made.close()
    made.close()
    assert reader.closed == 2
    assert response(made, MEMES[0]).text == "food"
    assert reader.read_[MEMES[1].images[0].data] == 2  # the fit was freed


def test_transcriptions_are_learned_from_by_nobody():
    reader = Words()
    samples = [replace(one, kind="transcription", choices=()) for one in MEMES]
    response(prepared(samples, reader=reader), samples[0])
    assert sum(reader.read_.values()) == 1


def test_everything_that_is_learned_enters_the_identity():
    changed = [
        replace(MEMES[0], target=("sport",)),
        replace(MEMES[0], context="a post"),
        replace(MEMES[0], cluster="author"),
        replace(MEMES[0], images=picture("else")),
        replace(MEMES[0], choices=("food", "sport", "art")),
    ]
    identities = [prepared([first, *MEMES[1:]]).identity for first in (MEMES[0], *changed)]
    assert len(set(identities)) == len(identities)
    assert prepared([*MEMES[1:], MEMES[0]]).identity == identities[0]
    assert prepared([], MEMES).identity not in identities
    said = [
        prepared([replace(MEMES[0], picture_text=text), *MEMES[1:]], MEMES[9:], text="dataset").identity for text in ("x", "y")
    ]
    assert said[0] != said[1]


def test_the_identity_names_settings_and_versions():
    made = build("ocr_linear:folds=4,train=9", seed=7)
    versions = ", ".join(f"{package} {ocr.installed(package)}" for package in ("scikit-learn", "rapidocr", "onnxruntime"))
    assert made.identity == f"ocr_linear:text=picture,folds=4,train=9,seed=7 (auto); {versions}"
    assert made.name == "ocr_linear:folds=4,train=9"
    assert build("ocr_linear").name == "ocr_linear"
    assert build("ocr_linear:seed=3", {"text": "dataset"}, seed=7).identity.startswith(
        "ocr_linear:text=dataset,folds=5,train=2000,seed=3; scikit-learn "
    )
    assert made.simulated
    assert isinstance(made, Prepares)


def test_auto_falls_back_on_the_dataset_and_says_so(monkeypatch):
    installed = ocr.installed
    monkeypatch.setattr(ocr, "installed", lambda package: "" if package == "rapidocr" else installed(package))
    assert "text=dataset,folds=5,train=2000,seed=0 (auto: rapidocr is not installed);" in build("ocr_linear").identity
    with pytest.raises(MissingExtraError) as caught:
        build("ocr_linear:text=picture")
    assert str(caught.value) == (
        "ocr_linear:text=picture needs the package 'rapidocr', which is not installed. "
        "Install it with: pip install 'eyetest[text]'"
    )


def test_scikit_learn_is_needed_in_any_case(monkeypatch):
    monkeypatch.setattr(ocr, "installed", lambda package: "" if package == "scikit-learn" else "1.0")
    with pytest.raises(MissingExtraError, match=r"The model ocr_linear needs the package 'scikit-learn'.*eyetest\[text\]"):
        build("ocr_linear:text=dataset")


def test_answers_do_not_depend_on_order_or_process():
    shuffled = Random(1).sample(MEMES, len(MEMES))
    first, second = prepared(MEMES), prepared(shuffled)
    ours = [response(first, one) for one in MEMES]
    assert [response(second, one) for one in shuffled] == [ours[MEMES.index(one)] for one in shuffled]
    code = (
        "from models.test_ocr_linear import MEMES, prepared, response\n"
        "made = prepared(MEMES)\nprint([response(made, one).label_logprobs for one in MEMES])"
    )
    environment = os.environ | {"PYTHONHASHSEED": "7", "PYTHONPATH": os.pathsep.join(["tests", *sys.path])}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str([one.label_logprobs for one in ours])


def test_a_run_has_probabilities_and_an_area_under_the_curve(tmp_path):
    conditions = ["image", "no_image", "swapped", "shuffled"]
    outcome = go(tmp_path, MEMES, build("ocr_linear:text=dataset"), conditions=conditions)
    found = {
        one.condition: one.estimate.value
        for one in outcome.results.findings
        if one.panel == "probabilities" and one.estimate.metric == "roc_auc"
    }
    assert found["image"] == found["shuffled"] > 0.95
    assert found["no_image"] == 0.5
    assert outcome.progress.failed == 0
    assert (outcome.progress.shared, outcome.progress.cached) == (0, 0)


# --- mistakes --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("ocr_linear:memes", "ocr_linear takes options only, but was given 'memes'. Write, for example, ocr_linear:folds=10."),
        (
            "ocr_linear:text=pictures",
            "Unknown text 'pictures' in ocr_linear. Did you mean 'picture'? Known: auto, dataset, picture.",
        ),
        ("ocr_linear:folds=1", "ocr_linear: folds=1 is too few; it must be at least 2."),
        ("ocr_linear:train=0", "ocr_linear: train=0 is too few; it must be at least 1."),
        ("ocr_linear:fold=3", "ocr_linear has no option 'fold'. Did you mean 'folds'? Known: folds, seed, text, train."),
    ],
)
def test_mistakes_are_named(spec, message):
    with pytest.raises(UsageError) as caught:
        build(spec)
    assert str(caught.value) == message


def test_a_task_that_was_not_prepared_is_a_mistake():
    with pytest.raises(UsageError) as caught:
        response(model(), MEMES[0])
    assert str(caught.value) == (
        "The model 'ocr_linear' has not seen the samples of task 'topics'. "
        "Call prepare('topics', samples, train) before its requests."
    )


# --- the classifier --------------------------------------------------------------------------------------------------


def test_the_classifier_is_scikit_learns():
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline, make_union

    examples = [Example(one.picture_text, one.target, number % 3) for number, one in enumerate(MEMES)]
    kept = [example for example in examples if example.fold != 1]
    vectoriser = make_union(
        TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True),
        TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True),
    ).fit([example.text for example in examples])
    logistic = LogisticRegression(C=ocr_linear.STRENGTH, max_iter=1000)
    logistic.fit(vectoriser.transform([example.text for example in kept]), [example.target[0] for example in kept])
    theirs = make_pipeline(vectoriser, logistic).predict_proba(["referee in the kitchen"])[0]
    ours = TextClassifier(examples).probabilities("referee in the kitchen", frozenset({1}))
    assert ours == pytest.approx(dict(zip(("food", "sport"), theirs, strict=True)), abs=1e-6)


def test_texts_of_signs_alone_have_features_of_one_kind():
    examples = [Example(text, (target,), 0) for text, target in (("?!", "a"), ("...", "b"), ("?!", "a"))]
    assert TextClassifier(examples).probabilities("?!", frozenset())["a"] > 0.6


def test_labels_with_zeros_at_their_ends_stay_apart():
    examples = [Example("bread", ("a",), 0), Example("goal", ("a\0",), 0)] * 3
    found = TextClassifier(examples).probabilities("goal", frozenset())
    assert max(found, key=found.get) == "a\0"
