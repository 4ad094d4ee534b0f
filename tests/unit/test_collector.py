"""The collector's threshold while statements are answered: raised, shared by threads, restored whatever happens."""

import gc
from collections.abc import Iterator
from threading import Barrier, Thread

import pytest

from dpsql.collector import OBJECTS, collected_seldom


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_an_error_restores_what_was() -> None:
    gc.set_threshold(700, 11, 12)
    with pytest.raises(ValueError, match="odd"), collected_seldom():
        assert gc.get_threshold() == (OBJECTS, 11, 12)
        raise ValueError("odd")
    assert gc.get_threshold() == (700, 11, 12)


def test_one_within_another_leaves_it_raised() -> None:
    gc.set_threshold(700, 10, 10)
    with collected_seldom():
        with collected_seldom():
            pass
        assert gc.get_threshold()[0] == OBJECTS
    assert gc.get_threshold()[0] == 700


def test_the_last_of_several_threads_restores() -> None:
    gc.set_threshold(700, 10, 10)
    inside, first_left = Barrier(2), Barrier(2)
    seen: list[int] = []

    def short() -> None:
        with collected_seldom():
            inside.wait()
        first_left.wait()

    thread = Thread(target=short)
    thread.start()
    with collected_seldom():
        inside.wait()
        first_left.wait()
        seen.append(gc.get_threshold()[0])
    thread.join()
    assert seen == [OBJECTS]
    assert gc.get_threshold()[0] == 700


@pytest.mark.parametrize("chosen", [0, 10 * OBJECTS])
def test_who_never_collects_or_seldom_keeps_it(chosen: int) -> None:
    gc.set_threshold(chosen, 10, 10)
    with collected_seldom():
        assert gc.get_threshold()[0] == chosen
    assert gc.get_threshold()[0] == chosen
