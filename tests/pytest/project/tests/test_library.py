import os
import unittest

import pytest
from library import squares


def test_called(benchmark, size):
    assert benchmark(squares, n=size)[-1] == (size - 1) ** 2


@pytest.mark.benchmark
def test_marked():
    assert squares(3) == [0, 1, 4]


def test_decorator(benchmark):
    @benchmark
    def result():
        return squares(4)

    assert len(result) == 4


def test_prepared(benchmark):
    done = []
    benchmark.pedantic(list.sort, setup=lambda: (([3, 1, 2],), {}), teardown=done.append, rounds=5)
    assert done and all(numbers == [1, 2, 3] for numbers in done)


def test_skipped(benchmark):
    pytest.skip("not today")


def test_failing(benchmark):
    assert benchmark(squares, 2) == "squares"


def test_twice(benchmark):
    benchmark(squares, 1)
    benchmark(squares, 1)


def test_raising(benchmark):
    with pytest.raises(TypeError):
        benchmark(squares, "n")


def test_unused(benchmark):
    pass


def test_ends_the_process(benchmark):
    benchmark(squares, 3)
    os._exit(3)


def test_plain():
    assert squares(1)


class TestCase(unittest.TestCase):
    def test_method(self):
        self.assertEqual(squares(1), [0])
