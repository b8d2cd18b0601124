// Which instances are drawn, where, and in which colour.

const PRIMITIVES = { sphere: sphereMesh, box: boxMesh, cylinder: cylinderMesh, plane: quadMesh };

// mesh, scale and length by which the unit mesh becomes this geom
function shapeOf({ shape, size: [a, b, c], mesh }) {
  switch (shape) {
    case "sphere": return { mesh: "sphere", scale: [a, a, a], length: [0, 0, 0] };
    case "capsule": return { mesh: "sphere", scale: [a, a, a], length: [0, 0, b] };
    case "ellipsoid": return { mesh: "sphere", scale: [a, b, c], length: [0, 0, 0] };
    case "cylinder": return { mesh: "cylinder", scale: [a, a, a], length: [0, 0, b], flat: true };
    case "plane": return { mesh: "plane", scale: [a || 1, b || 1, 1], length: [0, 0, 0] };
    case "box": {
      const bevel = Math.min(0.12 * Math.min(a, b, c), 0.01);
      return { mesh: "box", scale: [bevel, bevel, bevel], length: [a - bevel, b - bevel, c - bevel] };
    }
    default: return { mesh, scale: [1, 1, 1], length: [0, 0, 0] };
  }
}

class Stage {
  constructor(gl, scene, arrays, clip) {
    this.scene = scene;
    this.clip = clip;
    this.items = [
      ...scene.geoms.map((g) => ({ ...g, site: false })),
      ...scene.sites.map((s) => ({ ...s, site: true })),
    ].map((item) => this.#prepare(item));
    this.groups = [...new Set(this.items.filter((i) => !i.site).map((i) => i.group))].sort();
    this.shown = new Set(this.groups.filter((g) => g < 3));
    if (!this.items.some((i) => !i.site && !i.floor && this.shown.has(i.group))) this.shown = new Set(this.groups);
    this.showSites = false;
    this.showContacts = false;
    this.colouring = this.#plain() ? "body" : "model";
    this.world = clip.worlds > 1 ? -1 : 0;
    this.floor = this.items.find((i) => i.level)?.pos[2] ?? null;
    this.#measure();
    this.#makeBatches(gl, arrays);
    const contacts = arrays.contact_count && new Contacts(scene, arrays, clip);
    this.marks = contacts?.most ? new Marks(gl, contacts, this.radius) : null;
    this.arrange();
  }

  #prepare(item) {
    const rows = new Float32Array(12);
    writeRows(rows, 0, ...item.pos, ...item.quat);
    const still = !this.clip.slot.has(item.body);
    const floor = item.shape === "plane" && !item.site;
    const upright = rows[10] > 0.999 && item.body === 0;
    const endless = floor && item.size[0] === 0;
    return { ...item, ...shapeOf(item), rows, still, floor, endless, level: floor && upright };
  }

  #plain() {
    const solids = this.items.filter((i) => !i.floor && !i.site);
    return solids.length > 1 && solids.every((i) => i.rgba.join() === solids[0].rgba.join());
  }

  // extent of one world in the first frame, and of its root's walk
  #measure() {
    const low = [1e9, 1e9, 1e9], high = [-1e9, -1e9, -1e9], out = new Float32Array(7), m = new Float32Array(24);
    this.clip.seek(0);
    for (const item of this.items) {
      if (item.floor || item.site) continue;
      this.clip.pose(0, item.body, out);
      writeRows(m, 0, ...out);
      composeRows(m, 12, m, 0, item.rows);
      const reach = Math.max(...item.scale) + Math.max(...item.length);
      const size = item.mesh.startsWith("mesh") || item.mesh.startsWith("hfield") ? 0.1 : reach;
      for (let k = 0; k < 3; k++) {
        low[k] = Math.min(low[k], m[15 + 4 * k] - size);
        high[k] = Math.max(high[k], m[15 + 4 * k] + size);
      }
    }
    if (low[0] > high[0]) low.fill(-1), high.fill(1);
    this.centre = scaled(add(low, high), 0.5);
    this.radius = clamp(Math.hypot(...subtract(high, low)) / 2, 0.05, 1e3);
    this.pitch = Math.max(high[0] - low[0], high[1] - low[1]) * 1.25 + 0.25 * this.radius;
    this.extent = this.radius;
    for (let t = 0; t < this.clip.frames; t++) {
      this.clip.seek(this.clip.time[t]);
      this.clip.pose(0, this.scene.root, out);
      this.extent = Math.max(this.extent, Math.hypot(out[0] - this.centre[0], out[1] - this.centre[1]));
    }
    this.extent = Math.min(this.extent, 1e3);
  }

  // one batch per mesh for opaque geoms, translucent geoms and floors
  #makeBatches(gl, arrays) {
    this.batches = { opaque: [], translucent: [], floors: [], marks: [] };
    this.sets = [];
    const kinds = new Map();
    for (const item of this.items) {
      const kind = item.floor ? "floors" : item.rgba[3] < 0.999 || item.site ? "translucent" : "opaque";
      const key = `${kind} ${item.mesh}`;
      if (!kinds.has(key)) kinds.set(key, { kind, mesh: item.mesh, items: [] });
      kinds.get(key).items.push(item);
    }
    for (const set of kinds.values()) {
      const make = PRIMITIVES[set.mesh];
      const mesh = make ? make() : triangleMesh(meshPoints(arrays, set.mesh), arrays[`${set.mesh}_face`]);
      set.batch = new Batch(gl, mesh, set.items.length * this.clip.worlds);
      this.batches[set.kind].push(set.batch);
      this.sets.push(set);
    }
  }

  // the worlds that are drawn, and where their origins lie
  arrange() {
    const { worlds } = this.clip, all = this.world < 0;
    const columns = Math.ceil(Math.sqrt(worlds)), rows = Math.ceil(worlds / columns);
    this.visible = all ? [...Array(worlds).keys()] : [this.world];
    this.offsets = this.visible.map((w) =>
      all ? [(((rows - 1) / 2) - Math.floor(w / columns)) * this.pitch, ((columns - 1) / 2 - (w % columns)) * this.pitch, 0] : [0, 0, 0]);
    this.spread = all ? Math.hypot(...this.offsets[0]) : 0;
    this.recolour();
  }

  #wanted(item, place) {
    if (item.site) return this.showSites;
    if (item.level && item.endless) return place === 0 && this.shown.has(item.group);
    return this.shown.has(item.group);
  }

  colourOf(item, world) {
    const dull = item.still ? 0.45 : 1;
    if (this.colouring === "world") return fromOklch(0.68, 0.13 * dull, 0.07 + world * 0.381966);
    if (this.colouring === "body" && !item.still) return fromOklch(0.7, 0.12, 0.28 + item.body * 0.381966);
    return item.rgba.slice(0, 3).map(toLinear);
  }

  // list the instances of every batch and fill their scale, length and colour
  recolour() {
    for (const set of this.sets) {
      set.entries = [];
      this.visible.forEach((world, place) => {
        for (const item of set.items) if (this.#wanted(item, place)) set.entries.push({ item, world, place });
      });
      set.entries.forEach(({ item, world }, i) => {
        const alpha = item.site ? Math.min(0.6, item.rgba[3]) : item.rgba[3];
        set.batch.looks.set([...item.scale, ...item.length, ...this.colourOf(item, world), alpha], i * LOOK);
      });
      set.batch.count = set.entries.length;
      set.batch.uploadLooks();
    }
  }

  // move every instance to the clip's current time; an endless floor reaches `reach` around `centre`
  pose(centre, reach) {
    const bodies = this.scene.bodies.length, out = new Float32Array(7);
    this.frames ??= new Float32Array(this.clip.worlds * bodies * ROWS);
    this.visible.forEach((world, place) => {
      const offset = this.offsets[place];
      for (let body = 0; body < bodies; body++) {
        this.clip.pose(world, body, out);
        writeRows(this.frames, (place * bodies + body) * ROWS,
          out[0] + offset[0], out[1] + offset[1], out[2] + offset[2], out[3], out[4], out[5], out[6]);
      }
    });
    for (const { batch, entries } of this.sets)
      for (let i = 0; i < entries.length; i++) {
        const { item, place } = entries[i];
        composeRows(batch.poses, i * ROWS, this.frames, (place * bodies + item.body) * ROWS, item.rows);
        if (item.endless) stretchRows(batch.poses, i * ROWS, reach, item.level ? centre : null);
      }
  }

  // put discs and arrows where the contacts of the clip's frame are
  mark() {
    this.batches.marks = this.showContacts && this.marks ? this.marks.batches : [];
    if (this.batches.marks.length) this.marks.place(this.visible, this.offsets);
  }

  // mean position of the visible roots
  root() {
    const out = new Float32Array(7), sum = [0, 0, 0];
    this.visible.forEach((world, place) => {
      this.clip.pose(world, this.scene.root, out);
      for (let k = 0; k < 3; k++) sum[k] += (out[k] + this.offsets[place][k]) / this.visible.length;
    });
    return sum;
  }
}
