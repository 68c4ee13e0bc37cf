"""`model`: list and download embedding models."""

from __future__ import annotations

import json

import click

from vaultsync.api.models import fetch_model, list_models
from vaultsync.cli.options import DefaultGroup, common
from vaultsync.cli.output import Options, clean_one_line, echo, progress_bar

_MEGABYTE = 1_000_000


@click.group(cls=DefaultGroup, default="list")
def model() -> None:
    """List and download embedding models.

    Without a command, it lists models.
    """


@model.command("list")
@common
def list_(options: Options) -> None:
    """List the models on this machine, and the setting for each."""
    listing = list_models()
    if options.printed_as_json(listing):
        return
    for each in listing.models:
        size = f", {each.bytes / _MEGABYTE:,.0f} MB" if each.bytes is not None else ""
        needs = "" if each.installed else f" (needs the extra {each.extra})"
        echo(f"{clean_one_line(each.embedder)}  {clean_one_line(each.name)}{size}{needs}")
    options.print_message(f"exports and fetched models are in {clean_one_line(listing.folder)}")


@model.command()
@click.argument("name")
@click.option("--revision", default="main", metavar="REV", help="Branch, tag or commit.")
@click.option("--sha256", default="", metavar="HEX", help="Expected checksum of the weights.")
@click.option(
    "--hub",
    metavar="URL",
    envvar="HF_ENDPOINT",
    default="https://huggingface.co",
    help="Address of the hub; default: $HF_ENDPOINT, else Hugging Face.",
)
@common
def fetch(options: Options, *, name: str, revision: str, sha256: str, hub: str) -> None:
    """Download the model NAME from the Hugging Face hub.

    Only model files are downloaded, no code. An interrupted download resumes.
    """
    with progress_bar(options) as bar:
        progress = bar or (lambda *_: None)
        fetched = fetch_model(name, revision=revision, sha256=sha256, hub=hub, progress=progress)
    if options.printed_as_json(fetched):
        return
    echo(f"embedder = {json.dumps(clean_one_line(fetched.embedder), ensure_ascii=False)}")
    options.print_message(
        f"fetched {clean_one_line(fetched.name)}, sha256 {fetched.sha256}; put this line into your"
        " own settings for the vault, then run `vaultsync index`"
    )
