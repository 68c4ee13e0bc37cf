"""Explain a hit: the query terms it contains, the best snippet, and a sentence."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, islice
from operator import itemgetter

from vaultsync.model.canonical import TAG_CHARACTERS
from vaultsync.model.fact import Fact, property_lines
from vaultsync.model.lazy_pattern import lazy_pattern
from vaultsync.recall.asked_for import status_word, type_word

SNIPPET_LENGTH = 200
"""Maximum number of characters of a snippet."""
_STATED_LENGTH = SNIPPET_LENGTH // 2
"""Maximum number of characters of the properties in it."""
PROPERTY_SEPARATOR = " · "
"""Stands behind each property in a snippet."""
MAX_TERM_POSITIONS = 30
"""Maximum number of occurrences of one term that are considered for the snippet."""
_PAIR = 2
"""Number of letters of a term in a script without blanks."""
# Markup removed from snippets; links keep their display text.
# Not `!?\[`: `re` looks fast for one of several characters, not for one that may be missing.
_LINK = lazy_pattern(r"(?:\[|!\[)\[(?:[^\[\]|\n]*+\|)?([^\[\]\n]*+)\]\]")
_LINE_MARKUP = lazy_pattern(r"\n[ \t>]*(?:#{1,6}|[-*+]|\d{1,3}[.)])[ \t]+")
# Begins with a set of characters: `re` looks for these three times as fast as for alternatives.
_MARKUP = lazy_pattern(
    rf"[*`~_{TAG_CHARACTERS}](?:(?<=[*`~])[*`~]{{0,2}}"
    r"|(?<=_)(?:(?<!\w_)_{0,2}|_{0,2}(?!\w))"  # within a word, it belongs to a name: *cart_total*
    rf"|(?<=[{TAG_CHARACTERS}]))"
)
_HIRAGANA = lazy_pattern("[\u3041-\u309f]+")
_SENTENCE_END = lazy_pattern(r"[.!?…]+[\"”’)\]]*\s+|[。！？]|\n")


class QueryTerms:
    """The stemmed terms of a query, and where a text contains them.

    A stem matches a word that begins with it and has it as its stem: *off* matches no *offline*.
    Texts are searched with `str.find`: a regular expression took fifty times as long, and more
    than the rest of an answer.

    Args:
        stems: terms as `NoteIndex.tokens()` returns them; duplicates are dropped.
        stems_of: word -> its stems, as `NoteIndex.stemmer()`.
    """

    def __init__(self, stems: Iterable[str], stems_of: Callable[[str], Collection[str]]) -> None:
        self.stems = tuple(dict.fromkeys(filter(None, stems)))
        self._stems_of = stems_of
        self._chains = _chains(self.stems)
        self._has_pairs = len(self._chains) < len(self.stems)
        self._spellings = [*map(_spellings, self.stems)]

    def add_spelling(self, stem: str, spelling: str) -> None:
        """Count another term as one of the query: the correct spelling of a misspelled word."""
        number = self.stems.index(stem)
        self._spellings[number] = (*self._spellings[number], *_spellings(spelling))

    def positions(
        self, text: str, *, limit: int = MAX_TERM_POSITIONS
    ) -> list[tuple[int, int, int]]:
        """The (start, end, term number) of each match in order, at most `limit` per term."""
        original: Callable[[int], int] | None = None
        if text.isascii():
            folded = text.lower()
        else:
            from vaultsync.indexing.folded_text import fold_text  # noqa: PLC0415 - few texts need it

            folded_text = fold_text(text)
            folded = folded_text.text
            original = folded_text.original if folded_text.starts else None

        found = []
        for number, spellings in enumerate(self._spellings):
            for stem in spellings:
                if stem not in folded:
                    continue  # as most are not
                left = limit
                for start, end in _words_beginning_with(folded, stem):
                    begin, stop = (original(start), original(end)) if original else (start, end)
                    tail = start + len(stem)
                    if end - tail <= 1 or self._is_form(
                        text[begin:stop], folded[tail:end], spellings
                    ):
                        found.append((begin, stop, number))
                        left -= 1
                        if not left:
                            break
        found.sort()
        return found

    def _is_form(self, word: str, ending: str, spellings: tuple[str, ...]) -> bool:
        """Whether a word with an ending after its stem has one of the stems."""
        if sum(map(str.isalpha, ending)) <= 1:
            return True  # a plural needs no stemmer
        return any(map(spellings.__contains__, self._stems_of(word)))

    def matched_words(self, text: str) -> dict[int, str]:
        """Number of each term in the text -> its first match, as written."""
        last_first = reversed(self.positions(text, limit=1))
        return dict(sorted({number: text[begin:end] for begin, end, number in last_first}.items()))

    def surely_lacks_any(self, text: str) -> bool:
        """Whether a text lacks a term, by a check that takes much less time; only for ASCII."""
        if not text.isascii():
            return False
        has = text.lower().__contains__
        return not all(any(map(has, spellings)) for spellings in self._spellings)

    def quoted_words(self, text: str, words: Mapping[int, str]) -> tuple[list[str], int]:
        """The words of the query in the text, as written, and the number of words in the query.

        In scripts without blanks, terms are overlapping pairs of letters; adjacent pairs
        count as one word here, as far as the text contains it. What it contains in several
        places, such as 京都 and 旅館 of 京都の旅館, are several words.

        Args:
            text: the text of a fact.
            words: its `matched_words()`.
        """
        if not self._has_pairs:
            return list(words.values()), len(self.stems)
        spans: dict[int, list[tuple[int, int]]] = {}
        for start, end, number in self.positions(text):
            spans.setdefault(number, []).append((start, end))
        quoted, missing = list[str](), 0
        for chain in self._chains:
            matches = sorted({span for number in chain for span in spans.get(number, ())})
            joined = dict.fromkeys(text[slice(*span)] for span in _joined(matches))
            longest_first = sorted(joined, key=len, reverse=True)
            # Hiragana are mostly particles and endings.
            found = [each for each in longest_first if not _HIRAGANA.fullmatch(each)]
            found = found or longest_first[:1]
            quoted += [x for at, x in enumerate(found) if not any(x in each for each in found[:at])]
            missing += not found
        return quoted, len(quoted) + missing


def _spellings(stem: str) -> tuple[str, ...]:
    """The letters that words of a stem begin with.

    Stemmers turn a final y into an i, and give *rating* and *hiking* the e that is not in them.
    """
    if stem.endswith("i"):
        return stem, f"{stem[:-1]}y"
    is_of_bee = stem.endswith("ee")  # not *being*
    return (stem, f"{stem[:-1]}ing") if stem.endswith("e") and not is_of_bee else (stem,)


def _chains(stems: Sequence[str]) -> list[list[int]]:
    """The term numbers of each word: overlapping pairs of letters form one word."""
    chains: list[list[int]] = []
    for number, stem in enumerate(stems):
        before = stems[chains[-1][-1]] if chains else ""
        is_pair = len(stem) == _PAIR and not stem.isascii()
        if is_pair and len(before) == _PAIR and before[1] == stem[0]:
            chains[-1].append(number)
        else:
            chains.append([number])
    return chains


def _joined(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Merge overlapping spans, given in order."""
    joined: list[tuple[int, int]] = []
    for start, end in spans:
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _words_beginning_with(text: str, stem: str) -> Iterator[tuple[int, int]]:
    """The (start, end) of each word that begins so; in scripts without blanks, of the stem."""
    is_anywhere = False
    if not stem.isascii():
        from vaultsync.indexing.folded_text import has_no_blanks  # noqa: PLC0415 - mostly unused

        is_anywhere = has_no_blanks(stem)
    at = text.find(stem)
    while at >= 0:
        end = at + len(stem)
        if is_anywhere:
            yield at, end
        elif at == 0 or not ((before := text[at - 1]).isalnum() or _is_mark(before)):
            last = end
            while last < len(text) and ((letter := text[last]).isalpha() or _is_mark(letter)):
                last += 1
            is_whole = last == len(text) or not text[last].isalnum()
            if is_whole and (last == end or not stem.isdigit()):
                yield at, last
        at = text.find(stem, end)


def _is_mark(character: str) -> bool:
    """Whether it is a sign within a word, such as that of a vowel in Hindi and Tamil."""
    return not character.isascii() and unicodedata.category(character)[0] == "M"


def fact_text(fact: Fact) -> str:
    """The searchable text of a fact, including its date."""
    return "\n".join(
        [
            fact.title,
            fact.context or "",
            *fact.aliases,
            *fact.tags,
            type_word(fact),
            status_word(fact),
            *fact.entities,
            fact.agent_id or "",
            fact.created_at[:10],
            *(each for each in fact.own.values() if isinstance(each, str)),
            *property_lines(fact),
            fact.content,
        ]
    )


def has_phrases(phrases: Iterable[str], text: str) -> bool:
    """Whether a text contains all phrases, ignoring case and line breaks."""
    if not phrases:
        return True
    folded = " ".join(text.casefold().split())
    return all(" ".join(each.casefold().split()) in folded for each in phrases)


def hit_snippet(fact: Fact, passage: str, terms: QueryTerms) -> str:
    """The snippet of a passage, behind the author's properties that the question names."""
    if not (properties := _stated_properties(fact, terms)):
        return snippet(passage, terms)
    stated = snippet(properties, terms, length=_STATED_LENGTH)
    shown = snippet(passage, terms, length=SNIPPET_LENGTH - len(stated))
    return PROPERTY_SEPARATOR.join(filter(None, (stated, shown)))


def _stated_properties(fact: Fact, terms: QueryTerms) -> str:
    """The author's properties that answer a question, in one line; empty for most facts.

    They have a word of the question in their name, or one in their value that the content has not;
    those with most of its words come first.
    """
    lines = property_lines(fact)
    if not (lines and terms.positions("\n".join(lines), limit=1)):
        return ""
    in_content = {number for _, _, number in terms.positions(fact.content, limit=1)}
    found = list[tuple[int, str]]()
    for line in lines:
        value = line.find(": ")
        positions = terms.positions(line, limit=1)
        if any(begin < value or number not in in_content for begin, _, number in positions):
            found.append((-len({number for _, _, number in positions}), line))
    found.sort(key=itemgetter(0))
    lengths = accumulate(len(line) + len(PROPERTY_SEPARATOR) for _, line in found)
    number = sum(each <= _STATED_LENGTH for each in lengths)
    return PROPERTY_SEPARATOR.join(line for _, line in found[: max(1, number)])


def snippet(text: str, terms: QueryTerms, *, length: int = SNIPPET_LENGTH) -> str:
    """The part of a text with most of the terms, in one line without markup.

    A text that is not longer is shown whole. The part of another begins at a sentence or a word;
    if no term matches, at the beginning of the text. An
    ellipsis on either side marks omitted text, and is not counted in `length` (characters); one
    inside stands for encoded data.
    """
    text = _LINK.sub(itemgetter(1), text) if "[[" in text else text
    if len(text) > length:
        from vaultsync.markdown.encoded_data import replace_encoded_data  # noqa: PLC0415 - long texts

        text = replace_encoded_data(text, lambda _: "…")
    begin, end = 0, len(text)
    if end > length:
        begin = _sentence_start(text, _densest_window(terms.positions(text), length), length)
    if end - begin > length:
        end = begin + length
        blank = text.rfind(" ", begin, end)
        end = blank if blank > begin else end
    words = " ".join(_MARKUP.sub("", _LINE_MARKUP.sub("\n", f"\n{text[begin:end]}")).split())
    before = "…" if text[:begin].strip() else ""
    after = "…" if text[end:].strip() else ""
    return f"{before}{words}{after}" if words else ""


def densest_passage(text: str, terms: QueryTerms, *, length: int) -> str:
    """The part of a text, `length` characters, with most of the terms, as written."""
    begin = _sentence_start(text, _densest_window(terms.positions(text), length), length)
    return text[begin : begin + length]


def _densest_window(positions: Sequence[tuple[int, int, int]], length: int) -> int:
    """The start of the first window of `length` characters with the most distinct terms."""
    best, start, first = 0, 0, 0
    inside: dict[int, int] = {}
    for begin, _, number in positions:
        inside[number] = inside.get(number, 0) + 1
        while begin - positions[first][0] > length:
            leaving = positions[first][2]
            inside[leaving] -= 1
            if not inside[leaving]:
                del inside[leaving]
            first += 1
        if len(inside) > best:
            best, start = len(inside), positions[first][0]
    return start


def _sentence_start(text: str, at: int, length: int) -> int:
    """The start of the sentence at a position, or of a word shortly before it."""
    earliest = max(0, at - length // 2)
    ends = [match.end() for match in _SENTENCE_END.finditer(text, earliest, at)]
    if ends:
        return ends[-1]
    if earliest == 0:
        return 0
    blank = text.find(" ", earliest, at)
    return blank + 1 if blank >= 0 else at


_IMPORTANT = 0.8
"""Minimum importance that an explanation mentions."""
_SIMILAR = 0.2
"""Minimum cosine described as similar; unrelated texts can reach it too."""
_OFTEN = 5
"""Minimum number of uses that an explanation mentions."""
_MAX_WORDS = 5
"""Maximum number of matched words that are quoted."""


def explain_hit(
    matched_words: Sequence[str] = (),
    term_count: int = 0,
    *,
    cosine: float | None = None,
    matches_hints: bool = False,
    in_set: bool = False,
    remarks: Iterable[str] = (),
    access_count: int = 0,
    importance: float | None = None,
    contradicts: Iterable[str] = (),
) -> str:
    """Explain in one sentence why a fact was found.

    Args:
        matched_words: the words of the fact that match a query term, as written.
        term_count: number of query terms.
        cosine: similarity of its nearest chunk, -1 to 1; None when semantic search did not
            find it.
        matches_hints: whether it has the type, time or tier that the query hints at.
        in_set: whether it was found only by these, without a topic.
        remarks: reasons for a higher or lower rank.
        access_count: how often it was used: opened, packed, changed or named.
        importance: 0 to 1.
        contradicts: titles and dates of the facts that contradict it.
    """
    parts = []
    if matched_words:
        quoted = [f"“{word}”" for word in islice(dict.fromkeys(matched_words), _MAX_WORDS)]
        words = " and ".join(filter(None, [", ".join(quoted[:-1]), quoted[-1]]))
        matched = len(matched_words)
        of_all = f" ({matched} of {term_count} words)" if matched < term_count else ""
        parts.append(f"has {words}{of_all}")
    if cosine is not None:
        is_or_not = "is" if cosine >= _SIMILAR else "is not"
        parts.append(
            f"{is_or_not} similar in meaning ({round(cosine, 2) + 0.0:.2f})"
        )  # avoids -0.00
    if in_set:
        parts = ["is one of the facts asked for"]
    elif not parts:
        parts.append("matches by its context")
    if matches_hints and not in_set:
        parts.append("has the type or time asked for")
    parts += remarks
    if access_count >= _OFTEN:
        parts.append(f"was used {access_count} times")
    if (importance or 0) >= _IMPORTANT:
        parts.append("is important")
    parts += [f"contradicts {each}" for each in contradicts]
    sentence = ", ".join(parts[:-1]) + (" and " if parts[1:] else "") + parts[-1]
    return f"{sentence[0].upper()}{sentence[1:]}."
