// d-separation: a path is active if each collider on it has a known descendant (or is known itself)
// and no other node of it is known.
const separation = (parents) => {
  const nodes = Object.keys(parents);
  const children = Object.fromEntries(nodes.map((node) => [node, []]));
  for (const node of nodes) for (const parent of parents[node]) children[parent].push(node);

  const ancestors = (some) => {
    const found = new Set(), agenda = [...some];
    while (agenda.length) {
      const node = agenda.pop();
      if (!found.has(node)) { found.add(node); agenda.push(...parents[node]); }
    }
    return found;
  };

  // The nodes of an active path from one node to another, or null.
  const activePath = (first, second, known) => {
    const opened = ancestors(known), came = new Map([[`${first}|up`, null]]);
    const agenda = [[first, "up"]];  // arrived from a child
    while (agenda.length) {
      const [node, way] = agenda.shift(), here = `${node}|${way}`;
      if (node === second) {
        const path = [];
        for (let step = here; step !== null; step = came.get(step)) path.unshift(step.slice(0, step.lastIndexOf("|")));
        return path;
      }
      const next = [];
      if (!known.has(node)) for (const child of children[node]) next.push([child, "down"]);
      if (way === "up" ? !known.has(node) : opened.has(node)) for (const parent of parents[node]) next.push([parent, "up"]);
      for (const [other, direction] of next) {
        const key = `${other}|${direction}`;
        if (!came.has(key)) { came.set(key, here); agenda.push([other, direction]); }
      }
    }
    return null;
  };
  return { activePath };
};

if (typeof document !== "undefined") addEventListener("DOMContentLoaded", () => {
  const { parents } = JSON.parse(document.getElementById("graph-data").textContent);
  const { activePath } = separation(parents);
  const shapes = [...document.querySelectorAll("[data-node]")], lines = [...document.querySelectorAll("[data-tail]")];
  const choices = ["first-node", "second-node"].map((id) => document.getElementById(id));
  const lead = document.getElementById("separation-lead"), trail = document.getElementById("separation-path");
  const known = new Set(shapes.filter((shape) => shape.classList.contains("known")).map((shape) => shape.dataset.node));

  const show = () => {
    const [first, second] = choices.map((choice) => choice.value);
    known.delete(first); known.delete(second);
    const path = first === second ? null : activePath(first, second, known);
    const given = known.size ? ` given ${[...known].join(", ")}` : "";
    lead.textContent = first === second ? "Choose two different nodes."
      : `${first} and ${second} ${path ? "depend on each other" : "are independent"}${given}`;
    const arrow = (a, b) => (parents[b].includes(a) ? " → " : " ← ");
    trail.textContent = path ? path.map((node, i) => (i ? arrow(path[i - 1], node) : "") + node).join("") : "";
    for (const shape of shapes) {
      const name = shape.dataset.node, asked = name === first || name === second;
      shape.classList.toggle("known", known.has(name));
      shape.classList.toggle("asked", asked);
      shape.setAttribute("aria-pressed", String(known.has(name)));
    }
    for (const line of lines) {
      const { tail, head } = line.dataset;
      line.classList.toggle("active", !!path && path.some((node, i) => i > 0
        && ((path[i - 1] === tail && node === head) || (path[i - 1] === head && node === tail))));
    }
  };

  const toggle = (name) => {
    if (choices.some((choice) => choice.value === name)) return;
    if (!known.delete(name)) known.add(name);
    show();
  };
  for (const shape of shapes) {
    shape.addEventListener("click", () => toggle(shape.dataset.node));
    shape.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); toggle(shape.dataset.node); }
    });
  }
  for (const choice of choices) choice.addEventListener("change", show);
  show();
});
if (typeof module !== "undefined") module.exports = { separation };
