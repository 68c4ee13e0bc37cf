from __future__ import annotations

import errno
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import tomllib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import pytest
import tantivy
from hypothesis import example, given
from hypothesis import strategies as st

from tests.contracts.test_note_index import ALL, IDS, A, B, a_fact, found, put
from tests.markdown.test_encoded_data import data
from tests.snippets import packages_after, run
from vaultsync.backends.tantivy import index as index_tantivy
from vaultsync.backends.tantivy.analysis import PLAIN, stemming_analyzer
from vaultsync.backends.tantivy.index import TantivyIndex
from vaultsync.errors import ConfigError, IndexBusyError, IndexChangedError
from vaultsync.indexing.folded_text import fold_text
from vaultsync.indexing.ports import IndexDocument
from vaultsync.indexing.text_normalization import normalize_text_form, split_words
from vaultsync.model.fact import Fact
from vaultsync.model.filters import FactFilters
from vaultsync.storage.erasure import Traces

pytestmark = pytest.mark.long(5)

ROOT = Path(__file__).parents[2]
LANGUAGES = tomllib.loads((Path(__file__).parent / "languages.toml").read_text(encoding="utf-8"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "index" / "words"


@pytest.fixture
def index(folder: Path) -> TantivyIndex:
    return TantivyIndex(folder)


# --- languages -------------------------------------------------------------------------


def test_notes_in_many_languages_are_found_in_one_vault(index: TantivyIndex) -> None:
    pairs = [
        (language, note, question)
        for language, said in LANGUAGES.items()
        for note, question in zip(said["notes"], said["questions"], strict=True)
    ]
    put(index, *(Fact(IDS[n], content=pair[1]) for n, pair in enumerate(pairs)))

    missed = [
        (language, question)
        for n, (language, _, question) in enumerate(pairs)
        if found(index, question, limit=3)[:1] != [IDS[n]]
    ]

    # The Turkish one asks in a form whose stem is another one; the Spanish one repeats
    # no word but one that is French, too.
    assert [language for language, _ in missed] == ["spanish", "turkish"]


def test_encoded_data_has_no_words(index: TantivyIndex) -> None:
    picture = data(600)
    put(index, Fact(A, content=f"The chart.\n\n![](data:image/png;base64,{picture})\n\nIt rises."))

    assert found(index, "chart rises") == [A]
    assert found(index, picture[300:340]) == []


def test_the_words_of_a_language_are_stemmed_whatever_the_default_is(folder: Path) -> None:
    index = TantivyIndex(folder, language="german")
    note = "Die Verträge über die Häuser sind alle in diesem Ordner."
    put(index, a_fact(A, note), a_fact(B, "They are running the tests in the cache."))

    assert found(index, "Wo ist der Vertrag für das Haus?") == [A]
    assert found(index, "Who runs a test?") == [B]


@pytest.mark.parametrize(
    ("question", "terms"),
    [
        ("Wo wohnt Steffi?", ["wohnt", "steffi"]),
        ("Welches Auto fahren wir?", ["auto", "fahr"]),
        ("Wie hoch ist unsere Miete?", ["hoch", "miet"]),
    ],
)
def test_a_short_question_has_no_stop_words(
    index: TantivyIndex, question: str, terms: list[str]
) -> None:
    assert index.tokens(question) == terms


@pytest.mark.parametrize(("note", "question"), [("école", "ECOLE"), ("Straße", "strasse")])
def test_accents_make_no_difference(index: TantivyIndex, note: str, question: str) -> None:
    put(index, a_fact(A, note), a_fact(B, "İstanbul ve Ankara"))
    for each in (note, question):
        assert found(index, each) == [A]
    assert found(index, "istanbul") == found(index, "İSTANBUL") == [B]


def test_a_text_without_a_language_is_in_that_of_the_setting(folder: Path) -> None:
    put(english := TantivyIndex(folder), a_fact(A, "Datenbanken"))
    assert found(english, "Datenbank") == []

    german = TantivyIndex(folder, language="german")
    assert german.version() is None
    put(german, a_fact(A, "Datenbanken"))
    assert found(german, "Datenbank") == [A]
    with pytest.raises(ConfigError):
        TantivyIndex(folder, language="klingon")


ASSIGNED = st.characters(max_codepoint=0xFFFF, exclude_categories=["Cn", "Co", "Cs"])


@given(st.text(ASSIGNED))
@example("snake_case, don't, e-mail, x1")
def test_split_words_cuts_where_the_tokenizer_of_the_index_does(text: str) -> None:
    plain = PLAIN.analyze(normalize_text_form(text))

    assert plain == [
        word.lower() for word in split_words(normalize_text_form(text)) if len(word.encode()) < 100
    ]


# --- weights ---------------------------------------------------------------------------


def test_a_weight_lifts_what_matches_there_and_zero_leaves_a_field_out(folder: Path) -> None:
    facts = [a_fact(A, "Mate.", title="Green", tags=["hot"]), a_fact(B, "Green.", title="Mate")]
    put(TantivyIndex(folder), *facts)

    for field, first in (("title", A), ("content", B)):
        index = TantivyIndex(folder, weights={"title": 1.0, field: 9.0})
        assert found(index, "green")[0] == first
    assert found(index, "hot") == [A]
    without = {"tags": 0.0, "around": 0.0}  # `around` has the tags, too
    assert found(TantivyIndex(folder, weights=without), "hot") == []


# --- many ------------------------------------------------------------------------------


def test_what_few_facts_pass_is_found_among_many(index: TantivyIndex) -> None:
    many = [
        Fact(f"0193f6c2-0000-7000-8000-{n:012x}", title="Tea", content="Green " * (n % 9))
        for n in range(3_000)
    ]
    rare = [each.evolve(id=IDS[n], status="rare") for n, each in enumerate(many[:7])]
    index.update([IndexDocument(each) for each in (*many, *rare)], [], version="1")
    hits = index.search("green tea", FactFilters(status="rare"), limit=5)
    assert {each.fact_id for each in hits} < {each.id for each in rare}
    assert len(hits) == 5
    assert index.count() == 3_007
    first = [each.fact_id for each in index.search("tea", FactFilters(), limit=3)]
    assert first == sorted(first)


def test_a_pasted_document_is_a_question(index: TantivyIndex) -> None:
    put(index, a_fact())

    assert found(index, "tea " + " ".join(f"word{n}" for n in range(20_000))) == [A]


# --- the version -----------------------------------------------------------------------


def test_a_version_to_which_nothing_changed_is_kept_beside(folder: Path) -> None:
    index = TantivyIndex(folder)
    put(index, a_fact(), version="1")
    before = (folder / "meta.json").read_bytes()
    index.update([], [], version="2:é\n3")

    assert index.version() == TantivyIndex(folder).version() == "2:é\n3"
    assert (folder / "meta.json").read_bytes() == before
    index.update([], [A], version="4")
    assert index.version() == TantivyIndex(folder).version() == "4"


@pytest.mark.parametrize("text", ["0\n9", "", "1", "\xff"])
def test_a_version_beside_an_older_commit_does_not_count(folder: Path, text: str) -> None:
    put(TantivyIndex(folder), a_fact(), version="1")
    (folder / "version").write_bytes(text.encode("latin-1"))

    assert TantivyIndex(folder).version() == "1"


# --- damage ----------------------------------------------------------------------------


def _pipe(path: Path) -> None:
    """Whoever opens it waits for a writer that never comes."""
    path.unlink()
    os.mkfifo(path)


DAMAGE: dict[str, Callable[[Path], None]] = {
    "gone": Path.unlink,
    "empty": lambda path: os.truncate(path, 0),
    "half": lambda path: os.truncate(path, path.stat().st_size // 2),
    "pipe": _pipe,
    "short": lambda path: os.truncate(path, path.stat().st_size - 1),
}


def _cleared(index: TantivyIndex) -> None:
    index.clear()


def _put(index: TantivyIndex) -> None:
    put(index, a_fact(IDS[2]), version=f"{index.count()}")


@pytest.mark.parametrize("facts", [[], [a_fact(B)]])
@pytest.mark.parametrize("was", [_cleared, _put, None])
@pytest.mark.parametrize("becomes", [_cleared, _put])
def test_an_update_after_another_process_changed_the_index_does_nothing(
    index: TantivyIndex,
    folder: Path,
    facts: list[Fact],
    was: Callable[[TantivyIndex], None] | None,
    becomes: Callable[[TantivyIndex], None],
) -> None:
    """As during a purge: its facts would come back, and all others be missing for good."""
    if was is not None:
        was(index)
    late = TantivyIndex(folder)
    version = late.version()
    assert (version is None) is (was is not _put)
    becomes(index)
    before = index.version(), index.count()
    entries = [IndexDocument(each) for each in facts]
    with pytest.raises(IndexChangedError):
        late.update(entries, [], version="4")
    assert (index.version(), index.count()) == before
    assert late.version() == before[0]
    late.update(entries, [], version="4")
    assert (index.version(), index.count()) == ("4", before[1] + len(facts))


@pytest.mark.parametrize("how", DAMAGE)
def test_a_damaged_index_is_an_empty_one_and_is_built_anew(how: str, tmp_path: Path) -> None:
    index = TantivyIndex(tmp_path / "whole")
    put(index, *(a_fact(each, sessionId="s") for each in IDS[:20]))
    index.update([], [IDS[19]], version="2")
    whole = _all_answers(index)
    files = {
        path.suffix or path.name: path.name
        for path in (tmp_path / "whole").iterdir()
        if not path.name.startswith(".")
    }
    assert len(files) > 5
    for kind, name in files.items():
        folder = tmp_path / kind.strip(".")
        shutil.copytree(tmp_path / "whole", folder)
        DAMAGE[how](folder / name)
        index = TantivyIndex(folder)

        told = _all_answers(index)
        if told != whole:
            assert index.version() is None, (kind, told)
            assert _all_answers(index) == (([], []), [], None, 0)
        put(index, a_fact(A), version="3")
        assert A in found(TantivyIndex(folder), "tea")
        assert TantivyIndex(folder).version() == "3"


def _all_answers(index: TantivyIndex) -> tuple[object, ...]:
    hits = found(index, "tea", limit=50), found(index, "", ALL, "green tea", limit=50)
    turns = sorted(index.turns([], [A]))
    return hits, turns, index.version(), index.count()


@pytest.mark.parametrize("times", [2, 99])
def test_a_folder_in_which_the_library_still_tidies_up_is_removed_in_the_end(
    index: TantivyIndex, folder: Path, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    put(index, a_fact())
    remove = shutil.rmtree
    busy = iter(range(times))

    def not_yet(path: Path) -> None:
        if next(busy, None) is not None:
            raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY))
        remove(path)

    monkeypatch.setattr(shutil, "rmtree", not_yet)
    with nullcontext() if times == 2 else pytest.raises(OSError, match="not empty"):
        index.clear()
    assert (folder / "meta.json").exists() == (times != 2)


def _of_another_schema(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()
    schema = tantivy.SchemaBuilder().add_text_field("title").build()
    tantivy.Index(schema, str(folder))


def _of_another_version(folder: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index_tantivy, "_FORMAT", "0 tantivy 0.1")
        put(TantivyIndex(folder), a_fact())


def _a_file_in_its_place(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("no folder")


def _listing(text: bytes) -> Callable[[Path], object]:
    return lambda folder: (folder / "meta.json").write_bytes(text)


@pytest.mark.parametrize("is_open", [False, True])
@pytest.mark.parametrize(
    "spoil",
    [
        *map(_listing, [b"{}", b"[1", b"\xff\x00", b"null"]),
        _of_another_schema,
        _of_another_version,
        _a_file_in_its_place,
        shutil.rmtree,
    ],
)
def test_what_is_no_index_of_this_version_is_none(
    folder: Path, spoil: Callable[[Path], object], is_open: bool
) -> None:
    index = TantivyIndex(folder)
    put(index, a_fact())
    spoil(folder)
    index = index if is_open else TantivyIndex(folder)

    assert (index.version(), index.count(), found(index, "tea")) == (None, 0, [])
    put(index, a_fact())
    assert found(index, "tea") == [A]


@pytest.mark.parametrize("asked", [lambda index: index, TantivyIndex.last_commit])
def test_damage_that_shows_in_an_answer_is_damage_and_nothing_else_is(
    asked: Callable[[TantivyIndex], TantivyIndex],
    index: TantivyIndex,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    put(index, a_fact())

    monkeypatch.setattr(index_tantivy, "best_hits", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        found(asked(index), "tea")
    assert index.version() == "1"
    monkeypatch.setattr(index_tantivy, "best_hits", PANIC)
    assert found(asked(index), "tea") == []
    assert index.version() is None
    monkeypatch.undo()
    put(index, a_fact(B))
    assert found(index, "tea") == [B]


class PanicException(BaseException):
    """As the library has it."""


PANIC = Mock(side_effect=PanicException)


# --- a disk that is full ---------------------------------------------------------------

FULL = """
import errno, resource, sys
from tests.backends.test_tantivy import IDS, TantivyIndex, a_fact, found, put

limits = resource.getrlimit(resource.RLIMIT_FSIZE)
for size in sys.argv[3:]:
    index = TantivyIndex(sys.argv[1] + size)
    if sys.argv[2] == "filled":
        put(index, a_fact(IDS[0]), version="1")
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(size), limits[1]))
    try:
        put(index, *(a_fact(x, f"{x} tea " * 50) for x in IDS[1:]), version="2")
    except OSError as error:
        print(error.errno in (errno.EFBIG, errno.EIO, errno.ENOSPC), end=" ")
    print(index.version(), index.count(), len(found(index, "tea")), end=" ")
    resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    put(index, a_fact(IDS[1]), version="3")
    print(index.version(), index.count())
"""


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="no limit to the size of files")
@pytest.mark.parametrize(
    ("what", "told"), [("filled", "True 1 1 1 3 2\n"), ("new", "True None 0 0 3 1\n")]
)
def test_a_full_disk_leaves_the_index_as_it_was(folder: Path, what: str, told: str) -> None:
    sizes = [0, 10, 100, 500, 1_000, 4_000, 20_000]

    assert run(FULL, folder, what, *sizes) == told * len(sizes)


def test_a_panic_while_writing_is_an_error_of_the_disk(
    index: TantivyIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(index, a_fact())
    monkeypatch.setattr(TantivyIndex, "_put_version", PANIC)

    with pytest.raises(OSError, match="Input/output error"), index._on_disk():
        index.update([], [A], version="2")
    assert (found(index, "tea"), index.version()) == ([A], "1")


def test_an_error_of_the_disk_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    unnamed = "An index writer was killed"
    said = [unnamed, "No space left on device (os error 28)"]
    assert [index_tantivy._disk_error(each, ROOT).errno for each in said] == [
        errno.EIO,
        errno.ENOSPC,
    ]
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=0))
    assert index_tantivy._disk_error(unnamed, ROOT).errno == errno.ENOSPC


# --- several processes -----------------------------------------------------------------


WRITER = """
import sys
from tests.backends.test_tantivy import IDS, IndexDocument, TantivyIndex, a_fact

def entries():
    for each in IDS:
        yield IndexDocument(a_fact(each, "Black."))
    print("writing", flush=True)
    sys.stdin.readline()

TantivyIndex(sys.argv[1]).update(entries(), [], version="2")
print("done", flush=True)
"""


def test_an_index_that_cannot_be_written_is_read_where_it_is(
    index: TantivyIndex, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(index, a_fact(A, "Tea at four."))
    index.count()  # it has the files open
    for each in folder.glob(".*.lock"):
        each.unlink()
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    # Permissions would not stop root.
    monkeypatch.setattr(os, "access", lambda path, _: Path(path) != folder)
    reader = TantivyIndex(folder)
    before = sorted(folder.iterdir())
    assert found(reader, "tea") == [A]
    assert sorted(folder.iterdir()) == before
    put(index, a_fact(B, "Tea at five."))
    assert sorted(found(reader, "tea")) == sorted([A, B])
    with pytest.raises(OSError, match="denied"):
        reader.update([], [A], version="2")
    assert sorted(found(reader, "tea")) == sorted([A, B])
    monkeypatch.undo()
    reader.close()
    assert list(temporary.iterdir()) == []
    reader.update([], [A], version="2")
    assert found(index, "tea") == [B]


@pytest.fixture
def writer(folder: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process in the middle of an update."""
    put(TantivyIndex(folder), a_fact(A, "Green."))
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "writing\n"
        yield process
        process.kill()


def test_what_another_process_writes_is_found_once_it_is_done_and_until_then_none_else_writes(
    writer: subprocess.Popen[str], index: TantivyIndex
) -> None:
    assert (found(index, "green"), index.version()) == ([A], "1")
    with pytest.raises(IndexBusyError):
        put(index, a_fact(B))
    with pytest.raises(IndexBusyError):
        index.clear()
    assert (found(index, "green"), found(index, "black")) == ([A], [])
    out, _ = writer.communicate("\n", timeout=60)

    assert out == "done\n"
    assert len(found(index, "black", limit=999)) == len(IDS)
    assert (found(index, "green"), index.version()) == ([], "2")
    put(index, a_fact(B, "White."), version="3")
    assert found(index, "white") == [B]


def test_a_writer_that_is_killed_leaves_the_index_as_it_was(
    writer: subprocess.Popen[str], index: TantivyIndex
) -> None:
    writer.send_signal(signal.SIGKILL)
    writer.wait()

    assert (found(index, "green"), index.version()) == ([A], "1")
    put(index, a_fact(B, "White."), version="3")
    assert {*found(index, "tea")} == {A, B}


def test_what_is_erased_waits_for_a_writer(
    writer: subprocess.Popen[str], index: TantivyIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A purge has deleted the facts by then, which the next question puts into the index."""
    with monkeypatch.context() as patched:
        patched.setattr(index_tantivy, "ERASE_SECONDS", 0.1)
        with pytest.raises(IndexBusyError):
            index.erase(Traces([A]))
    assert index.count() == 1
    ends = threading.Timer(0.3, writer.communicate, ["\n"])
    ends.start()
    assert index.erase(Traces([A])) == {"note index": 1}
    assert index.version() is None
    ends.join()


def test_a_process_that_starts_may_make_the_folder_of_an_index_that_is_removed(
    index: TantivyIndex, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remove = shutil.rmtree

    def removed(path: Path) -> None:
        remove(path)
        path.mkdir()

    put(index, a_fact())
    monkeypatch.setattr(shutil, "rmtree", removed)
    index.clear()
    assert index.version() is None
    assert folder.is_dir()


def test_a_writer_without_our_lock_meets_the_librarys(index: TantivyIndex, folder: Path) -> None:
    put(index, a_fact())
    held = tantivy.Index.open(str(folder)).writer(15_000_000, 1)

    with pytest.raises(IndexBusyError):
        put(index, a_fact(B))
    held.wait_merging_threads()
    put(index, a_fact(B))
    assert index.count() == 2


def test_threads_may_share_an_index(index: TantivyIndex) -> None:
    put(index, a_fact(A))
    over = threading.Event()

    def read() -> None:
        while not over.is_set():
            assert A in found(index, "tea", limit=99)

    with ThreadPoolExecutor(3) as pool:
        readers = [pool.submit(read) for _ in range(3)]
        for number, fact_id in enumerate(IDS[1:21]):
            put(index, a_fact(fact_id), version=str(number))
        over.set()
    assert [each.result() for each in readers] == [None] * 3
    assert index.count() == 21


def test_nothing_heavy_is_loaded_to_find_a_word(folder: Path) -> None:
    put(TantivyIndex(folder), a_fact())
    loaded = packages_after(
        "from vaultsync.backends.tantivy.index import TantivyIndex\n"
        "from vaultsync.model.filters import FactFilters\n"
        f"assert TantivyIndex({str(folder)!r}).search('tea', FactFilters(), limit=1)"
    )

    assert "tantivy" in loaded
    heavy = {"numpy", "torch", "lancedb", "pyarrow", "yaml_rs", "ruamel", "rich"}
    assert loaded & heavy == set()


@pytest.mark.parametrize(
    "letters", [range(0xC0, 0x180), range(0x1E00, 0x1F00), range(0x386, 0x530)]
)
def test_a_folded_letter_is_that_of_the_index(letters: range) -> None:
    words = [letter for letter in map(chr, letters) if letter.isalpha()]
    analyze = stemming_analyzer("english").analyze
    indexed = {word: analyze(normalize_text_form(f"xx{word}x")) for word in words}  # no ending
    folded = {word: [fold_text(f"xx{word}x").text] for word in words}
    rare = {"Ŀ", "ŀ", "ẜ", "ẝ", "Ỻ", "ỻ", "Ỿ", "ỿ"}  # not in use, or two words
    assert {w: x for w, x in folded.items() if w not in rare and x != indexed[w]} == {}
