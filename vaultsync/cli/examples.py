"""The examples in the help of each command; a test runs them on the sample vault."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import click

EXAMPLES: Mapping[str, Sequence[str]] = {
    "init": ("vaultsync init ~/Memory",),
    "remember": (
        'vaultsync remember "We meet on Tuesdays." --tag team',
        'vaultsync remember "Use SQLite." --type decision --field outcome=accepted',
        "git log -1 --format=%B | vaultsync remember --type episodic",
        "vaultsync remember --messages talk.json --session 2026-03-01",
    ),
    "observe": (
        'vaultsync observe --agent indy "The deploy failed: the disk of the Pier Box is full."',
        'vaultsync observe --agent indy "All 41 tests pass." --context "nightly build"',
        "cat event.json | vaultsync observe - --hook",
    ),
    "observations process": (
        "vaultsync observations process --dry-run",
        "vaultsync observations process",
    ),
    "observations list": (
        "vaultsync observations list --tier critical",
        "vaultsync observations list --tier pending --json",
    ),
    "observations show": ('vaultsync observations show "The green cabinet gets warm"',),
    "get": ('vaultsync get "Use SQLite on the Pier Box"', "vaultsync get 019c7b82-e02f --json"),
    "list": (
        "vaultsync list --type decision --newest --limit 10",
        "vaultsync list --tag sqlite --since 2026-02",
        "vaultsync list --type decision --columns title,decisionOutcome,path",
        "vaultsync list --csv --columns title,content,createdAt > facts.csv",
    ),
    "open": (
        'vaultsync open "Use SQLite on the Pier Box"',
        "vaultsync open 019c7b82-e02f --obsidian",
    ),
    "update": (
        'vaultsync update "Meeting times" --content "We meet on Fridays."',
        "vaultsync update 019bf951-1a40 --set priority=1 --add-tag team",
    ),
    "edit": (
        'vaultsync edit "Meeting times" --append "Not in July."',
        "vaultsync edit 019bf951-1a40 --find July --replace August",
    ),
    "supersede": ('vaultsync supersede "Meeting times" "We meet on Mondays, at nine."',),
    "forget": ('vaultsync forget "Reading list"', "vaultsync forget 019ca046-7f0c"),
    "restore": ('vaultsync restore "Reading list"',),
    "purge": ('vaultsync purge "Reading list" --dry-run', "vaultsync purge --user ada --dry-run"),
    "export": ("vaultsync export facts.jsonl", "vaultsync export - | gzip > facts.jsonl.gz"),
    "import-from": (
        "vaultsync import-from jsonl facts.jsonl --dry-run",
        "vaultsync import-from jsonl facts.jsonl --scope public",
    ),
    "export-to": ("vaultsync export-to basic-memory ../exported",),
    "import": ("vaultsync import facts.jsonl", "zcat facts.jsonl.gz | vaultsync import -"),
    "sync": (
        "vaultsync sync",
        "vaultsync sync --dry-run --verbose",
        "vaultsync sync --confirm 01a1fd60-2f48",
    ),
    "adopt": ("vaultsync adopt --dry-run", 'vaultsync adopt Inbox "Start here.md" --scope public'),
    "status": ("vaultsync status", 'vaultsync status "Start here.md"', "vaultsync status --json"),
    "conflicts": ("vaultsync conflicts",),
    "resolve": (
        "vaultsync resolve",
        "vaultsync resolve 0123456789abcdef --take vault",
        "vaultsync resolve 0123456789abcdef --take store --field title",
        'vaultsync resolve "public/Plan (Conflicted copy).md" --take merge',
    ),
    "proposals list": ("vaultsync proposals list", "vaultsync proposals list --kind junk --json"),
    "proposals show": ("vaultsync proposals show 0123456789abcdef",),
    "proposals accept": (
        "vaultsync proposals accept 0123456789abcdef",
        "vaultsync proposals accept --kind duplicates",
    ),
    "proposals reject": (
        "vaultsync proposals reject 0123456789abcdef",
        "vaultsync proposals reject --kind junk",
    ),
    "history": ('vaultsync history "Use SQLite on the Pier Box"',),
    "log": (
        "vaultsync log",
        "vaultsync log --since 'last week' --json",
        "vaultsync log --since 2026-02 --note",
    ),
    "undo": ("vaultsync undo", "vaultsync undo 01a1fd60-2f48"),
    "verify": ("vaultsync verify",),
    "rebuild": ("vaultsync rebuild --from vault",),
    "maintain": ("vaultsync maintain --dry-run", "vaultsync maintain"),
    "migrate": ("vaultsync migrate --to qdrant://localhost:6333",),
    "doctor": ("vaultsync doctor",),
    "memory-file sync": (
        "vaultsync memory-file sync MEMORY.md",
        "vaultsync memory-file sync ~/work --include '**/MEMORY.md'",
    ),
    "memory-file manage": (
        "vaultsync memory-file manage ~/.claude/CLAUDE.md --budget 1500",
        "vaultsync memory-file manage AGENTS.md --scope project-tidebell --form index --dry-run",
    ),
    "memory-file add": (
        'vaultsync memory-file add MEMORY.md "Run the tests with make." --section Lessons',
    ),
    "module write": (
        'vaultsync module write adopted-patterns ap-01 "Tests live beside the code." --tag tests',
        "cat finding.md | vaultsync module write tech-findings tf-20251020 --agent indy",
    ),
    "module read": (
        "vaultsync module read adopted-patterns",
        "vaultsync module read adopted-patterns ap-01 --json",
    ),
    "module sync": ("vaultsync module sync", "vaultsync module sync --chunk ap-01"),
    "module status": ("vaultsync module status --json",),
    "module index": ("vaultsync module index --folder docs/memories",),
    "recall": (
        "vaultsync recall why SQLite on the box",
        'vaultsync recall "type:decision harbour" --limit 3 --explain',
    ),
    "context": (
        "vaultsync context --budget 1000",
        "vaultsync context berth bookings --budget 2000",
        "vaultsync context deposits --format xml --intent decisions",
    ),
    "repo identity": ("vaultsync repo identity", "vaultsync repo identity ~/work/app --json"),
    "repo add convention": (
        'vaultsync repo add convention "Use pnpm workspaces" "All packages are in packages/."',
    ),
    "repo add decision": (
        'vaultsync repo add decision "Keep sessions in Redis" "They outlive us." --path src/',
    ),
    "repo add note": ('vaultsync repo add note "The CI needs Node 22."',),
    "repo list": ("vaultsync repo list", "vaultsync repo list --repo ~/work/app --json"),
    "repo summary": (
        'vaultsync repo summary run-7 step-2 "Added the cache." --follow-up "Test it"',
    ),
    "repo context": (
        "vaultsync repo context --max-chars 4000",
        "vaultsync repo context --path src/cache.py",
    ),
    "repo map": (
        "vaultsync repo map --repo ~/work/app",
        "vaultsync repo map --repo ~/work/app --path src/sessions.py --json",
    ),
    "repo instructions": ("vaultsync repo instructions ~/work/app/AGENTS.md --dry-run",),
    "repo promote": (
        "vaultsync repo promote",
        "vaultsync repo promote --from feature/x --to main --repo ~/work/app",
    ),
    "repo copy": ("vaultsync repo copy --from feature/old --to feature/new --repo ~/work/app",),
    "index": ("vaultsync index", "vaultsync index --rebuild"),
    "graph export": (
        "vaultsync graph export graph.html",
        'vaultsync graph export pier.canvas --around "Pier Box" --depth 2',
    ),
    "graph stats": ("vaultsync graph stats --hubs 5",),
    "graph neighbors": ('vaultsync graph neighbors "Pier Box" --depth 2',),
    "graph colours": ("vaultsync graph colours",),
    "links check": ("vaultsync links check", "vaultsync links check --fix"),
    "eval run": ("vaultsync eval run questions.toml", "vaultsync eval run questions.toml --json"),
    "eval gate": (
        "vaultsync eval gate questions.toml --baseline baseline.json --update",
        "vaultsync eval gate questions.toml --baseline baseline.json",
    ),
    "eval score": (
        "vaultsync eval score questions.toml answers.jsonl",
        "other-tool --ask questions.toml | vaultsync eval score questions.toml - --json",
    ),
    "model list": ("vaultsync model list", "vaultsync model list --json"),
    "model fetch": (
        "vaultsync model fetch intfloat/multilingual-e5-small",
        "vaultsync model fetch BAAI/bge-small-en-v1.5 --revision main --json",
    ),
    "config get": ("vaultsync config get", "vaultsync config get watch --json"),
    "config set": (
        "vaultsync config set language german",
        "vaultsync config set linger_seconds 90 --machine",
    ),
    "config unset": ("vaultsync config unset language",),
    "trust": ("vaultsync trust", "vaultsync trust --revoke"),
    "watch": (
        "vaultsync watch",
        "vaultsync watch --log watch.log --no-bridge",
        "vaultsync watch --once-settled",
        "vaultsync watch --print-unit systemd",
    ),
    "bridge": ("vaultsync bridge", "vaultsync bridge --port 0"),
    "bridge token": ("vaultsync bridge token", "vaultsync bridge token --rotate"),
    "hook": ("""echo '{"hook_event_name": "SessionStart"}' | vaultsync hook claude-code""",),
    "install": (
        "vaultsync install claude-code --dry-run",
        "vaultsync install cursor --project . --no-hooks --dry-run",
        "vaultsync install codex --remove --dry-run",
    ),
    "mcp": ("vaultsync mcp --agent indy", "vaultsync mcp --agent indy --http"),
    "bases write": ("vaultsync bases write", "vaultsync bases write --folder Tables"),
    "bases types": ("vaultsync bases types", "vaultsync bases types --write"),
    "plugin install": ("vaultsync plugin install",),
    "completion": ('eval "$(vaultsync completion bash)"',),
}
"""The examples of each command, as a user would type them."""


def add_examples(command: click.Command, name: str) -> click.Command:
    """Add the examples to the help of a command and its subcommands; return the command."""
    if lines := EXAMPLES.get(name):
        command.epilog = "\n".join(("\b", "Examples:", *(f"  {line}" for line in lines)))
    if isinstance(command, click.Group):
        for subname, subcommand in command.commands.items():
            add_examples(subcommand, f"{name} {subname}")
    return command
