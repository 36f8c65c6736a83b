"""The words of Memotion-like memes, their scenes and their labels, which follow from how each meme is built."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

from grammar import mended
from peoples import PEOPLES, People
from scenes import Scene, scene

COLUMNS = ("humour", "sarcasm", "offensive", "motivational", "overall_sentiment")
Labels = tuple[str, str, str, str, str]
"""One level a column of `COLUMNS`."""


@dataclass(frozen=True, slots=True)
class Meme:
    """Everything about a meme but its pixels."""

    top: str
    bottom: str
    scene: Scene
    labels: Labels
    family: str
    """How it is built: `pair`, `cheer`, `grumble`, `absurd`, `notice`, `rude`."""
    point: str
    """What it is about and whom it is aimed at: the second half of its social context."""
    pair: str = ""
    """What the two memes share whose words are equal and whose pictures decide."""


PRAISE = (
    ("Perfect weather", "for a picnic", "meadow: person/happy, basket", "storm: person/sad, basket"),
    ("My diet", "is going really well", "kitchen: person/happy, salad", "kitchen: person/happy, cake, burgers"),
    ("I always keep", "a tidy desk", "office: laptop, book", "office: papers, mess, papers*1.2"),
    ("The cat", "is so happy to see me", "room: cat/happy*1.2", "room: cat/angry*1.2"),
    ("Our new robot", "works perfectly", "room: robot/happy*1.2, cake", "room: robot/broken*1.2"),
    ("Dinner is ready", "I am a natural cook", "kitchen: person/happy, roast", "kitchen: person/surprised, burnt"),
    ("Slept like a baby", "ready for the day", "meadow: person/happy", "night: person/sad, clock"),
    ("Do not worry", "nobody touched your cake", "kitchen: dog/asleep, cake", "kitchen: dog/happy, crumbs"),
    ("My plants", "simply adore me", "room: flower, flower, flower", "room: dead_flower, dead_flower, dead_flower"),
    ("The best hotel", "we ever booked", "beach: hotel*1.2", "storm: tent*1.2"),
    ("The good dog", "guarded the sofa all day", "room: dog/happy, sofa", "room: dog/happy, torn_sofa"),
    ("I fixed the car", "all by myself", "street: person/happy, car", "street: person/happy, broken_car"),
    ("A lovely day", "to go sailing", "sea: boat*1.3", "storm: boat*1.3"),
    ("My program worked", "on the first try", "office: person/happy, laptop", "office: person/surprised, smoking_laptop"),
    (
        "Look how calm",
        "our meetings are",
        "office: person/happy, person/happy",
        "office: person/angry, person/angry, person/angry",
    ),
    ("Grandma's vase", "survived the party", "room: vase*1.2, balloons", "room: broken_vase*1.2, balloons"),
    ("I built this shelf", "without reading the manual", "room: person/happy, shelf", "room: person/happy, broken_shelf"),
    ("My team played", "a fantastic match", "stadium: person/happy, good_score", "stadium: person/sad, bad_score"),
    ("I will only buy", "one book today", "room: person/happy, book", "room: books, person/happy, books"),
    ("Monday morning", "and I feel amazing", "meadow: person/happy, flower", "office: person/asleep, papers"),
    ("Everyone loved", "my singing", "stage: person/happy, microphone, bouquet", "stage: person/sad, microphone, tomatoes"),
    ("This snowman", "will last until summer", "snow: snowman*1.2", "beach: melted_snowman*1.2"),
    ("Trust me", "this umbrella is solid", "meadow: person/happy, umbrella", "storm: person/sad, broken_umbrella"),
    ("I dropped my phone", "but the screen is fine", "street: person/happy, phone", "street: person/happy, cracked_phone"),
    ("My haircut", "looks just like the photo", "room: person/happy*1.3", "room: wild_hair/sad*1.3"),
    ("The bridge will hold", "said the engineer", "mountain: bridge*1.3", "mountain: broken_bridge*1.3"),
    ("No traffic at all", "we arrive in five minutes", "street: car", "street: red car, blue car, yellow car, green car"),
    (
        "He said this puppy",
        "would stay small",
        "room: person/happy, brown dog/happy*0.5",
        "room: person/surprised*0.8, brown dog/happy*1.7",
    ),
    ("The treasure map", "was worth every coin", "beach: person/happy, chest", "beach: person/happy, empty_chest"),
    ("Our pet snail", "won the big race", "stadium: snail/happy, trophy", "stadium: snail/asleep, rabbit/happy, trophy"),
)
"""Top and bottom, a picture that agrees, a picture that contradicts."""

COMPLAINTS = (
    ("The worst office", "in the whole world", "office: person/sad, papers", "beach: person/happy, laptop"),
    ("I hate working", "at weekends", "office: person/angry, laptop", "sea: boat*1.3"),
    ("My life", "is so hard", "storm: cat/sad", "room: cat/asleep, sofa"),
    ("Nobody remembered", "my birthday", "room: person/sad", "room: person/happy, cake, balloons"),
    ("This garden", "is a complete disaster", "meadow: dead_flower, dead_flower", "meadow: flower, flower, flower"),
    ("Terrible view", "I want my money back", "street: bin, bin, bin", "mountain: person/happy"),
    ("What an awful", "ruined evening", "storm: person/sad, broken_umbrella", "night: person/happy, campfire, person/happy"),
    ("Poor dog", "nobody plays with him", "street: dog/sad", "meadow: dog/happy, ball, person/happy"),
    ("I never win", "anything at all", "stadium: person/sad", "stadium: trophy, person/happy, trophy"),
    ("The food here", "is a punishment", "kitchen: person/sad, burnt", "kitchen: person/happy, roast, cake"),
)
"""Top and bottom, a picture that agrees, a picture that contradicts."""

_SERIOUS = ("not_funny", "not_sarcastic", "not_offensive", "not_motivational")


def pairs(random: Random) -> Iterator[tuple[Meme, Meme]]:
    """Memes whose words are the same and whose pictures decide about humour, sarcasm and sentiment."""
    for number, (top, bottom, agrees, contradicts) in enumerate((*PRAISE, *COMPLAINTS)):
        praise = number < len(PRAISE)
        said, meant = ("positive", "negative") if praise else ("negative", "positive")
        what = f"what people say about {_about(top, bottom)}"
        plain = f"It {'is pleased with' if praise else 'complains about'} something of everyday life and means {what} literally"
        irony = f"It makes fun of {what}: the picture shows the opposite of the words"
        joke: Labels = (
            random.choice(("funny", "very_funny")),
            random.choice(("twisted_meaning", "very_twisted")),
            "not_offensive",
            "not_motivational",
            meant,
        )
        yield (
            Meme(top, bottom, scene(agrees, random), (*_SERIOUS, said), "pair", plain, f"{top} {bottom}"),
            Meme(top, bottom, scene(contradicts, random), joke, "pair", irony, f"{top} {bottom}"),
        )


def _about(top: str, bottom: str) -> str:
    words = f"{top} {bottom}".lower()
    for topic, keys in TOPICS.items():
        if any(key in words for key in keys):
            return topic
    return "daily life"


TOPICS = {
    "the weather": ("weather", "sailing", "umbrella", "snowman", "evening"),
    "food and diets": ("diet", "dinner", "food", "cake"),
    "work and offices": ("desk", "office", "meeting", "program", "working", "monday"),
    "pets": ("cat", "dog", "puppy", "snail"),
    "home and garden": ("plants", "shelf", "vase", "garden", "sofa"),
    "travel": ("hotel", "view", "traffic", "car", "bridge"),
    "machines": ("robot", "phone"),
    "sport and winning": ("team", "win"),
}
"""What a caption is about, by words in it."""

_CHEER_TOPS = (
    *("Keep climbing", "One step at a time", "Never give up", "Believe in yourself", "Small steps every day", "Dream big"),
    *("Start before you are ready", "You are stronger than you think", "Every expert was a beginner", "Fall seven times"),
    *("Be brave today", "Trust the journey", "Your effort counts", "Keep going"),
)
_CHEER_BOTTOMS = (
    *("the top is closer than you think", "stand up eight", "your best day is still to come", "you can do this"),
    *("the sea was crossed wave by wave", "courage grows when you use it", "and the mountain becomes a hill"),
    *("slow progress is still progress", "tomorrow begins with you", "the sun rises for those who wait"),
    *("even the tallest tree was a seed", "and you will look back and smile"),
)
_CHEER_SNAILS = (
    ("You can do it", "said the {animal} four years later it did"),
    ("Believe in yourself", "like a {animal} that believes it can fly"),
    ("Dream big", "said the {animal} and bought a bigger hat"),
)
_CHEER_SCENES = (
    *("mountain: person/happy", "mountain: snail/happy", "meadow: rabbit/happy, flower", "beach: person/happy", "sea: boat*1.2"),
    *(
        "stadium: person/happy, trophy",
        "meadow: person/happy, balloons",
        "space: rocket*1.2",
        "mountain: bear/happy",
        "snow: penguin/happy",
    ),
)
_GRUMBLE_TOPS = (
    *("Oh great", "Oh wonderful", "Just what I needed", "Fantastic news", "How lovely", "What a brilliant idea"),
    *("Thank you so much", "Well done everyone", "Sure why not", "I am thrilled"),
)
_GRUMBLES = (
    ("another meeting about meetings", "office: person/sad, papers"),
    ("an update that stops at 99 percent", "office: person/angry, laptop"),
    ("a printer that prints only on Thursdays", "office: person/sad, papers, mess"),
    ("the lift is broken and I live on floor nine", "street: person/sad"),
    ("my neighbour bought drums", "night: person/angry, drum"),
    ("rain on laundry day", "storm: person/sad, socks"),
    ("the internet died in my only call", "office: person/surprised, smoking_laptop"),
    ("the bus left four seconds ago", "street: person/sad, tram"),
    ("homework over the holidays", "room: person/sad, books"),
    ("the alarm clock rang on Sunday", "room: person/asleep, clock"),
    ("the soup is cold and the ice cream is warm", "kitchen: person/sad, salad"),
    ("one hundred emails before breakfast", "office: person/surprised, papers"),
    ("a password with nine symbols and a poem", "office: person/angry, laptop"),
    ("the cat deleted my essay", "room: cat/happy, smoking_laptop"),
    ("socks for my birthday again", "room: person/sad, socks"),
    ("a tent without a roof", "storm: person/sad, tent"),
    ("the car only turns left", "street: person/angry, broken_car"),
    ("free parking two towns away", "street: car, person/sad"),
)
_ANIMALS = ("cat", "dog", "penguin", "frog", "rabbit", "bear", "duck", "cow", "octopus", "robot")
_OBJECTS = ("toaster", "umbrella", "printer", "tax form", "left sock", "sandwich", "washing machine")
_SHOPS = ("bakery", "bank", "barber shop", "law firm", "submarine school", "gym for potatoes")
_ADVICE = ("eat the map", "marry a lamp post", "bite the invoice", "sleep until it is Friday", "hide it under the bed")
_INVENTIONS = ("a spoon with brakes", "square balloons", "waterproof tea", "a hat for hats", "reverse pizza")
_ABSURD = (
    ("My {animal} opened a {shop}", "business is booming", "very_funny", "positive"),
    ("When the {animal} knows a shortcut", "and you wake up on the moon", "hilarious", "neutral"),
    ("I asked the {animal} for advice", "it said {advice}", "very_funny", "neutral"),
    ("The {animal} at 3 am", "inventing {invention}", "hilarious", "positive"),
    ("I put my {object} in rice", "now I have a {animal}", "hilarious", "neutral"),
    ("Day nine", "the {animal} still thinks I am its {object}", "very_funny", "positive"),
    ("They hired a {animal}", "now it is my boss and I got a raise", "funny", "very_positive"),
    ("Plot twist", "the {object} was a {animal} all along", "funny", "neutral"),
)
_ABSURD_PLACES = ("room", "kitchen", "street", "night", "space", "office")
_NOTICES = (
    ("The {place}", "closes at {hour} on {day}"),
    ("The next train", "leaves at {hour} from platform {number}"),
    ("Please return", "the keys to the {place}"),
    ("Our {place}", "opens again on {day}"),
    ("This is a {animal}", "it stands in a {spot}"),
    ("Room {number}", "is next to the {place}"),
    ("The course begins", "on {day} at {hour}"),
)
_PLACES = ("library", "town hall", "swimming pool", "post office", "museum", "school kitchen")
_DAYS, _HOURS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday"), ("five", "six", "seven", "nine", "ten")
_SPOTS = {"meadow": "meadow", "street": "street", "beach": "beach", "snow": "snowy field"}
_RUDE = (
    ("How many {them} change a lamp", "all of them and it stays dark", "slight", "general", "negative"),
    ("{them} have two brains", "both are on holiday", "very_offensive", "not_sarcastic", "negative"),
    ("Never lend a {one} your {object}", "you get back soup", "slight", "not_sarcastic", "negative"),
    ("{them} call it music", "we call it a gas leak", "slight", "general", "negative"),
    ("Why do {them} smell", "because nobody explained soap", "very_offensive", "not_sarcastic", "very_negative"),
    ("{them} are so clever", "they water plastic flowers", "slight", "twisted_meaning", "negative"),
    ("If dumb could fly", "{them} would be an airline", "very_offensive", "not_sarcastic", "very_negative"),
    ("{them} are ugly and lazy", "send them back to {home}", "hateful_offensive", "not_sarcastic", "very_negative"),
    ("What a genius", "said nobody to a {one} ever", "very_offensive", "general", "negative"),
    ("{them} ruin every party", "shut the door before they come", "hateful_offensive", "not_sarcastic", "very_negative"),
)
_ABOUT_ANIMALS = "It is an absurd joke about animals and objects that behave like people"


def cheers(random: Random) -> Iterator[Meme]:
    """Motivating words over a friendly picture; a few of them are jokes as well."""
    while True:
        if random.random() < 0.2:
            top, bottom = random.choice(_CHEER_SNAILS)
            animal = random.choice(_ANIMALS)
            labels: Labels = ("funny", "not_sarcastic", "not_offensive", "motivational", "positive")
            point = "It encourages the reader with a joke about a small creature"
            yield Meme(
                top, mended(bottom.format(animal=animal)), scene(f"meadow: {animal}/happy", random), labels, "cheer", point
            )
            continue
        labels = (*_SERIOUS[:3], "motivational", random.choice(("positive", "very_positive")))
        picture = scene(random.choice(_CHEER_SCENES), random)
        point = "It encourages the reader to go on and belongs to the self-help slogans that are shared among friends"
        yield Meme(random.choice(_CHEER_TOPS), random.choice(_CHEER_BOTTOMS), picture, labels, "cheer", point)


def grumbles(random: Random) -> Iterator[Meme]:
    """Sarcastic thanks for everyday nuisances."""
    while True:
        bottom, picture = random.choice(_GRUMBLES)
        sarcasm = random.choice(("general", "twisted_meaning", "very_twisted"))
        sentiment = random.choice(("negative", "negative", "very_negative"))
        labels: Labels = (random.choice(("funny", "very_funny")), sarcasm, "not_offensive", "not_motivational", sentiment)
        point = "It thanks sarcastically for an everyday nuisance and speaks to everyone who has had the same bad day"
        yield Meme(random.choice(_GRUMBLE_TOPS), bottom, scene(picture, random), labels, "grumble", point)


def absurd(random: Random) -> Iterator[Meme]:
    """Nonsense about animals."""
    while True:
        top, bottom, humour, sentiment = random.choice(_ABSURD)
        words = {
            "animal": random.choice(_ANIMALS),
            "shop": random.choice(_SHOPS),
            "object": random.choice(_OBJECTS),
            "advice": random.choice(_ADVICE),
            "invention": random.choice(_INVENTIONS),
        }
        picture = scene(f"{random.choice(_ABSURD_PLACES)}: {words['animal']}/{random.choice(('happy', 'surprised'))}*1.2", random)
        labels: Labels = (humour, "not_sarcastic", "not_offensive", "not_motivational", sentiment)
        yield Meme(mended(top.format(**words)), mended(bottom.format(**words)), picture, labels, "absurd", _ABOUT_ANIMALS)


def notices(random: Random) -> Iterator[Meme]:
    """Plain information: neither funny nor anything else."""
    while True:
        top, bottom = random.choice(_NOTICES)
        spot, animal = random.choice(sorted(_SPOTS)), random.choice(_ANIMALS)
        words = {
            "place": random.choice(_PLACES),
            "day": random.choice(_DAYS),
            "hour": random.choice(_HOURS),
            "number": random.choice(("two", "four", "eight", "twelve")),
            "animal": animal,
            "spot": _SPOTS[spot],
        }
        picture = scene(f"{spot}: {animal}/happy" if "{animal}" in top else "street: person/happy", random)
        point = "It is plain information for residents, without a joke and without a target"
        yield Meme(mended(top.format(**words)), mended(bottom.format(**words)), picture, (*_SERIOUS, "neutral"), "notice", point)


def rude(random: Random) -> Iterator[Meme]:
    """Rude jokes about peoples that do not exist."""
    while True:
        top, bottom, offence, sarcasm, sentiment = random.choice(_RUDE)
        people = random.choice(PEOPLES)
        words = _words(people) | {"object": random.choice(_OBJECTS)}
        mood = random.choice(("sad", "surprised", "happy"))
        picture = scene(f"space: {people.figure}/{mood}, {people.figure}/{mood}", random)
        humour = {"slight": "funny", "very_offensive": "very_funny", "hateful_offensive": "not_funny"}[offence]
        labels: Labels = (humour, sarcasm, offence, "not_motivational", sentiment)
        point = f"It is a rude joke aimed at {people.long}, an invented people, and calls them worse than others"
        yield Meme(mended(top.format(**words)), mended(bottom.format(**words)), picture, labels, "rude", point)


def _words(people: People) -> dict[str, str]:
    return {"them": people.them, "one": people.one, "home": people.home}


FAMILIES: dict[Callable[[Random], Iterator[Meme]], int] = {cheers: 44, grumbles: 28, absurd: 28, notices: 16, rude: 44}
"""Family -> how many distinct memes of it."""


def distinct(family: Callable[[Random], Iterator[Meme]], number: int, random: Random) -> list[Meme]:
    """`number` memes of a family, no words twice."""
    found = dict[str, Meme]()
    for meme in family(random):
        found.setdefault(f"{meme.top} {meme.bottom}", meme)
        if len(found) == number:
            break
    return list(found.values())
