from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from vaultsync.model.inline_tags import text_tags

TAGS = {
    "text #a, #b/c.": {"a", "b/c"},
    "# Heading #d": {"d"},
    "> quote #e": {"e"},
    "- item #f\n  - below #1x": {"f", "1x"},
    "1. one #g": {"g"},
    "[[x #no]] #h": {"h"},
    "a paragraph\n    that continues #i\n\tand again #j": {"i", "j"},
    "- item\n\n    below #k\n\n    - and #l": {"k", "l"},
    "1. item\n continues\n\n    below #m": {"m"},
    "[^1]: note\n\n    below #n": {"n"},
    "> quote\ncontinues\n\nText #o\n# Heading #p": {"o", "p"},
}
HIDING = (
    *("```sh\n#no\n```", "~~~\n#no\n~~~", "> ```\n> #no\n> ```", "````md\n```\n#no\n```\n````"),
    *("- ```\n  #no\n\n  #no\n  ```", "2. first\n\n   ```sh\n   #no\n   ```\n"),
    *("> - ```c\n>   #no\n>   ```", "`#no` `` `#no ``", "<!-- #no\n#no -->", "%% #no %%"),
    *("$$\n#no\n$$", "a#no #42"),
    *("text\n\n    #no\n\n    x #no", "# Heading\n    #no\n", "text\n\n \t#no", "***\n\t#no"),
    *("- item\n\ntext\n\n    #no", "```\n    #no\n#no\n```"),
)


@example(["- ```\n  #no\n\n  #no\n  ```", "text #a, #b/c."])
@given(st.lists(st.sampled_from((*TAGS, *HIDING)), max_size=6))
def test_the_tags_of_a_text_are_those_that_its_blocks_have(blocks: list[str]) -> None:
    shown = set[str]().union(*(TAGS.get(each, ()) for each in blocks))
    assert set(text_tags("\n\n".join(blocks))) == shown
