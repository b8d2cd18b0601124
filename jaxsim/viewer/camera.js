// Orbit camera: azimuth, elevation and distance about a target that may follow the robot.

const FIELD_OF_VIEW = (38 * Math.PI) / 180;

class Camera {
  constructor(canvas, onChange) {
    this.canvas = canvas;
    this.onChange = onChange;
    this.goal = { azimuth: -0.85, elevation: 0.32, distance: 5, target: [0, 0, 0] };
    this.now = structuredClone(this.goal);
    this.follow = true;
    this.anchor = [0, 0, 0]; // where the followed root is, smoothed
    this.pointers = new Map();
    this.#listen();
  }

  // look at a ball from a distance that shows all of it
  frame(centre, radius, anchor) {
    const narrow = Math.min(1, this.canvas.clientWidth / Math.max(1, this.canvas.clientHeight));
    this.goal = { azimuth: -0.85, elevation: 0.3, distance: (1.12 * radius) / Math.tan(FIELD_OF_VIEW / 2) / Math.max(0.45, narrow), target: subtract(centre, anchor) };
    this.anchor = [...anchor];
    this.now = structuredClone(this.goal);
    this.scale = radius;
  }

  orbit(dx, dy) {
    this.goal.azimuth -= dx;
    this.goal.elevation = clamp(this.goal.elevation + dy, -0.15, 1.55);
    this.onChange();
  }

  pan(dx, dy) {
    const { azimuth } = this.goal;
    const step = (2 * this.goal.distance * Math.tan(FIELD_OF_VIEW / 2)) / this.canvas.clientHeight;
    const right = [-Math.sin(azimuth), Math.cos(azimuth), 0];
    const moved = add(scaled(right, -dx * step), scaled(this.upward(), dy * step));
    this.goal.target = add(this.goal.target, moved);
    this.onChange();
  }

  zoom(factor) {
    this.goal.distance = clamp(this.goal.distance * factor, this.scale * 0.15, this.scale * 60);
    this.onChange();
  }

  upward() {
    const { azimuth: a, elevation: e } = this.goal;
    return [-Math.cos(a) * Math.sin(e), -Math.sin(a) * Math.sin(e), Math.cos(e)];
  }

  // approach the goal; true while still moving
  advance(dt, root) {
    const rate = 1 - Math.exp(-dt * 14), trail = 1 - Math.exp(-dt * 6);
    let change = 0;
    for (const key of ["azimuth", "elevation", "distance"]) {
      const gap = this.goal[key] - this.now[key];
      change = Math.max(change, Math.abs(gap) / (key === "distance" ? this.now.distance : 1));
      this.now[key] += gap * rate;
    }
    for (let k = 0; k < 3; k++) {
      const gap = this.goal.target[k] - this.now.target[k];
      const drift = this.follow ? root[k] - this.anchor[k] : 0;
      this.now.target[k] += gap * rate;
      this.anchor[k] += drift * (k === 2 ? trail * 0.5 : trail);
      change = Math.max(change, (Math.abs(gap) + Math.abs(drift)) / this.now.distance);
    }
    return change > 2e-4;
  }

  // jump to the goal and to the root without easing
  settle(root) {
    Object.assign(this.now, structuredClone(this.goal));
    if (this.follow) this.anchor = [...root];
  }

  view(aspect) {
    const { azimuth: a, elevation: e, distance } = this.now;
    const target = add(this.now.target, this.anchor);
    const out = [Math.cos(a) * Math.cos(e), Math.sin(a) * Math.cos(e), Math.sin(e)];
    const eye = add(target, scaled(out, distance));
    const forward = scaled(out, -1), side = normalized([-Math.sin(a), Math.cos(a), 0]);
    const tall = Math.tan(FIELD_OF_VIEW / 2);
    return {
      eye, target, forward, right: scaled(side, tall * aspect), up: scaled(cross(side, forward), tall),
      matrix: lookAt(eye, target, [0, 0, 1]),
      projection: perspective(FIELD_OF_VIEW, aspect, Math.max(distance * 0.02, 1e-3), distance + this.scale * 400),
    };
  }

  #listen() {
    const c = this.canvas;
    c.addEventListener("contextmenu", (e) => e.preventDefault());
    c.addEventListener("pointerdown", (e) => {
      c.setPointerCapture(e.pointerId);
      this.pointers.set(e.pointerId, [e.clientX, e.clientY]);
      this.panning = e.button !== 0 || e.shiftKey;
      c.classList.add("dragging");
    });
    for (const end of ["pointerup", "pointercancel"])
      c.addEventListener(end, (e) => {
        this.pointers.delete(e.pointerId);
        if (!this.pointers.size) c.classList.remove("dragging");
      });
    c.addEventListener("pointermove", (e) => this.#drag(e));
    c.addEventListener("wheel", (e) => {
      e.preventDefault();
      this.zoom(Math.exp(clamp(e.deltaY * (e.deltaMode ? 30 : 1), -200, 200) * 0.0012));
    }, { passive: false });
    c.addEventListener("dblclick", () => this.onReset?.());
  }

  #drag(e) {
    const last = this.pointers.get(e.pointerId);
    if (!last) return;
    const here = [e.clientX, e.clientY], dx = here[0] - last[0], dy = here[1] - last[1];
    if (this.pointers.size === 2) {
      const other = [...this.pointers].find(([id]) => id !== e.pointerId)[1];
      const spread = (p) => Math.hypot(p[0] - other[0], p[1] - other[1]);
      this.zoom(spread(last) / Math.max(1, spread(here)));
      this.pan(dx / 2, dy / 2);
    } else if (this.panning) this.pan(dx, dy);
    else this.orbit(dx * 0.0075, dy * 0.0075);
    this.pointers.set(e.pointerId, here);
  }
}
