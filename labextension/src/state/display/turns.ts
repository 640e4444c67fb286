/** Groups a session's messages into turns for the panel: a prompt and the agent's messages. */
import type { Message, Origin } from '../../protocol/generated';
import { isStandalone, type StandalonePart } from '../lines/lines';
import type { IMessageEntry, ITranscript } from '../store/transcript';

export interface ITurn {
  key: string;
  /** The prompt's text; null for messages before any prompt. */
  prompt: string | null;
  /** Where the prompt was written. */
  origin?: Origin;
  /** Other parts of the prompt: files, a named agent. */
  attachments: readonly StandalonePart[];
  /** The agent's messages. */
  messages: Message[];
  /** The entries that form the turn; equal entries mean an unchanged turn. */
  entries: readonly IMessageEntry[];
}

/**
 * Groups a transcript into turns.
 *
 * An unchanged turn is the same object as in `before`, so that a long transcript is not rendered again
 * for every delta of the newest answer; nor is it grouped again from its beginning.
 */
export function turnsOf(
  { entries }: Pick<ITranscript, 'entries'>,
  before: readonly ITurn[] = []
): readonly ITurn[] {
  const receivedEntries = entries.filter(
    ({ message }) => message.info !== undefined
  );
  const [unchangedCount, firstIndex] = unchangedPrefix(receivedEntries, before);
  const groups: IMessageEntry[][] = [];
  for (const entry of receivedEntries.slice(firstIndex)) {
    const group = groups.at(-1);
    if (group === undefined || promptText(entry) !== null) {
      groups.push([entry]);
    } else {
      group.push(entry);
    }
  }
  const regroupedTurns = groups.map((group, index) => {
    const turnBefore = before[unchangedCount + index];
    return turnBefore !== undefined && isSameList(turnBefore.entries, group)
      ? turnBefore
      : turnOf(group);
  });
  return [...before.slice(0, unchangedCount), ...regroupedTurns];
}

/** Returns the number of unchanged turns and the entry at which they end. */
function unchangedPrefix(
  receivedEntries: readonly IMessageEntry[],
  before: readonly ITurn[]
): [turns: number, entries: number] {
  let endIndex = 0;
  for (const [index, { entries }] of before.entries()) {
    const startIndex = endIndex;
    for (const entry of entries) {
      if (receivedEntries[endIndex] !== entry) {
        // A message after a turn may have joined it, so the turn before is grouped again.
        const previousLength = before[index - 1]?.entries.length ?? 0;
        return [Math.max(0, index - 1), startIndex - previousLength];
      }
      endIndex += 1;
    }
  }
  const lastTurnLength = before.at(-1)?.entries.length ?? 0;
  return [Math.max(0, before.length - 1), endIndex - lastTurnLength];
}

/** Returns the text of a prompt; null if the message has no text of the user. */
export function promptText({ message }: IMessageEntry): string | null {
  if (message.info?.role !== 'user') {
    return null;
  }
  const texts = message.parts.flatMap(part =>
    part.type === 'text' && !part.synthetic && part.text.trim() !== ''
      ? [part.text]
      : []
  );
  return texts.length === 0 ? null : texts.join('\n\n');
}

function turnOf(entries: IMessageEntry[]): ITurn {
  const [firstEntry, ...otherEntries] = entries;
  const prompt = firstEntry === undefined ? null : promptText(firstEntry);
  const info = firstEntry?.message.info;
  const agentEntries = prompt === null ? entries : otherEntries;
  return {
    key: firstEntry?.id ?? '',
    prompt,
    origin: info?.role === 'user' ? info.origin : undefined,
    attachments:
      prompt === null
        ? []
        : (firstEntry?.message.parts.filter(isStandalone) ?? []),
    messages: agentEntries.map(({ message }) => message as Message),
    entries
  };
}

/** Returns whether two lists hold the same values, in the same order. */
export function isSameList<T>(
  left: readonly T[],
  right: readonly T[]
): boolean {
  return (
    left.length === right.length &&
    left.every((value, index) => value === right[index])
  );
}
