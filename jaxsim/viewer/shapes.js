// Unit meshes. A vertex is (direction, side, normal): the instance places it at direction * scale + side * length,
// so one sphere makes every capsule and one bevelled cube every box.

class MeshBuilder {
  constructor() {
    this.vertices = [];
    this.indices = [];
  }

  vertex(direction, side, normal) {
    this.vertices.push(...direction, ...side, ...normal);
    return this.vertices.length / 9 - 1;
  }

  // a grid of (rows + 1) x (columns + 1) vertices already added from `first`, counter-clockwise seen from outside
  grid(first, rows, columns) {
    for (let i = 0; i < rows; i++)
      for (let j = 0; j < columns; j++) {
        const a = first + i * (columns + 1) + j, b = a + columns + 1;
        this.indices.push(a, b, a + 1, a + 1, b, b + 1);
      }
  }

  build() {
    return { vertices: new Float32Array(this.vertices), indices: new Uint32Array(this.indices) };
  }
}

// split along the equator, so that the halves can be drawn apart into a capsule
function sphereMesh(rings = 16, segments = 32) {
  const mesh = new MeshBuilder();
  for (let i = 0; i <= rings + 1; i++) {
    const upper = i <= rings / 2;
    const polar = (Math.PI * (upper ? i : i - 1)) / rings;
    for (let j = 0; j <= segments; j++) {
      const angle = (2 * Math.PI * j) / segments;
      const n = [Math.sin(polar) * Math.cos(angle), Math.sin(polar) * Math.sin(angle), Math.cos(polar)];
      mesh.vertex(n, [0, 0, upper ? 1 : -1], n);
    }
  }
  mesh.grid(0, rings + 1, segments);
  return mesh.build();
}

function cylinderMesh(segments = 40) {
  const mesh = new MeshBuilder();
  for (const up of [1, -1])
    for (let j = 0; j <= segments; j++) {
      const angle = (2 * Math.PI * j) / segments;
      const n = [Math.cos(angle), Math.sin(angle), 0];
      mesh.vertex(n, [0, 0, up], n);
    }
  mesh.grid(0, 1, segments);
  for (const up of [1, -1]) {
    const centre = mesh.vertex([0, 0, 0], [0, 0, up], [0, 0, up]);
    for (let j = 0; j <= segments; j++) {
      const angle = (up * 2 * Math.PI * j) / segments;
      mesh.vertex([Math.cos(angle), Math.sin(angle), 0], [0, 0, up], [0, 0, up]);
    }
    for (let j = 0; j < segments; j++) mesh.indices.push(centre, centre + 1 + j, centre + 2 + j);
  }
  return mesh.build();
}

// each face is a grid whose outer cells carry the rounding; `scale` of the instance is the bevel radius
function boxMesh(steps = 4) {
  const mesh = new MeshBuilder();
  const ticks = [];
  for (let i = 0; i <= steps; i++) ticks.push([-1, -1 + i / steps]);
  for (let i = 0; i <= steps; i++) ticks.push([1, i / steps]);
  const last = ticks.length - 1;
  for (const [u, v, w, facing] of [[0, 1, 2, 1], [1, 2, 0, 1], [2, 0, 1, 1], [1, 0, 2, -1], [2, 1, 0, -1], [0, 2, 1, -1]]) {
    const first = mesh.vertices.length / 9;
    for (const [sideV, bendV] of ticks)
      for (const [sideU, bendU] of ticks) {
        const side = [0, 0, 0], n = [0, 0, 0];
        side[u] = sideU;
        side[v] = sideV;
        side[w] = n[w] = facing;
        n[u] = Math.tan((bendU * Math.PI) / 4);
        n[v] = Math.tan((bendV * Math.PI) / 4);
        const unit = normalized(n);
        mesh.vertex(unit, side, unit);
      }
    for (let i = 0; i < last; i++)
      for (let j = 0; j < last; j++) {
        const a = first + i * (last + 1) + j, b = a + last + 1;
        mesh.indices.push(a, a + 1, b, b, a + 1, b + 1);
      }
  }
  return mesh.build();
}

// in many cells: over a floor of one huge triangle depth is interpolated too coarsely
function quadMesh(cells = 24) {
  const mesh = new MeshBuilder();
  for (let i = 0; i <= cells; i++)
    for (let j = 0; j <= cells; j++) mesh.vertex([(2 * j) / cells - 1, 1 - (2 * i) / cells, 0], [0, 0, 0], [0, 0, 1]);
  mesh.grid(0, cells, cells);
  return mesh.build();
}

// a triangle mesh with normals smoothed across edges of less than 40 degrees; a vertex on a sharp edge is
// repeated once for each of its normals
function triangleMesh(points, faces) {
  const count = faces.length / 3;
  const normals = new Float32Array(faces.length), units = new Float32Array(faces.length);
  const around = Array.from({ length: points.length / 3 }, () => []);
  for (let f = 0; f < count; f++) {
    const [a, b, c] = [0, 1, 2].map((k) => points.subarray(3 * faces[3 * f + k], 3 * faces[3 * f + k] + 3));
    const normal = cross(subtract(b, a), subtract(c, a));
    normals.set(normal, 3 * f);
    units.set(normalized(normal), 3 * f);
    for (let k = 0; k < 3; k++) around[faces[3 * f + k]].push(f);
  }
  const mesh = new MeshBuilder(), made = Array.from(around, () => []), none = [0, 0, 0];
  for (let i = 0; i < faces.length; i++) {
    const own = units.subarray(3 * Math.floor(i / 3), 3 * Math.floor(i / 3) + 3), sum = [0, 0, 0];
    for (const f of around[faces[i]]) {
      if (own[0] * units[3 * f] + own[1] * units[3 * f + 1] + own[2] * units[3 * f + 2] < 0.77) continue;
      for (let k = 0; k < 3; k++) sum[k] += normals[3 * f + k];
    }
    const normal = normalized(sum);
    let vertex = made[faces[i]].find((v) => dot(v.normal, normal) > 0.9999);
    if (!vertex) {
      vertex = { normal, index: mesh.vertex(points.subarray(3 * faces[i], 3 * faces[i] + 3), none, normal) };
      made[faces[i]].push(vertex);
    }
    mesh.indices.push(vertex.index);
  }
  return mesh.build();
}
