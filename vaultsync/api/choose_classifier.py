"""The classifier of observations that the settings name; a question loads none."""

from __future__ import annotations

from collections.abc import Callable

from vaultsync.backends.classifiers.model_classifier import ModelClassifier
from vaultsync.errors import ConfigError
from vaultsync.indexing.ports import Embedder
from vaultsync.observations.classifier import Classifier
from vaultsync.observations.labelled import moved_by_people
from vaultsync.observations.rules import RuleClassifier
from vaultsync.settings import Settings
from vaultsync.sync.context import ReadContext


def classifier_for(
    settings: Settings, ctx: ReadContext, embedder: Callable[[], Embedder | None]
) -> Classifier:
    """The classifier of the settings.

    Raises:
        ConfigError: it needs further settings, or an embedder.
    """
    if settings.classifier == "model":
        if not (settings.classifier_url and settings.classifier_model):
            raise ConfigError(
                'classifier = "model" needs a service and a model',
                hint="set classifier_url and classifier_model",
            )
        return ModelClassifier(
            settings.classifier_url,
            settings.classifier_model,
            clock=ctx.clock,
            key_variable=settings.classifier_key,
        )
    if settings.classifier == "embedding":
        found = embedder()
        if found is None:
            raise ConfigError(
                'classifier = "embedding" needs an embedder',
                hint='set embedder = "local", and install vaultsync[local]',
            )
        from vaultsync.backends.classifiers.nearest_classifier import NearestClassifier  # noqa: PLC0415 - needs numpy

        return NearestClassifier(found, lambda: moved_by_people(ctx))
    return RuleClassifier()
