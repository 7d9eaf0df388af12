"""``HParams``: named and typed settings of a model, read from text, dictionaries and JSON."""

from __future__ import annotations

import json
import numbers
import re
from collections.abc import Callable, Mapping
from typing import Any

from towerstrat.platform import messages
from towerstrat.platform.text import as_bytes, as_str

_CLAUSE = re.compile(
    r"""(?P<name>[a-zA-Z][\w\.]*)(\[\s*(?P<index>\d+)\s*\])?
        \s*=\s*
        ((?P<value>[^,\[]*)|\[(?P<values>[^\]]*)\])
        ($|,\s*)""",
    re.VERBOSE,
)
"""``name = value``, ``name[index] = value`` or ``name = [value, value]``, and the comma behind it."""


def parse_values(values: str, type_map: Mapping[str, type], ignore_unknown: bool = False) -> dict[str, Any]:
    """Settings from text such as ``rate=0.1,units=[8,4],names[1]=relu``.

    Args:
      type_map: name -> the type of the value, or of the entries of a list.
      ignore_unknown: leave out names without a type.

    Returns:
      Name -> a value, a list of values, or index -> value.

    Raises:
      ValueError: text that cannot be read, a name without a type, a name or index that is set twice.
    """
    found: dict[str, Any] = {}
    position = 0
    while position < len(values):
        clause = _CLAUSE.match(values, position)
        if not clause:
            raise ValueError(f"Malformed hyperparameter value: {values[position:]}")
        position = clause.end()
        name, index = clause["name"], clause["index"]
        if name not in type_map:
            if ignore_unknown:
                continue
            raise ValueError(f"Unknown hyperparameter type for {name}")
        read = _reader(name, type_map[name], values)
        if clause["values"] is not None:
            if index is not None:
                raise ValueError("Assignment of a list to a list index.")
            _set_once(found, name, read(clause["values"], several=True), name, values)
        elif index is None:
            _set_once(found, name, read(clause["value"]), name, values)
        else:
            entries = found.setdefault(name, {})
            if not isinstance(entries, dict):
                raise ValueError(f"Multiple assignments to variable '{name}' in {values}")
            _set_once(entries, int(index), read(clause["value"]), f"{name}[{int(index)}]", values)
    return found


def _set_once(found: dict[Any, Any], key: Any, value: Any, name: str, values: str) -> None:
    if key in found:
        raise ValueError(f"Multiple assignments to variable '{name}' in {values}")
    found[key] = value


def _boolean(text: str) -> bool:
    return {"true": True, "True": True, "false": False, "False": False}[text] if text[:1] in "tTfF" else bool(int(text))


def _reader(name: str, kind: type, values: str) -> Callable[..., Any]:
    """What reads one value of a type, or several of them. It raises ValueError for a text that is none."""
    convert: Callable[..., Any] = _boolean if kind is bool else kind

    def read(text: str, several: bool = False) -> Any:
        try:
            return [convert(v) for v in re.split("[ ,]", text) if v] if several else convert(text)
        except (ValueError, KeyError):
            raise ValueError(
                f"Could not parse hparam '{name}' of type '{kind.__name__}' with value '{text}' in {values}"
            ) from None

    return read


def _cast(name: str, kind: type, value: Any) -> Any:
    """The value as ``kind``, where nothing is lost. Raises ValueError where it is no value of that type."""
    if issubclass(kind, type(None)):
        return value
    text = issubclass(kind, str | bytes) and not isinstance(value, str | bytes)
    boolean = issubclass(kind, bool) != isinstance(value, bool)
    integer = issubclass(kind, numbers.Integral) and not isinstance(value, numbers.Integral)
    number = issubclass(kind, numbers.Number) and not isinstance(value, numbers.Number)
    if text or boolean or integer or number:
        raise ValueError(f"Could not cast hparam '{name}' of type '{kind}' from value {value!r}")
    made: Callable[..., Any] = kind
    return made(value)


_FIELDS: dict[str, tuple[type, ...]] = {"bool": (bool,), "int64": (int,), "bytes": (str, bytes), "float": (float,)}
"""The kinds of values in ``HParamDef``, and their types; the first that fits counts."""


def _read(message: messages.HParamDef) -> dict[str, Any]:
    """The settings in a message; strings are text."""
    found = {}
    for name, entry in message.hparam.items():
        kind = entry.WhichOneof("kind")
        value = getattr(entry, kind)
        values = list(value.value) if kind.endswith("_list") else [value]
        values = [as_str(v) for v in values] if kind.startswith("bytes") else values
        found[name] = values if kind.endswith("_list") else values[0]
    return found


class HParams:
    """Settings, each an attribute that keeps the type of its first value: a number, bool, string or a list of one.

    Args:
      hparam_def: the settings as an ``HParamDef`` message, as ``to_proto`` makes them.
      model_structure: any object, for ``get_model_structure``.
      kwargs: the settings.

    Raises:
      ValueError: a name that is an attribute already, an empty list, or both a message and settings.
    """

    def __init__(self, hparam_def: messages.HParamDef | None = None, model_structure: Any = None, **kwargs: Any):
        if hparam_def and kwargs:
            raise ValueError("hparam_def and initialization values are mutually exclusive")
        self._hparam_types: dict[str, tuple[type, bool]] = {}
        self._model_structure = model_structure
        for name, value in (_read(hparam_def) if hparam_def else kwargs).items():
            self.add_hparam(name, value)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def add_hparam(self, name: str, value: Any) -> None:
        """Adds a setting; its type is that of ``value``."""
        if getattr(self, name, None) is not None:
            raise ValueError(f"Hyperparameter name is reserved: {name}")
        several = isinstance(value, list | tuple)
        if several and not value:
            raise ValueError(f"Multi-valued hyperparameters cannot be empty: {name}")
        self._hparam_types[name] = (type(value[0] if several else value), several)
        setattr(self, name, value)

    def set_hparam(self, name: str, value: Any) -> None:
        """Sets a setting that is there. Raises ValueError where ``value`` is not of its type."""
        kind, several = self._hparam_types[name]
        if isinstance(value, list):
            if not several:
                raise ValueError(f"Must not pass a list for single-valued parameter: {name}")
            setattr(self, name, [_cast(name, kind, v) for v in value])
        else:
            if several:
                raise ValueError(f"Must pass a list for multi-valued parameter: {name}.")
            setattr(self, name, _cast(name, kind, value))

    def del_hparam(self, name: str) -> None:
        """Removes a setting, if it is there."""
        if hasattr(self, name):
            delattr(self, name)
            del self._hparam_types[name]

    def parse(self, values: str) -> HParams:
        """Sets what a text says, in the form of ``parse_values``."""
        return self.override_from_dict(parse_values(values, {n: kind for n, (kind, _) in self._hparam_types.items()}))

    def override_from_dict(self, values_dict: Mapping[str, Any]) -> HParams:
        """Sets what a dictionary says."""
        for name, value in values_dict.items():
            self.set_hparam(name, value)
        return self

    def set_from_map(self, values_map: Mapping[str, Any]) -> HParams:
        """``override_from_dict`` by its older name."""
        return self.override_from_dict(values_map)

    def set_model_structure(self, model_structure: Any) -> None:
        self._model_structure = model_structure

    def get_model_structure(self) -> Any:
        return self._model_structure

    def to_json(self, indent: int | None = None, separators: Any = None, sort_keys: bool = False) -> str:
        """The settings as JSON; arguments as of ``json.dumps``."""
        return json.dumps(self.values(), indent=indent, separators=separators, sort_keys=sort_keys)

    def parse_json(self, values_json: str) -> HParams:
        """Sets what a JSON object says."""
        return self.override_from_dict(json.loads(values_json))

    def values(self) -> dict[str, Any]:
        """Name -> value."""
        return {name: getattr(self, name) for name in self._hparam_types}

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a setting, or ``default`` where it is not there.

        Raises:
          ValueError: it is there, and ``default`` is not of its type.
        """
        if key not in self._hparam_types:
            return default
        if default is not None:
            self._check(key, default)
        return getattr(self, key)

    def _check(self, key: str, default: Any) -> None:
        kind, several = self._hparam_types[key]
        shown = f"list<{kind}>" if several else str(kind)
        problem = f"Hparam '{key}' of type '{shown}' is incompatible with default={default}"
        if several != isinstance(default, list):
            raise ValueError(problem)
        try:
            for value in default if several else [default]:
                _cast(key, kind, value)
        except ValueError as error:
            raise ValueError(f"{problem}. {error}") from None

    def to_proto(self, export_scope: str | None = None) -> messages.HParamDef:
        """The settings as an ``HParamDef`` message; ``export_scope`` changes nothing.

        Raises:
          ValueError: a setting of another type than numbers, bools, strings and lists of one of these.
        """
        message = messages.HParamDef()
        for name, (kind, several) in self._hparam_types.items():
            field = next((f for f, kinds in _FIELDS.items() if issubclass(kind, kinds)), None)
            if field is None:
                raise ValueError(f"Unsupported parameter type: {kind}")
            values = getattr(self, name) if several else [getattr(self, name)]
            values = [as_bytes(v) for v in values] if field == "bytes" else values
            if several:
                getattr(message.hparam[name], f"{field}_list").value.extend(values)
            else:
                setattr(message.hparam[name], f"{field}_value", values[0])
        return message

    @staticmethod
    def from_proto(hparam_def: messages.HParamDef, import_scope: str | None = None) -> HParams:
        """The settings of an ``HParamDef`` message; ``import_scope`` changes nothing."""
        return HParams(hparam_def=hparam_def)

    def __contains__(self, key: str) -> bool:
        return key in self._hparam_types

    def __str__(self) -> str:
        return str(sorted(self.values().items()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"
