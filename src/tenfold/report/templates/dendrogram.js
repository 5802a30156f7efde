// The cut of a dendrogram: the slider, the number of clusters and the line in the drawing move together.
addEventListener("DOMContentLoaded", () => {
  const tree = JSON.parse(document.getElementById("tree-data").textContent);
  const [slider, count] = ["cut-height", "cut-count"].map((id) => document.getElementById(id));
  const [value, code, lead, groups] = ["cut-value", "cut-code", "cut-lead", "cut-groups"]
    .map((id) => document.getElementById(id));
  const chart = document.querySelector("svg.dendrogram"), line = document.getElementById("cut-line");
  const branches = [...chart.querySelectorAll("[data-merge]")];
  const n = tree.labels.length, top = Number(slider.max);
  const descending = [...tree.heights].sort((a, b) => b - a);
  const axis = chart.querySelector(".axis"), bottom = Number(axis.getAttribute("y1"));
  const left = Number(axis.getAttribute("x1")), right = Number(axis.getAttribute("x2")), ceiling = 22;
  const place = new Array(n);
  tree.order.forEach((leaf, i) => { place[leaf] = left + (right - left) * (i + 0.7) / (n + 0.4); });
  count.max = n;

  const root = new Array(2 * n - 1);
  const clusters = (height) => {
    for (let node = 0; node < root.length; node++) root[node] = node;
    for (let t = n - 2; t >= 0; t--) {
      if (tree.heights[t] < height) for (const child of tree.children[t]) root[child] = root[n + t];
    }
    const number = new Map();
    for (const leaf of tree.order) if (!number.has(root[leaf])) number.set(root[leaf], number.size);
    return number;
  };
  const brief = (x) => String(Number(x.toPrecision(4)));

  const common = (leaves) => {  // the most frequent names, those of single rows
    const seen = new Map();
    for (const leaf of leaves) {
      if (tree.sizes[leaf] === 1) seen.set(tree.labels[leaf], (seen.get(tree.labels[leaf]) ?? 0) + 1);
    }
    const pairs = [...seen].sort((a, b) => b[1] - a[1]);
    const words = pairs.slice(0, 6).map(([name, times]) => (times > 1 ? `${times} × ${name}` : name));
    return words.join(", ") + (pairs.length > 6 ? ", ..." : "");
  };

  const show = (height) => {
    const number = clusters(height), members = Array.from({ length: number.size }, () => []);
    for (const leaf of tree.order) members[number.get(root[leaf])].push(leaf);
    branches.forEach((branch, t) => {
      const below = tree.heights[t] < height;
      branch.setAttribute("class", `branch ${below ? `c${number.get(root[n + t]) % tree.colors}` : "above"}`);
    });
    const y = bottom - (height / top) * (bottom - ceiling);
    line.setAttribute("y1", y); line.setAttribute("y2", y);
    value.textContent = brief(height);
    count.value = number.size;
    code.textContent = `model.cut(height=${Number(height.toPrecision(6))})`;
    const rows = tree.sizes.reduce((a, b) => a + b, 0);
    const words = `${rows.toLocaleString("en")} rows, cut at ${brief(height)} into ${number.size} cluster${number.size > 1 ? "s" : ""}`;
    lead.textContent = words;
    slider.setAttribute("aria-valuetext", words);
    chart.querySelectorAll(".number").forEach((old) => old.remove());
    groups.replaceChildren();
    members.forEach((leaves, k) => {
      const size = leaves.reduce((sum, leaf) => sum + tree.sizes[leaf], 0);
      if (members.length <= 60) {
        const mark = document.createElementNS("http://www.w3.org/2000/svg", "text");
        mark.setAttribute("class", `number c${k % tree.colors}`);
        mark.setAttribute("x", (place[leaves[0]] + place[leaves.at(-1)]) / 2);
        mark.setAttribute("y", Math.max(y - 5, ceiling + 8));
        mark.textContent = k + 1;
        chart.append(mark);
      }
      if (k >= 60) return;
      const item = document.createElement("li"), swatch = document.createElement("i");
      item.className = `c${k % tree.colors}`; swatch.className = "swatch";
      const text = document.createElement("span"), some = document.createElement("small");
      text.textContent = `Cluster ${k + 1}: ${size.toLocaleString("en")} row${size > 1 ? "s" : ""}`;
      some.textContent = common(leaves);
      item.append(swatch, text, some); groups.append(item);
    });
  };

  const set = (height) => { slider.value = height; show(Number(slider.value)); };
  slider.addEventListener("input", () => show(Number(slider.value)));
  count.addEventListener("change", () => {
    const k = Math.min(Math.max(Math.round(Number(count.value)) || 1, 1), n);
    const above = k === 1 ? top : descending[k - 2], below = k === n ? 0 : descending[k - 1];
    set((above + below) / 2);
  });
  const drag = (event) => {
    const box = chart.getBoundingClientRect(), scale = chart.viewBox.baseVal.height / box.height;
    const y = (event.clientY - box.top) * scale;
    set(Math.min(Math.max((bottom - y) / (bottom - ceiling), 0), 1) * top);
  };
  chart.addEventListener("pointerdown", (event) => { chart.setPointerCapture(event.pointerId); drag(event); });
  chart.addEventListener("pointermove", (event) => { if (chart.hasPointerCapture(event.pointerId)) drag(event); });
  show(tree.start);
});
