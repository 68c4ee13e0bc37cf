"""Texts that are made to be slow to read, each by a rule for every size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

HostileText = Callable[[int], str]
"""A text of about that many characters."""

_SIGNS = (
    # Secrets.
    "password=", "pwd=", "token=", "api_key: ", "secret: x1", "pass: ", "AKIA", "sk-", "ghp_",
    "eyJ", "eyJ.", "Bearer ", "-----BEGIN RSA PRIVATE KEY-----", "-----BEGIN ", "://", "://a:",
    "://a:b@", "http://u:p@h ", "?token=", "&key=", "%3D", "%20", "\\n", "\\u003d", "[REDACTED:",
    "[REDACTED:x:00000000]", "=", ":", "xoxb-", "abandon ", "4111 1111 ", "a1B2", "\u200b",
    "mysql -p1a ", "docker login a1 ", "login a1 ", "wifi:p:a1;", "wifi a1", "echo a1 ", "a1:*:*:",
    "recovery codes: a1b2 ", "codes: a1b2\n", "passphrase: a b ", "passphrase is a ", "a1 $2y$a",
    "seed word a ", "mnemonic: abandon ", 'password "a ', "a1 as the password ", "otpauth://a1",
    "session=a1", "net use a1 ", "private-lines: 1\na1", "auth: a1a1a1a1", "totp: a1a1 ",
    # Active content.
    "![", "![]", "![](", "![[", "!", "[", "]", "](", "](a)", "[a](", "[a]: ", "[[", "]]", "[[a]]",
    "[[a|", "[[a]", "[](", "[^", "[^1]: ", "<", "<!--", "-->", "<!-- -->", "<script>", "<script",
    "</script>", "<iframe ", "<img src=x ", "<b ", "<a href=", "<a ", 'onclick="', "onerror=",
    "javascript:", "obsidian:", "data:text/html", "file:/", "<%", "%>", "`$= ", "INPUT[",
    "&#106;", "&", "\\", "\\\\", "\\[", "$=", "style=", " on",
    # Blocks.
    "`", "``", "` ", "```", "```\n", "```a\n", "~~~\n", "~~~", "````\n```\n", "> ", "> ```\n",
    ">", "- ", "- - ", "* ", "1. ", "1) ", "    ", "\t", "\t- ", "# ", "## a\n", "###### ",
    "# a #", "a\n===\n", "a\n---\n", "---\n", "***", "* * ", "_ _ ", "$$", "$$\n", "$", "$a$ ",
    "%%", "%%\n", "%%a%%", "|", "|a|b|\n", "|-|\n", "| ", "\n", "\r", "\r\n", "\n\n", " \n",
    "<pre>\n", "<div>\n", "<!DOCTYPE ", "<?", "\f", "\x0b", "\u2028", "\0",
    # Inline.
    "*", "**", "***a ", "_", "__", "_a", "*a_", "~", "~~", "==", "^", "^a ", "#", "#a ", "#a",
    "@", "@a", "a", "a ", "A", "ab", "a.", "a. ", ". ", "!? ", "\u3002", "a, ", "0", "1 ", "1.1",
    '"', "'", '"a ', "(", ")", "()", "((", "{", "}", "{}", "{{", "{{a}}", "+", ";", ",", "/",
    "//", "../", "a/", "\u00ad", "\u200f", "\ufeff",
    # Other scripts.
    "\u00e4", "e\u0301", "\u0301", "\u6f22", "\u304b\u3099", "\ud55c", "\u0639", "\u0e01",
    "\U0001f600", "\u1e9e", "\u0130", "\ufb03", "\u212b",
    # Properties, JSON and settings.
    "a: b\n", "a: [", "a: {", "a: &a ", "a: *a ", "- a\n", "? ", ": ", "!!str ", "!", "| \n",
    "a: |\n", "<<: ", "a:\n  ", '"a":', "[1,", '{"a":', "x = [", "x = {", "[[a.", "[a.b]\n",
    "a.", "-", "--", "---", "--- ", "...\n", "id: ", "tags: [", "0x", "1e",
    # What vaultsync writes.
    "<!-- vaultsync:managed -->", "<!-- /vaultsync:managed -->", "<!-- vaultsync:managed -->\n",
    "## Related Facts\n", "## Entities\n- [[a]]\n", "- [[a]]\n", "- [[a|b]] \u00b7 ",
    "<!-- vaultsync-managed -->\n", "<!-- type: a -->\n", "> **Context:** ", "type:a ", "since:",
    "tag:", "\u201c", "\u300c", "in May ", "last ", "what did ",
    "\u201e", "\u00ab", "q1 ", "2026\u5e74", "dem tag ", "\u6c7a\u5b9a\u306f", "|a b|\n",
    # Grammars of notes: properties, links in links, callouts, footnotes, comments, tables.
    "key: >-\n  a\n\n", "? [a]\n: b\n", 'a: "b\\\n  c"\n', "- - - a\n", "'a''b': ''\n",
    "---\na: b\n---\n", "[[a|b|c|[[d]]]]", "[[a#b#c^d|e]]", "![[a.png|100x100]]\n",
    "[[a|[b](c)|d]]", "[[a\\|b]]|", "[[[a]]]", "> [!note]- a\n> > [!b]+ c\n", "^[a ^[b] c]",
    "[^a]: b\n    c\n\n", "%% a %% %%\nb\n%%\n", "<!-- a -- b --!> c -->", "<!---->", "<!-->",
    "~~~~ a\n~~~\n", "  ```\n ````\n", "> ~~~\n~~~\n", "1. - + * a\n", "- a\n\n\n      b\n",
    "+ [x] a\n\t+ [ ] b\n", "|:-:|-:|\n", "\\| a | `|` |\n",
    # Line ends, and characters that join, turn or hide others.
    "a\r\nb\rc\u2028d\u2029e\x85f\n", "\x85", "- a\r- b\x85- c\u2028", "\x1c\x1d\x1e", "---\r",
    "```\r", "e\u0301\u0302\u0303\u0304\u0305", "\u202ea\u202c", "\u2067\u05d0\u2069 ",
    "a\u200b\u200c\u200d\ufeff", "\ufdfa", "\U0001f468\u200d\U0001f469", "\u1100\u1161\u11a8",
    "\u0345\u03b9", "\u00df\u017f\u0149", "\uff50\uff41\uff53\uff53\uff1a", "p\u0430ssword: ",
    # JSON of imports and canvases, TOML, patterns of paths.
    '"\\ud83d\\ude00"', '"\\ud800",', "\\u0061", "[[],[", '{"a":{"a":', '{"a":1,"a":1},',
    '{"nodes":[{"text":"', '{"role":"user","content":"a"}\n', '"""\n', "a.b.c.d = 1\n", "[[a.b]]\n",
    "a = '''\n", "a = {b = [", "keys = [\n", "  # ]\n", "**/", "**/a/", "*a", "[!a]", "(a+)+",
    "a{1,99}", 'a,"b""c\n', "1e9999,",
    # What tools write, and what vaultsync does.
    "diff --git a/a b/a\n@@ -1 +1 @@\n-a\n+b\n", "<<<<<<< a\n=======\n>>>>>>> b\n", "<<<<<<< ",
    "<!-- vaultsync:memory:begin -->\n",
    "<!-- vaultsync:memory:begin -->\n<!-- vaultsync:memory:end -->\n",
    "- [x] <!-- vaultsync:take field=a -->\n", "- [ ] a <!-- vaultsync:take ",
    "<!-- vaultsync:managed --><!-- /vaultsync:managed -->", "> **Context:** a\n> b\n\n",
    "## a\n<!-- type: lesson -->\n- b\n\n", "@import a\n@./b.md ", "~~~ memory of a\n~~~\n",
    "**User:** a\n\n**Assistant:** b\n\n", "last last ", "since the last ", "am Montag vor ",
    "is not a. ", "was 1 now 2. ", "key key key ", "the password password ", "Passwort lautet ",
    "ssh-rsa AAAA", "a@b.c:d1 ", "a1-b2-c3-d4 ", "PASS:a1B2c3D4 ",
)  # fmt: skip
"""Repeated, these open, close or begin something many times."""

_PAIRS = (
    ("[", "]"), ("(", ")"), ("{", "}"), ("[[", "]]"), ("![", "](a)"), ("<a ", ">"), ("*", "*"),
    ("**a", "**"), ("`", "`"), ("<b>", "</b>"), ("<!--", "-->"), ("> ", ""), ("- ", ""),
    ("%%", "%%"), ("$", "$"), ("[a](", ")"), ('"', '"'), ("a: {", "}"), ("a: [", "]"),
    ("<script>", "</script>"), ("![[", "]]"), ("~~~\n", "~~~\n"), ("> - ", "\n"), ("[[a|", "]]"),
    ("^[", "]"), ("> [!a] ", "\n"), ("{a: ", "}"), ('{"a":', "}"), ("![[", "|a]]"),
    ("\u2067", "\u2069"), ("<details>\n", "</details>\n"), ("1. ", ""), ("- [ ] ", ""),
)  # fmt: skip
"""Opened many times, and closed as often afterwards."""

_OPENED = (
    ("[", "a"), ("[[", "a"), ("![", "a "), ("<!--", "a"), ("`", "a"), ("```\n", "a\n"),
    ("%%", "a"), ("$$", "a"), ("<script>", "a"), ("<a href='", "a"), ("password: ", "a"),
    ("https://", "a"), ("https://a:", "b"), ("eyJ", "a"), ("-----BEGIN PRIVATE KEY-----\n", "A"),
    ("AKIA", "A"), ("---\n", "a: b\n"), ("---\na: '", "a"), ('---\na: "', "\\"),
    ("<!-- vaultsync:managed -->\n", "a\n"), ("# ", "a "), ('"', "a "), ("[a](", "("),
    ("[a](<", "a"), ('[a](b "', "a"), ("$", "a"), ("- ", "a "), ("| ", "a | "), ("> ", "a\n"),
    ("\\", "n"), ("mail ", "a@"), ("see ", "www."), ("token=", "a1"), ("key: ", "%41"),
    ("<%", "a"), ("`$= ", "a"), ("![](", "a"), ("javascript:", "a"), ("[^", "a"), ("^", "a"),
    ("a | ", "a b "), ("\u201c", "a"),
)  # fmt: skip
"""Something is opened once, and what follows never closes it."""

_MIXES = (
    "[`](a)`", "![a`", "[a](b`c`)", "<a `>`", "[[a`]]`", "%%`%%`", "$`$`", "*[a]*(b)", "[![a](b)",
    "<!-- `-->`", "\\`a`", "> - `", "- > ```\n", "password=`", "token: [[a]]", "a\n\n- b\n",
    "[a]\n[b]: c\n", "|a`|`\n", "<script>`</script>", "~~~\n```\n", "`a``b", "[a]()[b]",
    "sk-a sk_live_", "password: a1B2c3D4\n", "AKIAABCDEFGHIJKLMNOP\n", "http://a:b1c2d3@h\n",
    "api_key=Ab3dE6gH9jKlMn0pQr5t\n", "[[a|b]]\n", "![](https://a)\n", "`$=a`\n", "<b onclick=a>\n",
    "Alice met Bob. ", "x1y2z3-", "a=b;c:d ", "A.B.C. ", "- [ ] a ^b1\n", "#tag #tag/sub ",
    "- a\n  - b\n    - c\n", "1. a\n   ```\n   b\n   ```\n", "a: b\nc: [d, e]\n",
    "GET /?password=a1b2c3&token=x\n", "k='a1b2c3d4e5f6g7h8' ",
)  # fmt: skip
"""Repeated, these have several constructs cross each other."""


def _repeated(sign: str) -> HostileText:
    return lambda size: sign * (size // len(sign))


def _nested(opening: str, closing: str) -> HostileText:
    def text(size: int) -> str:
        depth = size // (len(opening) + len(closing))
        return opening * depth + "a" + closing * depth

    return text


def _opened(opening: str, filling: str) -> HostileText:
    return lambda size: opening + filling * (size // len(filling))


def growing_runs(sign: str, between: str) -> HostileText:
    """Runs of a sign, each longer than the last one, so that none closes another."""

    def runs(size: int) -> Iterator[str]:
        length = 0
        while size > 0:
            length += 1
            size -= length + len(between)
            yield sign * length + between

    return lambda size: "".join(runs(size))


def _shrinking(sign: str, between: str) -> HostileText:
    return lambda size: growing_runs(sign, between)(size)[::-1]


def _stretched(opening: str, blank: str, ending: str) -> HostileText:
    return lambda size: f"{opening}{blank * size}{ending}"


def _numbered(form: str) -> HostileText:
    def text(size: int) -> str:
        count = size // len(form.replace("{}", "100000"))
        return "".join(form.replace("{}", str(number)) for number in range(count))

    return text


_NUMBERED = (
    "[[n{}]] ", "[a](n{}) ", "#t{} ", "^b{}\n\n", "# h{}\n", "p{}: v\n", "[^{}]: x\n", "[r{}]: x\n",
    "|c{}", "<t{}>", "&#{};", "password: pw{}Xy!\n", "token=t{}a9Zk3LmQ7wPx2Rv\n",
    "https://u{}:pass{}x@h\n", "- item {}\n", "- item {}\n\n", "word{} ", "```l{}\nx\n```\n",
    "`c{}`", "![p{}](h:x)", "Name{} Last{}. ", "[[n{}|a]]#t{} ", "|c{}|d{}|\n", "[^{}]: [^{}] ",
    "> [!n{}] a\n", "<!-- c{} -->", "x{}: &a{} b\n", "y{}: *a{}\n", "## Section {}\na\n",
    "- [x] <!-- vaultsync:take field=f{} -->\n", "passphrase {} is pw{}Xy!\n", "[s{}]\nk = {}\n",
    '{"id":"{}","text":"a"},', '"k{}": "v", ', "http://u:p{}wX@h{}/ ", "@f{}.md\n",
    "**N{}:** a\n\n",
    "`{}`[[{}]]", "in May {} ", "passwort q{}Wz! als ",
)  # fmt: skip
"""No two of these are equal."""

_STRETCHED = (
    ("# a", "b"), ("# ", "b"), ("[a](", "b"), ("[a](b", "c"), ("[[a", "]b"), ("![[a|", "]b"),
    ("[a]: ", "b c"), ("- ", "b"), ("- [[a]]", "b"), ("> a", "b"), ("a |", "b"), ("`a", "b"),
    ("a: b", "]"), ("a: [b", "c"), ("a:", "&b c"), ("password:", "b"), ("decision", "b"),
    ("<a", "b"), ("<!--", "b"), ("def a(", "b"), ("a.", "b"), ("a\n", "==b"),
)  # fmt: skip
"""Between these parts, which may belong together, there are nothing but blanks."""
_BLANKS = (" ", "\n")


def _wide_table(size: int) -> str:
    """Three rows, each with as many columns as there is room for."""
    columns = size // 6
    return "".join(f"|{cell}" * columns + "|\n" for cell in "a-b")


def _stairs(mark: str, line: str, deepest: int) -> HostileText:
    """Each line one step deeper than the one before, up to a depth, again and again."""

    def lines(size: int) -> Iterator[str]:
        depth = 0
        while size > 0:
            each = mark * (depth % deepest) + line
            size -= len(each)
            depth += 1
            yield each

    return lambda size: "".join(lines(size))


def _mixed_fences(size: int) -> str:
    """Fences of both marks and of 50 lengths."""
    runs = ("`~"[number % 2] * (3 + number % 50) + "\n" for number in range(size // 29))
    return "".join(runs)


def hostile_texts() -> Mapping[str, HostileText]:
    found: dict[str, HostileText] = {}
    found |= {f"repeat {sign!r}": _repeated(sign) for sign in _SIGNS}
    found |= {f"repeat {sign!r}": _repeated(sign) for sign in _MIXES}
    found |= {f"nest {one!r} {other!r}": _nested(one, other) for one, other in _PAIRS}
    found |= {f"open {one!r} {other!r}": _opened(one, other) for one, other in _OPENED}
    found |= {f"grow {sign!r}": growing_runs(sign, " a ") for sign in "`~$*_[#%|<&-"}
    found |= {f"shrink {sign!r}": _shrinking(sign, " a ") for sign in "`~$*_[]"}
    found |= {f"number {each!r}": _numbered(each) for each in _NUMBERED}
    found |= {
        f"stretch {one!r} {blank!r} {other!r}": _stretched(one, blank, other)
        for one, other in _STRETCHED
        for blank in _BLANKS
    }
    found |= {
        "wide table": _wide_table,
        "stairs of a list": _stairs("  ", "- a\n", 200),
        "stairs of quotes": _stairs("> ", "```\n", 120),
        "mixed fences": _mixed_fences,
        "a long word since": lambda size: f"since the {'a' * (size - 50)}{' b' * 20}",
        "long participles": lambda size: f"nach dem a {'gearbt' * (size // 6)}#",
        "marks": lambda size: "a" + "\u0301" * size,
        "marks of 400": lambda size: ("a" + "\u0301\u0327" * 200) * max(size // 401, 1),
    }
    return found
