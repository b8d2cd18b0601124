// One small chart per channel: a line for each world, those on the stage emphasised; click or drag to seek.

class Plots {
  constructor(box, clip, stage, onSeek) {
    Object.assign(this, { box, clip, stage, onSeek });
    this.charts = clip.channels.map((channel) => this.#chart(channel));
  }

  #chart({ name, values }) {
    const plot = document.createElement("div");
    plot.className = "plot";
    plot.innerHTML = '<div><span></span><span></span></div><div class="chart"><canvas></canvas><i></i></div>';
    const [label, value] = plot.querySelectorAll("span");
    label.textContent = name;
    this.box.append(plot);
    const area = plot.querySelector(".chart");
    const seek = (e) => {
      if (e.type === "pointermove" && !e.buttons) return;
      const { left, width } = area.getBoundingClientRect();
      this.onSeek(clamp((e.clientX - left) / width, 0, 1) * this.clip.duration);
    };
    area.addEventListener("pointerdown", seek);
    area.addEventListener("pointermove", seek);
    let low = Infinity, high = -Infinity;
    for (const v of values) if (Number.isFinite(v)) (low = Math.min(low, v)), (high = Math.max(high, v));
    if (!(low <= high)) low = high = 0;
    const margin = (high - low) * 0.08 || Math.abs(high) * 0.1 || 1;
    return { values, value, canvas: plot.querySelector("canvas"), cursor: plot.querySelector("i"), low: low - margin, high: high + margin };
  }

  // redraw the lines: after a resize, a change of theme, of colours or of the worlds shown
  redraw() {
    const ratio = window.devicePixelRatio || 1, style = getComputedStyle(document.documentElement);
    const quiet = style.getPropertyValue("--track"), strong = style.getPropertyValue("--accent");
    for (const chart of this.charts) {
      const { canvas } = chart, pen = canvas.getContext("2d");
      canvas.width = canvas.clientWidth * ratio;
      canvas.height = canvas.clientHeight * ratio;
      if (!canvas.width) continue;
      pen.lineJoin = "round";
      const shown = new Set(this.stage.visible);
      for (let world = 0; world < this.clip.worlds; world++)
        if (!shown.has(world)) this.#line(pen, chart, world, quiet, ratio);
      for (const world of shown) {
        const many = shown.size > 1;
        const colour = this.stage.colouring === "world" || many ? toCss(fromOklch(0.68, 0.13, 0.07 + world * 0.381966)) : strong;
        this.#line(pen, chart, world, colour, ratio * (many ? 1.2 : 1.8));
      }
    }
  }

  #line(pen, { values, canvas, low, high }, world, colour, width) {
    const { clip } = this;
    pen.strokeStyle = colour;
    pen.lineWidth = width;
    pen.beginPath();
    let down = false;
    for (let t = 0; t < clip.frames; t++) {
      const v = values[t * clip.worlds + world];
      if (!Number.isFinite(v)) {
        down = false;
        continue;
      }
      const x = (clip.time[t] / (clip.duration || 1)) * canvas.width;
      const y = (1 - (v - low) / (high - low)) * canvas.height;
      if (down) pen.lineTo(x, y);
      else pen.moveTo(x, y);
      down = true;
    }
    pen.stroke();
  }

  // move the cursor and the readings to the clip's time
  update(time) {
    const { clip, stage } = this;
    for (const { values, value, cursor } of this.charts) {
      cursor.style.left = `${(100 * time) / (clip.duration || 1)}%`;
      const now = stage.visible.map((w) => values[clip.frame * clip.worlds + w]);
      const mean = now.reduce((a, b) => a + b, 0) / now.length;
      value.textContent = `${now.length > 1 ? "mean " : ""}${Number.isFinite(mean) ? Number(mean.toPrecision(4)) : "–"}`;
    }
  }
}
