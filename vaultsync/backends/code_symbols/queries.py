"""Queries of tree-sitter, per language: what is a definition, and what refers to one.

A definition is captured by its kind, and its name as `name`; a `scope` gives its members
their parent and is none itself. A reference is captured as `r`, and as `m` where it may also
be one to something else: a member of an unknown object, or a local variable.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class LanguageQueries(NamedTuple):
    """The queries of one language."""

    definitions: str
    references: str


_PYTHON = LanguageQueries(
    """
    (class_definition name: (identifier) @name) @class
    (function_definition name: (identifier) @name) @function
    (module (expression_statement (assignment left: (identifier) @name) @constant))
    (module (expression_statement (assignment left: (identifier) @name type: (_)) @constant))
    """,
    """
    (call function: (identifier) @r)
    (attribute attribute: (identifier) @m)
    (class_definition superclasses: (argument_list (identifier) @r))
    (argument_list (identifier) @m)
    (keyword_argument value: (identifier) @m)
    (decorator (identifier) @r)
    (type (identifier) @r)
    (type (generic_type (identifier) @r))
    (type (binary_operator (identifier) @r))
    (import_from_statement name: (dotted_name (identifier) @r))
    (except_clause (identifier) @r)
    (raise_statement (identifier) @r)
    """,
)
_JAVASCRIPT = LanguageQueries(
    """
    (class_declaration name: (_) @name) @class
    (function_declaration name: (identifier) @name) @function
    (generator_function_declaration name: (identifier) @name) @function
    (method_definition name: (property_identifier) @name) @function
    (program [
      (lexical_declaration (variable_declarator name: (identifier) @name) @constant)
      (export_statement
        (lexical_declaration (variable_declarator name: (identifier) @name) @constant))
    ])
    """,
    """
    (call_expression function: (identifier) @r)
    (member_expression property: (property_identifier) @m)
    (new_expression constructor: (identifier) @r)
    (class_heritage (identifier) @r)
    (arguments (identifier) @m)
    (import_specifier name: (identifier) @r)
    (import_clause (identifier) @r)
    """,
)
_TYPESCRIPT = LanguageQueries(
    _JAVASCRIPT.definitions
    + """
    (abstract_class_declaration name: (_) @name) @class
    (interface_declaration name: (_) @name) @class
    (enum_declaration name: (_) @name) @class
    (internal_module name: (_) @name) @class
    (type_alias_declaration name: (_) @name) @type
    (method_signature name: (property_identifier) @name) @function
    (abstract_method_signature name: (property_identifier) @name) @function
    (function_signature name: (identifier) @name) @function
    """,
    _JAVASCRIPT.references.replace("(class_heritage (identifier) @r)", "")
    + """
    (type_identifier) @r
    (extends_clause value: (identifier) @r)
    """,
)
# JSX is in the grammar of JavaScript and in that of TSX.
_JSX = """
    (jsx_opening_element name: (identifier) @r)
    (jsx_self_closing_element name: (identifier) @r)
"""
_C_REFERENCES = """
    (call_expression function: (identifier) @r)
    (call_expression function: (field_expression field: (field_identifier) @m))
    (argument_list (identifier) @m)
    (type_identifier) @r
"""
_C = LanguageQueries(
    """
    (function_declarator declarator: (identifier) @name) @function
    (struct_specifier name: (type_identifier) @name body: (_)) @class
    (union_specifier name: (type_identifier) @name body: (_)) @class
    (enum_specifier name: (type_identifier) @name body: (_)) @class
    (type_definition declarator: (type_identifier) @name) @type
    (preproc_function_def name: (identifier) @name) @function
    """,
    _C_REFERENCES,
)
_CPP = LanguageQueries(
    _C.definitions
    + """
    (class_specifier name: (type_identifier) @name body: (_)) @class
    (namespace_definition name: (_) @name) @scope
    (function_declarator declarator: (field_identifier) @name) @function
    (function_declarator declarator: (qualified_identifier name: (identifier) @name)) @function
    (alias_declaration name: (type_identifier) @name) @type
    """,
    _C_REFERENCES
    + """
    (call_expression function: (qualified_identifier name: (identifier) @r))
    """,
)

QUERIES: Mapping[str, LanguageQueries] = MappingProxyType(
    {
        "python": _PYTHON,
        "javascript": LanguageQueries(_JAVASCRIPT.definitions, _JAVASCRIPT.references + _JSX),
        "typescript": _TYPESCRIPT,
        "tsx": LanguageQueries(_TYPESCRIPT.definitions, _TYPESCRIPT.references + _JSX),
        "go": LanguageQueries(
            """
            (function_declaration name: (identifier) @name) @function
            (method_declaration name: (field_identifier) @name) @function
            (type_spec name: (type_identifier) @name) @class
            (type_alias name: (type_identifier) @name) @type
            (source_file (const_declaration (const_spec name: (identifier) @name) @constant))
            """,
            """
            (call_expression function: (identifier) @r)
            (selector_expression field: (field_identifier) @m)
            (argument_list (identifier) @m)
            (type_identifier) @r
            """,
        ),
        "rust": LanguageQueries(
            """
            (struct_item name: (type_identifier) @name) @class
            (enum_item name: (type_identifier) @name) @class
            (union_item name: (type_identifier) @name) @class
            (trait_item name: (type_identifier) @name) @class
            (mod_item name: (identifier) @name body: (_)) @scope
            (impl_item type: (type_identifier) @name) @scope
            (impl_item type: (generic_type type: (type_identifier) @name)) @scope
            (type_item name: (type_identifier) @name) @type
            (function_item name: (identifier) @name) @function
            (function_signature_item name: (identifier) @name) @function
            (macro_definition name: (identifier) @name) @function
            (const_item name: (identifier) @name) @constant
            (static_item name: (identifier) @name) @constant
            """,
            """
            (call_expression function: (identifier) @r)
            (call_expression function: (field_expression field: (field_identifier) @m))
            (scoped_identifier name: (identifier) @r)
            (scoped_identifier path: (identifier) @r)
            (macro_invocation macro: (identifier) @r)
            (arguments (identifier) @m)
            (use_list (identifier) @r)
            (type_identifier) @r
            """,
        ),
        "java": LanguageQueries(
            """
            (class_declaration name: (identifier) @name) @class
            (interface_declaration name: (identifier) @name) @class
            (enum_declaration name: (identifier) @name) @class
            (record_declaration name: (identifier) @name) @class
            (annotation_type_declaration name: (identifier) @name) @class
            (method_declaration name: (identifier) @name) @function
            (constructor_declaration name: (identifier) @name) @function
            """,
            """
            (method_invocation name: (identifier) @m)
            (method_invocation object: (identifier) @r)
            (field_access field: (identifier) @m)
            (marker_annotation name: (identifier) @r)
            (annotation name: (identifier) @r)
            (type_identifier) @r
            """,
        ),
        "c": _C,
        "cpp": _CPP,
        "ruby": LanguageQueries(
            """
            (class name: [(constant) @name (scope_resolution name: (constant) @name)]) @class
            (module name: [(constant) @name (scope_resolution name: (constant) @name)]) @class
            (method name: (_) @name) @function
            (singleton_method name: (_) @name) @function
            """,
            """
            (call method: [(identifier) (constant)] @m)
            (superclass (constant) @r)
            (scope_resolution name: (constant) @r)
            (call receiver: (constant) @r)
            (argument_list (constant) @r)
            """,
        ),
    }
)
