// Below the timeline: lines, source, waits, memory, bounds and the summary; what is chosen, summed up and searched for.
const panel = document.getElementById("panel"), chosenBox = document.getElementById("chosen"), search = document.getElementById("search");

function element(tag, text, cls) {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  if (cls) e.className = cls;
  return e;
}
function describe(at) {
  const lane = data.lanes[at.row], l = data.labels[lane.labels[at.bar]];
  const source = l[3] && l[4] ? (data.sources[l[3]] || "").split("\n")[l[4] - 1] : "";
  return [l[0] + "  #" + lane.indices[at.bar], lane.name + ", " + time(lane.end[at.bar] - lane.start[at.bar]) + " from " + time(lane.start[at.bar]),
          l[1] && "kernel " + l[1], l[2], l[3] && l[3] + ":" + l[4], source && source.trim() !== l[2] && source.trim()].filter(Boolean);
}
function say(lines) {
  chosenBox.hidden = !lines.length;
  chosenBox.textContent = "";
  for (const text of lines) chosenBox.append(element("div", text));
}
function choose(at) {
  chosen = at && { ...at, behind: behind(at) };
  if (!at) say([]);
  else {
    const b = before(at), lines = [describe(at).join("  -  ")];
    if (b) lines.push("started behind  " + describe(b).join("  -  "));
    if (chosen.behind.length) lines.push(chosen.behind.length + " started behind it, first  " + describe(chosen.behind[0]).join("  -  "));
    if (data.group > 1) lines.push("A bar stands for " + data.group + " instructions here: what it waited for is not known.");
    say(lines);
    const l = data.labels[data.lanes[at.row].labels[at.bar]];
    if (current === "source") showSource(l[3], l[4]);
  }
  redraw();
}
const steps = [];                            // the critical path, in the order of time
data.lanes.forEach((lane, row) => { for (const bar of lane.critical) steps.push({ row, bar, start: lane.start[bar] }); });
steps.sort((a, b) => a.start - b.start);
function alongPath(way) {
  if (!steps.length) return;
  let i = chosen ? steps.findIndex((s) => s.row === chosen.row && s.bar === chosen.bar) : -1;
  if (i < 0) i = way > 0 ? steps.findIndex((s) => s.start >= from) - 1 : steps.length;
  const s = steps[Math.min(Math.max(i + way, 0), steps.length - 1)], width = to - from;
  if (s.start < from || s.start > to - width * 0.1) show(s.start - width * 0.3, s.start + width * 0.7);
  choose({ row: s.row, bar: s.bar });
}
function sumUp() {
  const [a, b] = [Math.min(...stretch), Math.max(...stretch)], parts = [];
  for (const lane of data.lanes) {
    let busy = 0;
    for (let i = firstEndingAfter(lane, a); i < lane.start.length && lane.start[i] < b; ++i) busy += Math.min(lane.end[i], b) - Math.max(lane.start[i], a);
    if (busy > 0) parts.push(lane.name + " " + time(busy) + " (" + (100 * busy / Math.max(b - a, 1e-9)).toFixed(0) + " %)");
  }
  say([time(b - a) + " from " + time(a) + " to " + time(b) + ": " + (parts.join(", ") || "nothing")]);
}
function find(test) {
  shown = test ? data.labels.map((l) => test(l) ? 1 : 0) : null;
  redraw();
}
search.addEventListener("input", () => {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  find(words.length ? (l) => { const text = (l[0] + " " + l[1] + " " + l[2] + " " + l[3] + ":" + l[4]).toLowerCase(); return words.every((word) => text.includes(word)); } : null);
});
document.addEventListener("keydown", (e) => { if (e.key === "/" && e.target !== search) { e.preventDefault(); search.focus(); } });
document.getElementById("path").addEventListener("change", (e) => { showPath = e.target.checked; redraw(); });
document.getElementById("theme").addEventListener("click", () => {
  const dark = getComputedStyle(document.documentElement).colorScheme === "dark";
  document.documentElement.className = dark ? "light" : "dark";
  redraw();
});

function table(heads, rows, pick) {
  const box = element("div", undefined, "scroll"), t = element("table"), head = element("tr");
  for (const h of heads) head.append(element("th", h));
  t.append(head);
  for (const row of rows) {
    const tr = element("tr", undefined, pick ? "pick" : "");
    for (const cell of row.cells) tr.append(cell instanceof Node ? cell : element("td", cell, typeof cell === "string" && /^[-\d.]+( |$)/.test(cell) ? "number" : ""));
    if (pick) tr.addEventListener("click", () => { for (const o of t.querySelectorAll(".on")) o.classList.remove("on"); tr.classList.add("on"); pick(row); });
    t.append(tr);
  }
  box.append(t);
  return box;
}
function meter(share) {
  const td = element("td"), bar = element("span", undefined, "meter");
  bar.style.width = Math.max(share * 120, share > 0 ? 1 : 0) + "px";
  td.append(bar);
  return td;
}
function cell(ns) { return ns > 0 ? time(ns) : ""; }
function placeTable(rows, byLine) {
  return table(["critical path", "", "", "tensor", "vector", "scalar", "gpsimd", "sync", "transfers", "bytes", byLine ? "line" : "operation", ""],
    rows.filter((r) => r[3] + r[4] + r[5] + r[6] + r[7] + r[9] > 0).map((r) => ({
      row: r, cells: [time(r[3]), (100 * r[3] / total).toFixed(1) + " %", meter(r[3] / total), ...r.slice(4, 10).map(cell), r[10] ? bytes(r[10]) : "",
                      element("td", r[0] || "(no source)"), element("td", byLine ? ((data.sources[r[1]] || "").split("\n")[r[2] - 1] || "").trim() : "", "code")] })),
    ({ row }) => find(byLine ? (l) => l[3] === row[1] && l[4] === row[2] : (l) => l[2] === row[0]));
}
function showSource(file, line) {
  panel.textContent = "";
  const files = Object.keys(data.sources);
  if (!files.length) { panel.append(element("p", "The source files were not there when this page was made.")); return; }
  file = data.sources[file] !== undefined ? file : files[0];
  const choice = element("select");
  for (const f of files) { const o = element("option", f); o.selected = f === file; choice.append(o); }
  choice.addEventListener("change", () => showSource(choice.value, 0));
  const use = new Map(data.lines.filter((r) => r[1] === file).map((r) => [r[2], r]));
  const box = element("div", undefined, "scroll source"), t = element("table");
  data.sources[file].split("\n").forEach((text, i) => {
    const r = use.get(i + 1), tr = element("tr", undefined, "pick" + (i + 1 === line ? " on" : ""));
    tr.append(element("td", r ? time(r[3]) : "", "number"), meter(r ? r[3] / total : 0), element("td", String(i + 1), "number"), element("td", text, "code"));
    tr.addEventListener("click", () => find(r ? (l) => l[3] === file && l[4] === i + 1 : null));
    t.append(tr);
  });
  box.append(t);
  panel.append(choice, box);
  const on = t.querySelector(".on");
  if (on) box.scrollTop = on.offsetTop - box.clientHeight / 2;
}
function showMemory() {
  panel.textContent = "";
  for (const m of data.memory) {
    panel.append(element("p", m.name + ": at most " + bytes(m.peak) + " of " + bytes(m.capacity) + " (" + (100 * m.peak / m.capacity).toFixed(0) + " %), at " + time(m.peakAt)));
    panel.append(table(["tile", "bytes", "", "first use", "last use"], m.inPeak.map((t) => ({
      cells: [element("td", t[0]), bytes(t[1]), meter(t[1] / Math.max(m.peak, 1)), time(t[2]), time(t[3])] }))));
  }
}
const views = {
  lines: () => panel.replaceChildren(placeTable(data.lines, true)),
  source: () => { const hot = data.lines.find((r) => r[2]) || []; showSource(hot[1], hot[2]); },
  operations: () => panel.replaceChildren(placeTable(data.operations, false)),
  waits: () => panel.replaceChildren(table(["gain without it", "", "", "waited", "times", ""],
    data.waits.map((w) => ({ row: w, cells: [cell(w[0]), w[0] > 0 ? (100 * w[0] / total).toFixed(1) + " %" : "", meter(w[0] / total), time(w[1]), String(w[2]), element("td", w[3])] })),
    ({ row }) => find((l) => l[3] === row[4] && l[4] === row[5]))),
  proposals: () => panel.replaceChildren(data.proposals.length ? table(["could be saved", "", "of", "line", ""],
    data.proposals.map((r) => ({ row: r, cells: [time(r[0]), meter(r[0] / total), element("td", r[1]), element("td", r[2]), element("td", r[3])] })),
    ({ row }) => find((l) => l[3] === row[4] && l[4] === row[5])) : element("p", "Nothing was found that would save 1 % or more.")),
  bounds: () => panel.replaceChildren(element("p", "Time that each part needs for what this program does, against the " + time(total) + " that it takes."),
    table(["part", "needs", "", ""], data.bounds.map(([name, ns]) => ({ cells: [element("td", name), time(ns), (100 * ns / total).toFixed(0) + " %", meter(ns / total)] }))),
    element("p", "An operation is one element that an instruction goes over; in a product a multiplication with its addition is two."), rooflinePicture(data.roofline)),
  memory: showMemory,
  summary: () => panel.replaceChildren(Object.assign(element("pre", data.summary), { id: "summary" })),
};
let current = "";
function open(name) {
  current = name;
  for (const b of document.getElementById("tabs").children) b.setAttribute("aria-selected", String(b.textContent === name));
  views[name]();
}
for (const name of Object.keys(views)) {
  const b = element("button", name);
  b.type = "button"; b.setAttribute("role", "tab");
  b.addEventListener("click", () => open(name));
  document.getElementById("tabs").append(b);
}
document.getElementById("title").textContent = data.summary.split("\n")[0];
const start = new URLSearchParams(location.hash.slice(1));   // #tab=waits&choose=path, to share a view
open(views[start.get("tab")] ? start.get("tab") : data.lines.some((r) => r[2]) ? "lines" : "summary");
if (start.get("search")) { search.value = start.get("search"); search.dispatchEvent(new Event("input")); }
if (start.get("choose") === "path" && steps.length) choose(steps[steps.length >> 1]);
draw();
document.body.dataset.lanes = data.lanes.length;
document.body.dataset.events = data.lanes.reduce((n, lane) => n + lane.start.length, 0);
document.body.dataset.ready = "1";
