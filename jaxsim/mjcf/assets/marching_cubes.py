"""Triangles of the zero surface of a field on a grid (marching cubes, Lorensen and Cline 1987).

Vertices and triangles come in the order, and with the triangulation, of the library that MuJoCo uses
(MarchingCubeCpp): an inertia to six digits depends on which diagonals are cut.
"""

import numpy as np

Array = np.ndarray

# Corner c of a cell lies at (c & 1, c >> 1 & 1, c >> 2 & 1). Edges 0-3 go along x, 4-7 along y, 8-11 along z,
# each four from (0, 0) over (1, 0) and (0, 1) to (1, 1) in the two other coordinates, the first one fastest.
# One word per set of negative corners: its triangles as three edges each, in hexadecimal; - if there is none.
_TRIANGLES = """
    - 048 509 495489 1a4 1801a8 1a4950 51a5a99a8 b15 5b1804 0b109b 14818bb89 a5ba45 05b0b88ba 40949aa9b 8ba89b 286
    062046 950628 295256654 41a286 a62a21120 0958621a4 61a621251295 28615b 604620b15 b09b10628 46162916919b
    5a45ba286 2a625a5ba052 286a9ba49409 2a629a9ba 927 048792 250275 827874475 1a4279 1801a8792 250275a41
    827871175a81 b15279 0485b1279 7b1712210 48242112717b a5ba45279 7928ba80b05b ba7a407a0702 7827b8ba8 879867
    904947746 086065567 467475 7867981a4 79661a916901 a41567506086 a51a65675 87986715b 15b746794904 08606bb6710b
    17b147467 4ba45b698679 670ba0a605b0790 ba06707b0860a40 67b6ba 36a a36048 36a095 94895436a 341364 680603301
    341364950 958836538513 36a5b1 15b48036a 0b109b6a3 6a3b89b18148 b36b65564 8368030b305b 6b360b09b406 6b368b89b
    2a328a 4a3430032 a28a32509 34a394954293 841812213 013032 509213281841 529512132 2a328a5b1 b150320434a3
    38a32819b109 9b4324294a34b14 5b4428b24b32 b05b30320 3249b4b34094284 32939b 792a36 2796a3048 527502a36
    36a475487827 436413927 927301360680 164136075027 138758518278368 36a79215b 0486a379215b a362102717b1
    36ab17127142482 2795645b6b36 2798060360535b3 02b64b40b36b27b 6838b387b827 37939aa98 a04a30390379 8a0a370a7075
    34a374754 184178798371 937903013 758138378418508 137175 5b1a98a39379 15ba34304370790 8a7107087b17a37
    37a74a7147b1 4539838437935b3 9070370b305b 08437b 7b3 73b 0483b7 5093b7 4954893b7 b7341a 81a80173b 1a4b73095
    3b79a895a51a 173157 715731804 973930031 148187789317 3a4347745 80aa7307a057 a40a03309397 3973a9a89 286b73
    062046b73 2869503b7 b73654625295 3b7a41286 73b1201a2a62 1a48629503b7 3b762a21a291951 173157862 246204357315
    628031093973 469319149739629 8627457343a4 57a20a05a62a73a 2867393093a0a40 2969a693a973 3923b9 3923b9480
    b50b03302 54b482b42b23 93b92341a 0a801a2b923b 41a3023b0b50 235a858251a53b5 592521123 804123152592 031023
    814821231 3a4349945239 a852353a5925805 43a403023 23a2a8 63b6b88b9 63b6b00b9460 86383003b0b5 b63b56546
    1a48b986b63b 016b969063b61a6 1a450b03b083863 a616516b563b 985863583531 319469639049159 608630310 314346
    983453593a43863 3a6059 6383083403a4 3a6 6b76ab b6ab76048 6b76ab095 854895a76ab7 1b7174476 0680b6b761b0
    9504764171b7 891761681b71951 a15a56657 0486576a5a15 7696a1961910 7618919714816a1 476457 068056576 940974764
    897876 72878bb8a b7aa0470a720 095b8ab78728 ab25424a2952b72 4284121721b7 71b721201 0954181281b2b72 5191291721b7
    872817157a18 20a57a72a15a04a 1078a7a17287097 14a297 872847457 205257 842472497409 972 26a2a99ab 4809ab92a26a
    26a2a55ab025 542ab2b526a2482 4166921961b9 b960161b6806926 64b02b26b50b41b 2681b5 6a1612215259 0489252152616a1
    a26a12102 a16126182148 259265645 058568526592 026064 268 8ab8b9 4904a9ab9 0b508b8ab ab5a54 1841b8b98 01b0b9
    1b4b84b08b50 b51 5a159a98a 4a0a90a59a15 10818a 14a 459498 590 084 -
"""
_MOST = 5  # triangles of one case


def _table() -> tuple[Array, Array]:
    """Edges [256, most, 3] of the triangles of each case, and how many there are."""
    edges, count = np.zeros((256, _MOST, 3), int), np.zeros(256, int)
    for case, word in enumerate(_TRIANGLES.split()):
        found = np.array([int(c, 16) for c in word.replace("-", "")], int).reshape(-1, 3)
        edges[case, : len(found)], count[case] = found, len(found)
    return edges, count


def marching_cubes(field: Array) -> tuple[Array, Array, Array]:
    """Vertices [n, 3] and their normals [n, 3] in units of the grid, float32, and faces [m, 3].

    Args:
        field: [nx, ny, nz], negative inside; taken in single precision.
    """
    field = np.asarray(field, np.float32)
    inside = field < 0
    shape = np.array(field.shape)
    ids: list[Array] = []
    points: list[Array] = []
    keys: list[Array] = []
    for axis in range(3):
        low = tuple(slice(None, -1) if a == axis else slice(None) for a in range(3))
        high = tuple(slice(1, None) if a == axis else slice(None) for a in range(3))
        at = np.argwhere(inside[low] != inside[high])
        a, b = field[low][tuple(at.T)], field[high][tuple(at.T)]
        point = at.astype(np.float32)
        point[:, axis] += a / (a - b)
        points.append(point)
        keys.append(_sort_key(at, axis, shape))
        ids.append(np.asarray(np.ravel_multi_index(tuple(at.T), field.shape)))
    # a vertex is made by the first cell, in the order z, y, x, that owns its edge
    order = np.argsort(np.concatenate(keys))
    rank = np.argsort(order)
    vert = np.concatenate(points)[order]
    number = np.full((3, field.size), -1)
    start = 0
    for axis in range(3):
        number[axis, ids[axis]] = rank[start : start + len(ids[axis])]
        start += len(ids[axis])
    face = _faces(inside, number)
    return vert, _normals(vert, face), face


def _sort_key(at: Array, axis: int, shape: Array) -> Array:
    """Place, in the order of their making, of vertices on edges along an axis from grid points `at`."""
    others = [a for a in range(3) if a != axis]
    cell, slot = at.copy(), np.full(len(at), 4 * axis)
    for bit, other in enumerate(others):
        cell[:, other] = np.maximum(at[:, other] - 1, 0)
        slot += (at[:, other] - cell[:, other]) << bit
    return np.ravel_multi_index((cell[:, 2], cell[:, 1], cell[:, 0]), tuple(shape[::-1])) * 12 + slot


def _faces(inside: Array, number: Array) -> Array:
    """Vertices [m, 3] of the triangles, cell by cell in the order z, y, x."""
    nx, ny, nz = inside.shape
    case = np.zeros((nx - 1, ny - 1, nz - 1), int)
    for corner in range(8):
        i, j, k = corner & 1, corner >> 1 & 1, corner >> 2 & 1
        case |= inside[i : i + nx - 1, j : j + ny - 1, k : k + nz - 1].astype(int) << corner
    z, y, x = np.nonzero(np.transpose((case > 0) & (case < 255)))
    edges, count = _table()
    found, of = edges[case[x, y, z]], count[case[x, y, z]]
    present = np.arange(_MOST)[None] < of[:, None]
    edge = found[present]
    cell = np.repeat(np.stack([x, y, z], axis=1), of, axis=0)[:, None]
    axis = edge // 4
    first = np.where(axis == 0, 1, 0)  # the other two coordinates of an edge, in order
    second = np.where(axis == 2, 1, 2)
    offset = (np.arange(3) == first[..., None]) * (edge & 1)[..., None]
    offset = offset + (np.arange(3) == second[..., None]) * (edge >> 1 & 1)[..., None]
    point = cell + offset
    return number[axis, (point[..., 0] * ny + point[..., 1]) * nz + point[..., 2]].astype(np.int32)


def _normals(vert: Array, face: Array) -> Array:
    """Unit normals [n, 3], averages over the triangles weighted by area."""
    corner = vert[face].astype(float)
    area = np.cross(corner[:, 2] - corner[:, 1], corner[:, 0] - corner[:, 1])
    flat = face.ravel()
    total = np.stack([np.bincount(flat, np.repeat(area[:, k], 3), len(vert)) for k in range(3)], axis=1)
    return (total / np.linalg.norm(total, axis=1, keepdims=True)).astype(np.float32)
