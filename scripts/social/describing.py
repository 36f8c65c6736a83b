"""Reference descriptions, composed from the facts of a scene, in several ways of speaking."""

from __future__ import annotations

import re
from collections import Counter
from random import Random

from grammar import mended
from peoples import PEOPLES
from scenes import Item, Scene

SETTINGS = {
    "meadow": ("a green meadow under a blue sky with a bright sun", "green and light blue"),
    "storm": ("a thunderstorm with dark clouds, lightning and rain", "dark grey and muddy green"),
    "beach": ("a sandy beach with a palm tree, the blue sea and the sun", "sand yellow and blue"),
    "snow": ("a snowy field with fir trees and falling snowflakes", "white and pale blue"),
    "night": ("dark hills at night under a crescent moon and stars", "dark blue and dark green"),
    "street": ("a grey street in front of a row of colourful houses", "grey and pastel"),
    "office": ("an office with a window and a chart on the grey wall", "grey and beige"),
    "kitchen": ("a tiled kitchen with a cupboard and a wooden table", "cream and wood brown"),
    "room": ("a living room with striped wallpaper, a lamp and a framed picture", "soft pastel and wood brown"),
    "space": ("the surface of a planet with craters, stars and a ringed planet in the dark sky", "dark violet and dusty pink"),
    "stage": ("a theatre stage with red curtains and a beam of light", "deep red and wood brown"),
    "mountain": ("grey mountains with snowy peaks behind a green valley", "grey, white and green"),
    "sea": ("the open blue sea with waves under a sunny sky", "blue and light blue"),
    "stadium": ("a stadium with a crowd behind a striped green pitch", "green and grey"),
    "hall": ("a hall with white columns, a blue banner and a red carpet", "cream and red"),
}
"""Setting -> (what it is, its main colours)."""

THINGS = {
    "cake": "a {c} cake with three candles",
    "crumbs": "an empty plate with a few crumbs",
    "salad": "a bowl of salad",
    "burgers": "a tower of three burgers",
    "roast": "a golden roast on a dish",
    "burnt": "a black, smoking lump of burnt food",
    "laptop": "an open laptop",
    "smoking_laptop": "a smoking laptop with a red cross on its screen",
    "papers": "a leaning pile of papers",
    "mess": "crumpled paper, a cup and a banana skin",
    "book": "a {c} book",
    "books": "a tall tower of books",
    "flower": "a blooming {c} flower in a pot",
    "dead_flower": "a withered brown flower in a pot",
    "basket": "a picnic basket",
    "tent": "a {c} tent with a patch",
    "hotel": "a {c} hotel with five stars",
    "boat": "a {c} sailing boat",
    "car": "a {c} car",
    "broken_car": "a broken {c} car with smoke and a lost wheel",
    "sofa": "a {c} sofa",
    "torn_sofa": "a torn {c} sofa whose stuffing lies about",
    "vase": "a {c} vase",
    "broken_vase": "a broken {c} vase",
    "shelf": "a straight shelf full of books",
    "broken_shelf": "a collapsed shelf with books on the floor",
    "good_score": "a scoreboard that shows 3:0",
    "bad_score": "a scoreboard that shows 0:9",
    "tomatoes": "thrown and burst tomatoes",
    "bouquet": "a bouquet of {c} flowers",
    "snowman": "a snowman with a black hat",
    "melted_snowman": "a melted snowman in a puddle",
    "umbrella": "an open {c} umbrella",
    "broken_umbrella": "a broken {c} umbrella turned inside out",
    "phone": "a phone with a bright screen",
    "cracked_phone": "a phone with a cracked screen",
    "bridge": "a {c} bridge",
    "broken_bridge": "a collapsed {c} bridge",
    "chest": "a treasure chest full of gold",
    "empty_chest": "an empty treasure chest with a spider",
    "trophy": "a gold trophy",
    "balloons": "three balloons",
    "clock": "a ringing {c} alarm clock",
    "campfire": "a campfire",
    "ball": "a {c} ball",
    "bin": "an overflowing rubbish bin",
    "drum": "a {c} drum",
    "guitar": "a {c} guitar",
    "microphone": "a microphone on a stand",
    "statue": "a {c} statue on a plinth",
    "tram": "a {c} tram",
    "tower": "a {c} clock tower",
    "rocket": "a {c} rocket",
    "wasps": "a swarm of wasps",
    "weeds": "tall purple thistles",
    "socks": "a heap of odd socks",
    "potato": "three potatoes",
    "bread": "a loaf of bread",
    "gamepad": "a {c} game controller",
    "hoop": "a basketball hoop",
    "goal": "a football goal",
    "racket": "a {c} tennis racket and a ball",
    "dumbbell": "a {c} dumbbell",
    "dress": "a {c} dress on a hanger",
    "camera": "a film camera",
    "piano": "a black piano",
    "ballot": "a {c} ballot box",
    "coins": "three stacks of gold coins",
}
"""Thing -> how it is described; {c} is its colour."""

_LOOKS = {people.figure: people.look for people in PEOPLES}
_MOODS = {
    "happy": ("smiling", "happy"),
    "sad": ("sad", "crying"),
    "angry": ("angry", "frowning"),
    "asleep": ("sleeping",),
    "surprised": ("surprised", "astonished"),
    "broken": ("broken, smoking",),
}
_COUNTS = {2: "two", 3: "three", 4: "four"}


def _article(words: str) -> str:
    return f"{'an' if words[0] in 'aeiou' else 'a'} {words}"


def item(what: Item, pick: int) -> str:
    """A noun phrase such as `a sad grey cat`; pick: which word for the mood."""
    if not what.mood:
        words = THINGS[what.name].format(c=what.colour)
        return _article(words.removeprefix("a ").removeprefix("an ")) if words.startswith(("a ", "an ")) else words
    mood = _MOODS[what.mood][pick % len(_MOODS[what.mood])]
    size = "tiny " if what.size < 0.7 else "huge " if what.size > 1.5 else ""
    if what.name in _LOOKS:
        return f"{_article(mood)} {_LOOKS[what.name].split(' ', 1)[1]}"
    if what.name == "person":
        return f"{_article(size + mood)} person in a {what.colour} shirt"
    if what.name == "wild_hair":
        return f"{_article(mood)} person with wild orange hair"
    if what.name == "penguin":
        return f"{_article(mood)} penguin with a {what.colour} scarf"
    return f"{_article(f'{size}{mood} {what.colour}')} {what.name}"


def listing(parts: list[str]) -> str:
    """`a, b and c`; equal ones are counted."""
    counted = [part if number == 1 else _several(part, number) for part, number in Counter(parts).items()]
    return counted[0] if len(counted) == 1 else f"{', '.join(counted[:-1])} and {counted[-1]}"


def _several(part: str, number: int) -> str:
    """`a red car` and 2 as `two red cars`."""
    found = re.match(r"an? (.*?\w)(?= (?:with|of|in|on|that|full|whose)\b|$)", part)
    if found is None:
        return f"much of the same: {part}"
    plural = "loaves" if found[1] == "loaf" else f"{found[1]}s"
    return f"{_COUNTS[number]} {plural}{part[found.end() :]}"


def image_description(what: Scene, random: Random) -> str:
    """Two or three sentences: subjects, place, colours, texture."""
    place, colours = SETTINGS[what.setting]
    mood = random.randint(0, 1)
    things = listing([item(one, mood) for one in what.items])
    subjects = random.choice(
        (
            f"A cartoon drawing of {things} in front of {place}.",
            f"The picture is a simple cartoon. It shows {things}; the background is {place}.",
            f"In a flat cartoon, {things} can be seen, with {place} around.",
            f"Against {place}, the drawing shows {things}.",
        )
    )
    look = random.choice(
        (
            f"The main colours are {colours}, in flat areas with thick dark outlines.",
            f"The colours are mostly {colours}; everything is flat and smooth, with black outlines.",
            f"It is drawn in {colours}, with bold outlines and without texture.",
        )
    )
    letters = random.choice(
        (
            "White capital letters with a black outline stand at the top and the bottom.",
            "There is a caption in white capitals at the top and at the bottom.",
        )
    )
    return mended(f"{subjects} {look} {letters}")


def social_context(words: str, point: str, random: Random) -> str:
    """What the meme is about and whom it is aimed at; `point`: a clause without a full stop."""
    aimed = "" if "group" in point or "invented" in point else random.choice((" No particular group is targeted.", ""))
    opening = random.choice(
        (
            f'The meme says "{words}".',
            f'The caption of this internet meme reads "{words}".',
            f'This is an internet meme with the words "{words}".',
        )
    )
    return f"{opening} {point}.{aimed}"
