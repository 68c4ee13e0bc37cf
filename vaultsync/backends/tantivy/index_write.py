"""Facts into the files of the note index. No adapter of a port."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import tantivy

from vaultsync.backends.tantivy.analysis import Terms
from vaultsync.backends.tantivy.schema import META, columns_of, texts_of
from vaultsync.indexing.language import SAMPLE, language_of
from vaultsync.indexing.ports import Entry
from vaultsync.model.fact import Fact


class Writing:
    """What one `update()` writes.

    `languages` are those held, None in a new index; `told` gives
    what tantivy says the class it has.
    """

    def __init__(
        self,
        schema: tantivy.Schema,
        terms: Terms,
        writer: tantivy.IndexWriter,
        *,
        told: Callable[[ValueError], Exception],
        languages: Iterable[str] | None,
    ) -> None:
        self._schema = schema
        self._terms = terms
        self._writer = writer
        self._told = told
        self._fresh = languages is None
        self._done: set[str] = set()
        self._languages = {terms.default, *(languages or ())}

    def drop(self, fact_id: str) -> None:
        """Remove what is held of a fact."""
        self._writer.delete_documents_by_term("id", fact_id)

    def put(self, entry: Entry) -> None:
        """Hold a fact in the place of what was held of it."""
        fact = entry.fact
        if not self._fresh or fact.id in self._done:
            self.drop(fact.id)
        self._done.add(fact.id)
        language = (
            language_of(f"{fact.title}\n{fact.content[:SAMPLE]}") or self._terms.default
        )
        texts = texts_of(entry)
        columns = columns_of(entry) | {"name": self._names(fact, language)}
        if language == self._terms.default:
            self._add(columns | texts)
            return
        self._languages.add(language)
        analyzer = self._terms.analyzer(language)
        document = tantivy.Document.from_dict(columns, self._schema)
        for name, text in texts.items():
            document.add_pre_tokenized_text(name, analyzer.pre_tokenize(text))
        self._write(document)

    def _names(self, fact: Fact, language: str) -> list[str]:
        """What the fact is called, each whole name a term with its field before it."""
        told = [("title", fact.title), *(("aliases", each) for each in fact.aliases)]
        return [
            f"{field} {self._terms.of_name(text, language)}" for field, text in told
        ]

    def tell(self, made: str, version: str) -> None:
        """Say how far the index goes, with the same commit."""
        self.drop(META)
        said = f"{made}\n{' '.join(sorted(self._languages))}\n{version}"
        self._add({"id": META, "meta": said})

    def _add(self, values: dict[str, Any]) -> None:
        self._write(tantivy.Document.from_dict(values, self._schema))

    def _write(self, document: tantivy.Document) -> None:
        try:
            self._writer.add_document(document)
        except ValueError as error:
            raise self._told(error) from error
