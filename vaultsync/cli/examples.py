"""The examples in the help of each command; a test runs them on the sample vault."""

from __future__ import annotations

from collections.abc import Collection

import click

EXAMPLES = r"""
vaultsync init ~/Memory
vaultsync remember "We meet on Tuesdays." --tag team
vaultsync remember "Use SQLite." --type decision --field outcome=accepted
git log -1 --format=%B | vaultsync remember --type episodic
vaultsync remember --messages talk.json --session 2026-03-01
vaultsync observe --agent indy "The deploy failed: the disk of the Pier Box is full."
vaultsync observe --agent indy "All 41 tests pass." --context "nightly build"
cat event.json | vaultsync observe - --hook
vaultsync observations process --dry-run
vaultsync observations process
vaultsync observations list --tier critical
vaultsync observations list --tier pending --json
vaultsync observations show "The green cabinet gets warm"
vaultsync get "Use SQLite on the Pier Box"
vaultsync get 019c7b82-e02f --json
vaultsync list --type decision --newest --limit 10
vaultsync list --tag sqlite --since 2026-02
vaultsync list --type decision --columns title,decisionOutcome,path
vaultsync list --csv --columns title,content,createdAt > facts.csv
vaultsync open "Use SQLite on the Pier Box"
vaultsync open 019c7b82-e02f --obsidian
vaultsync update "Meeting times" --content "We meet on Fridays."
vaultsync update 019bf951-1a40 --set priority=1 --add-tag team
vaultsync edit "Meeting times" --append "Not in July."
vaultsync edit 019bf951-1a40 --find July --replace August
vaultsync supersede "Meeting times" "We meet on Mondays, at nine."
vaultsync forget "Reading list"
vaultsync forget 019ca046-7f0c
vaultsync restore "Reading list"
vaultsync purge "Reading list" --dry-run
vaultsync purge --user ada --dry-run
vaultsync export facts.jsonl
vaultsync export - | gzip > facts.jsonl.gz
vaultsync import-from jsonl facts.jsonl --dry-run
vaultsync import-from jsonl facts.jsonl --scope public
vaultsync export-to basic-memory ../exported
vaultsync import facts.jsonl
zcat facts.jsonl.gz | vaultsync import -
vaultsync sync
vaultsync sync --dry-run --verbose
vaultsync sync --confirm 01a1fd60-2f48
vaultsync adopt --dry-run
vaultsync adopt Inbox "Start here.md" --scope public
vaultsync status
vaultsync status "Start here.md"
vaultsync status --json
vaultsync conflicts
vaultsync resolve
vaultsync resolve 0123456789abcdef --take vault
vaultsync resolve 0123456789abcdef --take store --field title
vaultsync resolve "public/Plan (Conflicted copy).md" --take merge
vaultsync proposals list
vaultsync proposals list --kind junk --json
vaultsync proposals show 0123456789abcdef
vaultsync proposals accept 0123456789abcdef
vaultsync proposals accept --kind duplicates
vaultsync proposals reject 0123456789abcdef
vaultsync proposals reject --kind junk
vaultsync history "Use SQLite on the Pier Box"
vaultsync log
vaultsync log --since 'last week' --json
vaultsync log --since 2026-02 --note
vaultsync undo
vaultsync undo 01a1fd60-2f48
vaultsync verify
vaultsync rebuild --from vault
vaultsync maintain --dry-run
vaultsync maintain
vaultsync migrate --to qdrant://localhost:6333
vaultsync doctor
vaultsync memory-file sync MEMORY.md
vaultsync memory-file sync ~/work --include '**/MEMORY.md'
vaultsync memory-file manage ~/.claude/CLAUDE.md --budget 1500
vaultsync memory-file manage AGENTS.md --scope project-tidebell --form index --dry-run
vaultsync memory-file add MEMORY.md "Run the tests with make." --section Lessons
vaultsync module write adopted-patterns ap-01 "Tests live beside the code." --tag tests
cat finding.md | vaultsync module write tech-findings tf-20251020 --agent indy
vaultsync module read adopted-patterns
vaultsync module read adopted-patterns ap-01 --json
vaultsync module sync
vaultsync module sync --chunk ap-01
vaultsync module status --json
vaultsync module index --folder docs/memories
vaultsync recall why SQLite on the box
vaultsync recall "type:decision harbour" --limit 3 --explain
vaultsync context --budget 1000
vaultsync context berth bookings --budget 2000
vaultsync context deposits --format xml --intent decisions
vaultsync repo identity
vaultsync repo identity ~/work/app --json
vaultsync repo add convention "Use pnpm workspaces" "All packages are in packages/."
vaultsync repo add decision "Keep sessions in Redis" "They outlive us." --path src/
vaultsync repo add note "The CI needs Node 22."
vaultsync repo list
vaultsync repo list --repo ~/work/app --json
vaultsync repo summary run-7 step-2 "Added the cache." --follow-up "Test it"
vaultsync repo context --max-chars 4000
vaultsync repo context --path src/cache.py
vaultsync repo map --repo ~/work/app
vaultsync repo map --repo ~/work/app --path src/sessions.py --json
vaultsync repo instructions ~/work/app/AGENTS.md --dry-run
vaultsync repo promote
vaultsync repo promote --from feature/x --to main --repo ~/work/app
vaultsync repo copy --from feature/old --to feature/new --repo ~/work/app
vaultsync index
vaultsync index --rebuild
vaultsync graph export graph.html
vaultsync graph export pier.canvas --around "Pier Box" --depth 2
vaultsync graph stats --hubs 5
vaultsync graph neighbors "Pier Box" --depth 2
vaultsync graph colours
vaultsync links check
vaultsync links check --fix
vaultsync eval run questions.toml
vaultsync eval run questions.toml --json
vaultsync eval gate questions.toml --baseline baseline.json --update
vaultsync eval gate questions.toml --baseline baseline.json
vaultsync eval score questions.toml answers.jsonl
other-tool --ask questions.toml | vaultsync eval score questions.toml - --json
vaultsync model list
vaultsync model list --json
vaultsync model fetch intfloat/multilingual-e5-small
vaultsync model fetch BAAI/bge-small-en-v1.5 --revision main --json
vaultsync config get
vaultsync config get watch --json
vaultsync config set language german
vaultsync config set linger_seconds 90 --machine
vaultsync config unset language
vaultsync trust
vaultsync trust --revoke
vaultsync watch
vaultsync watch --log watch.log --no-bridge
vaultsync watch --once-settled
vaultsync watch --print-unit systemd
vaultsync bridge
vaultsync bridge --port 0
vaultsync bridge token
vaultsync bridge token --rotate
echo '{"hook_event_name": "SessionStart"}' | vaultsync hook claude-code
vaultsync install claude-code --dry-run
vaultsync install cursor --project . --no-hooks --dry-run
vaultsync install codex --remove --dry-run
vaultsync mcp --agent indy
vaultsync mcp --agent indy --http
vaultsync bases write
vaultsync bases write --folder Tables
vaultsync bases types
vaultsync bases types --write
vaultsync plugin install
eval "$(vaultsync completion bash)"
"""
"""The examples of all commands, as a user would type them."""


def examples_of(name: str, subnames: Collection[str] = ()) -> list[str]:
    """The examples of a command; those of a group name none of its commands, `subnames`."""
    found = []
    for line in EXAMPLES.strip().splitlines():
        _, mine, rest = f"{line} ".partition(f"vaultsync {name} ")
        if mine and rest.partition(" ")[0] not in subnames:
            found.append(line)
    return found


def add_examples(command: click.Command, name: str) -> click.Command:
    """Add the examples to the help of a command and its subcommands; return the command."""
    subcommands = command.commands if isinstance(command, click.Group) else {}
    if lines := examples_of(name, subcommands):
        command.epilog = "\n".join(("\b", "Examples:", *(f"  {line}" for line in lines)))
    for subname, subcommand in subcommands.items():
        add_examples(subcommand, f"{name} {subname}")
    return command
