/**
 * Numbers as a person reads them.
 */

/** Says how long something took: "0.2 s", "1 min 5 s". */
export function seconds(value: number): string {
  if (value < 60) {
    return `${value.toFixed(1)} s`;
  }
  const whole = Math.round(value);
  return `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

/** Says how long something takes while it goes on: "4 s", "1 min 5 s". */
export function wholeSeconds(value: number): string {
  return value < 60 ? `${Math.floor(value)} s` : seconds(Math.floor(value));
}

/** Writes a count of tokens with its thousands apart: "12,480". */
export function count(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

/** Writes a size of a window: "200k", "1M". */
export function short(value: number): string {
  if (value < 1000) {
    return String(value);
  }
  const [unit, of] = value < 1_000_000 ? ['k', 1000] : ['M', 1_000_000];
  return `${Number((value / of).toPrecision(3))}${unit}`;
}

/** Writes US dollars, with as many digits as a small price needs. */
export function dollars(value: number): string {
  if (value === 0) {
    return '$0';
  }
  return value < 0.01 ? `$${value.toPrecision(2)}` : `$${value.toFixed(3)}`;
}

/** Writes a size of a file: "640 bytes", "12.3 kB", "4.0 MB". */
export function size(bytes: number): string {
  if (bytes < 1000) {
    return `${bytes} bytes`;
  }
  const [unit, of] = bytes < 999_950 ? ['kB', 1000] : ['MB', 1_000_000];
  return `${(bytes / of).toFixed(1)} ${unit}`;
}
