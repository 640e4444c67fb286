/** Formats numbers for display. */

/** Formats a duration, as Python's `duration` does: "0.2 s", "1 min 5 s", "2 h 1 min". */
export function durationText(value: number): string {
  if (value < 59.95) {
    return `${withDecimals(Math.max(value, 0), 1)} s`;
  }
  const whole = roundHalfEven(value);
  const [minutes, rest] = [Math.floor(whole / 60), whole % 60];
  if (minutes < 60) {
    return rest > 0 ? `${minutes} min ${rest} s` : `${minutes} min`;
  }
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Formats a running duration in whole seconds: "4 s", "1 min 5 s". */
export function wholeDurationText(value: number): string {
  return value < 60
    ? `${Math.floor(value)} s`
    : durationText(Math.floor(value));
}

/** Made once: making one takes longer than formatting hundreds of numbers. */
const WHOLE = new Intl.NumberFormat('en-US');

/** Rounds to a whole number; a half goes to the even one, as Python rounds it. */
export function roundHalfEven(value: number): number {
  const nearest = Math.round(value);
  return Math.abs(value % 1) === 0.5 && nearest % 2 !== 0
    ? nearest - 1
    : nearest;
}

/** The decimals of a number of doubles that are exact. */
const EXACT_DIGITS = 60;

/** Formats with so many decimals; a half goes to the even digit, as Python rounds it. */
export function withDecimals(value: number, digits: number): string {
  const up = value.toFixed(digits);
  const exact = Math.abs(value).toFixed(EXACT_DIGITS);
  const at = exact.indexOf('.') + 1 + digits;
  const isHalf = /^50*$/.test(exact.slice(at));
  // Of two that are as near, `toFixed` takes the one that is farther from 0.
  const isEven = /[02468]$/.test(up);
  return isHalf && !isEven
    ? `${value < 0 ? '-' : ''}${exact.slice(0, digits === 0 ? at - 1 : at)}`
    : up;
}

/** Formats a token count with thousands separators: "12,480". */
export function count(value: number): string {
  return WHOLE.format(roundHalfEven(value));
}

/** Formats the size of a context window: "200k", "1M". */
export function shortCount(value: number): string {
  if (value < 1000) {
    return String(Math.round(value));
  }
  const [unit, of] = value < 1_000_000 ? ['k', 1000] : ['M', 1_000_000];
  return `${Number((value / of).toPrecision(3))}${unit}`;
}

/** Formats US dollars, with enough digits for a small price. */
export function dollarsText(value: number): string {
  if (value === 0) {
    return '$0';
  }
  return value < 0.01 ? `$${value.toPrecision(2)}` : `$${value.toFixed(3)}`;
}

/** Formats a file size: "640 bytes", "12.3 kB", "4.0 MB". */
export function fileSizeText(bytes: number): string {
  if (bytes < 1000) {
    return `${bytes} bytes`;
  }
  const [unit, of] = bytes < 999_950 ? ['kB', 1000] : ['MB', 1_000_000];
  return `${(bytes / of).toFixed(1)} ${unit}`;
}
