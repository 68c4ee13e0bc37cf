"""The SDK of the protocol, major version 1 or 2: a server with handlers by method.

Both have a low-level server and the same types, whose keys may be given in camel case. They differ
in how handlers are registered, in what these get, and in how an error is raised.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import mcp
from mcp import types
from mcp.server.lowlevel import Server

_HAS_CONTEXT = hasattr(mcp, "MCPError")
"""Whether handlers get their context as an argument: the SDK is of version 2 or newer."""
ProtocolError: Any = getattr(mcp, "MCPError" if _HAS_CONTEXT else "McpError")
"""The exception that a client gets as an error of the protocol."""
CONFIRM_SCHEMA = {
    "type": "object",
    "properties": {"confirm": {"type": "boolean", "title": "Yes, do it"}},
    "required": ["confirm"],
}
FIRST_WITHOUT_REQUESTS = "2026-07-28"
"""From this version of the protocol on, a server sends no requests: it answers that it needs the
user's answer, and is called again with it."""
_log = logging.getLogger(__name__)


_REQUESTS = {
    "tools/list": "ListToolsRequest",
    "tools/call": "CallToolRequest",
    "resources/list": "ListResourcesRequest",
    "resources/templates/list": "ListResourceTemplatesRequest",
    "resources/read": "ReadResourceRequest",
    "prompts/list": "ListPromptsRequest",
    "prompts/get": "GetPromptRequest",
    "completion/complete": "CompleteRequest",
}
"""The classes of the requests."""


class NeedsAnswerError(Exception):
    """A call needs the user's answer first; the client is to call again with it."""

    def __init__(self, question: str) -> None:
        super().__init__(question)
        params = {"message": question, "requestedSchema": CONFIRM_SCHEMA}
        self.result = {
            "resultType": "input_required",
            "inputRequests": {question: {"method": "elicitation/create", "params": params}},
        }


class Asker:
    """The client of a request, which can be told how far it is, and may ask its user."""

    def __init__(self, context: Any, params: Any = None) -> None:  # noqa: ANN401 - of either version
        self._context = context
        self._session = context.session
        self._params = params
        self._is_called_again = (
            _HAS_CONTEXT and context.session.protocol_version >= FIRST_WITHOUT_REQUESTS
        )

    async def progress(self, done: float, total: float, what: str) -> None:
        """Tell how far the request is, if the client asked for it."""
        if _HAS_CONTEXT:
            await self._session.report_progress(done, total, what)
            return
        token = getattr(self._context.meta, "progressToken", None)
        if token is not None:
            request_id = str(self._context.request_id)
            await self._session.send_progress_notification(token, done, total, what, request_id)

    @property
    def can_ask_user(self) -> bool:
        """Whether the client shows its user a form of a server, and can be reached.

        Over HTTP, version 1 would wait for an answer to a question that it cannot send.
        """
        if _HAS_CONTEXT:
            can = self._session.can_send_request or self._is_called_again
            known = can and self._session.client_capabilities
        else:
            params = self._session.client_params
            known = self._context.request is None and params and params.capabilities
        modes = known.elicitation if known else None
        return modes is not None and (modes.form is not None or modes.url is None)

    async def confirms(self, question: str) -> bool:
        """Whether the user says yes, and confirms it; an error is none.

        Raises:
            NeedsAnswerError: the client has to ask first.
        """
        request_id = self._context.request_id
        try:
            if self._is_called_again:
                # By the question, so that the answer to another one does not count.
                answer = (self._params.input_responses or {}).get(question)
                if answer is None:
                    raise NeedsAnswerError(question)
            else:
                answer = await self._session.elicit(question, CONFIRM_SCHEMA, request_id)
        except ProtocolError as error:
            _log.debug("the user was not asked: %s", error)
            return False
        return bool(answer.action == "accept" and (answer.content or {}).get("confirm") is True)


Handler = Callable[[Any, Asker], Awaitable[Any]]
"""Parameters of a request -> its result."""


def protocol_error(code: int, message: str, data: Mapping[str, Any]) -> Exception:
    """An error of the protocol, to be raised."""
    if _HAS_CONTEXT:
        error: Exception = ProtocolError(code, message, dict(data))
    else:
        error = ProtocolError(types.ErrorData(code=code, message=message, data=dict(data)))
    return error


def server_of(
    handlers: Mapping[str, Handler], begin: Callable[[], object], *, version: str, instructions: str
) -> Server[Any, Any]:
    """A server that answers by handlers; `begin` is called when a client is greeted.

    The SDK's decorators of version 1 are not used: theirs for tools would answer an unknown name
    with a result, and load the engine to validate what `Tool.call()` checks.
    """
    server: Any = Server("vaultsync", version=version, instructions=instructions)

    async def greeted(*_: object) -> None:
        begin()

    def with_context(handler: Handler) -> Callable[[Any, Any], Awaitable[Any]]:
        async def answer(context: Any, params: Any) -> Any:  # noqa: ANN401 - of either version
            try:
                return await handler(params, Asker(context, params))
            except NeedsAnswerError as needed:
                return needed.result

        return answer

    def by_class(handler: Handler) -> Callable[[Any], Awaitable[types.ServerResult]]:
        async def answer(request: Any) -> types.ServerResult:  # noqa: ANN401 - of either version
            return types.ServerResult(await handler(request.params, Asker(server.request_context)))

        return answer

    for method, handler in handlers.items():
        name = _REQUESTS[method]
        if _HAS_CONTEXT:
            params = getattr(types, f"{name}Params", types.PaginatedRequestParams)
            server.add_request_handler(method, params, with_context(handler))
        else:
            server.request_handlers[getattr(types, name)] = by_class(handler)
    if _HAS_CONTEXT:
        greeting = ("notifications/initialized", types.NotificationParams, greeted)
        server.add_notification_handler(*greeting)
    else:
        server.notification_handlers[types.InitializedNotification] = greeted
    return server  # type: ignore[no-any-return] # of either version
