"""A model in ten lines for `eyetest run --model "command:python examples/command_model.py" ...`."""

import json
import sys

for line in sys.stdin:
    request = json.loads(line)
    parts = [part for message in request["messages"] for part in message["content"]]
    pictures = sum(part["type"] == "image" for part in parts)  # each has "mime" and "base64"
    text = f"I was shown {pictures} pictures and {len(parts) - pictures} texts."
    print(json.dumps({"id": request["id"], "text": text}), flush=True)
