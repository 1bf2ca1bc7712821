"""YAML text to parsing events: by libyaml where it reads the text, by the library of YAML 1.2 where it does not.

libyaml is some twenty times as fast, but knows YAML 1.1 alone. What it refuses, and what the two might read in
different ways (tabs, line breaks of one of them only, directives, anchors), goes to the library of YAML 1.2, which
also words the syntax errors.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import Any

import yaml

_ONE_SIDED = re.compile("[\t\x85\u2028\u2029]|\r(?!\n)|^%", re.MULTILINE)


class NotAlike(Exception):  # noqa: N818 - it says what the text is, and never reaches a user
    """Text that libyaml refuses or might read otherwise."""


def fast(text: str) -> Iterator[Any]:
    """Events of libyaml.

    Raises:
        NotAlike: the text is for `exact`; events that came before are void.

    """
    if not yaml.__with_libyaml__ or _ONE_SIDED.search(text):
        raise NotAlike
    try:
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            if getattr(event, "anchor", None) is not None:
                raise NotAlike
            yield event
    except (yaml.YAMLError, ValueError):
        raise NotAlike from None


def exact(text: str) -> Iterator[Any]:
    """Events of the library of YAML 1.2; it raises its own errors, and on odd input others beside them."""
    from ruamel.yaml import YAML  # dear to import, and of use for odd texts alone

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield from YAML(typ="safe", pure=True).parse(text)
