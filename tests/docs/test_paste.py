"""Examples are accepted as they stand by a prompt, line after line."""

import codeop
import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

PROMPT = re.compile(r"^\s*(>>>|\.\.\.)(?: (.*))?$")
FOLDERS = {"src/hush": "*.py", "docs": "*.md", ".": "*.md"}


@dataclass
class Example:
    """The lines after one primary prompt, without their prompts."""

    line: int
    lines: list[str]

    @property
    def wrong(self) -> str | None:
        """What a prompt would say: it must ask for more until the last line."""
        for last in range(1, len(self.lines) + 1):
            try:
                whole = codeop.compile_command("\n".join(self.lines[:last]))
            except SyntaxError as problem:
                return f"line {self.line + last - 1}: {problem.msg}"
            if whole is not None and last < len(self.lines):
                return f"line {self.line + last - 1}: it ends before its last line"
        if whole is None:
            return f"line {self.line}: not finished; end the block with a bare `...`"
        return None


def examples(text: str) -> Iterator[Example]:
    found: Example | None = None
    for number, line in enumerate(text.splitlines(), 1):
        prompt = PROMPT.match(line)
        # A line of dots after an output is an ellipsis, not a prompt.
        if found is not None and (prompt is None or prompt[1] == ">>>"):
            yield found
            found = None
        if prompt is not None and prompt[1] == ">>>":
            found = Example(number, [prompt[2] or ""])
        elif prompt is not None and found is not None:
            found.lines.append(prompt[2] or "")
    if found is not None:
        yield found


def test_every_example_can_be_pasted_into_a_prompt(root):
    wrong, seen = [], 0
    for folder, kind in FOLDERS.items():
        here = root / folder
        for path in here.glob(kind) if folder == "." else here.rglob(kind):
            for example in examples(path.read_text()):
                seen += 1
                if example.wrong is not None:
                    wrong.append(f"{path.relative_to(root)}: {example.wrong}")
    assert wrong == [], "\n".join(wrong)
    assert seen > 1000  # none was looked for in the wrong place


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (">>> 1 + 1\n2", None),
        (">>> for i in [1]:\n...     i\n...\n1", None),
        (">>> for i in [1]:\n...     i\n1", "not finished"),
        (">>> f = [\n...     1]\n", None),
        (">>> def f():\n...     return 1\n>>> f()", "not finished"),
        (">>> def f():\n...     x = 1\n...\n...     return x\n...\n", "ends before"),
        (">>> 1 +\n", "invalid syntax"),
        (">>> raise ValueError\nTraceback (most recent call last):\n    ...\n", None),
    ],
)
def test_what_a_prompt_would_not_take_is_found(text, says):
    found = [each.wrong for each in examples(text)]
    assert (says or "") in (found[0] or "")
    assert (says is None) == (found[0] is None)
