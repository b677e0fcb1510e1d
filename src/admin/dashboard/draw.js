// Small drawings, as inline SVG.

const SVG = "http://www.w3.org/2000/svg";

function shape(name, attributes) {
  const element = document.createElementNS(SVG, name);
  for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, value);
  return element;
}

/** An empty drawing of this size, in pixels. */
export function drawing(width, height, kind) {
  return shape("svg", { width, height, viewBox: `0 0 ${width} ${height}`, class: kind, role: "img" });
}

function label(svg, text) {
  if (svg.getAttribute("aria-label") !== text) svg.setAttribute("aria-label", text);
}

const SPARK = { width: 120, height: 22 };

/** A line for rates. */
export function sparkline() {
  const svg = drawing(SPARK.width, SPARK.height, "spark");
  svg.append(shape("path", { class: "under" }), shape("path", { class: "line" }));
  return svg;
}

/** Draws rates, the latest at the right end: `places` of them fill the width. */
export function drawSparkline(svg, rates, places, text) {
  label(svg, text);
  const most = Math.max(...rates, 1e-9);
  const step = SPARK.width / (places - 1);
  const left = SPARK.width - (rates.length - 1) * step;
  const points = rates.map((rate, at) => {
    const x = left + at * step;
    const y = SPARK.height - 1 - (rate / most) * (SPARK.height - 3);
    return `${x.toFixed(1)} ${y.toFixed(1)}`;
  });
  const [under, line] = svg.children;
  const path = points.length > 1 ? `M${points.join("L")}` : "";
  line.setAttribute("d", path);
  under.setAttribute("d", path && `${path}V${SPARK.height}H${left.toFixed(1)}Z`);
}

const CELL = { width: 5, height: 14, gap: 1 };

/** So many cells stand in a line. */
const LINE = 32;

/** A cell for each slot. */
export function heatStrip(slots) {
  const lines = Math.ceil(slots / LINE);
  const height = lines === 1 ? CELL.height : 6;
  const step = CELL.width + CELL.gap;
  const svg = drawing(Math.min(slots, LINE) * step - CELL.gap, lines * (height + CELL.gap) - CELL.gap, "heat");
  for (let slot = 0; slot < slots; slot += 1) {
    const x = (slot % LINE) * step;
    const y = Math.floor(slot / LINE) * (height + CELL.gap);
    const cell = { x, y, width: CELL.width, height };
    const place = shape("g", {});
    place.append(shape("rect", { ...cell, class: "cell" }), shape("rect", { ...cell, class: "glow" }), shape("title", {}));
    svg.append(place);
  }
  return svg;
}

/** Draws for how much of the time each slot is held; `slots` are `{slot, part}`. */
export function drawHeat(svg, slots, text) {
  label(svg, text);
  for (const [at, { slot, part }] of slots.entries()) {
    const [, glow, title] = svg.children[at].children;
    // A slot that is held for a hundredth of the time is to be seen beside one that is never held.
    glow.setAttribute("opacity", part > 0 ? (0.15 + 0.85 * Math.sqrt(part)).toFixed(2) : 0);
    title.textContent = `slot ${slot}: held ${(100 * part).toFixed(part < 0.1 ? 1 : 0)} % of the time`;
  }
}

/** Times are drawn from the first to the last of these, in seconds, by their logarithms. */
const SCALE = { from: 1e-6, to: 10 };

function along(seconds) {
  const inside = Math.min(Math.max(seconds, SCALE.from), SCALE.to);
  return (100 * Math.log(inside / SCALE.from)) / Math.log(SCALE.to / SCALE.from);
}

/** Where the scale has its marks: text, and place in percent. */
export const MARKS = [
  ["10 µs", 1e-5],
  ["100 µs", 1e-4],
  ["1 ms", 1e-3],
  ["10 ms", 1e-2],
  ["100 ms", 1e-1],
  ["1 s", 1],
].map(([text, seconds]) => [text, along(seconds)]);

const LANE = { height: 5, gap: 2 };

/** A lane for each of these kinds of bar. */
export function ranges(kinds) {
  const height = kinds.length * (LANE.height + LANE.gap) + LANE.gap;
  const svg = shape("svg", { height, width: "100%", class: "ranges", role: "img" });
  for (const [, at] of MARKS) {
    svg.append(shape("line", { x1: `${at}%`, x2: `${at}%`, y1: 0, y2: height, class: "mark" }));
  }
  for (const [lane, kind] of kinds.entries()) {
    const y = LANE.gap + lane * (LANE.height + LANE.gap);
    svg.append(shape("rect", { y, height: LANE.height, rx: 1, class: `bar ${kind}` }));
  }
  return svg;
}

/** Draws bars `[from, to]` in seconds, or null for none, in the order of the kinds. */
export function drawRanges(svg, bars, text) {
  label(svg, text);
  for (const [lane, bar] of bars.entries()) {
    const rect = svg.children[MARKS.length + lane];
    const [from, to] = bar ? bar.map(along) : [0, 0];
    rect.setAttribute("x", `${from}%`);
    rect.setAttribute("width", bar ? `${Math.max(to - from, 0.6)}%` : 0);
  }
}

/**
 * Draws a band from a stack at the left to each row at the right. `rows` are `{part, plan, middle}`: the share of the
 * whole, and where the row's middle is, in pixels.
 */
export function drawRibbons(svg, rows, height) {
  const width = svg.clientWidth;
  const stack = 10;
  const tall = Math.min(height - 8, 240);
  svg.setAttribute("height", height);
  const shown = rows.filter(({ part }) => part > 0);
  const names = groups(shown).filter(({ part }) => part * tall >= 14);
  have(svg, "path", shown.length * 2);
  have(svg, "text", names.length);
  for (const [at, { plan, from, part }] of names.entries()) {
    const text = svg.children[shown.length * 2 + at];
    text.setAttribute("x", stack + 6);
    text.setAttribute("y", (4 + (from + part / 2) * tall + 4).toFixed(1));
    text.textContent = plan;
  }
  let top = 4;
  for (const [at, { part, plan, middle }] of shown.entries()) {
    const thick = part * tall;
    const right = Math.min(Math.max(thick, 1.5), 30) / 2;
    const bend = stack + (width - stack) / 2;
    const [block, band] = [svg.children[2 * at], svg.children[2 * at + 1]];
    block.setAttribute("class", `block ${plan}`);
    block.setAttribute("d", `M0 ${top}H${stack}V${top + Math.max(thick, 0.75)}H0Z`);
    band.setAttribute("class", `band ${plan}`);
    band.setAttribute(
      "d",
      `M${stack} ${top}C${bend} ${top} ${bend} ${middle - right} ${width} ${middle - right}V${middle + right}` +
        `C${bend} ${middle + right} ${bend} ${top + thick} ${stack} ${top + thick}Z`,
    );
    top += thick;
  }
}

/** The shares of each kind of plan, one below the other. */
function groups(rows) {
  const found = [];
  let from = 0;
  for (const { part, plan } of rows) {
    if (found.at(-1)?.plan === plan) found.at(-1).part += part;
    else found.push({ plan, from, part });
    from += part;
  }
  return found;
}

/** Makes the drawing have so many elements of this name: paths stand before texts. */
function have(svg, name, number) {
  const there = [...svg.children].filter((element) => element.localName === name);
  for (const element of there.slice(number)) element.remove();
  for (let at = there.length; at < number; at += 1) {
    const element = shape(name, {});
    if (name === "path") svg.prepend(element);
    else svg.append(element);
  }
}
