"""Hateful-Memes-like memes: every text and every picture that occurs in a hateful meme also occurs in one that is not.

A triple is a hateful meme and its two confounders: the same words over a picture that makes them harmless, and harmless words
over the same picture. The others carry their label in the words alone. All peoples are invented.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from peoples import PEOPLES, People
from scenes import Scene, scene


@dataclass(frozen=True, slots=True)
class Hateful:
    """A meme with its label."""

    top: str
    bottom: str
    scene: Scene
    hateful: bool
    point: str
    family: str
    """`attack`, `other_picture`, `other_words`, `words` or `kind`."""


ATTACKS = (
    ("They should be banned", "from every school", "street: wasps, wasps", "wasps"),
    ("Nobody wants them", "in our garden", "meadow: weeds, weeds", "weeds"),
    ("They smell", "like a wet dog", "storm: dog/sad, dog/sad", "wet dogs"),
    ("They are only good", "for soup", "kitchen: potato, potato", "potatoes"),
    ("Throw them all out", "before it is too late", "room: socks, socks", "old socks"),
    ("They ruin the street", "wherever they stand", "street: bin, bin, bin", "rubbish bins"),
    ("They are dirty", "and they multiply", "room: socks, papers, socks", "socks and papers"),
    ("Get rid of them", "one by one", "meadow: weeds, wasps", "weeds and wasps"),
    ("Useless", "and ugly too", "street: broken_car, broken_car", "broken cars"),
    ("Lock them up", "and lose the key", "beach: chest, chest", "treasure chests"),
    ("I would not let one", "into my house", "street: cow/happy, cow/happy", "cows"),
    ("They never work", "they only take up room", "office: smoking_laptop, smoking_laptop", "broken computers"),
    ("The world was better", "before they came", "street: car, car, car, car", "cars in a traffic jam"),
    ("Send them back", "where they came from", "room: broken_vase, broken_shelf", "damaged goods"),
    ("They are slow", "and have no brain", "meadow: snail/happy, snail/happy", "snails"),
    ("Too stupid to live here", "too loud to leave", "street: duck/angry, duck/angry", "ducks"),
    ("They are vermin", "and must go", "kitchen: crumbs, wasps", "wasps on a plate"),
    ("Burn them", "they are worth nothing", "night: papers, campfire", "waste paper"),
    ("They steal our food", "all day long", "kitchen: cat/happy, dog/happy, crumbs", "a cat and a dog"),
    ("Keep them out", "of our town", "storm: frog/angry, frog/angry", "frogs"),
    ("We do not serve", "their kind here", "kitchen: burnt, burnt", "burnt dinners"),
    ("Too many of them", "close the gates", "meadow: rabbit/happy, rabbit/happy, rabbit/happy", "rabbits"),
    ("Who let these in", "they spoil everything", "beach: melted_snowman, bin", "rubbish on a beach"),
    ("They deserve", "to be kicked around", "stadium: ball, ball, ball", "balls"),
    ("Born to be", "sat upon", "room: sofa, sofa", "sofas"),
    ("They belong", "in the rubbish", "room: dead_flower, dead_flower", "dead plants"),
    ("Nothing they say", "makes any sense", "room: robot/broken, robot/broken", "broken robots"),
    ("Beat them", "until they are flat", "kitchen: bread, bread", "loaves of bread"),
    ("They should live", "under the ground", "meadow: potato, potato, potato", "potatoes in a field"),
    ("One of them is a pest", "two are a plague", "night: octopus/angry, wasps", "an octopus and wasps"),
    ("They make me sick", "every single time", "kitchen: burgers, burgers", "burgers"),
    ("Sell them", "for a penny", "stage: guitar, drum", "old instruments"),
)
"""Words that attack when they stand over people; a scene over which they are harmless, and what it shows."""

KIND = (
    *(("They are our neighbours", "say hello"), ("Welcome to our town", "there is soup"), ("They sing", "better than our choir")),
    *(
        ("Look who won", "the chess cup"),
        ("First day at school", "everyone is excited"),
        ("They brought cake", "for the whole street"),
    ),
    *(
        ("Our new doctors", "work day and night"),
        ("Best football team", "of the season"),
        ("They planted a tree", "for every child"),
    ),
    *(("Holiday photo", "with good friends"), ("They taught me", "how to dance"), ("Happy birthday", "from all of us")),
    *(
        ("They fixed the bridge", "in one night"),
        ("Waiting for the bus", "like everybody"),
        ("They opened a bakery", "try the bread"),
    ),
    *(("Congratulations", "on the wedding"),),
)
"""Harmless words for a picture of people."""

NAMED = (
    ("{them} are dumber than bread", "and less useful"),
    ("A good {one}", "is a {one} far away"),
    ("Do not hire {them}", "they are born lazy"),
    ("{them} should not vote", "they cannot count to two"),
    ("My town was clean", "before the {them} arrived"),
    ("Build a wall", "and put all {them} behind it"),
    ("{them} are not people", "they are a disease"),
    ("Ship all {them}", "back to {home}"),
    ("Hide your children", "a {one} moved in"),
)
"""Words that attack over any picture."""

FRIENDLY = (
    ("{them} and we", "can share this planet"),
    ("I married a {one}", "and learned to cook"),
    ("The {them} open day", "everyone is invited"),
    ("My doctor is a {one}", "and she is great"),
    ("Learn the language of {home}", "in ten lessons"),
    ("Three {them} win", "the prize for physics"),
    ("A {one} saved my cat", "thank you"),
)
"""Words that name a people and do no harm, so that a name alone decides nothing."""

TRIPLES, WORDS, GENTLE = 16, 18, 14
"""How many of each stand in a split: 3 * TRIPLES + WORDS + GENTLE memes."""


def split(part: int, random: Random) -> Iterator[Hateful]:
    """The memes of split `part` (0 or 1); the two share no attack."""
    for number in range(TRIPLES):
        yield from _triple(ATTACKS[2 * number + part], KIND[number], PEOPLES[(number + part) % len(PEOPLES)], random)
    yield from _named(NAMED, WORDS, True, part, random)
    yield from _named(FRIENDLY, GENTLE, False, part, random)


def _triple(attack: tuple[str, str, str, str], kind: tuple[str, str], people: People, random: Random) -> Iterator[Hateful]:
    top, bottom, harmless, things = attack
    figure, place = people.figure, random.choice(("street", "meadow", "space", "room"))
    moods = [random.choice(("happy", "sad", "surprised")) for _ in range(random.choice((2, 3)))]
    group = scene(f"{place}: " + ", ".join(f"{figure}/{mood}" for mood in moods), random)
    blow = f"The words attack {people.long}, an invented people shown in the picture, as a group"
    fun = f"The words are about {things} and no group of people is attacked"
    warm = f"The words are friendly to {people.long}, an invented people shown in the picture"
    yield Hateful(top, bottom, group, True, blow, "attack")
    yield Hateful(top, bottom, scene(harmless, random), False, fun, "other_picture")
    yield Hateful(*kind, group, False, warm, "other_words")


def _named(texts: tuple[tuple[str, str], ...], number: int, hateful: bool, part: int, random: Random) -> Iterator[Hateful]:
    combined = [(text, people) for text in texts for people in PEOPLES]
    Random("which words about which people").shuffle(combined)
    for (top, bottom), people in combined[part * number : (part + 1) * number]:
        words = {"them": people.them, "one": people.one, "home": people.home}
        shown = random.choice(
            (f"{people.figure}/happy, person/happy", "person/happy, tower", f"{people.figure}/surprised", "tram, person/sad")
        )
        picture = scene(f"{random.choice(('street', 'meadow', 'hall'))}: {shown}", random)
        point = f"The words {'attack' if hateful else 'speak kindly of'} {people.long}, an invented people"
        yield Hateful(top.format(**words), bottom.format(**words), picture, hateful, point, "words" if hateful else "kind")
