// The recorded motion: unpack the payload, then give any body's pose at any time.

const ARRAY_TYPES = { uint8: Uint8Array, uint16: Uint16Array, uint32: Uint32Array, float32: Float32Array };

async function unpackBuffers(index, packed) {
  const text = atob(packed.trim());
  const bytes = Uint8Array.from(text, (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const raw = await new Response(stream).arrayBuffer();
  const arrays = {};
  for (const [name, { offset, dtype, shape }] of Object.entries(index))
    arrays[name] = new ARRAY_TYPES[dtype](raw, offset, shape.reduce((a, b) => a * b, 1));
  return arrays;
}

// the vertices of a mesh, which are stored as fractions of its bounding box
function meshPoints(arrays, name) {
  const [low, span] = [0, 3].map((at) => arrays[`${name}_box`].subarray(at, at + 3));
  return Float32Array.from(arrays[`${name}_vert`], (v, i) => low[i % 3] + (span[i % 3] * v) / 65535);
}

// undo the differences in time: byte planes [2][channels][frames] into int16 given to `take(frame, channel, value)`
function accumulate(planes, channels, frames, take) {
  const high = channels * frames;
  for (let c = 0; c < channels; c++) {
    let value = 0;
    for (let t = 0; t < frames; t++) {
      const at = c * frames + t;
      value = (value + (planes[at] | (planes[high + at] << 8))) & 0xffff;
      take(t, c, value >= 0x8000 ? value - 0x10000 : value);
    }
  }
}

class Clip {
  constructor(scene, arrays) {
    this.time = arrays.time;
    this.frames = arrays.time.length;
    this.worlds = scene.worlds.length;
    this.bodies = scene.moving.length;
    this.duration = this.time[this.frames - 1];
    this.channels = scene.channels.map((name, i) => ({ name, values: arrays[`channel${i}`] }));
    this.slot = new Map(scene.moving.map((body, i) => [body, i]));
    this.fixed = scene.fixed;
    this.#readPoses(arrays);
    this.seek(0);
  }

  // poses[frame][world][body] = x y z, w x y z
  #readPoses(arrays) {
    const sets = this.worlds * this.bodies, poses = new Float32Array(this.frames * sets * 7);
    const low = arrays.position_low, span = arrays.position_span;
    accumulate(arrays.position, sets * 3, this.frames, (t, c, v) => {
      poses[(t * sets + Math.floor(c / 3)) * 7 + (c % 3)] = low[c] + (span[c] * (v + 32768)) / 65535;
    });
    accumulate(arrays.quaternion, sets * 4, this.frames, (t, c, v) => {
      poses[(t * sets + (c >> 2)) * 7 + 3 + (c & 3)] = v / 32767;
    });
    this.poses = poses;
    this.stride = sets * 7;
  }

  // choose the time [s] that `pose` and `value` refer to
  seek(time) {
    let low = 0, high = this.frames - 1;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.time[middle] <= time) low = middle;
      else high = middle;
    }
    this.before = low;
    this.after = Math.min(low + 1, this.frames - 1);
    const step = this.time[this.after] - this.time[low];
    this.blend = step > 0 ? clamp((time - this.time[low]) / step, 0, 1) : 0;
  }

  // the frame nearest to the chosen time
  get frame() {
    return this.blend < 0.5 ? this.before : this.after;
  }

  // write position and quaternion of a body into out[0 ... 6]
  pose(world, body, out) {
    const slot = this.slot.get(body);
    if (slot === undefined) {
      for (let i = 0; i < 7; i++) out[i] = this.fixed[body][i];
      return out;
    }
    const a = this.before * this.stride + (world * this.bodies + slot) * 7;
    const b = this.after * this.stride + (world * this.bodies + slot) * 7;
    const t = this.blend, poses = this.poses;
    for (let i = 0; i < 7; i++) out[i] = mix(poses[a + i], poses[b + i], t);
    const length = Math.hypot(out[3], out[4], out[5], out[6]) || 1;
    for (let i = 3; i < 7; i++) out[i] /= length;
    return out;
  }
}
