// Operations per second against operations per byte of HBM, both by powers of ten: the roofs of the machine, the program, its kernels.
function rooflinePicture({ roofs, slope, points }) {
  const svg = (name, attributes, text) => {
    const e = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
    if (text !== undefined) e.textContent = text;
    return e;
  };
  const shown = points.filter(([, operations, bytes, ns]) => operations > 0 && bytes > 0 && ns > 0)
    .map(([name, operations, bytes, ns]) => ({ name: name || "the program", x: operations / bytes, y: operations / ns * 1e9 }));
  if (!shown.length) return element("p", "There is no roofline: nothing is computed, or nothing moved.");
  const ridges = roofs.map(([, most]) => most / slope);
  const decade = (values, step) => [Math.floor(Math.log10(Math.min(...values))), Math.ceil(Math.log10(Math.max(...values)) + step)];
  const [left, right] = decade([...shown.map((p) => p.x), ...ridges], 0.2), [low, high] = decade([...shown.map((p) => p.y), ...roofs.map(([, most]) => most)], 0.05);
  const width = 760, height = 380, x0 = 70, y0 = 24, w = width - x0 - 24, h = height - y0 - 46;
  const px = (x) => x0 + w * (Math.log10(x) - left) / (right - left), py = (y) => y0 + h * (high - Math.log10(y)) / (high - low);
  const out = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": "roofline", id: "roofline" });
  for (let d = left; d <= right; ++d) {
    out.append(svg("line", { x1: px(10 ** d), x2: px(10 ** d), y1: y0, y2: y0 + h, class: "grid" }));
    out.append(svg("text", { x: px(10 ** d), y: y0 + h + 16, "text-anchor": "middle" }, d < 0 ? (10 ** d).toFixed(-d) : (10 ** d).toLocaleString("en")));
  }
  for (let d = low; d <= high; ++d) {
    out.append(svg("line", { x1: x0, x2: x0 + w, y1: py(10 ** d), y2: py(10 ** d), class: "grid" }));
    out.append(svg("text", { x: x0 - 6, y: py(10 ** d) + 4, "text-anchor": "end" }, d < 9 ? `${10 ** (d - 6)} M` : d < 12 ? `${10 ** (d - 9)} G` : `${10 ** (d - 12)} T`));
  }
  out.append(svg("text", { x: x0 + w / 2, y: height - 8, "text-anchor": "middle" }, "operations per byte of HBM"));
  out.append(svg("text", { x: 4, y: 11 }, "operations per second"));
  const foot = Math.max(10 ** left, 10 ** low / slope), top = Math.max(...ridges);
  out.append(svg("line", { x1: px(foot), y1: py(foot * slope), x2: px(top), y2: py(top * slope), class: "roof" }));
  for (const [name, most] of roofs) {
    out.append(svg("line", { x1: px(most / slope), y1: py(most), x2: x0 + w, y2: py(most), class: "roof" }));
    out.append(svg("text", { x: x0 + w - 4, y: py(most) - 4, "text-anchor": "end" }, name));
  }
  for (const p of shown) {
    const whole = p.name === "the program";
    const dot = svg("circle", { cx: px(p.x), cy: py(p.y), r: whole ? 6 : 4, class: whole ? "whole" : "part" });
    const roof = Math.min(p.x * slope, roofs[0][1]);
    dot.append(svg("title", {}, `${p.name}: ${p.x.toPrecision(3)} operations per byte, ${(p.y / 1e9).toPrecision(3)} G operations per second, ${(100 * p.y / roof).toFixed(0)} % of the roof above it`));
    out.append(dot);
    if (whole) out.append(svg("text", { x: px(p.x) + 10, y: py(p.y) + 4, class: "name" }, p.name));
  }
  return out;
}
