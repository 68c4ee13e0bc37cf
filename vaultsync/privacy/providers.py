"""The table of secrets: what the tokens of each provider look like.

A row is found by literals first: where none of its `needs` stands near a long word, its
pattern is never run. Patterns begin with a literal or after a boundary and repeat single
classes only, so the time they take grows with the text and no faster. The forms are those
that the providers document and that gitleaks and detect-secrets agree on.
"""

from __future__ import annotations

import re
from typing import NamedTuple

MIN_TOKEN_RUN = 20
"""Each token of the table has a run of so many of `[A-Za-z0-9_-]` at least."""


class SecretKind(NamedTuple):
    """A row of the table."""

    kind: str
    """As placeholders name it."""
    says: str
    """One line for the docs."""
    needs: tuple[str, ...]
    """Literals of which one is in every secret of the kind."""
    pattern: str
    """What is hidden is the group `s`, or all of it. Compiled when it is first needed."""
    far: bool = False
    """Whether more than a few letters stand between the literal and the long word."""


_START = "(?<![A-Za-z0-9_-]{})"
"""Tokens do not begin inside of words; it keeps long words from being tried at each letter."""
_FIRST = re.compile(r"(?:[A-Za-z0-9_-]+|\[[A-Z]+\])(?![{*+?])")
"""What a token begins with. Where it comes before `_START`, `re` looks for it only."""


def _row(
    kind: str, says: str, needs: str, pattern: str, *, far: bool = False
) -> SecretKind:
    found = _FIRST.match(pattern)
    first = found[0] if found else ""
    whole = first + _START.format(first) + pattern.removeprefix(first)
    return SecretKind(kind, says, tuple(needs.split()), whole, far)


PROVIDERS: tuple[SecretKind, ...] = (
    _row(
        "aws",
        "AWS access key id",
        "AKIA ASIA ABIA ACCA A3T",
        r"(?:A3T[A-Z0-9]|AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}(?![A-Za-z0-9])",
    ),
    _row(
        "github",
        "GitHub token (personal, OAuth, app, refresh, fine-grained)",
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
        r"(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_\w{60,255})",
    ),
    _row(
        "gitlab",
        "GitLab token (personal, deploy, runner, trigger, feed, OAuth)",
        "glpat- gldt- glrt- glptt- glft- gloas- glcbt- glimt- glagent- glsoat- GR1348941",
        r"(?:gl(?:pat|dt|rt|ptt|ft|oas|cbt|imt|agent|soat)-[\w-]{20,300}(?:\.[\w.-]{4,60})?"
        r"|GR1348941[\w-]{20,40})",
    ),
    _row(
        "anthropic",
        "Anthropic key",
        "sk-ant-",
        r"sk-ant-(?:[a-z]{2,8}\d{2}-)?[\w-]{24,200}",
    ),
    _row("openrouter", "OpenRouter key", "sk-or-", r"sk-or-v\d-[A-Za-z0-9]{32,128}"),
    _row(
        "langfuse",
        "Langfuse secret key",
        "sk-lf-",
        r"sk-lf-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    ),
    _row(
        "openai",
        "OpenAI key, and those of services that spell theirs so",
        "sk-",
        r"sk-(?:(?:proj|svcacct|admin|None)-[\w-]{20,250}|[A-Za-z0-9]{32,128}(?![\w-]))",
    ),
    _row(
        "huggingface",
        "Hugging Face token",
        "hf_ api_org_",
        r"(?:hf_|api_org_)[A-Za-z]{30,80}(?![A-Za-z0-9_-])|hf_[A-Za-z0-9]{30,80}(?![\w-])",
    ),
    _row("google", "Google API key", "AIza", r"AIza[\w-]{35}(?![\w-])"),
    _row(
        "google-oauth",
        "Google OAuth secret or token",
        "GOCSPX- ya29.",
        r"(?:GOCSPX-[\w-]{28}(?![\w-])|ya29\.[\w-]{40,2000})",
    ),
    _row(
        "slack",
        "Slack token",
        "xox xapp-",
        r"(?:xox[abeoprs](?:\.xox[bp])?-[A-Za-z0-9-]{20,250}|xapp-\d-[A-Za-z0-9-]{20,250})",
    ),
    _row(
        "slack-hook",
        "Slack webhook",
        "hooks.slack.com",
        r"hooks\.slack\.com/(?P<s>(?:services|workflows|triggers)/[A-Za-z0-9+/]{30,100})",
        far=True,
    ),
    _row(
        "discord-hook",
        "Discord webhook",
        "discord.com/api discordapp.com/api",
        r"discord(?:app)?\.com/api/(?P<s>webhooks/\d{16,21}/[\w-]{60,80})",
        far=True,
    ),
    _row(
        "teams-hook",
        "Microsoft Teams webhook",
        "webhook.office.com",
        r"webhook\.office\.com/(?P<s>webhookb2/[\w@-]{60,90}/IncomingWebhook/[0-9a-f]{32}/[\w-]{30,40})",
        far=True,
    ),
    _row(
        "discord",
        "Discord bot token",
        ".",
        r"[MNO][A-Za-z0-9_-]{23,27}\.[\w-]{6}\.[\w-]{27,40}(?![\w-])",
    ),
    _row("telegram", "Telegram bot token", ":AA", r"\d{8,10}:AA[\w-]{32,33}(?![\w-])"),
    _row(
        "stripe",
        "Stripe key",
        "sk_live_ sk_test_ rk_live_ rk_test_ whsec_",
        r"(?:[sr]k_(?:live|test)_[A-Za-z0-9]{16,247}|whsec_[A-Za-z0-9+/]{24,80})",
    ),
    _row("twilio", "Twilio key", "SK", r"SK[0-9a-f]{32}(?![A-Za-z0-9])"),
    _row("sendgrid", "SendGrid key", "SG.", r"SG\.[\w-]{22}\.[\w-]{43}(?![\w-])"),
    _row(
        "mailgun", "Mailgun key", "key- pubkey-", r"(?:pub)?key-[0-9a-f]{32}(?![\w-])"
    ),
    _row("mailchimp", "Mailchimp key", "-us", r"[0-9a-f]{32}-us\d{1,2}(?![\w-])"),
    _row(
        "brevo",
        "Brevo key",
        "xkeysib- xsmtpsib-",
        r"x(?:key|smtp)sib-[0-9a-f]{64}-[A-Za-z0-9]{16}(?![\w-])",
    ),
    _row("npm", "npm token", "npm_", r"npm_[A-Za-z0-9]{36}(?![\w-])"),
    _row("pypi", "PyPI token", "pypi-AgE", r"pypi-AgE[\w-]{50,1000}"),
    _row("rubygems", "RubyGems key", "rubygems_", r"rubygems_[0-9a-f]{48}(?![\w-])"),
    _row("crates", "crates.io token", "cio", r"cio[A-Za-z0-9]{32}(?![\w-])"),
    _row(
        "docker", "Docker Hub token", "dckr_pat_ dckr_oat_", r"dckr_[po]at_[\w-]{24,60}"
    ),
    _row(
        "digitalocean",
        "DigitalOcean token",
        "dop_v1_ doo_v1_ dor_v1_",
        r"do[opr]_v1_[0-9a-f]{64}(?![\w-])",
    ),
    _row(
        "shopify",
        "Shopify token",
        "shpat_ shpca_ shppa_ shpss_",
        r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}(?![\w-])",
    ),
    _row(
        "square",
        "Square token",
        "sq0 EAAA",
        r"(?:sq0[a-z]{3}-[\w-]{22,43}(?![\w-])|EAAA[A-Za-z0-9_-]{60}(?![\w-]))",
    ),
    _row(
        "databricks", "Databricks token", "dapi", r"dapi[0-9a-f]{32}(?:-\d)?(?![\w-])"
    ),
    _row(
        "doppler",
        "Doppler token",
        "dp.",
        r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_-]{2,35}\.)?[A-Za-z0-9]{40,44}(?![\w-])",
        far=True,
    ),
    _row(
        "linear",
        "Linear key",
        "lin_api_ lin_oauth_",
        r"lin_(?:api|oauth)_[A-Za-z0-9]{40,64}(?![\w-])",
    ),
    _row(
        "notion",
        "Notion token",
        "ntn_ secret_",
        r"(?:ntn_[A-Za-z0-9]{40,50}|secret_[A-Za-z0-9]{43})(?![\w-])",
    ),
    _row("postman", "Postman key", "PMAK-", r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}(?![\w-])"),
    _row("pulumi", "Pulumi token", "pul-", r"pul-[0-9a-f]{40}(?![\w-])"),
    _row(
        "terraform",
        "Terraform Cloud token",
        ".atlasv1.",
        r"[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{60,70}",
    ),
    _row("vault", "HashiCorp Vault token", "hvs. hvb. hvr.", r"hv[sbr]\.[\w-]{24,200}"),
    _row(
        "grafana",
        "Grafana token",
        "glsa_ glc_",
        r"(?:glsa_[A-Za-z0-9]{32}_[0-9a-fA-F]{8}(?![\w-])|glc_[A-Za-z0-9+/]{32,400}={0,2})",
    ),
    _row(
        "newrelic",
        "New Relic key",
        "NRAK- NRII- NRJS- NRAA-",
        r"NR(?:AK|II|JS|AA)-[A-Za-z0-9_-]{19,42}(?![\w-])",
    ),
    _row(
        "sentry",
        "Sentry token",
        "sntrys_ sntryu_",
        r"(?:sntrys_eyJ[A-Za-z0-9+/=_]{60,500}|sntryu_[0-9a-f]{64}(?![\w-]))",
    ),
    _row(
        "dynatrace",
        "Dynatrace token",
        "dt0",
        r"dt0[a-z]\d{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}(?![\w-])",
    ),
    _row(
        "datadog",
        "Datadog application key of the new form",
        "ddapp_ ddpat_",
        r"dd(?:app|pat)_[A-Za-z0-9]{32,64}(?![\w-])",
    ),
    _row("atlassian", "Atlassian token", "ATATT3 ATCTT3", r"AT[AC]TT3[\w=-]{60,400}"),
    _row(
        "airtable",
        "Airtable token",
        "pat",
        r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}(?![\w-])",
    ),
    _row("figma", "Figma token", "figd_ figo_", r"fig[do]_[\w-]{36,60}"),
    _row(
        "tailscale",
        "Tailscale key",
        "tskey-",
        r"tskey-[a-z]{2,12}-[A-Za-z0-9]{8,40}-[A-Za-z0-9]{16,64}",
    ),
    _row(
        "supabase",
        "Supabase key",
        "sbp_ sb_secret_",
        r"(?:sbp_(?:v\d_)?[0-9a-f]{40}(?![\w-])|sb_secret_[\w-]{22,64})",
    ),
    _row(
        "planetscale",
        "PlanetScale token",
        "pscale_",
        r"pscale_(?:tkn|oauth|pw)_[\w=.-]{32,64}",
    ),
    _row("replicate", "Replicate token", "r8_", r"r8_[A-Za-z0-9]{37}(?![\w-])"),
    _row("groq", "Groq key", "gsk_", r"gsk_[A-Za-z0-9]{40,64}(?![\w-])"),
    _row("perplexity", "Perplexity key", "pplx-", r"pplx-[A-Za-z0-9]{40,64}(?![\w-])"),
    _row("xai", "xAI key", "xai-", r"xai-[A-Za-z0-9]{60,90}(?![\w-])"),
    _row("nvidia", "NVIDIA key", "nvapi-", r"nvapi-[\w-]{60,80}"),
    _row(
        "langsmith",
        "LangSmith key",
        "lsv2_",
        r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}(?![\w-])",
    ),
    _row(
        "tavily",
        "Tavily key",
        "tvly-",
        r"tvly-(?:(?:dev|prod)-)?[A-Za-z0-9]{24,40}(?![\w-])",
    ),
    _row(
        "fly",
        "Fly.io token",
        "fo1_ fm1_ fm1r_ fm2_ fm2r_",
        r"(?:fo1_[\w-]{43}(?![\w-])|(?:FlyV1\s{1,4})?fm[12]r?_[A-Za-z0-9+/]{80,600}={0,2})",
    ),
    _row("heroku", "Heroku key", "HRKU-", r"HRKU-[\w-]{36,80}"),
    _row(
        "vercel",
        "Vercel token",
        "vcp_ vci_ vca_ vcr_ vck_",
        r"vc[piark]_[A-Za-z0-9]{24,64}(?![\w-])",
    ),
    _row(
        "netlify",
        "Netlify token",
        "nfp_ nfc_ nfo_",
        r"nf[pco]_[A-Za-z0-9]{36,48}(?![\w-])",
    ),
    _row(
        "cloudflare",
        "Cloudflare origin key",
        "v1.0-",
        r"v1\.0-[0-9a-f]{24}-[0-9a-f]{146}(?![\w-])",
    ),
    _row(
        "circleci",
        "CircleCI token",
        "CCIPRJ_ CCIPAT_",
        r"CCIP(?:AT|RJ)_[A-Za-z0-9]{20,24}_[0-9a-f]{40}(?![\w-])",
    ),
    _row(
        "buildkite",
        "Buildkite token",
        "bkua_ bkct_",
        r"bk(?:ua|ct)_[0-9a-f]{40}(?![\w-])",
    ),
    _row("contentful", "Contentful token", "CFPAT-", r"CFPAT-[\w-]{43}(?![\w-])"),
    _row("typeform", "Typeform token", "tfp_", r"tfp_[\w.=-]{40,70}"),
    _row(
        "sourcegraph",
        "Sourcegraph token",
        "sgp_",
        r"sgp_(?:[0-9a-f]{16}_|local_)?[0-9a-f]{40}(?![\w-])",
    ),
    _row(
        "shippo",
        "Shippo token",
        "shippo_",
        r"shippo_(?:live|test)_[0-9a-f]{40}(?![\w-])",
    ),
    _row("easypost", "EasyPost key", "EZAK EZTK", r"EZ[AT]K[A-Za-z0-9]{54}(?![\w-])"),
    _row("dropbox", "Dropbox token", "sl.", r"sl\.(?:u\.)?[\w-]{100,2000}"),
    _row(
        "facebook",
        "Facebook token",
        "EAAM EAAC",
        r"EAA[MC][A-Za-z0-9]{100,400}(?![\w-])",
    ),
    _row(
        "twitter",
        "X (Twitter) bearer token",
        "AAAAAAAAAAAAAAAAAAAAA",
        r"A{21}[A-Za-z0-9]{1,60}+%[A-Za-z0-9%]{20,120}",
    ),
    _row("prefect", "Prefect key", "pnu_ pnb_", r"pn[ub]_[A-Za-z0-9]{36}(?![\w-])"),
    _row("readme", "ReadMe key", "rdme_", r"rdme_[a-z0-9]{70}(?![\w-])"),
    _row("openshift", "OpenShift token", "sha256~", r"sha256~[\w-]{43}(?![\w-])"),
    _row(
        "age",
        "age secret key",
        "AGE-SECRET-KEY-",
        r"AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}(?![\w-])",
    ),
    _row(
        "onepassword",
        "1Password service token or secret key",
        "ops_eyJ A3-",
        r"(?:ops_eyJ[A-Za-z0-9+/]{200,2000}={0,2}|A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})-[A-Z0-9]{5}-[A-Z0-9]{5}-[A-Z0-9]{5}(?![\w-]))",
    ),
    _row(
        "artifactory",
        "Artifactory key",
        "AKC cmVm",
        r"(?:AKC[a-zA-Z0-9]{70,80}|cmVm[A-Za-z0-9]{60,68})(?![\w-])",
    ),
    _row(
        "alibaba",
        "Alibaba Cloud access key id",
        "LTAI",
        r"LTAI[A-Za-z0-9]{20}(?![\w-])",
    ),
    _row("tencent", "Tencent Cloud secret id", "AKID", r"AKID[A-Za-z0-9]{32}(?![\w-])"),
    _row(
        "yandex",
        "Yandex Cloud key",
        "AQVN t1.",
        r"(?:AQVN[\w-]{35,38}(?![\w-])|t1\.[A-Z0-9a-z_-]{40,}+=?=?\.[\w-]{86}={0,2})",
    ),
    _row(
        "jwt", "JSON web token", "eyJ", r"eyJ[\w-]{10,}+\.eyJ[\w-]{10,}+\.[\w-]{10,}+"
    ),
    _row(
        "bearer",
        "the token of an `Authorization` header",
        "bearer Bearer BEARER auth Auth AUTH",
        r"(?i:bearer|(?:authorization|auth)[\"']?\s{0,4}[:=]\s{0,4}[\"']?(?:basic|token|apikey))\s{1,4}[\"']?(?P<s>(?=[A-Za-z_.~+/-]{0,120}\d)[\w.~+/-]{20,2000}={0,2})",
        far=True,
    ),
)
"""Tokens that their providers made to be recognised."""
