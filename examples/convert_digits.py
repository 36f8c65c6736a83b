"""Turn scikit-learn's handwritten digits (1,797 pictures of 8 x 8 pixels) into eyetest's JSONL and PNG files.

python examples/convert_digits.py digits    # then: eyetest run --data digits/items.jsonl ...
"""

import json
import sys
from pathlib import Path

from PIL import Image
from sklearn.datasets import load_digits

folder = Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
digits = load_digits()
with (folder / "items.jsonl").open("w") as out:
    for number, (pixels, target) in enumerate(zip(digits.images, digits.target, strict=True)):
        Image.fromarray((255 - pixels * 15.9).astype("uint8")).resize((64, 64)).save(folder / f"{number:04d}.png")
        row = {"id": f"{number:04d}", "image": f"{number:04d}.png", "question": "Which digit is this?", "answer": str(target)}
        out.write(json.dumps(row | {"choices": [str(digit) for digit in range(10)]}) + "\n")
