"""Progress of training on the terminal: a bar that is redrawn, or a line every 30 seconds where stderr is no terminal.

    step 340 of 1000  [======              ]  loss 0.2341  52.1 steps/s  1.67k examples/s  0:13 left

Sessions report steps (``Display.steps``), the timers report other activities, such as "compiling ..." (``activity``).
The rate is an exponential average over redraws, 0.7 old + 0.3 new. Logs and prints would break the bar in two, so that
on a terminal ``sys.stderr`` and ``sys.stdout`` are wrapped (``Above``): text first clears the bar, and the next step
redraws it below. ``clock`` is an argument for tests.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable
from typing import IO, Any

from towerstrat.platform.accounts import ACCOUNTS, COMPILATION, SAVING

_REDRAWN = 0.1
"""Seconds between redraws of the bar."""
_FIRST_LINE, _LINES = 10.0, 30.0
"""Seconds to the first line, and between lines, where there is no terminal."""
_SAID = {COMPILATION: "compiling", SAVING: "saving"}
_CLEARED = "\r\x1b[K"


class Display:
    """Progress bar or progress lines of one session after another.

    Args:
      stream: to draw on. On a terminal one line is redrawn; elsewhere lines are added.
      clock: returns seconds.
    """

    def __init__(self, stream: IO[str], clock: Callable[[], float] = time.perf_counter):
        self.stream = stream
        self.terminal = stream.isatty()
        self._clock = clock
        self._text = ""
        self._drawn = -_LINES
        self._what = ""
        self._first: tuple[float, int] | None = None
        self._rate = 0.0
        self._latest: tuple[float, int] = (0.0, 0)
        self._state: tuple[int, int | None, float | None, int | None] | None = None
        """Arguments of the last ``steps``."""

    def begin(self, noun: str) -> None:
        """Begin a session. ``noun``: the word before the number, "step" where it trains."""
        self._what, self._first, self._rate, self._state = noun, None, 0.0, None

    def steps(self, step: int, last: int | None, loss: float | None, batch: int | None) -> None:
        """Report a step; draws if the last drawing is old enough, or the step is the last one.

        Args:
          step: the global step.
          last: step at which the session stops; None: unknown.
          loss: at this step; None: unknown.
          batch: examples per step; None: unknown.
        """
        now = self._clock()
        self._state = (step, last, loss, batch)
        if self._first is None:
            self._first = self._latest = (now, step)
            # As if drawn before: a bar appears at once, a line after _FIRST_LINE seconds.
            self._drawn = now - (_REDRAWN if self.terminal else _LINES - _FIRST_LINE)
        if now - self._drawn < (_REDRAWN if self.terminal else _LINES) and step != last:
            return
        since, before = self._latest
        if now > since and step > before:
            rate = (step - before) / (now - since)
            self._rate = rate if not self._rate else 0.7 * self._rate + 0.3 * rate
            self._latest = (now, step)
        if self.terminal or step != last or now - self._first[0] >= _FIRST_LINE:
            self._draw(self._line(step, last, loss, batch), now)

    def activity(self, activity: str | None) -> None:
        """Show an activity that interrupts the steps, compiling or saving, behind the bar; others show nothing."""
        if self.terminal and activity in _SAID and self._text:
            self._draw(f"{self._text}  {_SAID[activity]} ...", self._drawn, keep=True)

    def clear(self) -> None:
        """Clear the bar, before other text is written."""
        if self.terminal and self._text:
            self.stream.write(_CLEARED)
            self._text = ""

    def end(self) -> None:
        """End a session: on a terminal the bar stays with its last step, marked if that was before the end."""
        if self.terminal and self._text:
            if self._state is not None:
                step, last, loss, batch = self._state
                stopped = last is not None and step < last
                line = self._line(step, None if stopped else last, loss, batch)
                self._draw(f"{line}  stopped before {last}" if stopped else line, self._clock())
            self.stream.write("\n")
            self._text = ""

    def _draw(self, text: str, now: float, keep: bool = False) -> None:
        if self.terminal:
            width = shutil.get_terminal_size().columns
            self.stream.write(_CLEARED + text[: width - 1])
        else:
            self.stream.write(f"towerstrat: {text}\n")
        self.stream.flush()
        self._drawn = now
        self._text = self._text if keep else text

    def _line(self, step: int, last: int | None, loss: float | None, batch: int | None) -> str:
        parts = [f"{self._what} {step}" + ("" if last is None else f" of {last}")]
        if last and self.terminal:
            full = min(20, 20 * step // last)
            parts.append(f"[{'=' * full}{' ' * (20 - full)}]")
        if loss is not None:
            parts.append(f"loss {loss:.4g}")
        if self._rate:
            parts.append(f"{_short(self._rate)} steps/s")
            if batch:
                parts.append(f"{_short(self._rate * batch)} examples/s")
            if last is not None and last > step:
                parts.append(f"{_duration((last - step) / self._rate)} left")
        return "  ".join(parts)


class Above:
    """Wrapper of a stream on the bar's terminal, which clears the bar before text."""

    def __init__(self, stream: IO[str], display: Display):
        self._stream = stream
        self._display = display

    def write(self, text: str) -> int:
        self._display.clear()
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class Screen:
    """Holder of this process's display.

    Attributes:
      display: None: no progress is shown.
    """

    def __init__(self) -> None:
        self.display: Display | None = None

    def show(self) -> None:
        """Show progress on standard error from now on; on a terminal ``sys.stderr`` and ``sys.stdout`` are wrapped."""
        self.display = display = Display(sys.stderr)
        ACCOUNTS.listener = display.activity
        if display.terminal:
            sys.stderr = Above(sys.stderr, display)
            if sys.stdout.isatty():
                sys.stdout = Above(sys.stdout, display)


SCREEN = Screen()


def _short(number: float) -> str:
    for limit, unit in ((1e6, "M"), (1e3, "k")):
        if number >= limit:
            return f"{number / limit:.3g}{unit}"
    return f"{number:.3g}"


def _duration(seconds: float) -> str:
    minutes, seconds_left = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds_left:02}" if hours else f"{minutes}:{seconds_left:02}"
