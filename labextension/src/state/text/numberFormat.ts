/** Formats numbers for display. */

/** Formats a duration: "0.2 s", "1 min 5 s". */
export function seconds(value: number): string {
  if (value < 60) {
    return `${value.toFixed(1)} s`;
  }
  const rounded = Math.round(value);
  return `${Math.floor(rounded / 60)} min ${rounded % 60} s`;
}

/** Formats a running duration in whole seconds: "4 s", "1 min 5 s". */
export function wholeSeconds(value: number): string {
  return value < 60 ? `${Math.floor(value)} s` : seconds(Math.floor(value));
}

/** Made once: making one takes longer than formatting hundreds of numbers. */
const WHOLE = new Intl.NumberFormat('en-US');

/** Formats a token count with thousands separators: "12,480". */
export function count(value: number): string {
  return WHOLE.format(Math.round(value));
}

/** Formats the size of a context window: "200k", "1M". */
export function short(value: number): string {
  if (value < 1000) {
    return String(Math.round(value));
  }
  const [unit, of] = value < 1_000_000 ? ['k', 1000] : ['M', 1_000_000];
  return `${Number((value / of).toPrecision(3))}${unit}`;
}

/** Formats US dollars, with enough digits for a small price. */
export function dollars(value: number): string {
  if (value === 0) {
    return '$0';
  }
  return value < 0.01 ? `$${value.toPrecision(2)}` : `$${value.toFixed(3)}`;
}

/** Formats a file size: "640 bytes", "12.3 kB", "4.0 MB". */
export function size(bytes: number): string {
  if (bytes < 1000) {
    return `${bytes} bytes`;
  }
  const [unit, of] = bytes < 999_950 ? ['kB', 1000] : ['MB', 1_000_000];
  return `${(bytes / of).toFixed(1)} ${unit}`;
}
