/** Prompts that wait for a running turn: the order in which they are sent, and what a stop gives back. */
import type { PromptAdmitted } from '../../protocol/generated';

/** Returns waiting prompts in the order of their sending: those for the next request, then those for later turns. */
export function inSendingOrder(
  inbox: readonly PromptAdmitted[]
): PromptAdmitted[] {
  const isForNextRequest = ({ delivery }: PromptAdmitted) =>
    delivery === 'steer';
  return [
    ...inbox.filter(isForNextRequest),
    ...inbox.filter(prompt => !isForNextRequest(prompt))
  ];
}

/** Returns whether a withdrawn prompt goes back to the composer; a cell's prompt is still in its cell. */
export function isReturned({ origin }: PromptAdmitted): boolean {
  return origin?.kind === 'panel';
}
