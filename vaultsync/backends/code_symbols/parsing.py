"""Parse source code with tree-sitter; see `worker.py` for where this runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from vaultsync.backends.code_symbols.queries import QUERIES
from vaultsync.extras import needs_extra
from vaultsync.repos.symbols import (
    MAX_DEFINITIONS,
    MAX_REFERENCES,
    MAX_SIGNATURE,
    Definition,
    FileSymbols,
    make_definition,
)

if TYPE_CHECKING:
    import tree_sitter

PARSER = "tree-sitter"
_CONTAINERS = frozenset({"class", "scope"})
_DECLARATORS = frozenset(
    {
        "function_declarator",
        "parenthesized_declarator",
        "pointer_declarator",
        "reference_declarator",
    }
)
_DECLARATIONS = frozenset({"declaration", "field_declaration", "function_definition"})
_OF_RUBY = frozenset({"class", "method", "module", "singleton_method"})


def load_grammars() -> Mapping[str, object]:
    """Language -> its grammar, for all languages that have queries.

    Raises:
        MissingExtraError: they are not installed.
    """
    with needs_extra("parsing source code"):
        import tree_sitter_c
        import tree_sitter_cpp
        import tree_sitter_go
        import tree_sitter_java
        import tree_sitter_javascript
        import tree_sitter_python
        import tree_sitter_ruby
        import tree_sitter_rust
        import tree_sitter_typescript
    return {
        "c": tree_sitter_c.language(),
        "cpp": tree_sitter_cpp.language(),
        "go": tree_sitter_go.language(),
        "java": tree_sitter_java.language(),
        "javascript": tree_sitter_javascript.language(),
        "python": tree_sitter_python.language(),
        "ruby": tree_sitter_ruby.language(),
        "rust": tree_sitter_rust.language(),
        "tsx": tree_sitter_typescript.language_tsx(),
        "typescript": tree_sitter_typescript.language_typescript(),
    }


class _Tools(NamedTuple):
    """The parser and the queries of one language."""

    parser: tree_sitter.Parser
    definitions: tree_sitter.Query
    references: tree_sitter.Query


@cache
def _tools(language: str) -> _Tools:
    with needs_extra("parsing source code"):
        from tree_sitter import Language, Parser, Query

    grammar = Language(load_grammars()[language])
    queries = QUERIES[language]
    return _Tools(
        Parser(grammar), Query(grammar, queries.definitions), Query(grammar, queries.references)
    )


def parse_symbols(language: str, source: bytes) -> FileSymbols:
    """The symbols of a file.

    Args:
        language: one that has queries.
        source: the source; invalid UTF-8 is allowed.
    """
    from tree_sitter import QueryCursor

    tools = _tools(language)
    root = tools.parser.parse(source).root_node
    definitions = tuple(_definitions(QueryCursor(tools.definitions), root, source))
    captured = QueryCursor(tools.references).captures(root)
    counts = Counter(node.text or b"" for node in captured.get("r", ()))
    for node in captured.get("m", ()):
        counts[b"." + (node.text or b"")] += 1
    # Captures are not ordered.
    most = sorted(counts.items(), key=lambda each: (-each[1], each[0]))[:MAX_REFERENCES]
    references = {name.decode("utf-8", "replace"): count for name, count in most}
    return FileSymbols(definitions, references)


def _definitions(
    cursor: tree_sitter.QueryCursor, root: tree_sitter.Node, source: bytes
) -> Iterator[Definition]:
    """The definitions in order, without those inside functions."""
    found: dict[tuple[int, int], tuple[str, tree_sitter.Node, tree_sitter.Node]] = {}
    for _, captures in cursor.matches(root):
        [name] = captures.pop("name")[:1]
        for kind, nodes in captures.items():
            found.setdefault((nodes[0].start_byte, -nodes[0].end_byte), (kind, nodes[0], name))
    lines = [line.decode("utf-8", "replace") for line in source.split(b"\n")]
    open_scopes: list[tuple[int, str, str]] = []
    count = 0
    for (start, _), (kind, node, name) in sorted(found.items(), key=lambda each: each[0]):
        while open_scopes and open_scopes[-1][0] <= start:
            open_scopes.pop()
        text = (name.text or b"").decode("utf-8", "replace")
        outer = open_scopes[-1] if open_scopes else None
        open_scopes.append((node.end_byte, kind, text))
        if kind == "scope" or (outer is not None and outer[1] not in _CONTAINERS):
            continue
        if (count := count + 1) > MAX_DEFINITIONS:
            return
        row = node.start_point.row
        parent = "" if outer is None else outer[2]
        value = node.child_by_field_name("value") or node.child_by_field_name("right")
        body = None if value is None else value.child_by_field_name("body")
        signature = _signature(node, kind, body or value, source)
        # const name = () => …
        is_function = kind == "constant" and body is not None
        kind_of_it = "function" if is_function else kind
        yield make_definition(text, kind_of_it, row, signature, lines=lines, parent=parent)


def _signature(
    node: tree_sitter.Node, kind: str, value: tree_sitter.Node | None, source: bytes
) -> str:
    """The source of a definition up to its body.

    Values are left out, because they may be long, or secrets.
    """
    first = node
    while first.type in _DECLARATORS and first.parent is not None:
        if first.parent.type not in _DECLARATORS | _DECLARATIONS:
            break
        first = first.parent  # in C, the node with the type encloses the declarator
    end = first.child_by_field_name("body") or (None if kind == "type" else value)
    stop = first.end_byte if end is None else end.start_byte
    start = first.start_byte
    text = source[start : min(stop, start + 8 * MAX_SIGNATURE)].decode("utf-8", "replace")
    if node.type == "type_spec":
        text = f"type {text.partition('{')[0]}"
    elif node.type in _OF_RUBY:
        text = text.partition("\n")[0].partition(";")[0].partition(" #")[0]
    return text.strip().removesuffix("=>")
