/** Formats numbers for display. */

/** Formats a duration, as Python's `duration` does: "0.2 s", "1 min 5 s", "2 h 1 min". */
export function durationText(seconds: number): string {
  if (seconds < 59.95) {
    return `${withDecimals(Math.max(seconds, 0), 1)} s`;
  }
  const wholeSeconds = roundHalfEven(seconds);
  const [minutes, restSeconds] = [
    Math.floor(wholeSeconds / 60),
    wholeSeconds % 60
  ];
  if (minutes < 60) {
    return restSeconds > 0
      ? `${minutes} min ${restSeconds} s`
      : `${minutes} min`;
  }
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Formats a running duration in whole seconds: "4 s", "1 min 5 s". */
export function wholeDurationText(seconds: number): string {
  return seconds < 60
    ? `${Math.floor(seconds)} s`
    : durationText(Math.floor(seconds));
}

/** Made once: making one takes longer than formatting hundreds of numbers. */
const WHOLE_NUMBER_FORMAT = new Intl.NumberFormat('en-US');

/** Rounds to a whole number; a half goes to the even one, as Python rounds it. */
export function roundHalfEven(value: number): number {
  const nearest = Math.round(value);
  return Math.abs(value % 1) === 0.5 && nearest % 2 !== 0
    ? nearest - 1
    : nearest;
}

/** The decimals of a number of doubles that are exact. */
const EXACT_DECIMALS = 60;

/** Formats a number with `decimals` digits after its point; a half goes to the even digit, as Python rounds it. */
export function withDecimals(value: number, decimals: number): string {
  const rounded = value.toFixed(decimals);
  const exactDigits = Math.abs(value).toFixed(EXACT_DECIMALS);
  const endIndex = exactDigits.indexOf('.') + 1 + decimals;
  const isHalf = /^50*$/.test(exactDigits.slice(endIndex));
  // Of two that are as near, `toFixed` takes the one that is farther from 0.
  const isEven = /[02468]$/.test(rounded);
  return isHalf && !isEven
    ? `${value < 0 ? '-' : ''}${exactDigits.slice(0, decimals === 0 ? endIndex - 1 : endIndex)}`
    : rounded;
}

/** Formats a token count with thousands separators: "12,480". */
export function count(value: number): string {
  return WHOLE_NUMBER_FORMAT.format(roundHalfEven(value));
}

/** Formats the size of a context window: "200k", "1M". */
export function shortCount(value: number): string {
  if (value < 1000) {
    return String(Math.round(value));
  }
  const [unit, unitSize] = value < 1_000_000 ? ['k', 1000] : ['M', 1_000_000];
  return `${Number((value / unitSize).toPrecision(3))}${unit}`;
}

/** Formats US dollars, with enough digits for a small price. */
export function dollarsText(dollars: number): string {
  if (dollars === 0) {
    return '$0';
  }
  return dollars < 0.01
    ? `$${dollars.toPrecision(2)}`
    : `$${dollars.toFixed(3)}`;
}

/** Formats a file size: "640 bytes", "12.3 kB", "4.0 MB". */
export function fileSizeText(bytes: number): string {
  if (bytes < 1000) {
    return `${bytes} bytes`;
  }
  const [unit, unitSize] = bytes < 999_950 ? ['kB', 1000] : ['MB', 1_000_000];
  return `${(bytes / unitSize).toFixed(1)} ${unit}`;
}
