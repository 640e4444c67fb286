/**
 * A session as the panel shows it: what a person said, and what the agent did about it.
 */
import type { Message, Origin } from '../../protocol/generated';
import { isStandalone, type StandalonePart } from './lines';
import type { IMessageEntry, ITranscript } from '../store/transcript';

export interface ITurn {
  key: string;
  /** The person's words; null for what came before any. */
  prompt: string | null;
  /** Where the words were said. */
  origin?: Origin;
  /** What came with the words: files, an agent that was named. */
  attached: readonly StandalonePart[];
  /** The agent's messages. */
  messages: Message[];
  /** What the turn was made of; the same places are the same turn. */
  entries: readonly IMessageEntry[];
}

/**
 * Groups a transcript by the words of the person.
 *
 * A turn in which nothing changed is the very turn of `before`, so that a long transcript is not
 * drawn again for every word of the newest answer; nor is it grouped again from its beginning.
 */
export function turns(
  { entries }: Pick<ITranscript, 'entries'>,
  before: readonly ITurn[] = []
): readonly ITurn[] {
  const told = entries.filter(({ message }) => message.info !== undefined);
  const [kept, from] = unchanged(told, before);
  const groups: IMessageEntry[][] = [];
  for (const place of told.slice(from)) {
    const group = groups.at(-1);
    if (group === undefined || said(place) !== null) {
      groups.push([place]);
    } else {
      group.push(place);
    }
  }
  const fresh = groups.map((group, index) => {
    const known = before[kept + index];
    return known !== undefined && same(known.entries, group)
      ? known
      : turn(group);
  });
  return [...before.slice(0, kept), ...fresh];
}

/** Returns how many turns are as they were and at which place they end. */
function unchanged(
  told: readonly IMessageEntry[],
  before: readonly ITurn[]
): [turns: number, entries: number] {
  let end = 0;
  for (const [index, { entries }] of before.entries()) {
    const starts = end;
    for (const place of entries) {
      if (told[end] !== place) {
        // What follows a turn may have become a part of it: the one before is grouped again.
        const last = before[index - 1]?.entries.length ?? 0;
        return [Math.max(0, index - 1), starts - last];
      }
      end += 1;
    }
  }
  const last = before.at(-1)?.entries.length ?? 0;
  return [Math.max(0, before.length - 1), end - last];
}

/** Returns what a person said in a message; null when it holds no words of a person. */
function said({ message }: IMessageEntry): string | null {
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

function turn(entries: IMessageEntry[]): ITurn {
  const [first, ...rest] = entries;
  const prompt = first === undefined ? null : said(first);
  const info = first?.message.info;
  const own = prompt === null ? entries : rest;
  return {
    key: first?.id ?? '',
    prompt,
    origin: info?.role === 'user' ? info.origin : undefined,
    attached:
      prompt === null ? [] : (first?.message.parts.filter(isStandalone) ?? []),
    messages: own.map(({ message }) => message as Message),
    entries
  };
}

function same(
  one: readonly IMessageEntry[],
  other: readonly IMessageEntry[]
): boolean {
  return (
    one.length === other.length &&
    one.every((place, index) => place === other[index])
  );
}
