"""The frontmatter of memory files, by python-frontmatter with a YAML 1.2 handler.

Its own handler reads YAML 1.1 by PyYAML, where `no` is false and `08:30` is a number.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

from vaultsync.errors.files import UnreadableMemoryFileError
from vaultsync.model.schema import Value

_LARGEST = 64 * 1024
"""Characters; nobody writes more properties, and a bomb of aliases is small."""
_MOST_ALIASES = 20


class FrontmatterReader:
    """Reads it by python-frontmatter."""

    def read(self, text: str, name: str) -> Mapping[str, Value] | None:
        """The properties of a text that begins with frontmatter; None if it is no map.

        Raises:
            UnreadableMemoryFileError: it is no YAML, or no reader is installed.
        """
        try:
            from frontmatter.default_handlers import YAMLHandler
            from ruamel.yaml import YAML
            from ruamel.yaml.error import YAMLError
        except ImportError:
            why = "its frontmatter needs python-frontmatter (`vaultsync[memory-file]`)"
            raise UnreadableMemoryFileError(name, why) from None

        class Yaml12(YAMLHandler):  # type: ignore[misc, unused-ignore]
            def load(self, fm: str, **_: object) -> Any:  # noqa: ANN401 - the library's
                return YAML(typ="safe", pure=True).load(fm)

        handler = Yaml12()
        if len(text) > _LARGEST or text.count("*") > _MOST_ALIASES * 5:
            raise UnreadableMemoryFileError(name, "its frontmatter is too large")
        try:
            # Not `frontmatter.parse()`, which also strips the text behind it.
            said = handler.load(handler.split(text)[0])
        except (YAMLError, ValueError, RecursionError) as broken:
            why = f"its frontmatter is no YAML ({' '.join(str(broken).split())[:120]})"
            raise UnreadableMemoryFileError(name, why) from None
        if said is None:
            return {}
        if not isinstance(said, Mapping):
            return None
        return {str(key): _plain(value) for key, value in said.items()}


def _plain(value: object) -> Value:
    """A value as JSON holds it."""
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    return str(value)
