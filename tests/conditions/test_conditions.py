"""Every condition does what its card says, and nothing else."""

from dataclasses import fields, replace
from itertools import permutations

import pytest

from eyetest import registry
from eyetest.conditions import Composed, ConditionCard, Pool, Step, build, canonical, contradiction, needs_pool, parse
from eyetest.conditions.image import BLIND_STATEMENT
from eyetest.conditions.options import NEEDS_OPTIONS
from eyetest.errors import UsageError
from eyetest.types import Image, Sample, Shown

PARAMETERS = {"truncated": "2", "blurred": "0.02"}
"""Of conditions that need one."""

NAMES = tuple(
    f"{name}@{PARAMETERS[name]}" if name in PARAMETERS else name for name in registry.BUILT_IN["conditions"]
)  # fmt: skip


def picture(text):
    return Image(data=text.encode())


BARE = Sample("q1", "Which city is this?", ("Paris",), choices=("Rome", "Paris", "Oslo"))
FULL = replace(
    BARE,
    id="q2",
    images=(picture("two"),),
    context="A postcard.",
    knowledge_question="What is the capital of France?",
    caption="An iron tower.",
    entity="Eiffel Tower",
    cluster="france",
    metadata={"year": 1999},
)
MEME = replace(FULL, id="m1", images=(picture("seven"),), context=None, picture_text="wish you were here")
SAMPLES = (
    BARE,
    FULL,
    replace(FULL, id="q3", images=(picture("three"), picture("more"))),
    replace(BARE, id="q4", images=(picture("four"),)),
    replace(BARE, id="t1", kind="text", choices=(), images=(picture("five"),)),
    replace(FULL, id="t2", kind="text", choices=()),
    replace(BARE, id="t3", kind="text", choices=()),
    replace(FULL, id="l1", kind="labels", target=("Rome", "Oslo")),
    replace(BARE, id="l2", kind="labels", target=()),
    replace(BARE, id="d1", kind="description", choices=(), images=(picture("six"),)),
    replace(BARE, id="o1", kind="transcription", choices=(), images=(picture("eight"),)),
)
POOL = Pool.of(SAMPLES)
TEXT = SAMPLES[5]


def shown(name, sample, *, seed=0, task="cities", pool=POOL):
    return build(name, pool).apply(sample, seed=seed, task=task)


def only(name, sample, **arguments):
    [one] = shown(name, sample, **arguments)
    return one


def changed(before, after):
    return {field.name for field in fields(Sample) if getattr(before, field.name) != getattr(after, field.name)}


def legal(names):
    try:
        parse("+".join(names))
    except UsageError:
        return False
    return True


@pytest.mark.parametrize("sample", [*SAMPLES, MEME], ids=lambda sample: sample.id)
@pytest.mark.parametrize("name", NAMES)
def test_id_target_and_what_is_not_shown_never_change(name, sample):
    for one in shown(name, sample):
        kept = {"id", "target", "picture_text", "knowledge_question", "caption", "entity", "cluster", "metadata"}
        assert not kept & changed(sample, one)
        assert sorted(one.choices) in (sorted(sample.choices), [])


def test_image_changes_nothing():
    assert [shown("image", sample) for sample in SAMPLES] == [(sample,) for sample in SAMPLES]


def test_no_image_takes_all_pictures_away_and_leaves_a_sample_without_one_as_it_is():
    for sample in SAMPLES:
        one = only("no_image", sample)
        assert one.images == ()
        assert changed(sample, one) == ({"images", "shown"} if sample.images else set())
        assert one.shown == Shown(picture="none" if sample.images else "own")


def test_told_blind_says_so_before_the_question():
    one = only("told_blind", FULL)
    assert one == replace(
        FULL, images=(), shown=Shown(picture="none"), question="No picture is given with this question. "
        "Answer it all the same, with your best guess.\nWhich city is this?"
    )  # fmt: skip
    assert BLIND_STATEMENT in one.question
    assert shown("told_blind", BARE) == ()


def test_blank_greys_every_picture_after_its_own_operations():
    sample = replace(SAMPLES[2], images=(picture("a"), replace(picture("b"), operations=("blur:3",))))
    one = only("blank", sample)
    assert one.images == (Image(data=b"a", operations=("blank",)), Image(data=b"b", operations=("blur:3", "blank")))
    assert changed(sample, one) == {"images", "shown"}
    assert one.shown == Shown(picture="blank")
    assert shown("blank", BARE) == ()


def test_knowledge_asks_the_knowledge_question_without_the_picture():
    one = only("knowledge", FULL)
    assert one.question == "What is the capital of France?"
    assert changed(FULL, one) == {"images", "question", "shown"}
    assert one.shown == Shown(picture="none", asks="knowledge")
    assert only("knowledge", replace(FULL, images=())).shown == Shown(picture="own", asks="knowledge")
    for without in (BARE, replace(FULL, knowledge_question=""), SAMPLES[4]):
        assert shown("knowledge", without) == ()


def test_options_only_leaves_nothing_but_the_options():
    one = only("options_only", FULL)
    assert (one.question, one.context, one.images, one.choices) == ("", None, (), FULL.choices)
    assert changed(FULL, one) == {"question", "context", "images", "shown"}
    assert one.shown == Shown(picture="none", asks="nothing")
    assert only("options_only", BARE).shown == Shown(picture="own", asks="nothing")
    assert shown("options_only", TEXT) == ()


def test_picture_only_leaves_the_picture_and_the_options():
    one = only("picture_only", FULL)
    assert (one.question, one.context, one.images, one.choices) == ("", None, FULL.images, FULL.choices)
    assert one.shown == Shown(picture="own", asks="nothing")
    assert shown("picture_only", BARE) == ()
    assert shown("picture_only", TEXT) == ()


def test_open_ended_takes_the_options_away_and_asks_for_text():
    one = only("open_ended", FULL)
    assert (one.kind, one.choices, one.question, one.shown) == ("text", (), FULL.question, Shown())
    assert changed(FULL, one) == {"kind", "choices"}
    for other in SAMPLES[4:]:
        assert shown("open_ended", other) == ()


def test_open_ended_flags_an_item_that_points_at_its_options_and_keeps_other_flags():
    sample = replace(FULL, question="Which of these is it?", shown=Shown(flags=("doubtful",)))
    assert only("open_ended", sample).shown.flags == ("doubtful", NEEDS_OPTIONS)


def test_shuffled_changes_only_the_order_of_the_options():
    for sample in SAMPLES:
        if len(sample.choices) < 2:
            assert shown("shuffled", sample) == ()
        else:
            assert changed(sample, only("shuffled", sample)) <= {"choices"}
    assert shown("shuffled", replace(BARE, choices=("Paris",))) == ()
    assert sorted(only("shuffled", replace(BARE, choices=("x", "x", "y"))).choices) == ["x", "x", "y"]


@pytest.mark.parametrize(
    ("choices", "applies"),
    [
        (("A", "B", "C", "D"), False),
        (("b", "a"), False),
        (("(A)", "(B)"), False),
        (("A.", "neither"), False),
        (("Part A", "Part B"), True),
        (("E", "F"), True),
        (("C", "D"), True),
        (("C", "D", "no answer"), False),
        (("1", "2"), True),
    ],
)
def test_options_that_are_letters_are_not_shuffled(choices, applies):
    sample = replace(BARE, choices=choices, target=choices[:1])
    assert bool(shown("shuffled", sample)) == applies
    assert len(shown("image", sample)) == 1


# ------------------------------------------------------------------------------------------------------- composition


PAIRS = tuple(permutations(NAMES, 2))
LEGAL_PAIRS = tuple(pair for pair in PAIRS if legal(pair))
LEGAL_TRIPLES = tuple(triple for triple in permutations(NAMES, 3) if legal(triple))


def test_which_pairs_are_legal():
    without_image = {"+".join(sorted(pair)) for pair in LEGAL_PAIRS if "image" not in pair}
    assert without_image == {
        "blank+image_text",
        "blank+open_ended",
        "blank+picture_only",
        "blank+rotated",
        "blank+shuffled",
        "blank+truncated@2",
        "blurred@0.02+image_text",
        "blurred@0.02+open_ended",
        "blurred@0.02+picture_only",
        "blurred@0.02+rotated",
        "blurred@0.02+shuffled",
        "blurred@0.02+truncated@2",
        "caption+open_ended",
        "caption+rotated",
        "caption+shuffled",
        "caption+truncated@2",
        "image_text+open_ended",
        "image_text+rotated",
        "image_text+shuffled",
        "image_text+swapped",
        "image_text+truncated@2",
        "knowledge+open_ended",
        "knowledge+rotated",
        "knowledge+shuffled",
        "knowledge+truncated@2",
        "no_image+open_ended",
        "no_image+rotated",
        "no_image+shuffled",
        "no_image+truncated@2",
        "open_ended+swapped",
        "open_ended+text_only",
        "open_ended+told_blind",
        "open_ended+truncated@2",
        "options_only+rotated",
        "options_only+shuffled",
        "picture_only+rotated",
        "picture_only+shuffled",
        "picture_only+swapped",
        "rotated+swapped",
        "rotated+text_only",
        "rotated+told_blind",
        "rotated+truncated@2",
        "shuffled+swapped",
        "shuffled+text_only",
        "shuffled+told_blind",
        "shuffled+truncated@2",
        "swapped+truncated@2",
        "text_only+truncated@2",
        "told_blind+truncated@2",
    }


@pytest.mark.parametrize("names", LEGAL_PAIRS + LEGAL_TRIPLES, ids="+".join)
def test_every_legal_composition_runs(names):
    name = "+".join(names)
    steps = [build(step, POOL) for step in names]
    applied = 0
    for sample in (*SAMPLES, MEME):
        found = shown(name, sample)
        applied += bool(found)
        for one in found:
            assert (one.id, one.target) == (sample.id, sample.target)
        if not all(step.apply(sample, seed=0, task="cities") for step in steps):
            assert found == ()
    assert applied


@pytest.mark.parametrize("names", LEGAL_PAIRS, ids="+".join)
def test_the_order_of_steps_changes_nothing(names):
    for sample in (*SAMPLES, MEME, replace(FULL, id="q9", question="Which of these is it?")):
        assert shown("+".join(names), sample) == shown("+".join(reversed(names)), sample)


@pytest.mark.parametrize("names", [pair for pair in PAIRS if pair not in LEGAL_PAIRS], ids="+".join)
def test_an_impossible_pair_is_refused_and_both_are_named(names):
    assert tuple(reversed(names)) not in LEGAL_PAIRS
    with pytest.raises(UsageError) as caught:
        parse("+".join(names))
    message = str(caught.value)
    assert message.startswith(f"Condition {'+'.join(names)!r} is impossible: ")
    assert all(repr(name.partition("@")[0]) in message for name in names)
    assert "both decide the" in message or "that" in message.split("needs the")[1]
    assert message.endswith("Run them as two conditions, separated by a comma.")


def test_what_an_impossible_pair_is_told():
    assert contradiction(*parse_each("no_image", "blank")) == "'no_image' and 'blank' both decide the picture"
    assert contradiction(*parse_each("no_image", "picture_only")) == "'picture_only' needs the picture that 'no_image' takes away"
    assert contradiction(*parse_each("shuffled", "open_ended")) == "'shuffled' needs the options that 'open_ended' takes away"


def parse_each(*names):
    return [parse(name)[0] for name in names]


def test_legality_is_symmetric():
    for first, second in PAIRS:
        one, other = parse_each(first, second)
        assert bool(contradiction(one, other)) == bool(contradiction(other, one))


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("image", "image"),
        (" no_image ", "no_image"),
        ("image+no_image", "no_image"),
        ("no_image+image", "no_image"),
        ("image+image", "image"),
        ("no_image + shuffled", "no_image+shuffled"),
        ("shuffled+no_image", "shuffled+no_image"),
        ("image+picture_only+image+swapped", "picture_only+swapped"),
    ],
)
def test_canonical_names(written, name):
    assert canonical(written) == name
    assert canonical(name) == name
    assert build(written, POOL).name == name


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("no_image@3", "Condition 'no_image@3': 'no_image' takes no parameter. Write 'no_image'."),
        ("image@", "Condition 'image@': 'image' takes no parameter. Write 'image'."),
        ("shuffled+blank @ x", "Condition 'blank @ x': 'blank' takes no parameter. Write 'blank'."),
        ("shuffled+shuffled", "Condition 'shuffled+shuffled' names 'shuffled' twice. Write it once."),
    ],
)
def test_parameters_and_repetitions_are_refused(written, message):
    with pytest.raises(UsageError) as caught:
        canonical(written)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("written", "start"),
    [
        ("shufled", "Unknown condition 'shufled'. Did you mean 'shuffled'? Known: blank, blurred, caption, image, "),
        ("no_image+shufled", "Unknown condition 'shufled' in condition 'no_image+shufled'. Did you mean 'shuffled'? Known: "),
        ("no_image+", "Unknown condition '' in condition 'no_image+'. Known: "),
        ("", "Unknown condition ''. Known: "),
        ("no-image", "Unknown condition 'no-image'. Did you mean 'no_image'? Known: "),
        ("Image", "Unknown condition 'Image'. Did you mean 'image'? Known: "),
    ],
)
def test_unknown_names(written, start):
    with pytest.raises(UsageError) as caught:
        parse(written)
    assert str(caught.value).startswith(start)


def test_an_unknown_name_says_where_it_stands():
    with pytest.raises(UsageError, match=r"^Unknown condition 'sharpened' in run\.toml\. "):
        parse("image+sharpened", "run.toml")


def test_steps_are_written_as_they_are_read():
    card = ConditionCard("truncated", lambda parameter, pool: lambda sample, random: (sample,), parameter="N")
    assert Step("truncated", "64", card).text == "truncated@64"
    assert Step("image", "", card).text == "image"


def test_only_swapped_looks_at_other_samples():
    assert [name for name in NAMES if needs_pool([name])] == ["swapped"]
    assert needs_pool(["image", "swapped+shuffled"])
    assert not needs_pool([])


def test_a_step_after_variants_draws_apart_for_each():
    def twice(sample, _random):
        return (sample, replace(sample, context="again"))

    def drawing(sample, random):
        return (replace(sample, entity=str(random.random())),)

    first, second = Composed("x", (("twice", twice), ("drawing", drawing))).apply(BARE, seed=0, task="t")
    assert (first.context, second.context) == (None, "again")
    assert first.entity != second.entity


def test_an_id_that_is_no_unicode_is_asked_like_any_other():
    sample = replace(FULL, id="caf\udce9.png")
    assert only("shuffled", sample).target == ("Paris",)
    assert only("swapped", sample, pool=Pool.of((*SAMPLES, sample))).shown.partner in {one.id for one in SAMPLES}
