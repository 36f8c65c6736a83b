"""YouTube-like videos that nobody ever made: title, description, topics, channel, and what the thumbnail shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from scenes import Scene, scene

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"


@dataclass(frozen=True, slots=True)
class Video:
    """One row, with the thumbnail as a scene and a word."""

    id: str
    title: str
    description: str
    topics: tuple[str, ...]
    channel_id: str
    channel: str
    scene: Scene
    word: str
    split: str
    seconds: int
    views: int
    published: str


@dataclass(frozen=True, slots=True)
class Theme:
    """Videos that are alike."""

    topics: tuple[str, ...]
    also: str
    """A topic that every third video has on top; empty for none."""
    titles: tuple[str, str, str]
    descriptions: tuple[str, str]
    scenes: tuple[str, str]
    word: str
    channels: tuple[str, str]


THEMES = (
    Theme(
        ("Association_football", "Sport"),
        "Lifestyle_(sociology)",
        ("All nine goals of {town} Rovers", "How to take a corner in the rain", "The derby nobody won"),
        ("Highlights of the cup match, with the penalty in full.", "Our striker shows his free kicks, step by step."),
        ("stadium: goal*1.2, ball", "stadium: person/happy, goal"),
        "GOAL",
        ("Rovers Replay", "Ball and Boots"),
    ),
    Theme(
        ("Basketball", "Sport"),
        "",
        ("{town} Giants win by one point", "Dunk contest with very short players", "Free throws for beginners"),
        ("The last quarter, uncut, with three overtimes.", "Coach Pelka explains the zone defence."),
        ("stadium: hoop*1.2, ball", "street: hoop*1.2, person/happy"),
        "DUNK",
        ("Hoop Hour", "Court Stories"),
    ),
    Theme(
        ("Tennis", "Sport"),
        "",
        ("Five sets in {town}", "Fix your serve in ten minutes", "The longest rally ever filmed"),
        ("The final on grass, from the first serve to the trophy.", "Backhand drills that you can do against any wall."),
        ("stadium: racket*1.2", "meadow: racket, person/happy"),
        "MATCH",
        ("Racket Club", "Net Gains"),
    ),
    Theme(
        ("Food", "Lifestyle_(sociology)"),
        "Hobby",
        ("Baking bread the {town} way", "Three soups for one week", "My grandmother's roast"),
        ("The recipe is below: flour, water, salt and patience.", "Cheap dinners that anyone can cook on one burner."),
        ("kitchen: bread*1.2, person/happy", "kitchen: roast*1.2, salad"),
        "YUM",
        ("Spoon Street", "Cook with Ola"),
    ),
    Theme(
        ("Pet", "Lifestyle_(sociology)"),
        "Humour",
        ("My cat learns to open doors", "A week with six puppies in {town}", "Why does the rabbit stare"),
        ("What to feed them, how to brush them, and when to leave them alone.", "Every animal in this video sleeps in our bed."),
        ("room: cat/happy*1.2, dog/happy", "meadow: rabbit/happy, dog/happy"),
        "AWW",
        ("Paws at Home", "The Fur File"),
    ),
    Theme(
        ("Action_game", "Video_game_culture"),
        "Action-adventure_game",
        ("Boss fight without a sword", "Speedrun of Lava Tower in {n} minutes", "All secrets of Level {n}"),
        ("No damage, no upgrades, one life.", "Full walkthrough with every hidden room."),
        ("space: gamepad*1.3, robot/angry", "night: gamepad*1.3, zog/angry"),
        "BOSS",
        ("Pixel Punch", "Continue Screen"),
    ),
    Theme(
        ("Strategy_video_game", "Video_game_culture"),
        "Simulation_video_game",
        ("Winning with one farmer", "Build order for turn {n}", "I ruled {town} for a thousand years"),
        ("How to expand before the barbarians come.", "Economy first: why your army can wait."),
        ("mountain: tower, gamepad", "meadow: tower, gamepad, tower"),
        "TURN {n}",
        ("Hex and Counter", "Slow Empires"),
    ),
    Theme(
        ("Puzzle_video_game", "Video_game_culture"),
        "Casual_game",
        ("Level {n} solved backwards", "The block that does not fit", "Relaxing puzzles for a train ride"),
        ("No timer, no enemies, just blocks and thinking.", "Solutions to all the hard stages."),
        ("room: gamepad*1.3, cat/asleep", "office: phone, gamepad"),
        "SOLVED",
        ("Blocks Away", "Think Tiny"),
    ),
    Theme(
        ("Racing_video_game", "Video_game_culture"),
        "Sports_game",
        ("Last to first in {town} Grand Prix 3", "Best drift settings", "I raced {n} ghosts"),
        ("Lap by lap with the controller on screen.", "Tuning guide for the new patch."),
        ("street: gamepad*1.2, red car", "night: gamepad*1.2, blue car"),
        "LAP {n}",
        ("Ghost Lap", "Pixel Punch"),
    ),
    Theme(
        ("Rock_music", "Music"),
        "Independent_music",
        ("The Loud Teapots live in {town}", "Three chords and a storm", "New single: Gravel Heart"),
        ("Official video. Guitars by Brannoc, drums by accident.", "Recorded in one take in a garage."),
        ("stage: guitar*1.2, drum", "stage: person/happy, guitar"),
        "LIVE",
        ("Loud Teapots", "Garage Door Records"),
    ),
    Theme(
        ("Jazz", "Music"),
        "",
        ("Midnight session at the {town} cellar", "Blue Ladder, full album", "Piano trio in the rain"),
        ("Swing, brushes and a double bass.", "An hour of improvisation for late evenings."),
        ("room: piano*1.1, microphone", "stage: piano*1.1, microphone"),
        "SWING",
        ("Cellar Notes", "Late Brass"),
    ),
    Theme(
        ("Classical_music", "Music"),
        "Performing_arts",
        ("Symphony in {n} movements", "The {town} orchestra plays for ducks", "Sonata for a quiet room"),
        ("Conducted by Thessaly Marrowby, recorded in the old hall.", "Score and notes in the comments."),
        ("hall: piano*1.1", "stage: piano*1.1, bouquet"),
        "OPUS {n}",
        ("Old Hall Concerts", "Strings and Things"),
    ),
    Theme(
        ("Hip_hop_music", "Music"),
        "Rhythm_and_blues",
        ("Cipher on the {town} tram", "Rhymes about homework", "Beat tape {n}"),
        ("Bars by MC Lantern, beat by DJ Spoon.", "Sixteen bars, no swearing, one mother in the audience."),
        ("street: microphone, person/happy", "night: microphone, person/happy"),
        "BARS",
        ("MC Lantern", "Tram Tapes"),
    ),
    Theme(
        ("Electronic_music", "Music"),
        "Pop_music",
        ("{n} minutes of slow synths", "Night drive mix", "Made with one broken keyboard"),
        ("Ambient pads and a soft kick drum for studying.", "Track list below. Headphones help."),
        ("room: piano, laptop", "space: laptop*1.2"),
        "MIX {n}",
        ("Warm Circuits", "Loop Garden"),
    ),
    Theme(
        ("Vehicle",),
        "Hobby",
        ("We restored a car from a lake", "Is the new {town} tram any good", "Engine swap in {n} hours"),
        ("Rust, bolts and a lot of tea.", "Test drive, fuel consumption, boot space."),
        ("street: red car*1.2", "street: broken_car, person/happy"),
        "REBUILT",
        ("Rust and Tea", "Wheel Talk"),
    ),
    Theme(
        ("Motorsport", "Sport"),
        "Vehicle",
        ("Onboard lap at {town} ring", "The pit stop that took {n} minutes", "Rally in the snow"),
        ("Qualifying and race, with team radio.", "Our driver explains every corner."),
        ("stadium: red car*1.2, trophy", "snow: yellow car*1.2"),
        "POLE",
        ("Apex Weekly", "Wheel Talk"),
    ),
    Theme(
        ("Technology", "Knowledge"),
        "",
        ("Phone with {n} cameras reviewed", "Build a robot from a toaster", "Why your laptop is slow"),
        ("Benchmarks, battery, verdict.", "A short explanation of processors, with a pancake."),
        ("office: laptop*1.2, robot/happy", "room: phone, robot/happy"),
        "TESTED",
        ("Bits and Bolts", "Plain Circuits"),
    ),
    Theme(
        ("Tourism", "Lifestyle_(sociology)"),
        "",
        ("{n} days in {town}", "The cheapest beach hotel", "Walking over the pass"),
        ("Where to sleep, what to eat, how to get back.", "A slow trip with a tent and two maps."),
        ("beach: hotel, boat", "mountain: tent, person/happy"),
        "{n} DAYS",
        ("Two Maps", "Far Enough"),
    ),
    Theme(
        ("Physical_fitness", "Health"),
        "Lifestyle_(sociology)",
        ("{n} minute workout in a kitchen", "Stretch with the {town} fire brigade", "From sofa to five kilometres"),
        ("No equipment, warm up included.", "Talk to your doctor before you lift a cow."),
        ("room: dumbbell*1.2, person/happy", "meadow: person/happy, dumbbell"),
        "{n} MIN",
        ("Mild Muscles", "Up and Stretch"),
    ),
    Theme(
        ("Fashion", "Lifestyle_(sociology)"),
        "Physical_attractiveness",
        ("Spring looks from {town}", "I sewed a dress from curtains", "Hats, ranked"),
        ("All pieces are second hand, links below.", "Pattern, fabric and the mistakes I made."),
        ("stage: dress*1.2, person/happy", "room: dress*1.2"),
        "STYLE",
        ("Needle and Noise", "Second Hand First"),
    ),
    Theme(
        ("Film", "Entertainment"),
        "Television_program",
        ("Trailer: The Snail Who Knew", "How we filmed the storm in {town}", "Every mistake in Soup Wars {n}"),
        ("In cinemas in spring. With Casimir Oxenfree.", "Behind the scenes with the director and a wind machine."),
        ("stage: camera*1.2, person/happy", "storm: camera*1.2, snail/happy"),
        "TRAILER",
        ("Lamp Post Pictures", "Reel Talk"),
    ),
    Theme(
        ("Humour", "Entertainment"),
        "",
        ("Interview with a very tired penguin", "Sketch: the {town} office of lost socks", "{n} jokes about bread"),
        ("Written by people who failed at poetry.", "Please laugh, the landlord is waiting."),
        ("office: penguin/asleep*1.2", "stage: microphone, duck/happy"),
        "HAHA",
        ("Failed Poets", "Soup Sketch"),
    ),
    Theme(
        ("Politics", "Society"),
        "Military",
        ("Debate: who pays for the bridge of {town}", "Election night, hour {n}", "The mayor answers children"),
        ("Full recording of the council meeting.", "Our reporter counts the ballots with you."),
        ("hall: person/angry, ballot, person/angry", "hall: ballot*1.2"),
        "VOTE",
        ("Council Camera", "Harbour Gazette TV"),
    ),
    Theme(
        ("Business", "Knowledge"),
        "Society",
        ("How the {town} bakery made its first million", "Saving {n} crowns a day", "Interest explained with soup"),
        ("Prices, profits and a very honest baker.", "This is not advice, it is arithmetic."),
        ("office: coins*1.2, person/happy", "office: coins, papers"),
        "PROFIT",
        ("Crown and Penny", "Plain Numbers"),
    ),
)
"""24 themes, five videos each."""

VAGUE = ("You have to see the end", "We did not expect this", "Finally uploaded", "Part {n}, as promised")
"""Titles that say nothing, so that the picture has to."""
TOWNS = ("Mossgate", "Quarrelby", "Port Fennel", "Bellmarsh", "Kettlewick", "Lower Hum")
SPLITS = (("test", "test", "test", "val", "train"), ("test", "test", "train", "train", "train"))
"""Splits of the five videos of an even and of an odd theme: 60 test, 12 val, 48 train in all."""


def videos(random: Random) -> Iterator[Video]:
    """All videos, theme by theme."""
    for number, theme in enumerate(THEMES):
        for place, split in enumerate(SPLITS[number % 2]):
            yield _video(theme, place, split, random)


def _video(theme: Theme, place: int, split: str, random: Random) -> Video:
    words = {"town": random.choice(TOWNS), "n": str(random.randint(3, 40))}
    vague = place % 5 == (1 if split == "test" else 4)
    title = random.choice(VAGUE) if vague else theme.titles[place % 3]
    description = "New video every week." if vague else theme.descriptions[place % 2]
    channel = theme.channels[place % 2]
    maker = Random(f"channel {channel}")
    return Video(
        id="".join(random.choices(ALPHABET, k=11)),
        title=title.format_map(words),
        description=f"{description} Thanks for watching and write to us from {random.choice(TOWNS)}.",
        topics=(*theme.topics, theme.also) if theme.also and place % 3 == 0 else theme.topics,
        channel_id="UC" + "".join(maker.choices(ALPHABET, k=22)),
        channel=channel,
        scene=scene(theme.scenes[place % 2], random),
        word=theme.word.format_map(words),
        split=split,
        seconds=random.randint(45, 1500),
        views=int(10 ** random.uniform(2, 6)),
        published=f"20{random.randint(15, 22)}-{random.randint(1, 12):02d}-{random.randint(1, 28):02d}T12:00:00Z",
    )
