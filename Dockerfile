# The daemon of vaultsync, for a vault that is mounted at /vault; see docs/guides/docker.md.

FROM node:22-slim AS plugin
WORKDIR /source/obsidian-plugin
COPY obsidian-plugin/package.json obsidian-plugin/package-lock.json ./
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund
COPY obsidian-plugin ./
RUN npm run --silent bundle -- /plugin

FROM python:3.13-slim AS build
WORKDIR /source
COPY pyproject.toml hatch_build.py constraints.txt README.md LICENSE ./
COPY docs/changelog.md docs/
COPY vaultsync vaultsync
COPY --from=plugin /plugin vaultsync/obsidian
ARG EXTRAS=live,local,mcp,qdrant
RUN python -m venv /opt/vaultsync \
    && /opt/vaultsync/bin/pip install --no-cache-dir --constraint constraints.txt ".[$EXTRAS]"

FROM python:3.13-slim
# Who owns the files of your vault: `id -u`. The daemon never runs as root.
ARG UID=1000
RUN useradd --create-home --uid "$UID" vaultsync \
    && install --directory --owner vaultsync --mode 0700 /vault \
        /home/vaultsync/.cache /home/vaultsync/.config /home/vaultsync/.local
COPY --from=build /opt/vaultsync /opt/vaultsync
ENV PATH=/opt/vaultsync/bin:$PATH PYTHONUNBUFFERED=1 VAULTSYNC_VAULT=/vault
USER vaultsync
WORKDIR /vault
# What users write, and what vaultsync keeps: the store of SQLite, the archive, indexes, settings.
VOLUME ["/vault", "/home/vaultsync"]
# The daemon reports its own state; it is not healthy without one, or while its syncs fail.
HEALTHCHECK --interval=30s --timeout=20s --start-period=60s --retries=3 \
    CMD vaultsync status --json | python -c "import json, sys; daemon = json.load(sys.stdin).get('daemon'); sys.exit(not daemon or bool(daemon.get('failing')))"
STOPSIGNAL SIGTERM
ENTRYPOINT ["vaultsync"]
CMD ["watch"]
