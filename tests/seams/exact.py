"""Answers without noise to speak of: what an engine counted, as whole numbers."""

import hush

EPSILON = 1000  # noise of half a row has a chance below e^-400


def opened(table, **more):
    return hush.open(table, budget=hush.Budget(epsilon=1e9), **more)


def counted(data, text, **more):
    """The released rows of a SELECT of groups and counts, as a mapping."""
    answer = data.sql(text, epsilon=EPSILON, **more).to_dict()
    groups = [name for name in answer if name != "n"]
    keys = zip(*(answer[name] for name in groups), strict=True)
    counts = [round(each) for each in answer["n"]]
    if not groups:
        return counts[0]
    found = [key[0] if len(key) == 1 else key for key in keys]
    return dict(zip(found, counts, strict=True))
