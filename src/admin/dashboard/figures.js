// Figures out of what the proxy counts, and how they are written. Nothing here touches the page.

const NONE = "–";

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const tenths = new Intl.NumberFormat("en-US", { minimumFractionDigits: 1, maximumFractionDigits: 1 });

/** A count, with its thousands set apart. */
export function count(number) {
  return whole.format(number);
}

/** A rate: small ones with a decimal, for a rate of 0.3 is not none. */
export function rate(perSecond) {
  if (perSecond === null || !(perSecond >= 0 && perSecond < Infinity)) return NONE;
  if (perSecond === 0) return "0";
  if (perSecond < 0.05) return "<0.1";
  return perSecond < 99.95 ? tenths.format(perSecond) : whole.format(perSecond);
}

/** A mean such as a batch's size. */
export function mean(sum, number) {
  return number > 0 ? tenths.format(sum / number) : NONE;
}

/** A share of one. */
export function share(part, all) {
  if (!(all > 0)) return NONE;
  const percent = (100 * part) / all;
  if (percent > 0 && percent < 0.1) return "<0.1 %";
  if (percent < 100 && percent > 99.9) return ">99.9 %";
  return percent >= 10 || percent === 0 ? `${whole.format(percent)} %` : `${tenths.format(percent)} %`;
}

/** A time in seconds, in the unit that fits it. */
export function time(seconds) {
  if (seconds === null) return NONE;
  if (seconds === Infinity) return ">5 s";
  if (seconds === 0) return "0";
  for (const [unit, size] of [["µs", 1e-6], ["ms", 1e-3], ["s", 1]]) {
    const number = seconds / size;
    if (number < 9.95) return `${tenths.format(number)} ${unit}`;
    if (number < 999.5) return `${whole.format(number)} ${unit}`;
  }
  return `${whole.format(seconds)} s`;
}

/** How long something has run. */
export function age(seconds) {
  const parts = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
  const first = parts.findIndex(([, size]) => seconds >= size);
  if (first < 0) return "0 s";
  const shown = parts.slice(first, first + 2).map(([unit, size], position) => {
    const number = position === 0 ? seconds / size : (seconds % parts[first][1]) / size;
    return `${Math.floor(number)} ${unit}`;
  });
  return shown.join(" ");
}

/** What a distribution has gained since an earlier one. */
export function gained(now, then) {
  return {
    bounds: now.bounds,
    counts: now.counts.map((number, bucket) => number - (then ? then.counts[bucket] : 0)),
    sum: now.sum - (then ? then.sum : 0),
  };
}

/** How many a distribution counts. */
export function total(distribution) {
  return distribution.counts.reduce((sum, number) => sum + number, 0);
}

/**
 * The size that a share of those observed does not exceed, by where it lies in its bucket; bounds grow by factors, so
 * it is placed by its logarithm. Null where nothing was observed, infinite beyond the last bound.
 */
export function quantile(distribution, part) {
  const all = total(distribution);
  if (all === 0) return null;
  let left = part * all;
  for (const [bucket, number] of distribution.counts.entries()) {
    if (number > 0 && left <= number) {
      const upper = distribution.bounds[bucket];
      if (upper === undefined) return Infinity;
      const lower = bucket > 0 ? distribution.bounds[bucket - 1] : upper / 4;
      return lower * (upper / lower) ** (left / number);
    }
    left -= number;
  }
  return Infinity;
}
