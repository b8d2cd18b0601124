"""Refuse to run beside the other project that is imported as `jaxsim`."""

from importlib import metadata


def refuse_namesake() -> None:
    """Raise ImportError if PyPI's `jaxsim`, another project, is installed in the same environment."""
    try:
        metadata.distribution("jaxsim")
    except metadata.PackageNotFoundError:
        return
    raise ImportError(
        "two projects are imported as 'jaxsim': this one, the distribution jaxsim-mjcf, and PyPI's jaxsim; both are "
        "installed here. Uninstall one, for example: pip uninstall jaxsim"
    )


refuse_namesake()
