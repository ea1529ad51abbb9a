// The timeline: lanes of bars, the critical path, memory and links in use, arrows to what a bar waited for.
const data = JSON.parse(document.getElementById("data").textContent);
const canvas = document.getElementById("chart"), tip = document.getElementById("tip"), g = canvas.getContext("2d");
const LABELS = 150, ROW = 24, AXIS = 26, PAD = 12, CURVE = 44;
const total = Math.max(data.total, 1);
const PALETTE = ["#3b82c4", "#d97b29", "#4a9e5c", "#b5535a", "#8367b0", "#8a6d4b", "#c968a6", "#5b8f94", "#a39a2b", "#6b7fd1", "#c2603c", "#3f9c85"];
const curves = data.memory.concat(data.links); // below the lanes
const colorOf = new Map();
for (const l of data.labels) if (!colorOf.has(l[0])) colorOf.set(l[0], PALETTE[colorOf.size % PALETTE.length]);
for (const lane of data.lanes) {             // starts are differences, in tenths of a nanosecond
  const n = lane.starts.length, start = new Float64Array(n), end = new Float64Array(n);
  let t = 0;
  for (let i = 0; i < n; ++i) { t += lane.starts[i]; start[i] = t / 10; end[i] = (t + lane.lengths[i]) / 10; }
  lane.start = start; lane.end = end;
  lane.onPath = new Uint8Array(n);
  for (const i of lane.critical) lane.onPath[i] = 1;
}
for (const [name, color] of colorOf) {
  const entry = document.createElement("span"), box = document.createElement("i");
  box.style.background = color;
  entry.append(box, name);
  document.getElementById("legend").append(entry);
}
let from = 0, to = total, bars = 0, pending = false;
let shown = null;                            // by label: 1 if its bars are looked for; null: all are
let chosen = null, stretch = null;           // { row, bar }; [from, to]
let showPath = true;

function time(ns) {
  const a = Math.abs(ns);
  return a < 1e3 ? ns.toFixed(a < 10 ? 1 : 0) + " ns" : a < 1e6 ? (ns / 1e3).toFixed(2) + " us" : (ns / 1e6).toFixed(3) + " ms";
}
function bytes(n) { return n < 1e3 ? n + " B" : n < 1e6 ? (n / 1e3).toFixed(1) + " kB" : n < 1e9 ? (n / 1e6).toFixed(2) + " MB" : (n / 1e9).toFixed(3) + " GB"; }
function tick(t, step) {                     // as many digits as the step needs, in the unit of the far end
  const unit = to < 1e3 ? [1, " ns"] : to < 1e6 ? [1e3, " us"] : [1e6, " ms"];
  return (t / unit[0]).toFixed(Math.max(0, Math.ceil(-Math.log10(step / unit[0]) - 1e-9))) + unit[1];
}
function css(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }
function plotWidth() { return Math.max(canvas.clientWidth - LABELS - PAD, 50); }
function xOf(t) { return LABELS + (t - from) / (to - from) * plotWidth(); }
function tOf(x) { return from + (x - LABELS) / plotWidth() * (to - from); }
function yOf(row) { return AXIS + row * ROW; }
function firstEndingAfter(lane, t) {         // bars of a lane do not overlap
  let lo = 0, hi = lane.end.length;
  while (lo < hi) { const m = (lo + hi) >> 1; if (lane.end[m] > t) hi = m; else lo = m + 1; }
  return lo;
}
function drawLane(lane, row, w, path) {
  const y = yOf(row) + 3;
  g.save(); g.beginPath(); g.rect(LABELS, y, w - LABELS - PAD, ROW - 3); g.clip();
  let drawnTo = -1, pathTo = -1;             // bars narrower than a pixel that fall on one already drawn are left out
  for (let i = firstEndingAfter(lane, from); i < lane.start.length && lane.start[i] < to; ++i) {
    const x0 = xOf(lane.start[i]), x1 = xOf(lane.end[i]), width = Math.max(x1 - x0, 1);
    if (showPath && lane.onPath[i] && x0 + width > pathTo) {
      g.fillStyle = path;
      g.fillRect(x0, y + ROW - 6, Math.max(width, 1.5), 2.5);
      pathTo = x0 + width;
    }
    if (x1 < drawnTo) continue;
    const label = data.labels[lane.labels[i]], narrow = width <= 3, found = !shown || shown[lane.labels[i]];
    const left = narrow ? Math.max(Math.floor(x0), drawnTo) : x0;    // whole pixels: no shimmer where bars are dense
    g.globalAlpha = found ? 1 : 0.13;
    g.fillStyle = colorOf.get(label[0]);
    g.fillRect(left, y, narrow ? Math.max(Math.ceil(x1) - left, 1) : width - 0.75, ROW - 6);
    g.globalAlpha = 1;
    ++bars;
    drawnTo = narrow ? left + 1 : x1 - 0.5;
    if (width > 46 && found) {
      g.fillStyle = "#fff";
      g.save(); g.beginPath(); g.rect(x0, y, width - 4, ROW - 6); g.clip();
      g.fillText(label[0], Math.max(x0, LABELS) + 4, y + (ROW - 6) / 2 + 0.5); g.restore();
    }
  }
  g.restore();
}
function laneName(text, y) {
  g.save(); g.beginPath(); g.rect(0, y - 3, LABELS - 6, ROW); g.clip();
  g.fillText(text, 12, y + (ROW - 6) / 2); g.restore();
}
function drawCurve(m, y, w, soft) {
  g.save(); g.beginPath(); g.rect(LABELS, y, w - LABELS - PAD, CURVE); g.clip();
  const yAt = (b) => y + CURVE - 2 - b / Math.max(m.capacity, m.peak, 1) * (CURVE - 8);
  g.beginPath(); g.moveTo(xOf(0), yAt(0));
  let now = 0;
  for (const [t, b] of m.points) { g.lineTo(xOf(t / 10), yAt(now)); g.lineTo(xOf(t / 10), yAt(b)); now = b; }
  g.lineTo(xOf(total), yAt(0)); g.closePath();
  g.fillStyle = "#8367b055"; g.fill(); g.strokeStyle = "#8367b0"; g.stroke();
  g.setLineDash([3, 3]); g.strokeStyle = soft; g.beginPath(); g.moveTo(LABELS, yAt(m.capacity)); g.lineTo(w, yAt(m.capacity)); g.stroke();
  g.restore();
}
function arrow(a, b, color) {                // from the end of one bar to the start of another
  const la = data.lanes[a.row], lb = data.lanes[b.row];
  const x0 = xOf(Math.min(la.end[a.bar], lb.start[b.bar])), x1 = xOf(lb.start[b.bar]), y0 = yOf(a.row) + ROW / 2, y1 = yOf(b.row) + ROW / 2;
  g.strokeStyle = g.fillStyle = color; g.lineWidth = 1.5;
  g.beginPath(); g.moveTo(x0, y0); g.bezierCurveTo(x0 + 24, y0, x1 - 24, y1, x1, y1); g.stroke();
  g.beginPath(); g.moveTo(x1, y1); g.lineTo(x1 - 7, y1 - 4); g.lineTo(x1 - 7, y1 + 4); g.fill();
  g.lineWidth = 1;
}
function before(at) {
  const lane = data.lanes[at.row];
  return lane.afterRow.length && lane.afterRow[at.bar] >= 0 ? { row: lane.afterRow[at.bar], bar: lane.afterBar[at.bar] } : null;
}
function behind(at) {                        // what started because this one was over
  const out = [];
  data.lanes.forEach((lane, row) => {
    for (let i = firstEndingAfter(lane, data.lanes[at.row].start[at.bar]); i < lane.afterRow.length && out.length < 200; ++i)
      if (lane.afterRow[i] === at.row && lane.afterBar[i] === at.bar && !(row === at.row && i === at.bar)) out.push({ row, bar: i });
  });
  return out;
}
function drawChosen(fg) {
  g.save(); g.beginPath(); g.rect(LABELS, AXIS, plotWidth(), data.lanes.length * ROW); g.clip();
  const lane = data.lanes[chosen.row], x0 = xOf(lane.start[chosen.bar]), x1 = xOf(lane.end[chosen.bar]);
  g.strokeStyle = fg; g.lineWidth = 2; g.strokeRect(x0, yOf(chosen.row) + 3, Math.max(x1 - x0, 2), ROW - 6); g.lineWidth = 1;
  for (const next of chosen.behind) arrow(chosen, next, "#4a9e5c");
  for (let at = chosen, i = 0; i < 12; ++i) { const b = before(at); if (!b) break; arrow(b, at, i ? "#d97b2999" : "#d97b29"); at = b; }
  g.restore();
}
function draw() {
  pending = false;
  const w = canvas.clientWidth, rows = yOf(data.lanes.length), h = rows + curves.length * CURVE, ratio = window.devicePixelRatio || 1;
  canvas.style.height = h + "px";
  canvas.width = Math.round(w * ratio); canvas.height = Math.round(h * ratio);
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  const bg = css("--bg"), fg = css("--fg"), soft = css("--soft"), line = css("--line"), lanebg = css("--lane"), path = css("--path");
  g.fillStyle = bg; g.fillRect(0, 0, w, h);
  g.font = "12px system-ui, sans-serif"; g.textBaseline = "middle";
  const raw = (to - from) / Math.max(plotWidth() / 110, 1), power = Math.pow(10, Math.floor(Math.log10(raw)));
  const step = [1, 2, 5, 10].map((k) => k * power).find((s) => s >= raw) || raw;
  bars = 0;
  data.lanes.forEach((lane, row) => { g.fillStyle = row % 2 ? bg : lanebg; g.fillRect(LABELS, yOf(row), w - LABELS, ROW); });
  g.strokeStyle = line; g.fillStyle = soft;
  for (let t = Math.ceil(from / step) * step; t <= to; t += step) {
    const x = Math.round(xOf(t)) + 0.5;
    g.beginPath(); g.moveTo(x, AXIS - 6); g.lineTo(x, h); g.stroke();
    g.fillText(tick(t, step), x + 3, AXIS / 2 - 1);
  }
  data.lanes.forEach((lane, row) => { drawLane(lane, row, w, path); g.fillStyle = fg; laneName(lane.name, yOf(row) + 3); });
  curves.forEach((m, i) => { drawCurve(m, rows + i * CURVE, w, soft); g.fillStyle = fg; laneName(m.name, rows + i * CURVE + 12); });
  if (stretch) {
    g.fillStyle = "#3b82c422";
    g.fillRect(xOf(Math.min(...stretch)), AXIS, Math.abs(xOf(stretch[1]) - xOf(stretch[0])), h - AXIS);
  }
  if (chosen) drawChosen(fg);
  document.getElementById("range").textContent = time(from) + " to " + time(to) + " of " + time(total) +
    (data.group > 1 ? "; each bar stands for " + data.group + " instructions" : "");
  document.body.dataset.bars = bars;
}
function redraw() { if (!pending) { pending = true; requestAnimationFrame(draw); } }
function show(a, b) {
  const width = Math.min(Math.max(b - a, 1), total * 1.02);
  a = Math.min(Math.max(a, -total * 0.01), total * 1.01 - width);
  from = a; to = a + width; redraw();
}
function zoom(factor, at) { show(at - (at - from) * factor, at + (to - at) * factor); }
function barAt(e) {
  const row = Math.floor((e.offsetY - AXIS) / ROW), lane = data.lanes[row], t = tOf(e.offsetX), slack = (to - from) / plotWidth();
  const bar = lane && e.offsetX >= LABELS ? firstEndingAfter(lane, t - slack) : -1;
  return !lane || bar < 0 || bar >= lane.start.length || lane.start[bar] > t + slack ? null : { row, bar };
}
canvas.addEventListener("wheel", (e) => {
  e.preventDefault();
  if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) show(from + e.deltaX / plotWidth() * (to - from), to + e.deltaX / plotWidth() * (to - from));
  else zoom(Math.exp(Math.max(-60, Math.min(60, e.deltaY)) * 0.004), tOf(e.offsetX));
}, { passive: false });
let drag = null;
canvas.addEventListener("pointerdown", (e) => {
  drag = { x: e.clientX, from, to, sum: e.shiftKey };
  if (drag.sum) stretch = [tOf(e.offsetX), tOf(e.offsetX)];
  canvas.setPointerCapture(e.pointerId); canvas.focus();
});
canvas.addEventListener("pointerup", (e) => {
  if (drag && !drag.sum && Math.abs(drag.x - e.clientX) < 3) choose(barAt(e));
  drag = null;
});
canvas.addEventListener("pointermove", (e) => {
  if (drag && drag.sum) { stretch[1] = tOf(e.offsetX); sumUp(); return redraw(); }
  if (drag) {
    const d = (drag.x - e.clientX) / plotWidth() * (drag.to - drag.from);
    tip.style.display = "none";
    return show(drag.from + d, drag.to + d);
  }
  hover(e);
});
canvas.addEventListener("pointerleave", () => { tip.style.display = "none"; });
function hover(e) {
  const at = barAt(e);
  if (!at) { tip.style.display = "none"; return; }
  tip.textContent = "";
  for (const [i, text] of describe(at).entries()) { const row = document.createElement(i ? "div" : "b"); row.textContent = text; tip.append(row); }
  tip.style.display = "block";
  tip.style.left = Math.min(e.clientX + 14, window.innerWidth - tip.offsetWidth - 8) + "px";
  tip.style.top = Math.min(e.clientY + 14, window.innerHeight - tip.offsetHeight - 8) + "px";
}
canvas.addEventListener("keydown", (e) => {
  const middle = (from + to) / 2, step = (to - from) * 0.15;
  const keys = { "+": () => zoom(0.7, middle), "=": () => zoom(0.7, middle), "w": () => zoom(0.7, middle), "-": () => zoom(1 / 0.7, middle),
    "s": () => zoom(1 / 0.7, middle), "ArrowLeft": () => show(from - step, to - step), "a": () => show(from - step, to - step),
    "ArrowRight": () => show(from + step, to + step), "d": () => show(from + step, to + step), "0": () => show(0, total), "Home": () => show(0, total),
    "n": () => alongPath(1), "p": () => alongPath(-1), "Escape": () => { choose(null); stretch = null; redraw(); } };
  if (keys[e.key]) { e.preventDefault(); keys[e.key](); }
});
window.addEventListener("resize", redraw);
