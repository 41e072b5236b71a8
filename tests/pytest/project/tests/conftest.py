import pytest


@pytest.fixture(params=[3, 10])
def size(request):
    return request.param
