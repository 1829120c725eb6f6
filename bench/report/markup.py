"""HTML by construction: what is not Html is text, and text is escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape


class Html(str):
    """Markup that is finished; everything else is escaped when it goes in."""

    __slots__ = ()


Content = Html | str | Iterable["Content"] | None

_VOID = {"br", "link", "meta"}


def tag(name: str, /, *content: Content, **attributes: str | bool | None) -> Html:
    """`tag("td", text, class_="x", data_label="p50")`; an attribute that is None or False is left out."""
    words = [name]
    for key, value in attributes.items():
        attribute = key.rstrip("_").replace("_", "-")
        if value is True:
            words.append(attribute)
        elif value is not None and value is not False:
            words.append(f'{attribute}="{escape(value, quote=True)}"')
    opened = f"<{' '.join(words)}>"
    return Html(opened if name in _VOID else f"{opened}{joined(*content)}</{name}>")


def joined(*content: Content) -> Html:
    return Html("".join(_parts(content)))


def _parts(content: Iterable[Content]) -> Iterable[str]:
    for part in content:
        if part is None:
            continue
        if isinstance(part, Html):
            yield part
        elif isinstance(part, str):
            # Surrogates can stand in a JSON string but not in a UTF-8 file.
            yield escape(part, quote=True).encode("utf-8", "replace").decode("utf-8")
        else:
            yield from _parts(part)
