"""Which collider serves which pair of geom types, and how many contacts it can give."""

from collections.abc import Callable

from jaxsim.collision.colliders.box import box_box
from jaxsim.collision.colliders.capsule import capsule_capsule
from jaxsim.collision.colliders.capsule_box import capsule_box
from jaxsim.collision.colliders.ellipsoid import sphere_ellipsoid
from jaxsim.collision.colliders.plane import plane_box, plane_capsule, plane_cylinder, plane_ellipsoid, plane_sphere
from jaxsim.collision.colliders.plane_mesh import plane_mesh
from jaxsim.collision.colliders.polyhedron import prism_sphere
from jaxsim.collision.colliders.sphere import sphere_box, sphere_capsule, sphere_cylinder, sphere_sphere
from jaxsim.collision.convex.collider import convex
from jaxsim.collision.convex.multicontact import contacts_per_pair
from jaxsim.collision.sdf.contact import sdf_contacts
from jaxsim.collision.sdf.mesh import MOST, mesh_contacts, triangle_contact
from jaxsim.collision.shape import Candidates
from jaxsim.core.enums import GeomType as G

Collider = Callable[..., Candidates]

# (type of geom 1, type of geom 2) -> collider of one pair, number of contact candidates; the first type
# is never the greater one
ANALYTIC: dict[tuple[int, int], tuple[Collider, int]] = {
    (G.PLANE, G.SPHERE): (plane_sphere, 1),
    (G.PLANE, G.CAPSULE): (plane_capsule, 2),
    (G.PLANE, G.ELLIPSOID): (plane_ellipsoid, 1),
    (G.PLANE, G.CYLINDER): (plane_cylinder, 4),
    (G.PLANE, G.BOX): (plane_box, 4),
    (G.PLANE, G.MESH): (plane_mesh, 4),
    (G.SPHERE, G.SPHERE): (sphere_sphere, 1),
    (G.SPHERE, G.CAPSULE): (sphere_capsule, 1),
    (G.SPHERE, G.ELLIPSOID): (sphere_ellipsoid, 1),
    (G.SPHERE, G.CYLINDER): (sphere_cylinder, 1),
    (G.SPHERE, G.BOX): (sphere_box, 1),
    (G.CAPSULE, G.CAPSULE): (capsule_capsule, 2),
    (G.CAPSULE, G.BOX): (capsule_box, 2),
    (G.BOX, G.BOX): (box_box, 8),
}

# a height field is tested as prisms, each of which has one contact
_FIELD: dict[tuple[int, int], tuple[Collider, int]] = {
    (G.HFIELD, b): (convex, 1) for b in (G.CAPSULE, G.ELLIPSOID, G.CYLINDER, G.BOX, G.MESH)
}
_FIELD[G.HFIELD, G.SPHERE] = (prism_sphere, 1)
_SOLID = (G.SPHERE, G.CAPSULE, G.ELLIPSOID, G.CYLINDER, G.BOX, G.MESH)
_CONVEX = {(a, b): (convex, contacts_per_pair(a, b)) for a in _SOLID for b in _SOLID if a <= b}

# signed distance fields have a contact for each point that the search starts from
_SDF: dict[tuple[int, int], tuple[Collider, int]] = {(a, G.SDF): (sdf_contacts, 0) for a in (*_SOLID[:-1], G.SDF)}
_SDF |= {(G.HFIELD, G.SDF): (triangle_contact, 1)}
_SDF |= {(G.MESH, G.SDF): (mesh_contacts, MOST), (G.PLANE, G.SDF): (plane_mesh, 4)}

# those that have none of their own share one, which the driver runs for all of them at once
COLLIDERS: dict[tuple[int, int], tuple[Collider, int]] = _CONVEX | _FIELD | _SDF | ANALYTIC


def contacts_of(kinds: tuple[int, int], sdf_initpoints: int) -> int:
    """How many contacts two geoms of these types can have."""
    return COLLIDERS[kinds][1] or sdf_initpoints
