/** The keys that answer the agent's questions: 1 to 4 for a permission, 1 to 9 for an option. */
import type { ReplyAnswer } from '../actions/answers';

/** The possible answers; the last is an “always” for the project. */
export type Answer = ReplyAnswer | 'project';

/** The answers in the order of their keys 1 to 4. */
export const ANSWERS: readonly Answer[] = [
  'once',
  'always',
  'reject',
  'project'
];

interface IKeyPress {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
}

/** Returns the digit of a key without modifiers, from 1 to 9; otherwise null. */
export function digitOf({
  key,
  ctrlKey,
  metaKey,
  altKey
}: IKeyPress): number | null {
  return !ctrlKey && !metaKey && !altKey && /^[1-9]$/.test(key)
    ? Number(key)
    : null;
}

/** Returns the answer for a key without modifiers; otherwise null. */
export function answerOfKey(event: IKeyPress): Answer | null {
  return ANSWERS[(digitOf(event) ?? 0) - 1] ?? null;
}

/** Returns the button that a key presses, among those in an element or of one question in it; null if there is none. */
export function buttonOfKey(
  event: IKeyPress,
  container: ParentNode | null
): HTMLButtonElement | null {
  const digit = digitOf(event);
  if (digit === null || container === null) {
    return null;
  }
  // Only the first question that can be answered: a key never presses a button of one behind it.
  const questions =
    container instanceof Element && container.matches('.plm-Answers')
      ? [container]
      : [...container.querySelectorAll('.plm-Answers')];
  const question = questions.find(
    element => element.querySelector('button[data-answer]:enabled') !== null
  );
  const answer = answerOfKey(event);
  return (
    question?.querySelector<HTMLButtonElement>(
      `button[data-answer="${answer}"]:enabled`
    ) ??
    (question === undefined || answer === null
      ? container.querySelector<HTMLButtonElement>(
          `.plm-Options button[data-key="${digit}"]:enabled`
        )
      : null)
  );
}
