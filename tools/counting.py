"""What the tools that compare counts share: keys as filters, samples of keys, counts of results."""
import json


def exactly(key):
    """A filter for exactly this key."""
    escaped = "".join("\\" + ch if not ch.isalnum() and ch not in "/_ =" else ch for ch in key)
    return f"^{escaped}$"


def spread(keys, count):
    """`count` of the keys, or slightly more, spread evenly."""
    return keys[::max(1, len(keys) // count)]


def counts_of(results):
    """The metrics of each one-thread count in a complete results file, by key."""
    counts = {}
    for line in results.read_text().splitlines()[1:-1]:  # without the header and the end
        record = json.loads(line)
        if record["outcome"] == "counted" and record["threads"] == 1:
            counts[record["key"]] = record["metrics"]
    return counts
