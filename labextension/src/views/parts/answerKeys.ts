/**
 * The keys that answer what the agent asks: 1 to 4 for a permission, 1 to 9 for an option.
 */
import type { ReplyAnswer } from '../actions/answers';

/** What a person can answer; the last is an “always” that holds for the project. */
export type Answer = ReplyAnswer | 'project';

/** The answers in the order of their keys 1 to 4. */
export const ANSWERS: readonly Answer[] = [
  'once',
  'always',
  'reject',
  'project'
];

interface IKey {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
}

/** Returns the digit that a plain key means, from 1 to 9; null when it means none. */
export function digitOf({
  key,
  ctrlKey,
  metaKey,
  altKey
}: IKey): number | null {
  return !ctrlKey && !metaKey && !altKey && /^[1-9]$/.test(key)
    ? Number(key)
    : null;
}

/** Returns the answer that a plain key means here; null when it means none. */
export function answerOfKey(event: IKey): Answer | null {
  return ANSWERS[(digitOf(event) ?? 0) - 1] ?? null;
}

/**
 * Returns the button that a key presses among those of a place, or of one question in it; null
 * where it presses none.
 */
export function buttonOfKey(
  event: IKey,
  place: ParentNode | null
): HTMLButtonElement | null {
  const digit = digitOf(event);
  return digit === null
    ? null
    : (place?.querySelector<HTMLButtonElement>(
        `.plm-Answers button[data-answer="${answerOfKey(event)}"]:enabled`
      ) ??
        place?.querySelector<HTMLButtonElement>(
          `.plm-Options button[data-key="${digit}"]:enabled`
        ) ??
        null);
}
