"""The settings of a vault: what makes sense, and what follows them."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import vaultsync
from tests.machines import configure_machine
from tests.rerankers import write_cross_encoder
from vaultsync.api import configuration as config
from vaultsync.api.memory import Memory
from vaultsync.api.read_only import recall_from_index_files
from vaultsync.backends.embedders import rerankers
from vaultsync.backends.system.system_clock import SystemClock
from vaultsync.errors import ConfigError, VaultsyncError
from vaultsync.recall.ranking import FIELD_WEIGHTS, RankingWeights
from vaultsync.recall.recall_request import RecallRequest
from vaultsync.settings import PrivacySettings, Settings


def _set(root: Path, settings: str) -> None:
    """Settings beside the identity, which stays as it is."""
    marker = root / ".meta" / "config.toml"
    marker.parent.mkdir(parents=True, exist_ok=True)
    text = marker.read_text() if marker.exists() else f'vault_id = "{SystemClock().new_id()}"\n'
    kept = [line for line in text.splitlines() if line.startswith("vault_id")]
    marker.write_text("\n".join([*kept, settings]))


def _load(root: Path, text: str) -> Settings:
    _set(root, text)
    return config.load_settings(root, state_dir=str(root / "state"))


def test_what_is_not_weighed_keeps_its_default(tmp_path: Path) -> None:
    assert _load(tmp_path, "").weights == RankingWeights()
    text = "[weights]\nrecency = 0\nvectors = 2\n[weights.fields]\ntitle = 5\n"
    found = _load(tmp_path, text).weights
    assert (found.similarity, found.recency, found.vectors) == (0.5, 0, 2)
    assert found.fields == {**FIELD_WEIGHTS, "title": 5}


def test_hygiene_is_on_and_its_patterns_are_expressions_or_kinds(tmp_path: Path) -> None:
    found = _load(tmp_path, "").hygiene
    assert found == PrivacySettings()
    assert (found.secrets, found.neutralise) == (True, True)
    configure_machine(tmp_path, '[hygiene]\nenvironment = ["TOKEN"]\n')
    found = _load(tmp_path, '[hygiene]\npatterns = ["acme-[0-9]{4}", "@iban"]\n').hygiene
    assert (found.patterns, found.environment) == (("acme-[0-9]{4}", "@iban"), ("TOKEN",))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[weights]\nrecency = -1", "0 or more"),
        ("[weights]\nrecency = nan", "0 or more"),
        ("[weights]\nvectors = inf", "0 or more"),
        ("[weights]\nutility = true", "utility"),
        ("[weights]\nrecentness = 1", "similarity, recency"),
        ("[weights.fields]\nbody = 1", "title, aliases"),
        ("[weights]\nsimilarity = 0\nrecency = 0\nutility = 0", "above 0"),
        ("[weights.fields]\n" + "\n".join(f"{f} = 0" for f in FIELD_WEIGHTS), "above 0"),
        ("max_note_bytes = 'big'", "expected a number of bytes (1024 or more), got 'big'"),
        ("ignore = 'Templates'", 'a list of folders, such as ["Templates"]'),
        ("watch = 1", "setting watch: expected a table, got 1"),
        (
            "permissions.agents.indy.read = ['private-*']",
            'setting permissions: expected scopes such as "public"',
        ),
        ("permissions.teams.public = []", "setting permissions: expected scopes such as"),
        (
            "[permissions.agents.indy.weights]\nsimilarity = 0\nrecency = 0\nutility = 0",
            "permissions.agents.indy.weights: expected similarity, recency or utility above 0",
        ),
        (
            "permissions.agents.indy.max_hits = 0",
            "setting permissions.agents: expected a table for each agent",
        ),
        ("[watch]\nwatcher = 'eyes'", "one of auto, watchfiles, watchdog, polling"),
        ("language = 'klingon'", "english"),
        ("embedder = {a = 1}", "setting embedder: expected text in quotes"),
        ("embedder = 'locl'", "local, local:PATH, sentence"),
        ("embedder = 'none:'", "VAULTSYNC_EMBEDDER"),
        ("index_folder = '/'", "is empty"),
        ("index_folder = '../Index'", "folder of the vault"),
        ("index_folder = 'a//b'", "is empty"),
        ("index_folder = '.hidden'", "begin with a dot"),
        ("[hygiene]\nneutralise = 'no'", "neutralise"),
        ("[hygiene]\nenvironment = [1]", "environment"),
        ("[hygiene]\npatterns = ['@cards']", "@cards"),
        ("[hygiene]\npatterns = ['(']", "regular expression"),
        ("[hygiene]\npatterns = ['a*']", "expression that does not match empty text"),
        ("[hygiene]\npatterns = ['(a+)+b']", "regular expression"),
        ("[hygiene]\npatterns = ['x(a|b*c){2}']", "regular expression"),
        ("ignores = []", "'ignores' in .meta/config.toml did you mean 'ignore'?"),
        ("root = '/'", "'root' in .meta/config.toml"),
        ("[hygiene]\noptional = []", "in [hygiene] of .meta/config.toml the settings are patterns"),
        ("[watch]\nwacther = 'auto'", "in [watch] of .meta/config.toml did you mean 'watcher'?"),
        ("[map]\nmood.high = 1", "a field such as type or priority"),
        ("[map]\nid.x = 'y'", "a field such as type or priority"),
        ("[map]\npriority.high = 9", "map.priority.high"),
        ("[map]\ntype.book = 'reference'", "map.type.book"),
        ("zzz = 1", "unknown setting 'zzz' in .meta/config.toml the settings are vault_id, "),
    ],
)
def test_what_makes_no_sense_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, why: str
) -> None:
    monkeypatch.delenv("VAULTSYNC_EMBEDDER", raising=False)
    with pytest.raises(ConfigError) as refused:
        _load(tmp_path, text)
    assert why in f"{refused.value.message} {refused.value.hint}"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a = " + "[" * 5000 + "]" * 5000, "nested too deeply"),
        ("a." * 30_000 + "a = 1", "more than 2,000 dots"),
        ("watch." + "a." * 1500 + "a = 1", "unknown setting 'a' in [watch]"),
        ("linger_seconds." + "a." * 1500 + "a = 1", "what is too long to show"),
        ("linger_seconds = " + "9" * 5000, "digits"),
        ("linger_seconds = " + "9" * 400, "at most 315,360,000, got 999"),
        ("linger_seconds = 0x" + "F" * 6000, "what is too long to show"),
        ("[qdrant]\nretention_days = 1e6", "at most 36,500"),
        ("decay_floor = 2", "at most 1"),
        ("decay_floor = -1", "0 or more"),
        ("[qdrant]\nshard_number = 9999999999", "at most 2,147,483,648"),
        ("max_note_bytes = 0", "a number of bytes (1024 or more), got 0"),
        ("max_note_bytes = 1e12", "at most 1,073,741,824"),
        ("# " + "x" * 70_000, "more than 65,536 bytes"),
        ("ignore = ['../x']", "folders of the vault"),
    ],
    ids=lambda text: text[:24],
)
def test_what_no_machine_holds_is_refused_with_limits(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(ConfigError) as refused:
        _load(tmp_path, text)
    assert why in refused.value.message
    assert len(refused.value.message) < 400


VALUES = st.one_of(
    st.sampled_from(
        ["true", "nan", "-inf", "1e400", "0x" + "F" * 5000, "9" * 4400, "1979-05-27", "07:32:00"]
    ),
    st.sampled_from(["[[", "]", "{", '"""', "'", "{a = 1}", "[1, 'x', []]", "[" * 400 + "]" * 400]),
    st.integers().map(str),
    st.floats().map(str),
    st.text(max_size=9).map(json.dumps),
    st.lists(st.text(max_size=5), max_size=3).map(json.dumps),
)
NAMES = st.sampled_from(
    [*Settings.__struct_fields__, "hygiene.patterns", "watch.watcher", "qdrant.tls", "a.b", "trust"]
)
LINES = st.one_of(
    st.tuples(NAMES, VALUES).map(" = ".join),
    st.sampled_from(["[watch]", "[hygiene]", "[qdrant]", "[weights.fields]", "[[ignore]]", "[a"]),
    st.text(max_size=9),
)


@given(marker=st.lists(LINES, max_size=6), machine=st.lists(LINES, max_size=4))
def test_whatever_stands_in_the_files_ends_in_settings_or_in_an_error_of_ours(
    tmp_path_factory: pytest.TempPathFactory, marker: list[str], machine: list[str]
) -> None:
    root = tmp_path_factory.mktemp("vault")
    (root / ".meta").mkdir()
    text = "\n".join([f'vault_id = "{SystemClock().new_id()}"', *marker])
    (root / ".meta" / "config.toml").write_text(text, encoding="utf-8", errors="surrogatepass")
    with suppress(VaultsyncError):
        assert config.load_settings(root).store == "sqlite"
        configure_machine(root, "\n".join(machine))
        config.load_settings(root)


@pytest.mark.parametrize(
    "name",
    [
        "zzz",
        "",
        "../../x",
        "0193f6c2-7b1a-7c3d-8e4f-5a6b7c8d9e0",
        "0193F6C2-7B1A-7C3D-8E4F-5A6B7C8D9E01",
    ],
)
def test_an_id_is_a_uuid(tmp_path: Path, name: str) -> None:
    (tmp_path / ".meta").mkdir()
    (tmp_path / ".meta" / "config.toml").write_text(f"vault_id = {json.dumps(name)}\n")
    with pytest.raises(ConfigError) as refused:
        config.load_settings(tmp_path)
    assert "vault_id" in refused.value.message
    assert "backup" in refused.value.hint


def test_your_file_wins_and_the_caller_over_it(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VAULTSYNC_EMBEDDER")
    _set(root, 'embedder = "hash"\nlinger_seconds = 5\n[watch]\nrescan_seconds = 7\n')
    own = 'store = "sqlite:own"\nlinger_seconds = 9\n[watch]\nwatcher = "polling"\n'
    configure_machine(root, own)
    monkeypatch.setenv("VAULTSYNC_EMBEDDER", "none")
    found = config.load_settings(root, store="sqlite:mine")
    assert (found.store, found.embedder, found.linger_seconds) == ("sqlite:mine", "none", 9)
    assert (found.watch.watcher, found.watch.rescan_seconds) == ("polling", 7)
    ok, said = _checks(root)["settings"]
    assert ok
    for each in (
        "store: this machine",
        "embedder: environment",
        "linger_seconds: this machine",
        "watch.rescan_seconds: vault",
        "vault_id: vault",
        "all others: default",
    ):
        assert each in said


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("storre = 'x'", "did you mean 'store'"),
        ("vault_id = '0193f6c2-7b1a-7c3d-8e4f-5a6b7c8d9e02'", "for another vault"),
        ("trust = 1", "the table [trust]"),
        ("x = ", "cannot be read"),
        ("<<<<<<< HEAD\n=======\n>>>>>>> phone\n", "conflict markers of git: the file contains"),
    ],
)
def test_your_own_file_is_checked_and_named(root: Path, text: str, why: str) -> None:
    configure_machine(root, text)
    with pytest.raises(ConfigError) as refused:
        _open(root)
    said = f"{refused.value.message} {refused.value.hint}"
    assert why in said
    assert str(config.machine_file(config.marker_id(root) or "")) in said


def test_the_status_of_a_running_memory_says_that_its_settings_would_be_refused(root: Path) -> None:
    with _open(root) as memory:
        assert not memory.status().attention
        _set(root, "[hygiene]\nsecrets = false\n")
        (notice,) = memory.status().attention
        assert notice.kind == "UntrustedVaultError"
        assert ".meta/config.toml was changed" in notice.message
        assert "show secrets" in notice.message
        assert "vaultsync trust" in notice.hint


def test_an_embedder_of_the_environment_is_checked_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAULTSYNC_EMBEDDER", "non")
    with pytest.raises(ConfigError, match="unknown embedder 'non'"):
        _load(tmp_path, "")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *((text, True) for text in ("on", "1", "true", "yes", "ON", " True ")),
        *((text, False) for text in ("off", "0", "false", "no", "No")),
        *(("", default) for default in (True, False)),
    ],
)
def test_a_switch_in_the_environment_may_be_spelled_in_each_common_way(
    root: Path, monkeypatch: pytest.MonkeyPatch, text: str, value: bool
) -> None:
    configure_machine(
        root, f"embed_in_background = {str(value if not text else not value).lower()}"
    )
    monkeypatch.setenv("VAULTSYNC_EMBED_IN_BACKGROUND", text)
    assert config.load_settings(root).embed_in_background is value


def test_another_word_for_a_switch_is_refused(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULTSYNC_EMBED_IN_BACKGROUND", "perhaps")
    with pytest.raises(ConfigError, match="VAULTSYNC_EMBED_IN_BACKGROUND is 'perhaps'") as refused:
        config.load_settings(root)
    assert "on (or 1, true, yes) or off (or 0, false, no)" in refused.value.hint


@pytest.mark.parametrize("text", ["Index", "Index/", "/Index"])
def test_a_folder_for_the_tables_may_be_written_as_people_do(tmp_path: Path, text: str) -> None:
    assert _load(tmp_path, f"index_folder = '{text}'").index_folder == "Index"


def test_all_settings_are_settings(tmp_path: Path) -> None:
    """Those of the page, which names each of them."""
    page = Path(__file__).parents[1] / "docs" / "reference" / "settings.md"
    said = page.read_text(encoding="utf-8").split("```toml\n")[1].split("```")[0]
    assert _load(tmp_path, said.partition("\n")[2]).linger_seconds == 60


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "vault"
    vaultsync.init(str(root), state_dir=str(tmp_path / "state"))
    return root


def _open(root: Path) -> Memory:
    return vaultsync.open(str(root), state_dir=str(root.parent / "state"))


def _checks(root: Path) -> dict[str, tuple[bool, str]]:
    with _open(root) as memory:
        return {each.name: (each.ok, f"{each.message} {each.hint}") for each in memory.doctor()}


@pytest.mark.parametrize(
    ("embedder", "why"),
    [
        ("local:/no/such", "/no/such"),
        ("http:tea.example#model", "not a valid service URL"),
        ("http:https://tea.example", "names no model"),
    ],
)
def test_the_doctor_says_why_there_is_no_embedder(
    root: Path, monkeypatch: pytest.MonkeyPatch, embedder: str, why: str
) -> None:
    monkeypatch.setenv("VAULTSYNC_EMBEDDER", embedder)
    ok, said = _checks(root)["embedder"]
    assert not ok
    assert why in said
    monkeypatch.setenv("VAULTSYNC_EMBEDDER", "hash")
    assert _checks(root)["embedder"][0]


def test_the_doctor_says_what_reranks_hits(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULTSYNC_EMBEDDER", "hash")
    assert "not reranked" in _checks(root)["reranker"][1]
    folder = write_cross_encoder(root.parent / "tea-model")
    configure_machine(root, f"reranker = 'local:{folder}'")
    assert "tea-model" in _checks(root)["reranker"][1]
    configure_machine(root, "reranker = 'local'")
    monkeypatch.setattr(rerankers, "_CROSS_ENCODER_PACKAGE", "no_such_package")
    ok, said = _checks(root)["reranker"]
    assert not ok
    assert "vaultsync[rerank]" in said


@pytest.mark.parametrize("folder", ["Start here.md", "Start here.md/Index"])
def test_the_doctor_says_that_a_file_is_where_the_tables_shall_be(root: Path, folder: str) -> None:
    (root / "Start here.md").write_text("Hello.")
    _set(root, f"index_folder = '{folder}'")
    ok, said = _checks(root)["settings"]
    assert not ok
    assert "'Start here.md' is a file" in said
    _set(root, "index_folder = 'Index'")
    assert _checks(root)["settings"][0]


def test_the_doctor_says_what_is_not_escaped(root: Path) -> None:
    configure_machine(root, "[hygiene]\nneutralise = false\n")
    ok, said = _checks(root)["hygiene"]
    assert ok
    assert "not escaped" in said


def _remember(root: Path, *facts: dict[str, str]) -> None:
    _set(root, 'embedder = "none"')
    with _open(root) as memory:
        memory.import_(map(json.dumps, facts))
        memory.sync()


def _titles(root: Path, question: str, text: str = "") -> list[str]:
    _set(root, f'embedder = "none"\n{text}')
    with _open(root) as memory:
        return [hit.title for hit in memory.recall(question)]


def _titles_without_store(root: Path) -> list[str]:
    return [hit.title for hit in recall_from_index_files(RecallRequest("berths"), path=str(root))]


OLD = {"title": "Old", "content": "Berths berths berths.", "createdAt": "2020-01-01"}
NEW = {"title": "New", "content": "Berths, and a sentence of many more words beside."}


def test_hits_follow_the_weights_of_the_score(root: Path) -> None:
    _remember(root, OLD, NEW)
    fits = "[weights]\nrecency = 0\nutility = 0\n"
    newest = "[weights]\nsimilarity = 0.1\nrecency = 5\n"
    assert _titles(root, "berths", fits) == ["Old", "New"]
    assert _titles(root, "berths", newest) == ["New", "Old"]
    with _open(root) as memory:
        (best, _) = memory.recall("berths")
    assert best.score == pytest.approx(
        0.1 * best.similarity + 5 * best.recency + 0.2 * best.utility, abs=1e-3
    )


def test_a_clone_without_a_store_follows_them_too(root: Path) -> None:
    _remember(root, OLD, NEW)
    for recency, first in ((0, "Old"), (5, "New")):
        _set(root, f"[weights]\nutility = 0\nrecency = {recency}\n")
        assert _titles_without_store(root)[0] == first


def test_hits_below_the_least_score_are_left_out(root: Path) -> None:
    _remember(root, OLD, NEW)
    fits = "[weights]\nrecency = 0\nutility = 0\n"
    assert _titles(root, "berths", fits) == ["Old", "New"]
    assert _titles(root, "berths", f"{fits}least = 0.45") == ["Old"]
    assert _titles_without_store(root) == ["Old"]
    assert _titles(root, "berths", f"{fits}least = 2") == []


def test_hits_follow_the_weights_of_the_fields_at_once(root: Path) -> None:
    named = {"title": "Berths", "content": "What stands here is of no matter."}
    _remember(root, named, NEW)
    only = "[weights]\nrecency = 0\n[weights.fields]\n"
    assert _titles(root, "berths", f"{only}title = 9") == ["Berths", "New"]
    assert _titles(root, "berths", f"{only}content = 90") == ["New", "Berths"]
    assert _titles(root, "berths", f"{only}title = 0") == ["New"]


def test_another_language_makes_a_new_index(root: Path) -> None:
    _remember(root, {"title": "Häuser", "content": "Häuser"})
    assert _titles(root, "Haus") == []
    assert _titles(root, "Haus", 'language = "German"') == ["Häuser"]
    assert _titles(root, "Haus") == []


def test_words_of_the_author_get_the_values_that_they_mean(tmp_path: Path) -> None:
    settings = _load(tmp_path, "[map]\ntype.Book = 'note'\npriority.high = 1\npriority.HIGHEST = 0")
    assert settings.map == {"type": {"book": "note"}, "priority": {"high": 1, "highest": 0}}


def test_words_of_the_author_may_be_ignored_one_by_one_or_all(tmp_path: Path) -> None:
    settings = _load(tmp_path, "[map]\ntype.'*' = 'ignore'\npriority.high = 'ignore'")
    assert settings.map == {"type": {"*": None}, "priority": {"high": None}}
