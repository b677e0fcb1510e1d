// Asks the proxy for its figures once a second and shows what they have become since.

import * as figures from "./figures.js";
import * as draw from "./draw.js";

const INTERVAL = 1000;
const PATIENCE = 3000;

/** Samples are kept for so long, in seconds: what the sparklines show, and more than the longest window but one. */
const KEPT = 120;

const find = (id) => document.getElementById(id);

/** What the proxy has said, the latest last. */
let samples = [];
let paused = false;
/** Since when it has not answered. */
let lostAt = null;
let timer = null;

async function poll() {
  clearTimeout(timer);
  if (paused || document.hidden) return;
  try {
    const answer = await fetch("status.json", { cache: "no-store", signal: AbortSignal.timeout(PATIENCE) });
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    take(await answer.json());
    lostAt = null;
  } catch {
    lostAt ??= new Date();
  }
  showState();
  timer = setTimeout(poll, INTERVAL);
}

function take(status) {
  const last = samples.at(-1);
  // Another process counts from nothing.
  if (last && status.started_at !== last.started_at) samples = [];
  samples.push(status);
  samples = samples.filter(({ seconds }) => seconds >= status.seconds - KEPT - 1);
  show();
}

/** The sample that the chosen window starts with; null for the start of the process. */
function start() {
  const over = document.querySelector("input[name=over]:checked").value;
  if (over === "start") return null;
  const from = samples.at(-1).seconds - Number(over) - 0.5;
  return samples.find(({ seconds }) => seconds >= from);
}

/** Now against the start of the window: `pick` takes a number out of a sample. */
function since(now, then) {
  const seconds = now.seconds - (then ? then.seconds : 0);
  const grown = (pick) => pick(now) - (then ? pick(then) ?? 0 : 0);
  return { seconds, grown, rate: (pick) => (seconds > 0 ? grown(pick) / seconds : null) };
}

function show() {
  const now = samples.at(-1);
  const then = start();
  const change = since(now, then);
  showGlance(now, then, change);
  showTables(now, then, change);
  showLatency(now, then, change);
  showFlow(now, then, change);
  showCounts(now, change);
}

const sum = (numbers) => numbers.reduce((all, number) => all + number, 0);
const statements = (sample) => sum(sample.statements.map(({ count }) => count));
const increments = (sample) => sum(sample.tables.map((table) => table.increments));

/** A distribution of all plans together. */
function ofAllPlans(now, then, kind) {
  const plans = now.latency.plans.map((plan, at) => figures.gained(plan[kind], then?.latency.plans[at][kind]));
  return { ...plans[0], counts: plans[0].counts.map((_, bucket) => sum(plans.map(({ counts }) => counts[bucket]))) };
}

function showGlance(now, then, change) {
  const added = ofAllPlans(now, then, "added");
  const upstream = ofAllPlans(now, then, "upstream");
  const batches = figures.gained(now.batches, then?.batches);
  const increased = change.grown(increments);
  // Those of a batch are one write.
  const writes = increased - batches.sum + figures.total(batches);
  fill(find("glance"), [
    ["Statements/s", figures.rate(change.rate(statements))],
    ["Increments/s", figures.rate(change.rate(increments))],
    ["Increments/write", figures.mean(increased, writes), "increments that one write has on average, over all hot tables"],
    ["Server p50", figures.time(figures.quantile(upstream, 0.5)), "what the server behind takes, median"],
    ["Server p99", figures.time(figures.quantile(upstream, 0.99)), "what the server behind takes, 99th percentile"],
    ["Proxy adds p50", figures.time(figures.quantile(added, 0.5)), "what the proxy adds, median"],
    ["Proxy adds p99", figures.time(figures.quantile(added, 0.99)), "what the proxy adds, 99th percentile"],
    ["Sessions", figures.count(now.sessions.now)],
    ["Waiting", figures.count(now.waiting_increments), "increments that wait to be combined"],
    ["Drift", figures.count(now.rollup.drift), "roll-ups that would have changed a value: none, unless there is a bug", now.rollup.drift > 0],
  ]);
}

function showCounts(now, change) {
  const { sessions, rollup } = now;
  fill(find("counts"), [
    ["Connected", figures.count(sessions.now)],
    ["Have connected", figures.count(sessions.connections)],
    ["Refused", figures.count(sessions.refused), "did not come to be logged in"],
    ["Lost by client", figures.count(sessions.lost_by_client), "in the middle of a command"],
    ["Lost by server", figures.count(sessions.lost_by_upstream), "in the middle of a command", sessions.lost_by_upstream > 0],
    ["Roll-ups/s", figures.rate(change.rate((sample) => sample.rollup.transactions)), "transactions"],
    ["Slot rows moved/s", figures.rate(change.rate((sample) => sample.rollup.slot_rows))],
    ["Roll-ups failed", figures.count(rollup.failures), "and tried again", rollup.failures > 0],
    ["Orphans deleted", figures.count(rollup.orphans), "slot rows whose row was no more"],
  ]);
}

/** Fills a list of terms with `[term, figure, explanation, is bad]`. */
function fill(list, entries) {
  while (list.children.length < entries.length) {
    const pair = document.createElement("div");
    pair.append(document.createElement("dt"), document.createElement("dd"));
    list.append(pair);
  }
  for (const [at, [term, figure, explanation, isBad]] of entries.entries()) {
    const pair = list.children[at];
    write(pair.children[0], term);
    write(pair.children[1], figure);
    if (explanation) pair.title = explanation;
    pair.classList.toggle("bad", Boolean(isBad));
  }
}

/** Changes a text only where it has changed: what is selected stays so. */
function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** The row of this name, made at its first time by `make`; rows that are no more go. */
function rows(body, names, make) {
  const known = new Map([...body.children].map((row) => [row.dataset.name, row]));
  const wanted = names.map((name) => known.get(name) ?? make(name));
  for (const [at, row] of wanted.entries()) {
    row.dataset.name = names[at];
    if (body.children[at] !== row) body.insertBefore(row, body.children[at] ?? null);
  }
  while (body.children.length > wanted.length) body.lastElementChild.remove();
  return wanted;
}

/** A row of a table: a heading and cells, of these classes, each told by its column on narrow pages. */
function tableRow(name, cells) {
  const row = document.createElement("tr");
  row.setAttribute("role", "row");
  const heading = document.createElement("th");
  heading.scope = "row";
  heading.setAttribute("role", "rowheader");
  heading.textContent = name;
  row.append(heading);
  for (const [column, kind] of cells) {
    const cell = document.createElement("td");
    cell.setAttribute("role", "cell");
    cell.dataset.column = column;
    cell.className = kind;
    row.append(cell);
  }
  return row;
}

const TABLE_CELLS = [
  ["Increments", "number"],
  ["Per second", "number strong"],
  ["Last 2 minutes", "drawn"],
  ["Batch", "number"],
  ["Combined", "number"],
  ["Reads/s", "number"],
  ["Folds/s", "number"],
  ["Slots", "number"],
  ["In use", "drawn last"],
  ["Roll-up lag", "number"],
];

function showTables(now, then, change) {
  find("no-tables").hidden = now.tables.length > 0;
  find("tables").hidden = now.tables.length === 0;
  const names = now.tables.map(({ table }) => table);
  const made = rows(find("tables").tBodies[0], names, (name) => tableRow(name, TABLE_CELLS));
  for (const [at, table] of now.tables.entries()) {
    const row = made[at];
    const of = (sample) => sample.tables.find((other) => other.table === table.table);
    const grown = (key) => change.grown((sample) => of(sample)?.[key] ?? 0);
    const rate = (key) => figures.rate(change.seconds > 0 ? grown(key) / change.seconds : null);
    const cells = row.children;
    cells[0].title = `counters: ${table.columns.join(", ")}`;
    write(cells[1], figures.count(table.increments));
    write(cells[2], rate("increments"));
    showSparkline(cells[3], of);
    write(cells[4], figures.mean(grown("combined_increments"), grown("batches")));
    write(cells[5], figures.share(grown("combined_increments"), grown("increments")));
    write(cells[6], rate("reads"));
    write(cells[7], rate("folds"));
    showSlots(cells[8], cells[9], table, then && of(then), change.seconds);
    write(cells[10], table.slots_busy_seconds.length > 0 ? figures.time(table.rollup_lag_seconds) : "–");
    // It is tried again once a minute.
    row.classList.toggle("late", table.rollup_lag_seconds > Math.max(60, 2 * table.rollup_interval_seconds));
  }
}

function showSparkline(cell, of) {
  const rates = [];
  for (const [at, sample] of samples.entries()) {
    const before = samples[at - 1];
    if (!before || !of(before) || !of(sample)) continue;
    rates.push((of(sample).increments - of(before).increments) / (sample.seconds - before.seconds));
  }
  if (!cell.firstElementChild) cell.append(draw.sparkline());
  const text = rates.length > 0 ? `between ${figures.rate(Math.min(...rates))} and ${figures.rate(Math.max(...rates))} increments a second` : "";
  draw.drawSparkline(cell.firstElementChild, rates, KEPT, text);
}

function showSlots(number, strip, table, before, seconds) {
  const slots = table.slots_busy_seconds;
  strip.classList.toggle("absent", slots.length === 0);
  if (slots.length === 0) {
    write(number, table.is_at_rest ? "at rest" : "none");
    strip.replaceChildren();
    return;
  }
  if (strip.firstElementChild?.children.length !== slots.length) {
    strip.replaceChildren(draw.heatStrip(slots.length));
  }
  const used = slots.map((busy, at) => {
    const grown = busy - (before?.slots_busy_seconds[at] ?? 0);
    return { slot: table.first_slot + at, part: seconds > 0 ? Math.min(grown / seconds, 1) : 0 };
  });
  const held = sum(used.map(({ part }) => part));
  write(number, `${figures.rate(held)} of ${slots.length}`);
  draw.drawHeat(strip.firstElementChild, used, `${figures.rate(held)} of ${slots.length} slots held at a time`);
}

const LATENCY_CELLS = [
  ["Per second", "number first"],
  ["Server p50", "number"],
  ["Server p99", "number"],
  ["Proxy p50", "number"],
  ["Proxy p99", "number"],
  ["Whole p50", "number"],
  ["Whole p99", "number"],
  ["Median to p99", "drawn scale"],
];

const WAITING = "waiting to be combined";
const PLANNING = "making a plan";

function showLatency(now, then, change) {
  const names = [...now.latency.plans.map(({ plan }) => plan), WAITING, PLANNING];
  const made = rows(find("latency").tBodies[0], names, latencyRow);
  for (const [at, plan] of now.latency.plans.entries()) {
    const before = then?.latency.plans[at];
    const gained = (kind) => figures.gained(plan[kind], before?.[kind]);
    showTimes(made[at], change, {
      upstream: gained("upstream"),
      added: gained("added"),
      whole: gained("whole"),
    });
  }
  const stage = (key) => ({ whole: figures.gained(now.latency[key], then?.latency[key]) });
  showTimes(made.at(-2), change, stage("combining"));
  showTimes(made.at(-1), change, stage("planning"));
}

function latencyRow(name) {
  const row = tableRow(name, LATENCY_CELLS);
  row.classList.add("plan", name.replaceAll(" ", "-"));
  const kinds = { [WAITING]: ["combining"], [PLANNING]: ["added"] };
  row.lastElementChild.append(draw.ranges(kinds[name] ?? ["upstream", "added"]));
  // A stage has one time and no parts.
  if (kinds[name]) for (const at of [2, 3, 4, 5]) row.children[at].classList.add("absent");
  return row;
}

function showTimes(row, change, of) {
  const range = (distribution) => {
    const ends = [0.5, 0.99].map((part) => (distribution ? figures.quantile(distribution, part) : null));
    return ends[0] === null ? null : ends;
  };
  const [upstream, added, all] = [range(of.upstream), range(of.added), range(of.whole)];
  const seen = figures.total(of.whole);
  write(row.children[1], figures.rate(change.seconds > 0 ? seen / change.seconds : null));
  for (const [at, ends] of [upstream, added, all].entries()) {
    for (const end of [0, 1]) {
      const cell = row.children[2 + 2 * at + end];
      if (!cell.classList.contains("absent")) write(cell, figures.time(ends ? ends[end] : null));
    }
  }
  const bars = of.upstream ? [upstream, added] : [all];
  const told = all ? `${figures.time(all[0])} to ${figures.time(all[1])}` : "none";
  draw.drawRanges(row.lastElementChild.firstElementChild, bars, told);
  row.classList.toggle("idle", seen === 0);
}

const PLANS = ["forward", "increment", "read", "fold", null];

function showFlow(now, then, change) {
  const shown = showReasons(find("reasons"), now.statements, then?.statements, change.seconds);
  find("no-statements").hidden = shown.length > 0;
  find("flow").hidden = shown.length === 0;
  const top = find("flow").offsetTop;
  const bands = shown.map(({ row, plan, part }) => ({ plan, part, middle: row.offsetTop - top + row.offsetHeight / 2 }));
  draw.drawRibbons(find("ribbons"), bands, find("reasons").offsetHeight);
  const observed = showReasons(find("would"), now.observed, then?.observed, change.seconds);
  find("observed").hidden = observed.length === 0;
}

/** Fills a list with the reasons of statements that there were; gives the rows. */
function showReasons(list, now, then, seconds) {
  const before = new Map((then ?? []).map(({ reason, count }) => [reason, count]));
  const seen = now.filter(({ count }) => count > 0);
  // In one order for good, so that rows do not change places.
  seen.sort((left, right) => PLANS.indexOf(left.plan) - PLANS.indexOf(right.plan));
  const grown = seen.map(({ reason, count }) => count - (before.get(reason) ?? 0));
  const all = sum(grown);
  const made = rows(list, seen.map(({ reason }) => reason), reasonRow);
  return seen.map(({ reason, plan: planned, why, count }, at) => {
    const row = made[at];
    const plan = planned ?? "other";
    const [bar, code, rate, part, sentence] = row.children;
    row.className = grown[at] > 0 ? plan : `${plan} idle`;
    bar.firstElementChild.setAttribute("width", all > 0 ? `${(100 * grown[at]) / all}%` : 0);
    write(code, reason);
    write(rate, `${figures.rate(seconds > 0 ? grown[at] / seconds : null)}/s`);
    rate.title = `${figures.count(count)} since the start`;
    write(part, figures.share(grown[at], all));
    write(sentence, why);
    return { row, plan, part: all > 0 ? grown[at] / all : 0 };
  });
}

function reasonRow() {
  const row = document.createElement("li");
  const bar = draw.drawing(0, 3, "share");
  bar.removeAttribute("viewBox");
  bar.removeAttribute("role");
  bar.setAttribute("aria-hidden", "true");
  bar.setAttribute("width", "100%");
  bar.append(document.createElementNS("http://www.w3.org/2000/svg", "rect"));
  bar.firstElementChild.setAttribute("height", 3);
  const part = (kind) => Object.assign(document.createElement("span"), { className: kind });
  row.append(bar, part("code"), part("rate"), part("part"), part("why"));
  return row;
}

function showState() {
  const now = samples.at(-1);
  const state = lostAt ? "lost" : paused ? "paused" : now ? now.state : "connecting";
  document.body.dataset.state = state;
  const told = {
    lost: "not reached",
    paused: "paused",
    serving: "serving",
    stopping: "stopping: takes no new clients",
    connecting: "connecting",
  };
  write(find("told"), told[state]);
  document.title = state === "lost" ? "(not reached) Countersink" : "Countersink";
  if (now) write(find("uptime"), `${now.version} on ${location.host}, up ${figures.age(now.seconds)}`);
  const lost = find("lost");
  lost.hidden = !lostAt;
  if (lostAt) {
    const since = lostAt.toLocaleTimeString();
    const kept = now ? " What you see is from then." : "";
    write(lost, `The proxy has not answered since ${since}.${kept} It is asked again every second: is the process running, and does its HTTP port listen on ${location.host}?`);
  }
}

const THEMES = ["system", "light", "dark"];

function setTheme(theme) {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  write(find("theme"), `Theme: ${theme}`);
}

/** What the browser remembers, where it lets a page remember. */
function remembered() {
  try {
    return localStorage.getItem("countersink-theme");
  } catch {
    return null;
  }
}

let theme = THEMES.includes(remembered()) ? remembered() : "system";
setTheme(theme);
find("theme").addEventListener("click", () => {
  theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
  setTheme(theme);
  try {
    localStorage.setItem("countersink-theme", theme);
  } catch {
    // It is remembered by this page alone.
  }
});
find("pause").addEventListener("click", () => {
  paused = !paused;
  find("pause").setAttribute("aria-pressed", String(paused));
  showState();
  poll();
});
find("window").addEventListener("change", () => samples.length > 0 && show());
addEventListener("resize", () => samples.length > 0 && show());
document.addEventListener("visibilitychange", () => poll());

for (const [text, at] of draw.MARKS) {
  const mark = document.createElement("span");
  mark.textContent = text;
  mark.style.left = `${at}%`;
  find("scale").append(mark);
}
poll();
