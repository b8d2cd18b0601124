"""The MJCF language: the table of elements and attributes, default classes, validation, errors, and the Spec of items.

`table` is the language, `schema` reads it, `validate` checks a document against it; `spec` holds what a document says
and `names` who is called what. May import: nothing else of the compiler.
"""
