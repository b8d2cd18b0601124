// Vectors are arrays of 3, quaternions (w, x, y, z), matrices column-major arrays of 16.

const add = (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
const subtract = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
const scaled = (a, s) => [a[0] * s, a[1] * s, a[2] * s];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const normalized = (a) => scaled(a, 1 / Math.max(1e-12, Math.hypot(...a)));
const mix = (a, b, t) => a + (b - a) * t;
const clamp = (x, low, high) => Math.min(high, Math.max(low, x));

function multiply(a, b) {
  const out = new Float32Array(16);
  for (let column = 0; column < 4; column++)
    for (let row = 0; row < 4; row++) {
      let sum = 0;
      for (let k = 0; k < 4; k++) sum += a[k * 4 + row] * b[column * 4 + k];
      out[column * 4 + row] = sum;
    }
  return out;
}

function perspective(fieldOfView, aspect, near, far) {
  const f = 1 / Math.tan(fieldOfView / 2);
  const out = new Float32Array(16);
  out[0] = f / aspect;
  out[5] = f;
  out[10] = (far + near) / (near - far);
  out[11] = -1;
  out[14] = (2 * far * near) / (near - far);
  return out;
}

// a cube of half-width r, and depth from near to far along the view direction
function orthographic(r, near, far) {
  const out = new Float32Array(16);
  out[0] = out[5] = 1 / r;
  out[10] = -2 / (far - near);
  out[14] = -(far + near) / (far - near);
  out[15] = 1;
  return out;
}

function lookAt(eye, target, up) {
  const back = normalized(subtract(eye, target));
  const right = normalized(cross(up, back));
  const top = cross(back, right);
  return new Float32Array([
    right[0], top[0], back[0], 0,
    right[1], top[1], back[1], 0,
    right[2], top[2], back[2], 0,
    -dot(right, eye), -dot(top, eye), -dot(back, eye), 1,
  ]);
}

// three rows of rotation and translation, from a position and a unit quaternion, into out[at ... at + 11]
function writeRows(out, at, x, y, z, qw, qx, qy, qz) {
  out[at] = 1 - 2 * (qy * qy + qz * qz);
  out[at + 1] = 2 * (qx * qy - qw * qz);
  out[at + 2] = 2 * (qx * qz + qw * qy);
  out[at + 3] = x;
  out[at + 4] = 2 * (qx * qy + qw * qz);
  out[at + 5] = 1 - 2 * (qx * qx + qz * qz);
  out[at + 6] = 2 * (qy * qz - qw * qx);
  out[at + 7] = y;
  out[at + 8] = 2 * (qx * qz - qw * qy);
  out[at + 9] = 2 * (qy * qz + qw * qx);
  out[at + 10] = 1 - 2 * (qx * qx + qy * qy);
  out[at + 11] = z;
}

// three rows of a frame at `origin` whose z axis is the unit vector `z`
function writeAlong(out, at, origin, z) {
  const x = normalized(cross(Math.abs(z[0]) < 0.8 ? [1, 0, 0] : [0, 1, 0], z)), y = cross(z, x);
  for (let row = 0; row < 3; row++) out.set([x[row], y[row], z[row], origin[row]], at + 4 * row);
}

// out[at ...] = parent[from ...] * child, all as three rows
function composeRows(out, at, parent, from, child) {
  for (let row = 0; row < 3; row++) {
    const p = from + row * 4;
    const a = parent[p], b = parent[p + 1], c = parent[p + 2];
    for (let column = 0; column < 4; column++)
      out[at + row * 4 + column] =
        a * child[column] + b * child[4 + column] + c * child[8 + column] + (column === 3 ? parent[p + 3] : 0);
  }
}

// scale the rotation of three rows and, if a centre is given, move them over it in x and y
function stretchRows(rows, at, factor, centre) {
  for (let k = 0; k < 12; k++) if (k % 4 < 3) rows[at + k] *= factor;
  if (centre) {
    rows[at + 3] = centre[0];
    rows[at + 7] = centre[1];
  }
}

// display colour 0..1 to linear light
const toLinear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);

// OKLCH (lightness, chroma, hue in turns) to linear rgb
function fromOklch(lightness, chroma, turns) {
  const a = chroma * Math.cos(turns * 2 * Math.PI), b = chroma * Math.sin(turns * 2 * Math.PI);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ].map((c) => clamp(c, 0, 1));
}

const toCss = (linear) =>
  `rgb(${linear.map((c) => Math.round(255 * (c <= 0.0031308 ? 12.92 * c : 1.055 * c ** (1 / 2.4) - 0.055))).join(" ")})`;
