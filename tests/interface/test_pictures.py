"""Pictures are files that others can read, and show what they are of; with the extra ``plot``."""

import struct
import zlib
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from benchmarks.picture import OURS, draw
from dpsql.errors import NotSupportedError
from dpsql.interface.compare import Compared
from dpsql.interface.render import comparison
from dpsql.interface.render.comparison import check_drawing, draw_comparison
from dpsql.synthesis.quality import Errors

BLUE = (31, 119, 180)
"""Of the first bars that matplotlib draws."""


def chunks(data: bytes) -> list[bytes]:
    """The names of a PNG's chunks in order; each with the check sum that it says (RFC 2083, section 3)."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    out, at = [], 8
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        named = data[at + 4 : at + 8 + length]
        assert struct.unpack(">I", data[at + 8 + length : at + 12 + length]) == (zlib.crc32(named),)
        out.append(named[:4])
        at += 12 + length
    return out


def bars(picture: Any) -> list[int]:
    """The length, in pixels, of each bar from the top."""
    lengths = (np.abs(picture[:, :, :3] * 255 - BLUE) < 2).all(axis=2).sum(axis=1)
    starts = [i for i, (a, b) in enumerate(pairwise([0, *lengths.tolist()])) if a < 20 <= b]
    return [int(lengths[i + 1]) for i in starts]


def test_a_comparison_is_a_png_with_a_bar_for_each_method(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.image import imread  # type: ignore[import-not-found, unused-ignore]

    means = {"session": 10.0, "mwem": 40.0, "iterative": 20.0}
    found = [
        Compared(word, parts=(Errors("workload", 9, mean, (mean,) * 10, 1.0, 1.0),)) for word, mean in means.items()
    ]
    path = tmp_path / "compared.png"
    draw_comparison([found[0], Compared("graph", failed="no graph"), *found[1:]], path)
    names = chunks(path.read_bytes())
    assert (names[0], names[-1]) == (b"IHDR", b"IEND") and b"IDAT" in names
    lengths = np.array(bars(imread(path)))
    assert lengths / lengths.max() == pytest.approx([0.25, 1.0, 0.5], abs=0.02)


def test_results_are_an_svg_with_the_names_and_numbers_of_all_methods(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    rows = [
        {"method": "dpsql", "peer": "dpsql", "mean": 12.0, "p95": 30.0},
        {"method": "one noisy histogram", "peer": "histogram", "mean": 1234.0, "p95": 4000.0},
        {"method": "refused", "peer": "other"},
    ]
    assert draw("kept", {"title": "adult6, epsilon 1", "rows": rows}, tmp_path)
    root = ElementTree.parse(tmp_path / "kept.svg").getroot()  # noqa: S314 - made here
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    texts = {"".join(text.itertext()).strip() for text in root.iter("{http://www.w3.org/2000/svg}text")}
    assert texts >= {"dpsql", "one noisy histogram", "12", "1,234", "adult6, epsilon 1"} and "refused" not in texts
    filled = [p.get("style", "") for p in root.iter("{http://www.w3.org/2000/svg}path")]
    assert sum(f"fill: {OURS}" in style for style in filled) == 1


def test_without_the_extra_a_picture_is_refused_with_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(NotSupportedError, match="matplotlib") as refused:
        check_drawing(tmp_path / "compared.png")
    assert "dpsql[plot]" in refused.value.hint
    assert not draw("kept", {"title": "", "rows": []}, tmp_path) and not list(tmp_path.iterdir())
