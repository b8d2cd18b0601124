// GLSL. Colours are linear until `finish`; the sun is far away; z is up.

const GLSL_HEAD = `#version 300 es
precision highp float;
precision highp int;
precision highp sampler2DShadow;
`;

const GLSL_LIGHT = `
uniform vec3 u_eye, u_sun, u_sunColour, u_sky, u_ground, u_horizon, u_zenith;
uniform mat4 u_shadowMatrix;
uniform float u_shadowTexel, u_fogDistance;
uniform sampler2DShadow u_shadow;

const vec2 DISK[16] = vec2[](
  vec2(0.18, 0.0), vec2(-0.23, 0.21), vec2(0.03, -0.40), vec2(0.28, 0.37), vec2(-0.52, -0.09), vec2(0.49, -0.31),
  vec2(-0.16, 0.62), vec2(-0.32, -0.60), vec2(0.70, 0.20), vec2(-0.72, 0.30), vec2(0.34, -0.73), vec2(0.27, 0.80),
  vec2(-0.77, -0.45), vec2(0.90, -0.20), vec2(-0.50, 0.82), vec2(-0.12, -0.97));

// shadow from the far sides of things; the offset keeps curved surfaces from shading themselves
float sunlight(vec3 position, vec3 offset) {
  vec4 s = u_shadowMatrix * vec4(position + offset * u_shadowTexel, 1.0);
  vec3 p = s.xyz * 0.5 + 0.5;
  if (any(lessThan(p, vec3(0.0))) || any(greaterThan(p, vec3(1.0)))) return 1.0;
  float lit = 0.0;
  vec2 size = 2.6 / vec2(textureSize(u_shadow, 0));
  for (int i = 0; i < 16; i++) lit += texture(u_shadow, vec3(p.xy + DISK[i] * size, p.z - 0.00004));
  vec2 edge = smoothstep(vec2(0.0), vec2(0.06), p.xy) * smoothstep(vec2(0.0), vec2(0.06), 1.0 - p.xy);
  return mix(1.0, lit / 16.0, edge.x * edge.y);
}

vec3 background(vec3 direction) {
  float h = max(direction.z, 0.0);
  return mix(u_horizon, u_zenith, 1.0 - exp(-3.2 * h));
}

vec3 finish(vec3 c) {
  // a gentle shoulder: 0.18 stays, 1 becomes 0.8, nothing clips below 4
  c = c * (1.0 + c * 0.0625) / (1.0 + c * 0.33);
  vec3 low = c * 12.92, high = 1.055 * pow(max(c, vec3(0.0)), vec3(1.0 / 2.4)) - 0.055;
  return mix(high, low, vec3(lessThan(c, vec3(0.0031308))));
}

// breaks the bands of slow gradients
float dither() {
  return (fract(52.9829189 * fract(dot(gl_FragCoord.xy, vec2(0.06711056, 0.00583715)))) - 0.5) / 255.0;
}
`;

const SOLID_VERTEX = `${GLSL_HEAD}
layout(location = 0) in vec3 a_direction;
layout(location = 1) in vec3 a_side;
layout(location = 2) in vec3 a_normal;
layout(location = 3) in vec4 i_row0;
layout(location = 4) in vec4 i_row1;
layout(location = 5) in vec4 i_row2;
layout(location = 6) in vec3 i_scale;
layout(location = 7) in vec3 i_length;
layout(location = 8) in vec4 i_colour;
uniform mat4 u_viewProjection;
out vec3 v_position, v_normal;
out vec4 v_colour;

void main() {
  vec4 local = vec4(a_direction * i_scale + a_side * i_length, 1.0);
  vec3 n = a_normal / i_scale;
  v_position = vec3(dot(i_row0, local), dot(i_row1, local), dot(i_row2, local));
  v_normal = vec3(dot(i_row0.xyz, n), dot(i_row1.xyz, n), dot(i_row2.xyz, n));
  v_colour = i_colour;
  gl_Position = u_viewProjection * vec4(v_position, 1.0);
}`;

const SOLID_FRAGMENT = `${GLSL_HEAD}${GLSL_LIGHT}
in vec3 v_position, v_normal;
in vec4 v_colour;
uniform float u_floor, u_reach;
out vec4 o_colour;

void main() {
  vec3 toEye = u_eye - v_position;
  vec3 v = normalize(toEye);
  vec3 n = normalize(gl_FrontFacing ? v_normal : -v_normal);
  vec3 h = normalize(v + u_sun);
  float nl = max(dot(n, u_sun), 0.0), nv = max(dot(n, v), 0.001), nh = max(dot(n, h), 0.0);
  float lit = nl > 0.0 ? sunlight(v_position, 1.2 * n) : 0.0;
  vec3 albedo = v_colour.rgb;
  // light from the sky and from the ground, which an object near the floor shades from itself
  float up = n.z * 0.5 + 0.5;
  float open = mix(mix(0.35, 1.0, smoothstep(0.0, u_reach, v_position.z - u_floor)), 1.0, smoothstep(0.1, 0.9, up));
  vec3 ambient = mix(u_ground, u_sky, up) * open;
  // GGX highlight of a satin surface
  float a2 = 0.032;
  float d = nh * nh * (a2 - 1.0) + 1.0;
  float fresnel = 0.04 + 0.96 * pow(1.0 - max(dot(h, v), 0.0), 5.0);
  float highlight = a2 / (3.14159 * d * d) * fresnel * 0.25 / max(0.1, nv + nl) * 1.6;
  float rim = pow(1.0 - nv, 4.0) * (0.25 + 0.75 * up);
  vec3 colour = albedo * (ambient + u_sunColour * nl * lit) + u_sunColour * nl * lit * highlight + u_sky * rim * 0.22 * open;
  float fog = 1.0 - exp(-pow(length(toEye) / u_fogDistance, 3.0));
  colour = mix(colour, background(-v), fog);
  o_colour = vec4(finish(colour) + dither(), v_colour.a);
}`;

// checks and lines in the plane's own coordinates, filtered over the pixel, fading into the background
const FLOOR_FRAGMENT = `${GLSL_HEAD}${GLSL_LIGHT}
in vec3 v_position, v_normal;
in vec4 v_colour;
uniform float u_cell, u_contactScale, u_seeThrough, u_fade;
uniform vec2 u_contactCentre;
uniform vec3 u_centre;
uniform sampler2D u_contact;
uniform vec3 u_tile0, u_tile1, u_line;
out vec4 o_colour;

float checks(vec2 p, vec2 w) {
  vec2 i = 2.0 * (abs(fract((p - 0.5 * w) * 0.5) - 0.5) - abs(fract((p + 0.5 * w) * 0.5) - 0.5)) / w;
  return 0.5 - 0.5 * i.x * i.y;
}

float lines(vec2 p, vec2 w, float width) {
  vec2 far = abs(fract(p - 0.5) - 0.5) - width;
  vec2 l = clamp(0.5 - far / w, 0.0, 1.0) * clamp(2.0 * width / w, 0.0, 1.0);
  return max(l.x, l.y) * (1.0 - smoothstep(0.2, 0.6, max(w.x, w.y)));
}

void main() {
  vec3 toEye = u_eye - v_position;
  vec3 v = normalize(toEye);
  vec3 n = normalize(gl_FrontFacing ? v_normal : -v_normal);
  vec2 p = v_position.xy / u_cell;
  vec2 w = max(fwidth(p), vec2(1e-4)) * 1.25;
  vec3 albedo = mix(u_tile0, u_tile1, checks(p, w));
  albedo = mix(albedo, u_line, 0.55 * lines(p, w, 0.006));
  vec2 c = (v_position.xy - u_contactCentre) * u_contactScale * 0.5 + 0.5;
  float inside = float(all(greaterThan(c, vec2(0.0))) && all(lessThan(c, vec2(1.0))));
  float near = texture(u_contact, c).r * inside;
  float open = 1.0 - 0.62 * smoothstep(0.0, 1.0, near);
  float nl = max(dot(n, u_sun), 0.0);
  float lit = sunlight(v_position, vec3(0.0));
  vec3 colour = albedo * (u_sky * open + u_sunColour * nl * lit * mix(1.0, open, 0.5));
  float far = length(v_position.xy - u_centre.xy) / u_fade;
  float horizon = smoothstep(0.25, 1.0, far) + 0.35 * pow(1.0 - abs(v.z), 6.0);
  colour = mix(colour, background(-v), clamp(horizon, 0.0, 1.0));
  o_colour = vec4(finish(colour) + dither(), u_seeThrough);
}`;

const DEPTH_FRAGMENT = `${GLSL_HEAD}
void main() {}`;

// how near the floor the lowest surface above each point is: 1 at touch, 0 from `u_reach` on
const CONTACT_FRAGMENT = `${GLSL_HEAD}
in vec3 v_position, v_normal;
in vec4 v_colour;
uniform float u_floor, u_reach;
out vec4 o_colour;
void main() {
  float near = clamp(1.0 - (v_position.z - u_floor) / u_reach, 0.0, 1.0);
  o_colour = vec4(near * near * step(u_floor - 0.02, v_position.z));
}`;

const SCREEN_VERTEX = `${GLSL_HEAD}
out vec2 v_uv;
void main() {
  v_uv = vec2(gl_VertexID == 1 ? 2.0 : 0.0, gl_VertexID == 2 ? 2.0 : 0.0);
  gl_Position = vec4(v_uv * 2.0 - 1.0, 1.0, 1.0);
}`;

const BLUR_FRAGMENT = `${GLSL_HEAD}
in vec2 v_uv;
uniform sampler2D u_source;
uniform vec2 u_step;
out vec4 o_colour;
void main() {
  float sum = 0.0, weight = 0.0;
  for (int i = -8; i <= 8; i++) {
    float g = exp(-float(i * i) / 24.0);
    sum += g * texture(u_source, v_uv + float(i) * u_step).r;
    weight += g;
  }
  o_colour = vec4(sum / weight);
}`;

const SKY_FRAGMENT = `${GLSL_HEAD}${GLSL_LIGHT}
in vec2 v_uv;
uniform vec3 u_right, u_up, u_forward;
out vec4 o_colour;
void main() {
  vec2 q = v_uv * 2.0 - 1.0;
  o_colour = vec4(finish(background(normalize(u_forward + q.x * u_right + q.y * u_up))) + dither(), 1.0);
}`;
