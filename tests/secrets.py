"""Secrets of every kind, generated while the tests run, and lines without secrets.

No file contains a token: secret scanners of code hosts would rightly reject the
repository.
"""

from __future__ import annotations

import base64
import hashlib
import json
import random
import string
import uuid
from collections.abc import Callable, Iterator, Mapping

HEX = "0123456789abcdef"
DIGITS = "123456789"
ALNUM = string.ascii_letters + string.digits
UPPER = string.ascii_uppercase + string.digits
WORD = ALNUM + "-_"

LOWER = string.ascii_lowercase
BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

Make = Callable[[random.Random], str]


def of(letters: str, size: int) -> Make:
    return lambda dice: "".join(dice.choice(letters) for _ in range(size))


def form(*parts: str | Make) -> Make:
    return lambda dice: "".join(each if isinstance(each, str) else each(dice) for each in parts)


def strong(letters: str, size: int) -> Make:
    """A value with a letter and a digit in every place where a rule may look for one."""

    def make(dice: random.Random) -> str:
        inner = "".join(dice.choice(letters) for _ in range(size - 5))
        begin = dice.choice(LOWER) + dice.choice("23456789") + dice.choice(UPPER)
        return begin + inner + dice.choice(LOWER + DIGITS) + dice.choice(ALNUM)

    return make


def some_uuid(dice: random.Random) -> str:
    return str(uuid.UUID(int=dice.getrandbits(128), version=4))


def _jwt(dice: random.Random) -> str:
    def part(said: object) -> str:
        text = json.dumps(said, separators=(",", ":")).encode()
        return base64.urlsafe_b64encode(text).decode().rstrip("=")

    head, body = {"alg": "HS256", "typ": "JWT"}, {"sub": dice.randrange(10**12), "n": 1}
    return f"{part(head)}.{part(body)}.{of(WORD, 43)(dice)}"


def _ending_in_word(make: Make) -> Make:
    return lambda dice: make(dice) + dice.choice(ALNUM)


def _base64_of(*parts: str | Make) -> Make:
    return lambda dice: base64.b64encode(form(*parts)(dice).encode()).decode()


def key_data(size: int) -> Make:
    """The base64 of random bytes."""
    return lambda dice: base64.b64encode(dice.randbytes(size)).decode()


def _grouped(letters: str, size: int, count: int) -> Make:
    return lambda dice: "-".join(of(letters, size)(dice) for _ in range(count))


_PART = form("-", of(UPPER, 5))
_HOOK_IDS = form(of(UPPER, 8), "/B", of(UPPER, 8))
_TEAMS_HOOK = form("/IncomingWebhook/", of(HEX, 32), "/", some_uuid)
TOKENS: Mapping[str, tuple[Make, ...]] = {
    "aws": (form("AK", "IA", of("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16)),),
    "github": (
        form("gh", "p_", of(ALNUM, 36)),
        form("gh", "s_", of(ALNUM, 36)),
        form("github", "_pat_", of(ALNUM, 22), "_", of(ALNUM, 59)),
    ),
    "gitlab": (form("glp", "at-", of(WORD, 20)), form("gld", "t-", of(WORD, 20))),
    "anthropic": (form("sk-", "ant-", "api03-", of(WORD, 93), "AA"),),
    "openrouter": (form("sk-", "or-", "v1-", of(HEX, 64)),),
    "langfuse": (form("sk-", "lf-", some_uuid),),
    "openai": (form("sk", "-", of(ALNUM, 48)), form("sk-", "proj-", _ending_in_word(of(WORD, 80)))),
    "huggingface": (form("h", "f_", of(string.ascii_letters, 34)),),
    "google": (form("AI", "za", of(WORD, 35)),),
    "google-oauth": (form("GOC", "SPX-", of(WORD, 28)), form("ya", "29.", of(WORD, 80))),
    "slack": (
        form("xo", "xb-", of(DIGITS, 11), "-", of(DIGITS, 11), "-", of(ALNUM, 24)),
        form("xa", "pp-1-", of(UPPER, 11), "-", of(DIGITS, 12), "-", of(HEX, 40)),
    ),
    "slack-hook": (form("https://hooks.sl", "ack.com/services/T", _HOOK_IDS, "/", of(ALNUM, 24)),),
    "discord-hook": (
        form("https://disc", "ord.com/api/webhooks/", of(DIGITS, 18), "/", of(WORD, 68)),
    ),
    "teams-hook": (
        form(
            "https://acme.webhook.off", "ice.com/webhookb2/", some_uuid, "@", some_uuid, _TEAMS_HOOK
        ),
    ),
    "discord": (form("M", of(ALNUM, 23), ".", of(WORD, 6), ".", of(WORD, 38)),),
    "telegram": (form(of(DIGITS, 9), ":A", "A", of(WORD, 33)),),
    "stripe": (form("sk_", "live_", of(ALNUM, 24)), form("wh", "sec_", of(ALNUM, 32))),
    "twilio": (form("S", "K", of(HEX, 32)),),
    "sendgrid": (form("S", "G.", of(WORD, 22), ".", of(WORD, 43)),),
    "mailgun": (form("k", "ey-", of(HEX, 32)),),
    "mailchimp": (form(of(HEX, 32), "-", "us12"),),
    "brevo": (form("xkey", "sib-", of(HEX, 64), "-", of(ALNUM, 16)),),
    "npm": (form("np", "m_", of(ALNUM, 36)),),
    "pypi": (form("pyp", "i-AgEIcHlwaS5vcmc", of(WORD, 150)),),
    "rubygems": (form("ruby", "gems_", of(HEX, 48)),),
    "crates": (form("c", "io", of(ALNUM, 32)),),
    "docker": (form("dckr", "_pat_", of(WORD, 27)),),
    "digitalocean": (form("dop", "_v1_", of(HEX, 64)),),
    "shopify": (form("shp", "at_", of(HEX, 32)),),
    "square": (form("sq0", "atp-", of(WORD, 22)),),
    "databricks": (form("da", "pi", of(HEX, 32)),),
    "doppler": (form("dp.", "pt.", of(ALNUM, 43)),),
    "linear": (form("lin_", "api_", of(ALNUM, 40)),),
    "notion": (form("nt", "n_", of(ALNUM, 46)), form("sec", "ret_", of(ALNUM, 43))),
    "postman": (form("PM", "AK-", of(HEX, 24), "-", of(HEX, 34)),),
    "pulumi": (form("pu", "l-", of(HEX, 40)),),
    "terraform": (form(of(ALNUM, 14), ".atl", "asv1.", of(WORD, 67)),),
    "vault": (form("hv", "s.", of(WORD, 90)),),
    "grafana": (form("gl", "sa_", of(ALNUM, 32), "_", of(HEX, 8)),),
    "newrelic": (form("NR", "AK-", of(UPPER, 27)),),
    "sentry": (form("sntr", "yu_", of(HEX, 64)),),
    "dynatrace": (form("dt0", "c01.", of(UPPER, 24), ".", of(UPPER, 64)),),
    "datadog": (form("dd", "app_", of(ALNUM, 34)),),
    "atlassian": (form("ATA", "TT3", of(WORD, 180), "=", of(UPPER, 8)),),
    "airtable": (form("p", "at", of(ALNUM, 14), ".", of(HEX, 64)),),
    "figma": (form("fi", "gd_", of(WORD, 40)),),
    "tailscale": (form("ts", "key-auth-", of(ALNUM, 12), "-", of(ALNUM, 32)),),
    "supabase": (form("sb", "p_", of(HEX, 40)),),
    "planetscale": (form("psc", "ale_tkn_", of(WORD, 43)),),
    "replicate": (form("r", "8_", of(ALNUM, 37)),),
    "groq": (form("gs", "k_", of(ALNUM, 52)),),
    "perplexity": (form("pp", "lx-", of(ALNUM, 48)),),
    "xai": (form("xa", "i-", of(ALNUM, 80)),),
    "nvidia": (form("nv", "api-", of(WORD, 64)),),
    "langsmith": (form("ls", "v2_pt_", of(HEX, 32), "_", of(HEX, 10)),),
    "tavily": (form("tv", "ly-dev-", of(ALNUM, 32)),),
    "fly": (form("fo", "1_", of(WORD, 43)),),
    "heroku": (form("HR", "KU-", of(WORD, 60)),),
    "vercel": (form("vc", "p_", of(ALNUM, 56)),),
    "netlify": (form("nf", "p_", of(ALNUM, 36)),),
    "cloudflare": (form("v1", ".0-", of(HEX, 24), "-", of(HEX, 146)),),
    "circleci": (form("CCI", "PAT_", of(ALNUM, 22), "_", of(HEX, 40)),),
    "buildkite": (form("bk", "ua_", of(HEX, 40)),),
    "contentful": (form("CF", "PAT-", of(WORD, 43)),),
    "typeform": (form("tf", "p_", of(WORD, 59)),),
    "sourcegraph": (form("sg", "p_", of(HEX, 40)),),
    "shippo": (form("shi", "ppo_live_", of(HEX, 40)),),
    "easypost": (form("EZ", "AK", of(ALNUM, 54)),),
    "dropbox": (form("s", "l.", of(WORD, 130)),),
    "facebook": (form("EA", "AC", of(ALNUM, 150)),),
    "twitter": (form("A" * 21, of(ALNUM, 25), "%", "3D", of(ALNUM, 50)),),
    "prefect": (form("pn", "u_", of(ALNUM, 36)),),
    "readme": (form("rd", "me_", of(string.ascii_lowercase + string.digits, 70)),),
    "openshift": (form("sha", "256~", of(WORD, 43)),),
    "age": (form("AGE-SEC", "RET-KEY-1", of("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58)),),
    "onepassword": (
        form("op", "s_eyJ", of(ALNUM, 300)),
        form("A", "3-", of(UPPER, 6), "-", of(UPPER, 11), _PART, _PART, _PART),
    ),
    "artifactory": (form("AK", "C", of(ALNUM, 73)),),
    "alibaba": (form("LT", "AI", of(ALNUM, 20)),),
    "tencent": (form("AK", "ID", of(ALNUM, 32)),),
    "yandex": (form("AQ", "VN", of(WORD, 36)),),
    "jwt": (_jwt,),
    "adafruit": (form("ai", "o_", of(ALNUM, 28)),),
    "adobe": (form("p8", "e-", of(ALNUM, 32)),),
    "alchemy": (form("alc", "ht_", of(ALNUM, 30)),),
    "apify": (form("apify", "_api_", of(ALNUM, 36)),),
    "azure": (
        form(of(ALNUM, 3), "8", "Q~", of(WORD, 34)),
        form(of(ALNUM, 76), "AZ", "DO", of(ALNUM, 4)),
    ),
    "bitbucket": (form("AT", "BB", of(ALNUM, 32)),),
    "braintree": (form("access", "_token$production$", of(LOWER, 16), "$", of(HEX, 32)),),
    "cerebras": (form("cs", "k-", of(LOWER, 48)),),
    "clojars": (form("CLO", "JARS_", of(LOWER, 60)),),
    "duffel": (form("duf", "fel_live_", of(WORD, 43)),),
    "e2b": (form("e2", "b_", of(HEX, 40)),),
    "firecrawl": (form("f", "c-", of(HEX, 32)),),
    "fireworks": (form("f", "w_", of(ALNUM, 24)),),
    "flutterwave": (form("FLW", "SECK-", of(HEX, 32), "-X"),),
    "frameio": (form("fi", "o-u-", of(WORD, 64)),),
    "harness": (form("pa", "t.", of(WORD, 22), ".", of(HEX, 24), ".", of(ALNUM, 20)),),
    "hubspot": (form("pa", "t-na1-", some_uuid),),
    "infracost": (form("ic", "o-", of(ALNUM, 32)),),
    "jina": (form("ji", "na_", of(WORD, 60)),),
    "launchdarkly": (form("sd", "k-", some_uuid),),
    "lob": (form("li", "ve_", of(HEX, 35)),),
    "mapbox": (form("s", "k.ey", "J", of(ALNUM, 60), ".", of(WORD, 22)),),
    "maxmind": (form(of(ALNUM, 6), "_", of(ALNUM, 29), "_m", "mk"),),
    "neon": (form("na", "pi_", of(LOWER, 64)),),
    "octopus": (form("AP", "I-", of(UPPER, 26)),),
    "pinecone": (form("pc", "sk_", of(ALNUM, 6), "_", of(ALNUM, 63)),),
    "plaid": (form("acc", "ess-production-", some_uuid),),
    "posthog": (form("ph", "x_", of(ALNUM, 43)),),
    "resend": (form("r", "e_", of(ALNUM, 8), "_", of(ALNUM, 24)),),
    "scalingo": (form("tk", "-us-", of(WORD, 48)),),
    "settlemint": (form("sm", "_pat_", of(ALNUM, 16)),),
    "sonar": (form("sq", "u_", of(HEX, 40)),),
    "together": (form("tg", "p_v1_", of(WORD, 43)),),
    "ubidots": (form("BB", "FF-", of(ALNUM, 30)),),
    "voyage": (form("p", "a-", of(WORD, 43)),),
    "zuplo": (form("zp", "ka_", of(ALNUM, 32), "_", of(HEX, 8)),),
    "bearer": (form("Authorization: Bea", "rer ", of(HEX, 40)),),
    "elevenlabs": (form("sk", "_", of(HEX, 48)),),
    "brave": (form("BS", "A", strong(WORD, 28)),),
    "context7": (form("ctx7", "sk-", some_uuid),),
    "mem0": (form("m", "0-", strong(ALNUM, 40)),),
    "modal": (form("a", "k-", strong(ALNUM, 22)), form("a", "s-", strong(ALNUM, 22))),
    "runpod": (form("rp", "a_", of(UPPER, 44)),),
    "trello": (form("AT", "TA", of(HEX, 72)),),
    "asana": (form("2/", of(DIGITS, 16), "/", of(DIGITS, 16), ":", of(HEX, 32)),),
    "clickup": (form("pk", "_", of(DIGITS, 8), "_", of(UPPER, 32)),),
    "snyk": (form("snyk", "_uat.", of(HEX, 8), ".", strong(WORD, 60)),),
    "cloudflare-api": (form("cf", "ut_", strong(ALNUM, 48)),),
    "render": (form("rn", "d_", strong(ALNUM, 28)),),
    "xata": (form("xa", "u_", strong(ALNUM, 36)),),
    "mongodb-atlas": (form("mdb", "_sa_sk_", strong(WORD, 40)),),
    "discord-user": (form("mf", "a.", strong(WORD, 84)),),
    "matrix": (form("sy", "t_", strong(ALNUM, 12), "_", of(LOWER, 20), "_", of(ALNUM, 6)),),
    "nostr": (form("nse", "c1", of("qpzry9x8gf2tvdw0s3jn54khce6mua7l", 58)),),
    "bip32": (form("xp", "rv", of(BASE58, 107)),),
    "honeycomb": (form("hca", "ik_", of(LOWER + DIGITS, 58)),),
    "axiom": (form("xaa", "t-", some_uuid),),
    "nuget": (form("oy", "2", of(LOWER + DIGITS, 43)),),
    "firebase": (form("AAAA", of(WORD, 7), ":AP", "A91b", of(WORD, 134)),),
    "instagram": (form("IG", "AA", strong(ALNUM, 150)),),
    "volcengine": (form("AK", "LT", strong(ALNUM, 44)),),
    "paddle": (
        form(
            "pdl",
            "_live_apikey_",
            of(LOWER + DIGITS, 26),
            "_",
            strong(ALNUM, 22),
            "_",
            of(ALNUM, 3),
        ),
    ),
    "mollie": (form("liv", "e_", strong(ALNUM, 30)),),
    "razorpay": (form("rzp", "_live_", strong(ALNUM, 14)),),
    "wakatime": (form("wak", "a_", some_uuid),),
    "rapidapi": (form(of(HEX, 10), "ms", "h", of(HEX, 15), "p1", of(HEX, 13), "jsn", of(HEX, 12)),),
    "bitwarden": (form("0.", some_uuid, ".", strong(ALNUM, 30), ":", key_data(16)),),
    "infisical": (form("st.", of(HEX, 24), ".", of(HEX, 32), ".", of(HEX, 32)),),
    "llamacloud": (form("ll", "x-", strong(ALNUM, 48)),),
    "browserbase": (form("bb", "_live_", strong(WORD, 27)),),
    "daytona": (form("dt", "n_", of(HEX, 64)),),
    "kaggle": (form("KG", "AT_", of(HEX, 32)),),
    "wandb": (form("wan", "db_v1_", strong(ALNUM, 70)),),
    "cursor": (form("cr", "sr_", of(HEX, 64)),),
    "n8n": (form("n8n", "_api_", of(HEX, 80)),),
    "twitch": (form("oau", "th:", of(LOWER + DIGITS, 30)),),
    "inngest": (form("sign", "key-prod-", of(HEX, 64)),),
    "live-key": (form("tr_", "prod_", strong(ALNUM, 20)),),
    "unkey": (form("unk", "ey_", strong(ALNUM, 24)),),
    "disk-recovery": (
        form("BitLocker recovery key: ", _grouped(DIGITS, 6, 8)),
        form("FileVault recovery key: ", _grouped(UPPER, 4, 6)),
    ),
    "aws-bedrock": (
        form("AB", "SK", strong(ALNUM, 128)),
        form("bedrock", "-api-key-", strong(ALNUM, 120)),
    ),
    "aws-session": (
        form("FwoGZXI", "vYXdzE", strong(ALNUM, 180)),
        form("IQoJb3J", "pZ2luX2Vj", strong(ALNUM, 200)),
    ),
    "openai-session": (form("se", "ss-", strong(ALNUM, 40)),),
    "helicone": (form("sk-hel", "icone", *("-", of(LOWER + DIGITS, 7)) * 4),),
    "polar": (form("pol", "ar_oat_", strong(ALNUM, 43)),),
    "vercel-blob": (form("vercel", "_blob_rw_", strong(ALNUM, 16), "_", strong(ALNUM, 30)),),
    "convex": (form("pr", "od:happy-otter-123|", key_data(60)),),
    "stytch": (form("sec", "ret-live-", strong(WORD, 44)),),
    "intercom": (form("dG9", "rOj", strong(ALNUM, 50)),),
    "pubnub": (form("sec", "-c-", strong(ALNUM, 48)),),
    "fal": (form("FAL", "_KEY=", some_uuid, ":", of(HEX, 32)),),
    "auth-scheme": (form("SS", "WS 00", strong(WORD, 40)), form("Genie", "Key ", some_uuid)),
    "chat-hook": (
        form("https://open.feishu.cn/open-apis/b", "ot/v2/hook/", some_uuid),
        form("https://qyapi.weixin.qq.com/cgi-bin/web", "hook/send?key=", some_uuid),
    ),
    "automation-hook": (
        form("https://hook.eu2.ma", "ke.com/", of(LOWER + DIGITS, 32)),
        form("https://maker.ifttt.com/trigger/door/with/k", "ey/", strong(WORD, 22)),
    ),
    "zhipu": (form(of(HEX, 32), ".", strong(ALNUM, 16)), form(of(HEX, 32), ".", strong(WORD, 24))),
    "docker-config": (_base64_of('{"auths":{"r.example.org":{"auth":"', of(ALNUM, 32), '"}}}'),),
    "cloudflare-tunnel": (_base64_of('{"a":"', of(HEX, 32), '","t":"', some_uuid, '"}'),),
    "private-key-base64": (
        _base64_of("-----BEGIN PRIVATE", " KEY-----\n", of(ALNUM, 64), "\n-----END"),
    ),
}
"""The format of tokens of each kind of the table."""

OTHERS: Mapping[str, tuple[Make, ...]] = {
    "private-key": (
        lambda dice: _pem(dice, "RSA PRIVATE KEY"),
        lambda dice: _pem(dice, "OPENSSH PRIVATE KEY"),
        lambda dice: _pem(dice, "PRIVATE KEY").replace("\n", "\\n"),
    ),
    "url-password": (
        form("postgres://app:", of(ALNUM, 14), "@db.example.org:5432/app"),
        form("https://bot:", of(ALNUM, 20), "@git.example.org/x.git"),
    ),
    "password": (
        form("password: ", of(LOWER, 7), "7"),
        form("DB_PASSWORD=", of(ALNUM, 12), "1a"),
        form('"passwd": "', of(ALNUM, 10), '9b!"'),
    ),
    "secret": (
        form("api_key = '", of(ALNUM, 28), "7x'"),
        form("AWS_SECRET_ACCESS_KEY=", of(ALNUM, 38), "1b"),
        form("client_secret: ", of(ALNUM, 30), "2c"),
        form('"auth_token": "', of(HEX, 30), '3d"'),
    ),
}
"""Secrets that are recognised by their context."""


def _pem(dice: random.Random, name: str) -> str:
    body = base64.b64encode(dice.randbytes(600)).decode()
    lines = [body[at : at + 64] for at in range(0, len(body), 64)]
    return "\n".join([f"-----BEGIN {name}-----", *lines, f"-----END {name}-----"])


def token(kind: str, dice: random.Random) -> str:
    """Generate a token of a kind of the table."""
    return dice.choice(TOKENS[kind])(dice)


AROUND = (
    *("{}", "The key is {}.", "use `{}` for the deploy", 'export KEY="{}"'),
    *("curl -H 'X-Key: {}' https://api.example.org/v1", "(see {}, valid until May)"),
    *("| prod | {} | rotated |", "- {}", "Schlüssel: {} — nicht weitergeben"),
)
"""Contexts of tokens."""


_PROSE = (
    "The token budget of a context pack is {} tokens, and the key idea is to pass less.",
    "We decided to rotate the secret every {} days; the password policy: twelve letters.",
    "Password: ask {} on Monday, or reset it yourself.",
    "API keys: see the vault, entry {}. Tokens expire after an hour.",
    "Das Passwort wird alle {} Tage geändert; Schlüssel: siehe Tresor.",
    "Le mot de passe est changé tous les {} jours ; la clé est chez Alice.",
    "La contraseña caduca en {} días. Secretos: no se comparten.",
    "パスワードは{}日ごとに変更します。トークンは共有しません。",
    "密码每{}天更换一次。密钥由运维保管。",
    "Пароль меняется каждые {} дней, ключ хранится отдельно.",
    "Meeting at 10:{} with Bob about the key results; token: the design token, not a coin.",
    "secret santa: draw number {} on Friday",
    "The pass rate was {} %, key: value pairs are sorted by key.",
)
_CODE = (
    "password = os.environ['DB_PASSWORD_{}']",
    *("token = request.headers.get('Authorization', '{}')", "api_key: ${{API_KEY_{}}}"),
    "const secret = process.env.SECRET_{};",
    *("def reset_password(user_{}: User, token: str) -> None:", "key={} sort=desc limit=100"),
    *("PASSWORD=changeme-{}", "tokens: {}", "max_tokens = {}", "password: sha256"),
    *("secret_name: projects/acme/secrets/db-{}", "tokenizer: o200k_base"),
    *("access_key: <your access key {}>", "for key, value in sorted(mapping.items())[:{}]:"),
)
_WORDS = ("configuration", "internationalisation", "2026-02-14-some-slug-of-a-note")


def _hash(dice: random.Random) -> str:
    return hashlib.new(dice.choice(["sha1", "sha256", "md5"]), dice.randbytes(8)).hexdigest()


def _base64(dice: random.Random) -> str:
    return base64.b64encode(dice.randbytes(dice.randint(45, 300))).decode()


def _number(dice: random.Random) -> str:
    return str(dice.randint(10, 59))


def _word(dice: random.Random) -> str:
    return f"{dice.choice(_WORDS)}-{dice.choice(_WORDS)}_{dice.randint(1, 99)}"


_LINK = form("https://example.org/", of(LOWER, 9), "/", of(LOWER, 9), "?page=", of(DIGITS, 1))
_HASHES = ("commit {}", "sha256:{}", "{}  dist.tar.gz", '"integrity": "{}"', "etag: {}", "rev = {}")
_IMAGES = ("{}", "![](data:image/png;base64,{})", "sha512-{}", "Content-MD5: {}")
_FALSE: tuple[tuple[tuple[str, ...], Make], ...] = (
    (("id: {}", "{}", "session {} ended", "see [[{}]]"), some_uuid),
    (_HASHES, _hash),
    (_IMAGES, _base64),
    *((_PROSE, _number),) * 3,
    (_CODE, _number),
    (("{}",), _word),
    (("{}",), form(_LINK, "#", of(LOWER, 9))),
)
"""Lines without secrets, and the values in them."""


def false_lines(dice: random.Random, count: int) -> Iterator[str]:
    """Lines that hold no secret: ids, hashes, images, code, and prose of some languages."""
    for number in range(count):
        lines, inside = _FALSE[number % len(_FALSE)]
        yield dice.choice(lines).format(inside(dice))
