// Buttons, keys and the state that the address's hash may set: #t=1.5&world=2&theme=dark&colour=body&contacts&paused&bare

const byId = (id) => document.getElementById(id);

const THEMES = {
  light: {
    sun: [-0.3, -0.62, 0.95], sunColour: [1.42, 1.34, 1.2], sky: [0.4, 0.45, 0.52], ground: [0.25, 0.245, 0.24],
    horizon: [0.8, 0.87, 0.94], zenith: [0.42, 0.6, 0.82],
    tile0: [0.42, 0.455, 0.5], tile1: [0.49, 0.525, 0.57], line: [0.3, 0.33, 0.37],
  },
  dark: {
    sun: [-0.3, -0.62, 0.95], sunColour: [1.4, 1.4, 1.42], sky: [0.2, 0.235, 0.29], ground: [0.09, 0.1, 0.115],
    horizon: [0.018, 0.023, 0.031], zenith: [0.006, 0.008, 0.012],
    tile0: [0.036, 0.043, 0.053], tile1: [0.046, 0.054, 0.066], line: [0.1, 0.12, 0.15],
  },
};

// values from the hash; a flag without a value is "1"
function readHash() {
  const values = {};
  for (const part of location.hash.slice(1).split("&").filter(Boolean)) {
    const [key, value = "1"] = part.split("=");
    values[key] = decodeURIComponent(value);
  }
  return values;
}

class Controls {
  constructor(player) {
    this.player = player;
    this.#fill();
    this.#wire();
    document.addEventListener("keydown", (e) => this.#key(e));
  }

  #fill() {
    const { scene, stage, clip } = this.player;
    const worlds = byId("world");
    if (clip.worlds > 1) worlds.add(new Option(`all ${clip.worlds}`, "-1"));
    scene.worlds.forEach((name, i) => worlds.add(new Option(name, String(i))));
    worlds.closest("label").hidden = clip.worlds < 2;
    byId("contacts-label").hidden = !stage.marks;
    byId("sites-label").hidden = !scene.sites.length;
    byId("groups").hidden = stage.groups.length < 2;
    for (const group of stage.groups) {
      const label = document.createElement("label"), box = document.createElement("input");
      box.type = "checkbox";
      box.checked = stage.shown.has(group);
      box.onchange = () => {
        stage.shown[box.checked ? "add" : "delete"](group);
        this.player.restage();
      };
      label.append(box, String(group));
      byId("groups").append(label);
    }
    byId("plots-toggle").hidden = !clip.channels.length;
    byId("colouring").value = stage.colouring;
    worlds.value = String(stage.world);
  }

  #wire() {
    const { player } = this;
    byId("play").onclick = () => player.toggle();
    byId("scrub").oninput = (e) => player.scrub((e.target.value / 1000) * player.clip.duration);
    byId("speed").onchange = (e) => (player.speed = Number(e.target.value));
    byId("world").onchange = (e) => this.showWorld(Number(e.target.value));
    byId("colouring").onchange = (e) => this.colour(e.target.value);
    byId("theme").onchange = (e) => this.theme(e.target.value);
    byId("follow").onchange = (e) => player.follow(e.target.checked);
    byId("loop").onchange = (e) => (player.loop = e.target.checked);
    byId("contacts").onchange = (e) => this.contacts(e.target.checked);
    byId("sites").onchange = (e) => {
      player.stage.showSites = e.target.checked;
      player.restage();
    };
    byId("reset").onclick = () => player.resetCamera();
    byId("help-toggle").onclick = () => byId("help").showModal();
    byId("plots-toggle").onclick = () => this.plots(byId("plots").hidden);
    byId("settings-toggle").onclick = () => this.settings(byId("settings").hidden);
    byId("view").addEventListener("pointerdown", () => this.settings(false));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.theme(byId("theme").value));
  }

  contacts(shown) {
    this.player.stage.showContacts = byId("contacts").checked = shown;
    this.player.refresh();
  }

  settings(open) {
    byId("settings").hidden = !open;
    byId("settings-toggle").setAttribute("aria-expanded", String(open));
  }

  plots(open) {
    byId("plots").hidden = !open || !this.player.clip.channels.length;
    byId("plots-toggle").setAttribute("aria-pressed", String(open));
    this.player.replot();
  }

  showWorld(world) {
    const { player } = this;
    player.stage.world = player.clip.worlds > 1 ? clamp(world, -1, player.clip.worlds - 1) : 0;
    byId("world").value = String(player.stage.world);
    player.restage();
    player.resetCamera();
  }

  colour(mode) {
    this.player.stage.colouring = mode;
    byId("colouring").value = mode;
    this.player.restage();
  }

  theme(choice) {
    byId("theme").value = choice;
    const dark = choice === "auto" ? matchMedia("(prefers-color-scheme: dark)").matches : choice === "dark";
    document.documentElement.classList.toggle("dark", dark);
    this.player.look = THEMES[dark ? "dark" : "light"];
    this.player.replot();
  }

  speed(direction) {
    const select = byId("speed");
    select.selectedIndex = clamp(select.selectedIndex + direction, 0, select.options.length - 1);
    this.player.speed = Number(select.value);
  }

  applyHash(values) {
    const { player } = this;
    this.theme(["light", "dark"].includes(values.theme) ? values.theme : "auto");
    if (values.colour) this.colour(values.colour);
    if (values.world) this.showWorld(values.world === "all" ? -1 : Number(values.world));
    if (values.azimuth) player.camera.goal.azimuth = Number(values.azimuth);
    if (values.elevation) player.camera.goal.elevation = Number(values.elevation);
    if (values.zoom) player.camera.zoom(1 / Number(values.zoom));
    if (values.bare) document.body.classList.add("bare");
    if (values.contacts) this.contacts(true);
    if (values.settings) this.settings(true);
    if (values.help) byId("help").showModal();
    this.plots(values.plots ? values.plots !== "0" : innerWidth > 900);
    if (values.t) player.scrub(Number(values.t));
    if (values.paused || values.t) player.pause();
  }

  #key(e) {
    if (e.ctrlKey || e.metaKey || e.altKey || byId("help").open) return;
    const editing = e.target.closest("select, input");
    if (editing && (e.key.startsWith("Arrow") || e.key === "Home" || e.key === "End" || editing.type === "checkbox" || editing.tagName === "SELECT")) return;
    if (e.key === " " && e.target.closest("button")) return;
    const action = e.shiftKey && e.key.startsWith("Arrow") ? this.#orbitKeys[e.key] : this.#keys(e.key);
    if (!action) return;
    e.preventDefault();
    action();
  }

  #orbitKeys = {
    ArrowLeft: () => this.player.camera.orbit(0.12, 0), ArrowRight: () => this.player.camera.orbit(-0.12, 0),
    ArrowUp: () => this.player.camera.orbit(0, 0.1), ArrowDown: () => this.player.camera.orbit(0, -0.1),
  };

  #keys(key) {
    const { player } = this, { stage, clip } = player;
    const next = { model: "body", body: "world", world: "model" };
    if (/^\d$/.test(key) && Number(key) < clip.worlds) return () => this.showWorld(Number(key));
    return {
      " ": () => player.toggle(), k: () => player.toggle(),
      ArrowLeft: () => player.step(-1), ArrowRight: () => player.step(1), ",": () => player.step(-1), ".": () => player.step(1),
      Home: () => player.scrub(0), End: () => player.scrub(clip.duration),
      "[": () => this.speed(-1), "]": () => this.speed(1),
      a: () => this.showWorld(-1), w: () => this.showWorld((stage.world + 1) % clip.worlds),
      f: () => player.follow(!player.camera.follow), c: () => this.colour(next[stage.colouring]),
      t: () => this.contacts(!stage.showContacts), p: () => this.plots(byId("plots").hidden), r: () => player.resetCamera(),
      d: () => this.theme(document.documentElement.classList.contains("dark") ? "light" : "dark"),
      "+": () => player.camera.zoom(0.88), "=": () => player.camera.zoom(0.88), "-": () => player.camera.zoom(1.14),
      "?": () => byId("help").showModal(), Escape: () => this.settings(false),
    }[key.length === 1 ? key.toLowerCase() : key];
  }
}
