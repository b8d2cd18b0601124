// WebGL2: shadow map from the sun, a blurred contact map of the floor from below, sky, solids, floor.

const SHADOW_SIZE = 2048, CONTACT_SIZE = 256;
const ROWS = 12, LOOK = 10; // floats per instance: pose, and scale + length + colour

class Program {
  constructor(gl, vertex, fragment) {
    this.gl = gl;
    this.handle = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader));
      gl.attachShader(this.handle, shader);
    }
    gl.linkProgram(this.handle);
    if (!gl.getProgramParameter(this.handle, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(this.handle));
    this.uniforms = new Map();
    for (let i = 0; i < gl.getProgramParameter(this.handle, gl.ACTIVE_UNIFORMS); i++) {
      const info = gl.getActiveUniform(this.handle, i);
      this.uniforms.set(info.name, { at: gl.getUniformLocation(this.handle, info.name), type: info.type });
    }
  }

  // make current and set those of the values that the program has
  use(values) {
    const gl = this.gl;
    gl.useProgram(this.handle);
    for (const [name, { at, type }] of this.uniforms) {
      const value = values[name];
      if (value === undefined) continue;
      if (type === gl.FLOAT) gl.uniform1f(at, value);
      else if (type === gl.FLOAT_VEC2) gl.uniform2fv(at, value);
      else if (type === gl.FLOAT_VEC3) gl.uniform3fv(at, value);
      else if (type === gl.FLOAT_MAT4) gl.uniformMatrix4fv(at, false, value);
      else gl.uniform1i(at, value);
    }
  }
}

// instances of one mesh: poses change every frame, looks when the colouring changes
class Batch {
  constructor(gl, mesh, capacity) {
    this.gl = gl;
    this.count = 0;
    this.poses = new Float32Array(capacity * ROWS);
    this.looks = new Float32Array(capacity * LOOK);
    this.indexCount = mesh.indices.length;
    this.array = gl.createVertexArray();
    gl.bindVertexArray(this.array);
    this.#attributes(gl.ARRAY_BUFFER, mesh.vertices, [3, 3, 3], 0, 0);
    this.poseBuffer = this.#attributes(gl.ARRAY_BUFFER, this.poses, [4, 4, 4], 3, 1);
    this.lookBuffer = this.#attributes(gl.ARRAY_BUFFER, this.looks, [3, 3, 4], 6, 1);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, mesh.indices, gl.STATIC_DRAW);
    gl.bindVertexArray(null);
  }

  #attributes(target, data, sizes, location, divisor) {
    const gl = this.gl, buffer = gl.createBuffer();
    gl.bindBuffer(target, buffer);
    gl.bufferData(target, data, divisor ? gl.DYNAMIC_DRAW : gl.STATIC_DRAW);
    const stride = 4 * sizes.reduce((a, b) => a + b);
    let offset = 0;
    sizes.forEach((size, i) => {
      gl.enableVertexAttribArray(location + i);
      gl.vertexAttribPointer(location + i, size, gl.FLOAT, false, stride, offset);
      gl.vertexAttribDivisor(location + i, divisor);
      offset += 4 * size;
    });
    return buffer;
  }

  upload(buffer, data, length) {
    this.gl.bindBuffer(this.gl.ARRAY_BUFFER, buffer);
    this.gl.bufferSubData(this.gl.ARRAY_BUFFER, 0, data, 0, length);
  }

  uploadPoses() {
    if (this.count) this.upload(this.poseBuffer, this.poses, this.count * ROWS);
  }

  uploadLooks() {
    if (this.count) this.upload(this.lookBuffer, this.looks, this.count * LOOK);
  }

  draw() {
    if (!this.count) return;
    this.gl.bindVertexArray(this.array);
    this.gl.drawElementsInstanced(this.gl.TRIANGLES, this.indexCount, this.gl.UNSIGNED_INT, 0, this.count);
  }
}

function makeTarget(gl, size, depth) {
  const texture = gl.createTexture(), frame = gl.createFramebuffer();
  gl.bindTexture(gl.TEXTURE_2D, texture);
  gl.texStorage2D(gl.TEXTURE_2D, 1, depth ? gl.DEPTH_COMPONENT24 : gl.RGBA8, size, size);
  for (const [name, value] of [["MIN_FILTER", "LINEAR"], ["MAG_FILTER", "LINEAR"], ["WRAP_S", "CLAMP_TO_EDGE"], ["WRAP_T", "CLAMP_TO_EDGE"]])
    gl.texParameteri(gl.TEXTURE_2D, gl[`TEXTURE_${name}`], gl[value]);
  if (depth) gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_COMPARE_MODE, gl.COMPARE_REF_TO_TEXTURE);
  gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
  gl.framebufferTexture2D(gl.FRAMEBUFFER, depth ? gl.DEPTH_ATTACHMENT : gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, texture, 0);
  return { texture, frame };
}

class Renderer {
  constructor(canvas) {
    const gl = canvas.getContext("webgl2", { antialias: true, alpha: false, powerPreference: "high-performance" });
    if (!gl) throw new Error("This browser offers no WebGL 2.");
    this.gl = gl;
    this.canvas = canvas;
    this.solid = new Program(gl, SOLID_VERTEX, SOLID_FRAGMENT);
    this.floor = new Program(gl, SOLID_VERTEX, FLOOR_FRAGMENT);
    this.depth = new Program(gl, SOLID_VERTEX, DEPTH_FRAGMENT);
    this.contact = new Program(gl, SOLID_VERTEX, CONTACT_FRAGMENT);
    this.blur = new Program(gl, SCREEN_VERTEX, BLUR_FRAGMENT);
    this.sky = new Program(gl, SCREEN_VERTEX, SKY_FRAGMENT);
    this.shadowMap = makeTarget(gl, SHADOW_SIZE, true);
    this.contactMaps = [makeTarget(gl, CONTACT_SIZE, false), makeTarget(gl, CONTACT_SIZE, false)];
    this.empty = gl.createVertexArray();
    gl.enable(gl.CULL_FACE);
    gl.depthFunc(gl.LEQUAL);
  }

  // match the canvas to its place on the page
  resize() {
    const ratio = Math.min(2, window.devicePixelRatio || 1);
    const width = Math.max(1, Math.round(this.canvas.clientWidth * ratio));
    const height = Math.max(1, Math.round(this.canvas.clientHeight * ratio));
    if (this.canvas.width !== width || this.canvas.height !== height) Object.assign(this.canvas, { width, height });
    return width / height;
  }

  // batches: { opaque, translucent, floors, marks }; view: camera; look: colours of the theme; focus: what to light
  draw(batches, view, look, focus) {
    const gl = this.gl;
    for (const batch of Object.values(batches).flat()) batch.uploadPoses();
    const light = this.#lightUniforms(view, look, focus);
    gl.disable(gl.BLEND);
    this.#drawShadows(batches.opaque, light);
    if (focus.floor !== null) this.#drawContacts(batches.opaque, focus);
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    this.#bind(0, this.shadowMap.texture);
    this.#bind(1, this.contactMaps[0].texture);
    this.#drawSky(light, view);
    this.solid.use(light);
    for (const batch of [...batches.opaque, ...batches.marks]) batch.draw();
    this.#drawFloors(batches.floors, light, view, look, focus);
    if (batches.translucent.length) this.#drawTranslucent(batches.translucent, light);
  }

  #bind(unit, texture) {
    this.gl.activeTexture(this.gl.TEXTURE0 + unit);
    this.gl.bindTexture(this.gl.TEXTURE_2D, texture);
  }

  #lightUniforms(view, look, focus) {
    const texel = (2 * focus.radius) / SHADOW_SIZE;
    const sun = normalized(look.sun);
    // move the map in whole texels, or its edges would crawl as the focus moves
    const turn = lookAt(sun, [0, 0, 0], [0, 1, 0]);
    const along = [0, 1, 2].map((r) => turn[r] * focus.centre[0] + turn[4 + r] * focus.centre[1] + turn[8 + r] * focus.centre[2]);
    const snapped = [Math.round(along[0] / texel) * texel, Math.round(along[1] / texel) * texel, along[2]];
    const shift = new Float32Array([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, -snapped[0], -snapped[1], -snapped[2], 1]);
    turn[12] = turn[13] = turn[14] = 0;
    const range = focus.radius * 3;
    return {
      u_viewProjection: multiply(view.projection, view.matrix),
      u_shadowMatrix: multiply(orthographic(focus.radius, -range, range), multiply(shift, turn)),
      u_shadowTexel: texel, u_shadow: 0, u_contact: 1,
      u_eye: view.eye, u_sun: sun, u_fogDistance: focus.fog,
      u_sunColour: look.sunColour, u_sky: look.sky, u_ground: look.ground, u_horizon: look.horizon, u_zenith: look.zenith,
      u_floor: focus.floor ?? -1e6, u_reach: focus.reach,
    };
  }

  #drawShadows(solids, light) {
    const gl = this.gl;
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.shadowMap.frame);
    gl.viewport(0, 0, SHADOW_SIZE, SHADOW_SIZE);
    gl.enable(gl.DEPTH_TEST);
    gl.clear(gl.DEPTH_BUFFER_BIT);
    this.depth.use({ u_viewProjection: light.u_shadowMatrix });
    gl.cullFace(gl.FRONT);
    for (const batch of solids) batch.draw();
    gl.cullFace(gl.BACK);
  }

  #drawContacts(solids, focus) {
    const gl = this.gl, [map, spare] = this.contactMaps;
    const [x, y] = focus.centre;
    const view = lookAt([x, y, focus.floor - 1], [x, y, focus.floor], [0, 1, 0]);
    // seen from below x runs backward; flip it, so that the map's axes are the world's
    view[0] = -view[0];
    view[12] = -view[12];
    gl.bindFramebuffer(gl.FRAMEBUFFER, map.frame);
    gl.viewport(0, 0, CONTACT_SIZE, CONTACT_SIZE);
    gl.disable(gl.DEPTH_TEST);
    gl.disable(gl.CULL_FACE);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.enable(gl.BLEND);
    gl.blendEquation(gl.MAX);
    this.contact.use({
      u_viewProjection: multiply(orthographic(focus.radius, 0, 1e3), view), u_floor: focus.floor, u_reach: focus.reach,
    });
    for (const batch of solids) batch.draw();
    gl.blendEquation(gl.FUNC_ADD);
    gl.disable(gl.BLEND);
    gl.bindVertexArray(this.empty);
    const step = Math.max(1, (0.035 * focus.reach * CONTACT_SIZE) / focus.radius) / CONTACT_SIZE;
    for (const [from, to, direction] of [[map, spare, [step, 0]], [spare, map, [0, step]]]) {
      gl.bindFramebuffer(gl.FRAMEBUFFER, to.frame);
      this.#bind(1, from.texture);
      this.blur.use({ u_source: 1, u_step: direction });
      gl.drawArrays(gl.TRIANGLES, 0, 3);
    }
    gl.enable(gl.CULL_FACE);
  }

  #drawSky(light, view) {
    const gl = this.gl;
    gl.disable(gl.DEPTH_TEST);
    gl.bindVertexArray(this.empty);
    this.sky.use({ ...light, u_right: view.right, u_up: view.up, u_forward: view.forward });
    gl.drawArrays(gl.TRIANGLES, 0, 3);
    gl.enable(gl.DEPTH_TEST);
  }

  #drawFloors(floors, light, view, look, focus) {
    const gl = this.gl;
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
    gl.disable(gl.CULL_FACE);
    this.floor.use({
      ...light, u_cell: focus.cell, u_contactCentre: focus.centre.slice(0, 2), u_contactScale: 1 / focus.radius,
      u_centre: view.target, u_fade: focus.fade, u_tile0: look.tile0, u_tile1: look.tile1, u_line: look.line,
      u_seeThrough: focus.floor === null || view.eye[2] > focus.floor ? 1 : 0.25,
    });
    for (const batch of floors) batch.draw();
    gl.enable(gl.CULL_FACE);
    gl.disable(gl.BLEND);
  }

  #drawTranslucent(batches, light) {
    const gl = this.gl;
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
    gl.depthMask(false);
    this.solid.use(light);
    for (const batch of batches) batch.draw();
    gl.depthMask(true);
    gl.disable(gl.BLEND);
  }
}
