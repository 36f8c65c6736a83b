"""FakeNewsNet-like news from towns and planets that do not exist, each with a small picture.

Fake items carry one or two of four cues: impossible numbers, sensational words, no named source, a contradiction with the
picture. Some true items use big words or no name as well, so that no cue decides alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random

from grammar import mended
from scenes import ANY, Scene, scene

TOWNS = (
    *(
        "Dunwick-on-Sand",
        "Upper Plimsoll",
        "Quarrelby",
        "Saint Bramble",
        "Mossgate",
        "Port Fennel",
        "Little Wobbling",
        "Greyhollow",
    ),
    *("Ankleford", "New Turnip", "Bellmarsh", "Kettlewick", "Orbital City", "Crater Falls", "Zogopolis", "Lower Hum"),
)
FIRST = (
    "Ola",
    "Brannoc",
    "Tansy",
    "Quillon",
    "Merrin",
    "Pelka",
    "Odo",
    "Sunniva",
    "Ivo",
    "Thessaly",
    "Ludo",
    "Wenna",
    "Casimir",
    "Nell",
)
LAST = (
    *("Fenwickle", "Quillfeather", "Mossgrave", "Tindlebrook", "Wobbleton", "Harkspur", "Plumridge", "Vantressel", "Snodberry"),
    *("Pockwell", "Dapplethorn", "Oxenfree", "Marrowby", "Lintwhistle"),
)
OFFICES = ("mayor", "treasurer", "council clerk", "head of the harbour office", "transport officer", "member of the opposition")
TRADES = ("agent", "director", "spokeswoman", "manager", "sister", "make-up artist", "drummer")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
MONTHS = ("January", "March", "April", "May", "June", "August", "September", "October", "November")
PAPERS = ("Evening Lantern", "Harbour Gazette", "Plimsoll Post", "Crater Courier", "Weekly Bramble")


@dataclass(frozen=True, slots=True)
class News:
    """One item."""

    text: str
    fake: bool
    scene: Scene
    cues: tuple[str, ...]
    """Of `number`, `shouting`, `nameless`, `picture`."""


POLITICS = (
    ("{town} opens {colour} {thing}", "The {thing}, painted {colour}, was opened in {town} on {day}", "street"),
    (
        "Council of {town} votes for a {colour} {thing}",
        "Councillors in {town} voted {vote} on {day} for a new {colour} {thing}",
        "meadow",
    ),
    (
        "{town} repairs its {thing}",
        "The old {colour} {thing} of {town} will be repaired from {month}, the council said on {day}",
        "mountain",
    ),
    (
        "{town} and {other} share one {thing}",
        "{town} and {other} agreed on {day} to pay together for the {colour} {thing} on their border",
        "beach",
    ),
    (
        "New tax in {town} pays for {thing}",
        "Residents of {town} will pay {coins} crowns a year for the {colour} {thing}",
        "street",
    ),
    (
        "{name} elected in {town}",
        "{name} won the election in {town} with {percent} percent and spoke beside the {colour} {thing}",
        "hall",
    ),
    ("{town} sells its {thing}", "The {colour} {thing} of {town} was sold for {coins} crowns on {day}", "night"),
    (
        "Dispute about the {thing} of {town}",
        "The opposition in {town} asked on {day} why the {colour} {thing} cost {coins} crowns",
        "snow",
    ),
)
"""Headline, first sentence, setting of the picture."""
POLITICAL_THINGS = ("bridge", "tram", "statue", "tower", "ballot", "boat", "hotel", "rocket")
GOSSIP = (
    ("{name} seen with {colour} {thing}", "The singer {name} came to {town} on {day} and brought a {colour} {thing}", "street"),
    (
        "{name} and {friend} marry",
        "{name} and the actor {friend} married in {town} on {day}; a {colour} {thing} was the only guest gift",
        "meadow",
    ),
    ("{name} plays in {town}", "{name} gave a concert in {town} on {day}, on a stage with a {colour} {thing}", "stage"),
    (
        "{name} sells {thing} for charity",
        "The {colour} {thing} of {name} was sold for {coins} crowns, and the money goes to the school of {town}",
        "room",
    ),
    (
        "{friend} leaves the series",
        "{friend} will leave the series The Long Soup after {years} years and keep the {colour} {thing} from the set",
        "room",
    ),
    (
        "{name} moves to {town}",
        "The dancer {name} bought a house in {town} and arrived on {day} with a {colour} {thing}",
        "street",
    ),
    ("Award for {name}", "{name} received the Golden Spoon on {day} and thanked {friend} with a {colour} {thing}", "stage"),
    ("{name} loses {thing} on tour", "A {colour} {thing} that belongs to {name} was left in {town} and found on {day}", "beach"),
)
"""Headline, first sentence, setting of the picture."""
GOSSIP_THINGS = ("guitar", "sofa", "dress", "cake", "car", "drum", "umbrella", "vase", "ball")
FIGURES = ("cat", "dog", "duck", "penguin", "person", "rabbit")
WORDS = {"ballot": "ballot box", "tower": "clock tower", "hotel": "town hotel"}
"""Thing -> what the news calls it, where that is not its name."""

SOBER = {
    "politi": (
        "The work takes {weeks} weeks and costs {coins} crowns",
        "About {crowd} people came, according to the police",
        "The {paper} had reported the plan in {month}",
        "A second meeting is planned for {month}",
        "The figures hang on the town's notice board",
        "The last time was {years} years ago",
        "Neighbours had asked for it since {month}",
        "The council had put it off for {years} years",
        "Schools in {other} will visit it in {month}",
        "A full report will follow in the {paper}",
    ),
    "gossip": (
        "About {crowd} fans stood in the rain",
        "The two had met in {other} in {month}",
        "A new record is planned for {month}",
        "The {paper} printed the first photograph",
        "The last visit was {years} years ago",
        "Tickets had cost {weeks} crowns",
        "The evening ended with soup and card games",
        "Both families came by train from {other}",
        "The next stop of the tour is {other}",
        "More pictures will follow in the {paper}",
    ),
}
NAMED_SOURCE = (
    '"{quote}," said {name2}, {office}',
    '{name2}, {office}, confirmed it: "{quote}"',
    'According to {name2}, {office}, "{quote}"',
)
NAMELESS_SOURCE = (
    '"{quote}," a source close to the matter whispered',
    "People who do not want to be named say it is much worse",
    'An insider told us: "{quote}"',
    "The officials stay silent, and everyone knows why",
    "It was heard from a friend of a cousin",
)
QUOTES = (
    *("we are glad that it is done", "it was cheaper than we thought", "the decision was not easy", "we keep the bill"),
    *("it took longer than planned", "nobody was against it", "there will be soup for everyone", "I have nothing to add"),
    *("we slept very little", "ask me again next year", "it was raining and we did not care", "thank you for asking"),
)
IMPOSSIBLE = (
    "Already {over} percent of the residents have signed",
    "{more} of the {fewer} members voted for it twice",
    "It happened on the {date} of {month30}",
    "The {thing} weighs less than nothing, minus {fewer} tonnes",
    "It now runs {hours} hours a day",
    "The queue was {over} kilometres long and {fewer} people stood in it",
    "The oldest witness is {over} years old",
)
SHOUTING = (
    "SHOCKING",
    "You will not believe this",
    "They do not want you to know",
    "BREAKING",
    "Doctors are speechless",
    "The whole truth at last",
    "Share this before it is deleted",
    "UNBELIEVABLE",
)
CLOSERS = (
    "Share this before it is deleted",
    "The truth is finally out",
    "This changes everything",
    "Experts are speechless",
    "Wake up and tell your friends",
)


def items(section: str, number: int, share: float, random: Random) -> Iterator[News]:
    """`number` items of `politi` or `gossip`, the share `share` of them fake."""
    fakes = [place < round(number * share) for place in range(number)]
    random.shuffle(fakes)
    seen = set[str]()
    for fake in fakes:
        made = _item(section, fake, random)
        while made.text in seen:
            made = _item(section, fake, random)
        seen.add(made.text)
        yield made


def _cues(fake: bool, random: Random) -> tuple[str, ...]:
    if not fake:
        noise = (("shouting", 0.06), ("nameless", 0.12))
        return tuple(cue for cue, chance in noise if random.random() < chance)
    return random.choice(
        (
            *(("number",), ("number", "nameless"), ("number", "shouting"), ("shouting",), ("shouting", "nameless")),
            *(("shouting", "nameless", "picture"), ("nameless", "picture"), ("number", "picture"), ("picture",)),
        )
    )


def _item(section: str, fake: bool, random: Random) -> News:
    politics = section == "politi"
    headline, lead, setting = random.choice(POLITICS if politics else GOSSIP)
    thing = random.choice(POLITICAL_THINGS if politics else GOSSIP_THINGS)
    colour, cues = random.choice(ANY), _cues(fake, random)
    words = _words(random, thing, colour, politics)
    body = [lead, *random.sample(SOBER[section], random.choice((2, 3)))]
    if "number" in cues:
        body.insert(random.randint(1, len(body)), random.choice(IMPOSSIBLE))
    body.insert(random.randint(1, len(body)), random.choice(NAMELESS_SOURCE if "nameless" in cues else NAMED_SOURCE))
    if "shouting" in cues:
        headline = f"{random.choice(SHOUTING)}: {headline}"
        body += [random.choice(CLOSERS)] if random.random() < 0.6 else []
    text = mended(". ".join(part.format_map(words) for part in (headline, *body)) + ".")
    shown = random.choice([other for other in ANY if other != colour]) if "picture" in cues else colour
    with_whom = f", {random.choice(FIGURES)}/happy" if random.random() < 0.6 else ""
    return News(text, fake, scene(f"{setting}: {shown} {thing}*1.2{with_whom}", random), cues)


def _words(random: Random, thing: str, colour: str, politics: bool) -> Mapping[str, str]:
    town, other = random.sample(TOWNS, 2)
    names = [f"{random.choice(FIRST)} {last}" for last in random.sample(LAST, 3)]
    yes = random.randint(8, 19)
    return {
        "town": town,
        "other": other,
        "thing": WORDS.get(thing, thing),
        "colour": colour,
        "name": names[0],
        "friend": names[1],
        "name2": names[2],
        "office": random.choice(OFFICES) if politics else f"{random.choice(TRADES)} of {names[0]}",
        "day": random.choice(DAYS),
        "month": random.choice(MONTHS),
        "month30": random.choice(("April", "June", "September", "November", "February")),
        "date": random.choice(("31st", "32nd", "35th")),
        "paper": random.choice(PAPERS),
        "quote": random.choice(QUOTES),
        "vote": f"{yes} to {random.randint(2, 7)}",
        "coins": f"{random.randint(3, 95)},{random.choice(('000', '500', '200', '800'))}",
        "percent": str(random.randint(51, 69)),
        "crowd": str(random.randint(4, 90) * 10),
        "weeks": str(random.randint(2, 30)),
        "years": str(random.randint(2, 30)),
        "over": str(random.randint(104, 990)),
        "fewer": str(random.randint(3, 9)),
        "more": str(random.randint(11, 60)),
        "hours": str(random.randint(25, 40)),
    }
