/** Drafts in the browser's own storage, so that a reload does not lose them; nothing of them reaches a server. */
import { isObject } from '../../protocol/jsonValues';
import type { IPromptOptions, IReplacedTurn } from '../actions/prompts';

export interface IDraft {
  text: string;
  chosen: IPromptOptions;
  replaced?: IEditedTurn;
}

/** The turn that a draft replaces, since the draft is its changed prompt. */
export interface IEditedTurn extends IReplacedTurn {
  /** The first words of its prompt. */
  excerpt: string;
  /** The draft that was there before, and is restored after the edit. */
  before: IDraft;
}

const PREFIX = 'palimpsest:draft:';
/** How many sessions' drafts are kept; the oldest go first. */
export const MAX_DRAFTS = 50;
/** Characters of a draft with its files above which the files are not kept. */
const MAX_CHARS = 300_000;

/** Returns the draft that is kept under a name; null if there is none. */
export function keptDraft(name: string): IDraft | null {
  try {
    const stored: unknown = JSON.parse(
      localStorage.getItem(PREFIX + name) ?? ''
    );
    const { text, chosen, replaced } = stored as Partial<IDraft>;
    return typeof text === 'string' && isObject(chosen)
      ? { text, chosen, ...(replaced && { replaced }) }
      : null;
  } catch {
    return null; // none, or the browser keeps nothing for this page
  }
}

/** Keeps a draft under a name; an empty one is forgotten. */
export function keepDraft(name: string, draft: IDraft): void {
  const { text, chosen, replaced } = draft;
  try {
    if (
      text === '' &&
      Object.keys(chosen).length === 0 &&
      replaced === undefined
    ) {
      localStorage.removeItem(PREFIX + name);
      return;
    }
    const at = Date.now();
    const json = JSON.stringify({ ...draft, at });
    const stored =
      json.length <= MAX_CHARS
        ? json
        : JSON.stringify({ ...draft, at }, (name, value: unknown) =>
            name === 'files' ? undefined : value
          );
    localStorage.setItem(PREFIX + name, stored);
    forgetOldest();
  } catch {
    // The browser's storage is full or closed: the draft stays in the page.
  }
}

function forgetOldest(): void {
  const storedKeys = Object.keys(localStorage)
    .filter(key => key.startsWith(PREFIX))
    .map(key => ({ key, at: savedAt(key) }))
    .sort((left, right) => right.at - left.at);
  for (const { key } of storedKeys.slice(MAX_DRAFTS)) {
    localStorage.removeItem(key);
  }
}

function savedAt(key: string): number {
  try {
    const { at } = JSON.parse(localStorage.getItem(key) ?? '') as {
      at?: unknown;
    };
    return typeof at === 'number' ? at : 0;
  } catch {
    return 0;
  }
}
