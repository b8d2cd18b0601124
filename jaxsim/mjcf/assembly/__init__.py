"""The compiler itself: items resolved in order, arrays made of them and completed, one CompiledModel.

May import: everything else of the compiler.
"""
