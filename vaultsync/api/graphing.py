"""Links and the graph: what leads where, checked, mended, counted and drawn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec import Struct, convert

from vaultsync.api.daemon_client import ask_running_engine
from vaultsync.api.session import EngineSession
from vaultsync.errors import ConfigError, EngineBusyError, InvalidFieldError

if TYPE_CHECKING:  # each method loads what it calls
    from vaultsync.facts.related import Related
    from vaultsync.graph.service import Neighborhood
    from vaultsync.graph.stats import GraphStats
    from vaultsync.operations.check_links import LinkReport
    from vaultsync.sync.report import Progress


@dataclass(frozen=True, slots=True)
class GraphExport:
    """A graph in one of its forms."""

    text: str
    format: str
    nodes: int
    links: int
    left_out: int = 0
    """Nodes that were left out, for there were more than were asked for."""


class GraphColours(Struct, frozen=True):
    """Obsidian's settings of its graph view, with a colour for each type."""

    path: str
    changed: bool


class GraphMethods(EngineSession):
    """`graph …` and `links …`."""

    def graph_export(
        self,
        *,
        format: str = "json",  # noqa: A002 - the contract's word
        scope: str | None = None,
        around: str | None = None,
        depth: int = 1,
        limit: int | None = None,
    ) -> GraphExport:
        """The graph as `json`, `graphml`, `canvas` or `html`.

        Of more nodes than `limit` those that are joined to most are kept.

        Raises:
            InvalidFieldError: another format.
            NotFoundError: no node, or more than one, is called `around`.
        """
        from vaultsync.graph.graph_formats import EXPORTS
        from vaultsync.graph.service import load_graph
        from vaultsync.graph.stats import most_connected

        if format not in EXPORTS:
            raise InvalidFieldError("format", format, "one of " + ", ".join(EXPORTS))
        self._flush()
        graph = load_graph(self._ctx, agent=self.agent, scope=scope, around=around, depth=depth)
        whole = len(graph.nodes)
        if limit is not None and whole > limit:
            graph = graph.only(most_connected(graph, limit))
        text = EXPORTS[format](graph)
        nodes = len(graph.nodes)
        return GraphExport(text, format, nodes, len(graph.edges), whole - nodes)

    def graph_stats(self, *, scope: str | None = None, hubs: int = 10) -> GraphStats:
        """Components, hubs and orphans of the graph."""
        from vaultsync.graph.service import load_graph
        from vaultsync.graph.stats import graph_stats

        self._flush()
        graph = load_graph(self._ctx, agent=self.agent, scope=scope)
        return graph_stats(graph, hubs=hubs)

    def graph_neighbors(
        self, name: str, *, depth: int = 1, scope: str | None = None
    ) -> Neighborhood:
        """What is up to so many steps from a node.

        Raises:
            NotFoundError: no node, or more than one, is called so.
        """
        from vaultsync.graph.service import load_graph, neighborhood

        self._flush()
        graph = load_graph(self._ctx, agent=self.agent, scope=scope)
        return neighborhood(graph, name, depth)

    def related(self, id: str) -> Related:  # noqa: A002 - the contract's word
        """What stands around a fact: links to it, what it names, what it replaced.

        Raises:
            FactNotFoundError, InvalidIdError.
        """
        from vaultsync.facts.related import find_related

        self._flush()
        self._accesses.flush()
        return find_related(self._ctx, self._derived.links, id, agent=self.agent)

    def graph_colours(self) -> GraphColours:
        """Give Obsidian's graph view a colour group for each type; the rest stays.

        Raises:
            ConfigError: the vault was never opened in Obsidian, or its settings are not
                valid JSON; nothing was written.
        """
        from vaultsync.backends.obsidian.settings_folder import ObsidianSettings
        from vaultsync.graph.colours import merged_colours

        settings = ObsidianSettings(self.settings.root)
        before = settings.read_graph()
        try:
            after = merged_colours(before)
        except ValueError as wrong:
            message = f"{settings.graph_path} is not as Obsidian writes it: {wrong}"
            raise ConfigError(message, hint="it was left alone; mend it, or move it away") from None
        changed = after != before
        if changed:
            settings.write_graph(after)
        return GraphColours(str(settings.graph_path), changed)

    def links_check(self, *, fix: bool = False, progress: Progress | None = None) -> LinkReport:
        """All links that Obsidian cannot follow, or not for sure.

        With `fix`, those that leave no doubt are mended, in the notes of facts; while a
        daemon has the vault, it is asked to.

        Raises:
            EngineBusyError: who has the vault cannot be asked (with `fix`).
        """
        from vaultsync.operations.check_links import LinkReport, check_links, fix_links

        if not fix:
            self._flush()
            return check_links(self._ctx, files=self._files, progress=progress)
        try:
            with self._engine() as ctx:
                return fix_links(ctx, files=self._files, progress=progress)
        except EngineBusyError as busy:
            settings, agent = self.settings, self.agent
            said = ask_running_engine(settings, "/v1/links/fix", {}, agent=agent, busy=busy)
            return convert(said, LinkReport)
