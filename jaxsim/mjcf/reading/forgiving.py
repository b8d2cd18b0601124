"""XML from what MuJoCo's parser (tinyxml2) reads and XML forbids. Every tag stays in its line.

Such are `--` within comments, what stands before <?xml ...?>, `&` and `<` within values, text and declarations that
nobody reads, and attributes without a space between them. Tabs and line ends within values are kept, where XML makes
spaces of them.
"""

import re

_TOKEN = re.compile(
    r"""(?P<unread><!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?xml\b.*?\?>|<!(?!--|\[CDATA|DOCTYPE)[^<>]*+>|[^<]++)
    |(?P<tag></?[A-Za-z_:](?:[^<>"']|"[^"]*+"|'[^']*+')*+>)""",
    re.DOTALL | re.VERBOSE,
)
_VALUE = re.compile(r"""("[^"]*"|'[^']*')(?=(\s|[/>])?)""")
_SPECIAL = re.compile(r"<|\t|\r\n?|\n|&(?:(?:quot|amp|apos|lt|gt);|\#([0-9]{1,7});|\#x([0-9a-fA-F]{1,6});)?")
_VISIBLE = re.compile(r"[^\r\n]")


def forgiven(source: str) -> str:
    """The document as XML; from the first place on that MuJoCo could not read either it is as it was."""
    done, end = [], 0
    while token := _TOKEN.match(source, end):
        end = token.end()
        done.append(_VALUE.sub(_value, token["tag"]) if token["tag"] else _VISIBLE.sub(" ", token["unread"]))
    return "".join([*done, source[end:]])


def _value(found: re.Match) -> str:
    """A value in its quotes; the line ends that were in it follow it, and what comes next is apart from it."""
    lines = found[1].count("\n") + found[1].count("\r") - found[1].count("\r\n")
    return _SPECIAL.sub(_character, found[1]) + ("\n" * lines or ("" if found[2] else " "))


def _character(found: re.Match) -> str:
    text = found[0]
    if text == "&" or (text.startswith("&#") and not _is_character(int(found[1] or "0") or int(found[2] or "0", 16))):
        return "&amp;" + text[1:]
    return {"<": "&lt;", "\t": "&#9;", "\n": "&#10;", "\r": "&#10;", "\r\n": "&#10;"}.get(text, text)


def _is_character(code: int) -> bool:
    """Whether XML allows a character."""
    return code in (9, 10, 13) or 0x20 <= code <= 0xD7FF or 0xE000 <= code <= 0xFFFD or 0x10000 <= code <= 0x10FFFF
