/** The prices and the lifetime of the cache that a question asks for, as words: `gpt-5 acme/m=1/10/0.1/1.25 lifetime=1h`. */

export interface IPriceChoice {
  /** The model at whose prices all requests are taken, or `units`; '' for each request's own. */
  readonly model: string;
  /** Prices of single models, as they were typed; '' for none. */
  readonly modelPrices: string;
  /** For how long the cache keeps a prefix, such as `1h`; '' for as long as without a word. */
  readonly lifetime: string;
}

const LIFETIME = 'lifetime=';

/** Reads the words of a question; null is a question without any. */
export function parsePrices(words: string | null): IPriceChoice {
  const pieces = (words ?? '').split(/\s+/).filter(word => word !== '');
  const lifetimes = pieces.filter(word => word.startsWith(LIFETIME));
  return {
    model: pieces.findLast(word => !word.includes('=')) ?? '',
    modelPrices: pieces
      .filter(word => word.includes('=') && !word.startsWith(LIFETIME))
      .join(' '),
    lifetime: (lifetimes.at(-1) ?? '').slice(LIFETIME.length)
  };
}

/** Returns a choice as the words of a question; null where nothing is chosen. */
export function pricesText(choice: IPriceChoice): string | null {
  const lifetime = choice.lifetime === '' ? '' : LIFETIME + choice.lifetime;
  const words = [choice.model, choice.modelPrices.trim(), lifetime];
  return words.filter(word => word !== '').join(' ') || null;
}

/** Returns the prices that an inspector opened with, and those that were chosen since, which win; '' for none. */
export function withPrices(opened: string, chosen: string): string {
  return chosen.startsWith(opened)
    ? chosen
    : [opened, chosen].filter(words => words !== '').join(' ');
}
