"""Write changed facts to the managed sections of their file. See docs/decisions/0068."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from vaultsync.markdown.diff3 import merge_text
from vaultsync.memory_files.managed_block import has_marks
from vaultsync.memory_files.plan import SectionAction
from vaultsync.memory_files.section_edit import (
    ReadSections,
    SectionChange,
    change_sections,
    imports_file,
    return_section,
)
from vaultsync.memory_files.sections import (
    MemorySection,
    decode_exactly,
    memory_file_notice,
    normalize,
    section_content,
)
from vaultsync.model.fact import Fact
from vaultsync.notes.view import NoteView
from vaultsync.storage.archive import Notice


class FollowedSection(NamedTuple):
    """What one section, or one that was removed before, has to become."""

    do: SectionAction
    fact_id: str
    title: str
    content: str
    number: int | None = None
    """Of the section; None for one that returns."""


class WrittenBack(NamedTuple):
    """A file whose sections followed their facts."""

    text: str
    sections: Sequence[MemorySection]
    ids: Sequence[str]
    """Of the facts of the sections."""
    done: Sequence[FollowedSection]
    notices: Sequence[Notice]
    bom: bytes

    @property
    def data(self) -> bytes:
        """The bytes of the file."""
        return self.bom + self.text.encode()


def in_words_of(text: str, fact: Fact, view: NoteView) -> Fact:
    """The fact as a file shows it that had `text`: what did not change keeps its wording.

    A secret that a person wrote into the file stays there; all others are redacted.
    """
    shown = view.redact(fact)
    known = view.restore_values({"content": text}, fact)[0]
    before = view.redact(fact.replace(known)).content
    merged = merge_text(f"{before}\n", f"{text}\n", f"{shown.content}\n")
    return shown if merged is None else shown.replace({"content": merged.removesuffix("\n")})


def differing_section(
    number: int, section: MemorySection, fact: Fact, view: NoteView
) -> FollowedSection | None:
    """What a section has to become to follow its fact; None if it says the same."""
    shown = in_words_of(section.content, fact, view)
    same = normalize(shown.content) == normalize(section.content)
    if same and shown.title == section.title:
        return None
    content = section.content if same else section_content(shown.content)
    return FollowedSection(SectionAction.REWRITE, fact.id, shown.title, content, number)


def write_back(
    name: str,
    data: bytes,
    owned: Sequence[tuple[MemorySection, str]],
    wanted: Sequence[FollowedSection],
    read: ReadSections,
) -> WrittenBack:
    """The file with the sections as they are wanted; what cannot be written becomes a notice.

    The `owned` sections are those of the file, each with the id of its fact.
    """
    text, bom = decode_exactly(data, name)
    sections = [section for section, _ in owned]
    why = {}
    changes: dict[int, SectionChange] = {}
    for each in wanted:
        if each.number is None:
            continue
        if imports_file(f"{each.title} {each.content}", sections[each.number].text):
            why[each.fact_id] = "it refers to a file that hosts would import"
        elif has_marks(each.content) and not has_marks(sections[each.number].text):
            why[each.fact_id] = "it has a marker of the managed block"
        else:
            gone = each.do is SectionAction.REMOVE
            changes[each.number] = SectionChange(each.title, None if gone else each.content)
    text, changed = change_sections(text, sections, changes, read)
    for each in wanted:
        change = changed.get(-1 if each.number is None else each.number)
        if change is not None and change.title != each.title:
            why[each.fact_id] = "its title is not a valid heading"
    order = [
        fact_id
        for number, (_, fact_id) in enumerate(owned)
        if number not in changed or changed[number].content is not None
    ]
    applied = [each for each in wanted if each.number in changed]
    now = read(text)
    for each in wanted:
        if each.number is None and not (
            imports_file(f"{each.title} {each.content}", "") or has_marks(each.content)
        ):
            found = return_section(text, now, each.title, each.content, read)
            if found is not None:
                text, number = found
                order.insert(number, each.fact_id)
                now = read(text)
                applied.append(each)
    notices = [
        _refusal(name, each, sections, why.get(each.fact_id, "it would not be one section"))
        for each in wanted
        if each not in applied or each.fact_id in why
    ]
    return WrittenBack(text, now, order, applied, notices, bom)


def _refusal(
    name: str, wanted: FollowedSection, sections: Sequence[MemorySection], why: str
) -> Notice:
    section = None if wanted.number is None else sections[wanted.number]
    title = wanted.title if section is None else section.title
    message = f"the fact of {title!r} was edited, and is not written into the file: {why}"
    hint = f"change the fact with `vaultsync update {wanted.fact_id}`, or edit the section"
    return memory_file_notice(
        "NotWrittenBack", name, message, hint, None if section is None else section.line
    )
