// The clock, the frame loop, and the self-check that tests run.

class Player {
  constructor(scene, arrays) {
    this.scene = scene;
    this.clip = new Clip(scene, arrays);
    this.canvas = byId("view");
    this.renderer = new Renderer(this.canvas);
    this.stage = new Stage(this.renderer.gl, scene, arrays, this.clip);
    this.camera = new Camera(this.canvas, () => this.refresh());
    this.camera.onReset = () => this.resetCamera();
    this.plots = new Plots(byId("plots"), this.clip, this.stage, (t) => this.scrub(t));
    this.time = 0;
    this.speed = 1;
    this.loop = true;
    this.playing = this.clip.duration > 0 && !matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.look = THEMES.light;
    this.resetCamera();
    this.controls = new Controls(this);
    this.controls.applyHash(readHash());
    this.camera.settle(this.#root());
    new ResizeObserver(() => {
      this.replot();
      this.draw(); // at once, or the old picture would be stretched for a frame
    }).observe(this.canvas);
    this.#show();
    requestAnimationFrame((now) => this.#tick(now));
  }

  toggle() {
    if (this.playing) return this.pause();
    if (this.time >= this.clip.duration) this.time = 0;
    this.playing = this.clip.duration > 0;
    this.#show();
  }

  pause() {
    this.playing = false;
    this.#show();
  }

  scrub(time) {
    this.time = clamp(time || 0, 0, this.clip.duration);
    this.#show();
    this.refresh();
  }

  step(direction) {
    this.pause();
    this.clip.seek(this.time);
    const { clip } = this, onFrame = Math.abs(clip.time[clip.frame] - this.time) < 1e-6;
    const from = onFrame ? clip.frame : direction > 0 ? clip.before : clip.after;
    this.scrub(clip.time[clamp(from + direction, 0, clip.frames - 1)]);
  }

  follow(on) {
    this.camera.follow = on;
    byId("follow").checked = on;
    this.refresh();
  }

  resetCamera() {
    const { stage, camera } = this, root = this.#root();
    this.clip.seek(0);
    const start = this.stage.root();
    const centre = stage.world < 0 ? [0, 0, stage.centre[2]].map((v, k) => (k < 2 ? v + stage.centre[k] : v)) : stage.centre;
    camera.frame(add(centre, subtract(root, start)), stage.radius + stage.spread * 0.65, root);
    this.refresh();
  }

  // the instances have changed
  restage() {
    this.stage.arrange();
    this.replot();
  }

  replot() {
    if (!byId("plots").hidden) this.plots.redraw();
    this.refresh();
  }

  refresh() {
    this.dirty = true;
  }

  #root() {
    this.clip.seek(this.time);
    return this.stage.root();
  }

  #tick(now) {
    const dt = clamp((now - (this.last ?? now)) / 1000, 0, 0.1);
    this.last = now;
    if (this.playing) this.#advance(dt * this.speed);
    const moving = this.camera.advance(dt, this.#root());
    if (this.playing || moving || this.dirty) this.draw();
    requestAnimationFrame((t) => this.#tick(t));
  }

  #advance(dt) {
    this.time += dt;
    if (this.time <= this.clip.duration) return;
    if (this.loop) {
      // pause on the last frame for a moment, then start over
      if (this.time < this.clip.duration + 0.6 * this.speed) return;
      this.time = 0;
      this.clip.seek(0);
      this.camera.settle(this.stage.root());
    } else {
      this.time = this.clip.duration;
      this.pause();
    }
  }

  draw() {
    this.dirty = false;
    const shown = Math.min(this.time, this.clip.duration);
    const aspect = this.renderer.resize();
    this.clip.seek(shown);
    const view = this.camera.view(aspect), focus = this.#focus(view);
    this.stage.pose(view.target, focus.fade);
    this.stage.mark();
    this.renderer.draw(this.stage.batches, view, this.look, focus);
    this.#show(shown);
    if (!byId("plots").hidden) this.plots.update(shown);
  }

  // what the shadow map covers, and the scales of the floor
  #focus(view) {
    const { stage } = this;
    const wide = stage.spread + stage.radius * 2.2;
    const centre = this.camera.follow || stage.world < 0 ? this.stage.root() : [...view.target];
    const cell = 10 ** Math.round(Math.log10(stage.radius) - 0.05);
    const whole = stage.radius + stage.spread, { distance } = this.camera.now;
    return {
      centre, radius: wide, floor: stage.floor, reach: stage.radius * 0.35, cell,
      fade: 9 * whole + 1.5 * distance, fog: 60 * whole + 4 * distance,
    };
  }

  #show(time = Math.min(this.time, this.clip.duration)) {
    const { duration } = this.clip, scrub = byId("scrub"), start = this.scene.startTime;
    const text = `${(start + time).toFixed(2)} <span>/ ${(start + duration).toFixed(2)} s</span>`;
    if (this.text !== text) byId("clock").innerHTML = this.text = text;
    scrub.value = duration ? (1000 * time) / duration : 0;
    scrub.style.setProperty("--done", `${duration ? (100 * time) / duration : 0}%`);
    scrub.setAttribute("aria-valuetext", `${(start + time).toFixed(2)} seconds`);
    document.body.classList.toggle("playing", this.playing);
    byId("play").setAttribute("aria-label", this.playing ? "Pause" : "Play");
  }

  // draw some frames and report what was seen
  selfCheck() {
    const { gl } = this.renderer, { clip } = this, seen = [], pixels = new Uint8Array(4 * 64 * 64);
    for (const part of [0, 0.5, 1]) {
      this.time = part * clip.duration;
      this.camera.settle(this.#root());
      this.draw();
      gl.readPixels((gl.drawingBufferWidth >> 1) - 32, (gl.drawingBufferHeight >> 1) - 32, 64, 64, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
      seen.push(new Set(new Uint32Array(pixels.buffer)).size);
    }
    const pose = [...clip.pose(clip.worlds - 1, this.scene.root, new Float32Array(7))];
    return {
      frames: clip.frames, worlds: clip.worlds, duration: clip.duration, glError: gl.getError(), colours: seen,
      instances: this.stage.sets.reduce((sum, s) => sum + s.batch.count, 0), finalRootPose: pose,
      marks: this.stage.batches.marks.map((batch) => batch.count),
    };
  }
}

async function main() {
  const report = byId("selfcheck");
  try {
    const scene = JSON.parse(byId("scene").textContent);
    const arrays = await unpackBuffers(scene.buffers, byId("payload").textContent);
    const player = new Player(scene, arrays);
    if (readHash().selfcheck) report.textContent = JSON.stringify(player.selfCheck());
  } catch (error) {
    byId("failure").textContent = `The player could not start: ${error.message}`;
    byId("failure").hidden = false;
    report.textContent = JSON.stringify({ error: String(error.stack || error) });
  }
}

main();
