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

const KEY_PREFIX = 'palimpsest:draft:';
/** How many sessions' drafts are kept; the oldest go first. */
export const MAX_DRAFTS = 50;
/** Characters of a draft with its files above which the files are not kept. */
const MAX_CHARS_WITH_FILES = 300_000;

/** Returns the stored draft of a session; null if there is none. */
export function storedDraft(session: string): IDraft | null {
  try {
    const stored: unknown = JSON.parse(
      localStorage.getItem(KEY_PREFIX + session) ?? ''
    );
    const { text, chosen, replaced } = stored as Partial<IDraft>;
    return typeof text === 'string' && isObject(chosen)
      ? { text, chosen, ...(replaced && { replaced }) }
      : null;
  } catch {
    return null; // none, or the browser keeps nothing for this page
  }
}

/** Stores the draft of a session; an empty one is removed. */
export function storeDraft(session: string, draft: IDraft): void {
  const { text, chosen, replaced } = draft;
  try {
    if (
      text === '' &&
      Object.keys(chosen).length === 0 &&
      replaced === undefined
    ) {
      localStorage.removeItem(KEY_PREFIX + session);
      return;
    }
    const savedAtMs = Date.now();
    const json = JSON.stringify({ ...draft, at: savedAtMs });
    const stored =
      json.length <= MAX_CHARS_WITH_FILES
        ? json
        : JSON.stringify({ ...draft, at: savedAtMs }, (name, value: unknown) =>
            name === 'files' ? undefined : value
          );
    localStorage.setItem(KEY_PREFIX + session, stored);
    removeOldest();
  } catch {
    // The browser's storage is full or closed: the draft stays in the page.
  }
}

function removeOldest(): void {
  const storedKeys = Object.keys(localStorage)
    .filter(key => key.startsWith(KEY_PREFIX))
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
