// Contacts: a disc at each, and an arrow along its force, or along its normal where forces were not recorded.

const DISC_COLOUR = [0.9, 0.45, 0.06, 1], ARROW_COLOUR = [0.75, 0.04, 0.06, 1];

// a shaft from the origin along z, which `length` stretches, and a head of the size of `scale`
function arrowMesh(segments = 20) {
  const mesh = new MeshBuilder(), slope = Math.SQRT1_2;
  const ring = (radius, height, up, normal) => {
    const first = mesh.vertices.length / 9;
    for (let j = 0; j <= segments; j++) {
      const a = (2 * Math.PI * j) / segments, [c, s] = [Math.cos(a), Math.sin(a)];
      mesh.vertex([radius * c, radius * s, height], [0, 0, up], normal(c, s));
    }
    return first;
  };
  const join = (upper, lower) => {
    for (let j = 0; j < segments; j++) mesh.indices.push(upper + j, lower + j, upper + j + 1, upper + j + 1, lower + j, lower + j + 1);
  };
  const outward = (c, s) => [c, s, 0], back = () => [0, 0, -1], tilted = (c, s) => [c * slope, s * slope, slope];
  join(ring(1, 0, 1, outward), ring(1, 0, 0, outward));
  join(ring(2.6, 0, 1, back), ring(0, 0, 1, back));
  join(ring(0, 6, 1, tilted), ring(2.6, 0, 1, tilted));
  return mesh.build();
}

class Contacts {
  constructor(scene, arrays, clip) {
    this.clip = clip;
    this.count = arrays.contact_count;
    this.starts = new Uint32Array(this.count.length + 1);
    for (let i = 0; i < this.count.length; i++) this.starts[i + 1] = this.starts[i] + this.count[i];
    const [low, span] = [0, 3].map((at) => arrays.contact_box.subarray(at, at + 3));
    this.pos = Float32Array.from(arrays.contact_pos, (v, i) => low[i % 3] + (span[i % 3] * v) / 65535);
    this.normal = Float32Array.from(arrays.contact_normal, (v) => (v - 128) / 127);
    const largest = arrays.contact_force_span?.[0];
    // as long as the model is wide for a force of the model's weight
    this.force = largest && Float32Array.from(arrays.contact_force, (v) => (largest * (v - 32768)) / 32767 / scene.weight);
    this.most = 0;
    for (let t = 0; t < clip.frames; t++)
      this.most = Math.max(this.most, this.starts[(t + 1) * clip.worlds] - this.starts[t * clip.worlds]);
  }

  // call take(pos, normal, arrow) for every contact of a world at the clip's frame; an arrow's unit is the model's radius
  each(world, take) {
    const at = this.clip.frame * this.clip.worlds + world;
    for (let i = this.starts[at]; i < this.starts[at + 1]; i++) {
      const [pos, normal] = [this.pos, this.normal].map((a) => a.subarray(3 * i, 3 * i + 3));
      take(pos, normal, this.force ? this.force.subarray(3 * i, 3 * i + 3) : scaled(normal, 0.12));
    }
  }
}

// the discs and arrows of the visible worlds, in batches of their own that cast no shadow
class Marks {
  constructor(gl, contacts, radius) {
    this.contacts = contacts;
    this.radius = radius;
    this.discs = new Batch(gl, cylinderMesh(24), contacts.most);
    this.arrows = new Batch(gl, arrowMesh(), contacts.most);
    this.batches = [this.discs, this.arrows];
  }

  place(visible, offsets) {
    const { radius, discs, arrows } = this, disc = 0.03 * radius, shaft = 0.009 * radius;
    let n = 0;
    visible.forEach((world, at) =>
      this.contacts.each(world, (pos, normal, arrow) => {
        const origin = add([...pos], offsets[at]), size = Math.min(Math.hypot(...arrow), 3);
        writeAlong(discs.poses, n * ROWS, origin, normalized([...normal]));
        discs.looks.set([disc, disc, 0.25 * disc, 0, 0, 0.1 * disc, ...DISC_COLOUR], n * LOOK);
        const along = size > 1e-6 ? normalized([...arrow]) : [0, 0, 1], thick = Math.max(1e-9, Math.min(shaft, (size * radius) / 7));
        writeAlong(arrows.poses, n * ROWS, origin, along);
        arrows.looks.set([thick, thick, thick, 0, 0, Math.max(0, size * radius - 6 * thick), ...ARROW_COLOUR], n * LOOK);
        n++;
      }));
    for (const batch of this.batches) {
      batch.count = n;
      batch.uploadLooks();
    }
  }
}
