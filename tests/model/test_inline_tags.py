from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from vaultsync.links.references import note_references
from vaultsync.model.fact import Fact
from vaultsync.model.inline_tags import all_tags

BLOCKS = (
    *("text #a, #b/c.", "# Heading #d", "> quote #e", "- item #f\n  - below #1x", "1. one #g"),
    *("```sh\n#no\n```", "~~~\n#no\n~~~", "> ```\n> #no\n> ```", "````md\n```\n#no\n```\n````"),
    *(
        "- ```\n  #no\n\n  #no\n  ```",
        "2. first\n\n   ```sh\n   #no\n   ```\n",
        "> - ```c\n>   #no\n>   ```",
    ),
    *(
        "`#no` `` `#no ``",
        "<!-- #no\n#no -->",
        "%% #no %%",
        "$$\n#no\n$$",
        "[[x #no]] #h",
        "a#no #42",
    ),
)


@example(["- ```\n  #no\n\n  #no\n  ```", "text #a, #b/c."])
@given(st.lists(st.sampled_from(BLOCKS), max_size=6))
def test_the_tags_of_a_text_are_those_that_its_blocks_have(blocks: list[str]) -> None:
    text = "\n\n".join(blocks)
    assert set(all_tags(Fact("", content=text))) == set(note_references(text, {}).tags)
