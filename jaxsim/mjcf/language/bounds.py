"""How large a model may be: what no machine holds is refused where it is asked for, before anything of it is built."""

from jaxsim.mjcf.language.errors import Fault

MAX_ITEMS = 250_000  # bodies, joints, geoms, sites, cameras and lights together; items of each other kind
MAX_DOFS = 15_000  # matrices of dofs by dofs, and of bodies, tendons or actuators by dofs, are dense
MAX_NUMBERS = 2**27  # in one array: a gigabyte
MAX_SIZE = 1e18  # of a geom, metre: its square is still a number in single precision


def require_items(count: int, what: str = "the model") -> None:
    """Raise Fault if there are too many things in the body tree, or of another kind."""
    if count > MAX_ITEMS:
        raise Fault(f"{what} would have {_number(count)} elements; at most {MAX_ITEMS} are possible")


def require_numbers(count: int, what: str) -> None:
    """Raise Fault if an array would have too many numbers."""
    if count > MAX_NUMBERS:
        raise Fault(f"{what} would have {_number(count)} numbers; at most {MAX_NUMBERS} are possible")


def _number(count: int) -> str:
    return str(count) if count < 10**15 else f"{float(min(count, 10**300)):.0e}"
