import math

import pytest
import scipy  # its parts are loaded on use
from hypothesis import given
from hypothesis import strategies as st

from whileai_core.quality.quantiles import (
    beta_quantile,
    incomplete_beta,
    normal_quantile,
    t_quantile,
)


@pytest.mark.parametrize("p", [0.001, 0.025, 0.2, 0.5, 0.8, 0.975, 0.999])
def test_normal_agrees_with_scipy(p: float) -> None:
    assert normal_quantile(p) == pytest.approx(scipy.stats.norm.ppf(p), abs=1e-9)


@pytest.mark.parametrize("df", [1, 2, 5, 19, 199, 10_000, 10_001, 10**6, 10**12])
@pytest.mark.parametrize("p", [0.025, 0.4, 0.8, 0.975, 0.995])
def test_t_agrees_with_scipy(p: float, df: int) -> None:
    assert t_quantile(p, df) == pytest.approx(scipy.stats.t.ppf(p, df), rel=1e-9)


@pytest.mark.parametrize(
    ("a", "b"), [(0.5, 20.5), (0.5, 0.5), (3.5, 7.5), (300.5, 0.5), (5000, 80_000)]
)
@pytest.mark.parametrize("p", [0.025, 0.5, 0.975])
def test_beta_agrees_with_scipy(p: float, a: float, b: float) -> None:
    assert beta_quantile(p, a, b) == pytest.approx(scipy.stats.beta.ppf(p, a, b), rel=1e-9)


@given(
    st.floats(0.0, 1.0),
    st.floats(0.1, 500.0),
    st.floats(0.1, 500.0),
)
def test_incomplete_beta_agrees_with_scipy(x: float, a: float, b: float) -> None:
    assert incomplete_beta(x, a, b) == pytest.approx(scipy.stats.beta.cdf(x, a, b), abs=1e-9)


def test_ends_of_the_range() -> None:
    assert beta_quantile(0, 2, 3) == 0.0
    assert beta_quantile(1, 2, 3) == 1.0
    assert t_quantile(0.5, 7) == 0.0
    assert math.isinf(t_quantile(1.0, 7))
