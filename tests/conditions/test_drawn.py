"""Shuffled and swapped: the same in every process, independent of other samples, fair."""

import hashlib
import math
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from itertools import permutations

import pytest

from eyetest.conditions import Pool, build, rank
from eyetest.evaluation.plan import Dataset, Plan, Selection, survey
from eyetest.store import content_key
from eyetest.tasks.from_samples import task_from_samples
from eyetest.types import Image, Sample

ITEM = Sample("q1", "Which city is this?", ("Paris",), choices=("Rome", "Paris", "Oslo"))


def many(n, **changes):
    return tuple(replace(ITEM, id=f"item-{number}", images=(Image(data=b"%d" % number),), **changes) for number in range(n))


def order(name, sample, *, seed=0, task="cities"):
    [one] = build(name, Pool()).apply(sample, seed=seed, task=task)
    return one.choices


def partner(sample, pool, seed=0):
    found = build("swapped", pool).apply(sample, seed=seed, task="cities")
    return found[0].shown.partner if found else None


# ---------------------------------------------------------------------------------------------------------- shuffled


def test_shuffled_is_the_same_in_every_process():
    script = (
        "from eyetest.conditions import build, Pool; from eyetest.types import Sample;"
        "c = build('no_image+shuffled', Pool());"
        "print([c.apply(Sample(f'item-{n}', '', ('Paris',), choices=('Rome', 'Paris', 'Oslo')), seed=0, task='cities')[0].choices"
        " for n in range(50)])"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", script], env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout.strip()
        for seed in ("1", "77")
    }
    assert printed == {str([order("shuffled", sample) for sample in many(50)])}


@pytest.mark.parametrize(
    "name", ["no_image+shuffled", "shuffled+no_image", "blank+shuffled", "image+shuffled", "told_blind+shuffled"]
)
def test_shuffled_shows_the_same_order_in_every_composition(name):
    for sample in many(30):
        assert order(name, sample) == order("shuffled", sample)


def test_shuffled_depends_on_seed_task_and_id_alone():
    samples = many(40)
    for changes in ({"seed": 1}, {"task": "towns"}):
        assert [order("shuffled", sample, **changes) for sample in samples] != [order("shuffled", sample) for sample in samples]
    assert len({order("shuffled", sample) for sample in samples}) == math.factorial(3)
    backwards = {sample.id: order("shuffled", sample) for sample in reversed(samples)}
    assert backwards == {sample.id: order("shuffled", sample) for sample in samples}
    assert order("shuffled", replace(samples[0], question="Another?")) == order("shuffled", samples[0])


def test_shuffled_is_uniform_over_the_orders():
    n, p = 6000, 1 / 6
    counts = Counter(order("shuffled", sample) for sample in many(n))
    assert set(counts) == set(permutations(ITEM.choices))
    assert all(abs(count - n * p) < 5 * math.sqrt(n * p * (1 - p)) for count in counts.values())


# ----------------------------------------------------------------------------------------------------------- swapped


def test_the_partner_is_the_next_id_in_hash_order_around_the_end():
    samples = many(20)
    pool = Pool.of(samples, seed=7)
    line = sorted((sample.id for sample in samples), key=lambda name: hashlib.sha256(f"7:{name}".encode()).digest())
    for place, name in enumerate(line):
        sample = next(one for one in samples if one.id == name)
        assert partner(sample, pool) == line[(place + 1) % len(line)]
    assert rank(7, "x") == hashlib.sha256(b"7:x").digest()


def test_the_partner_shows_its_picture_and_its_target():
    one, other = many(2)
    other = replace(other, target=("Oslo",), images=(*other.images, Image(data=b"more")))
    [shown] = build("swapped", Pool.of((one, other))).apply(one, seed=0, task="t")
    assert shown == replace(
        one,
        images=other.images,
        shown=replace(one.shown, picture="other", partner=other.id, partner_target=("Oslo",)),
    )


def brute_force(samples, seed):
    """Id -> partner by the rule's own words."""
    line = sorted(samples, key=lambda sample: rank(seed, sample.id))
    found = {}
    for place, sample in enumerate(line):
        others = line[place + 1 :] + line[:place]
        content = [picture.data for picture in sample.images]
        found[sample.id] = next((one.id for one in others if [picture.data for picture in one.images] != content), None)
    return found


@pytest.mark.parametrize("kinds", [1, 2, 3, 10])
@pytest.mark.parametrize("seed", range(5))
def test_equal_pictures_are_skipped(kinds, seed):
    samples = tuple(replace(ITEM, id=f"s{n}", images=(Image(data=b"%d" % (n * n % kinds)),)) for n in range(30))
    wanted = brute_force(samples, seed)
    pool, backwards = Pool.of(samples, seed), Pool.of(samples, seed)
    assert {sample.id: partner(sample, pool) for sample in samples} == wanted
    assert {sample.id: partner(sample, backwards) for sample in reversed(samples)} == wanted
    assert {sample.id: partner(sample, Pool.of(samples, seed)) for sample in samples} == wanted


def test_where_all_pictures_are_equal_it_does_not_apply_and_soon_says_so():
    samples = tuple(replace(ITEM, id=f"s{n}", images=(Image(data=b"same"),)) for n in range(3000))
    pool, compared = Pool.of(samples), 0
    condition = build("swapped", pool)

    class Counting(dict):
        def __getitem__(self, key):
            nonlocal compared
            compared += 1
            return super().__getitem__(key)

    pool.entries = Counting(pool.entries)
    assert not any(condition.apply(sample, seed=0, task="t") for sample in samples)
    assert compared < 20 * len(samples)


def test_a_lone_sample_and_one_without_a_picture_have_no_partner():
    [lone] = many(1)
    assert partner(lone, Pool.of([lone])) is None
    assert partner(lone, Pool()) is None
    assert partner(ITEM, Pool.of(many(5))) is None
    assert partner(lone, Pool.of([lone, ITEM])) is None


def test_a_partner_with_a_picture_that_cannot_be_read_is_skipped(tmp_path):
    samples = many(12)
    missing = Image(path=str(tmp_path / "missing.png"))
    for broken in samples[::3]:
        torn = tuple(replace(one, images=(missing,)) if one is broken else one for one in samples)
        pool = Pool.of(torn)
        partners = {one.id: partner(one, pool) for one in torn}
        assert broken.id not in partners.values()
        assert None not in partners.values()


def test_where_no_picture_can_be_read_there_is_no_partner(tmp_path):
    samples = [replace(one, images=(Image(path=str(tmp_path / one.id)),)) for one in many(4)]
    assert [partner(one, Pool.of(samples)) for one in samples] == [None] * 4


def test_a_sample_outside_the_pool_gets_the_first_other_picture():
    samples = many(6)
    first = min(samples, key=lambda one: rank(0, one.id))
    outside = replace(ITEM, id="outside", images=(Image(data=b"else"),))
    assert partner(outside, Pool.of(samples)) == first.id
    assert partner(replace(outside, images=first.images), Pool.of(samples)) != first.id
    assert partner(outside, Pool.of([first])) == first.id


def test_partners_of_different_pictures_are_a_permutation_without_fixed_point():
    samples = many(200)
    for seed in (0, 1):
        pool = Pool.of(samples, seed)
        partners = {sample.id: partner(sample, pool) for sample in samples}
        assert sorted(partners.values()) == sorted(partners)
        assert all(one != other for one, other in partners.items())
    assert partners != {sample.id: partner(sample, Pool.of(samples, 0)) for sample in samples}


def test_neither_limit_nor_file_order_changes_the_partner():
    samples = many(60)

    def partners(samples, limit):
        found = survey(Dataset(task_from_samples(samples), split="all"), Selection(limit), seed=3, pooled=True)
        plan = Plan((found,), ("swapped",), seed=3)
        return {work.origin.sample.id: work.origin.sample.shown.partner for work in plan.work(found, Counter())}

    whole = partners(samples, None)
    assert len(whole) == 60
    for part in (partners(samples, 10), partners(samples[::-1], 10), partners(samples, 0.5)):
        assert part.items() <= whole.items()
        assert len(part) in (10, 30)


# -------------------------------------------------------------------------------------------------------- request keys


def test_which_conditions_are_distinct_requests():
    samples = [replace(one, context="A postcard.", knowledge_question="Capital of France?") for one in many(12)]
    names = ("image", "no_image", "told_blind", "blank", "swapped", "knowledge", "options_only", "picture_only", "open_ended")
    found = survey(Dataset(task_from_samples(samples), split="all"), Selection(), seed=0, pooled=True)
    plan = Plan((found,), (*names, "image+shuffled"), seed=0)
    keys = {name: {} for name in plan.conditions}
    for work in plan.work(found, Counter()):
        keys[work.origin.condition][work.origin.sample.id] = content_key("m", work.request)
    assert {name: len(set(of.values())) for name, of in keys.items()} == {
        "image": 12, "no_image": 1, "told_blind": 1, "blank": 12, "swapped": 12, "knowledge": 1, "options_only": 1,
        "picture_only": 12, "open_ended": 12, "shuffled": 12,
    }  # fmt: skip
    for sample in samples:
        assert len({keys[name][sample.id] for name in names}) == len(names)
    drawn = {sample.id: order("shuffled", sample, task="samples") == sample.choices for sample in samples}
    assert {name: keys["shuffled"][name] == keys["image"][name] for name in drawn} == drawn
    assert any(drawn.values())
    assert not all(drawn.values())
