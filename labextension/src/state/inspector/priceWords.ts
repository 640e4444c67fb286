/** The prices and the lifetime of the cache that a question asks for, as words: `gpt-5 acme/m=1/10/0.1/1.25 lifetime=1h`. */

export interface IPriceChoice {
  /** The model at whose prices all requests are taken, or `units`; '' for each request's own. */
  readonly model: string;
  /** Prices of single models, as they were typed; '' for none. */
  readonly modelPrices: string;
  /** For how long the cache keeps a prefix, such as `1h`; '' for as long as without a word. */
  readonly lifetime: string;
}

const LIFETIME_PREFIX = 'lifetime=';

/** Reads the words of a question; null is a question without any. */
export function parsePrices(words: string | null): IPriceChoice {
  const pieces = (words ?? '').split(/\s+/).filter(word => word !== '');
  const lifetimes = pieces.filter(word => word.startsWith(LIFETIME_PREFIX));
  return {
    model: pieces.findLast(word => !word.includes('=')) ?? '',
    modelPrices: pieces
      .filter(word => word.includes('=') && !word.startsWith(LIFETIME_PREFIX))
      .join(' '),
    lifetime: (lifetimes.at(-1) ?? '').slice(LIFETIME_PREFIX.length)
  };
}

/** Returns a choice as the words of a question; null where nothing is chosen. */
export function pricesText(choice: IPriceChoice): string | null {
  const lifetime =
    choice.lifetime === '' ? '' : LIFETIME_PREFIX + choice.lifetime;
  const words = [choice.model, choice.modelPrices.trim(), lifetime];
  return words.filter(word => word !== '').join(' ') || null;
}

/** Returns the prices that an inspector opened with, and those that were chosen since, which win; '' for none. */
export function withPrices(openedPrices: string, chosenPrices: string): string {
  return chosenPrices.startsWith(openedPrices)
    ? chosenPrices
    : [openedPrices, chosenPrices].filter(words => words !== '').join(' ');
}
