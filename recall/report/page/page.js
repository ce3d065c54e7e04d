"use strict";

// Tables: a heading sorts by its column, best first; once more turns it, once more undoes it.
for (const table of document.querySelectorAll("table.sorts")) {
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const heads = [...table.tHead.rows[0].cells];
  const valueOf = (row, column) => {
    const value = row.cells[column].dataset.value;
    return value === undefined ? NaN : Number(value);
  };
  const textOf = (row, column) => row.cells[column].textContent.trim();
  const isText = (column) => rows.every((row) => Number.isNaN(valueOf(row, column)));
  const compare = (column, sign) => (one, two) => {
    const pinned = one.classList.contains("pinned") - two.classList.contains("pinned");
    if (pinned) return pinned;
    if (isText(column)) {
      return sign * textOf(one, column).localeCompare(textOf(two, column), "en", { numeric: true });
    }
    const [a, b] = [valueOf(one, column), valueOf(two, column)];
    if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b);
    return sign * (a - b);
  };
  heads.forEach((head, column) => {
    head.querySelector("button").addEventListener("click", () => {
      const order = isText(column) || "lower" in head.dataset
        ? ["none", "ascending", "descending"]
        : ["none", "descending", "ascending"];
      const next = order[(order.indexOf(head.getAttribute("aria-sort")) + 1) % 3];
      for (const other of heads) other.setAttribute("aria-sort", "none");
      head.setAttribute("aria-sort", next);
      const sign = next === "ascending" ? 1 : -1;
      body.append(...(next === "none" ? rows : [...rows].sort(compare(column, sign))));
    });
  });
}

// Figures: values under the pointer, or with the arrow keys; buttons and + and - zoom.
const stored = document.getElementById("values");
const figures = stored ? JSON.parse(stored.textContent) : [];
const tip = document.getElementById("tip");
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 2 });
const short = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const MOST_LINES = 14;

function heightOf(panel, value) {
  const [low, high] = panel.y;
  if (panel.scale === "linear") return (value - low) / (high - low);
  if (panel.scale === "log" && value > 0) return Math.log(value / low) / Math.log(high / low);
  return NaN;
}

function place(frame, clientX, clientY) {
  const area = frame.querySelector(".inner").getBoundingClientRect();
  return [(clientX - area.left) / area.width, (clientY - area.top) / area.height];
}

function panelAt(figure, x, y) {
  return figure.panels.find(
    ({ box }) => x >= box[0] && x <= box[2] && y >= box[1] && y <= box[3]);
}

// The point of each series that is nearest to x; of equals the one nearest to the height h.
function nearest(panel, x, h) {
  const span = Math.abs(panel.x[1] - panel.x[0]) || 1;
  const found = [];
  for (const series of panel.series) {
    let best = null;
    series.x.forEach((at, index) => {
      if (at === null || series.y[index] === null || series.y[index] === undefined) return;
      const away = Math.abs(at - x) / span;
      const up = h === null ? 0 : Math.abs(heightOf(panel, series.y[index]) - h) || 0;
      const closer = !best || away < best.away - 1e-4 || (away < best.away + 1e-4 && up < best.up);
      if (closer) best = { series, index, away, up, x: at, y: series.y[index] };
    });
    if (best) found.push(best);
  }
  const least = Math.min(...found.map((each) => each.away));
  return found.filter((each) => each.away <= least + 0.02).sort((a, b) => b.y - a.y);
}

function element(tag, content, className) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...[content].flat());
  return made;
}

function line({ label, colour, dark }, value, interval) {
  const dot = element("span", "", "dot");
  dot.style.setProperty("--light", colour);
  dot.style.setProperty("--dark", dark);
  const name = element("span", [dot, label]);
  return element("div", [name, element("span", [value, element("small", interval)])]);
}

function mark(frame, panel, marks) {
  const cursor = frame.querySelector(".cursor");
  const [left, top, right, bottom] = panel.box;
  cursor.replaceChildren(...marks.map(({ tag, x, y, series, width, height }) => {
    const made = document.createElement(tag);
    made.style.left = `${100 * (left + x * (right - left))}%`;
    made.style.top = `${100 * (bottom - y * (bottom - top))}%`;
    if (width) made.style.width = `${100 * width * (right - left)}%`;
    if (height) made.style.height = `${100 * height * (bottom - top)}%`;
    if (series) {
      made.style.setProperty("--light", series.colour);
      made.style.setProperty("--dark", series.dark);
    }
    return made;
  }));
  cursor.hidden = false;
}

function showTip(lines, clientX, clientY) {
  tip.replaceChildren(...lines);
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const right = clientX + 16 + width < innerWidth;
  tip.style.left = `${Math.max(6, right ? clientX + 16 : clientX - 16 - width)}px`;
  tip.style.top = `${Math.max(6, Math.min(clientY + 16, innerHeight - height - 6))}px`;
}

function hide(frame) {
  tip.hidden = true;
  frame.querySelector(".cursor").hidden = true;
}

function showCurves(frame, panel, x, h, at) {
  const found = nearest(panel, x, h);
  if (!found.length) return hide(frame);
  const share = (value) => (value - panel.x[0]) / (panel.x[1] - panel.x[0]);
  const marks = [{ tag: "i", x: share(found[0].x), y: 1, height: 1 }];
  for (const each of found) {
    const y = heightOf(panel, each.y);
    if (y >= -0.05 && y <= 1.05) {
      marks.push({ tag: "b", x: share(each.x), y, series: each.series });
    }
  }
  mark(frame, panel, marks);
  const head = `${panel.title}${panel.title ? ", " : ""}${panel.names[0]} ${compact.format(found[0].x)}`;
  const lines = found.slice(0, MOST_LINES).map(({ series, index, y }) => {
    const bounds = [series.low && series.low[index], series.high && series.high[index]];
    const known = bounds.every((bound) => bound !== null && bound !== undefined);
    const interval = known ? ` [${bounds.map((bound) => short.format(bound)).join(", ")}]` : "";
    return line(series, short.format(y), interval);
  });
  if (found.length > MOST_LINES) lines.push(element("div", `and ${found.length - MOST_LINES} more`));
  showTip([element("h4", head), ...lines], ...at);
}

function showCell(frame, panel, column, row, at) {
  const series = panel.series[row];
  if (!series || series.y[column] === undefined) return hide(frame);
  const [wide, high] = [1 / panel.columns.length, 1 / panel.series.length];
  mark(frame, panel, [{ tag: "u", x: column * wide, y: 1 - row * high, width: wide, height: high }]);
  const value = series.y[column] === null ? "\u2013" : short.format(series.y[column]);
  const place = `${panel.names[1]} ${series.label}, ${panel.names[0]} ${panel.columns[column]}`;
  showTip([element("h4", panel.title), element("div", `${place}: ${value}`)], ...at);
}

// Rows of dots, one for each label: the row nearest to the pointer tells its mean and its runs.
function showRow(frame, panel, row, at) {
  const series = panel.series.find((each) => Math.round(each.y[0]) === row);
  if (!series) return hide(frame);
  const across = (value) => (value - panel.x[0]) / (panel.x[1] - panel.x[0]);
  mark(frame, panel, [{ tag: "b", x: across(series.x[0]), y: heightOf(panel, row), series }]);
  const bounds = [series.low[0], series.high[0]];
  const interval = bounds[0] === bounds[1] ? "" : ` [${bounds.map((each) => short.format(each)).join(", ")}]`;
  const runs = (series.points || []).filter((each) => each !== null).map((each) => short.format(each));
  const lines = [line(series, short.format(series.x[0]), interval)];
  if (runs.length > 1) lines.push(element("div", element("small", `runs: ${runs.slice(0, 20).join(", ")}`)));
  showTip([element("h4", panel.title), ...lines], ...at);
}

function showAt(frame, clientX, clientY) {
  const figure = figures[frame.dataset.figure];
  const [x, y] = place(frame, clientX, clientY);
  const panel = panelAt(figure, x, y);
  if (!panel || !panel.series.length) return hide(frame);
  const across = (x - panel.box[0]) / (panel.box[2] - panel.box[0]);
  const up = (panel.box[3] - y) / (panel.box[3] - panel.box[1]);
  if (figure.cells) {
    const column = Math.floor(across * panel.columns.length);
    showCell(frame, panel, column, Math.floor((1 - up) * panel.series.length), [clientX, clientY]);
  } else if (panel.rows) {
    const row = Math.round(panel.y[0] + up * (panel.y[1] - panel.y[0]));
    showRow(frame, panel, row, [clientX, clientY]);
  } else {
    const wanted = panel.x[0] + across * (panel.x[1] - panel.x[0]);
    showCurves(frame, panel, wanted, up, [clientX, clientY]);
  }
}

// With keys: left and right go from point to point (or cell to cell), up and down between panels.
function step(frame, key) {
  const figure = figures[frame.dataset.figure];
  const panels = figure.panels.filter((panel) => panel.series.length);
  if (!panels.length) return;
  const state = (frame.at ??= { panel: 0, point: -1 });
  if (key === "ArrowUp" || key === "ArrowDown") {
    state.panel = (state.panel + (key === "ArrowUp" ? -1 : 1) + panels.length) % panels.length;
  }
  const panel = panels[state.panel];
  const columns = panel.columns.length;
  const xs = [...new Set(panel.series.flatMap((series) => series.x))]
    .filter((x) => x !== null).sort((a, b) => a - b);
  const rows = panel.series.length;
  const count = figure.cells ? rows * columns : panel.rows ? rows : xs.length;
  const move = { ArrowLeft: -1, ArrowRight: 1 }[key] ?? 0;
  state.point = (Math.max(state.point, move > 0 ? -1 : 0) + move + count) % count;
  const area = frame.querySelector(".inner").getBoundingClientRect();
  const share = figure.cells
    ? ((state.point % columns) + 0.5) / columns
    : panel.rows ? 0.5 : (xs[state.point] - panel.x[0]) / (panel.x[1] - panel.x[0]);
  const at = [
    area.left + area.width * (panel.box[0] + share * (panel.box[2] - panel.box[0])),
    area.top + area.height * panel.box[3],
  ];
  if (figure.cells) showCell(frame, panel, state.point % columns, Math.floor(state.point / columns), at);
  else if (panel.rows) showRow(frame, panel, Math.round(panel.series[state.point].y[0]), at);
  else showCurves(frame, panel, xs[state.point], null, at);
}

function zoom(frame, direction) {
  const before = frame.zoomed ?? 1;
  frame.zoomed = Math.min(6, Math.max(1, before * (direction > 0 ? 1.5 : 1 / 1.5)));
  const [x, y] = [frame.scrollLeft + frame.clientWidth / 2, frame.scrollTop + frame.clientHeight / 2];
  frame.querySelector(".inner").style.setProperty("--zoom", frame.zoomed);
  const factor = frame.zoomed / before;
  frame.scrollTo(x * factor - frame.clientWidth / 2, y * factor - frame.clientHeight / 2);
}

for (const frame of document.querySelectorAll(".frame")) {
  frame.addEventListener("pointermove", (event) => showAt(frame, event.clientX, event.clientY));
  frame.addEventListener("pointerdown", (event) => showAt(frame, event.clientX, event.clientY));
  frame.addEventListener("pointerleave", () => hide(frame));
  frame.addEventListener("scroll", () => hide(frame));
  frame.addEventListener("blur", () => hide(frame));
  frame.addEventListener("keydown", (event) => {
    if (event.key.startsWith("Arrow")) step(frame, event.key);
    else if (event.key === "+" || event.key === "-") zoom(frame, event.key === "+" ? 1 : -1);
    else if (event.key === "Escape") hide(frame);
    else return;
    event.preventDefault();
  });
  for (const button of frame.parentElement.querySelectorAll("[data-zoom]")) {
    button.addEventListener("click", () => zoom(frame, Number(button.dataset.zoom)));
  }
}

// Tables that are wider than the screen say that they scroll.
function markScrolling() {
  for (const wide of document.querySelectorAll(".wide")) {
    wide.classList.toggle("scrolls", wide.scrollWidth > wide.clientWidth + 1);
  }
}
addEventListener("resize", markScrolling);
document.addEventListener("toggle", markScrolling, true);
markScrolling();

// Commands can be copied.
for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", async () => {
    const code = button.previousElementSibling;
    getSelection().selectAllChildren(code);
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "copied";
    } catch {
      button.textContent = "selected"; // where a page may not write to the clipboard
    }
  });
}
